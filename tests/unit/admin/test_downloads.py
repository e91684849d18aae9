"""The downloads page: what each file has, what it takes, and what ends it."""

import io
import json
import sqlite3
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from commentsvc.admin import downloads
from commentsvc.backup import archive
from commentsvc.backup.result import BackupError
from commentsvc.http.messages import Response
from tests.unit.admin.api.test_token_access import Program
from tests.unit.admin_client import PASSWORD, Seat, header, seated, text
from tests.unit.app_fixture import served


@pytest.fixture
def seat(tmp_path: Path) -> Iterator[Seat]:
    """An owner of a service with two comments."""
    with served(tmp_path) as service:
        for message in ("Oak", "Élm"):
            assert service.submit(message).status in (201, 202)
        yield seated(service)


def download(seat: Seat, kind: str, **fields: object) -> Response:
    return seat.send("downloads", **{"kind": kind, "password": PASSWORD, **fields})


def test_the_page_offers_each_kind(seat: Seat) -> None:
    page = text(seat.get("downloads"))
    assert all(f'<option value="{kind}">' in page for kind in downloads.KINDS)


@pytest.mark.parametrize("kind", downloads.KINDS)
def test_each_kind_is_a_file_with_a_name_that_nobody_stores(seat: Seat, kind: str) -> None:
    answer = download(seat, kind)
    assert answer.status == 200
    name = header(answer, "Content-Disposition")
    assert name.startswith('attachment; filename="comments-2')
    assert name.endswith(f'{downloads.KINDS[kind].suffix}"')
    assert header(answer, "Content-Type") == downloads.KINDS[kind].media_type
    assert header(answer, "Cache-Control") == "no-store"
    assert header(answer, "X-Content-Type-Options") == "nosniff"


def test_an_export_has_all_records_and_its_end(seat: Seat) -> None:
    lines = [json.loads(line) for line in download(seat, "commentsvc").body.splitlines()]
    assert [lines[0]["type"], lines[-1]["type"]] == ["header", "end"]
    assert [line["message"] for line in lines if line["type"] == "comment"] == ["Oak", "Élm"]


@pytest.mark.parametrize("kind", ["wordpress", "disqus"])
def test_files_for_other_systems_are_whole(seat: Seat, kind: str) -> None:
    file = download(seat, kind).body.decode()
    assert file.startswith("<?xml")
    assert file.rstrip().endswith({"wordpress": "</rss>", "disqus": "</disqus>"}[kind])


def test_an_archive_is_a_folder_of_pages(seat: Seat) -> None:
    with zipfile.ZipFile(io.BytesIO(download(seat, "archive").body)) as packed:
        assert packed.testzip() is None
        assert "comments/index.html" in packed.namelist()


def test_a_backup_is_a_copy_of_the_database(seat: Seat, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.write_bytes(download(seat, "backup").body)
    if copy.read_bytes().startswith(b"PGDMP"):
        return
    with closing(sqlite3.connect(copy)) as database:
        assert database.execute("SELECT count(*) FROM comment").fetchone() == (2,)


def test_it_takes_the_password(seat: Seat) -> None:
    answer = download(seat, "commentsvc", password="another")
    assert answer.status == 403
    assert "This is not your current password." in text(answer)


@pytest.mark.parametrize("wrong", [{"kind": "all"}, {"kind": "backup", "site": "unknown"}])
def test_another_kind_or_site_is_no_download(seat: Seat, wrong: dict[str, str]) -> None:
    assert seat.send("downloads", **wrong, password=PASSWORD).status == 400


def test_programs_get_the_same_with_the_password(seat: Seat) -> None:
    program = Program(seat.service, "administer", name="ann")
    sent = {"kind": "wordpress", "password": PASSWORD}
    answer = program.ask("POST", "/downloads", **sent)
    assert answer.body == download(seat, "wordpress").body
    assert header(answer, "Content-Disposition").startswith("attachment; ")
    assert program.ask("POST", "/downloads", **{**sent, "password": "another"}).status == 403
    assert program.ask("POST", "/downloads", **sent, site="unknown").status == 404


def test_what_cannot_be_made_is_a_page_that_says_so(
    seat: Seat, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("tempfile.tempdir", "/dev/null")
    answer = download(seat, "backup")
    assert answer.status == 503
    assert "The reason is in the log" in text(answer)
    assert "Not a directory" in caplog.text


def test_what_takes_too_long_is_a_page_that_names_another_way(
    seat: Seat, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends on the server, too: the next one finds a thread."""

    def write(_location: object, _target: Path, unwanted: Callable[[], bool]) -> None:
        while not unwanted():
            time.sleep(0.001)
        raise BackupError("nobody wants it")

    monkeypatch.setattr(downloads, "PATIENCE", 0.05)
    monkeypatch.setattr(archive, "write", write)
    for _ in range(2 * downloads.MOST):
        answer = download(seat, "backup")
        assert answer.status == 503
        assert "command line" in text(answer)


def test_only_two_are_made_at_the_same_time(seat: Seat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downloads, "MOST", 0)
    answer = download(seat, "commentsvc")
    assert answer.status == 503
    assert "when they have ended" in text(answer)

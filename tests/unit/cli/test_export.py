"""The command export: where it writes to, what it says and what it refuses."""

import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from commentsvc.cli.main import main
from commentsvc.settings.data_dir import DATABASE
from tests.unit.database_fixture import NOW, add, opened

DAY = 86_400_000


@pytest.fixture
def data(tmp_path: Path) -> Path:
    with opened(tmp_path) as database:
        add(database, author="Ann")
        add(database, now=NOW + 2 * DAY)
    return tmp_path


def run(data: Path, *words: object) -> Result:
    return CliRunner().invoke(main, ["export", "--data", str(data), *map(str, words)])


def types(text: bytes) -> list[str]:
    return [msgspec.json.decode(line)["type"] for line in text.splitlines()]


def test_an_export_goes_to_the_output_and_what_is_said_to_stderr(data: Path) -> None:
    done = run(data)
    assert done.exit_code == 0
    assert types(done.stdout_bytes) == ["header", "thread", "comment", "comment", "end"]
    assert done.stderr == "2 comments exported\n"


def test_a_file_is_for_its_owner_and_replaced_by_force_only(data: Path) -> None:
    file = data / "comments.ndjson"
    assert run(data, file).exit_code == 0
    assert file.stat().st_mode & 0o777 == 0o600
    written = file.read_bytes()
    assert written == run(data).stdout_bytes
    refused = run(data, file, "--anonymous")
    assert refused.exit_code == 1
    assert "is there already" in refused.output
    assert file.read_bytes() == written
    assert run(data, file, "--anonymous", "--force").exit_code == 0
    assert b"Ann" not in file.read_bytes()
    assert not list(data.glob("*.part"))


def test_a_failed_export_leaves_no_file(data: Path) -> None:
    refused = run(data, data / "new", "--site", "another")
    assert (refused.exit_code, refused.output) == (
        1,
        "commentsvc: There is no site of this name; known: blog.\n",
    )
    assert not list(data.glob("new*"))


def test_a_day_is_a_moment(data: Path) -> None:
    assert types(run(data, "--since", "2026-11-19").stdout_bytes).count("comment") == 1
    assert (
        types(run(data, "--since", "2026-11-18T00:00:00+01:00").stdout_bytes).count("comment") == 2
    )
    refused = run(data, "--since", "yesterday")
    assert refused.exit_code == 2
    assert "is no date like" in refused.output


def test_a_server_that_writes_meanwhile_changes_nothing(data: Path) -> None:
    with opened(data) as database:
        add(database)
        done = run(data)
    assert types(done.stdout_bytes).count("comment") == 3


def test_a_database_that_waits_for_its_upgrade_is_left_alone(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / DATABASE)) as empty:
        empty.execute("VACUUM")
    refused = run(tmp_path)
    assert refused.exit_code == 1
    assert "the server's next start upgrades it" in refused.output


def test_other_formats_take_the_origin_from_the_settings(data: Path) -> None:
    refused = run(data, "--format", "wordpress")
    assert refused.exit_code == 1
    assert "blog has no origins" in refused.output
    (data / "commentsvc.toml").write_text('[[site]]\norigins = ["https://blog.example"]\n')
    for form in ("wordpress", "disqus"):
        done = run(data, "--format", form)
        assert done.exit_code == 0, done.output
        assert b"<link>https://blog.example/post/</link>" in done.stdout_bytes
    assert run(data, "--format", "isso-json").stdout_bytes.startswith(b'[{"id":"/post/"')

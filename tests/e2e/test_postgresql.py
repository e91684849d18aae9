"""The service with PostgreSQL: everyday use, and what it refuses."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.program import Service, command
from tests.postgresql_server import Server, server

Start = Callable[..., Service]


@pytest.fixture(scope="module")
def postgresql() -> Iterator[Server]:
    with server() as running:
        yield running


def test_a_day_of_a_service_with_postgresql(
    data: Path, start: Start, postgresql: Server, tmp_path: Path
) -> None:
    postgresql.run("CREATE DATABASE journey")
    environ = {
        "COMMENTSVC_DATABASE_URL": postgresql.url("journey"),
        "COMMENTSVC_SPAM_RATE_LIMIT": "off",
    }

    def said(*words: object) -> str:
        outcome = command(words[0], "--data", data, *words[1:], environ=environ)
        assert outcome.code == 0, outcome.err
        return outcome.out

    first = start(data, environ=environ)
    for url, message in (("/a/", "About one"), ("/a/", "About two"), ("/b/", "About three")):
        assert first.submit(url, message).status == 202
    assert [first.count("/a/"), first.count("/b/")] == [0, 0]
    assert said("approve", 1, 3) == "comment 1 is approved\ncomment 3 is approved\n"
    assert [first.count("/a/"), first.count("/b/")] == [1, 1]
    assert not (data / "comments.sqlite3").exists()
    second = command("serve", "--data", tmp_path, "--listen", "127.0.0.1:0", environ=environ)
    assert second.code == 1
    assert "another commentsvc with a different secret key uses this database" in second.err
    assert second.err.count("\n") == 1
    postgresql.run(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE application_name = 'commentsvc'"
    )
    assert first.submit("/c/", "After a restart of PostgreSQL").status in (202, 503)
    first.stop()

    assert said("approve", 2) == "comment 2 is approved\n"
    assert "is intact, and its counts are right" in said("check")
    assert said("list", "--status", "approved").count("About ") == 3
    exported = tmp_path / "comments.ndjson"
    said("export", exported)
    assert all(f"About {each}" in exported.read_text() for each in ("one", "two", "three"))
    assert "stored                 0" in said("import", "commentsvc", exported)
    for words, reason in (
        (("backup", tmp_path / "copy"), "are made by pg_dump"),
        (("restore", exported), "are restored by pg_restore"),
    ):
        refused = command(words[0], "--data", data, *words[1:], environ=environ)
        assert refused.code == 1
        assert reason in refused.err
    again = start(data, environ=environ)
    assert [again.count("/a/"), again.count("/b/")] == [2, 1]


def test_what_cannot_be_used_is_one_line_and_writes_nothing(
    data: Path, postgresql: Server, tmp_path: Path
) -> None:
    postgresql.run("CREATE DATABASE photos")
    data.mkdir()
    for url, reason in (
        (f"{postgresql.url('photos')}&user=nobody", 'role "nobody" does not exist'),
        (postgresql.url("nowhere"), 'database "nowhere" does not exist'),
        ("postgresql://h:p%zz@/x", "database.url cannot be used"),
        ("mysql://user@host/comments", "COMMENTSVC_DATABASE_URL"),
    ):
        environ = {"COMMENTSVC_DATABASE_URL": url}
        outcome = command("serve", "--data", data, "--listen", "127.0.0.1:0", environ=environ)
        assert outcome.code == 1
        assert reason in outcome.err
        assert outcome.err.count("\n") == 1
        assert "p%zz" not in outcome.err
    outcome = command(
        "list", "--data", data, environ={"COMMENTSVC_DATABASE_URL": postgresql.url("photos")}
    )
    assert outcome.code == 1
    assert "the server's next start makes them" in outcome.err
    assert not (data / "comments.sqlite3").exists()

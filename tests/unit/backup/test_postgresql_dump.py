"""Backups of PostgreSQL are complete or absent; restoring changes everything or nothing."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from commentsvc import outbox
from commentsvc.backup import archive as backup
from commentsvc.backup import postgresql_dump
from commentsvc.backup.result import BackupError
from commentsvc.backup.scheduled import ScheduledBackup
from commentsvc.comments import search
from commentsvc.db.database import Database
from commentsvc.db.errors import DatabaseBusy, DatabaseUnusable
from commentsvc.db.migrations import upgrade
from commentsvc.db.schema.outbox import Target
from commentsvc.settings.schema import BackupSettings
from tests.postgresql_server import Server
from tests.unit.database_fixture import NOW, add, opened
from tests.unit.settable_clock import SettableClock

pytestmark = pytest.mark.postgresql_only("test_backup.py is for SQLite")


@pytest.fixture
def url(postgresql_server: Server, tmp_path: Path) -> Iterator[str]:
    """Return the URL of a database with three comments, two of them indexed, and a mail."""
    postgresql_server.run("CREATE DATABASE dumped TEMPLATE template0")
    url = postgresql_server.url("dumped")
    postgresql_server._used[tmp_path] = "dumped"
    try:
        upgrade.upgrade(url)
        with opened(tmp_path) as database:
            target = Target("mail", "mo@blog.example")
            database.write_now(outbox.sync_targets, [target])
            for number in range(2):
                add(database, NOW + number, source=f"walk {number}\t\\.")
            database.write_now(search.index_pending, 9)
            add(database, NOW + 2, status="pending", source="a hill\n\\.\n")
        yield url
    finally:
        del postgresql_server._used[tmp_path]
        postgresql_server.run("DROP DATABASE dumped WITH (FORCE)")


def texts(url: str, schema: str = "commentsvc") -> list[str]:
    with psycopg.connect(url) as connection:
        rows = connection.execute(f"SELECT source FROM {schema}.comment ORDER BY id")
        return [text for (text,) in rows]


def schemas(url: str) -> list[str]:
    with psycopg.connect(url) as connection:
        asked = "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'commentsvc%' ORDER BY 1"
        return [name for (name,) in connection.execute(asked)]


TEXTS = ["walk 0\t\\.", "walk 1\t\\.", "a hill\n\\.\n"]


def test_a_backup_and_its_way_back(url: str, tmp_path: Path) -> None:
    shares: list[float] = []
    file = tmp_path / "backup.dump"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("ALTER DATABASE dumped SET client_encoding = 'LATIN1'")
    assert backup.write(url, file, on_progress=shares.append) == file.stat().st_size
    assert file.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["backup.dump"]
    assert shares[-1] == 1
    backup.write(url, file)  # replaces an older one
    with opened(tmp_path) as database:
        add(database, source="lost by restoring")
    done = postgresql_dump.restore(url, file)
    with psycopg.connect(url) as connection:
        asked = "SELECT reltuples FROM pg_class WHERE oid = 'commentsvc.comment'::regclass"
        assert connection.execute(asked).fetchall() == [(3,)]  # for good plans at once
    assert (done.comments, done.newest, done.faults, done.held) == (3, NOW + 2, [], 3)
    assert texts(url) == TEXTS
    assert texts(url, done.schema) == [*TEXTS, "lost by restoring"]
    with opened(tmp_path) as database:
        found = database.read_now(search.find_ids, "walk", status="", sites=None, limit=9)
        assert found == [2, 1]
        assert add(database).comment.id == 4


def test_a_new_database_takes_a_backup(url: str, postgresql_server: Server, tmp_path: Path) -> None:
    backup.write(url, tmp_path / "dump")
    postgresql_server.run("CREATE DATABASE fresh TEMPLATE template0")
    try:
        fresh = postgresql_server.url("fresh")
        done = postgresql_dump.restore(fresh, tmp_path / "dump", send=True)
        assert (done.schema, done.held) == ("", 0)
        assert texts(fresh) == TEXTS
    finally:
        postgresql_server.run("DROP DATABASE fresh WITH (FORCE)")


def test_a_database_that_lacks_tables_can_be_restored(url: str, tmp_path: Path) -> None:
    backup.write(url, tmp_path / "dump")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP TABLE commentsvc.report")
    assert postgresql_dump.restore(url, tmp_path / "dump").comments == 3
    assert texts(url) == TEXTS


def test_what_cannot_be_restored_changes_nothing(url: str, tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    backup.write(url, whole)
    archive = whole.read_bytes()
    for name, content in (
        ("empty", b""),
        ("head", archive[:8]),
        ("half", archive[: len(archive) // 2]),
        ("cut", archive[:-1]),
        ("newer", archive[:5] + b"cc" + archive[7:]),
    ):
        (tmp_path / name).write_bytes(content)
    (tmp_path / "letter").write_text("Dear Ann")
    (tmp_path / "file").write_bytes(b"SQLite format 3\0")
    foreign = tmp_path / "foreign"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE public.photos (x int)")
        words = ["pg_dump", "--format=custom", "--table=public.photos", f"--file={foreign}", url]
        subprocess.run(words, check=True)
        connection.execute("UPDATE commentsvc.thread SET count = 7")
    wrong = tmp_path / "wrong"
    backup.write(url, wrong)
    for file, reason in (
        (tmp_path / "none", "none is not a file"),
        (tmp_path / "letter", "is not a backup. Name a file that `commentsvc backup` has made"),
        (tmp_path / "empty", "is empty. Copy it again, or restore another backup"),
        (tmp_path / "newer", "is of a newer PostgreSQL: install "),
        *((tmp_path / name, "cut off or damaged. Copy it again") for name in ("head", "half")),
        (tmp_path / "file", "is a backup of SQLite's"),
        (tmp_path / "cut", "is cut off or damaged. Copy it again, or restore another backup"),
        (foreign, "has no tables of commentsvc"),
        (wrong, r"the thread /post/ says that it has 7.*--force"),
    ):
        with pytest.raises(BackupError, match=reason) as info:
            postgresql_dump.restore(url, file)
        assert "\n" not in str(info.value)
        assert schemas(url) == ["commentsvc"]
    assert len(postgresql_dump.restore(url, wrong, force=True).faults) == 1
    with pytest.raises(BackupError, match="is a backup of PostgreSQL"):
        backup.restore(tmp_path / "data", whole)


def test_a_newer_backup_and_a_used_database_are_refused(url: str, tmp_path: Path) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        add_step = "INSERT INTO commentsvc.schema_migration VALUES ('0999_future', now())"
        backup.write(url, tmp_path / "now")
        connection.execute(add_step)
        archive = tmp_path / "future"
        words = ["pg_dump", "--format=custom", f"--file={archive}", url]
        subprocess.run(words, check=True)
        connection.execute("DELETE FROM commentsvc.schema_migration WHERE name = '0999_future'")
    with pytest.raises(DatabaseUnusable, match="written by a newer commentsvc"):
        postgresql_dump.restore(url, archive)
    service = Database(url, purge=lambda _: None)
    service.open()
    try:
        with pytest.raises(DatabaseBusy, match=r"in use by another .*stop it, then restore"):
            postgresql_dump.restore(url, tmp_path / "now")
    finally:
        service.close_now()
    assert schemas(url) == ["commentsvc"]


def test_missing_and_old_programs_are_named_and_no_password_is_on_a_command_line(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    with pytest.raises(BackupError, match=r"pg_dump is not installed: .*postgresql-client-\d\d"):
        backup.write(url, tmp_path / "dump")
    real = shutil.which("pg_dump", path="/usr/bin:/bin:/usr/local/bin")
    program = programs / "pg_dump"
    program.write_text("#!/bin/sh\necho 'pg_dump (PostgreSQL) 9.6.24'\n")
    program.chmod(0o755)
    with pytest.raises(BackupError, match=r"is of PostgreSQL 9, too old for the server's \d\d"):
        backup.write(url, tmp_path / "dump")
    program.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && exec {real} "$1"\n'
        f'echo "$@" > {programs}/words; echo "$PGPASSWORD" > {programs}/secret\n'
        "echo 'pg_dump: no room' >&2; exit 1\n"
    )
    with pytest.raises(BackupError, match=r"pg_dump: no room\."):
        backup.write(f"{url}&password=open+sesame", tmp_path / "dump")
    assert "sesame" not in (programs / "words").read_text()
    assert (programs / "secret").read_text() == "open+sesame\n"
    assert [path.name for path in tmp_path.iterdir()] == ["bin"]


def test_a_backup_without_all_rows_is_not_kept(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compare = postgresql_dump._compare

    def expecting(part: Path, counts: dict[str, int], *others: object) -> None:
        compare(part, counts | {"comment": 4}, *others)  # type: ignore[arg-type]  # as they came

    monkeypatch.setattr(postgresql_dump, "_compare", expecting)
    with pytest.raises(BackupError, match="has 3 rows of the table comment instead of 4"):
        backup.write(url, tmp_path / "dump")
    assert not list(tmp_path.iterdir())


def test_the_server_makes_backups_of_postgresql(url: str, tmp_path: Path) -> None:
    folder = tmp_path / "backups"
    settings = BackupSettings(directory=str(folder), keep=1)
    clock = SettableClock(NOW)
    backups = ScheduledBackup(settings, url, clock)
    for _ in range(2):
        backups.round()
        state = backups.state()
        assert state
        assert (state.newest_at, state.failures, state.error) == (clock.now_ms(), 0, "")
        [made] = folder.iterdir()
        assert made.suffix == ".dump"
        clock.now += 86_400
    assert postgresql_dump.restore(url, made).comments == 3

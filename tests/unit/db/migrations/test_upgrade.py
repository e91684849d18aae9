"""Every migration from the schema before it, and files that must not be touched."""

import contextlib
import hashlib
import os
import re
import sqlite3
import time
from functools import partial
from pathlib import Path

import peewee
import pytest

from commentsvc.db.errors import DatabaseBusy, DatabaseUnusable
from commentsvc.db.migrations import steps, upgrade
from tests.unit.database_fixture import BEFORE_KEYS, KEYED, add, opened
from tests.unit.processor_time import assert_quick

# A hash of the schema.
SCHEMA = "912499fcb0fcb155"


def schema(connection: sqlite3.Connection) -> dict[str, str]:
    """Return the parts of each table and index, independent of how their SQL is written."""
    rows = connection.execute(
        "SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'"
    ).fetchall()
    made = {}
    for name, sql in rows:
        if name == steps.HISTORY or name.startswith(steps.HISTORY + "_"):
            continue
        parts = [
            connection.execute(f"PRAGMA {pragma}({name})").fetchall()
            for pragma in ("table_xinfo", "index_xinfo", "foreign_key_list")
        ]
        plain = " ".join(sql.replace('"', "").split())
        clauses = re.findall(r"CHECK \(.*?\)|WHERE .*|STRICT|UNIQUE|AUTOINCREMENT", plain)
        if "TRIGGER" in sql or "VIRTUAL" in sql:
            clauses = [plain]
        made[name] = repr((parts, clauses))
    return made


pytestmark = pytest.mark.sqlite_only("test_postgresql_upgrade.py is for PostgreSQL")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "comments.sqlite3"


def read_schema(path: Path) -> dict[str, str]:
    connection = sqlite3.connect(path)
    try:
        return schema(connection)
    finally:
        connection.close()


def test_the_schema_is_what_databases_have(path: Path) -> None:
    """A change of a model needs a step, and then the new hash here."""
    upgrade.upgrade(path)
    text = repr(sorted(read_schema(path).items()))
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == SCHEMA


def test_a_database_of_a_development_version_gets_what_it_lacks(path: Path) -> None:
    upgrade.upgrade(path)
    made = read_schema(path)
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        for column in ("verified_email", "may_link", "asked_email", "asked_at"):
            connection.execute(f"ALTER TABLE moderator DROP COLUMN {column}")
        connection.execute("DROP INDEX report_by_email")
        contact = ("name", "email", "email_key", "language", "in_good_faith", "objects")
        for column in ("reason", "explanation", *contact):
            connection.execute(f"ALTER TABLE report DROP COLUMN {column}")
        connection.execute("DROP TABLE mailbox")
        connection.execute("DROP INDEX image_by_network")
        connection.execute(f"DELETE FROM {steps.HISTORY} WHERE name > '0001_initial'")
        connection.execute(
            "INSERT INTO moderator (name, password_hash, created_at, email)"
            " VALUES ('ann', 'hash', 1, 'ann@blog.example')"
        )
    upgrade.upgrade(path)
    assert read_schema(path) == made
    with contextlib.closing(sqlite3.connect(path)) as connection:
        row = connection.execute("SELECT email, verified_email, may_link FROM moderator").fetchone()
    assert row == ("ann@blog.example", "", 0), "an address that was not confirmed before is not"


def test_spellings_of_an_address_become_one_row(path: Path) -> None:
    upgrade.upgrade(path)
    made = read_schema(path)
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DROP TRIGGER comment_reworded")
        for sql in BEFORE_KEYS:
            connection.execute(sql.replace("'\\x", "x'"))
        trigger = "CREATE TRIGGER comment_reworded AFTER UPDATE OF email ON comment"
        connection.execute(f"{trigger} BEGIN SELECT 1; END")
        connection.execute("UPDATE search_state SET indexed_until = 2")
        connection.execute(f"DELETE FROM {steps.HISTORY} WHERE name > '0004_uploaders'")
    upgrade.upgrade(path)
    assert read_schema(path) == made
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert {sql: connection.execute(sql).fetchall() for sql in KEYED} == KEYED
        key = b"zoe@xn--bcher-kva.example".hex()
        found = connection.execute("SELECT rowid FROM search WHERE search MATCH ?", (key,))
        assert found.fetchall() == [(1,), (2,)], "those that the index had before"


def test_the_history_of_comments_survives_a_new_kind_of_change(tmp_path: Path, path: Path) -> None:
    with opened(tmp_path) as database:
        comment_id = add(database).comment.id
    made = read_schema(path)
    rows = [
        (3, 2, comment_id, "status", "pending", "approved", None, 5, "Mo", None, None),
        (7, 6, comment_id, "text", "a", "b", 4, 5, "Mo", 9, "Jo"),
    ]
    put = f"INSERT INTO change VALUES ({', '.join('?' * 11)})"
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        [(sql,)] = connection.execute("SELECT sql FROM sqlite_schema WHERE name = 'change'")
        connection.execute("DROP TABLE change")
        connection.execute(re.sub(r"\s+OR field = 'lang'", "", sql))
        connection.executemany(put, rows)
        connection.execute(put, (8, 8, *rows[0][2:]))
        connection.execute("DELETE FROM change WHERE id = 8")
        connection.execute(f"DELETE FROM {steps.HISTORY} WHERE name > '0012_mailed_comments'")
    upgrade.upgrade(path)
    assert read_schema(path) == made
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        assert connection.execute("SELECT * FROM change ORDER BY id").fetchall() == rows
        connection.execute(put, (None, 9, comment_id, "lang", "en", "de", *rows[0][6:]))
        assert connection.execute("SELECT MAX(id) FROM change").fetchone() == (9,), "not 8 again"


@pytest.mark.parametrize("trace", ["secret.key", "comments.sqlite3-wal"])
def test_an_empty_file_is_refused_where_there_was_data(path: Path, trace: str) -> None:
    path.touch()
    upgrade.upgrade(path)
    path.write_bytes(b"")
    path.with_name(trace).write_text("x")
    with pytest.raises(DatabaseUnusable, match="is empty, and there was data"):
        upgrade.upgrade(path)
    assert path.read_bytes() == b""


def test_a_new_file_is_readable_by_its_owner_only(path: Path) -> None:
    os.umask(before := os.umask(0))
    upgrade.upgrade(path)
    assert path.stat().st_mode & 0o777 == 0o600
    os.umask(before)


def test_a_current_file_is_left_as_it_is_and_takes_no_time(path: Path) -> None:
    upgrade.upgrade(path)
    before = path.read_bytes()
    assert_quick(partial(upgrade.upgrade, path), 500)
    assert path.read_bytes() == before


def test_comments_survive_an_upgrade(
    tmp_path: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def second(_: object, database: peewee.SqliteDatabase) -> None:
        sql = "ALTER TABLE thread ADD COLUMN colour INTEGER NOT NULL DEFAULT 0"
        database.execute_sql(sql)  # type: ignore[no-untyped-call]  # peewee

    with opened(tmp_path) as database:
        add(database)
    with monkeypatch.context() as later:
        later.setattr(upgrade, "STEPS", upgrade.STEPS | {"0002_second": second})
        upgrade.upgrade(path)
        with opened(tmp_path) as database:
            rows = database.read_now(
                lambda snapshot: snapshot.execute("SELECT count, colour FROM thread").fetchall()
            )
            assert rows == [(1, 0)]
    with pytest.raises(DatabaseUnusable, match=r"newer commentsvc \(it knows 0002_second\)"):
        upgrade.upgrade(path)


def test_a_step_that_fails_leaves_the_schema_before_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: object, database: peewee.SqliteDatabase) -> None:
        database.execute_sql("CREATE TABLE half (x)")  # type: ignore[no-untyped-call]  # peewee
        database.execute_sql("CREATE TABLE half (x)")  # type: ignore[no-untyped-call]  # peewee

    upgrade.upgrade(path)
    before = read_schema(path)
    with monkeypatch.context() as broken:
        broken.setattr(upgrade, "STEPS", upgrade.STEPS | {"0002_fails": fails})
        with pytest.raises(DatabaseUnusable, match=r"cannot be upgraded \(.*half already exists"):
            upgrade.upgrade(path)
    assert read_schema(path) == before
    upgrade.upgrade(path)


def test_an_upgrade_that_was_killed_before_its_first_step_is_done_again(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute(f"CREATE TABLE {steps.HISTORY} (id INTEGER, name TEXT, applied TEXT)")
    connection.close()
    upgrade.upgrade(path)
    assert "comment" in read_schema(path)


def refused(path: Path, reason: str) -> None:
    """The file is refused with one line that has `reason`, and no byte in its folder changes."""
    before = {each.name: each.read_bytes() for each in path.parent.iterdir()}
    with pytest.raises(DatabaseUnusable, match=reason) as info:
        upgrade.upgrade(path)
    assert str(path) in str(info.value)
    assert "\n" not in str(info.value)
    assert {each.name: each.read_bytes() for each in path.parent.iterdir()} == before


def test_a_file_of_the_time_before_the_first_release_is_refused(path: Path) -> None:
    upgrade.upgrade(path)
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"DELETE FROM {steps.HISTORY} WHERE name > '0001_initial'")
        connection.execute(f"UPDATE {steps.HISTORY} SET name = '0001_first'")
    refused(path, "before the first release, .*: move it away, and a new one is made")


def test_a_newer_file_is_refused(path: Path) -> None:
    upgrade.upgrade(path)
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(
            f"INSERT INTO {steps.HISTORY} (name, applied) VALUES ('0999_future', '')"
        )
    connection.close()
    refused(path, "newer commentsvc .*0999_future.*install that version")


def test_a_file_that_is_no_database_is_refused(path: Path) -> None:
    path.write_text("Dear diary,\n")
    refused(path, "no SQLite database: move it away")


def test_a_database_of_another_program_is_refused(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE photos (x)")
    connection.close()
    refused(path, "belongs to another program")


@pytest.mark.parametrize("offset", [20, 100, 4096 * 3 + 5])
def test_a_damaged_file_is_refused(tmp_path: Path, path: Path, offset: int) -> None:
    with opened(tmp_path) as database:
        for _ in range(50):
            add(database, source="x" * 1000)
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(b"\xa5" * 2000)
    refused(path, "damaged .*: restore it from a backup")


def test_a_truncated_file_is_refused(tmp_path: Path, path: Path) -> None:
    with opened(tmp_path) as database:
        for _ in range(50):
            add(database, source="x" * 1000)
    os.truncate(path, 4096 * 5)
    refused(path, "damaged")


def test_a_folder_in_place_of_the_file_is_refused(path: Path) -> None:
    path.mkdir()
    with pytest.raises(DatabaseUnusable, match=r"comments\.sqlite3 cannot be opened: Is a dir"):
        upgrade.upgrade(path)


def test_a_search_for_damage_has_its_time_within_a_large_tree_too(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: with five million comments a start took half a minute."""
    upgrade.upgrade(path)
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("INSERT INTO site (name) SELECT hex(zeroblob(30000000))")

    def duration(seconds: float) -> float:
        monkeypatch.setattr(upgrade, "CHECK_TIME", seconds)
        begin = time.process_time()
        assert not upgrade.check(path)
        return time.process_time() - begin

    whole = duration(60)
    # On a busy machine the alarm may come late.
    assert any(duration(whole / 10) < whole / 2 for _ in range(20))


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_what_another_program_locks_is_busy(
    path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    upgrade.upgrade(path)
    monkeypatch.setattr(upgrade, "STEPS", upgrade.STEPS | {"0002_none": lambda *_: None})
    monkeypatch.setattr(upgrade, "PATIENCE", 0.1)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute(f"PRAGMA journal_mode={mode}")
    other.execute("PRAGMA locking_mode=EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")
    other.execute("CREATE TABLE t (x)")
    with pytest.raises(DatabaseBusy):
        upgrade.upgrade(path)
    other.close()

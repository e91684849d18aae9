"""How a connection to SQLite is opened, and how its errors are translated."""

import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from commentsvc.api.errors import as_http
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.errors import (
    DatabaseBusy,
    DatabaseClosed,
    DatabaseError,
    DatabaseFull,
    DatabaseUnusable,
    DatabaseUnwritable,
)
from commentsvc.db.schema.comments import SiteTable
from commentsvc.db.sqlite.connection import connect, fault, register_adapters


def test_importing_the_program_registers_no_adapter() -> None:
    code = """
import sqlite3
from commentsvc import app
assert not {bytes, type(None)} & {kind for kind, _ in sqlite3.adapters}
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def failure(code: int) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("as SQLite says it")
    error.sqlite_errorcode = code
    return error


# What each primary code means, also with each of its extended codes; any other is no fault.
MEANINGS: dict[str, type[DatabaseError]] = {
    "BUSY": DatabaseBusy,
    "LOCKED": DatabaseBusy,
    "FULL": DatabaseFull,
    "IOERR": DatabaseUnwritable,
    "READONLY": DatabaseUnwritable,
    "CANTOPEN": DatabaseUnwritable,
    "NOMEM": DatabaseUnwritable,
    "CORRUPT": DatabaseUnusable,
    "NOTADB": DatabaseUnusable,
}
OTHERS = frozenset(
    {
        "ABORT",
        "AUTH",
        "CONSTRAINT",
        "EMPTY",
        "ERROR",
        "FORMAT",
        "INTERNAL",
        "INTERRUPT",
        "MISMATCH",
        "MISUSE",
        "NOLFS",
        "NOTFOUND",
        "NOTICE",
        "PERM",
        "PROTOCOL",
        "RANGE",
        "SCHEMA",
        "TOOBIG",
        "WARNING",
    }
)
CODES = [
    (name, primary)
    for name in dir(sqlite3)
    for primary in (*MEANINGS, *OTHERS)
    if re.fullmatch(f"SQLITE_{primary}(_.+)?", name)
]


@pytest.mark.parametrize(("name", "primary"), CODES)
def test_each_error_has_its_meaning_and_only_a_full_disk_is_called_full(
    name: str, primary: str
) -> None:
    error = failure(getattr(sqlite3, name))
    error.sqlite_errorname = name
    found = fault(error)
    assert type(found) is MEANINGS.get(primary, type(None))
    if found is None:
        return
    assert "as SQLite says it" in str(found)
    answer = as_http(found)
    assert answer
    assert answer.status == 503
    assert ("disk is full" in str(answer)) == ("make room" in str(found)) == (primary == "FULL")
    if type(found) is DatabaseUnwritable:
        assert name in str(found)


@pytest.mark.parametrize("error", [failure(sqlite3.SQLITE_ERROR), ValueError("of the work")])
def test_a_failure_of_the_work_is_no_fault_of_the_database(error: Exception) -> None:
    assert fault(error) is None


def test_a_closed_database_counts_as_busy_so_that_clients_try_again() -> None:
    assert issubclass(DatabaseClosed, DatabaseBusy)


def test_connecting_makes_no_file(tmp_path: Path) -> None:
    with pytest.raises(sqlite3.OperationalError):
        connect(tmp_path / "missing", 0)
    assert list(tmp_path.iterdir()) == []


def test_a_path_is_taken_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "100% ?mode=memory#x.sqlite3"
    path.touch()
    connection = connect(path, 0)
    connection.execute("CREATE TABLE t (x)")
    connection.close()
    assert path.stat().st_size > 0


def test_bytes_and_nothing_are_passed_on_without_a_search(tmp_path: Path) -> None:
    path = tmp_path / "some.sqlite3"
    sqlite3.connect(path).close()
    register_adapters()
    connection = connect(path, 1)
    assert connection.execute("SELECT ?, ?", (b"word", None)).fetchall() == [(b"word", None)]
    known = {kind for kind, _ in sqlite3.adapters}
    assert {bytes, type(None)} <= known
    connection.close()


def test_a_pragma_that_fails_leaves_no_connection_open(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"this is no database, and long enough to look like a page of one" * 20)
    with pytest.raises(sqlite3.DatabaseError):
        connect(path, 0, "journal_mode=WAL")


def test_a_reader_runs_sql_and_peewee_queries(tmp_path: Path) -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE site (id INTEGER PRIMARY KEY, name, count)")
    connection.execute("INSERT INTO site VALUES (7, 'blog', 3)")
    snapshot = Snapshot(connection)
    query = SiteTable.select(SiteTable.id, SiteTable.count).where(SiteTable.name == "blog")
    assert snapshot.query(query) == [(7, 3)]
    assert snapshot.execute("SELECT name FROM site WHERE id = ?", (7,)).fetchone() == ("blog",)
    connection.close()


def test_what_a_reader_reads_whole_is_of_one_state(tmp_path: Path) -> None:
    path = tmp_path / "a"
    writing = sqlite3.connect(path, isolation_level=None)
    writing.execute("PRAGMA journal_mode=WAL")
    writing.execute("CREATE TABLE site (name)")
    connection = connect(path, 0, "query_only=1")
    snapshot = Snapshot(connection)

    def count(snapshot: Snapshot) -> int:
        return len(snapshot.execute("SELECT name FROM site").fetchall())

    def twice(snapshot: Snapshot) -> tuple[int, int]:
        before = count(snapshot)
        writing.execute("INSERT INTO site VALUES ('blog')")
        return before, count(snapshot)

    def fails(snapshot: Snapshot) -> int:
        count(snapshot)
        raise LookupError

    assert snapshot.whole(twice) == (0, 0)
    with pytest.raises(LookupError):
        snapshot.whole(fails)
    assert twice(snapshot) == (1, 2)
    connection.close()
    writing.close()


def test_a_transaction_collects_the_tags_of_what_it_made_stale() -> None:
    connection = sqlite3.connect(":memory:")
    tags: list[str] = []
    transaction = Transaction(connection, tags)
    transaction.purge("thread:a:/", "site:a")
    transaction.purge("site:b")
    assert tags == ["thread:a:/", "site:a", "site:b"]
    connection.close()

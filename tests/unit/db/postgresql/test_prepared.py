"""Prepared statements without psycopg's cursors: the same values, rows and errors as with them."""

import time
from collections.abc import Iterator

import psycopg
import pytest

from commentsvc.db.connection import Row
from commentsvc.db.errors import DatabaseBusy
from commentsvc.db.postgresql import connection as postgresql
from commentsvc.db.postgresql import prepared
from commentsvc.db.postgresql.prepared import PreparedStatements
from tests.postgresql_server import Server

pytestmark = pytest.mark.postgresql_only("SQLite's module keeps prepared statements by itself")

NAMES = "SELECT name FROM pg_prepared_statements"


@pytest.fixture
def connection(postgresql_server: Server) -> Iterator[psycopg.Connection[Row]]:
    """Return a connection of a service."""
    made = postgresql.dial(postgresql_server.url("postgres"))
    yield made
    made.close()


@pytest.mark.parametrize(
    "value", [0, -1, 2**31, -(2**63), "", "ä%s'\n", b"", b"\0\xff", None, 1.5, True]
)
def test_values_and_rows_are_those_of_a_cursor(
    connection: psycopg.Connection[Row], value: object
) -> None:
    sql = "SELECT %s, count(*), sum(n), '100%%' FROM generate_series(1, 3) AS n"
    result = PreparedStatements(connection).run(sql, (value,))
    assert [*result] == [(value, 3, 6, "100%")]
    assert [*connection.execute(sql, (value,))] == [(value, 3, 6, "100%")]


def test_a_result_has_what_is_used_of_a_cursor(
    connection: psycopg.Connection[Row],
) -> None:
    statements = PreparedStatements(connection)
    statements.run("CREATE TEMPORARY TABLE t (n bigint)", ())
    added = statements.run("INSERT INTO t SELECT * FROM generate_series(1, %s)", (3,))
    assert (added.rowcount, added.statusmessage, added.fetchone()) == (3, "INSERT 0 3", None)
    found = statements.run("SELECT n % 2 FROM t ORDER BY n", ())  # no values, so % is itself
    assert (found.rowcount, found.fetchone(), found.fetchall()) == (3, (1,), [(0,), (1,)])
    assert (found.fetchone(), found.fetchall()) == (None, [])


def test_a_statement_is_prepared_once_for_the_types_of_its_values(
    connection: psycopg.Connection[Row],
) -> None:
    statements = PreparedStatements(connection)
    for value in (1, 2, 2**40, 3):
        statements.run("SELECT %s + 1", (value,))
    assert len(connection.execute(NAMES).fetchall()) == 2


def test_the_statement_that_was_prepared_first_makes_room(
    connection: psycopg.Connection[Row], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prepared, "MOST", 2)
    statements = PreparedStatements(connection)
    for number in (1, 2, 3, 1):
        assert statements.run(f"SELECT {number}", ()).fetchone() == (number,)
    assert len(connection.execute(NAMES).fetchall()) == 2


def test_errors_are_those_of_a_cursor(connection: psycopg.Connection[Row]) -> None:
    statements = PreparedStatements(connection)
    with pytest.raises(psycopg.errors.UndefinedTable, match="nowhere"):
        statements.run("SELECT * FROM nowhere", ())
    with pytest.raises(psycopg.errors.DivisionByZero):
        statements.run("SELECT 1 / %s", (0,))
    with pytest.raises(psycopg.DataError, match="NUL"):
        statements.run("SELECT %s", ("a\0b",))
    assert statements.run("SELECT 1 / %s", (1,)).fetchone() == (1,)


def test_statements_outlive_a_transaction_that_failed(
    connection: psycopg.Connection[Row],
) -> None:
    statements = PreparedStatements(connection)
    for _ in range(3):
        statements.run("BEGIN", ())
        with pytest.raises(psycopg.errors.DivisionByZero):
            statements.run("SELECT 1 / %s", (0,))
        with pytest.raises(psycopg.errors.InFailedSqlTransaction):
            statements.run("SELECT 1", ())
        statements.run("ROLLBACK", ())
    assert statements.run("SELECT 1", ()).fetchone() == (1,)


def test_patience_does_not_change_what_statements_return(
    connection: psycopg.Connection[Row],
) -> None:
    statements = PreparedStatements(connection, patience=30)
    for _ in range(2):
        assert statements.run("SELECT %s, %s", (7, b"x" * 3_000_000)).fetchone() == (
            7,
            b"x" * 3_000_000,
        )
        with pytest.raises(psycopg.errors.DivisionByZero):
            statements.run("SELECT 1 / %s", (0,))
        with pytest.raises(psycopg.errors.UndefinedTable):
            statements.run("SELECT * FROM nowhere", ())
    assert statements.run("SELECT sum(n) FROM generate_series(1, 200000) AS n", ()).fetchall()


def test_a_statement_that_takes_too_long_closes_the_connection(
    connection: psycopg.Connection[Row],
) -> None:
    statements = PreparedStatements(connection, patience=0.2)
    begun = time.monotonic()
    with pytest.raises(DatabaseBusy, match="PostgreSQL does not answer"):
        statements.run("SELECT pg_sleep(%s)", (30,))
    assert time.monotonic() - begun < 15
    assert connection.closed


def test_a_lost_connection_is_an_operational_error(
    connection: psycopg.Connection[Row], postgresql_server: Server
) -> None:
    statements = PreparedStatements(connection)
    statements.run("SELECT 1", ())
    postgresql_server.run(f"SELECT pg_terminate_backend({connection.info.backend_pid})")
    with pytest.raises(psycopg.OperationalError):
        statements.run("SELECT 1", ())
    assert connection.closed

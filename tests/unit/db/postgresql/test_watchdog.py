"""A statement that takes too long ends, and others do not notice that they are watched."""

import os
import signal
import threading
import time
from collections.abc import Iterator

import psycopg
import pytest

from commentsvc.db.connection import Row
from commentsvc.db.errors import DatabaseBusy
from commentsvc.db.postgresql import connection as postgresql
from commentsvc.db.postgresql import watchdog as watchdog_module
from commentsvc.db.postgresql.watchdog import Watchdog
from tests.e2e.program import wait_for
from tests.postgresql_server import Server
from tests.unit.settable_clock import SettableClock

pytestmark = pytest.mark.postgresql_only("SQLite does not hang")


@pytest.fixture
def connection(postgresql_server: Server) -> Iterator[psycopg.Connection[Row]]:
    """Return a connection of a service."""
    made = postgresql.dial(postgresql_server.url("postgres"))
    yield made
    made.close()


def test_a_statement_that_takes_too_long_loses_its_connection(
    connection: psycopg.Connection[Row],
) -> None:
    watchdog = Watchdog(connection, patience=0.2)
    with pytest.raises(DatabaseBusy, match="PostgreSQL does not answer"), watchdog.bound():
        connection.execute("SELECT pg_sleep(3600)")
    assert connection.closed


def test_a_server_that_is_stopped_is_not_waited_for(connection: psycopg.Connection[Row]) -> None:
    """PostgreSQL's own statement_timeout would have no effect."""
    watchdog = Watchdog(connection, patience=0.2)
    backend = connection.info.backend_pid
    os.kill(backend, signal.SIGSTOP)
    try:
        with pytest.raises(DatabaseBusy, match="PostgreSQL does not answer"), watchdog.bound():
            connection.execute("SELECT 1")
    finally:
        os.kill(backend, signal.SIGCONT)


def test_results_and_errors_in_time_are_as_without_it(
    connection: psycopg.Connection[Row],
) -> None:
    watchdog = Watchdog(connection, patience=30)
    for _ in range(2):
        with watchdog.bound():
            found = connection.execute("SELECT %s", (b"x" * 3_000_000,)).fetchone()
        assert found == (b"x" * 3_000_000,)
        with pytest.raises(psycopg.errors.DivisionByZero), watchdog.bound():
            connection.execute("SELECT 1 / %s", (0,))
    watchdog.close()


def test_time_between_statements_does_not_count(
    connection: psycopg.Connection[Row], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = SettableClock(0)
    monkeypatch.setattr(watchdog_module, "SYSTEM_CLOCK", clock)
    watchdog = Watchdog(connection, patience=0.2)
    for _ in range(2):
        with watchdog.bound():
            assert connection.execute("SELECT 1").fetchone() == (1,)
        clock.elapsed += 500
        time.sleep(0.1)  # it looks several times
    watchdog.close()


def test_a_lost_connection_is_an_error_of_psycopg(
    connection: psycopg.Connection[Row], postgresql_server: Server
) -> None:
    watchdog = Watchdog(connection, patience=30)
    postgresql_server.run(f"SELECT pg_terminate_backend({connection.info.backend_pid})")
    with pytest.raises(psycopg.OperationalError), watchdog.bound():
        connection.execute("SELECT 1")
    watchdog.close()


def test_its_thread_ends_with_it(connection: psycopg.Connection[Row]) -> None:
    before = threading.active_count()
    watchdog = Watchdog(connection, patience=30)
    assert threading.active_count() == before + 1
    watchdog.close()
    wait_for(lambda: threading.active_count() == before, "the thread to end")

"""Statements that the event loop runs end after a time, even if PostgreSQL hangs.

psycopg waits for a statement without a bound, and `statement_timeout` is PostgreSQL's own, which a
stopped server does not keep. So a thread ends the connection of a statement that takes too long.
"""

import contextlib
import os
import socket
import threading
from collections.abc import Iterator
from typing import Any, Final

import psycopg

from commentsvc.db.errors import DatabaseBusy
from commentsvc.util.clock import SYSTEM_CLOCK

CHECKS: Final = 8  # how often the thread looks within the time of a statement


class Watchdog:
    """Gives each statement of one connection the same time, in seconds."""

    def __init__(self, connection: psycopg.Connection[Any], patience: float) -> None:
        """Watch a connection, whose rows may have any type, until it is closed."""
        self._connection = connection
        self._patience = patience
        self._end_ms: float | None = None  # of the statement that runs, on the monotonic clock
        self._closed = threading.Event()
        # A duplicate: its number is never that of another connection.
        self._socket = socket.socket(fileno=os.dup(connection.fileno()))
        threading.Thread(target=self._watch, name="watchdog", daemon=True).start()

    def close(self) -> None:
        """Watch no longer."""
        self._closed.set()

    @contextlib.contextmanager
    def bound(self) -> Iterator[None]:
        """Run a statement. Raise DatabaseBusy if it took too long; then the connection is lost."""
        self._end_ms = SYSTEM_CLOCK.monotonic_ms() + 1_000 * self._patience
        try:
            yield
        except psycopg.OperationalError as error:
            if self._closed.is_set():
                raise DatabaseBusy("PostgreSQL does not answer") from error
            raise
        finally:
            self._end_ms = None

    def _watch(self) -> None:
        with self._socket:
            while not self._closed.wait(self._patience / CHECKS):
                end_ms = self._end_ms
                if end_ms is not None and SYSTEM_CLOCK.monotonic_ms() >= end_ms:
                    self._closed.set()
                    with contextlib.suppress(OSError):  # the server has closed it
                        self._socket.shutdown(socket.SHUT_RDWR)

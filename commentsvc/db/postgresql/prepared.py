"""Prepared statements of one connection to PostgreSQL, without psycopg's cursors.

A cursor of psycopg chooses at each run whether to prepare, and waits for the answer in Python. That
takes 40 of 53 µs for a row by its key. Here libpq waits, and the rest is psycopg's: the values and
rows are converted by the adapters of the connection. So Ctrl-C has no effect until the answer is
here, which suits the threads of a service and their short statements.

The event loop must not wait for a PostgreSQL that hangs. So its connection has a `patience`, after
which it is closed.
"""

import re
import select
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any, Final

import psycopg
from psycopg.adapt import PyFormat, Transformer
from psycopg.pq import ExecStatus

from commentsvc.db.errors import DatabaseBusy
from commentsvc.util.clock import SYSTEM_CLOCK

# Statements that a connection keeps: all of ours, many times over.
MOST: Final = 512

_AUTOMATIC: Final = (PyFormat.AUTO,)
_PLACEHOLDER: Final = re.compile("%[s%]")
_SUCCEEDED: Final = (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK)


class Result:
    """What a statement returned; it has what is used of a cursor."""

    __slots__ = ("_rows", "rowcount", "statusmessage")

    def __init__(self, rows: list[Any], rowcount: int, statusmessage: str) -> None:
        """Take all rows, how many rows were returned or changed, and the name of what was done."""
        self._rows = iter(rows)
        self.rowcount = rowcount
        self.statusmessage = statusmessage

    def __iter__(self) -> Iterator[Any]:  # Any: rows as psycopg types them
        return self._rows

    def fetchone(self) -> Any:  # Any: as above
        """Return the next row, or None."""
        return next(self._rows, None)

    def fetchall(self) -> list[Any]:  # Any: as above
        """Return all further rows."""
        return [*self._rows]


class PreparedStatements:
    """Runs statements on a connection, and prepares each when it first runs.

    PostgreSQL prepares a statement for the types of its values, so one text may take several
    places. ROLLBACK has to run here, too: psycopg forgets all prepared statements of a connection
    after its own.
    """

    def __init__(self, connection: psycopg.Connection[Any], patience: float | None = None) -> None:
        """Take a connection, and the seconds that a statement may take, None for any time.

        Any: its rows may be of any type.
        """
        self._connection = connection
        self._patience = patience
        self._socket = select.poll()
        self._socket.register(connection.pgconn.socket)
        self._transformer = Transformer(connection)
        self._names: dict[tuple[str, tuple[int, ...]], bytes] = {}
        self._numbers = count(1)

    def run(self, sql: str, values: Sequence[object]) -> Result:
        """Run a statement with `%s` for each value. Raise psycopg.Error.

        Raise DatabaseBusy if it takes too long; then the connection is closed.
        """
        pgconn, transformer = self._connection.pgconn, self._transformer
        # Any: PGconn's annotation forgets NULL.
        sent: Any = transformer.dump_sequence(values, _AUTOMATIC * len(values))
        types = transformer.types or ()
        name = self._names.get((sql, types)) or self._prepare(sql, types)
        result = self._ask(
            pgconn.send_query_prepared, pgconn.exec_prepared, name, sent, transformer.formats
        )
        self._check(result)
        transformer.set_pgresult(result)
        rows = transformer.load_rows(0, result.ntuples, tuple)
        changed = result.command_tuples
        status = (result.command_status or b"").decode()
        return Result(rows, len(rows) if changed is None else changed, status)

    def _ask(self, send: Callable[..., None], run: Callable[..., Any], *values: Any) -> Any:
        """Return PGconn's result of `run`, or of `send` with patience. Any: PGconn's own types."""
        if self._patience is None:
            return run(*values)
        send(*values)
        return self._answer()

    def _answer(self) -> Any:  # Any: psycopg.pq.abc.PGresult
        """Return the result of the statement that was sent last."""
        pgconn = self._connection.pgconn
        end_ms = SYSTEM_CLOCK.monotonic_ms() + 1_000 * (self._patience or 0)
        results: list[Any] = []  # Any: as above
        while not results or results[-1] is not None:
            while (unsent := pgconn.flush()) or pgconn.is_busy():
                self._wait(end_ms, select.POLLOUT if unsent else 0)
                pgconn.consume_input()
            results.append(pgconn.get_result())
        if results[0] is None:
            raise psycopg.OperationalError("PostgreSQL returned nothing")
        return results[0]

    def _wait(self, end_ms: float, also_for: int) -> None:
        """Wait until bytes have arrived, or for another event of poll. Raise DatabaseBusy."""
        self._socket.modify(self._connection.pgconn.socket, select.POLLIN | also_for)
        left_ms = end_ms - SYSTEM_CLOCK.monotonic_ms()
        if left_ms <= 0 or not self._socket.poll(left_ms):
            self._connection.close()
            raise DatabaseBusy("PostgreSQL does not answer")

    def _prepare(self, sql: str, types: tuple[int, ...]) -> bytes:
        """Return the name of a new statement."""
        pgconn = self._connection.pgconn
        if len(self._names) >= MOST:
            oldest = self._names.pop(next(iter(self._names)))
            self._check(self._ask(pgconn.send_query, pgconn.exec_, b"DEALLOCATE " + oldest))
        name = b"direct_%d" % next(self._numbers)
        text = _numbered(sql) if types else sql  # as psycopg, which reads no % without values
        self._check(self._ask(pgconn.send_prepare, pgconn.prepare, name, text.encode(), types))
        self._names[sql, types] = name
        return name

    def _check(self, result: Any) -> None:  # Any: psycopg.pq.abc.PGresult
        """Raise psycopg.Error if a statement failed."""
        if result.status not in _SUCCEEDED:
            error = psycopg.errors.error_from_result(result)
            raise error if error.sqlstate else psycopg.OperationalError(str(error))


def _numbered(sql: str) -> str:
    """Return PostgreSQL's own text of a statement of psycopg's: with `$1` for the first `%s`."""
    numbers = count(1)
    return _PLACEHOLDER.sub(lambda found: f"${next(numbers)}" if found[0] == "%s" else "%", sql)

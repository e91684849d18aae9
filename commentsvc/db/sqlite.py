"""SQLite as we use it: how a connection is opened, what may be run on it, what its faults mean.

SQLite up to 3.51.2 can damage a WAL file when two connections write or checkpoint at the
same instant. Therefore exactly one connection does either (see `database`), all others are
`query_only`, and memory mapping stays off. Only Litestream may be let make the checkpoints, all of
them: the fault is in the program that makes one, and its versions since 0.5.17 are free of it.

    DatabaseError
      DatabaseBusy       the queue is full, or another program holds a lock: try again soon
        DatabaseClosed   the database was closed, or never opened
      DatabaseFull       no space, I/O error, read-only file: nothing was stored
      DatabaseUnusable   missing, damaged, foreign or newer file: for the operator, at start
"""

import logging
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from operator import methodcaller
from pathlib import Path
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from commentsvc.db.query import Prepared, Query, bound

_log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")
Row = tuple[Any, ...]  # Any: SQLite's columns have no types that Python could know

STATEMENTS: Final = 256  # prepared statements kept per connection: all of ours, many times over

_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_FULL = {
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_NOMEM,
}
_UNUSABLE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


class DatabaseError(Exception):
    """The database cannot do what was asked. The message is one line for the operator."""


class DatabaseBusy(DatabaseError):
    """The same request may succeed in a moment."""


class DatabaseClosed(DatabaseBusy):
    """The database is not open: the program is stopping, or never started it."""


class DatabaseFull(DatabaseError):
    """The file cannot take more: no space, an I/O error, or a read-only file."""


class DatabaseUnusable(DatabaseError):
    """The file cannot be used at all; a person has to act."""


def fault(error: Exception) -> DatabaseError | None:
    """Return the DatabaseError for a failure of SQLite; None if file and machine are sound."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the low byte is the primary code
    if code in _BUSY:
        return DatabaseBusy(f"another program holds the database ({error})")
    if code in _FULL:
        return DatabaseFull(f"the database cannot be written ({error})")
    if code in _UNUSABLE:
        return DatabaseUnusable(f"the database is damaged ({error}): restore it from a backup")
    return None


def register_adapters() -> None:
    """Let all connections of this process bind bytes and None faster.

    The sqlite3 module looks for an adapter of each such value, in many places and in vain, unless
    it knows one: some of what writing a submission costs.
    """
    sqlite3.register_adapter(bytes, bytes)
    sqlite3.register_adapter(type(None), lambda nothing: nothing)


def connect(path: Path, patience: float, *pragmas: str) -> sqlite3.Connection:
    """Open an existing file, in autocommit mode; `patience` in seconds. Raises sqlite3.Error."""
    connection = sqlite3.connect(
        path.absolute().as_uri() + "?mode=rw",
        uri=True,
        timeout=patience,
        isolation_level=None,
        check_same_thread=False,  # opened here, used by one thread only from then on
        cached_statements=STATEMENTS,
    )
    try:
        for pragma in ("mmap_size=0", "temp_store=MEMORY", *pragmas):
            connection.execute(f"PRAGMA {pragma}").fetchall()
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def connect_reading(path: Path, patience: float, *, idle: bool = False) -> sqlite3.Connection:
    """Open a file so that nothing can be written and no checkpoint made, not even by closing it.

    Where it is `idle`, nobody writes it meanwhile; without a log to read it then needs no locks,
    and makes no file beside it. Raises sqlite3.Error.
    """
    journals = any(path.with_name(path.name + end).exists() for end in ("-wal", "-journal"))
    how = "immutable=1" if idle and not journals else "mode=ro"
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?{how}", uri=True, timeout=patience, isolation_level=None
    )


def is_damaged_text(error: Exception) -> bool:
    """Return whether a text in the database is not UTF-8; the module has no code for it."""
    return isinstance(error, sqlite3.OperationalError) and str(error).startswith(
        "Could not decode to UTF-8"
    )


# Returns a text of the database, with U+FFFD in place of what is damaged. In C, since an export
# decodes ten million texts.
decode: Final[Callable[[bytes], str]] = methodcaller("decode", "utf-8", "replace")


class Reader:
    """What a `read` may do: run queries that change nothing.

    `execute(sql, params)` runs one statement and gives its cursor; it raises sqlite3.Error.
    """

    __slots__ = ("_connection", "execute")

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.execute: Callable[..., sqlite3.Cursor] = connection.execute

    def whole(
        self, work: "Callable[Concatenate[Reader, P], T]", *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run `work` on one state of the database. Raises what it raises, and sqlite3.Error."""
        try:
            self.execute("BEGIN")
            result = work(self, *args, **kwargs)
            self.execute("COMMIT")
        except Exception:
            self._connection.rollback()  # does nothing where SQLite has done so
            raise
        return result

    def mending(
        self, work: "Callable[Concatenate[Reader, P], T]", *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run `work`, which a damaged text made fail, with damaged texts mended.

        So one damaged comment does not take the others with it. Texts are decoded in Python only
        then: that would cost each list of comments a tenth.
        """
        _log.error("a text in the database is damaged: `commentsvc check` says where")
        self._connection.text_factory = decode
        try:
            return work(self, *args, **kwargs)
        finally:
            self._connection.text_factory = str

    def query(self, query: Query, *values: object) -> list[Row]:
        """Run a peewee query and fetch its rows; `values` are those of a prepared one."""
        return self.execute(*bound(query, values)).fetchall()

    def first(self, query: Query, *values: object) -> Row | None:
        """As `query`, for the first row; None where there is none."""
        row: Row | None = self.execute(*bound(query, values)).fetchone()
        return row

    def last_id(self, table: str) -> int:
        """Return the greatest id that `table` ever gave to a row; 0 without AUTOINCREMENT."""
        sql = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = ?"
        return int(self.execute(sql, (table,)).fetchone()[0])

    def each(self, query: Query, *values: object) -> Iterator[Row]:
        """As `query`, but each row is fetched when it is asked for."""
        return self.execute(*bound(query, values))


def ask(
    path: Path,
    dial: Callable[[], sqlite3.Connection],
    work: Callable[Concatenate[Reader, P], T],
    *args: P.args,
    **kwargs: P.kwargs,
) -> T:
    """Return what `work` reads from the file at `path`, on a connection opened by `dial`.

    Raise DatabaseError and what `work` raises.
    """
    try:
        with closing(dial()) as connection:
            connection.text_factory = decode
            return work(Reader(connection), *args, **kwargs)
    except sqlite3.Error as error:
        raise fault(error) or DatabaseUnusable(f"{path}: {error}") from error


class Transaction(Reader):
    """What a `write` may do: run statements, and name the answers that they make stale."""

    __slots__ = ("_tags", "execute_many")

    def __init__(self, connection: sqlite3.Connection, tags: list[str]) -> None:
        super().__init__(connection)
        self.execute_many: Callable[..., sqlite3.Cursor] = connection.executemany
        self._tags = tags

    def insert(self, sql: str, row: Sequence[object]) -> int | None:
        """Run the INSERT of one row, and return the id that it got; None where it was not stored.

        This is for hot statements; RETURNING, which others have, costs 4 µs.
        """
        cursor = self.execute(sql, row)
        return cursor.lastrowid if cursor.rowcount else None

    def insert_each(self, sql: str, rows: Sequence[Sequence[object]]) -> range | None:
        """As `insert` for each of `rows`: their ids, None where some were not stored."""
        if self.execute_many(sql, rows).rowcount != len(rows):
            return None
        [(last,)] = self.execute("SELECT last_insert_rowid()").fetchall()
        return range(last - len(rows) + 1, last + 1)

    def change(self, query: Query, *values: object) -> int:
        """Run a peewee query that changes rows, and return how many it changed."""
        return self.execute(*bound(query, values)).rowcount

    def change_each(self, query: Prepared, rows: Iterable[Sequence[object]]) -> int:
        """As `change`, for the values of each of `rows`."""
        return self.execute_many(*query.bound_each(rows)).rowcount

    def purge(self, *tags: str) -> None:
        """Forget, right after COMMIT, every stored answer under one of `tags`."""
        self._tags.extend(tags)

    def mark(self) -> int:
        """Return how many tags are named so far, for `forget`."""
        return len(self._tags)

    def forget(self, mark: int) -> None:
        """Take back the tags that were named after `mark`, since their work is undone."""
        del self._tags[mark:]

"""SQLite connections: how they are opened, and what their errors mean.

SQLite up to 3.51.2 can damage a WAL file when two connections write or checkpoint at the same
instant. Therefore exactly one connection does either (see `database`), all others are `query_only`,
and memory mapping stays off. Litestream may make the checkpoints instead, but then all of them: the
bug affects the program that makes a checkpoint, and Litestream is free of it since 0.5.17.
"""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Concatenate, Final

from commentsvc.db.connection import P, Snapshot, T, decode
from commentsvc.db.errors import (
    DatabaseBusy,
    DatabaseError,
    DatabaseFull,
    DatabaseUnusable,
    DatabaseUnwritable,
)

STATEMENTS: Final = 256  # prepared statements cached per connection, many more than there are

_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_UNWRITABLE = {
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_NOMEM,
}
_UNUSABLE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


def fault(error: Exception) -> DatabaseError | None:
    """Return the DatabaseError for an error of SQLite; None if it is an error of the program."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the low byte is the primary code
    if code in _BUSY:
        return DatabaseBusy(
            f"another program holds the database ({error}): wait for it, or stop it, and try again"
        )
    if code == sqlite3.SQLITE_FULL:
        return DatabaseFull(f"the database cannot be written ({error}): make room on its disk")
    if code in _UNWRITABLE:
        name = getattr(error, "sqlite_errorname", "")  # the text is the same for many faults
        return DatabaseUnwritable(
            f"the database cannot be written ({name}: {error}): look at its disk, its permissions"
            " and the free memory"
        )
    if code in _UNUSABLE:
        return DatabaseUnusable(f"the database is damaged ({error}): restore a backup")
    return None


def register_adapters() -> None:
    """Register adapters for bytes and None, so that all connections bind them faster.

    Without them, the sqlite3 module searches for an adapter of each such value in several places,
    and finds none.
    """
    sqlite3.register_adapter(bytes, bytes)
    sqlite3.register_adapter(type(None), {None: None}.get)  # a C function that returns None


def connect(path: Path, patience: float, *pragmas: str) -> sqlite3.Connection:
    """Open an existing file in autocommit mode; `patience` is in seconds. Raise sqlite3.Error."""
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
    """Open a file so that neither using nor closing it writes anything or makes a checkpoint.

    With `idle`, the caller guarantees that nobody writes to it meanwhile; if there is no log,
    reading then takes no locks and makes no file. Raise sqlite3.Error.
    """
    journals = any(path.with_name(path.name + end).exists() for end in ("-wal", "-journal"))
    how = "immutable=1" if idle and not journals else "mode=ro"
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?{how}", uri=True, timeout=patience, isolation_level=None
    )


def is_damaged_text(error: Exception) -> bool:
    """Return whether an error means a text that is not UTF-8; sqlite3 has no code for it."""
    return isinstance(error, sqlite3.OperationalError) and str(error).startswith(
        "Could not decode to UTF-8"
    )


def ask(
    path: Path,
    dial: Callable[[], sqlite3.Connection],
    work: Callable[Concatenate[Snapshot, P], T],
    *args: P.args,
    **kwargs: P.kwargs,
) -> T:
    """Return the result of `work` on the file at `path`, through a connection opened by `dial`.

    Raise DatabaseError and what `work` raises.
    """
    try:
        with closing(dial()) as connection:
            connection.text_factory = decode
            return work(Snapshot(connection), *args, **kwargs)
    except sqlite3.Error as error:
        raise fault(error) or DatabaseUnusable(f"{path}: {error}") from error

"""SQLite databases of other systems, which are only read.

A file is opened read-only, with its log (``-wal``) if it has one. A file that no program uses is
read without locks, so its folder need not be writable.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any, Final

from commentsvc.db.connection import decode
from commentsvc.db.sqlite_files import connect_reading
from commentsvc.imports.records import ImportFailed
from commentsvc.imports.sources.files import SourceFile

PATIENCE: Final = 5.0  # seconds to wait for another program's lock
MAGIC: Final = b"SQLite format 3\0"

Columns = dict[str, Any]  # Any: Python cannot know the types of SQLite's values


def text(row: Columns, name: str) -> str:
    """Return a column's value as text; "" for NULL and for a missing column."""
    value = row.get(name)
    found = decode(value) if isinstance(value, bytes) else "" if value is None else str(value)
    return found.replace("\0", "\ufffd")


class SourceDatabase:
    """A database to read; its tables and columns depend on the version of the source."""

    def __init__(self, name: str, connection: sqlite3.Connection) -> None:
        self.name = name
        self._connection = connection
        self.version = int(connection.execute("PRAGMA user_version").fetchone()[0])

    def tables(self) -> list[str]:
        """Return the names of all tables."""
        rows = self._connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        return [name for (name,) in rows]

    def columns(self, table: str) -> set[str]:
        """Return the columns of a table in lower case; none if there is no such table."""
        rows = self._connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
        return {name.lower() for (name,) in rows}

    def rows(self, sql: str) -> Iterator[Columns]:
        """Yield the rows of a query by their columns' names. Raise ImportFailed."""
        try:
            cursor = self._connection.execute(sql)
            names = [column[0].lower() for column in cursor.description]
            for row in cursor:
                yield dict(zip(names, row, strict=True))
        except sqlite3.Error as error:
            raise ImportFailed(f"{self.name} cannot be read: {_reason(error)}.") from error


@contextmanager
def opened(source: SourceFile) -> Iterator[SourceDatabase]:
    """Open the database in `source`. Raise ImportFailed if it is invalid, damaged or locked."""
    if source.packed:
        raise ImportFailed(f"{source.name} is packed. Unpack the database first.")
    try:
        with closing(connect_reading(source.path, PATIENCE, idle=True)) as connection:
            connection.text_factory = decode
            connection.execute("BEGIN")
            yield SourceDatabase(source.name, connection)
    except sqlite3.Error as error:
        raise ImportFailed(f"{source.name} cannot be read: {_reason(error)}.") from error


def _reason(error: sqlite3.Error) -> str:
    if getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return "another program is writing it. Stop that program, or import a copy"
    return str(error)

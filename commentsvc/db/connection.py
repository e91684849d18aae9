"""What runs on a connection: a `Snapshot` its queries, a `Transaction` its changes as well.

Both are for SQLite; `postgresql.connection` has those of PostgreSQL.
"""

import logging
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import methodcaller
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from commentsvc.db.query import Prepared, Query, bound

_log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")
Row = tuple[Any, ...]  # Any: Python cannot know the types of SQLite's columns

# Decode a text of the database, with U+FFFD for damaged bytes. This is a C function, since an
# export decodes ten million texts.
decode: Final[Callable[[bytes], str]] = methodcaller("decode", "utf-8", "replace")


class Snapshot:
    """Runs queries that change nothing; `read` passes one to its `work`.

    `execute(sql, params)` runs one statement and returns its cursor; it raises sqlite3.Error.
    """

    __slots__ = ("_connection", "execute")

    BEGIN = "BEGIN"
    # Whether the database is a file, whose damage nobody else looks for.
    IS_FILE = True

    def __init__(self, connection: Any) -> None:  # Any: sqlite3's, or one with its methods
        self._connection = connection
        self.execute: Callable[..., sqlite3.Cursor] = connection.execute

    def whole(
        self, work: "Callable[Concatenate[Snapshot, P], T]", *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run `work` on one state of the database. Raise what it raises, and sqlite3.Error."""
        try:
            self.execute(self.BEGIN)
            result = work(self, *args, **kwargs)
            self.execute("COMMIT")
        except Exception:
            self._connection.rollback()  # does nothing if SQLite has rolled back already
            raise
        return result

    def replacing_damage(
        self, work: "Callable[Concatenate[Snapshot, P], T]", *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run `work` again after a damaged text made it fail, with U+FFFD for damaged bytes.

        So one damaged comment does not hide the others. Texts are decoded by Python only in this
        case, since that makes each list of comments 10 % slower.
        """
        _log.error("a text in the database is damaged: `commentsvc check` says where")
        self._connection.text_factory = decode
        try:
            return work(self, *args, **kwargs)
        finally:
            self._connection.text_factory = str

    def query(self, query: Query, *values: object) -> list[Row]:
        """Run a peewee query and return all rows; `values` are bound to a prepared one."""
        return self.execute(*bound(query, values)).fetchall()

    def first(self, query: Query, *values: object) -> Row | None:
        """Return the first row of a query; None if there is none."""
        row: Row | None = self.execute(*bound(query, values)).fetchone()
        return row

    def last_id(self, table: str) -> int:
        """Return the greatest id that `table` ever gave to a row; 0 without AUTOINCREMENT."""
        sql = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = ?"
        return int(self.execute(sql, (table,)).fetchone()[0])

    def each(self, query: Query, *values: object) -> Iterator[Row]:
        """Run a peewee query and return an iterator, which fetches each row when it is needed."""
        return self.execute(*bound(query, values))


class Transaction(Snapshot):
    """Runs statements and collects the tags of the answers that they make stale.

    `write` passes one to its `work`.
    """

    __slots__ = ("_tags", "execute_many")

    BEGIN = "BEGIN IMMEDIATE"

    def __init__(self, connection: Any, tags: list[str]) -> None:  # Any: as in Snapshot
        super().__init__(connection)
        self.execute_many: Callable[..., sqlite3.Cursor] = connection.executemany
        self._tags = tags

    def exclude_others(self) -> None:
        """Wait until no other transaction changes the database; BEGIN IMMEDIATE has done that."""

    @property
    def is_open(self) -> bool:
        """Whether nothing has ended the transaction yet."""
        return bool(self._connection.in_transaction)

    def insert(self, query: Prepared, row: Sequence[object]) -> int | None:
        """Run the INSERT of one row; return its id, or None if it was not stored.

        SQLite does it without RETURNING, for which it builds a temporary table: 7.4 µs, not 11.4.
        """
        cursor = self.execute(*query.bound(row))
        return cursor.lastrowid if cursor.rowcount else None

    def insert_each(self, query: Prepared, rows: Sequence[Sequence[object]]) -> range | None:
        """Do as `insert` for each of `rows`; return their ids, or None if some were not stored."""
        if self.change_each(query, rows) != len(rows):
            return None
        [(last,)] = self.execute("SELECT last_insert_rowid()").fetchall()
        return range(last - len(rows) + 1, last + 1)

    def advance_ids(self, table: str, last: int) -> None:
        """Give no id up to `last` to a new row, after rows were stored with ids of our choice."""

    def change(self, query: Query, *values: object) -> int:
        """Run a peewee query that changes rows, and return how many it changed."""
        return self.execute(*bound(query, values)).rowcount

    def change_each(self, query: Prepared, rows: Iterable[Sequence[object]]) -> int:
        """Run a query once for the values of each of `rows`; return how many rows it changed."""
        return self.execute_many(*query.bound_each(rows)).rowcount

    def purge(self, *tags: str) -> None:
        """Purge all cached answers with one of `tags` right after the COMMIT."""
        self._tags.extend(tags)

    def mark(self) -> int:
        """Return how many tags are collected so far, as the argument of `forget`."""
        return len(self._tags)

    def forget(self, mark: int) -> None:
        """Drop the tags that were added after `mark`, because their work was rolled back."""
        del self._tags[mark:]

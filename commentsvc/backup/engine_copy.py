"""Copy a whole database to another one, of the same or the other engine, and compare them.

The source is read in one transaction, while no service uses it, table by table in the order of
keys. So memory does not grow with the data. The target must be empty. A file is written under a
temporary name and renamed at the end; PostgreSQL gets all of it, tables included, in one
transaction. So an interrupted copy leaves nothing behind.

When all rows are stored, those of the target are read again in the same order. Their checksums must
be those of the source. The same rows have the same checksum on both engines.

The search index is not copied but made again, since each engine has its own.
"""

import contextlib
import os
import secrets
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from hashlib import sha256
from itertools import islice, pairwise, zip_longest
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NamedTuple, Protocol

import msgspec
import peewee

from commentsvc.backup.archive import PART, finish_file
from commentsvc.db.connection import Row, Snapshot, Transaction
from commentsvc.db.engine import Location, describe, load_postgresql
from commentsvc.db.errors import DatabaseBusy, DatabaseError, DatabaseUnusable
from commentsvc.db.lock import BY_SYSTEMD, Lock
from commentsvc.db.migrations import moved, upgrade
from commentsvc.db.postgresql import schema as schema
from commentsvc.db.query import Select
from commentsvc.db.schema import search, tables
from commentsvc.db.schema.comments import CommentTable, SiteTable
from commentsvc.db.schema.outbox import TargetTable
from commentsvc.db.schema.search import SearchStateTable
from commentsvc.db.sqlite import connection as sqlite
from commentsvc.settings import data_dir
from commentsvc.util.error_texts import error_text

# Each table comes after those that it refers to.
_sort: Final[Any] = peewee.sort_models  # type: ignore[attr-defined]  # not in peewee's stubs
TABLES: Final = tuple(_sort(tables.TABLES))
# The tables that have rows after the first start of a service.
FILLED_AT_START: Final = (SiteTable, TargetTable, SearchStateTable)
# Rows, or comments for the search index, between two reports of the progress.
PIECE: Final = 1_000
# Seconds to wait for another program's lock.
PATIENCE: Final = 5.0
# The memory in KiB for pages of a new file, whose indexes are filled in random order.
CACHE: Final = 65_536
DIGITS: Final = 16  # of a checksum that is shown

_encode: Final = msgspec.msgpack.Encoder().encode
Advance = Callable[[int], None]


class CopyError(DatabaseError):
    """Nothing was copied; the text says why and what to do."""


class CopiedTable(NamedTuple):
    """A table that was copied: the number of its rows, and the first digits of their SHA-256."""

    name: str
    rows: int
    checksum: str


class CopyResult(NamedTuple):
    """What was copied; `replaced` is how many texts had a NUL, which PostgreSQL cannot store."""

    tables: list[CopiedTable]
    replaced: int


class _Target(Protocol):
    """The database that is written."""

    tx: Transaction
    holds_nul: bool

    def load(self, name: str, columns: Sequence[str], rows: Iterable[Row]) -> None:
        """Store rows."""

    def run(self, sql: str, values: Sequence[object] = ()) -> None:
        """Run a statement that exists for both engines."""

    def analyze(self) -> None:
        """Let the engine count what it has to know for its plans."""

    def continue_after(self, table: Any, last: int) -> None:
        """Give no id up to `last` to a new row of a table; Any: a model's class."""


def copy(source: Location, target: Location, on_progress: Callable[[float], None]) -> CopyResult:
    """Copy all rows of `source` to `target`, and compare them.

    Afterwards `source` is marked, so that no server uses it: see `migrations.moved`. `on_progress`
    is called with the share that is done, from 0 to 1. Raise DatabaseError or OSError; then
    `target` is as it was before.
    """
    is_marked = False
    try:
        with _reading(source) as snapshot:
            try:
                with _writing(target) as made:
                    done = _copy(snapshot, made, on_progress)
                    if is_marked := _is_served(source):  # before anybody may serve the target
                        moved.mark(source, f"{moved.COPIED}{describe(target)}")
            except BaseException:
                if is_marked:
                    moved.unmark(source)
                raise
        for location, url in ((source, describe(target)), (target, "")):
            if isinstance(location, Path) and _is_served(location):
                data_dir.remember_served(location.parent, "" if isinstance(target, Path) else url)
        return done
    except sqlite3.Error as error:
        raise sqlite.fault(error) or CopyError(_sqlite_text(error)) from error


def _is_served(location: Location) -> bool:
    """Return whether a service uses what is at `location`: a file only under its usual name."""
    return isinstance(location, str) or location.name == data_dir.DATABASE


def _sqlite_text(error: sqlite3.Error) -> str:
    if sqlite.is_damaged_text(error):
        return "a text of the source is damaged: `commentsvc check` says where"
    return f"the rows cannot be copied ({error})"


def _copy(source: Snapshot, target: _Target, on_progress: Callable[[float], None]) -> CopyResult:
    counts = [
        source.query(table.select(peewee.fn.COUNT(peewee.SQL("1"))))[0][0] for table in TABLES
    ]
    indexed = source.query(SearchStateTable.select(SearchStateTable.indexed_until))[0][0]
    total = 2 * sum(counts) + counts[TABLES.index(CommentTable)] or 1
    done = 0

    def advance(rows: int) -> None:
        nonlocal done
        done += rows
        on_progress(min(done / total, 1.0))

    passes = []
    for table in TABLES:
        rows = _RowPass(source, table, advance, keeps_nul=target.holds_nul)
        target.load(table._meta.table_name, _columns(table), rows)
        passes.append(rows)
    for rows in passes:
        copied = _RowPass(target.tx, rows.table, advance)
        for _ in copied:
            pass
        if copied.summary() != rows.summary():
            raise CopyError(_difference(source, target, rows.table))
    target.analyze()
    comments = passes[TABLES.index(CommentTable)]
    for before, last in pairwise([0, *comments.ends]):
        if before < indexed:
            target.run(search.INDEX, (before + 1, min(last, indexed)))
        advance(PIECE)
    for rows in passes:
        if isinstance(rows.table._meta.primary_key, peewee.AutoField):
            given = source.last_id(rows.table._meta.table_name)
            target.continue_after(rows.table, max([given, *rows.ends[-1:]]))
    on_progress(1)
    return CopyResult([rows.summary() for rows in passes], sum(rows.replaced for rows in passes))


class _RowPass:
    """One pass over the rows of a table in the order of its key; it computes their checksum."""

    def __init__(
        self, snapshot: Snapshot, table: Any, advance: Advance, *, keeps_nul: bool = True
    ) -> None:
        """Take the table's model, and a function that is called with the size of each piece."""
        self.table = table
        self.ends: list[Any] = []  # the first column of the key of each piece's last row
        self.replaced = 0
        self._rows = 0
        self._hash = sha256()
        self._snapshot = snapshot
        self._advance = advance
        self._keeps_nul = keeps_nul

    def __iter__(self) -> Iterator[Row]:
        index = _columns(self.table).index(_key(self.table)[0].column_name)
        found = iter(self._snapshot.each(_rows(self.table)))
        while piece := list(islice(found, PIECE)):
            if not self._keeps_nul:
                piece = [self._without_nul(row) for row in piece]
            for row in piece:
                self._hash.update(_encode(row))
                yield row
            self.ends.append(piece[-1][index])
            self._rows += len(piece)
            self._advance(len(piece))

    def _without_nul(self, row: Row) -> Row:
        if not any(isinstance(value, str) and "\0" in value for value in row):
            return row
        self.replaced += 1
        return tuple(
            value.replace("\0", "\N{REPLACEMENT CHARACTER}") if isinstance(value, str) else value
            for value in row
        )

    def summary(self) -> CopiedTable:
        """Return what was read so far."""
        digest = self._hash.hexdigest()[:DIGITS]
        return CopiedTable(self.table._meta.table_name, self._rows, digest)


def _columns(table: Any) -> list[str]:  # Any: a model's class
    return [field.column_name for field in table._meta.sorted_fields]


def _key(table: Any) -> list[peewee.Field]:  # Any: as above
    key = table._meta.primary_key
    if isinstance(key, peewee.CompositeKey):
        return [table._meta.fields[name] for name in key.field_names]
    return [key]


def _rows(table: Any) -> Select:  # Any: as above
    return table.select(*table._meta.sorted_fields).order_by(*_key(table))


def _difference(source: Snapshot, target: _Target, table: Any) -> str:  # Any: as above
    """Return the text about the first row that differs."""
    key = [_columns(table).index(field.column_name) for field in _key(table)]

    def nothing(_: int) -> None:
        pass

    ours = _RowPass(source, table, nothing, keeps_nul=target.holds_nul)
    for row, copied in zip_longest(ours, _RowPass(target.tx, table, nothing)):
        if row != copied:
            identity = ", ".join(str((row or copied)[number]) for number in key)
            return (
                f"the row {identity} of the table {table._meta.table_name} was not copied exactly"
            )
    return f"the table {table._meta.table_name} was changed while it was compared"


@contextlib.contextmanager
def _reading(location: Location) -> Iterator[Snapshot]:
    """Read one state of a database that no service uses. Raise DatabaseError."""
    if isinstance(location, Path):
        with _reading_file(location) as snapshot:
            yield snapshot
        return
    postgresql = load_postgresql()
    from commentsvc.db.postgresql import upgrade as postgresql_upgrade

    refuse = partial(postgresql.refuse_others, purpose="copy")
    with contextlib.closing(
        postgresql.PostgresqlConnection(location, read_only=True, prepare=refuse)
    ) as connection:
        if postgresql_upgrade.missing(connection):
            raise DatabaseUnusable(
                "the source has no tables of this version: start this version of the server on it"
            )
        snapshot = postgresql.PostgresqlSnapshot(connection)
        with _postgresql_errors(postgresql):
            snapshot.execute(snapshot.BEGIN)
            yield snapshot


@contextlib.contextmanager
def _postgresql_errors(postgresql: ModuleType) -> Iterator[None]:
    try:
        yield
    except postgresql.psycopg.Error as error:
        text = error_text(error)
        raise postgresql.fault(error) or CopyError(
            f"PostgreSQL refuses what is to be copied ({text}): `commentsvc check` looks for"
            " faults of the source"
        ) from error


@contextlib.contextmanager
def _reading_file(path: Path) -> Iterator[Snapshot]:
    if not path.is_file():
        raise DatabaseUnusable(f"{path} is not a file: name the database file of a service")
    upgrade.refuse_empty(path)
    with _lock(path):
        if upgrade.check(path):
            raise DatabaseUnusable(
                f"{path} has an older version: the server upgrades it at its next start"
            )
        with contextlib.closing(sqlite.connect_reading(path, PATIENCE)) as connection:
            snapshot = Snapshot(connection)
            snapshot.execute(snapshot.BEGIN)
            yield snapshot


@contextlib.contextmanager
def _lock(path: Path) -> Iterator[None]:
    """Keep services from a file, which one uses only under its usual name."""
    if not _is_served(path):
        yield
        return
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(Lock(path.parent))
        except DatabaseBusy as error:
            raise DatabaseBusy(f"{error}: stop it, then copy{BY_SYSTEMD}") from error
        yield


@contextlib.contextmanager
def _writing(location: Location) -> Iterator[_Target]:
    """Open an empty database to fill; it is there when the block ends without an error."""
    if isinstance(location, Path):
        with _writing_file(location) as file:
            yield file
        return
    postgresql = load_postgresql()
    from commentsvc.db.postgresql import upgrade as postgresql_upgrade

    refuse = partial(postgresql.refuse_others, purpose="copy")
    with (
        contextlib.closing(postgresql.PostgresqlConnection(location, prepare=refuse)) as connection,
        _postgresql_errors(postgresql),
    ):
        connection.run("BEGIN")
        postgresql_upgrade.apply(connection)
        target = _PostgresqlTarget(connection, postgresql.PostgresqlTransaction(connection, []))
        target.empty()
        connection.run(schema.DROP_WORDS)
        yield target
        connection.run(schema.CREATE_WORDS)
        connection.run("COMMIT")


class _PostgresqlTarget:
    """A new or empty database of PostgreSQL, in an open transaction."""

    holds_nul = False

    def __init__(self, connection: Any, tx: Transaction) -> None:
        """Take a PostgresqlConnection; Any: its driver may not be installed."""
        self.tx = tx
        self._connection = connection

    def empty(self) -> None:
        """Delete what a start of a service makes. Raise CopyError if there is more."""
        for table in TABLES:
            if table not in FILLED_AT_START and self.tx.first(table.select().limit(1)):
                [(name,)] = self.tx.execute("SELECT current_database()").fetchall()
                raise CopyError(
                    f"the database {name} is not empty (its table {table._meta.table_name} has"
                    " rows): name an empty one"
                )
        for table in reversed(FILLED_AT_START):
            self.tx.change(table.delete())

    def load(self, name: str, columns: Sequence[str], rows: Iterable[Row]) -> None:
        names = ", ".join(f'"{column}"' for column in columns)
        self._connection.load(f'COPY "{name}" ({names}) FROM STDIN', rows)

    def run(self, sql: str, values: Sequence[object] = ()) -> None:
        self._connection.execute(sql, values)

    def analyze(self) -> None:
        self._connection.run(schema.ANALYZE)

    def continue_after(self, table: Any, last: int) -> None:
        self.tx.advance_ids(table._meta.table_name, last)


@contextlib.contextmanager
def _writing_file(path: Path) -> Iterator[_Target]:
    data_dir.must_exist(path.parent)
    if os.path.lexists(path):
        raise CopyError(f"{path} already exists: move it away, or name another file")
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}{PART}")
    with _lock(path), contextlib.ExitStack() as stack:
        for end in ("", "-wal", "-shm"):
            stack.callback(part.with_name(part.name + end).unlink, missing_ok=True)
        upgrade.upgrade_file(part)
        connection = sqlite.connect(
            part, PATIENCE, "journal_mode=OFF", "synchronous=OFF", f"cache_size=-{CACHE}"
        )
        with contextlib.closing(connection):
            connection.execute("BEGIN")
            connection.execute("DELETE FROM search_state")
            yield _FileTarget(connection)
            connection.execute("COMMIT")
            connection.execute("PRAGMA journal_mode=WAL")
        finish_file(part, path)


class _FileTarget:
    """A new file of SQLite's."""

    holds_nul = True

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.tx = Transaction(connection, [])
        self._connection = connection

    def load(self, name: str, columns: Sequence[str], rows: Iterable[Row]) -> None:
        names = ", ".join(f'"{column}"' for column in columns)
        values = ", ".join("?" * len(columns))
        self._connection.executemany(f'INSERT INTO "{name}" ({names}) VALUES ({values})', rows)  # noqa: S608 - our names

    def run(self, sql: str, values: Sequence[object] = ()) -> None:
        self._connection.execute(sql, values)

    def analyze(self) -> None:
        """Do nothing: the plans of our queries need no statistics."""

    def continue_after(self, table: Any, last: int) -> None:
        if table._meta.primary_key.constraints and last:  # AUTOINCREMENT
            name = table._meta.table_name
            self._connection.execute("DELETE FROM sqlite_sequence WHERE name = ?", (name,))
            self._connection.execute("INSERT INTO sqlite_sequence VALUES (?, ?)", (name, last))

"""PostgreSQL as we use it: how a connection is opened, what may be run on it, what its faults mean.

Queries are those of `query`. Each statement takes PostgreSQL and the driver 60 µs, several times as
long as a row, so comments that wait together are inserted at once: see `_insertion`.
Any number of services may use one database: `cluster` keeps their caches coherent. A connection
that was lost is opened again when it is needed next; what was under way fails with DatabaseBusy,
and nothing is acknowledged before its COMMIT came back.

This module is loaded only where `database.url` asks for it: psycopg is an extra.
"""

# ruff: noqa: S608 - put together from constants only

import contextlib
import re
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from functools import lru_cache
from itertools import count
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

import msgspec
import psycopg
from psycopg import sql as composed
from psycopg.adapt import Loader
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.numeric import Int4Dumper, Int8Dumper

from commentsvc.db.connection import Row, Snapshot, Transaction
from commentsvc.db.errors import (
    DatabaseBusy,
    DatabaseError,
    DatabaseFull,
    DatabaseUnusable,
    DatabaseUnwritable,
)
from commentsvc.db.peers import LOCK, Peers, UnawaitedPeers
from commentsvc.db.postgresql import schema
from commentsvc.db.postgresql.schema import ENGINE, SCHEMA
from commentsvc.db.postgresql.watchdog import Watchdog
from commentsvc.db.query import Prepared, Query
from commentsvc.db.schema import search
from commentsvc.settings.schema import DatabaseSettings
from commentsvc.util.clock import SYSTEM_CLOCK
from commentsvc.util.error_texts import error_text

P = ParamSpec("P")
T = TypeVar("T")

# Seconds to wait for a connection.
DIAL_PATIENCE: Final = 3
# What a service opens: for the writer, the threads that read, the event loop, the election, and two
# for the channel between instances; a command opens one more.
CONNECTIONS: Final = 10
# Seconds to wait for another program's lock.
PATIENCE: Final = 3
# Milliseconds after which a connection counts as lost if its other end acknowledges nothing.
SILENCE_MS: Final = 10_000
# The same for the connection of the event loop, which a read there would block as long.
LOOP_SILENCE_MS: Final = 2_000
# The event loop waits so many seconds for a statement. After a timeout it asks PostgreSQL nothing
# for so many milliseconds, so that other requests are served.
LOOP_READ_PATIENCE: Final = 2.0
LOOP_REST_MS: Final = 1_000
# Seconds that the event loop waits for a new connection; then a thread goes on to open it.
LOOP_PATIENCE: Final = 0.1
# Statements that a connection keeps prepared: all of ours, many times over.
MOST: Final = 512
# Rows that are fetched at once of a long result.
PIECE: Final = 1_000
# Seconds that a transaction waits for another instance's. An instance that hangs or was stopped in
# the midst of a transaction is disconnected after IDLE seconds.
WRITER_PATIENCE: Final = 5
IDLE: Final = 2
# The version of Debian 12, the oldest that we support.
OLDEST: Final = 15
# How often, and after how many seconds, it is asked again whether a program has left.
LEAVING, LEAVING_PAUSE = 10, 0.1

# Other programs of ours that are connected to the same database.
_USERS: Final = (
    "SELECT datname, pid, coalesce(host(client_addr), 'this machine') FROM pg_stat_activity"
    " WHERE datname = current_database() AND application_name = 'commentsvc'"
    " AND pid <> pg_backend_pid() LIMIT 1"
)

# Whether the session `a` may be an instance: its user may use our tables, or there are none yet.
MAY_BE_OURS: Final = (
    f"coalesce(has_schema_privilege(a.usesysid, to_regnamespace('{SCHEMA}')::oid, 'USAGE'), true)"
)
_STRANGER_WITH_LOCK: Final = (
    "SELECT a.datname, a.usename, a.pid, coalesce(host(a.client_addr), 'this machine')"
    " FROM pg_locks AS l JOIN pg_stat_activity AS a ON a.pid = l.pid AND a.datid = l.database"
    " WHERE l.locktype = 'advisory' AND l.granted AND a.datname = current_database()"
    f" AND NOT {MAY_BE_OURS} LIMIT 1"
)

_BUSY: Final = ("08", "25P03", "40", "53300", "57")  # beginnings of SQLSTATEs
_LOCKED: Final = "55P03"
_FULL: Final = "53100"
_UNWRITABLE: Final = ("53", "25006", "58")
_UNUSABLE: Final = ("28", "3D", "42501", "3F", "XX")

# Settings of each session, which an administrator may have changed for a role or a database, and
# since which version PostgreSQL knows them. Our statements need their usual values.
_SESSION: Final = (
    ("search_path", f"{SCHEMA}, pg_catalog", 0),
    ("default_transaction_isolation", "read committed", 0),
    ("standard_conforming_strings", "on", 0),
    ("statement_timeout", "0", 0),
    ("idle_in_transaction_session_timeout", "0", 0),
    ("idle_session_timeout", "0", 140_000),
    ("transaction_timeout", "0", 170_000),
)

# The beginnings of statements that change nothing: they may be repeated on another connection.
_REPEATABLE: Final = ("BEGIN", "SELECT", "WITH")


class _WholeNumber(Loader):
    """Sums of integers, which PostgreSQL gives as `numeric`."""

    def load(self, data: Any) -> int:  # Any: a buffer, which typing cannot name before 3.12
        return int(bytes(data))


class _IntegerDumper(psycopg.adapt.Dumper):
    """Integers of two sizes, so that few statements are prepared for different ones."""

    oid = psycopg.adapters.types["int8"].oid

    def get_key(self, obj: Any, _: Any) -> Any:  # Any: as in psycopg
        return Int4Dumper if -(1 << 31) <= obj < 1 << 31 else Int8Dumper

    def upgrade(self, obj: Any, _: Any) -> Any:  # Any: as in psycopg
        return self.get_key(obj, None)(int)

    def dump(self, _: Any) -> bytes:
        raise NotImplementedError  # `upgrade` names the one that does it


def fault(error: Exception) -> DatabaseError | None:
    """What a failure of PostgreSQL means to us; None if it is no fault of the server or machine."""
    if isinstance(error, DatabaseError):  # of a connection that could not be opened again
        return error
    if not isinstance(error, psycopg.Error):
        return None
    state, text = error.sqlstate or "", error_text(error)
    if state.startswith(_UNWRITABLE) and state != "53300":
        kind = DatabaseFull if state == _FULL else DatabaseUnwritable
        return kind(f"the database cannot be written ({text})")
    if state.startswith(_UNUSABLE):
        return DatabaseUnusable(f"the database cannot be used ({text})")
    if state == _LOCKED:
        return DatabaseBusy(
            f"another program holds the database ({text}): wait for it, or stop it, and try again"
        )
    lost = not state and isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
    if lost or state.startswith(_BUSY):
        return DatabaseBusy(f"PostgreSQL does not answer ({text})")
    return None


def _without_nul(value: object) -> object:
    """Return a value with U+FFFD for NUL, which no text may hold and the driver refuses to send."""
    return value.replace("\0", "\N{REPLACEMENT CHARACTER}") if isinstance(value, str) else value


def _sendable(row: Sequence[object]) -> list[object]:
    return [_without_nul(value) for value in row]


_NUL_IN_JSON: Final = b"\\u0000"


def _objects(names: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return rows as a JSON list of objects, with bytes as PostgreSQL reads them."""
    rows = [*rows]
    text = _json(names, rows)
    if _NUL_IN_JSON in text:
        text = _json(names, map(_sendable, rows))
    return text.decode()


def _json(names: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    given = [
        {
            name: f"\\x{value.hex()}" if isinstance(value, bytes) else value
            for name, value in zip(names, row, strict=True)
        }
        for row in rows
    ]
    return msgspec.json.encode(given)


# PostgreSQL's text of the statements that are written out for SQLite.
_TWINS: Final = {
    search.INDEX: f"{schema.INDEX} BETWEEN %s AND %s",
    search.COUNT: schema.COUNT,
}


def _translated(sql: str) -> str:
    return _TWINS.get(sql) or sql.replace("?", "%s")


@lru_cache(MOST)
def _insertion(query: Prepared) -> tuple[str, tuple[str, ...]]:
    """Return the INSERT of each row of a JSON list of objects, and their keys; it returns ids."""
    sql, indexes = query.made_for(schema.ENGINE)
    found = re.fullmatch(r'INSERT INTO ("\w+") \((.*)\) VALUES \([%s, ]*\)(.*)', sql)
    assert found, "a hot INSERT binds each value"
    table, names, rest = found.groups()
    given = f"json_populate_recordset(NULL::{table}, %s::json) WITH ORDINALITY AS given"
    values = f"SELECT {names} FROM {given} ORDER BY given.ordinality"
    keys = dict(zip(indexes, names.replace('"', "").split(", "), strict=True))
    return f"INSERT INTO {table} ({names}) {values}{rest} RETURNING id", tuple(
        keys[n] for n in sorted(keys)
    )


def dial(
    url: str, *, read_only: bool = False, silence_ms: int = SILENCE_MS
) -> psycopg.Connection[Row]:
    """Open a connection in autocommit mode. Raises DatabaseError."""
    try:
        _refuse_password_in_host(url)
        connection = psycopg.connect(
            url,
            autocommit=True,
            prepare_threshold=2,
            connect_timeout=DIAL_PATIENCE,
            tcp_user_timeout=silence_ms,
            application_name="commentsvc",
            client_encoding="utf8",
        )
        try:
            connection.prepared_max = MOST
            adapters = connection.adapters
            adapters.register_loader("numeric", _WholeNumber)
            adapters.register_dumper(int, _IntegerDumper)
            connection.execute(session(connection.info, read_only=read_only))
        except BaseException:
            connection.close()
            raise
    except (psycopg.ProgrammingError, UnicodeError):  # the latter of a host that cannot be a name
        raise DatabaseUnusable(
            "database.url cannot be used: look at its host and parameters, and write what is not a"
            " letter or digit in user and password as %XX"
        ) from None  # what the library says of it may show the password
    except psycopg.Error as error:
        raise DatabaseUnusable(
            f"PostgreSQL cannot be reached ({error_text(error)}): check database.url and the server"
        ) from error
    return connection


def refuse_transaction_pool(url: str, first: psycopg.Connection[Any]) -> None:
    """Raise DatabaseUnusable if a pool in between gives each transaction another connection.

    Then locks, settings and LISTEN, which belong to a session, are lost or somebody else's. A pool
    shows itself by the number of the connection, and its mode by who gets the same one.
    """

    def number(connection: psycopg.Connection[Any]) -> int:
        row = connection.execute("SELECT pg_backend_pid()", prepare=False).fetchone()
        return int(row[0]) if row else 0

    try:
        own = number(first)
        if own == first.info.backend_pid:
            return
        with contextlib.closing(dial(url, read_only=True)) as second:
            second.execute("BEGIN")  # it keeps its connection from now on
            if number(second) != own and number(first) == own:
                return
    except psycopg.Error:  # pools of single statements refuse it
        pass
    raise DatabaseUnusable(
        "database.url leads to a connection pool that gives each transaction another connection:"
        " set pool_mode = session for this database in the pool, or name PostgreSQL itself"
    )


@contextlib.asynccontextmanager
async def dialled(url: str, silence_ms: int) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
    """Open a connection for an event loop, in autocommit mode, during the block.

    Raise psycopg.Error, OSError.
    """
    connection = await psycopg.AsyncConnection.connect(
        url,
        autocommit=True,
        connect_timeout=DIAL_PATIENCE,
        tcp_user_timeout=silence_ms,
        application_name="commentsvc",
        client_encoding="utf8",
    )
    try:
        await connection.execute(session(connection.info, read_only=False))
        yield connection
    finally:
        await connection.close()


def session(info: psycopg.ConnectionInfo, *, read_only: bool) -> str:
    """Return the statement that gives a new session the settings that our statements need."""
    settings = {name: value for name, value, since in _SESSION if info.server_version >= since}
    settings["default_transaction_read_only"] = "on" if read_only else "off"
    each = (f"set_config('{name}', '{value}', false)" for name, value in settings.items())
    return f"SELECT {', '.join(each)}"


def _refuse_password_in_host(url: str) -> None:
    """Raise psycopg.ProgrammingError if a password with @ ends in the host, which messages show."""
    hosts = str(conninfo_to_dict(url).get("host", ""))
    if any("@" in host[1:] for host in hosts.split(",")):  # one that begins with it is a socket
        raise psycopg.ProgrammingError("there is an @ in the host")


def refuse_others(connection: Any, purpose: str) -> None:
    """Raise DatabaseBusy if another program of ours is connected, such as a service.

    It must be stopped for our `purpose`. PostgreSQL lists one that has just ended for a moment
    longer. Any: psycopg's connection, or ours.
    """
    for _ in range(LEAVING):
        connection.execute("SELECT pg_stat_clear_snapshot()")
        row = connection.execute(_USERS).fetchone()
        if row is None:
            return
        time.sleep(LEAVING_PAUSE)
    name, pid, address = row
    raise DatabaseBusy(
        f"the database {name} is in use by another commentsvc (its connection {pid}, from"
        f" {address}): stop it, then {purpose}"
    )


def take_lock(connection: Any) -> None:
    """Take the lock of whoever changes the database, until the end of the transaction.

    Raises DatabaseBusy, naming the holder. Any: psycopg's connection, or ours.
    """
    connection.execute(f"SET lock_timeout = '{PATIENCE}s'")
    _wait_for_lock(connection)
    connection.execute("RESET lock_timeout")


def _wait_for_lock(connection: Any) -> None:  # Any: as above
    try:
        connection.execute(f"SELECT pg_advisory_xact_lock({LOCK})")
    except psycopg.errors.LockNotAvailable as error:
        connection.rollback()
        raise DatabaseBusy(stranger_with_lock(connection) or _holder(connection)) from error


def stranger_with_lock(connection: psycopg.Connection[Any]) -> str:
    """Return who has an advisory lock in our database but is no commentsvc; "" for nobody.

    Whoever may connect can take these locks.
    """
    row = connection.execute(_STRANGER_WITH_LOCK).fetchone()
    if row is None:
        return ""
    name, user, pid, address = row
    return (
        f"the user {user}, who is no commentsvc, has a lock in the database {name} (connection"
        f' {pid}, from {address}): run REVOKE CONNECT ON DATABASE "{name}" FROM PUBLIC, and then'
        f" pg_terminate_backend({pid})"
    )


def _holder(connection: psycopg.Connection[Any]) -> str:
    """Return who has the lock."""
    row = connection.execute(
        "SELECT current_database(), a.pid, coalesce(host(a.client_addr), 'this machine')"
        " FROM pg_locks AS l JOIN pg_stat_activity AS a ON a.pid = l.pid"
        " WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1"
        " AND (l.classid::bigint << 32 | l.objid::bigint) = %s"
        " AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())",
        (LOCK,),
    ).fetchone()
    if row is None:
        return "the database is in use by another commentsvc"
    name, pid, address = row
    return (
        f"the database {name} is in use by another commentsvc (its connection {pid},"
        f" from {address})"
    )


class PostgresqlConnection:
    """A connection that is opened again when it was lost.

    `prepare` is run on each new one. Whoever uses it `on_loop`, the event loop, does not wait until
    that is open, but gets DatabaseBusy meanwhile. It has the methods of sqlite3's that the writer
    and reading threads use.
    """

    def __init__(
        self,
        url: str,
        *,
        read_only: bool = False,
        on_loop: bool = False,
        prepare: Callable[[psycopg.Connection[Row]], None] = lambda _: None,
    ) -> None:
        """Open it. Raises DatabaseError."""
        self._url = url
        self._read_only = read_only
        self._on_loop = on_loop
        self._rest_until_ms = 0  # of the monotonic clock
        self._dialling: Future[psycopg.Connection[Row]] | None = None
        self._prepare = prepare
        self._names = count(1)
        self._has_begun = False
        self._watchdog: Watchdog | None = None
        self._use(self._dial())

    def _use(self, connection: psycopg.Connection[Row]) -> None:
        self._stop_watching()
        self._psycopg = connection
        self._watchdog = Watchdog(connection, LOOP_READ_PATIENCE) if self._on_loop else None

    def _dial(self) -> psycopg.Connection[Row]:
        silence_ms = LOOP_SILENCE_MS if self._on_loop else SILENCE_MS
        connection = dial(self._url, read_only=self._read_only, silence_ms=silence_ms)
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    @property
    def info(self) -> psycopg.ConnectionInfo:
        """What the driver knows of the connection."""
        return self._psycopg.info

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        status = self._psycopg.pgconn.transaction_status
        return status != psycopg.pq.TransactionStatus.IDLE

    def execute(self, sql: str, params: Sequence[object] = ()) -> Any:
        """Run a statement that is written out; Any: sqlite3's cursor has the same methods."""
        return self.run(_translated(sql), params)

    def run(self, sql: str, params: Sequence[object] = ()) -> Any:
        """Run a statement in PostgreSQL's own words; Any: as above."""
        if self._psycopg.closed:
            if self._has_begun:  # what follows must not run outside the transaction that was lost
                raise psycopg.OperationalError("the connection was lost during a transaction")
            self._redial()
        cursor = self._run(sql, params)
        if sql.startswith("BEGIN"):
            self._has_begun = True
        elif sql == "COMMIT":
            if cursor.statusmessage != sql:  # PostgreSQL's answer where a statement had failed
                raise psycopg.OperationalError("the transaction was rolled back")
            self._has_begun = False
        return cursor

    def _run(self, sql: str, params: Sequence[object]) -> Any:  # Any: as above
        idle = not self.in_transaction
        try:
            return self._send(sql, params)
        except psycopg.DataError:
            clean = _sendable(params)
            if clean == [*params]:
                raise
            return self._send(sql, clean)
        except psycopg.Error:
            if not (idle and self._psycopg.closed and sql.startswith(_REPEATABLE)):
                raise
        self._redial()
        return self._send(sql, params)

    def _send(self, sql: str, params: Sequence[object]) -> Any:  # Any: as above
        if self._watchdog is None:
            return self._psycopg.execute(sql, params or None)
        try:
            with self._watchdog.bound():
                return self._psycopg.execute(sql, params or None)
        except DatabaseBusy:
            self._rest_until_ms = SYSTEM_CLOCK.monotonic_ms() + LOOP_REST_MS
            raise

    def executemany(self, sql: str, rows: Iterable[Sequence[object]]) -> Any:  # Any: as above
        """As `execute` for each of `rows`."""
        return self.run_each(_translated(sql), rows)

    def run_each(self, sql: str, rows: Iterable[Sequence[object]]) -> Any:  # Any: as above
        """As `run` for each of `rows`."""
        cursor = self._psycopg.cursor()
        cursor.executemany(sql, map(_sendable, rows))
        return cursor

    def each(self, sql: str, params: Sequence[object]) -> Iterator[Row]:
        """As `run`, but the rows are fetched in pieces, where a transaction is open."""
        if not self.in_transaction:
            yield from self.run(sql, params)
            return
        with self._psycopg.cursor(name=f"each_{next(self._names)}") as cursor:
            cursor.itersize = PIECE
            cursor.execute(sql, _sendable(params) or None)
            yield from cursor

    def load(self, sql: str, rows: Iterable[Sequence[object]]) -> None:
        """Run a statement COPY … FROM STDIN with these rows."""
        with self._psycopg.cursor().copy(sql) as copying:
            for row in rows:
                copying.write_row(row)

    def load_text(self, sql: bytes, lines: Iterable[bytes]) -> None:
        """Do as `load` with rows in COPY's own text format."""
        with self._psycopg.cursor().copy(sql) as copying:
            for line in lines:
                copying.write(line)

    def rollback(self) -> None:
        """Undo what is open; nothing where that was lost, or there is nothing."""
        self._has_begun = False
        with contextlib.suppress(psycopg.OperationalError):
            if not self._psycopg.closed and self.in_transaction:
                self._send("ROLLBACK", ())

    def close(self) -> None:
        """Let go of it."""
        self._stop_watching()
        self._psycopg.close()
        if self._dialling is not None:
            self._dialling.add_done_callback(_close_result)

    def _stop_watching(self) -> None:
        if self._watchdog is not None:
            self._watchdog.close()

    def _redial(self) -> None:
        """Open it again. Raises DatabaseBusy."""
        try:
            self._use(self._dialled_aside() if self._on_loop else self._dial())
        except DatabaseBusy:
            raise
        except DatabaseError as error:
            raise DatabaseBusy(str(error)) from error

    def _dialled_aside(self) -> psycopg.Connection[Row]:
        """Return a connection that a thread opens. Raises DatabaseError."""
        if SYSTEM_CLOCK.monotonic_ms() < self._rest_until_ms:
            raise DatabaseBusy("PostgreSQL does not answer")
        patience = 0.0
        if self._dialling is None:
            patience = LOOP_PATIENCE
            self._dialling = Future()
            threading.Thread(target=self._dial_for, args=(self._dialling,), daemon=True).start()
        try:
            connection = self._dialling.result(patience)
        except TimeoutError:
            raise DatabaseBusy("PostgreSQL does not answer") from None
        except Exception:
            self._dialling = None
            raise
        self._dialling = None
        return connection

    def _dial_for(self, result: "Future[psycopg.Connection[Row]]") -> None:
        try:
            result.set_result(self._dial())
        except Exception as error:
            result.set_exception(error)


def _close_result(dialling: "Future[psycopg.Connection[Row]]") -> None:
    if dialling.exception() is None:
        dialling.result().close()


class _PostgresqlQueries(Snapshot):
    """What reading and writing share: queries in PostgreSQL's words."""

    __slots__ = ()

    IS_FILE = False
    _connection: Any  # a PostgresqlConnection; it has the methods of sqlite3's that Snapshot uses

    def query(self, query: Query, *values: object) -> list[Row]:
        return self._run(query, values).fetchall()  # type: ignore[no-any-return]  # see PostgresqlConnection

    def first(self, query: Query, *values: object) -> Row | None:
        row: Row | None = self._run(query, values).fetchone()
        return row

    def each(self, query: Query, *values: object) -> Iterator[Row]:
        yield from self._connection.each(*_bound(query, values))

    def last_id(self, table: str) -> int:
        sequence = composed.Identifier(f"{table}_id_seq")
        asked = composed.SQL(
            "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM {}"
        ).format(sequence)
        return int(self._connection.run(asked.as_string(None)).fetchone()[0])

    def _run(self, query: Query, values: Sequence[object]) -> Any:  # Any: see PostgresqlConnection
        return self._connection.run(*_bound(query, values))


def _bound(query: Query, values: Sequence[object]) -> tuple[str, Sequence[object]]:
    """As `query.bound`, for PostgreSQL."""
    if isinstance(query, Prepared):
        return query.bound_for(ENGINE, values)
    sql, own = ENGINE.get_sql_context().sql(query).query()
    return sql, own


class PostgresqlSnapshot(_PostgresqlQueries):
    """As Snapshot, for PostgreSQL."""

    __slots__ = ()

    BEGIN = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"


class PostgresqlTransaction(_PostgresqlQueries, Transaction):
    """As Transaction, for PostgreSQL."""

    __slots__ = ()

    BEGIN = "BEGIN"

    def exclude_others(self) -> None:
        _wait_for_lock(self._connection)

    def insert(self, query: Prepared, row: Sequence[object]) -> int | None:
        sql, own = query.bound_for(ENGINE, row)
        found = self._connection.run(f"{sql} RETURNING id", own).fetchone()
        return None if found is None else int(found[0])

    def insert_each(self, query: Prepared, rows: Sequence[Sequence[object]]) -> range | None:
        sql, keys = _insertion(query)
        ids = [number for (number,) in self._connection.run(sql, (_objects(keys, rows),))]
        if len(ids) != len(rows):
            return None
        made = range(ids[0], ids[0] + len(rows)) if ids else range(0)
        return made if ids == [*made] else None

    def advance_ids(self, table: str, last: int) -> None:
        if last > self.last_id(table):
            self._connection.run("SELECT setval(%s, %s)", (f"{SCHEMA}.{table}_id_seq", last))

    def change(self, query: Query, *values: object) -> int:
        return int(self._run(query, values).rowcount)

    def change_each(self, query: Prepared, rows: Iterable[Sequence[object]]) -> int:
        bound = [query.bound_for(ENGINE, values) for values in rows]
        if not bound:
            return 0
        return int(self._connection.run_each(bound[0][0], [own for _, own in bound]).rowcount)


class PostgresqlEngine:
    """How a service uses a PostgreSQL database; see `engine.Engine`."""

    name = "the database"

    snapshot = PostgresqlSnapshot
    transaction = PostgresqlTransaction
    peers: Peers = UnawaitedPeers()
    fault = staticmethod(fault)

    def __init__(self, url: str, settings: DatabaseSettings) -> None:
        self._url = url
        self._commit = "off" if settings.synchronous == "normal" else "on"

    def check_identity(self) -> None:
        """Do nothing: PostgreSQL looks after its files."""

    def seems_replaced(self) -> bool:
        return False

    def note_commit(self) -> None:
        """Do nothing, as above."""

    def close(self) -> None:
        """Do nothing: it holds only connections."""

    def writing(self, _cache: int) -> PostgresqlConnection:
        """Open the connection that writes. Raises DatabaseError."""
        return PostgresqlConnection(self._url, prepare=self._set_up)

    def reading(self, *, on_loop: bool) -> PostgresqlConnection:
        """Open a connection that reads. Raises DatabaseError."""
        return PostgresqlConnection(self._url, read_only=True, on_loop=on_loop)

    def _set_up(self, connection: psycopg.Connection[Row]) -> None:
        """Let COMMIT wait for the disk, or not, as `database.synchronous` says; bound all else."""
        connection.execute(
            f"SELECT set_config('lock_timeout', '{WRITER_PATIENCE}s', false),"
            f" set_config('idle_in_transaction_session_timeout', '{IDLE}s', false)"
        )
        connection.execute(
            "SELECT set_config('synchronous_commit', %s, false)"
            " WHERE %s = 'off' OR current_setting('synchronous_commit') = 'off'",
            (self._commit, self._commit),
        )


def ask(
    url: str, work: Callable[Concatenate[Snapshot, P], T], *args: P.args, **kwargs: P.kwargs
) -> T:
    """Give what `work` reads on one state of the database, on a connection of its own.

    Raises DatabaseError and what `work` raises.
    """
    connection = PostgresqlConnection(url, read_only=True)
    try:
        return PostgresqlSnapshot(connection).whole(work, *args, **kwargs)
    except psycopg.Error as error:
        raise fault(error) or DatabaseUnusable(error_text(error)) from error
    finally:
        connection.close()

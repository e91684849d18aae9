"""What the service needs of an engine, which `database.url` chooses.

README.md says how the engines differ.
"""

from pathlib import Path
from types import ModuleType
from typing import Any, Final, Protocol, TypeAlias
from urllib.parse import parse_qs, unquote, urlsplit

from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.errors import DatabaseError, DatabaseUnusable
from commentsvc.db.peers import NoPeers, Peers
from commentsvc.db.sqlite import connection as sqlite
from commentsvc.db.sqlite.database_file import DatabaseFile, DatabaseReplaced
from commentsvc.settings.schema import DatabaseSettings
from commentsvc.util.installation import how_to_install

LOOP_PATIENCE: Final = 0.02  # seconds that `read_now` may hold the event loop for another's lock


class Engine(Protocol):
    """How connections are opened, what may be run on them, what their faults mean.

    Any: a connection has the methods of sqlite3's that a Snapshot and a Transaction use.
    """

    name: str
    snapshot: type[Snapshot]
    transaction: type[Transaction]
    peers: Peers  # of a program that is no instance of the service itself

    def fault(self, error: Exception) -> DatabaseError | None:
        """Return what a failure means to us; None if it is no fault of the database."""

    def writing(self, cache: int) -> Any:
        """Open the only connection that writes; `cache` is its memory in KiB. Raises as below."""

    def reading(self, *, on_loop: bool) -> Any:
        """Open a connection that reads, perhaps on the event loop. Raises what `fault` knows."""

    def check_identity(self) -> None:
        """Raise DatabaseError if what is open is not what has the database's name."""

    def seems_replaced(self) -> bool:
        """Return whether `check_identity` may raise an error; for any thread."""

    def note_commit(self) -> None:
        """Raise DatabaseError if what was committed is not in the database of that name."""

    def close(self) -> None:
        """Release what it holds beside connections."""


WITHOUT_DRIVER: Final = "database.url names PostgreSQL, and its driver is not installed: {}"
# A file, or the URL of PostgreSQL.
Location: TypeAlias = Path | str


def describe(location: Location) -> str:
    """Return a location for people: a path, or the URL of PostgreSQL without any password."""
    if isinstance(location, Path):
        return str(location)
    user, hosts, name = _parts(location)
    who = f"{user}@" if user else ""
    if not hosts.startswith("/"):
        return f"postgresql://{who}{hosts}/{name}"
    folder, _, port = hosts.partition(":")  # of a unix socket
    return f"postgresql://{who}/{name}?host={folder}" + (f"&port={port}" if port else "")


def is_same(one: Location, other: Location) -> bool:
    """Return whether two locations are one database, for whichever user and with any options."""
    if isinstance(one, Path) or isinstance(other, Path):
        return one == other
    return _parts(one)[1:] == _parts(other)[1:]


def _parts(url: str) -> tuple[str, str, str]:
    """Return the user, the hosts with unusual ports, and the database that a URL names."""
    parts = urlsplit(url)
    given = {key: values[-1] for key, values in parse_qs(parts.query).items()}
    who, _, hosts = parts.netloc.rpartition("@")
    user = given.get("user") or unquote(who.partition(":")[0])
    hosts = unquote(given.get("host") or hosts)
    if port := given.get("port"):
        hosts += f":{port}"
    name = given.get("dbname") or unquote(parts.path.strip("/")) or user
    return user, ",".join(host.removesuffix(":5432") for host in hosts.split(",")), name


def load_postgresql() -> ModuleType:
    """Load what is needed for PostgreSQL alone. Raises DatabaseUnusable without its driver."""
    try:
        from commentsvc.db.postgresql import connection as postgresql
    except ImportError as error:
        raise DatabaseUnusable(WITHOUT_DRIVER.format(how_to_install("postgres"))) from error
    return postgresql


def engine_for(location: Location, settings: DatabaseSettings, patience: float) -> Engine:
    """Return the engine of a database. Raises DatabaseUnusable."""
    if isinstance(location, Path):
        return SqliteEngine(location, settings, patience)
    engine: Engine = load_postgresql().PostgresqlEngine(location, settings)
    return engine


class SqliteEngine:
    """How a service uses a file of SQLite's; `patience`, in seconds, is for another's lock."""

    snapshot = Snapshot
    transaction = Transaction
    peers: Peers = NoPeers()

    def fault(self, error: Exception) -> DatabaseError | None:
        return error if isinstance(error, DatabaseReplaced) else sqlite.fault(error)

    def __init__(self, path: Path, settings: DatabaseSettings, patience: float) -> None:
        self.name = str(path)
        self._path = path
        self._settings = settings
        self._patience = patience
        self._file: DatabaseFile | None = None
        sqlite.register_adapters()

    def writing(self, cache: int) -> Any:
        connection = sqlite.connect(
            self._path,
            self._patience,
            "journal_mode=WAL",
            f"synchronous={self._settings.synchronous}",
            "foreign_keys=1",
            f"wal_autocheckpoint={self._settings.checkpoint_pages}",
            f"cache_size=-{cache}",
        )
        is_shared = self._settings.checkpoint_pages == 0
        self._file = DatabaseFile(self._path, connection, is_shared=is_shared)
        return connection

    def check_identity(self) -> None:
        if self._file is not None:
            self._file.check()

    def seems_replaced(self) -> bool:
        return self._file is not None and bool(self._file.fault())

    def note_commit(self) -> None:
        if self._file is not None:
            self._file.note_commit()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def reading(self, *, on_loop: bool) -> Any:
        patience = LOOP_PATIENCE if on_loop else self._patience
        return sqlite.connect(self._path, patience, "query_only=1")

"""What the service needs of an engine, which `database.url` chooses."""

from pathlib import Path
from types import ModuleType
from typing import Any, Final, Protocol, TypeAlias

from commentsvc.db import sqlite
from commentsvc.db.peers import NoPeers, Peers
from commentsvc.db.sqlite import DatabaseError, DatabaseUnusable, Reader, Transaction
from commentsvc.settings.schema import DatabaseSettings

LOOP_PATIENCE: Final = 0.02  # seconds that `read_now` may hold the event loop for another's lock


class Engine(Protocol):
    """How connections are opened, what may be run on them, what their faults mean.

    Any: a connection has the methods of sqlite3's that a Reader and a Transaction use.
    """

    name: str
    reader: type[Reader]
    transaction: type[Transaction]
    peers: Peers  # of a program that is no instance of the service itself

    def fault(self, error: Exception) -> DatabaseError | None:
        """Return what a failure means to us; None if it is no fault of the database."""

    def writing(self, cache: int) -> Any:
        """Open the only connection that writes; `cache` is its memory in KiB. Raises as below."""

    def reading(self, *, on_loop: bool) -> Any:
        """Open a connection that reads, perhaps on the event loop. Raises what `fault` knows."""


WITHOUT_DRIVER: Final = (
    "database.url names PostgreSQL, and its driver is not installed:"
    " pip install 'commentsvc[postgres]'"
)
# A file, or the URL of PostgreSQL.
Location: TypeAlias = Path | str


def load_postgresql() -> ModuleType:
    """Load what is needed for PostgreSQL alone. Raises DatabaseUnusable without its driver."""
    try:
        from commentsvc.db import postgresql
    except ImportError as error:
        raise DatabaseUnusable(WITHOUT_DRIVER) from error
    return postgresql


def engine_for(location: Location, settings: DatabaseSettings, patience: float) -> Engine:
    """Return the engine of a database. Raises DatabaseUnusable."""
    if isinstance(location, Path):
        return SqliteEngine(location, settings, patience)
    engine: Engine = load_postgresql().PostgresqlEngine(location, settings)
    return engine


class SqliteEngine:
    """How a service uses a file of SQLite's; `patience`, in seconds, is for another's lock."""

    reader = Reader
    transaction = Transaction
    peers: Peers = NoPeers()
    fault = staticmethod(sqlite.fault)

    def __init__(self, path: Path, settings: DatabaseSettings, patience: float) -> None:
        self.name = str(path)
        self._path = path
        self._settings = settings
        self._patience = patience
        sqlite.register_adapters()

    def writing(self, cache: int) -> Any:
        return sqlite.connect(
            self._path,
            self._patience,
            "journal_mode=WAL",
            f"synchronous={self._settings.synchronous}",
            "foreign_keys=1",
            f"wal_autocheckpoint={self._settings.checkpoint_pages}",
            f"cache_size=-{cache}",
        )

    def reading(self, *, on_loop: bool) -> Any:
        patience = LOOP_PATIENCE if on_loop else self._patience
        return sqlite.connect(self._path, patience, "query_only=1")

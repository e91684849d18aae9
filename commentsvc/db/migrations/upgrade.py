"""Bring a database file to the schema of this program.

playhouse.migrations applies the `steps` in order, each in a transaction, and records their names in
the table `HISTORY`. A released step is never edited. New steps are appended; a test compares what
all of them make with the models in `db.schema`.

Before anything is written, a read-only connection checks that the file is ours, undamaged and not
newer than this program. A file that is refused is not changed by a byte.

Comments and threads have triggers (see `db.schema.search`). A step that rebuilds one of these
tables drops them first and creates them again.

The runner takes no lock of its own. The caller holds `lock.Lock`.
"""

import os
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import peewee

from commentsvc.db.migrations import steps
from commentsvc.db.sqlite import (
    DatabaseBusy,
    DatabaseError,
    DatabaseFull,
    DatabaseUnusable,
    connect_reading,
    fault,
)
from commentsvc.settings.data_dir import SECRET_KEY

HISTORY: Final = "schema_migration"  # playhouse's table of the steps that were applied
MAGIC: Final = b"SQLite format 3\0"
PATIENCE: Final = 3.0  # seconds to wait for another program's lock
# Bytes of a page of a new file. A submission changes three pages at random, and each is written to
# the log whole: half of SQLite's default costs 10 % less CPU.
PAGE: Final = 2_048
LOOK: Final = 0.3  # seconds of a start for the search for damage; `commentsvc check` takes its time

# A step gets playhouse's migrator and peewee's database. Any: playhouse ships no types.
Step = Callable[[Any, peewee.SqliteDatabase], None]


def _running(statements: tuple[str, ...]) -> Step:
    """Return the step that runs `statements`."""

    def step(_: Any, database: peewee.SqliteDatabase) -> None:  # Any: as in Step
        for sql in statements:
            database.execute_sql(sql)  # type: ignore[no-untyped-call]  # so it is in peewee's stubs

    return step


STEPS: Final[dict[str, Step]] = {
    "0001_initial": _running(steps.INITIAL),
}
# The first step of all databases made before the first release, whose names were others.
UNRELEASED: Final = "0001_first"


def upgrade(path: Path) -> None:
    """Make the database at `path` (mode 0600), or bring it up to date; quick where it is.

    The caller holds the lock on its directory. Raise DatabaseError: DatabaseUnusable with one line
    that tells what to do where the file is not ours, damaged or newer; then it is left as it was.
    """
    if _ensure_file(path) and not look(path):
        return
    database = peewee.SqliteDatabase(
        str(path),
        pragmas={
            "page_size": PAGE,
            "journal_mode": "wal",
            "synchronous": "full",
            "wal_autocheckpoint": 0,  # another program may be the one that makes them
        },
        timeout=PATIENCE,
    )
    try:
        _run(database)
    except peewee.PeeweeException as error:
        raise _reason(error, path) from error
    finally:
        database.close()


def _run(database: peewee.SqliteDatabase) -> None:
    """Run the steps that are missing.

    playhouse is loaded here, since most starts have nothing to do with it: 0.8 MiB.
    """
    from playhouse.migrations import Migration, Runner

    class Named(Migration):  # type: ignore[misc]  # playhouse ships no types
        """A step of ours, where playhouse would load a file."""

        __slots__ = ()

        def load(self) -> SimpleNamespace:
            return SimpleNamespace(up=STEPS[self.name])

    class Ours(Runner):  # type: ignore[misc]  # playhouse ships no types
        """playhouse's runner over STEPS."""

        def migrations(self) -> list[Named]:
            return [Named(number, name, name, None) for number, name in enumerate(STEPS, 1)]

    Ours(database, table_name=HISTORY).up()


def _reason(error: BaseException, path: Path) -> DatabaseError:
    """Return the DatabaseError for a failed upgrade, with SQLite's own message."""
    known: DatabaseError | None = None
    behind: BaseException = error
    while known is None and behind.__context__ is not None:
        behind = behind.__context__
        known = fault(behind) if isinstance(behind, Exception) else None
    if isinstance(known, DatabaseFull):
        return DatabaseFull(
            f"{path} cannot be made or upgraded ({behind}): make room on its disk, or look at its "
            "permissions"
        )
    return known or DatabaseUnusable(f"{path} cannot be upgraded ({error})")


def refuse_empty(path: Path) -> None:
    """Refuse a file of no bytes where there was data before. Raise DatabaseUnusable.

    The secret key is made after the first database, and a log belongs to one.
    """
    log = path.with_name(path.name + "-wal")
    had_data = (path.parent / SECRET_KEY).exists() or (log.exists() and log.stat().st_size > 0)
    if path.exists() and path.stat().st_size == 0 and had_data:
        raise DatabaseUnusable(
            f"{path} is empty, and there was data: restore a backup, or remove the file to begin"
            " without comments"
        )


def _ensure_file(path: Path) -> bool:
    """Return whether there is something in the file; an empty one is made where there is none."""
    refuse_empty(path)
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            magic = os.read(fd, len(MAGIC))
        finally:
            os.close(fd)
    except OSError as error:
        raise DatabaseUnusable(f"{path} cannot be opened: {error.strerror}") from error
    if magic not in (b"", MAGIC):
        raise DatabaseUnusable(f"{path} is no SQLite database: move it away, or restore a backup")
    return bool(magic)


def look(path: Path) -> bool:
    """Return whether steps are missing. Raise DatabaseError where the file must be left alone."""
    connection = connect_reading(path, PATIENCE, idle=True)
    try:
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema")}
        applied = set()
        if HISTORY in tables:
            applied = {name for (name,) in connection.execute(f"SELECT name FROM {HISTORY}")}  # noqa: S608 - a constant
        elif tables:
            raise DatabaseUnusable(
                f"{path} belongs to another program: move it away, or name another data directory"
            )
        if UNRELEASED in applied:
            raise DatabaseUnusable(
                f"{path} was made by a version from before the first release, which this version "
                "cannot read: move it away, and a new one is made"
            )
        if newer := sorted(applied - set(STEPS)):
            raise DatabaseUnusable(
                f"{path} was written by a newer commentsvc (it knows {newer[-1]}): "
                "install that version, or restore a backup"
            )
        if damage := _damage(connection):
            raise DatabaseUnusable(f"{path} is damaged ({damage}): restore it from a backup")
        return applied != set(STEPS)
    except sqlite3.Error as error:
        known = fault(error)
        if isinstance(known, DatabaseBusy):
            raise known from error
        raise DatabaseUnusable(f"{path} is damaged ({error}): restore it from a backup") from error
    finally:
        connection.close()


def _damage(connection: sqlite3.Connection) -> str:
    """Return the first damage that is found within LOOK seconds, else "".

    A progress handler would be called between two trees only, before SQLite 3.41: a large one took
    a minute.
    """
    alarm = threading.Timer(LOOK, connection.interrupt)
    alarm.start()
    try:
        row = connection.execute("PRAGMA quick_check(1)").fetchone()
        in_time = alarm.is_alive()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
            raise
        return ""
    finally:
        alarm.cancel()
        alarm.join()
    if not in_time:  # what is said then of pages that were not reached is not to be believed
        return ""
    return "" if row[0] == "ok" else " ".join(row[0].split())

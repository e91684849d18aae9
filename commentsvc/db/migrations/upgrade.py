"""Bring a database file to the schema of this program.

playhouse.migrations applies the `steps` in order, each in a transaction, and records their names in
the table `HISTORY`. New steps are appended; a test has the hash of the schema that they make.

Before anything is written, a read-only connection checks that the file is ours, undamaged and not
newer than this program. A refused file is left unchanged.

Comments and threads have triggers (see `db.schema.search`). A step that rebuilds one of these
tables drops them first and creates them again.

This module takes no lock. The caller holds `lock.Lock`.
"""

import os
import re
import sqlite3
import threading
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import peewee

from commentsvc.db.connection import Snapshot
from commentsvc.db.engine import Location, load_postgresql
from commentsvc.db.errors import DatabaseBusy, DatabaseError, DatabaseUnusable, DatabaseUnwritable
from commentsvc.db.migrations import moved, steps
from commentsvc.db.migrations.steps import HISTORY
from commentsvc.db.sqlite.connection import connect_reading, fault
from commentsvc.settings.data_dir import SECRET_KEY, create_file
from commentsvc.util.origin import address_key

MAGIC: Final = b"SQLite format 3\0"
PATIENCE: Final = 3.0  # seconds to wait for another program's lock
# The page size of a new file in bytes. A submission changes three pages at random, and each
# is written to the log as a whole: half of SQLite's default size costs 10 % less CPU time.
PAGE: Final = 2_048
# Seconds of each start to search for damage; `commentsvc check` has no limit.
CHECK_TIME: Final = 0.3

# A step is called with playhouse's migrator and peewee's database. Any: playhouse ships no types.
Step = Callable[[Any, peewee.SqliteDatabase], None]


def _running(statements: Callable[[], Iterable[str]]) -> Step:
    """Return the step that runs `statements`, except for columns that are there."""

    def step(_: Any, database: Any) -> None:  # Any: as in Step; peewee's stubs miss types
        for sql in statements():
            added = re.match(r"\s*ALTER TABLE (\w+) ADD COLUMN (\w+)", sql)
            columns = database.get_columns(added[1]) if added else ()
            if not added or all(column.name != added[2] for column in columns):
                database.execute_sql(sql)

    return step


STEPS: Final[dict[str, Step]] = {
    "0001_initial": _running(steps.creation),
    "0002_verified_address": _running(lambda: steps.VERIFIED_ADDRESS),
    "0003_answers_by_mail": _running(lambda: steps.ANSWERS_BY_MAIL),
    "0004_uploaders": _running(lambda: steps.UPLOADERS),
    "0005_email_keys": _running(lambda: steps.EMAIL_KEYS),
    "0006_one_row_for_a_mailbox": _running(
        lambda: (steps.FORMER_IDS, *steps.ONE_ROW_FOR_A_MAILBOX)
    ),
    "0007_report_reasons": _running(lambda: steps.REPORT_REASONS),
    "0008_one_reader_for_a_mailbox": _running(
        lambda: (steps.FORMER_IDS, *steps.ONE_READER_FOR_A_MAILBOX)
    ),
    "0009_unlisted_pages": _running(lambda: steps.UNLISTED_PAGES),
    "0010_languages": _running(lambda: steps.LANGUAGES),
    "0011_private_notes": _running(lambda: steps.PRIVATE_NOTES),
    "0012_mailed_comments": _running(lambda: steps.MAILED_COMMENTS),
    "0013_trust_in_authors": _running(lambda: steps.TRUST_IN_AUTHORS),
    "0014_internal_notes": _running(lambda: steps.INTERNAL_NOTES),
    "0015_saved_replies": _running(lambda: steps.SAVED_REPLIES),
    "0016_corrected_languages": _running(lambda: steps.CORRECTED_LANGUAGES),
    "0017_notices": _running(lambda: steps.NOTICES),
    "0018_setting_changes": _running(lambda: steps.SETTING_CHANGES),
    "0019_statements_of_reasons": _running(lambda: steps.STATEMENTS_OF_REASONS),
    "0020_decision_counts": _running(lambda: steps.DECISION_COUNTS),
    "0021_blog_sessions": _running(lambda: steps.BLOG_SESSIONS),
    "0022_comment_reactions": _running(lambda: steps.COMMENT_REACTIONS),
}
# The first step of all databases that were made before the first release, with another schema.
UNRELEASED: Final = "0001_first"


def upgrade(location: Location) -> None:
    """Make the database, or migrate it; fast if nothing is to be done. Raise DatabaseError."""
    if isinstance(location, Path):
        upgrade_file(location)
        return
    load_postgresql()
    from commentsvc.db.postgresql import upgrade as postgresql_upgrade

    postgresql_upgrade.upgrade(location)


def made_at(snapshot: Snapshot) -> int:
    """Return the beginning of the day on which the database was made, in Unix milliseconds."""
    [(first,)] = snapshot.execute(f"SELECT MIN(applied) FROM {HISTORY}")  # noqa: S608 - constant
    return int(datetime.fromisoformat(f"{first}"[:10]).replace(tzinfo=UTC).timestamp()) * 1_000


def is_current(url: str) -> bool:
    """Return whether PostgreSQL has the tables, up to date. Raise DatabaseError."""
    load_postgresql()
    from commentsvc.db.postgresql import upgrade as postgresql_upgrade

    return postgresql_upgrade.is_current(url)


def upgrade_file(path: Path) -> None:
    """Make the database at `path` (mode 0600), or migrate it; fast if nothing is to be done.

    The caller holds the lock on its directory. Raise DatabaseError. It is DatabaseUnusable, with
    one line that says what to do, if the file is not ours, damaged or newer; then it is left
    unchanged.
    """
    if _ensure_file(path) and not check(path):
        return
    database = peewee.SqliteDatabase(
        str(path),
        pragmas={
            "page_size": PAGE,
            "journal_mode": "wal",
            "synchronous": "full",
            "wal_autocheckpoint": 0,  # Litestream may be the program that makes checkpoints
        },
        timeout=PATIENCE,
    )
    database.register_function(address_key, "address_key", 1)
    try:
        _run(database)
    except peewee.PeeweeException as error:
        raise _reason(error, path) from error
    finally:
        database.close()


def _run(database: peewee.SqliteDatabase) -> None:
    """Run the missing steps.

    playhouse is imported here, since it takes 0.8 MiB and most starts have no step to run.
    """
    from playhouse.migrations import Migration, Runner

    class Named(Migration):  # type: ignore[misc]  # playhouse ships no types
        """A step of STEPS; playhouse's own class would load it from a file."""

        __slots__ = ()

        def load(self) -> SimpleNamespace:
            return SimpleNamespace(up=STEPS[self.name])

    class Ours(Runner):  # type: ignore[misc]  # playhouse ships no types
        """playhouse's runner, with the steps of STEPS."""

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
    if isinstance(known, DatabaseUnwritable):
        return DatabaseUnwritable(
            f"{path} cannot be made or upgraded ({behind}): make room on its disk, or look at its "
            "permissions"
        )
    return known or DatabaseUnusable(f"{path} cannot be upgraded ({error})")


def refuse_empty(path: Path) -> None:
    """Raise DatabaseUnusable for an empty file that must have held data before.

    There was data if the secret key exists, which is made after the first database, or if there is
    a write-ahead log.
    """
    log = path.with_name(path.name + "-wal")
    had_data = (path.parent / SECRET_KEY).exists() or (log.exists() and log.stat().st_size > 0)
    if path.exists() and path.stat().st_size == 0 and had_data:
        raise DatabaseUnusable(
            f"{path} is empty, and there was data: restore a backup, or remove the file to begin"
            " without comments"
        )


def _ensure_file(path: Path) -> bool:
    """Return whether the file has content; make an empty one if there is none."""
    refuse_empty(path)
    try:
        create_file(path)
        os.close(os.open(path, os.O_RDWR | os.O_CLOEXEC))
    except OSError as error:
        raise DatabaseUnusable(f"{path} cannot be opened: {error.strerror}") from error
    return _has_content(path)


def _has_content(path: Path) -> bool:
    """Return whether the file is not empty. Raise DatabaseUnusable if it is not SQLite's."""
    try:
        with path.open("rb") as file:
            magic = file.read(len(MAGIC))
    except OSError as error:
        raise DatabaseUnusable(f"{path} cannot be opened: {error.strerror}") from error
    if magic not in (b"", MAGIC):
        raise DatabaseUnusable(f"{path} is no SQLite database: move it away, or restore a backup")
    return bool(magic)


def check(path: Path, *, may_be_moved: bool = False) -> bool:
    """Return whether steps are missing. Raise DatabaseError if the file must not be changed.

    With `may_be_moved`, the mark of `moved` is ignored.
    """
    _has_content(path)
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
        if not may_be_moved:
            moved.refuse(path, applied)
        applied = {name for name in applied if not name.startswith(moved.PREFIX)}
        if newer := sorted(applied - set(STEPS)):
            raise DatabaseUnusable(
                f"{path} was written by a newer commentsvc (it knows {newer[-1]}): "
                "install that version, or restore a backup"
            )
        if damage := _damage(connection):
            raise DatabaseUnusable(f"{path} is damaged ({damage}): restore it from a backup")
        return applied != set(STEPS)
    except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter for a damaged schema
        known = fault(error)
        if isinstance(known, DatabaseBusy | DatabaseUnwritable):
            raise known from error
        raise DatabaseUnusable(f"{path} is damaged ({error}): restore it from a backup") from error
    finally:
        connection.close()


def _damage(connection: sqlite3.Connection) -> str:
    """Return the first damage that is found within CHECK_TIME seconds, else "".

    A timer ends the search. A progress handler would not do: SQLite before 3.41 calls it between
    two trees only, and a large tree took a minute.
    """
    alarm = threading.Timer(CHECK_TIME, connection.interrupt)
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
    if not in_time:  # an interrupted check also reports pages that it has not reached
        return ""
    return "" if row[0] == "ok" else " ".join(row[0].split())

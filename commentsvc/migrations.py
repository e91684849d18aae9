"""Bringing a database file to the schema of this program.

DESIGN. playhouse.migrations applies the steps below in their order and records each by its name,
a transaction each. A step is never edited once released: what it made is out there. A new step is
appended, `models` says what all of them together must give, and a test compares the two.

Before anything is written we look, through a read-only connection, whether the file is ours, is
whole and is not newer than we are; a file that is refused stays as it is, to the byte.

Triggers stand on comments and threads (see `derived`), so a step that has to make one of these
tables anew drops them first and makes them after.

The runner takes no lock of its own. The caller holds `lock.Lock`.
"""

import os
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import peewee
from playhouse.migrations import Migration, Runner

from commentsvc.sqlite import DatabaseBusy, DatabaseUnusable, fault

HISTORY: Final = "schema_migration"  # playhouse's table of the steps that were applied
MAGIC: Final = b"SQLite format 3\0"
PATIENCE: Final = 3.0  # seconds to wait for another program's lock
# Bytes of a page of a new file. A submission changes three pages at random, and each is written to
# the log whole: half of SQLite's default costs 10 % less CPU.
PAGE: Final = 2_048
LOOK: Final = 0.3  # seconds of a start for the search for damage; `commentsvc check` takes its time
LOOK_STEP: Final = 10_000  # virtual machine instructions between two looks at the clock

_FIRST: Final = (
    "CREATE TABLE site (id INTEGER NOT NULL PRIMARY KEY, name TEXT NOT NULL,"
    " count INTEGER NOT NULL DEFAULT 0) STRICT",
    "CREATE UNIQUE INDEX site_name ON site (name)",
    "CREATE TABLE thread (id INTEGER NOT NULL PRIMARY KEY,"
    " site_id INTEGER NOT NULL REFERENCES site (id), url TEXT NOT NULL, title TEXT NOT NULL,"
    " count INTEGER NOT NULL DEFAULT 0) STRICT",
    "CREATE UNIQUE INDEX thread_site_id_url ON thread (site_id, url)",
    "CREATE TABLE comment (id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,"
    " site_id INTEGER NOT NULL REFERENCES site (id),"
    " thread_id INTEGER NOT NULL REFERENCES thread (id),"
    " parent_id INTEGER REFERENCES comment (id),"
    " status TEXT NOT NULL CHECK (status IN ('pending', 'approved', 'spam', 'deleted')),"
    " created INTEGER NOT NULL, published INTEGER, edited INTEGER,"
    " votes INTEGER NOT NULL DEFAULT 0, key BLOB,"
    " token_hash BLOB NOT NULL, token_expires INTEGER NOT NULL,"
    " author TEXT NOT NULL, email TEXT NOT NULL, avatar TEXT NOT NULL, author_site TEXT NOT NULL,"
    " source TEXT NOT NULL, html TEXT NOT NULL) STRICT",
    "CREATE UNIQUE INDEX comment_key ON comment (key)",
    "CREATE INDEX comment_by_time ON comment (thread_id, published) WHERE status = 'approved'",
    "CREATE INDEX comment_latest ON comment (site_id, published) WHERE status = 'approved'",
    "CREATE INDEX comment_by_status ON comment (status) WHERE status <> 'approved'",
)

_CHANGES: Final = (
    "CREATE TABLE change (id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, act INTEGER NOT NULL,"
    " comment_id INTEGER NOT NULL REFERENCES comment (id) ON DELETE CASCADE,"
    " what TEXT NOT NULL CHECK (what IN ('status', 'text', 'thread')),"
    " was TEXT NOT NULL, became TEXT NOT NULL, moment INTEGER, made INTEGER NOT NULL,"
    " who TEXT NOT NULL, undone INTEGER, undone_by TEXT) STRICT",
    "CREATE INDEX change_comment_id ON change (comment_id)",
    "CREATE INDEX change_act ON change (act)",
    "CREATE INDEX change_by_who ON change (who) WHERE undone IS NULL",
)

_MODERATOR: Final = (
    "CREATE TABLE moderator (id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,"
    " name TEXT NOT NULL COLLATE NOCASE, password TEXT NOT NULL, created INTEGER NOT NULL) STRICT",
    "CREATE UNIQUE INDEX moderator_name ON moderator (name)",
    "CREATE TABLE session (id INTEGER NOT NULL PRIMARY KEY, digest BLOB NOT NULL,"
    " moderator_id INTEGER NOT NULL REFERENCES moderator (id) ON DELETE CASCADE,"
    " created INTEGER NOT NULL, seen INTEGER NOT NULL, agent TEXT NOT NULL) STRICT",
    "CREATE UNIQUE INDEX session_digest ON session (digest)",
    "CREATE INDEX session_moderator_id ON session (moderator_id)",
)

_THREADS: Final = (
    "ALTER TABLE thread ADD COLUMN state TEXT NOT NULL DEFAULT 'aging'"
    " CHECK (state IN ('aging', 'open', 'closed'))",
    "ALTER TABLE thread ADD COLUMN alias_id INTEGER REFERENCES thread (id)",
    "CREATE INDEX thread_by_alias ON thread (alias_id) WHERE alias_id IS NOT NULL",
    "DROP INDEX comment_by_status",
    "CREATE INDEX comment_by_status ON comment (status, id, site_id) WHERE status <> 'approved'",
)

_VERDICT: Final = (
    "ALTER TABLE comment ADD COLUMN score INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE comment ADD COLUMN reasons TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE comment ADD COLUMN network BLOB",
    "CREATE INDEX comment_by_network ON comment (created, network) WHERE network IS NOT NULL",
)

_DERIVED: Final = (
    "CREATE TABLE fed (id INTEGER NOT NULL PRIMARY KEY, comment_id INTEGER NOT NULL) STRICT",
    "CREATE TABLE tally (day INTEGER NOT NULL, site_id INTEGER NOT NULL REFERENCES site (id),"
    " status TEXT NOT NULL, number INTEGER NOT NULL, PRIMARY KEY (day, site_id, status)) STRICT",
    "CREATE VIRTUAL TABLE search USING fts5(author, email, site, text, page, tokenize ="
    " 'unicode61 remove_diacritics 2', columnsize = 0)",
    "INSERT INTO fed (id, comment_id) VALUES (1, 0)",
    "CREATE TRIGGER comment_reworded AFTER UPDATE OF author, email, author_site, source,"
    " thread_id ON comment WHEN OLD.id <= (SELECT comment_id FROM fed) BEGIN DELETE FROM search"
    " WHERE rowid = OLD.id; INSERT INTO search (rowid, author, email, site, text, page) SELECT"
    " c.id, c.author, c.email || ' ' || hex(lower(c.email)) || ' ' || hex(lower(substr(c.email,"
    " instr(c.email, '@')))), c.author_site, c.source, t.url || ' ' || hex(t.url) FROM comment AS"
    " c JOIN thread AS t ON t.id = c.thread_id WHERE c.id = NEW.id; END",
    "CREATE TRIGGER thread_moved AFTER UPDATE OF url ON thread BEGIN UPDATE search SET page ="
    " NEW.url || ' ' || hex(NEW.url) WHERE rowid IN (SELECT id FROM comment WHERE thread_id ="
    " NEW.id AND status = 'approved' UNION ALL SELECT id FROM comment WHERE status <> 'approved'"
    " AND status IN ('pending', 'spam', 'deleted') AND thread_id = NEW.id); END",
    "CREATE TRIGGER comment_decided AFTER UPDATE OF status ON comment WHEN OLD.status <>"
    " NEW.status AND OLD.id <= (SELECT comment_id FROM fed) BEGIN UPDATE tally SET number = number"
    " - 1 WHERE day = OLD.created / 86400000 AND site_id = OLD.site_id AND status = OLD.status;"
    " INSERT INTO tally (day, site_id, status, number) VALUES (NEW.created / 86400000,"
    " NEW.site_id, NEW.status, 1) ON CONFLICT DO UPDATE SET number = number + 1; END",
    "CREATE TRIGGER comment_erased AFTER DELETE ON comment WHEN OLD.id <= (SELECT comment_id FROM"
    " fed) BEGIN DELETE FROM search WHERE rowid = OLD.id; UPDATE tally SET number = number - 1"
    " WHERE day = OLD.created / 86400000 AND site_id = OLD.site_id AND status = OLD.status; END",
)

_BANS: Final = (
    "CREATE TABLE ban (id INTEGER NOT NULL PRIMARY KEY,"
    " kind TEXT NOT NULL CHECK (kind IN ('author', 'network', 'word', 'domain')),"
    " value TEXT NOT NULL, made INTEGER NOT NULL, who TEXT NOT NULL, expires INTEGER) STRICT",
    "CREATE UNIQUE INDEX ban_kind_value ON ban (kind, value)",
    "CREATE INDEX comment_by_email ON comment (email, site_id)"
    " WHERE status = 'approved' AND email <> ''",
)

_OUTBOX: Final = (
    "CREATE TABLE target (id INTEGER NOT NULL PRIMARY KEY, channel TEXT NOT NULL,"
    " recipient TEXT NOT NULL, period INTEGER NOT NULL, changes INTEGER NOT NULL) STRICT",
    "CREATE UNIQUE INDEX target_channel_recipient ON target (channel, recipient)",
    "CREATE TABLE outbox (id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, channel TEXT NOT NULL,"
    " kind TEXT NOT NULL, recipient TEXT NOT NULL,"
    " comment_id INTEGER REFERENCES comment (id) ON DELETE CASCADE, until INTEGER,"
    " state TEXT NOT NULL CHECK (state IN ('open', 'queued', 'sent', 'failed')),"
    " created INTEGER NOT NULL, due INTEGER NOT NULL, deadline INTEGER NOT NULL,"
    " tries INTEGER NOT NULL DEFAULT 0, error TEXT NOT NULL DEFAULT '') STRICT",
    "CREATE INDEX outbox_comment_id ON outbox (comment_id)",
    "CREATE INDEX outbox_by_due ON outbox (state, channel, due, created) WHERE state = 'queued'",
    "CREATE UNIQUE INDEX outbox_open ON outbox (channel, recipient) WHERE state = 'open'",
    "CREATE INDEX outbox_done ON outbox (state, due, channel) WHERE state IN ('sent', 'failed')",
    "CREATE TABLE spent_link (digest BLOB NOT NULL PRIMARY KEY, expires INTEGER NOT NULL) STRICT",
)

_SUBSCRIBER: Final = (
    "CREATE TABLE subscriber (id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,"
    " site_id INTEGER NOT NULL REFERENCES site (id), email TEXT NOT NULL,"
    " wish TEXT NOT NULL CHECK (wish IN ('asked', 'confirmed', 'stopped')),"
    " mailed INTEGER NOT NULL) STRICT",
    "CREATE UNIQUE INDEX subscriber_email_site_id ON subscriber (email, site_id)",
    "CREATE TABLE watch (comment_id INTEGER NOT NULL PRIMARY KEY"
    " REFERENCES comment (id) ON DELETE CASCADE,"
    " subscriber_id INTEGER NOT NULL REFERENCES subscriber (id) ON DELETE CASCADE) STRICT",
    "CREATE INDEX watch_subscriber_id ON watch (subscriber_id)",
)

# A step gets playhouse's migrator and peewee's database. Any: playhouse ships no types.
Step = Callable[[Any, peewee.SqliteDatabase], None]


def _running(statements: tuple[str, ...]) -> Step:
    """The step that runs `statements`."""

    def step(_: Any, database: peewee.SqliteDatabase) -> None:  # Any: as in Step
        for sql in statements:
            database.execute_sql(sql)  # type: ignore[no-untyped-call]  # so it is in peewee's stubs

    return step


STEPS: Final[dict[str, Step]] = {
    "0001_first": _running(_FIRST),
    "0002_change": _running(_CHANGES),
    "0003_moderator": _running(_MODERATOR),
    "0004_thread": _running(_THREADS),
    "0005_verdict": _running(_VERDICT),
    "0006_derived": _running(_DERIVED),
    "0007_ban": _running(_BANS),
    "0008_outbox": _running(_OUTBOX),
    "0009_subscriber": _running(_SUBSCRIBER),
}


class _Named(Migration):  # type: ignore[misc]  # playhouse ships no types
    """A step of ours, where playhouse would load a file."""

    __slots__ = ()

    def load(self) -> SimpleNamespace:
        return SimpleNamespace(up=STEPS[self.name])


class _Runner(Runner):  # type: ignore[misc]  # playhouse ships no types
    """playhouse's runner over STEPS."""

    def migrations(self) -> list[_Named]:
        return [_Named(number, name, name, None) for number, name in enumerate(STEPS, 1)]


def upgrade(path: Path) -> None:
    """Make the database at `path` (mode 0600), or bring it up to date; quick where it is.

    The caller holds the lock on its directory. Raises DatabaseError: DatabaseUnusable with one line
    that tells what to do where the file is not ours, damaged or newer; then it is left as it was.
    """
    if _ensure_file(path) and not _look(path):
        return
    database = peewee.SqliteDatabase(
        str(path),
        pragmas={"page_size": PAGE, "journal_mode": "wal", "synchronous": "full"},
        timeout=PATIENCE,
    )
    try:
        _Runner(database, table_name=HISTORY).up()
    except peewee.PeeweeException as error:
        cause = error.args[0] if error.args else error  # peewee wraps what sqlite3 raised
        raise fault(cause) or DatabaseUnusable(f"{path} cannot be upgraded ({error})") from error
    finally:
        database.close()


def _ensure_file(path: Path) -> bool:
    """Whether there is something in the file; an empty one is made where there is none."""
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


def _look(path: Path) -> bool:
    """Whether steps are missing. Raises DatabaseError where the file must be left alone."""
    # Where there is no WAL or journal to read, we need none made, not even an empty one.
    journals = any(path.with_name(path.name + end).exists() for end in ("-wal", "-journal"))
    how = "?mode=ro" if journals else "?immutable=1"
    connection = sqlite3.connect(path.absolute().as_uri() + how, uri=True, timeout=PATIENCE)
    try:
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema")}
        applied = set()
        if HISTORY in tables:
            applied = {name for (name,) in connection.execute(f"SELECT name FROM {HISTORY}")}  # noqa: S608
        elif tables:
            raise DatabaseUnusable(
                f"{path} belongs to another program: move it away, or name another data directory"
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
    """The first damage that is found within LOOK seconds, else ""."""
    end = time.monotonic() + LOOK
    connection.set_progress_handler(lambda: time.monotonic() > end, LOOK_STEP)
    try:
        row = connection.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
            raise
        return ""
    finally:
        connection.set_progress_handler(None, 0)
    return "" if row[0] == "ok" else " ".join(row[0].split())

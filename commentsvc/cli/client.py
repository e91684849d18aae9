"""Reads and writes the data for commands, whether or not a server runs.

Only one process may write. So a command that writes asks the server through its control socket; if
no server answers, it takes the lock and writes itself. A server that has just started holds the
lock and does not answer yet, so both are tried for a while. Reading needs no lock.
"""

import contextlib
import logging
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Concatenate, Final, ParamSpec, Self, TypeVar

import msgspec

from commentsvc.auth import edit_tokens
from commentsvc.backup import integrity
from commentsvc.cli import running
from commentsvc.cli.common import find_settings
from commentsvc.cli.tables import Cell, Moment, printable
from commentsvc.db import sqlite_files, writer
from commentsvc.db.connection import Snapshot
from commentsvc.db.database import Database
from commentsvc.db.engine import Location
from commentsvc.db.errors import DatabaseBusy, DatabaseError, DatabaseUnusable
from commentsvc.db.lock import Lock
from commentsvc.db.migrations import upgrade
from commentsvc.model import TEXT, Entry, reaction_counts
from commentsvc.moderation import site_names
from commentsvc.moderation import stored_settings as stored_values
from commentsvc.moderation.history import HistoryEntry
from commentsvc.runtime import control
from commentsvc.runtime.control import ControlError, NoServer, Ping
from commentsvc.runtime.control_commands import CommandResult, Order
from commentsvc.settings import data_dir, everyday, loader
from commentsvc.settings.parser import SettingsError
from commentsvc.settings.schema import Settings
from commentsvc.util import timestamps
from commentsvc.util.clock import SYSTEM_CLOCK
from commentsvc.util.error_texts import error_text
from commentsvc.util.text import shortened

P = ParamSpec("P")
T = TypeVar("T")

# Milliseconds within which a server that holds the lock answers, unless it hangs.
START_PATIENCE_MS: Final = 5_000
# Seconds between two attempts.
PAUSE: Final = 0.05
# Seconds for a probe, which a running server answers at once.
PROBE_DEADLINE: Final = 5.0
HEALTH: Final = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
# The page cache in KiB of a command that writes itself: an import changes pages in all indexes.
ALONE_CACHE: Final = 40_960
# Seconds that a reading command waits for another program's lock.
READ_PATIENCE: Final = 5.0
# Characters of a comment's first line that are shown.
LINE_LENGTH: Final = 60
ROW: Final = ("ID", "STATUS", "AGE", "PAGE", "AUTHOR", "TEXT")


def write(data: Path, order: Order) -> CommandResult:
    """Run `order` in the server or in this process; return what changed.

    Raise ControlError, CommentsError, ModeratorError or DatabaseError; then nothing is changed.
    """
    with Writer(data) as writer:
        return writer.write(order)


class Writer:
    """Runs commands in the server of `data`, or in this process if there is none.

    This process then keeps the lock, so no server can start until the block ends.
    """

    def __init__(self, data: Path) -> None:
        """Raise DatabaseUnusable if there is no database."""
        self._data = data
        self.location = database(data)
        self._held = contextlib.ExitStack()
        self._database: Database | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()

    @property
    def is_alone(self) -> bool:
        """Whether the last command ran in this process."""
        return self._database is not None

    def write(self, order: Order) -> CommandResult:
        """Run `order` in one transaction; return what changed.

        Raise ControlError, CommentsError, ModeratorError or DatabaseError.
        """
        end = SYSTEM_CLOCK.monotonic_ms() + START_PATIENCE_MS
        while self._database is None:
            with contextlib.suppress(NoServer):
                return control.ask(self._data / data_dir.CONTROL, order)
            try:
                self._database = self._open()
            except DatabaseBusy:
                if SYSTEM_CLOCK.monotonic_ms() > end:
                    raise
                time.sleep(PAUSE)
        now = SYSTEM_CLOCK.now_ms()
        return self._database.write_now(order.run, now)

    def _open(self) -> Database:
        # The exception says the same as the log of a server would.
        logging.getLogger(writer.__name__).addHandler(logging.NullHandler())
        with contextlib.ExitStack() as opening:
            data_dir.prepare(self._data)
            opening.enter_context(Lock(self._data))
            upgrade.upgrade(self.location)
            opened = Database(self.location, purge=lambda _tags: None)  # no server, no cache
            opened.write_health.is_logged = False
            opened.open(cache=ALONE_CACHE)
            opening.callback(opened.close_now)
            self._held = opening.pop_all()
        return opened


def ensure_database(data: Path) -> Location:
    """Return where the database is of the service in the folder `data`; make it if there is none.

    A new file gets its secret key: a server that finds comments without one says that it was lost.
    Raise SettingsError, DataUnusable and DatabaseError.
    """
    location = running.location(data)
    if isinstance(location, str):
        data_dir.must_exist(data)
        upgrade.upgrade(location)
    elif not location.exists():
        data_dir.must_exist(data)
        data_dir.prepare(data)
        with Lock(data):
            upgrade.upgrade(location)
            edit_tokens.load_keys(data / data_dir.SECRET_KEY, "")
    return location


def check(data: Path, on_progress: Callable[[float], None] = lambda _: None) -> list[str]:
    """Return the faults of the database, one line each. Raise DatabaseError.

    `on_progress` is called with the share that is done, from 0 to 1.
    """
    path = database(data)
    if isinstance(path, Path):
        upgrade.refuse_empty(path)
        upgrade.check(path)
    return read(data, integrity.check, on_progress)


def hidden_sites(data: Path, settings: Settings | None) -> list[str]:
    """Return a line for each site with comments that the server's settings do not have.

    Those of the command are `settings`, None if they are not valid. Raise DatabaseError.
    """
    known = running.server_settings(data) or settings
    if known is None:
        return []
    names = [site.name for site in known.sites]
    stored = read(data, stored_values.values)
    names += [site for site, key in stored if key == everyday.ORIGINS and site not in names]
    return [site_names.explain(site, names) for site in read(data, site_names.hidden, names)]


def stored_settings(data: Path, settings_file: Path | None) -> tuple[list[str], list[str]]:
    """Return a line for each setting that was changed on the moderation pages.

    It says so if the setting is not in force with the settings that the command has. The second
    list says why a server with these does not start. There is no line if the database has no
    tables yet, or those of an older version.
    """
    changes: list[stored_values.SettingChange] = []
    with contextlib.suppress(DatabaseError):
        changes = [each for each in read(data, stored_values.current) if each.new is not None]
    found: everyday.Applied | None = None
    with contextlib.suppress(SettingsError):  # others say what is wrong with the file
        loaded = loader.load_with_locations(find_settings(settings_file, data))
        found = everyday.apply(loaded, stored_values.decoded(changes))
    left_out = found.left_out if found else {}
    lines = []
    for change in changes:
        reason = f", but not in force: {left_out[change.of]}" if change.of in left_out else ""
        lines.append(
            f"{f'{change.site}: ' if change.site else ''}{change.key} is"
            f" {shortened(change.new or '', 80)}, changed on the moderation pages by"
            f" {change.actor}{reason}"
        )
    return lines, found.refusals if found else []


def server_state(url: str) -> list[str]:
    """Return what a PostgreSQL is, and what is wrong with its settings. Raise DatabaseError."""
    from commentsvc.db import postgresql_sessions

    version, problems = postgresql_sessions.examine(url)
    return [f"PostgreSQL {version}", *problems]


def read(
    data: Path, work: Callable[Concatenate[Snapshot, P], T], *args: P.args, **kwargs: P.kwargs
) -> T:
    """Run `work` with what follows it. Raise DatabaseError, and what `work` raises."""
    path = database(data)
    if isinstance(path, str):
        return _ask_postgresql(path, work, *args, **kwargs)
    dial = partial(sqlite_files.connect, path, READ_PATIENCE, "query_only=1")
    if data_dir.is_read_only(path.parent):  # nobody writes there, and SQLite makes no file
        dial = partial(sqlite_files.connect_reading, path, READ_PATIENCE, idle=True)
    try:
        return sqlite_files.ask(path, dial, work, *args, **kwargs)
    except DatabaseBusy:
        raise
    except DatabaseError:
        _must_be_current(path)  # its error says more, such as that another program made the file
        raise


def _ask_postgresql(
    url: str, work: Callable[Concatenate[Snapshot, P], T], *args: P.args, **kwargs: P.kwargs
) -> T:
    from commentsvc.db import postgresql_sessions

    if not postgresql_sessions.is_current(url):
        raise DatabaseUnusable(
            "The tables do not exist yet, or an older version made them: the next start of the"
            " server creates or upgrades them."
        )
    return postgresql_sessions.ask(url, work, *args, **kwargs)


def read_snapshot(
    data: Path, work: Callable[Concatenate[Snapshot, P], T], *args: P.args, **kwargs: P.kwargs
) -> T:
    """Run `work` on one state of the database, however long it takes. Raise DatabaseError.

    It does not delay a server, but no checkpoint is made meanwhile.
    """
    path = database(data)
    if isinstance(path, str):
        return read(data, work, *args, **kwargs)
    _must_be_current(path)
    dial = partial(sqlite_files.connect_reading, path, READ_PATIENCE)
    return sqlite_files.ask(path, dial, lambda snapshot: snapshot.whole(work, *args, **kwargs))


def _must_be_current(path: Path) -> None:
    """Raise DatabaseUnusable if the file is not a database of this version."""
    upgrade.refuse_empty(path)
    if upgrade.check(path):
        raise DatabaseUnusable(
            f"{path} has no tables yet, or those of an older version: the next start of the server"
            " creates or upgrades them."
        )


def database(data: Path) -> Location:
    """Return where the database is.

    Raise SettingsError; DataUnusable if there is no folder, DatabaseUnusable if there is no file.
    """
    location = running.location(data)
    if isinstance(location, Path) and not location.exists():
        data_dir.must_exist(data)
        raise DatabaseUnusable(
            f"{data} has no database. If the path is right, start the server: it creates one. If"
            " the settings are in another folder, name their file in COMMENTSVC_CONFIG."
        )
    return location


def as_row(entry: Entry) -> tuple[Cell, ...]:
    """Return a comment as a row of ROW: its page, author and first line, among others."""
    comment = entry.comment
    first = next((line for line in comment.source.splitlines() if line.strip()), "").strip()
    short = shortened(first, LINE_LENGTH)
    page = f"{entry.site}:{entry.url}"
    return comment.id, comment.status, Moment(comment.created_at), page, comment.author, short


def change_line(change: HistoryEntry) -> str:
    """Return a change as a line for a terminal: when, what, who, and who undid it."""
    what = "another text" if change.field == TEXT else f"{change.old} -> {change.new}"
    line = f"{timestamps.local(change.created_at)}  {what}  by {change.actor}"
    if change.undone_at is not None:
        line += f"; undone {timestamps.local(change.undone_at)} by {change.undone_by}"
    return printable(line)


def as_json(entry: Entry) -> str:
    """Return a comment as a JSON line for a program; times are RFC 3339."""
    comment = entry.comment
    when = {
        "created": comment.created_at,
        "published": comment.published_at,
        "edited": comment.edited_at,
    }
    return msgspec.json.encode(
        {
            "id": comment.id,
            "status": comment.status,
            "site": entry.site,
            "url": entry.url,
            "title": entry.title,
            "parent": comment.parent_id,
            "author": comment.author,
            "author_site": comment.site,
            "role": comment.role,
            "verified": comment.reader_id is not None,
            "message": comment.source,
            "votes": comment.votes,
            "reactions": reaction_counts(comment.reactions),
        }
        | {name: timestamps.rfc3339(moment) for name, moment in when.items() if moment is not None}
    ).decode()


def probe(data: Path) -> str:
    """Return the address of the server on `data`, which has just answered GET /healthz with 200.

    Raise DataUnusable if there is no such folder, else ControlError with the reason where it does
    not.
    """
    data_dir.must_exist(data)
    server = control.ask(data / data_dir.CONTROL, Ping())
    address = server.address
    try:
        with (
            control.connect(server, PROBE_DEADLINE) as client,
            client.makefile("rb") as answer,
        ):
            client.sendall(HEALTH)
            status = answer.readline(200).decode("latin-1").strip()
    except OSError as error:
        raise ControlError(f"{address} does not answer: {error_text(error)}.") from error
    if not status.startswith("HTTP/1.1 200 "):
        raise ControlError(f"{address} is not healthy: it answers {status!r} to GET /healthz.")
    return address

"""Backup: a whole copy of the database while it is in use, and the way back.

The copy is made by VACUUM INTO on a read-only connection. That neither writes the database
nor makes a checkpoint (see `sqlite`), so it needs no lock, and no server has to be asked: it reads
one state of the data while the writer goes on. The copy grows under a name of its own, is checked
as a whole and fsynced, and only then gets its name: a file with that name is complete, also after
a power cut.

To restore, the file is copied in the same way into the data folder, brought up to date and checked
there, before anything is touched. The database that was there is kept beside it. What waits in the
outbox of a backup may have been sent since it was made, so it is not sent unless that is wanted.

Errors: BackupError, and those of `sqlite` and `settings.data_dir`.
"""

import contextlib
import errno
import itertools
import os
import secrets
import shutil
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from commentsvc.db import integrity, outbox, sqlite
from commentsvc.db.lock import Lock
from commentsvc.db.migrations import upgrade
from commentsvc.db.sqlite import DatabaseBusy, DatabaseError, Reader, Transaction
from commentsvc.settings import data_dir
from commentsvc.util.clock import SYSTEM_CLOCK

T = TypeVar("T")

# Seconds to wait for another program's lock.
PATIENCE: Final = 5.0
# Virtual machine instructions between two looks whether to go on.
STEP: Final = 100_000
# A copy must leave so much free for the service that writes on the same disk; in bytes.
RESERVE: Final = 16 << 20
# A copy that grows, or was left behind by a crash, is called so.
PART: Final = ".part"
# What moderators read of a mail that waited in a backup.
HELD: Final = "held back: it came with a backup, and may have been sent since that was made"
# What a file system answers that has no second names for a file.
_NO_LINKS: Final = {errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.ENOSYS}


class BackupError(Exception):
    """No copy was made, or nothing was restored; the text says why, and what to do."""


class RestoreResult(NamedTuple):
    """What is in place now: its comments, the moment of the newest (Unix milliseconds), where the
    database before it is kept, its faults, and how many mails and messages were held back."""

    comments: int
    newest: int | None
    kept: Path | None
    faults: list[str]
    held: int


def write(
    database: Path,
    target: Path,
    *,
    replace: bool = False,
    unwanted: Callable[[], bool] = lambda: False,
    told: Callable[[float], None] = lambda _: None,
    idle: bool = False,
) -> int:
    """Copy `database`, which may be in use, to `target` (mode 0600); returns its size in bytes.

    An older backup at `target` is replaced when the new one is whole; anything else is left alone,
    unless it is to `replace`. Ends soon when it is `unwanted`. `told` is called with the share that
    is done. Nobody writes an `idle` database meanwhile. Raise BackupError, DatabaseError.
    """
    if os.path.lexists(target):
        if target.exists() and target.samefile(database):
            raise BackupError(f"{target} is the database itself. Name another file.")
        if not replace and not _is_backup(target):
            raise BackupError(
                f"{target} is there already, and is no backup. Name another file, or give --force."
            )
        replace = True
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}{PART}")
    try:
        os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        _copy(database, part, _watching(database, part, unwanted, told), idle)
        if faults := _damage(part, unwanted):
            raise BackupError(f"The copy of {database} is damaged ({faults[0]}): it is not kept.")
        _sync(part)
        size = part.stat().st_size
        _place(part, target, replace=replace)
        _sync(target.parent)
        told(1)
    except OSError as error:
        raise BackupError(f"{target} cannot be written: {error.strerror}.") from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
    return size


def _is_backup(target: Path) -> bool:
    """Return whether a file holds a database of ours."""
    try:
        upgrade.look(target)
        _ask(target, _summary)
    except (BackupError, DatabaseError, OSError):
        return False
    return True


def _watching(
    database: Path, part: Path, unwanted: Callable[[], bool], told: Callable[[float], None]
) -> Callable[[], bool]:
    """Return `unwanted`, which tells how far the copy is at each call; the rest is its check."""
    size = max(database.stat().st_size, 1)

    def look() -> bool:
        told(min(0.8 * part.stat().st_size / size, 0.8))
        return unwanted()

    return look


def _copy(database: Path, part: Path, unwanted: Callable[[], bool], idle: bool) -> None:
    try:
        connection = sqlite.connect_reading(database, PATIENCE, idle=idle)
        try:
            connection.set_progress_handler(unwanted, STEP)
            _look_for_room(connection, part)
            connection.execute("VACUUM INTO ?", (str(part.absolute()),))
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise _reason(error, database, part) from error


def _reason(error: sqlite3.Error, database: Path, part: Path) -> Exception:
    code = getattr(error, "sqlite_errorcode", 0)
    if code == sqlite3.SQLITE_INTERRUPT:
        return BackupError("The copy was not finished, since the program ends.")
    known = sqlite.fault(error)
    if isinstance(known, sqlite.DatabaseFull):
        return BackupError(
            f"{part.parent} cannot take the copy ({error}): make room there, look at its "
            "permissions, or name another folder."
        )
    return known or BackupError(f"{database} cannot be copied: {error}.")


def _look_for_room(connection: sqlite3.Connection, part: Path) -> None:
    """Raise BackupError where the copy would fill the disk, on which others write, too."""
    [pages], [free], [size] = (
        connection.execute(f"PRAGMA {name}").fetchone()
        for name in ("page_count", "freelist_count", "page_size")
    )
    needed, room = (pages - free) * size + RESERVE, shutil.disk_usage(part.parent).free
    if needed > room:
        raise BackupError(
            f"{part.parent} has {room >> 20} MiB free, and {(needed >> 20) + 1} are needed: "
            "make room there, or name another folder."
        )


def _damage(path: Path, unwanted: Callable[[], bool]) -> list[str]:
    connection = sqlite.connect_reading(path, PATIENCE, idle=True)
    try:
        connection.set_progress_handler(unwanted, STEP)
        return integrity.damage(Reader(connection))
    except sqlite3.Error as error:
        raise _reason(error, path, path) from error
    finally:
        connection.close()


def _place(part: Path, target: Path, *, replace: bool) -> None:
    """Give the file its name, which nobody else must have taken meanwhile. Raise OSError."""
    if replace:
        part.replace(target)
        return
    try:
        os.link(part, target)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        part.rename(target)


def _sync(path: Path) -> None:
    """Have the file or folder on the disk before this returns. Raise OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def restore(
    data: Path,
    source: Path,
    *,
    force: bool = False,
    send: bool = False,
    told: Callable[[float], None] = lambda _: None,
) -> RestoreResult:
    """Put the database in the file `source` in the place of that in the folder `data`.

    What waits in its outbox is sent only where it is to `send`. `told` is called with the share of
    the copy that is done.
    Raises, with nothing changed: DatabaseBusy while a server runs, DatabaseUnusable where the file
    is damaged, foreign or newer, BackupError where it is no backup or, unless with `force`, where
    its counts are wrong.
    """
    if not source.is_file():
        raise BackupError(f"{source} is no file. Name a backup.")
    data_dir.prepare(data)
    current, new = data / data_dir.DATABASE, data / f"{data_dir.DATABASE}.restored"
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(Lock(data))
        except DatabaseBusy as error:
            raise DatabaseBusy(f"{error}: stop it, then restore") from error
        stack.callback(new.unlink, missing_ok=True)
        upgrade.look(source)
        number, newest = _ask(source, _summary)
        write(source, new, replace=True, told=told, idle=True)
        upgrade.upgrade(new)
        faults = _ask(new, integrity.check)
        if faults and not force:
            raise BackupError(
                f"{source} is whole, but {faults[0]} ({len(faults)} such faults). Restore another "
                "backup, or this one all the same with --force."
            )
        held = 0 if send else _hold(new)
        return RestoreResult(number, newest, _exchange(current, new), faults, held)


def _hold(path: Path) -> int:
    """Let nothing be sent that waits in the database at `path`; how much. Raise DatabaseError."""
    connection = sqlite.connect(path, PATIENCE)
    try:
        return outbox.hold(Transaction(connection, []), HELD, SYSTEM_CLOCK.now_ms())
    except sqlite3.Error as error:
        raise _reason(error, path, path) from error
    finally:
        connection.close()


def _summary(reader: Reader) -> tuple[int, int | None]:
    if not reader.execute("SELECT 1 FROM sqlite_schema WHERE name = 'comment'").fetchone():
        raise BackupError("There is nothing in this file: it is no backup.")
    [row] = reader.execute("SELECT count(*), max(created_at) FROM comment")
    return row  # type: ignore[no-any-return]  # the database's columns have no types


def _ask(path: Path, work: Callable[[Reader], T]) -> T:
    """Read in a file that nobody writes. Raise DatabaseError and what `work` raises."""
    return sqlite.ask(path, lambda: sqlite.connect_reading(path, PATIENCE, idle=True), work)


def _free_name(current: Path) -> Path:
    """Return the name of `current` with the time appended, and a number if that is taken."""
    moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    endings = itertools.chain([moment], (f"{moment}-{number}" for number in itertools.count(2)))
    names = (current.with_name(f"{current.name}.{ending}") for ending in endings)
    return next(name for name in names if not name.exists())


def _exchange(current: Path, new: Path) -> Path | None:
    """Put `new` in the place of `current`; where that is kept. Raise OSError.

    The log of a database must never meet another one: so it is brought into its file first, or,
    where the file is too damaged for that, it is kept beside it.
    """
    kept = None
    if current.exists():
        kept = _free_name(current)
        with contextlib.suppress(DatabaseError, sqlite3.Error):
            upgrade.look(current)  # SQLite throws the log of a damaged file away
            sqlite.connect(current, PATIENCE, "wal_checkpoint(TRUNCATE)").close()
        _place(current, kept, replace=False)
        for end in ("-wal", "-journal"):
            log = current.with_name(current.name + end)
            if log.exists():
                log.rename(kept.with_name(kept.name + end))
        current.with_name(current.name + "-shm").unlink(missing_ok=True)
    if os.geteuid() == 0:  # who restores for a service must not lock it out
        owner = current.parent.stat()
        os.chown(new, owner.st_uid, owner.st_gid)
    new.replace(current)
    _sync(current.parent)
    return kept

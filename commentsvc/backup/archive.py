"""Backup: copy the whole database while it is in use, and restore such a copy.

The copy is made with VACUUM INTO on a read-only connection. That neither writes to the database nor
makes a checkpoint (see `db.sqlite.connection`), so it needs no lock and no help of a running
server. It reads one state of the data while the writer goes on. The copy is written under a
temporary name, checked as a whole and fsynced, and only then renamed: a file with the final name is
complete, even after a power cut.

PostgreSQL's backups are made by its own tools: see `postgresql_dump`.

To restore, the file is copied in the same way into the data folder, then migrated and checked
there, before anything is replaced. The previous database is kept beside it. Messages that wait in
the outbox of the backup may have been sent since it was made. So they are not sent, unless the
operator asks for it.

Errors: BackupError, and those of `db.errors` and `settings.data_dir`.
"""

import contextlib
import errno
import itertools
import os
import secrets
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, TypeVar

from commentsvc import outbox
from commentsvc.backup import integrity
from commentsvc.backup.result import (
    ARCHIVE,
    HELD,
    BackupError,
    RestoreResult,
    begins_with,
    no_backup,
)
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.engine import Location, load_postgresql
from commentsvc.db.errors import DatabaseBusy, DatabaseError, DatabaseUnusable, DatabaseUnwritable
from commentsvc.db.lock import BY_SYSTEMD, Lock
from commentsvc.db.migrations import moved, upgrade
from commentsvc.db.sqlite import connection as sqlite
from commentsvc.settings import data_dir
from commentsvc.util.clock import SYSTEM_CLOCK

T = TypeVar("T")

# Seconds to wait for another program's lock.
PATIENCE: Final = 5.0
# Instructions of SQLite's virtual machine between two checks whether to go on.
STEP: Final = 100_000
# The free space that a copy must leave to the service, which writes to the same disk; in bytes.
RESERVE: Final = 16 << 20
# The end of the name of an unfinished copy, also of one left behind by a crash.
PART: Final = ".part"
# Errors of file systems without hard links.
_NO_LINKS: Final = {errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.ENOSYS}


def write(
    database: Location,
    target: Path,
    *,
    replace: bool = False,
    unwanted: Callable[[], bool] = lambda: False,
    on_progress: Callable[[float], None] = lambda _: None,
    idle: bool = False,
) -> int:
    """Copy `database`, which may be in use, to `target` (mode 0600); return its size in bytes.

    An older backup at `target` is replaced once the new one is complete. Another file there is only
    replaced with `replace`. The copy stops soon after `unwanted` returns True. `on_progress` is
    called with the share that is done, from 0 to 1. With `idle`, the caller guarantees that nobody
    writes to `database` meanwhile. Raise BackupError, DatabaseError.
    """
    if os.path.lexists(target):
        if isinstance(database, Path) and target.exists() and target.samefile(database):
            raise BackupError(f"{target} is the database itself. Name another file.")
        if target.exists() and not target.is_file():  # a device, such as /dev/null
            raise BackupError(f"{target} is not a file, so it is not replaced. Name another one.")
        if not replace and not _is_backup(target):
            raise BackupError(
                f"{target} already exists and is not a backup. Name another file, or use --force."
            )
        replace = True
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}{PART}")
    try:
        os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        if isinstance(database, Path):
            _copy(database, part, _watching(database, part, unwanted, on_progress), idle)
            if faults := _damage(part, unwanted):
                raise BackupError(
                    f"The copy of {database} is damaged ({faults[0]}), so it was deleted."
                )
        else:
            load_postgresql()
            from commentsvc.backup import postgresql_dump

            postgresql_dump.dump(database, part, unwanted, on_progress)
        _sync(part)
        size = part.stat().st_size
        _rename(part, target, replace=replace)
        _sync(target.parent)
        on_progress(1)
    except OSError as error:
        raise BackupError(f"{target} cannot be written: {error.strerror}.") from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
    return size


def _is_backup(target: Path) -> bool:
    """Return whether a file holds a database of this program, or is an archive of pg_dump's."""
    if _is_postgresql_dump(target):
        return True
    try:
        upgrade.check(target, may_be_moved=True)
        _ask(target, _summary)
    except (BackupError, DatabaseError, OSError):
        return False
    return True


def _is_postgresql_dump(path: Path) -> bool:
    return begins_with(path, ARCHIVE)


def _is_database(path: Path) -> bool:
    return begins_with(path, upgrade.MAGIC)


def _watching(
    database: Path, part: Path, unwanted: Callable[[], bool], on_progress: Callable[[float], None]
) -> Callable[[], bool]:
    """Return a function like `unwanted` that also reports the progress of the copy.

    Copying counts as 80 % of the work, checking the copy as the rest.
    """
    size = max(database.stat().st_size, 1)

    def is_unwanted() -> bool:
        on_progress(min(0.8 * part.stat().st_size / size, 0.8))
        return unwanted()

    return is_unwanted


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
        return BackupError("The copy was not finished, because the program is stopping.")
    known = sqlite.fault(error)
    if isinstance(known, DatabaseUnwritable):
        return BackupError(
            f"{part.parent} cannot hold the copy ({error}): free some space there, check its "
            "permissions, or name another folder."
        )
    return known or BackupError(f"{database} cannot be copied: {error}.")


def _look_for_room(connection: sqlite3.Connection, part: Path) -> None:
    """Raise BackupError if the copy would leave less than RESERVE bytes free on the disk."""
    [pages], [free], [size] = (
        connection.execute(f"PRAGMA {name}").fetchone()
        for name in ("page_count", "freelist_count", "page_size")
    )
    needed, room = (pages - free) * size + RESERVE, shutil.disk_usage(part.parent).free
    if needed > room:
        raise BackupError(
            f"{part.parent} has {room >> 20} MiB free, but {(needed >> 20) + 1} are needed: "
            "free some space there, or name another folder."
        )


def _damage(path: Path, unwanted: Callable[[], bool]) -> list[str]:
    connection = sqlite.connect_reading(path, PATIENCE, idle=True)
    try:
        connection.set_progress_handler(unwanted, STEP)
        return integrity.damage(Snapshot(connection))
    except sqlite3.Error as error:
        raise _reason(error, path, path) from error
    finally:
        connection.close()


def finish_file(part: Path, target: Path) -> None:
    """Give a database file that is complete the name `target`. Raise OSError."""
    if os.geteuid() == 0:  # root must not take the file from the service's user
        owner = target.parent.stat()
        os.chown(part, owner.st_uid, owner.st_gid)
    _sync(part)
    part.replace(target)
    _sync(target.parent)


def _rename(part: Path, target: Path, *, replace: bool) -> None:
    """Rename `part` to `target`, and fail if `target` exists, unless `replace`. Raise OSError."""
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
    """Flush a file or folder to the disk (fsync). Raise OSError."""
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
    on_progress: Callable[[float], None] = lambda _: None,
) -> RestoreResult:
    """Replace the database in the folder `data` by that in the file `source`.

    With `send`, messages that wait in its outbox are sent. `on_progress` is called with the share
    of the copy that is done, from 0 to 1.

    These errors are raised before anything is changed: DatabaseBusy while a server runs,
    DatabaseUnusable if the file is damaged, foreign or newer than this program, and BackupError if
    it is no backup or, without `force`, if its counts are wrong.
    """
    if not source.is_file():
        raise BackupError(f"{source} is not a file. Name a backup.")
    if _is_postgresql_dump(source):
        raise BackupError(
            f"{source} is a backup of PostgreSQL, and database.url names none: restore it there,"
            " then use `commentsvc copy`."
        )
    if not _is_database(source):
        raise BackupError(no_backup(source))
    _refuse_cut(source)
    data_dir.prepare(data)
    current, new = data / data_dir.DATABASE, data / f"{data_dir.DATABASE}.restored"
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(Lock(data))
        except DatabaseBusy as error:
            raise DatabaseBusy(f"{error}: stop it, then restore{BY_SYSTEMD}") from error
        stack.callback(new.unlink, missing_ok=True)
        with _damage_of(source):
            try:
                number, newest = _ask(source, _summary)
            except BackupError as error:
                raise BackupError(no_backup(source)) from error
            upgrade.check(source, may_be_moved=True)
            write(source, new, replace=True, on_progress=on_progress, idle=True)
        moved.unmark(new)
        upgrade.upgrade(new)
        faults = _ask(new, integrity.check)
        if faults and not force:
            raise BackupError(
                f"{source} is complete, but {faults[0]} ({len(faults)} such faults). Restore "
                "another backup, or use --force to restore this one."
            )
        held = 0 if send else _hold(new)
        return RestoreResult(number, newest, _exchange(current, new), faults, held)


def _refuse_cut(source: Path) -> None:
    """Raise BackupError if a database lacks its end, by its header (SQLite file format, 1.3)."""
    size = source.stat().st_size
    with source.open("rb") as file:
        head = file.read(100)
    page_size, pages = int.from_bytes(head[16:18]), int.from_bytes(head[28:32])
    wanted = (65_536 if page_size == 1 else page_size) * pages
    is_right = head[24:28] == head[92:96]  # an old SQLite does not keep the number of pages
    if len(head) < 100 or (is_right and size < wanted):
        raise BackupError(
            f"{source} is cut off: it has {size:,} of {max(wanted, 100):,} bytes. Copy it again, or"
            " restore another backup."
        )


@contextlib.contextmanager
def _damage_of(source: Path) -> Iterator[None]:
    """Say of a fault that SQLite finds that it is in `source`, not in the database."""
    try:
        yield
    except (DatabaseUnusable, UnicodeDecodeError) as error:  # the latter for a damaged schema
        if isinstance(error, UnicodeDecodeError) or isinstance(error.__cause__, sqlite3.Error):
            text = f"{source} is damaged, so nothing was changed. Restore another backup."
            raise DatabaseUnusable(text) from error
        raise


def _hold(path: Path) -> int:
    """Mark all waiting messages of the database at `path` as not to be sent; return how many.

    Raise DatabaseError.
    """
    connection = sqlite.connect(path, PATIENCE)
    try:
        return outbox.hold(Transaction(connection, []), HELD, SYSTEM_CLOCK.now_ms())
    except sqlite3.Error as error:
        raise _reason(error, path, path) from error
    finally:
        connection.close()


def _summary(snapshot: Snapshot) -> tuple[int, int | None]:
    if not snapshot.execute("SELECT 1 FROM sqlite_schema WHERE name = 'comment'").fetchone():
        raise BackupError("This file contains no comments table, so it is not a backup.")
    [row] = snapshot.execute("SELECT count(*), max(created_at) FROM comment")
    return row  # type: ignore[no-any-return]  # the database's columns have no types


def _ask(path: Path, work: Callable[[Snapshot], T]) -> T:
    """Run `work` on a file to which nobody writes. Raise DatabaseError and what `work` raises."""
    return sqlite.ask(path, lambda: sqlite.connect_reading(path, PATIENCE, idle=True), work)


def _free_name(current: Path) -> Path:
    """Return the name of `current` with the time appended, and a number if that is taken."""
    moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    endings = itertools.chain([moment], (f"{moment}-{number}" for number in itertools.count(2)))
    names = (current.with_name(f"{current.name}.{ending}") for ending in endings)
    return next(name for name in names if not name.exists())


def _exchange(current: Path, new: Path) -> Path | None:
    """Replace `current` by `new`; return where that one is kept. Raise OSError.

    A database must never be opened with the write-ahead log of another one. So the old log is
    checkpointed into its file first; if the file is too damaged for that, the log is kept beside
    it.
    """
    kept = _free_name(current)
    existed = current.exists()
    if existed:
        with contextlib.suppress(DatabaseError, sqlite3.Error):
            # Raises for a damaged file, whose log SQLite would discard.
            upgrade.check(current, may_be_moved=True)
            moved.unmark(current)
            moved.mark(current, moved.RESTORED)
            sqlite.connect(current, PATIENCE, "wal_checkpoint(TRUNCATE)").close()
        _rename(current, kept, replace=False)
    for end in ("-wal", "-journal"):  # also of a file that was removed
        log = current.with_name(current.name + end)
        if log.exists():
            log.rename(kept.with_name(kept.name + end))
    current.with_name(current.name + "-shm").unlink(missing_ok=True)
    finish_file(new, current)
    return kept if existed else None

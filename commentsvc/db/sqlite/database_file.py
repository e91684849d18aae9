"""Notices that the files of an open database were moved, removed, replaced or written by others.

SQLite goes on with the files that it has opened, wherever they are now. So comments would be
acknowledged and stored in a file that nobody finds after the next start. `check` is called before
each transaction, and `note_commit` before its comments are acknowledged; both cost microseconds.
"""

import contextlib
import os
import sqlite3
from pathlib import Path
from typing import Any, Final

from commentsvc.db.errors import DatabaseUnwritable

ENDS: Final = ("", "-wal", "-shm")
WRITTEN: Final = (
    "was written by another program (for Litestream, set database.checkpoint_pages = 0)"
)
RESCUED: Final = ".rescued"  # the end of the name of a copy of a file that was removed


class DatabaseReplaced(DatabaseUnwritable):
    """The files at the database's path are not those that are open."""


class DatabaseFile:
    """The files of the database at `path`, which `connection` has opened for writing.

    With `is_shared`, another program makes the checkpoints, such as Litestream.
    """

    def __init__(self, path: Path, connection: Any, *, is_shared: bool) -> None:  # Any: sqlite3's
        """Raise sqlite3.Error, OSError."""
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()  # opens the log
        self._path = path.absolute()
        self._connection = connection
        self._is_shared = is_shared
        self._names = [f"{self._path}{end}" for end in ENDS]
        # Such a descriptor may be closed without ending the locks of SQLite: see fcntl(2).
        self._handle = os.open(self._path, os.O_PATH | os.O_CLOEXEC)
        found = [Path(name).stat() for name in self._names]
        self._known = [(each.st_dev, each.st_ino) for each in found]
        self._note(found[0], found[1])

    def check(self) -> None:
        """Raise DatabaseReplaced if a transaction would not go to the files at the path.

        A file that was removed is saved first. Only for the thread of the connection.
        """
        if fault := self.fault():
            raise DatabaseReplaced(self._advice(fault))

    def note_commit(self) -> None:
        """Note what a transaction has written. Raise DatabaseReplaced if it is not at the path."""
        found = self._state()
        if isinstance(found, str):
            raise DatabaseReplaced(self._advice(found))
        self._note(*found)

    def fault(self) -> str:
        """Return what has happened to the files, "" if nothing has.

        On another thread than that of the connection, a commit may look like another's write.
        """
        found = self._state()
        if isinstance(found, str):
            return found
        main, log = found
        if main.st_size < self._size:
            return "was truncated"
        is_written = main.st_mtime_ns != self._written_ns or log.st_size < self._log_size
        return WRITTEN if is_written and not self._is_shared else ""

    def close(self) -> None:
        """Release what it holds."""
        os.close(self._handle)

    def _note(self, main: os.stat_result, log: os.stat_result) -> None:
        self._size, self._written_ns, self._log_size = main.st_size, main.st_mtime_ns, log.st_size

    def _state(self) -> tuple[os.stat_result, os.stat_result] | str:
        """Return the state of the database and its log, or what is wrong with them."""
        found = []
        for name, known in zip(self._names, self._known, strict=True):
            try:
                now = os.stat(name)  # noqa: PTH116 - a Path takes three times as long
            except OSError:
                return "is not there any more"
            if (now.st_dev, now.st_ino) != known:
                return "was replaced by another file"
            found.append(now)
        return found[0], found[1]

    def _advice(self, what: str) -> str:
        """Return what has happened and what to do; save a file that was removed."""
        text = f"{self._path} (or its -wal or -shm) {what}"
        saved = Path(f"{self._path}{RESCUED}")
        if os.fstat(self._handle).st_nlink == 0 and self._path.parent.is_dir():
            with contextlib.suppress(sqlite3.Error, OSError):
                if not saved.exists():
                    self._connection.rollback()
                    self._connection.execute("VACUUM INTO ?", (str(saved),))
            if saved.exists():
                return (
                    f"{text}; all comments are saved in {saved}. Stop the service, then run:"
                    f" commentsvc restore --data {self._path.parent} {saved}"
                )
        return (
            f"{text}. Put the right file back, or stop the service and run:"
            f" commentsvc restore --data {self._path.parent} BACKUP"
        )

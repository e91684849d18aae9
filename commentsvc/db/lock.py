"""The lock on a data directory: one process at a time may write there."""

import fcntl
import os
from pathlib import Path
from typing import Final

from commentsvc.db.errors import DatabaseBusy, DatabaseUnwritable
from commentsvc.settings import data_dir

# A service that only systemd's service unit stops is started by the socket at the next request.
BY_SYSTEMD: Final = " (with systemd: systemctl stop commentsvc.socket commentsvc.service)"


class Lock:
    """The right to write in a data directory, held by one process at a time (flock on DATA/lock).

    Take it before `migrations.upgrade` and keep it while the database is open. `held` is the
    descriptor of a lock that another process has handed over. With PostgreSQL, several instances
    can share a directory; each has a lock of another `name`.
    """

    def __init__(self, directory: Path, held: int = -1, name: str = "lock") -> None:
        self._path = directory / name
        self._fd = held

    def __enter__(self) -> "Lock":
        """Take the lock.

        Raise DatabaseBusy, which names the holder; DatabaseUnwritable; OSError.
        """
        fd = self._fd
        if fd < 0:
            data_dir.create_file(self._path)
            fd = os.open(self._path, os.O_RDWR | os.O_CLOEXEC)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.pread(fd, 32, 0).decode("ascii", "replace").strip()
            os.close(fd)
            raise DatabaseBusy(
                f"{self._path.parent} is in use by another commentsvc (process {holder})"
            ) from error
        try:
            os.ftruncate(fd, 0)
            os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
        except OSError as error:
            os.close(fd)
            raise DatabaseUnwritable(
                f"{self._path} cannot be written ({error.strerror}): make room on its disk"
            ) from error
        self._fd = fd
        return self

    def fileno(self) -> int:
        """Return the locked descriptor; a process with a duplicate of it holds the lock too."""
        return self._fd

    def __exit__(self, *_: object) -> None:
        """Release the lock; the file stays, so that no two processes lock different files."""
        os.close(self._fd)
        self._fd = -1

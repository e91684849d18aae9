"""The data folder: the names of the files in it, and checks that it can be used.

Most failures of a first start are caused by this folder: a volume that belongs to root, or another
uid in the container. So it is checked before everything else, and the error names the path, its
owner, our uid and the command that helps.
"""

import contextlib
import errno
import os
import pwd
import tempfile
from pathlib import Path
from typing import Final

DATABASE: Final = "comments.sqlite3"
SECRET_KEY: Final = "secret.key"  # noqa: S105 - the name of a file
CONTROL: Final = "control.sock"
SETTINGS: Final = "commentsvc.toml"
SERVED: Final = "served"  # names the database of the last server
LEAST_SPACE: Final = 32_768  # bytes: without them, SQLite cannot open a database for writing


def control_socket(instance: int = 0) -> str:
    """Return the name of the control socket of an instance; 0 if it is alone or the supervisor."""
    return f"control-{instance}.sock" if instance else CONTROL


def lock(instance: int = 0) -> str:
    """Return the name of the lock of an instance; 0 as above."""
    return f"lock-{instance}" if instance else "lock"


class DataUnusable(Exception):
    """The data folder cannot be used; the text says why and what to do."""


class DataReadOnly(DataUnusable):
    """The file system of the data folder is mounted read-only."""


def must_exist(data: Path) -> None:
    """Raise DataUnusable if there is no such folder: a mistyped path would look like a new blog."""
    if data.exists():
        _refuse_file(data)
    else:
        raise DataUnusable(
            f"There is no folder {data}. If the path is right and this is a new blog, create it: "
            f"commentsvc init --data {data}"
        )


def prepare(data: Path) -> None:
    """Make the folder `data` (mode 0700) if it does not exist, and look whether it can be written.

    Raise DataUnusable, OSError.
    """
    try:
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
    except FileExistsError:
        _refuse_file(data)
        raise
    except PermissionError as error:
        if os.geteuid() == 0:
            raise DataUnusable(
                f"{data} cannot be created, even by root. Name another folder with --data."
            ) from error
        above = next(path for path in data.absolute().parents if path.exists())
        raise DataUnusable(
            f"{data} cannot be created: {describe(above)}. "
            f"Run: install -d -m 0700 -o {os.geteuid()} -g {os.getegid()} {data.absolute()}"
        ) from error
    except OSError as error:
        raise DataUnusable(
            f"{data} cannot be created: {error.strerror}. Name another folder with --data."
        ) from error
    if is_read_only(data):
        raise DataReadOnly(
            f"{data} cannot be written: its file system is mounted read-only. Mount it writable,"
            " or name another folder with --data."
        )
    if not os.access(data, os.R_OK | os.W_OK | os.X_OK):
        raise DataUnusable(
            f"{data} cannot be written: {describe(data)}. "
            f"Run: chown -R {os.geteuid()}:{os.getegid()} {data.absolute()}"
            " (in a container, on the folder that is mounted there)"
        )
    try:
        with tempfile.TemporaryFile(dir=data, buffering=0) as file:
            os.posix_fallocate(file.fileno(), 0, LEAST_SPACE)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DataUnusable(
                f"{data} cannot be written: {error.strerror}. Make room on its disk."
            ) from error
        raise


def is_read_only(path: Path) -> bool:
    """Return whether the file system at `path` is mounted read-only. Raise OSError."""
    return bool(os.statvfs(path).f_flag & os.ST_RDONLY)


def create_file(path: Path) -> None:
    """Create an empty file (mode 0600) unless there is one. Raise OSError.

    If root creates it, it belongs to the owner of its folder: the service's user must be able to
    write it.
    """
    with contextlib.suppress(FileExistsError):
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            if os.geteuid() == 0:
                owner = path.absolute().parent.stat()
                os.fchown(fd, owner.st_uid, owner.st_gid)
        finally:
            os.close(fd)


def remember_served(data: Path, url: str) -> None:
    """Note that a server uses the database at `url`, which has no password; "" is the usual file.

    Raise OSError.
    """
    note, text = data / SERVED, f"{url or DATABASE}\n"
    with contextlib.suppress(OSError):
        if note.read_text() == text:
            return
    part = note.with_name(f"{SERVED}.part")
    create_file(part)
    part.write_text(text)
    part.replace(note)


def _refuse_file(data: Path) -> None:
    if not data.is_dir():
        raise DataUnusable(f"{data} is not a folder. Give another path with --data.")


def describe(path: Path) -> str:
    """Return to whom `path` belongs, or the nearest folder above it that can be seen, and our uid.

    This explains why a path cannot be used.
    """
    status = None
    while status is None:
        try:
            status = path.stat()
        except OSError:
            path = path.absolute().parent
    try:
        owner = pwd.getpwuid(status.st_uid).pw_name
    except KeyError:
        owner = "an unknown user"
    return (
        f"{path} belongs to {owner} (uid {status.st_uid}, mode {status.st_mode & 0o7777:04o}), "
        f"and this runs as uid {os.geteuid()}"
    )

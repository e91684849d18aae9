"""Opening what is to be imported: plain, gzip or zip, and no small file that becomes a huge one.

A gzip or zip file may become `RATIO` times as long, and `SLACK` bytes for small ones. What is
larger is a bomb: a file that is made to fill memory or disk.
"""

import gzip
import io
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Protocol

from commentsvc.imports.records import ImportFailed

RATIO: Final = 200  # text compresses to a tenth, very repetitive XML to a hundredth
SLACK: Final = 16 * 1024 * 1024  # bytes
MEMBERS: Final = 10_000  # files in one zip
HEAD: Final = 65_536  # bytes that are looked at to recognise a file


class ByteStream(Protocol):
    """Something that can be read."""

    def read(self, size: int, /) -> bytes:
        """Return at most `size` bytes, none at the end."""


class BoundedStream:
    """The unpacked bytes of a file, which fail once they are too many."""

    def __init__(self, name: str, stream: ByteStream, limit: int) -> None:
        self._name = name
        self._stream = stream
        self._left = limit

    def read(self, size: int) -> bytes:
        """Return at most `size` bytes, none at the end. Raises ImportFailed."""
        try:
            data = self._stream.read(size)
        except (OSError, EOFError, zlib.error, zipfile.BadZipFile) as error:
            raise ImportFailed(f"{self._name} cannot be unpacked: {error}.") from error
        self._left -= len(data)
        if self._left < 0:
            raise ImportFailed(
                f"{self._name} unpacks to more than {RATIO} times its size, which no export does."
            )
        return data


class SourceFile:
    """A file to import, or a part of a zip file; `name` is for messages.

    `path` is of the file on the disk. `done` is how many of the file's `size` bytes were read.
    """

    def __init__(self, path: Path, member: zipfile.ZipInfo | None = None) -> None:
        self.path = path
        self._member = member
        self.name = path.name if member is None else f"{path.name}:{member.filename}"
        self.is_plain = member is None
        self.size = path.stat().st_size if member is None else member.compress_size
        self.packed = member is not None
        if member is None and path.is_file():
            with path.open("rb") as file:
                self.packed = file.read(2) == b"\x1f\x8b"
        self._counted: io.BufferedReader | None = None

    @property
    def done(self) -> int:
        """How many bytes of the file were read so far."""
        try:
            return self._counted.tell() if self._counted else 0
        except ValueError:  # it is closed
            return self.size

    @contextmanager
    def open(self) -> Iterator[ByteStream]:
        """Give the unpacked bytes. Raises ImportFailed and OSError."""
        limit = self.size * RATIO + SLACK
        with self.path.open("rb") as file:
            self._counted = file
            if self._member is not None:
                with zipfile.ZipFile(file) as archive, archive.open(self._member) as part:
                    yield BoundedStream(self.name, part, limit)
            elif self.packed:
                with gzip.open(file) as unpacked:
                    yield BoundedStream(self.name, unpacked, limit)
            else:
                yield file

    def head(self) -> bytes:
        """Return the first bytes, unpacked."""
        if self.path.is_dir():
            return b""
        with self.open() as stream:
            return stream.read(HEAD)

    def read_all(self, limit: int) -> bytes:
        """Return all bytes, unpacked. Raises ImportFailed where they are more than `limit`."""
        with self.open() as stream:
            parts, total = [], 0
            while data := stream.read(1024 * 1024):
                total += len(data)
                if total > limit:
                    raise ImportFailed(f"{self.name} is larger than {limit // 1024 // 1024} MiB.")
                parts.append(data)
        return b"".join(parts)


def sources(paths: list[Path]) -> list[SourceFile]:
    """Return what there is to import in `paths`: each file, and each part of a zip file.

    Raises ImportFailed and OSError.
    """
    found = []
    for path in paths:
        if path.is_file() and zipfile.is_zipfile(path) and not _is_database(path):
            found += _members(path)
        else:
            found.append(SourceFile(path))
    return found


def _is_database(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(16).startswith(b"SQLite format 3")


def _members(path: Path) -> list[SourceFile]:
    try:
        with zipfile.ZipFile(path) as archive:
            members = [each for each in archive.infolist() if not each.is_dir()]
    except (OSError, zipfile.BadZipFile) as error:
        raise ImportFailed(f"{path.name} is no zip file that can be read: {error}.") from error
    if len(members) > MEMBERS:
        raise ImportFailed(f"{path.name} holds more than {MEMBERS} files.")
    if any(each.flag_bits & 1 for each in members):
        raise ImportFailed(f"{path.name} wants a password. Unpack it first.")
    return [SourceFile(path, each) for each in members]

"""Files to import: plain, gzip or zip, with protection against decompression bombs.

A gzip or zip file may become `RATIO` times as long, plus `SLACK` bytes. A larger one is refused: it
was made to fill memory or disk.
"""

import codecs
import gzip
import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Final, Protocol

from commentsvc.imports.records import ImportFailed
from commentsvc.imports.sources.encodings import is_wide, to_utf8
from commentsvc.util.error_texts import error_text

RATIO: Final = 200  # text is compressed to a tenth, very repetitive XML to a hundredth
SLACK: Final = 16 * 1024 * 1024  # bytes
MEMBERS: Final = 10_000  # files in one zip
MARKS: Final = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
HEAD: Final = 65_536  # bytes that are read to recognise a file
# A backup of Remark42: its site and the day. One by hand is called `userbackup`.
_BACKUP: Final = re.compile(r"(?:user)?backup-(.+)-(\d{8})\.gz").fullmatch
# What it has beside them: the database that it makes them of, and pictures.
_BESIDE: Final = re.compile(r"remark\.db|.+\.image").fullmatch
_GZIP: Final = b"\x1f\x8b"  # the first bytes of a gzip file
_ERRORS: Final = (OSError, EOFError, zlib.error, zipfile.BadZipFile)


class ByteStream(Protocol):
    """A file-like object that can be read."""

    def read(self, size: int, /) -> bytes:
        """Return at most `size` bytes, none at the end."""


class BoundedStream:
    """The decompressed bytes of a file, with an error if there are too many."""

    def __init__(self, name: str, stream: ByteStream, limit: int) -> None:
        self._name = name
        self._stream = stream
        self._left = limit

    def read(self, size: int) -> bytes:
        """Return at most `size` bytes, none at the end. Raise ImportFailed."""
        try:
            data = self._stream.read(size)
        except _ERRORS as error:
            raise _packed_wrongly(self._name, error) from error
        self._left -= len(data)
        if self._left < 0:
            raise ImportFailed(
                f"{self._name} unpacks to more than {RATIO} times its size, which no export does."
            )
        return data


class SourceFile:
    """A file to import, or a member of a zip file; `name` is for messages.

    `path` is that of the file on the disk, `relative` that within its folder or zip file. `done` is
    how many of the file's `size` bytes were read.
    """

    def __init__(self, path: Path, relative: str = "") -> None:
        self.path = path
        self.name = relative or path.name
        self.relative = relative or f"{path.parent.name}/{path.name}"
        self.size = path.stat().st_size
        self.is_member = False
        if path.exists() and not path.is_file():
            raise ImportFailed(f"{self.name} can be read only once. Save it in a file first.")
        with path.open("rb") as file:
            self.packed = file.read(len(_GZIP)) == _GZIP
        self._open: io.BufferedReader | None = None

    @property
    def done(self) -> int:
        """How many bytes of the file were read so far."""
        return self._open.tell() if self._open and not self._open.closed else 0

    @contextmanager
    def open(self) -> Iterator[ByteStream]:
        """Yield a stream of the decompressed bytes. Raise ImportFailed and OSError."""
        with self.path.open("rb") as file:
            self._open = file
            if self.packed:
                with gzip.open(file) as unpacked:
                    yield _unpacked_again(self, unpacked)
            else:
                yield file

    def head(self) -> bytes:
        """Return the first bytes, decompressed, and as UTF-8 if they have a mark or are UTF-16."""
        with self.open() as stream:
            data = stream.read(HEAD)
        is_marked = data.startswith(MARKS) or is_wide(data)
        return to_utf8(data)(data, False) if is_marked else data

    def read_all(self, limit: int) -> bytes:
        """Return all bytes, decompressed. Raise ImportFailed if there are more than `limit`."""
        with self.open() as stream:
            parts, total = [], 0
            while data := stream.read(1024 * 1024):
                total += len(data)
                if total > limit:
                    raise ImportFailed(f"{self.name} is larger than {limit // 1024 // 1024} MiB.")
                parts.append(data)
        return b"".join(parts)


class ZippedFile(SourceFile):
    """A member of a zip file, which stays open for all of its members."""

    def __init__(self, path: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> None:
        self.path = path
        self.name = f"{path.name}:{member.filename}"
        self.relative = member.filename
        self.size = member.compress_size
        self.is_member = self.packed = True
        self._archive = archive
        self._member = member

    @property
    def done(self) -> int:
        """How many bytes of the member were read so far."""
        file = self._archive.fp
        at = file.tell() - self._member.header_offset if file else 0
        return max(0, min(at, self.size))

    @contextmanager
    def open(self) -> Iterator[ByteStream]:
        """Yield a stream of the decompressed bytes. Raise ImportFailed."""
        try:
            part = self._archive.open(self._member)
        except (OSError, zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
            raise _packed_wrongly(self.name, error) from error
        with part:
            assert isinstance(part, zipfile.ZipExtFile), "it is opened for reading"
            yield _unpacked_again(self, part)


def _packed_wrongly(name: str, error: Exception) -> ImportFailed:
    reason = error_text(error).rstrip(".")
    return ImportFailed(f"{name} cannot be unpacked: {reason}. Download or export it again.")


def _unpacked_again(source: SourceFile, stream: gzip.GzipFile | zipfile.ZipExtFile) -> ByteStream:
    """Return an unpacked file, unpacked once more if it is packed with gzip itself."""
    try:
        is_packed = stream.peek(len(_GZIP)).startswith(_GZIP)
    except _ERRORS as error:
        raise _packed_wrongly(source.name, error) from error
    inner = gzip.GzipFile(fileobj=stream, mode="rb") if is_packed else stream
    return BoundedStream(source.name, inner, source.size * RATIO + SLACK)


def sources(paths: list[Path]) -> list[SourceFile]:
    """Return the files to import in `paths`, also those in folders and zip files.

    Raise ImportFailed and OSError.
    """
    found: list[SourceFile] = []
    for path in paths:
        if path.is_dir():
            files = [
                each
                for each in sorted(path.rglob("*"))
                if each.is_file() and not each.name.startswith(".")
            ]
            found += [
                SourceFile(each, relative=each.relative_to(path).as_posix())
                for each in _without_older_backups(files)
            ]
        elif path.is_file() and zipfile.is_zipfile(path) and not _is_database(path):
            found += _members(path)
        else:
            found.append(SourceFile(path))
    if not found:
        raise ImportFailed(f"There are no files in {', '.join(map(str, paths))}.")
    return found


def _without_older_backups(files: list[Path]) -> list[Path]:
    """Return the files but the older backups of each site of Remark42, and what is beside them.

    The newest has all that the others have.
    """
    dated = sorted((match[1], match[2], each) for each in files if (match := _BACKUP(each.name)))
    newest = {site: each for site, _, each in dated}.values()
    older = {each for _, _, each in dated} - {*newest}
    return [each for each in files if each not in older and not (dated and _BESIDE(each.name))]


def _is_database(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(16).startswith(b"SQLite format 3")


def _members(path: Path) -> list[SourceFile]:
    try:
        archive = zipfile.ZipFile(path)
    except (OSError, zipfile.BadZipFile) as error:
        raise ImportFailed(
            f"{path.name} is no zip file that can be read: {error_text(error)}."
        ) from error
    members = [
        each
        for each in archive.infolist()
        if not each.is_dir() and not PurePosixPath(each.filename).name.startswith(".")
    ]  # macOS adds a hidden file for each
    if len(members) > MEMBERS:
        raise ImportFailed(f"{path.name} holds more than {MEMBERS} files.")
    # What a member unpacks to is in its entry, and no more is read of it. Entries may share bytes.
    if sum(each.file_size for each in members) > path.stat().st_size * RATIO + SLACK:
        raise ImportFailed(
            f"{path.name} unpacks to more than {RATIO} times its size, which no export does."
        )
    members.sort(key=lambda each: PurePosixPath(each.filename).parts)  # as those of a folder
    return [ZippedFile(path, archive, each) for each in members]

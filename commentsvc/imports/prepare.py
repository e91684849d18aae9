"""Prepares an import: recognises and parses the files, and fills the staging database."""

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from zoneinfo import ZoneInfo

import msgspec

from commentsvc.imports import detect, formats
from commentsvc.imports.records import InvalidInput, ParseOptions
from commentsvc.imports.sources import files
from commentsvc.imports.sources.files import SourceFile
from commentsvc.imports.staging.staging import StagingDatabase


class ImportSource(msgspec.Struct, frozen=True):
    """The files of an import, and the name of their format.

    `recognised_by` is what showed the format, "" if it was named.
    """

    format: str
    files: list[SourceFile]
    recognised_by: str

    @property
    def size(self) -> int:
        """The size of all files in bytes."""
        return sum(file.size for file in self.files)

    def digest(self) -> bytes:
        """Return a digest of the contents of all files."""
        digest = hashlib.blake2b(digest_size=16)
        for file in self.files:
            digest.update(file.relative.encode(errors="replace"))
        for path in dict.fromkeys(file.path for file in self.files):
            with path.open("rb") as stream:
                digest.update(hashlib.file_digest(stream, "blake2b").digest())
        return digest.digest()


def open_source(name: str, paths: Sequence[Path]) -> ImportSource:
    """Return the files in `paths` with their format, or the one called `name`.

    Raise ImportFailed and OSError.
    """
    found = files.sources(list(paths))
    chosen, reason = detect.choose(name, found)
    return ImportSource(chosen, found, reason)


def read(
    source: ImportSource,
    staging: StagingDatabase,
    zone: ZoneInfo,
    *,
    keep_going: bool,
    advance: Callable[[int, int], None],
) -> None:
    """Read all files into the staging database.

    `advance` is called with how many bytes and comments were read. Invalid parts are noted if the
    import is to `keep_going`; else they raise InvalidInput. Raise ImportFailed.
    """

    def skip(problem: InvalidInput) -> None:
        if not keep_going:
            raise problem
        ignore(problem)

    def ignore(problem: InvalidInput) -> None:
        staging.writer.skipped(problem.position, problem.problem)

    options = ParseOptions(zone, skip, ignore)
    before = 0
    for file in source.files:
        staging.writer.begin_file(file.name, int(file.path.stat().st_mtime) * 1_000)
        try:
            for number, record in enumerate(formats.load(source.format).parse(file, options)):
                staging.writer.add(record)
                if number % 500 == 0:
                    advance(before + file.done, staging.read)
        except InvalidInput as problem:
            raise InvalidInput(f"{file.name}, {problem.position}", problem.problem) from problem
        before += file.size
        advance(before, staging.read)

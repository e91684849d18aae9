"""An import, from the files to the database: its rows are read, converted, staged and stored.

The files are read and checked in this process, in a staging database. Only then the comments are
stored in small transactions, by the running server or by this process: see `ImportWriter`.
"""

import fcntl
import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Concatenate, Final, ParamSpec, Protocol, TypeVar
from zoneinfo import ZoneInfo

import msgspec

from commentsvc.comments.submission import BIGGEST_ID
from commentsvc.db.connection import Snapshot
from commentsvc.imports import detect, formats, report
from commentsvc.imports.records import (
    ImportedComment,
    ImportFailed,
    InvalidInput,
    OtherRecord,
    ParseOptions,
    Record,
)
from commentsvc.imports.sources import blog_pages, files
from commentsvc.imports.sources.files import SourceFile
from commentsvc.imports.staging import authors
from commentsvc.imports.staging.convert import Converter
from commentsvc.imports.staging.pages import PageFinder
from commentsvc.imports.staging.staging import StagingDatabase
from commentsvc.imports.store import store
from commentsvc.settings import data_dir
from commentsvc.settings.schema import Settings
from commentsvc.util.clock import SYSTEM_CLOCK
from commentsvc.util.http_client import SettingsClient

P = ParamSpec("P")
T = TypeVar("T")

# Comments stored in one transaction. While a server runs, readers and submissions wait for it.
ALONE: Final = 20_000
BESIDE_SERVER: Final = 25
# Comments stored per second while a server runs: they take a hundredth of a core, so that the
# slowest hundredth of the readers' requests stays as fast as before.
RATE: Final = 250
STAGING: Final = "import.sqlite3"  # in the data folder
REPORTED_EVERY: Final = 500  # records between two calls that show the progress

# Called with how far the work is, and with the number of comments.
Advance = Callable[[int, int], None]
# Begins to show the progress of something with a name and a length.
Progress = Callable[[str, int], AbstractContextManager[Advance]]


class ImportWriter(Protocol):
    """Writes an import into the service's database: each call is one transaction."""

    @property
    def is_alone(self) -> bool:
        """Whether no server runs, so that nobody waits for the transactions."""

    def begin(self, source: str, names: str, digest: bytes) -> int:
        """Begin or continue the import of these files; return its id."""

    def store(self, run: int, staging: Path, first: int, last: int) -> None:
        """Store the staged comments from `first` to `last`."""

    def store_others(self, run: int, staging: Path, numbers: tuple[int, int], site: str) -> None:
        """Store the other staged records, from a number to another."""

    def finish(self, run: int) -> None:
        """Note that the import is complete."""

    def remove(self, run: int, before: int, most: int) -> tuple[int, int]:
        """Take back a part of an import: see `store.remove`."""


class ServiceDatabase(Protocol):
    """The database of a service."""

    def prepare(self) -> None:
        """Make the database if there is none."""

    def read(
        self, work: Callable[Concatenate[Snapshot, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run `work` on one state of the database. Raise DatabaseError."""

    def writing(self) -> AbstractContextManager[ImportWriter]:
        """Return the writer; until it ends, no server starts if none runs."""


class ImportRequest(msgspec.Struct, frozen=True):
    """What is imported, and how.

    `source` is the name of a format or `detect.AUTO`; `site` is "" for that of each URL. `moved`
    has new addresses of pages by old ones, `blog` is where the blog's pages are listed, "" to
    compare nothing. `zone` is that of dates without one. Only comments with these `statuses` are
    stored; `moderators` has pairs of an author there and a moderator's name here, "" for the owner.
    With `dry_run` nothing is stored; to `keep_going` is to leave out what cannot be read.
    `report_file` gets the outcome of each comment.
    """

    source: str
    files: Sequence[Path]
    site: str
    moved: Mapping[str, str]
    blog: str
    zone: ZoneInfo
    statuses: Sequence[str]
    moderators: Sequence[tuple[str, str]]
    dry_run: bool
    keep_going: bool
    report_file: Path | None


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


def run(
    data: Path,
    settings: Settings,
    request: ImportRequest,
    database: ServiceDatabase,
    tell: Callable[[str], object],
    progress: Progress,
) -> int | None:
    """Import what is requested; return the id of the import, None if nothing was to be stored.

    `data` is the data folder; `tell` is called with the lines of the report.

    Raise ImportFailed, OSError, UrlError, ProfileRefused and DatabaseError.
    """
    locate = PageFinder(settings.sites, request.site, request.moved)
    on_blog = _pages_on_blog(request.blog, settings, locate) if request.blog else None
    source = open_source(request.source, request.files)
    if source.recognised_by:
        tell(f"{source.format}: recognised by {source.recognised_by}")
    database.prepare()
    rules = database.read(authors.read, settings, request.moderators)
    converter = Converter(source.format, request.statuses, rules)
    with _locked(data), closing(StagingDatabase(data / STAGING, converter)) as staging:
        with progress("reading", source.size) as advance:
            _read(source, staging, request, advance)
        is_new = staging.resolve(locate, database.read) or _has_news(source, staging, database)
        number = None
        if is_new and not request.dry_run:
            number = _store(source, staging, request.site, database, progress)
        for line in report.summary(staging, dry=request.dry_run, on_blog=on_blog):
            tell(line)
        if request.report_file:
            report.write(request.report_file, staging.rows(database.read), on_blog)
        if not staging.read and not staging.other_count():
            raise ImportFailed(
                f"No comments were found in {', '.join(map(str, request.files))}. Name the file"
                f" that {source.format} exported."
            )
    return number


@contextmanager
def _locked(data: Path) -> Iterator[None]:
    """Hold a lock file, so that no other import uses the same staging file."""
    path = data / f"{STAGING}.lock"
    data_dir.create_file(path)
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ImportFailed("Another import is running on this data. Wait for it.") from error
        yield


def open_source(name: str, paths: Sequence[Path]) -> ImportSource:
    """Return the files in `paths` with their format, or the one called `name`.

    Raise ImportFailed and OSError.
    """
    found = files.sources(list(paths))
    chosen, reason = detect.choose(name, found)
    return ImportSource(chosen, found, reason)


def _pages_on_blog(location: str, settings: Settings, locate: PageFinder) -> set[str]:
    """Return the pages of the blog at `location`, in the form of reports."""
    urls = blog_pages.read(location, SettingsClient(settings.hooks.allowed_networks))
    found = (locate(url) for url in urls)
    return {f"{page.site}:{page.url}" for page in found if not page.reason}


def _read(
    source: ImportSource, staging: StagingDatabase, request: ImportRequest, advance: Advance
) -> None:
    """Read all files into the staging database; `advance` takes bytes and comments so far.

    Invalid parts are noted if the import is to `keep_going`; else they raise InvalidInput.
    """

    def skip(problem: InvalidInput) -> None:
        if not request.keep_going:
            raise problem
        ignore(problem)

    def ignore(problem: InvalidInput) -> None:
        staging.writer.skipped(problem.position, problem.problem)

    parse, has_content = formats.load(source.format).parse, False
    options = ParseOptions(request.zone, skip, ignore)
    before = 0
    for file in source.files:
        staging.writer.begin_file(file.name, int(file.path.stat().st_mtime) * 1_000)
        try:
            for number, record in enumerate(parse(file, options)):
                staging.writer.add(record)
                has_content = has_content or _has_content(record)
                if number % REPORTED_EVERY == 0:
                    advance(before + file.done, staging.read)
        except InvalidInput as problem:
            advice = "Export the file again, or leave out what cannot be read: --keep-going"
            raise InvalidInput(
                f"{file.name}, {problem.position}", f"{problem.problem}. {advice}"
            ) from problem
        before += file.size
        advance(before, staging.read)
    if staging.read and not has_content:
        raise ImportFailed(
            f"No comments of {source.format} were found in"
            f" {', '.join(map(str, request.files))}: nothing in it has an author, a date or a text."
            f" Name the file that {source.format} exported."
        )


def _has_content(record: Record) -> bool:
    """Return whether a record is no comment that a parser made of what has none of its fields."""
    return isinstance(record, OtherRecord) or (
        isinstance(record, ImportedComment)
        and (record.created is not None or bool(record.author or record.text.strip()))
    )


def _has_news(source: ImportSource, staging: StagingDatabase, database: ServiceDatabase) -> bool:
    """Return whether there are new records that are not comments."""
    if not staging.other_count():
        return False
    return not database.read(store.is_done, source.format, source.digest())


def _store(
    source: ImportSource,
    staging: StagingDatabase,
    site: str,
    database: ServiceDatabase,
    progress: Progress,
) -> int:
    """Store what is staged; return the id of the import."""
    names = ", ".join(file.name for file in source.files)[:500]
    path = staging.path.absolute()
    with database.writing() as writer:
        number = writer.begin(source.format, names, source.digest())
        with progress("storing", staging.ready_count()) as advance:
            for first, last in _pieces(writer, staging.ready_count()):
                writer.store(number, path, first, last)
                advance(last, last)
        for numbers in _pieces(writer, staging.other_count()):
            writer.store_others(number, path, numbers, site)
        writer.finish(number)
    return number


def _pieces(writer: ImportWriter, number: int) -> Iterator[tuple[int, int]]:
    """Yield the first and the last row of each batch of `number` rows, not above the RATE."""
    first = 1
    while first <= number:
        last = min(first + _batch(writer) - 1, number)
        begun = SYSTEM_CLOCK.monotonic_ms()
        yield first, last
        _wait(writer, last - first + 1, begun)
        first = last + 1


def _batch(writer: ImportWriter) -> int:
    return ALONE if writer.is_alone else BESIDE_SERVER


def _wait(writer: ImportWriter, number: int, begun: int) -> None:
    """Wait until so many rows are not above the RATE; `begun` is in monotonic milliseconds."""
    if not writer.is_alone:
        time.sleep(max(number / RATE - (SYSTEM_CLOCK.monotonic_ms() - begun) / 1_000, 0))


def undo(database: ServiceDatabase, run: int) -> int:
    """Take back an import; return how many comments were deleted. Raise UnknownImport."""
    total, before = 0, BIGGEST_ID
    with database.writing() as writer:
        while before:
            begun = SYSTEM_CLOCK.monotonic_ms()
            removed, before = writer.remove(run, before, _batch(writer))
            _wait(writer, removed, begun)
            total += removed
    return total

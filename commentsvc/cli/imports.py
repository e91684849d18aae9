"""The command `import`, which imports what another system has exported.

The files are read and checked in this process, in a staging file beside the database. Only then the
comments are stored in small transactions, by the running server or by this process.
"""

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import click

from commentsvc.cli.common import (
    Failure,
    config_option,
    data_option,
    must_have_folder,
)
from commentsvc.imports import detect, formats
from commentsvc.settings import data_dir

if TYPE_CHECKING:
    from click._termui_impl import ProgressBar

    from commentsvc.cli.client import Writer
    from commentsvc.imports.prepare import ImportSource
    from commentsvc.imports.staging.pages import PageFinder
    from commentsvc.imports.staging.staging import StagingDatabase
    from commentsvc.settings.schema import Settings

# Comments stored in one transaction. While a server runs, readers and submissions wait for it.
ALONE: Final = 20_000
BESIDE_SERVER: Final = 25
# Comments stored per second while a server runs: they take a hundredth of a core, so that the
# slowest hundredth of the readers' requests stays as fast as before.
RATE: Final = 250
NICE: Final = 10  # the lower priority of an import
STAGING: Final = "import.sqlite3"  # in the data folder
STATUSES: Final = ("approved", "pending", "spam")


def _zone(_ctx: click.Context, _param: click.Parameter, value: str) -> ZoneInfo:
    try:
        return ZoneInfo(value)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise click.BadParameter("give a name like Europe/Berlin or UTC.") from error


def _statuses(_ctx: click.Context, _param: click.Parameter, value: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in value.split(","))
    if unknown := [name for name in names if name not in STATUSES]:
        raise click.BadParameter(f"{unknown[0]!r} is not one of {', '.join(STATUSES)}.")
    return names


def _in_folder(_ctx: click.Context, _param: click.Parameter, value: Path | None) -> Path | None:
    if value:
        must_have_folder(value)
    return value


def _moderators(
    _ctx: click.Context, _param: click.Parameter, values: tuple[str, ...]
) -> list[tuple[str, str]]:
    """Return pairs of an author there and a moderator's name here, "" for the owner."""
    pairs = [value.rpartition("=") if "=" in value else (value, "", "") for value in values]
    return [(who, name) for who, _, name in pairs]


# Called with how far the work is, and with the number of comments.
Advance = Callable[[int, int], None]


@click.command("import")
@data_option
@config_option
@click.argument(
    "source", metavar="FORMAT", type=click.Choice([detect.AUTO, *formats.NAMES]), required=False
)
@click.argument("files", metavar="FILE...", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option(
    "--site", default="", metavar="NAME", help="The site to import into. Default: that of each URL."
)
@click.option("--dry-run", is_flag=True, help="Show what would be stored, but store nothing.")
@click.option(
    "--map",
    "map_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="CSV",
    help="A CSV file of old and new addresses of pages.",
)
@click.option(
    "--aliases",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The list of old addresses that the Hugo module writes.",
)
@click.option(
    "--pages",
    "blog",
    metavar="PLACE",
    help="List pages that the blog no longer has. PLACE is the URL or file of its sitemap.xml, or"
    " the folder of the built blog.",
)
@click.option(
    "--timezone",
    "zone",
    default="UTC",
    show_default=True,
    metavar="TZ",
    callback=_zone,
    help="The time zone of dates without one, such as Europe/Berlin.",
)
@click.option(
    "--status",
    "statuses",
    default=",".join(STATUSES),
    show_default=True,
    metavar="LIST",
    callback=_statuses,
    help="Store only comments with these statuses.",
)
@click.option(
    "--moderator",
    "moderators",
    multiple=True,
    metavar="WHO[=NAME]",
    callback=_moderators,
    help="WHO in the other system is the moderator NAME here (default: the owner). WHO is an email"
    " address, an account, or `admins` for everybody marked as such.",
)
@click.option("--keep-going", is_flag=True, help="Skip what cannot be read, and continue.")
@click.option(
    "--report",
    "report_file",
    type=click.Path(dir_okay=False, path_type=Path),
    callback=_in_folder,
    metavar="FILE",
    help="Write the outcome for each comment to a CSV file.",
)
@click.option(
    "--learn",
    type=click.Choice(["approved", "all"]),
    help="Train the spam filter with the newest approved comments; `all`: with spam too.",
)
@click.option("--list", "list_runs", is_flag=True, help="List all imports.")
@click.option(
    "--undo", type=click.IntRange(1, 2**31), metavar="ID", help="Take back the import ID."
)
def import_(
    data: Path,
    settings_file: Path | None,
    source: str | None,
    files: tuple[Path, ...],
    site: str,
    dry_run: bool,
    map_file: Path | None,
    aliases: Path | None,
    blog: str | None,
    zone: ZoneInfo,
    statuses: tuple[str, ...],
    moderators: list[tuple[str, str]],
    keep_going: bool,
    report_file: Path | None,
    learn: str | None,
    list_runs: bool,
    undo: int | None,
) -> None:
    """Import comments from another system.

    FORMAT is the name of the system, or `auto` to detect it. The server may be running. A second
    run stores nothing twice. If an import was interrupted, run it again to continue.
    """
    if list_runs or undo is not None:
        if source:
            raise click.UsageError("Use --list and --undo without FORMAT and FILE.")
        _show_runs(data) if undo is None else _undo(data, undo)
        return
    if source is None or not files:
        raise click.UsageError("Give a FORMAT (or auto) and at least one FILE.")
    from commentsvc.cli import client, running
    from commentsvc.imports import prepare, report
    from commentsvc.imports.staging import pages
    from commentsvc.imports.staging.convert import Converter
    from commentsvc.imports.staging.staging import StagingDatabase

    os.nice(NICE)
    settings = running.settings_for(data, settings_file, "site")
    moved = _aliases(aliases) | (pages.read_map(map_file) if map_file else {})
    locate = pages.PageFinder(settings.sites, site, moved)
    on_blog = _pages_on_blog(blog, settings, locate) if blog else None
    found = prepare.open_source(source, files)
    if found.recognised_by:
        click.echo(f"{found.format}: recognised by {found.recognised_by}")
    client.ensure_database(data)
    ask = partial(client.read_snapshot, data)
    rules = client.author_rules(data, settings, moderators)
    with _alone(data / f"{STAGING}.lock"), contextlib.ExitStack() as stack:
        converter = Converter(found.format, statuses, rules)
        staging = StagingDatabase(data / STAGING, converter)
        stack.callback(staging.close)
        with _progress("reading", found.size) as advance:
            prepare.read(found, staging, zone, keep_going=keep_going, advance=advance)
        number = staging.resolve(locate, ask)
        run = None
        if not dry_run and (number or _has_news(data, found, staging)):
            sites = tuple(site.name for site in settings.sites)
            run = _store(data, found, staging, (site, sites))
        for line in report.summary(staging, dry=dry_run, on_blog=on_blog):
            click.echo(line)
        if report_file:
            report.write(report_file, staging.rows(ask), on_blog)
    if run is not None:
        if learn:
            _learn(data, run, with_spam=learn == "all")
        click.echo(f"This is import {run}. To take it back: commentsvc import --undo {run}")


def _learn(data: Path, run: int, *, with_spam: bool) -> None:
    from commentsvc.cli import client
    from commentsvc.runtime.control_commands import LearnImport

    labels: list[Literal["approved", "spam"]] = ["approved", "spam"] if with_spam else ["approved"]
    for label in labels:
        number = client.write(data, LearnImport(run, label)).moved
        click.echo(f"the spam filter has learned from {number} comments: {label}")


def _has_news(data: Path, found: "ImportSource", staging: "StagingDatabase") -> bool:
    """Return whether there are new records that are not comments."""
    from commentsvc.cli import client

    name, digest = found.format, found.digest()
    return bool(staging.other_count()) and not client.is_imported(data, name, digest)


def _pages_on_blog(place: str, settings: "Settings", locate: "PageFinder") -> set[str]:
    """Return the pages of the blog at `place`, in the form of reports."""
    from commentsvc.imports.sources import blog_pages
    from commentsvc.util.http_client import SettingsClient

    urls = blog_pages.read(place, SettingsClient(settings.hooks.allowed_networks))
    found = (locate(url) for url in urls)
    return {f"{page.site}:{page.url}" for page in found if not page.reason}


def _aliases(path: Path | None) -> dict[str, str]:
    from commentsvc.cli import alias_import

    if path is None:
        return {}
    with path.open("rb") as file:
        listed = alias_import.read(file.read(alias_import.LIMIT + 1))
    return {alias: page.url for page in listed for alias in page.aliases}


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Hold the lock file `path`, so that no other import uses the same staging file."""
    import fcntl

    data_dir.create_file(path)
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Failure(["Another import is running on this data. Wait for it."]) from error
        yield


@contextlib.contextmanager
def _progress(label: str, length: int) -> Iterator[Advance]:
    """Yield a function that takes the progress, of `length`, and the number of comments.

    On a terminal it shows a bar with the remaining time and comments per second.
    """
    stream = sys.stderr
    if not stream.isatty():
        yield lambda _done, _comments: None
        return
    begun, rate = time.monotonic(), ""
    bar: ProgressBar[int]
    with click.progressbar(
        length=max(length, 1),
        label=label,
        file=stream,
        item_show_func=lambda _item: rate,
        update_min_steps=max(length // 1_000, 1),
    ) as bar:
        before = 0

        def advance(done: int, comments: int) -> None:
            nonlocal before, rate
            rate = f"{comments / max(time.monotonic() - begun, 0.001):,.0f} comments/s"
            bar.update(done - before)
            before = done

        yield advance


def _store(
    data: Path,
    found: "ImportSource",
    staging: "StagingDatabase",
    sites: tuple[str, tuple[str, ...]],
) -> int:
    """Store the staged comments; return the id of the import.

    `sites` are the site that was named, "" for none, and all sites of the settings.
    """
    from commentsvc.cli import client
    from commentsvc.runtime.control_commands import (
        BeginImport,
        FinishImport,
        StoreImported,
        StoreImportedRecords,
    )

    chosen, known = sites
    path = str(staging.path.absolute())
    names = ", ".join(file.name for file in found.files)[:500]
    with client.Writer(data) as writer:
        begin = BeginImport(found.format, names, found.digest(), known)
        [run] = writer.write(begin).changed
        number = staging.ready_count()
        with _progress("storing", number) as advance:
            for first, last in _pieces(writer, number):
                writer.write(StoreImported(run, path, first, last))
                advance(last, last)
        for first, last in _pieces(writer, staging.other_count()):
            writer.write(StoreImportedRecords(run, path, first, last, chosen))
        writer.write(FinishImport(run))
    return run


def _pieces(writer: "Writer", number: int) -> Iterator[tuple[int, int]]:
    """Yield the first and the last row of each batch of `number` rows, not above the RATE."""
    first = 1
    while first <= number:
        last = min(first + (ALONE if writer.is_alone else BESIDE_SERVER) - 1, number)
        begun = time.monotonic()
        yield first, last
        if not writer.is_alone:
            _wait(last - first + 1, begun)
        first = last + 1


def _wait(number: int, begun: float) -> None:
    """Wait until so many rows, stored since the moment `begun`, are not above the RATE."""
    time.sleep(max(begun + number / RATE - time.monotonic(), 0))


def _undo(data: Path, run: int) -> None:
    from commentsvc.cli import client
    from commentsvc.comments.submission import BIGGEST_ID
    from commentsvc.runtime.control_commands import UndoImport

    total, before = 0, BIGGEST_ID
    with client.Writer(data) as writer:
        while before:
            most = ALONE if writer.is_alone else BESIDE_SERVER
            begun = time.monotonic()
            answer = writer.write(UndoImport(run, before, most))
            if not writer.is_alone:
                _wait(answer.moved, begun)
            total += answer.moved
            before = answer.changed[0] if answer.changed else 0
    click.echo(f"import {run} is taken back: {total} comments")


def _show_runs(data: Path) -> None:
    from datetime import datetime

    from commentsvc.cli import client

    runs = client.import_runs(data)
    if not runs:
        click.echo("no imports")
    for run in runs:
        begun = datetime.fromtimestamp(run.started_at / 1_000, UTC)
        state = "undone" if run.undone_at else "" if run.finished_at else "not complete"
        click.echo(
            f"{run.id:>4}  {begun:%Y-%m-%d %H:%M}  {run.source:<10} {run.comments:>8}"
            f"  {run.files}  {state}".rstrip()
        )

"""The command `import`, which imports what another system has exported.

It reads options and prints the report; `imports.importer` does the work.
"""

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import click

from commentsvc.cli.common import Choice, FilePath, config_option, data_option, must_have_folder
from commentsvc.cli.tables import Moment, show
from commentsvc.imports import detect, formats

if TYPE_CHECKING:
    from click._termui_impl import ProgressBar

    from commentsvc.imports.importer import Advance

NICE: Final = 10  # the lower priority of an import
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


@click.command(
    "import",
    epilog=f"Formats: {', '.join(formats.NAMES)}. `github` is for issues (utterances, Gitalk),"
    " `commento` also for Comentario.",
)
@data_option
@config_option
@click.argument(
    "source", metavar="FORMAT", type=Choice([detect.AUTO, *formats.NAMES]), required=False
)
@click.argument("files", metavar="FILE...", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option(
    "--site", default="", metavar="NAME", help="The site to import into. Default: that of each URL."
)
@click.option("--dry-run", is_flag=True, help="Show what would be stored, but store nothing.")
@click.option(
    "--map",
    "map_file",
    type=FilePath(exists=True, path_type=Path),
    metavar="CSV",
    help="A CSV file of old and new addresses of pages.",
)
@click.option(
    "--aliases",
    type=FilePath(exists=True, path_type=Path),
    metavar="FILE",
    help="The list of old addresses that the Hugo module writes.",
)
@click.option(
    "--pages",
    "blog",
    default="",
    metavar="BLOG",
    help="List pages that the blog no longer has. BLOG is the URL or file of its sitemap.xml, or"
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
    type=FilePath("report.csv", path_type=Path),
    callback=_in_folder,
    metavar="FILE",
    help="Write the outcome for each comment to a CSV file.",
)
@click.option(
    "--learn",
    type=Choice(["approved", "all"]),
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
    blog: str,
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
    from commentsvc.cli import running
    from commentsvc.cli.import_database import ImportDatabase
    from commentsvc.imports import importer
    from commentsvc.imports.staging import pages

    os.nice(NICE)
    settings = running.settings_for(data, settings_file, "site")
    request = importer.ImportRequest(
        source=source,
        files=files,
        site=site,
        moved=_aliases(aliases) | (pages.read_map(map_file) if map_file else {}),
        blog=blog,
        zone=zone,
        statuses=statuses,
        moderators=moderators,
        dry_run=dry_run,
        keep_going=keep_going,
        report_file=report_file,
    )
    database = ImportDatabase(data, [each.name for each in settings.sites])
    run = importer.run(data, settings, request, database, click.echo, _progress)
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


def _aliases(path: Path | None) -> dict[str, str]:
    from commentsvc.cli import alias_import

    if path is None:
        return {}
    with path.open("rb") as file:
        listed = alias_import.read(file.read(alias_import.LIMIT + 1))
    return {alias: page.url for page in listed for alias in page.aliases}


@contextlib.contextmanager
def _progress(label: str, length: int) -> Iterator["Advance"]:
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


def _undo(data: Path, run: int) -> None:
    from commentsvc.cli.import_database import ImportDatabase
    from commentsvc.imports import importer

    number = importer.undo(ImportDatabase(data), run)
    click.echo(f"import {run} is taken back: {number} comments")


def _show_runs(data: Path) -> None:
    from commentsvc.cli import client
    from commentsvc.imports.store import store

    rows = [
        (
            run.id,
            Moment(run.started_at),
            run.source,
            run.comments,
            run.files,
            "undone" if run.undone_at else "" if run.finished_at else "not complete",
        )
        for run in client.read(data, store.runs)
    ]
    show(("ID", "BEGUN", "FROM", "COMMENTS", "FILES", "STATE"), rows, "no imports")

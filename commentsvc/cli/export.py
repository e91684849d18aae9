"""The command `export`, which writes comments to a file for other programs or services."""

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Final

import click

from commentsvc.cli.common import (
    Choice,
    Failure,
    FilePath,
    config_option,
    data_option,
    must_have_folder,
    open_private,
    whole,
)

STDOUT: Final = "-"
ABSOLUTE: Final = ("wordpress", "disqus")  # the formats with absolute addresses of pages
# The end of the name of an unfinished file, also of one left behind by a crash.
PART: Final = ".part"
FAILURES: Final = 20  # are listed


def _origins(data: Path, settings_file: Path | None) -> dict[str, str]:
    """Return the origin of each site's pages. Raise SettingsError."""
    from commentsvc.cli import running
    from commentsvc.settings import schema

    return schema.origins(running.settings_for(data, settings_file, "site").sites)


def _as_moment(_ctx: click.Context, _param: click.Parameter, value: str | None) -> int | None:
    """Return the Unix milliseconds of a time in RFC 3339, or of the beginning of a day in UTC."""
    from commentsvc.util import timestamps

    if value is None:
        return None
    for text in (value, f"{value}T00:00:00Z"):
        with contextlib.suppress(ValueError):
            return timestamps.read(text)
    raise click.BadParameter(f"{value!r} is not a date like 2026-05-17 or 2026-05-17T08:30:00Z")


@click.command()
@data_option
@config_option
@click.argument("file", metavar="[FILE]", default=STDOUT, type=FilePath("comments.ndjson"))
@click.option(
    "--format",
    "form",
    type=Choice(["commentsvc", *ABSOLUTE]),
    default="commentsvc",
    show_default=True,
    help="The program that will read the file.",
)
@click.option(
    "--hugo",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Instead of FILE: write one file per page into this folder of a Hugo blog.",
)
@click.option(
    "--archive",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Instead of FILE: write web pages into this folder, which need no service.",
)
@click.option("--site", default="", metavar="NAME", help="Only this site. Default: all sites.")
@click.option(
    "--since",
    callback=_as_moment,
    metavar="DATE",
    help="Only comments that are new or changed since then.",
)
@click.option(
    "--anonymous",
    is_flag=True,
    help="Leave out names, addresses, single votes, and hashes of networks.",
)
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
def export(
    data: Path,
    settings_file: Path | None,
    file: str,
    form: str,
    hugo: Path | None,
    archive: Path | None,
    site: str,
    since: int | None,
    anonymous: bool,
    force: bool,
) -> None:
    """Write all comments to FILE (`-` for standard output).

    The server may be running. Each line is a JSON object: threads, then comments with their history
    and votes, bans, and what the spam filter has learned. `commentsvc import` can read the file;
    docs/export-format.md describes it. It contains no accounts of moderators; `backup` saves them.

    The formats of other programs contain less: only visible comments and their threads.
    docs/migrating.md says which format to choose.

    --hugo writes one file per page to DIR, such as data/comments of a Hugo blog. It writes only
    files that have changed, and deletes those of pages without comments. See docs/embedding.md.

    --archive writes everything public to DIR as web pages, feeds and data, which any web server can
    serve once the service is switched off. It replaces an earlier archive. See docs/migrating.md.
    """
    if hugo is not None or archive is not None:
        if file != STDOUT or form != "commentsvc" or since is not None or anonymous or force:
            which = "--hugo" if archive is None else "--archive"
            raise click.UsageError(f"With {which}, give no FILE, and no other option but --site.")
        if hugo is not None and archive is not None:
            raise click.UsageError("Give --hugo or --archive, and run the command twice for both.")
        if hugo is not None:
            _write_data_files(data, site, hugo)
        elif archive is not None:
            _write_archive(data, settings_file, site, archive)
        return

    from commentsvc.cli import client
    from commentsvc.db.connection import Snapshot
    from commentsvc.exports import contents, formats
    from commentsvc.exports.output import Output

    selection = contents.Selection(site, since, anonymous)

    def write(snapshot: Snapshot, file: BinaryIO) -> int:
        with _progress(contents.comment_count(snapshot)) as advance:
            output = Output(file, advance)
            formats.write(form, snapshot, selection, origins, output)
        return output.comments

    origins = _origins(data, settings_file) if form in ABSOLUTE else {}
    with _output(file, force=force) as out:
        count = client.read_snapshot(data, write, out)
    click.echo(f"{count} comments exported", err=True)


def _write_data_files(data: Path, site: str, folder: Path) -> None:
    from commentsvc.cli import client
    from commentsvc.db.connection import Snapshot
    from commentsvc.exports import hugo
    from commentsvc.exports.hugo import DataFilesResult

    def write(snapshot: Snapshot) -> DataFilesResult:
        with _progress(hugo.comment_count(snapshot, site)) as advance:
            return hugo.write(snapshot, site, folder, advance)

    done = client.read_snapshot(data, write)
    click.echo(
        f"{folder}: {done.written} written, {done.unchanged} unchanged, {done.removed} removed"
    )
    if done.failures:
        raise Failure(_failure_lines(done.failures))


def _write_archive(data: Path, settings_file: Path | None, site: str, folder: Path) -> None:
    from commentsvc.archive import static_pages
    from commentsvc.cli import client, running
    from commentsvc.db.connection import Snapshot

    settings = running.settings_for(data, settings_file, "site")

    def write(snapshot: Snapshot) -> int:
        with _progress(static_pages.comment_count(snapshot, site)) as advance:
            sites, votes = [*settings.sites], settings.comments.votes
            return static_pages.write(snapshot, sites, folder, site, advance, votes)

    count = client.read_snapshot(data, write)
    click.echo(f"{folder}: {count} comments; open {folder / 'index.html'}")


def _failure_lines(failures: tuple[str, ...]) -> Iterator[str]:
    """Return the first failures, and in the last line how many pages keep their former file."""
    yield from failures[:FAILURES]
    left = len(failures) - FAILURES
    more = f" ({left} more are not listed)" if left > 0 else ""
    yield f"{len(failures)} files could not be written{more}. All others are up to date."


@contextlib.contextmanager
def _output(file: str, *, force: bool) -> Iterator[BinaryIO]:
    """Open the output. A file gets its name at the end; only its owner may read it.

    Raise Failure if the file exists and may not be replaced, or is a device, such as /dev/null.
    """
    if file == STDOUT:
        yield sys.stdout.buffer
        return
    target = Path(file)
    if target.exists() and not force:
        raise Failure([f"{target} already exists. Name another file, or replace it with --force."])
    if target.exists() and not target.is_file():
        raise Failure([f"{target} is not a file, so it is not replaced. Name another one."])
    must_have_folder(target)
    part = target.with_name(target.name + PART)
    part.unlink(missing_ok=True)
    with open(part, "xb", opener=open_private) as out, whole(part):
        yield out
        out.flush()
        os.fsync(out.fileno())
        part.replace(target)


@contextlib.contextmanager
def _progress(length: int) -> Iterator[Callable[[int], object]]:
    """Show the progress and the remaining time on a terminal."""
    with click.progressbar(
        length=length, label="comments", show_pos=True, file=sys.stderr, hidden=not _is_terminal()
    ) as bar:
        yield bar.update


def _is_terminal() -> bool:
    return sys.stderr.isatty()

"""The command line.

DESIGN. A command that fails says why in one line on stderr and exits with 1 (2 for a wrong command
line), never with a traceback: the errors that we raise on purpose are listed in `_expected`. What
a command needs is imported when it runs, so that `healthcheck` does not load the web server.

Commands that write take the lock on the data and do it themselves; while a server holds the lock,
they ask it over its control socket instead.
"""

import contextlib
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from commentsvc import config, datadir
from commentsvc.config import Settings, SettingsError


class Failure(click.ClickException):
    """What went wrong, one line for each reason. Exit code 1."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.lines = [" ".join(line.split()) for line in lines]
        super().__init__("\n".join(self.lines))

    def show(self, file: Any = None) -> None:  # Any: as in click
        for line in self.lines:
            click.echo(f"commentsvc: {line}", file=file, err=True)


class Program(click.Group):
    """A group whose commands turn the errors that we expect into a Failure."""

    def invoke(self, ctx: click.Context) -> Any:  # Any: as in click
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(AttributeError):  # tests put other things there
                stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr] # same
        try:
            return super().invoke(ctx)
        except SettingsError as error:
            raise Failure(error.problems) from error
        except Exception as error:
            if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
                raise Failure([_tell(error)]) from error
            if isinstance(error, _expected()):
                raise Failure([str(error)]) from error
            raise


def _tell(error: OSError) -> str:
    reason = error.strerror or str(error)
    return f"{error.filename}: {reason}." if error.filename else f"{reason}."


def _expected() -> tuple[type[Exception], ...]:
    """What may fail for reasons outside the program."""
    from commentsvc.auth import KeyUnusable
    from commentsvc.comments import CommentsError
    from commentsvc.control import ControlError
    from commentsvc.sqlite import DatabaseError

    return (datadir.DataUnusable, KeyUnusable, CommentsError, ControlError, DatabaseError)


def _or_variable(ctx: click.Context, param: click.Parameter, value: Path | None) -> Path | None:
    """The option, else its variable; --data is needed."""
    value = value or config.place(f"COMMENTSVC_{param.opts[0].removeprefix('--').upper()}")
    if value is None and param.name == "data":
        raise click.MissingParameter(ctx=ctx, param=param)
    return value


_data = click.option(
    "--data",
    type=click.Path(path_type=Path),
    metavar="DIR",
    callback=_or_variable,
    help="The folder with all data. Default: the variable COMMENTSVC_DATA.",
)
_config = click.option(
    "--config",
    "settings_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    callback=_or_variable,
    help="The settings. Default: the variable COMMENTSVC_CONFIG, then commentsvc.toml in the "
    "data folder if it is there.",
)


def _settings_file(given: Path | None, data: Path) -> Path | None:
    usual = data / datadir.SETTINGS
    return given or (usual if usual.exists() else None)


@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="commentsvc", prog_name="commentsvc")
def main() -> None:
    """Comments for static blogs: one process, one data folder.

    Every setting can also be given as COMMENTSVC_<SECTION>_<KEY> in the environment; `init` writes
    a file that explains them all.
    """


@main.command()
@_data
@_config
@click.option("--listen", metavar="HOST:PORT|unix:PATH", help="Overrides server.listen.")
@click.option("--workers", metavar="N", help="Overrides server.workers.")
@click.option(
    "--blog",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="DIR",
    help="Also serve the static site in this folder, to try things out.",
)
@click.option("--reload", is_flag=True, help="Start anew when a source or settings file changes.")
def serve(
    data: Path,
    settings_file: Path | None,
    listen: str | None,
    workers: str | None,
    blog: Path | None,
    reload: bool,
) -> None:
    """Run the server until SIGTERM or Ctrl-C; what was read is answered before it ends."""
    file = _settings_file(settings_file, data)
    options = {"server.listen": listen, "server.workers": workers}
    settings = config.load(file, options=options)
    if reload:
        from commentsvc import reload as reloading

        command = [sys.executable, "-m", "commentsvc", "serve", f"--data={data}"]
        given = {"config": settings_file, "listen": listen, "workers": workers, "blog": blog}
        command += [f"--{name}={value}" for name, value in given.items() if value is not None]
        paths = reloading.sources(Path(__file__).parent, file)
        sys.exit(reloading.run(command, paths, grace=settings.server.stop_grace + 5))

    from commentsvc import app

    app.run(settings, data, blog=blog, announce=_announce)


def _announce(address: str) -> None:
    click.echo(f"commentsvc listens on {address}")
    sys.stdout.flush()


@main.command()
@_data
@_config
def init(data: Path, settings_file: Path | None) -> None:
    """Write a settings file that explains every setting; never over one that is there."""
    from importlib import resources

    datadir.prepare(data)
    file = settings_file or data / datadir.SETTINGS
    text = resources.files("commentsvc").joinpath(datadir.SETTINGS).read_bytes()
    try:
        with file.open("xb") as new:
            new.write(text)
    except FileExistsError as error:
        raise Failure([f"{file} is there already; it stays as it is."]) from error
    click.echo(f"{file} is written. Change it, then try: commentsvc check --data {data}")


@main.command()
@_data
@_config
def check(data: Path, settings_file: Path | None) -> None:
    """Look for faults: in the settings, in the database, in its counts. Exits with 1 if any."""
    from commentsvc import commands

    problems: list[str] = []
    try:
        _say_settings(config.load(_settings_file(settings_file, data)))
    except SettingsError as error:
        problems += error.problems
    try:
        faults = commands.check(data)
        problems += faults
        if not faults:
            click.echo(f"database: {data / datadir.DATABASE} is whole, and its counts are right")
    except _expected() as error:
        problems.append(str(error))
    if problems:
        raise Failure(problems)


def _say_settings(settings: Settings) -> None:
    names = ", ".join(site.name for site in settings.sites)
    click.echo(f"settings: good; listens on {settings.server.listen}, serves {names}")
    for site in settings.sites:
        if not site.origins:
            click.echo(f"settings: site {site.name} has no origins, so only this service's own")


@main.command()
@_data
@click.argument("ids", metavar="ID...", nargs=-1, type=click.IntRange(1, 2**63 - 1))
@click.option("--all", "everything", is_flag=True, help="All that are pending.")
def approve(data: Path, ids: tuple[int, ...], everything: bool) -> None:
    """Show the comments ID... to readers. An unknown ID is an error, and changes nothing."""
    if bool(ids) == everything:
        raise click.UsageError("Give the ids of comments, or --all.")
    from commentsvc import commands
    from commentsvc.control import Approve

    approved = commands.approve(data, Approve(ids=ids, all=everything))
    for id_ in approved:
        click.echo(f"approved {id_}")
    if everything and not approved:
        click.echo("no comment is pending")
    for id_ in sorted(set(ids) - set(approved)):
        click.echo(f"unchanged {id_}: it is approved already, or deleted")


@main.command("list")
@_data
@click.option(
    "--status",
    type=click.Choice(["pending", "approved", "spam", "deleted", "all"]),
    default="pending",
    show_default=True,
    help="Which comments.",
)
@click.option(
    "--limit",
    type=click.IntRange(1, 100_000),
    default=50,
    show_default=True,
    help="How many, the newest.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object on each line.")
def list_(data: Path, status: str, limit: int, as_json: bool) -> None:
    """Show comments: id, status, date, page, author and first line."""
    from commentsvc import commands

    entries = commands.listing(data, None if status == "all" else status, limit)
    for entry in entries:
        click.echo(commands.as_json(entry) if as_json else commands.as_line(entry))
    if not entries and not as_json:
        click.echo("no comments" if status == "all" else f"no {status} comments")


@main.command()
@_data
def healthcheck(data: Path) -> None:
    """Ask the server on this data whether it is alive. Exits with 1 if it is not."""
    from commentsvc import commands

    click.echo(f"{commands.probe(data)} is alive")

"""The command line: commands to run, set up and watch a service.

The other commands are in the modules beside this one, imported when they are used; `common` has
what they share. What a command needs is imported when it runs, so that `healthcheck` does not load
the web server.
"""

import gc
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

import click

from commentsvc.cli.common import (
    Failure,
    Program,
    config_option,
    data_option,
    expected,
    find_settings,
    progress,
)
from commentsvc.settings import data_dir, loader, needs
from commentsvc.settings.parser import SettingsError
from commentsvc.settings.schema import Settings

if TYPE_CHECKING:
    from commentsvc.db.engine import Location

# The commands that are not here, each with its module in this package and its name there.
ELSEWHERE: Final = {
    "answer": "moderate.answer",
    "approve": "moderate.approve",
    "backup": "backup.backup",
    "ban": "bans.ban",
    "copy": "backup.copy_",
    "delete": "moderate.delete",
    "doctor": "doctor.command.doctor",
    "edit": "moderate.edit",
    "export": "export.export",
    "forget": "moderate.forget",
    "history": "moderate.history",
    "import": "imports.import_",
    "init": "setup.init",
    "language": "moderate.language",
    "legal": "legal.legal",
    "list": "moderate.list_",
    "mail": "mail.mail",
    "moderator": "moderators.moderator",
    "pin": "moderate.pin",
    "restore": "backup.restore",
    "search": "moderate.search",
    "site": "sites.site",
    "spam": "moderate.spam",
    "thread": "threads.thread",
    "undo": "moderate.undo",
    "unpin": "moderate.unpin",
}


# All commands, below the headings of the help.
THEMES: Final = {
    "Set up and run": "init serve check doctor healthcheck mail legal",
    "Moderate comments": (
        "list search approve spam delete undo answer edit language pin unpin history ban forget"
    ),
    "Manage pages, sites and accounts": "thread site moderator",
    "Keep and move comments": "backup restore copy export import",
}


@click.group(
    cls=Program,
    elsewhere=ELSEWHERE,
    themes=THEMES,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=lambda ctx, _option, given: _say_version(ctx) if given else None,
    help="Show the version and exit.",
)
def main() -> None:
    """commentsvc stores and serves the comments of static blogs.

    All data is in one folder (--data), which `init` sets up. An environment variable
    COMMENTSVC_<SECTION>_<KEY> overrides a setting.
    """


def _say_version(ctx: click.Context) -> NoReturn:
    from commentsvc.util import installation

    click.echo(f"commentsvc, version {installation.version()}")
    ctx.exit()


@main.command()
@data_option
@config_option
@click.option("--listen", metavar="HOST:PORT|unix:PATH", help="Overrides server.listen.")
@click.option("--workers", metavar="N", help="Overrides server.workers.")
@click.option(
    "--blog",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="DIR",
    help="Also serve the static site in this folder, for a trial.",
)
@click.option(
    "--take-over",
    is_flag=True,
    help="Replace the server that runs on this data, if any, without a failed request.",
)
@click.option(
    "--processes",
    type=click.IntRange(1, 32),
    metavar="N",
    help="Run N processes that share the address; this needs PostgreSQL.",
)
@click.option("--instance", type=int, default=0, hidden=True)  # of a process of --processes
@click.option("--inherited", default="", hidden=True)  # its listening sockets
@click.option("--counts", default="", hidden=True)  # what it shares with the others
@click.option("--trace", "traced", is_flag=True, help="Write one line per request to stderr.")
@click.option("--reload", is_flag=True, help="Restart when a source or settings file changes.")
def serve(
    data: Path,
    settings_file: Path | None,
    listen: str | None,
    workers: str | None,
    blog: Path | None,
    take_over: bool,
    processes: int | None,
    instance: int,
    inherited: str,
    counts: str,
    traced: bool,
    reload: bool,
) -> None:
    """Run the server until SIGTERM or Ctrl-C.

    Before it ends, it answers the requests that it has read.
    """
    file = find_settings(settings_file, data)
    options = {"server.listen": listen, "server.workers": workers}
    if instance > 1:  # the first one listens there
        options["server.redirect_listen"] = ""
    note = _ignore if instance else _warn
    loaded = loader.load_with_locations(file, options=options, note=note)
    settings = loaded.settings
    if lines := _unusable(settings):
        raise Failure(lines)
    for line in () if instance else needs.missing(settings):
        _warn(line)
    if reload and (take_over or processes):
        raise click.UsageError("--reload cannot be used with --take-over or --processes.")
    command = [sys.executable, "-m", "commentsvc", "serve", f"--data={data}"]
    given = {"config": settings_file, "listen": listen, "workers": workers, "blog": blog}
    command += [f"--{name}={value}" for name, value in given.items() if value is not None]
    command += ["--trace"] * traced
    if reload:
        from commentsvc.cli import reload as reloading

        paths = reloading.sources(Path(__file__).parents[1], file)
        sys.exit(reloading.run(command, paths, grace=settings.server.stop_grace + 5))
    if processes:
        announce = _announcement(settings, data, has_blog=blog is not None)
        _supervise(settings, data, command, processes, announce, take_over=take_over)

    # Until `app.spared_collector`: a start leaves next to no garbage, and looking for some takes a
    # tenth of its time.
    gc.disable()
    try:
        from commentsvc import app
        from commentsvc.runtime import systemd

        data_dir.must_exist(data)
        announce = _announcement(settings, data, has_blog=blog is not None, is_alone=not instance)
        # The supervisor of several processes talks to the service manager.
        manager = systemd.Notifier({}, 0) if instance else systemd.from_environment()
        start = app.Start(data, blog, announce, manager, take_over, traced, settings_file=file)
        if instance:
            shared, of = map(int, counts.split(","))
            start = start._replace(
                instance=instance,
                listeners=tuple(map(int, inherited.split(","))),
                counts=shared,
                processes=of,
            )
        app.run(loaded, start)
    finally:
        gc.enable()


def _warn(line: str) -> None:
    click.echo(f"note: {line}", err=True)


def _ignore(_line: str) -> None:
    """Say nothing in one of several processes, since their supervisor has said it."""


def _announcement(
    settings: Settings, data: Path, *, has_blog: bool, is_alone: bool = True
) -> Callable[[str], None]:
    """Return what says that the server is ready; one of several processes says its address only."""
    is_new = not settings.database.url and not (data / data_dir.DATABASE).exists()

    def announce(address: str) -> None:
        click.echo(f"commentsvc listens on {address}")
        if is_alone:
            from commentsvc.cli import greeting

            if is_new:
                click.echo(f"{data} had no database, so a new one was created")
            for line in greeting.lines(settings, data, address, has_blog=has_blog):
                click.echo(line)
        sys.stdout.flush()

    return announce


def _supervise(
    settings: Settings,
    data: Path,
    command: list[str],
    processes: int,
    announce: Callable[[str], None],
    *,
    take_over: bool,
) -> NoReturn:
    """Run several processes until a signal, then exit. Raise Failure, or what `processes` does."""
    from commentsvc.runtime import supervisor, systemd

    if not settings.database.url:
        raise Failure(
            [
                "--processes needs PostgreSQL (database.url in the settings): only one process can"
                " use an SQLite database."
            ]
        )

    data_dir.must_exist(data)
    plan = supervisor.Plan(
        data=data,
        processes=processes,
        command=command,
        server=settings.server,
        announce=announce,
        manager=systemd.from_environment(),
        takes_over=take_over,
    )
    sys.exit(supervisor.run(plan))


@main.command()
@data_option
@config_option
@click.option(
    "--legal",
    "published",
    multiple=True,
    metavar="URL|FILE",
    help="Also compare a text that `legal` wrote, and that is published there, to the settings.",
)
@click.option(
    "--try",
    "tries",
    is_flag=True,
    help="Also say how these settings judge the comments of the last 30 days.",
)
def check(data: Path, settings_file: Path | None, published: tuple[str, ...], tries: bool) -> None:
    """Check the settings and the database.

    The exit code is 1 if there is a fault.
    """
    from commentsvc.cli import running

    problems: list[str] = []
    settings = None
    try:
        file = find_settings(settings_file, data)
        settings = loader.load(file, note=lambda line: click.echo(f"note: {line}"))
        _say_settings(settings, running.address(data))
        served = running.server_settings(data) or settings  # it may have passwords that we do not
        problems += [*_unusable(served), *needs.missing(served)]
        problems += _outdated(served, published)
        problems += _wrong_key(data, served)
        for line in loader.exposed(file):
            click.echo(f"note: {line}")
    except SettingsError as error:
        problems += error.problems
    for line in running.unlike_server(data, settings_file):
        click.echo(f"note: {line}")
    try:
        database = running.location(data)
    except SettingsError:  # its problems are known
        raise Failure(problems) from None
    problems += _unusable_folder(data)
    is_settings_alone = isinstance(database, Path) and not database.exists()
    if is_settings_alone and (data / data_dir.SETTINGS).exists():
        click.echo("database: none yet; the server creates it at its first start")
    else:
        try:
            problems += _check_database(data, database, settings, settings_file)
            if tries and not problems:
                from commentsvc.cli import trial

                for line in trial.lines(data, settings_file):
                    click.echo(line)
        except expected() as error:
            problems.append(str(error))
    if problems:
        raise Failure(problems)


def _unusable_folder(data: Path) -> list[str]:
    """Return a line if the server cannot use the data folder; only say so of a read-only one."""
    try:
        if data.is_dir():
            data_dir.prepare(data)
    except data_dir.DataReadOnly as error:  # it may be a snapshot that is only looked at
        click.echo(f"note: {error}")
    except data_dir.DataUnusable as error:
        return [str(error)]
    return []


def _wrong_key(data: Path, settings: Settings) -> list[str]:
    """Return a line if the server cannot start because of the secret key."""
    from commentsvc.auth import edit_tokens

    try:
        edit_tokens.check_keys(data / data_dir.SECRET_KEY, settings.auth.secret_key)
    except edit_tokens.KeyUnusable as error:
        return [str(error)]
    return []


def _outdated(settings: Settings, published: tuple[str, ...]) -> list[str]:
    """Return a line for each fault of the published texts."""
    from commentsvc.cli import legal

    problems: list[str] = []
    for where in published:
        faults = [*legal.outdated(settings, where)]
        if not faults:
            click.echo(f"legal: {where} fits the settings")
        problems += faults
    return problems


def _unusable(settings: Settings) -> list[str]:
    """Return a line for each fault of other files with which the server cannot start."""
    found = [*needs.unusable(settings)]
    if settings.mail.templates:
        from commentsvc.delivery import mail_templates

        found += mail_templates.faults(settings.mail.templates)
    return found


def _check_database(
    data: Path, database: "Location", settings: Settings | None, settings_file: Path | None
) -> list[str]:
    """Check the database, and say what was found; return the faults. Raise what is `expected`."""
    from commentsvc.cli import client

    if isinstance(database, str):
        for line in client.server_state(database):
            click.echo(f"server: {line}")
    with progress("checking the database") as on_progress:
        faults = client.check(data, on_progress)
    for line in client.hidden_sites(data, settings):
        click.echo(f"note: {line}")
    lines, refusals = client.stored_settings(data, settings_file)
    for line in lines:
        click.echo(f"settings: {line}")
    if not faults:
        name = database if isinstance(database, Path) else "what PostgreSQL holds"
        click.echo(f"database: {name} is intact, and its counts are right")
    return [*faults, *refusals]


def _say_settings(settings: Settings, address: str) -> None:
    """Say that they are valid. The server listens on `address`, "" if it does not run."""
    names = ", ".join(site.name for site in settings.sites)
    listens = address or settings.server.listen  # a socket of systemd replaces the setting
    click.echo(f"settings: valid; listens on {listens}, serves {names}")
    for site in settings.sites:
        if not site.origins:
            text = f"site {site.name} has no origins: only pages of this service can send comments"
            click.echo(f"settings: {text}")


@main.command()
@data_option
def healthcheck(data: Path) -> None:
    """Check whether the server on this data is running.

    The exit code is 1 if it is not.
    """
    from commentsvc.cli import client

    click.echo(f"{client.probe(data)} is running")

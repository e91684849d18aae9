"""Common parts of all commands: errors, options, colours, progress.

A command that fails says why in one line on stderr and exits with 1 (2 for a wrong command line),
never with a traceback; `expected` lists the exceptions that it reports in this way. Colours and
progress are shown on a terminal only, and colours not if NO_COLOR is set.
"""

import contextlib
import errno
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import click

from commentsvc.settings import data_dir, loader
from commentsvc.settings.parser import SettingsError
from commentsvc.util.suggestions import nearest, no_such

# An address to listen on: 127.0.0.1:8080, unix:/run/http.sock; and what to do about an error.
_ADDRESS: Final = re.compile(r"unix:.+|.+:\d+")
_ADVICE: Final = {
    errno.EADDRINUSE: "Another program listens there: stop it, or choose another address",
    errno.EADDRNOTAVAIL: "This machine does not have that address: choose one that it has",
    errno.ENAMETOOLONG: "The path of a socket has at most 107 bytes: choose a shorter one",
    errno.EACCES: "Ports below 1024 need root or a systemd socket: choose another one",
    errno.ENOENT: "Create the folder of the socket first, or choose another one",
    errno.EEXIST: "Something else has that name: choose another one",
}
# The folder in which `init` sets up a service, if it is not told another one.
NEW_DATA: Final = "comments"
# As above, for files.
_FILE_ADVICE: Final = {
    errno.ENOSPC: "Make room on its disk, then run the command again",
    errno.EDQUOT: "Make room within the quota, then run the command again",
    errno.EROFS: "Mount its file system writable, or name another path",
    errno.EFBIG: "Raise the limit of file sizes (ulimit -f), then run the command again",
    errno.EMFILE: "Raise the limit of open files (ulimit -n), then run the command again",
    errno.ENFILE: "Raise the machine's limit of open files (sysctl fs.file-max), then try again",
}


class Failure(click.ClickException):
    """An error, with one line for each reason. Exit code 1."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.lines = [" ".join(line.split()) for line in lines]
        super().__init__("\n".join(self.lines))

    def show(self, file: Any = None) -> None:  # Any: as in click
        for line in self.lines:
            name = click.style("commentsvc:", fg="red")
            click.echo(f"{name} {line}", file=file, err=True, color=show_colours())


class Choice(click.Choice[str]):
    """A choice that says which of its words a mistyped one may be."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:  # Any: as in click
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            if near := nearest(str(value), map(str, self.choices)):
                self.fail(f'{str(value)[:100]!r} is unknown. Did you mean "{near}"?', param, ctx)
            raise


class FilePath(click.Path):
    """The path of a file, which is no folder; `to_write` is a name for one in a folder."""

    def __init__(self, to_write: str = "", **of_path: Any) -> None:  # Any: as in click
        super().__init__(**of_path)
        self._to_write = to_write

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:  # Any: as in click
        if Path(value).is_dir():
            such_as = f", such as {Path(value) / self._to_write}" if self._to_write else ""
            self.fail(f"{value} is a folder. Name a file in it{such_as}", param, ctx)
        return super().convert(value, param, ctx)


class Commands(click.Group):
    """A group of commands that says which command a mistyped one may be."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            raise click.UsageError(no_such("command", name, self.list_commands(ctx)), ctx)
        return super().resolve_command(ctx, args)


class Program(Commands):
    """The group of all commands, which turns expected errors into a Failure.

    `elsewhere` maps the names of commands to `module.function` in this package. They are imported
    only when they are used, since all of them take 30 ms. `themes` are the headings of the help,
    with the names of the commands below each.
    """

    def __init__(
        self, *args: Any, elsewhere: Mapping[str, str], themes: Mapping[str, str], **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)  # as in click
        self._elsewhere = elsewhere
        self._themes = themes

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands by themes."""
        names = self.list_commands(ctx)
        column = max(map(len, names))
        for theme, below in self._themes.items():
            commands = {name: self.get_command(ctx, name) for name in below.split()}
            with formatter.section(theme):
                formatter.write_dl(
                    [
                        (name.ljust(column), command.get_short_help_str(formatter.width))
                        for name, command in commands.items()
                        if command
                    ]
                )

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *self._elsewhere})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._elsewhere:
            return super().get_command(ctx, cmd_name)
        module, _, name = self._elsewhere[cmd_name].rpartition(".")
        found: click.Command = getattr(import_module(f"commentsvc.cli.{module}"), name)
        return found

    def invoke(self, ctx: click.Context) -> Any:  # Any: as in click
        ctx.color = show_colours()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(AttributeError):  # tests replace them by other objects
                stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr] # a TextIO may lack it
        # peewee imports psycopg if it can: 0.2 s and 11 MiB that nothing on SQLite needs. It makes
        # PostgreSQL's SQL without it, and we connect ourselves.
        with _missing("psycopg"):
            import_module("peewee")
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            text = "Interrupted before the end. Run the command again to complete it."
            raise Failure([text]) from error
        except click.ClickException:  # needs no explanation, for which `expected` imports a lot
            raise
        except SettingsError as error:
            raise Failure(error.problems) from error
        except Exception as error:
            if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
                raise Failure([_explain(error)]) from error
            if isinstance(error, UnicodeError):
                raise Failure(["A text that was given is not UTF-8. Write it in UTF-8."]) from error
            known = _fault(error) or error
            if isinstance(known, expected()):
                raise Failure([str(known)]) from error
            raise


@contextlib.contextmanager
def _missing(module: str) -> Iterator[None]:
    """Let imports of `module` fail as if it were not installed, unless it is imported already."""
    if module in sys.modules:
        yield
        return
    sys.modules[module] = None  # type: ignore[assignment]  # what the import system defines for this
    try:
        yield
    finally:
        del sys.modules[module]


def _fault(error: Exception) -> Exception | None:
    """Return what an error of a database's driver means; None if it is none, or a mistake of ours.

    A connection may be lost, or a disk full, at every statement of a command.
    """
    names = (f"commentsvc.db.{engine}.connection" for engine in ("sqlite", "postgresql"))
    loaded = map(sys.modules.get, names)
    known = (module.fault(error) for module in loaded if module)
    return next(filter(None, known), None)


def _explain(error: OSError) -> str:
    reason = error.strerror or str(error)
    if error.errno in _ADVICE and _ADDRESS.fullmatch(str(error.filename)):
        advice = _ADVICE[error.errno]
        return f"{error.filename}: {reason}. {advice} (--listen, or server.listen in the settings)."
    if error.errno in _FILE_ADVICE:
        reason = f"{reason}. {_FILE_ADVICE[error.errno]}"
    elif isinstance(error, PermissionError) and error.filename:
        reason = f"{reason}: {data_dir.describe(Path(os.fsdecode(error.filename)))}"
    return f"{error.filename}: {reason}." if error.filename else f"{reason}."


def counted(number: int, thing: str) -> str:
    """Return a number with its noun: "1 fault", "2 faults"."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def show_colours() -> bool | None:
    """Return False if the user wants no colours; None lets click decide."""
    return False if loader.is_set("NO_COLOR") else None


@contextlib.contextmanager
def progress(label: str) -> Iterator[Callable[[float], None]]:
    """Show the progress of a long command; yield a function that takes the share, 0 to 1."""
    with click.progressbar(
        length=100, label=label, file=sys.stderr, hidden=not sys.stderr.isatty()
    ) as bar:
        yield lambda share: bar.update(int(100 * share) - bar.pos)


def expected() -> tuple[type[Exception], ...]:
    """Return the exceptions with reasons outside of the program."""
    from commentsvc.auth.accounts import ModeratorError
    from commentsvc.auth.edit_tokens import KeyUnusable
    from commentsvc.auth.passwords import PasswordRefused
    from commentsvc.backup.result import BackupError
    from commentsvc.comments.page_urls import UrlError
    from commentsvc.db.errors import DatabaseError
    from commentsvc.errors import CommentsError
    from commentsvc.exports.hugo import DataFilesError
    from commentsvc.imports.records import ImportFailed
    from commentsvc.runtime.control import ControlError
    from commentsvc.runtime.systemd import SocketsUnusable

    return (
        data_dir.DataUnusable,
        BackupError,
        KeyUnusable,
        CommentsError,
        ControlError,
        SocketsUnusable,
        DatabaseError,
        DataFilesError,
        ImportFailed,
        ModeratorError,
        PasswordRefused,
        UrlError,
    )


def must_have_folder(file: Path) -> None:
    """Raise Failure if the folder of a file that will be written does not exist."""
    if not file.absolute().parent.is_dir():
        raise Failure([f"There is no folder {file.absolute().parent}. Create it first."])


@contextlib.contextmanager
def whole(file: Path) -> Iterator[None]:
    """Remove `file` if the block fails. Errors without a name, such as of a full disk, get it."""
    try:
        yield
    except BaseException as error:
        file.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is None:
            error.filename = str(file)
        raise


def ask_for(what: str) -> None:
    """Say that the command waits for `what` on the standard input, if somebody types it."""
    if sys.stdin.isatty():
        click.echo(f"Type {what}, then press Enter and Ctrl-D:", err=True)


class _NonEmptyPath(click.Path):
    """A path that is not empty, as an unset variable of a shell is: it would be this folder."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:  # Any: as in click
        if value == "":
            self.fail("it is empty. Name a path.", param, ctx)
        return super().convert(value, param, ctx)


def _or_variable(ctx: click.Context, param: click.Parameter, value: Path | None) -> Path | None:
    """Return the option, else the value of its variable; only `init` needs no --data."""
    value = value or loader.location_in(f"COMMENTSVC_{param.opts[0].removeprefix('--').upper()}")
    if value is None and param.name == "data":
        if ctx.command.name == "init":
            return Path(NEW_DATA)
        raise click.MissingParameter(ctx=ctx, param=param)
    return value


data_option = click.option(
    "--data",
    type=_NonEmptyPath(path_type=Path, readable=False),  # data_dir has a better message
    metavar="DIR",
    callback=_or_variable,
    help="The folder with all data. Default: the variable COMMENTSVC_DATA.",
)
config_option = click.option(
    "--config",
    "settings_file",
    type=_NonEmptyPath(path_type=Path),
    metavar="FILE",
    callback=_or_variable,
    help="The settings. Default: the variable COMMENTSVC_CONFIG, then commentsvc.toml in the "
    "data folder if it is there.",
)


def find_settings(given: Path | None, data: Path) -> Path | None:
    """Return the given settings file, else that in the data folder, if there is one."""
    usual = data / data_dir.SETTINGS
    try:
        return given or (usual if usual.exists() else None)
    except PermissionError:
        data_dir.prepare(data)  # raises an error that says what to do
        raise


def open_private(path: str, flags: int) -> int:
    """Open a file that only its owner may read, as an `opener` of `open`.

    Settings may contain passwords, and exports email addresses.
    """
    return os.open(path, flags, mode=0o600)

"""The commands that back up, restore and copy the database."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from commentsvc.cli.common import FilePath, counted, data_option, must_have_folder, progress
from commentsvc.settings import data_dir

if TYPE_CHECKING:
    from commentsvc.db.engine import Location

_file = click.argument("file", metavar="FILE", type=FilePath("comments.backup", path_type=Path))


@click.command()
@data_option
@_file
@click.option("--force", is_flag=True, help="Replace FILE even if it is not a backup.")
def backup(data: Path, file: Path, force: bool) -> None:
    """Copy the database to FILE, and check the copy.

    The server may be running. A complete new backup replaces an older one in FILE. The settings and
    the secret key are separate files in the data folder: back them up too. With PostgreSQL, FILE is
    an archive made by pg_dump, which must be installed.
    """
    from commentsvc.backup import archive as copying
    from commentsvc.cli import client
    from commentsvc.db.engine import describe
    from commentsvc.db.migrations import upgrade

    must_have_folder(file)
    path = client.database(data)
    if isinstance(path, Path):
        upgrade.refuse_empty(path)
        upgrade.check(path)  # another program's database would be copied, too
    with progress("copying the database") as on_progress:
        size = copying.write(path, file, replace=force, on_progress=on_progress)
    click.echo(f"{file} is a complete copy of {describe(path)} ({size / 1e6:.1f} MB)")


@click.command()
@data_option
@_file
@click.option("--force", is_flag=True, help="Restore FILE even if its counts are wrong.")
@click.option("--send", is_flag=True, help="Send the mails that were waiting in FILE.")
def restore(data: Path, file: Path, force: bool, send: bool) -> None:
    """Replace the database by the backup FILE.

    The server must be stopped. The command first checks that FILE is a complete database of this
    version or an older one, and that its counts are right. It keeps the previous database beside
    the new one: as another file, or with PostgreSQL as another schema. Mails and messages that were
    waiting in FILE are not sent, because they may have been sent after the backup: moderators find
    them on the mail page and can send each of them.
    """
    from commentsvc.backup import archive as copying
    from commentsvc.cli import running
    from commentsvc.db.engine import load_postgresql
    from commentsvc.util import timestamps

    location = running.location(data)
    with progress("restoring the database") as on_progress:
        if isinstance(location, str):
            load_postgresql()
            from commentsvc.backup import postgresql_dump

            done = postgresql_dump.restore(
                location, file, force=force, send=send, on_progress=on_progress
            )
        else:
            done = copying.restore(data, file, force=force, send=send, on_progress=on_progress)
    newest = f", the newest of {timestamps.local(done.newest)}" if done.newest else ""
    click.echo(f"restored {counted(done.comments, 'comment')}{newest}")
    for fault in done.faults:
        click.echo(f"fault: {fault}")
    if done.held:
        click.echo(
            f"{done.held} mails and messages that were waiting in it are held back, because they "
            "may have been sent since; see Mail at /moderation, or restore again with --send"
        )
    if done.kept:
        click.echo(f"the previous database is kept as {done.kept}")
    if done.schema:
        click.echo(f"the previous tables are kept in the schema {done.schema}")
    if not (data / data_dir.SECRET_KEY).exists():
        click.echo(
            f"{data} has no {data_dir.SECRET_KEY}. Copy the old one there: without it, sessions, "
            "links in mails and edit tokens become invalid."
        )
    sites = running.settings_for(data, None, "site").sites
    if not (data / data_dir.SETTINGS).exists() and not any(site.origins for site in sites):
        click.echo(
            f"{data} has no {data_dir.SETTINGS}. Copy the old one there, or write it:"
            f" commentsvc init --data {data} --blog URL --url URL"
        )


def _as_location(
    ctx: click.Context, param: click.Parameter, value: str | None
) -> "Location | None":
    """Return a file or the URL of PostgreSQL; None if no value was given."""
    if value is None:
        return None
    scheme, colon, rest = value.partition(":")
    if scheme in ("postgresql", "postgres"):
        return value
    if scheme != "sqlite" and rest.startswith("//"):
        raise click.BadParameter(f"{value} is neither a file nor postgresql://…", ctx, param)
    path = Path(rest if colon and scheme == "sqlite" else value)
    if path.is_dir():
        raise click.BadParameter(f"{path} is a folder: name the database file in it.", ctx, param)
    return path


@click.command("copy")
@click.option("--from", "source", required=True, metavar="DATABASE", callback=_as_location)
@click.option("--to", "target", metavar="DATABASE", callback=_as_location)
@click.option("--undo", is_flag=True, help="Let a database that was copied be served again.")
def copy_(source: "Location", target: "Location | None", undo: bool) -> None:
    """Copy everything from one database to an empty one.

    DATABASE is the file comments.sqlite3 of a data folder, or postgresql://USER@HOST/NAME.
    Do not put a password into the address, since other users of the machine can see it. Put it into
    the file ~/.pgpass or the variable PGPASSWORD.

    Stop the server first. After copying, the command reads each row again and compares it. If it is
    interrupted, the target stays empty. Afterwards, set database.url and start the server. No
    server uses the source again, unless you undo that with --undo --from DATABASE.
    """
    from commentsvc.backup import engine_copy
    from commentsvc.db.engine import describe
    from commentsvc.db.migrations import moved

    if undo == (target is not None):
        raise click.UsageError("Give --to, or --undo.")
    if target is None:
        moved.unmark(source)
        click.echo(f"{describe(source)} can be served again")
        return

    with progress("copying and comparing") as on_progress:
        done = engine_copy.copy(source, target, on_progress)
    for table in done.tables:
        if table.rows:
            click.echo(f"{table.name:<20} {table.rows:>9}  {table.checksum}")
    if done.replaced:
        rows = counted(done.replaced, "row")
        click.echo(f"{rows} had a NUL character, which PostgreSQL cannot store: U+FFFD replaces it")
    click.echo(f"{counted(sum(table.rows for table in done.tables), 'row')} copied and compared")
    click.echo(f"no server uses {describe(source)} any more: use {describe(target)}")

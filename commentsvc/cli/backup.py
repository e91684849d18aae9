"""The commands that back up and restore the database."""

from pathlib import Path

import click

from commentsvc.cli.common import counted, data_option, database_file, progress
from commentsvc.settings import data_dir

_file = click.argument("file", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False))


@click.command()
@data_option
@_file
@click.option("--force", is_flag=True, help="Replace FILE even if it is not a backup.")
def backup(data: Path, file: Path, force: bool) -> None:
    """Copy the database to FILE, and check the copy.

    The server may be running. A complete new backup replaces an older one in FILE. The settings and
    the secret key are separate files in the data folder: back them up too.
    """
    from commentsvc.cli import client
    from commentsvc.db import backup as copying

    path = database_file(data, "Backups of PostgreSQL are made by pg_dump, not by commentsvc")
    client.database(data)
    with progress("copying the database") as told:
        size = copying.write(path, file, replace=force, told=told)
    click.echo(f"{file} is a complete copy ({size / 1e6:.1f} MB)")


@click.command()
@data_option
@_file
@click.option("--force", is_flag=True, help="Restore FILE even if its counts are wrong.")
@click.option("--send", is_flag=True, help="Send the mails that were waiting in FILE.")
def restore(data: Path, file: Path, force: bool, send: bool) -> None:
    """Replace the database by the backup FILE.

    The server must be stopped. The command first checks that FILE is a complete database of this
    version or an older one, and that its counts are right. It keeps the previous database beside
    the new one. Mails and messages that were waiting in FILE are not sent, because they may have
    been sent after the backup: moderators find them on the mail page and can send each of them.
    """
    from commentsvc.db import backup as copying
    from commentsvc.util import timestamps

    database_file(data, "Backups of PostgreSQL are restored by pg_restore, not by commentsvc")
    with progress("restoring the database") as told:
        done = copying.restore(data, file, force=force, send=send, told=told)
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
    if not (data / data_dir.SECRET_KEY).exists():
        click.echo(
            f"{data} has no {data_dir.SECRET_KEY}: without the old one, sessions, links in mails "
            "and edit tokens become invalid"
        )

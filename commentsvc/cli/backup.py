"""The commands that copy the database, and put a copy back."""

from pathlib import Path

import click

from commentsvc.cli.common import counted, data_option, progress
from commentsvc.settings import data_dir

_file = click.argument("file", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False))


@click.command()
@data_option
@_file
@click.option("--force", is_flag=True, help="Replace FILE also where it is no backup.")
def backup(data: Path, file: Path, force: bool) -> None:
    """Copy the database to FILE, whether or not a server runs on it; the copy is checked.

    An older backup in FILE is replaced as soon as the new one is whole. The settings and the secret
    key are files of their own in the data folder: keep them, too.
    """
    from commentsvc.cli import client
    from commentsvc.db import backup as copying

    with progress("copying the database") as told:
        size = copying.write(client.database_file(data), file, replace=force, told=told)
    click.echo(f"{file} is a whole copy ({size / 1e6:.1f} MB)")


@click.command()
@data_option
@_file
@click.option("--force", is_flag=True, help="Also a file whose counts are wrong.")
@click.option("--send", is_flag=True, help="Also send the mails that waited in FILE.")
def restore(data: Path, file: Path, force: bool, send: bool) -> None:
    """Put the backup FILE in the place of the database, while no server runs.

    FILE is checked first: that it is a whole database of this program, or of an older one, and that
    its counts are right. The previous database is kept beside it. Mails and messages that
    waited in FILE are not sent, since they may have been sent after it was made: moderators find
    them among those that failed, and can send each.
    """
    from commentsvc.db import backup as copying
    from commentsvc.util import timestamps

    with progress("restoring the database") as told:
        done = copying.restore(data, file, force=force, send=send, told=told)
    newest = f", the newest of {timestamps.local(done.newest)}" if done.newest else ""
    click.echo(f"restored {counted(done.comments, 'comment')}{newest}")
    for fault in done.faults:
        click.echo(f"fault: {fault}")
    if done.held:
        click.echo(
            f"{done.held} mails and messages that waited in it are not sent: they may have been "
            "since; see Mail at /moderation, or restore again with --send"
        )
    if done.kept:
        click.echo(f"the previous database is kept as {done.kept}")
    if not (data / data_dir.SECRET_KEY).exists():
        click.echo(
            f"{data} has no {data_dir.SECRET_KEY}: without the old one, sessions, links in mails "
            "and edit tokens end"
        )

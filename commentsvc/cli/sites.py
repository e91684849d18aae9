"""The command that gives a site another name."""

from pathlib import Path

import click

from commentsvc.cli.common import Commands, Failure, config_option, counted, data_option


@click.group(cls=Commands)
def site() -> None:
    """Rename sites."""


@site.command()
@data_option
@config_option
@click.argument("old")
@click.argument("new")
@click.option("--merge", is_flag=True, help="Join a site NEW that has comments already.")
def rename(data: Path, settings_file: Path | None, old: str, new: str, merge: bool) -> None:
    """Give the comments of the site OLD to the site NEW.

    First change the name in the settings, and restart the server. To undo this, change the settings
    back, and run the command with both names exchanged. A merge cannot be undone.
    """
    from commentsvc.cli import client, running
    from commentsvc.runtime.control_commands import RenameSite

    names = [each.name for each in running.settings_for(data, settings_file, "site").sites]
    if new not in names or old in names:
        raise Failure(
            [
                f"The settings have the sites {', '.join(names)}. Change the name {old} to {new}"
                " there, restart the server, then run this again."
            ]
        )
    moved = client.write(data, RenameSite(old, new, merge)).moved
    click.echo(f"{old} is called {new} now, and has {counted(moved, 'comment')}")

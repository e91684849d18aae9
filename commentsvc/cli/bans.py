"""The commands for bans."""

from pathlib import Path
from typing import Literal

import click

from commentsvc.cli.common import data_option
from commentsvc.util.clock import SYSTEM_CLOCK
from commentsvc.util.timestamps import DAY_MS


@click.group()
def ban() -> None:
    """Ban authors, networks, words or domains; lift bans, list them."""


@ban.command()
@data_option
@click.argument("kind", type=click.Choice(["author", "network", "word", "domain"]))
@click.argument("value")
@click.option(
    "--days",
    type=click.IntRange(1, 36_500),
    default=None,
    help="Lift it after N days.",
    metavar="N",
)
def add(
    data: Path, kind: Literal["author", "network", "word", "domain"], value: str, days: int | None
) -> None:
    """File comments as spam: by an author's name or e-mail address, with a word, and so on."""
    from commentsvc.cli import client
    from commentsvc.runtime.control_commands import AddBan

    expires = SYSTEM_CLOCK.now_ms() + days * DAY_MS if days else None
    [ban_id] = client.write(data, AddBan(kind=kind, value=value, expires=expires)).changed
    click.echo(f"ban {ban_id} is set")


@ban.command()
@data_option
@click.argument("id_", metavar="ID", type=click.IntRange(1, 2**63 - 1))
def remove(data: Path, id_: int) -> None:
    """Lift the ban ID; what it filed as spam stays there."""
    from commentsvc.cli import client
    from commentsvc.runtime.control_commands import RemoveBan

    client.write(data, RemoveBan(id=id_))
    click.echo(f"ban {id_} is lifted")


@ban.command("list")
@data_option
def list_(data: Path) -> None:
    """Show bans: id, kind, what, by whom, until when."""
    from commentsvc.cli import client

    found = client.bans_listing(data)
    for each in found:
        click.echo(client.ban_line(each))
    if not found:
        click.echo("no bans")

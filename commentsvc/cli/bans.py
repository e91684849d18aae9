"""The commands for bans."""

from pathlib import Path
from typing import Literal

import click

from commentsvc.cli.common import Choice, Commands, data_option
from commentsvc.cli.tables import Moment, show
from commentsvc.util.clock import SYSTEM_CLOCK
from commentsvc.util.timestamps import DAY_MS


@click.group(cls=Commands)
def ban() -> None:
    """Ban authors, networks, words or domains."""


@ban.command()
@data_option
@click.argument("kind", type=Choice(["author", "network", "word", "domain"]))
@click.argument("value")
@click.option(
    "--days",
    type=click.IntRange(1, 36_500),
    default=None,
    help="Lift the ban after N days.",
    metavar="N",
)
def add(
    data: Path, kind: Literal["author", "network", "word", "domain"], value: str, days: int | None
) -> None:
    """Mark future comments that match VALUE as spam.

    VALUE is the name or email address of an author, an IP address or network, a word or phrase, or
    a domain that comments link to.
    """
    from commentsvc.cli import client
    from commentsvc.runtime.control_commands import AddBan

    expires = SYSTEM_CLOCK.now_ms() + days * DAY_MS if days else None
    [ban_id] = client.write(data, AddBan(kind=kind, value=value, expires=expires)).changed
    click.echo(f"ban {ban_id} is set")


@ban.command()
@data_option
@click.argument("id_", metavar="ID", type=click.IntRange(1, 2**63 - 1))
def remove(data: Path, id_: int) -> None:
    """Lift a ban. Comments that it marked as spam stay spam."""
    from commentsvc.cli import client
    from commentsvc.runtime.control_commands import RemoveBan

    client.write(data, RemoveBan(id=id_))
    click.echo(f"ban {id_} is lifted")


@ban.command("list")
@data_option
def list_(data: Path) -> None:
    """List the bans."""
    from commentsvc.cli import client
    from commentsvc.spam import bans

    found = client.read(data, bans.listing)
    rows = [
        (each.id, each.kind, each.value, each.actor, Moment(each.expires_at, "never"))
        for each in found
    ]
    show(("ID", "KIND", "VALUE", "BY", "ENDS"), rows, "no bans")

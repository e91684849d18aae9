"""The commands for who may moderate on the web pages.

The password is hashed here, so that it goes neither through the control socket nor into a
process list. Who may write the data folder may do all this without knowing anybody's password.
"""

import sys
from pathlib import Path
from typing import Literal

import click

from commentsvc.cli.common import data_option
from commentsvc.model import ROLES

_name = click.argument("name", metavar="NAME")


@click.group()
def moderator() -> None:
    """Say who may sign in to the moderation pages.

    A password is asked for, or read from the first line of the standard input where that is no
    terminal.
    """


@moderator.command()
@data_option
@_name
def add(data: Path, name: str) -> None:
    """Let NAME sign in with a new password."""
    _write(data, "add", name, _new_hash())
    click.echo(f"{name} may sign in at /moderation")


@moderator.command()
@data_option
@_name
def passwd(data: Path, name: str) -> None:
    """Give NAME a new password; all browsers of NAME are signed out."""
    _write(data, "passwd", name, _new_hash())
    click.echo(f"{name} has a new password")


@moderator.command()
@data_option
@_name
def remove(data: Path, name: str) -> None:
    """Remove NAME's account. Past decisions are kept."""
    _write(data, "remove", name)
    click.echo(f"{name} may no longer sign in")


@moderator.command("no-code")
@data_option
@_name
def no_code(data: Path, name: str) -> None:
    """Let NAME, whose app and recovery codes are lost, sign in by the password alone."""
    _write(data, "no-code", name)
    click.echo(f"{name} needs no code any more, and may set up an app again")


@moderator.command()
@data_option
@_name
@click.option("--public-name", metavar="TEXT", help="The name over NAME's comments.")
@click.option("--email", metavar="ADDRESS", help="Never shown; it gives the picture.")
@click.option("--site", metavar="URL", help="The website that the name links to.")
def profile(data: Path, name: str, **changes: str | None) -> None:
    """Change what readers see of NAME, also of comments that NAME has written. "" removes it."""
    from commentsvc.cli import client
    from commentsvc.runtime.control_commands import ChangeProfile

    client.write(data, ChangeProfile(name=name, **changes))
    click.echo(f"{name} has a new profile")


@moderator.command()
@data_option
@_name
@click.argument("given", metavar="ROLE", type=click.Choice(ROLES))
@click.option(
    "--site", "sites", metavar="SITE", multiple=True, help="Only on this site; may be repeated."
)
def role(
    data: Path, name: str, given: Literal["owner", "moderator", "viewer"], sites: tuple[str, ...]
) -> None:
    """Let NAME be an owner, a moderator, or a viewer, who reads everything and changes nothing.

    Without --site the role holds on all sites. Only owners of all sites manage accounts.
    """
    from commentsvc.cli import client
    from commentsvc.runtime.control_commands import AssignRole

    client.write(data, AssignRole(name=name, role=given, sites=sites))
    click.echo(f"{name} is now {given} of {', '.join(sites) or 'all sites'}")


@moderator.command("list")
@data_option
def list_(data: Path) -> None:
    """Show who may sign in: name, role and sites, since when, and the public profile."""
    from commentsvc.cli import client
    from commentsvc.util import timestamps

    everyone = client.everyone(data)
    profiles = client.profiles_by_name(data)
    for one in everyone:
        shown = profiles[one.name]
        public = "  ".join(filter(None, (shown.author, shown.email, shown.site)))
        since = timestamps.local(one.created_at)
        sites = shown.sites.replace("\n", ", ") or "all sites"
        click.echo(f"{one.name}  {shown.role} of {sites}  since {since}  writes as {public}")
    if not everyone:
        click.echo("no moderators")


def _write(
    data: Path, verb: Literal["add", "remove", "passwd", "no-code"], name: str, hash_: str = ""
) -> None:
    from commentsvc.cli import client
    from commentsvc.runtime.control_commands import ManageAccount

    client.write(data, ManageAccount(verb=verb, name=name, password=hash_))


def _new_hash() -> str:
    """The hash of a password from the terminal or the standard input."""
    from commentsvc.auth import passwords

    if sys.stdin.isatty():
        password = click.prompt("Password", hide_input=True, confirmation_prompt="Again")
    else:
        password = sys.stdin.readline(passwords.LONGEST + 2).rstrip("\r\n")
    return passwords.hash_password(password)

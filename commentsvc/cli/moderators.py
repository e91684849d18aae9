"""The commands for who may moderate on the web pages.

The password is hashed here, so that it goes neither through the control socket nor into a
process list. Who may write the data folder may do all this without knowing anybody's password.
"""

import os
import sys
from pathlib import Path
from typing import Literal

import click

from commentsvc.cli.common import data_option
from commentsvc.model import ROLES, SCOPES

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


@moderator.group()
def token() -> None:
    """Make, list and revoke tokens for programs, which moderate in an account's name."""


@token.command("add")
@data_option
@_name
@click.argument("label", metavar="LABEL")
@click.option("--scope", type=click.Choice(SCOPES), default="read", show_default=True)
@click.option(
    "--site", "sites", metavar="SITE", multiple=True, help="Only on this site; may be repeated."
)
@click.option("--days", type=click.IntRange(1, 3_650), default=90, show_default=True)
def add_token(
    data: Path,
    name: str,
    label: str,
    scope: Literal["read", "decide", "administer"],
    sites: tuple[str, ...],
    days: int,
) -> None:
    """Give NAME a token, and show it once. LABEL says what it is for."""
    from commentsvc.auth import api_tokens
    from commentsvc.cli import client
    from commentsvc.runtime.control_commands import AddToken

    made, digest = api_tokens.new_token(os.urandom(api_tokens.TOKEN_SIZE))
    order = AddToken(name=name, label=label, scope=scope, sites=sites, days=days, digest=digest)
    client.write(data, order)
    click.echo(made)


@token.command("list")
@data_option
@_name
def list_tokens(data: Path, name: str) -> None:
    """Show NAME's tokens: id, label, scope, sites, when last used, until when."""
    from commentsvc.cli import client
    from commentsvc.util import timestamps

    tokens = client.tokens_of(data, name)
    for each in tokens:
        sites = each.sites.replace("\n", ", ") or "all sites"
        used = f"used {timestamps.local(each.used_at)}" if each.used_at else "never used"
        until = timestamps.local(each.expires_at)
        click.echo(f"{each.id}  {each.name}  {each.scope} on {sites}  {used}  until {until}")
    if not tokens:
        click.echo("no tokens")


@token.command("remove")
@data_option
@_name
@click.argument("id_", metavar="ID", type=click.IntRange(1, 2**63 - 1))
def remove_token(data: Path, name: str, id_: int) -> None:
    """Revoke NAME's token ID."""
    from commentsvc.cli import client
    from commentsvc.runtime.control_commands import RevokeToken

    gone = client.write(data, RevokeToken(name=name, id=id_)).changed
    click.echo(f"token {id_} is revoked" if gone else f"{name} has no token {id_}")


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
    """Return the hash of a password from the terminal or the standard input."""
    from commentsvc.auth import passwords

    if sys.stdin.isatty():
        password = click.prompt("Password", hide_input=True, confirmation_prompt="Again")
    else:
        password = sys.stdin.readline(passwords.LONGEST + 2).rstrip("\r\n")
    return passwords.hash_password(password)

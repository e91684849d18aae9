"""The commands for the accounts of moderators.

The password is hashed in this process, so that it goes neither through the control socket nor into
a process list. Whoever may write the data folder may run these commands without a password.
"""

import os
import sys
from pathlib import Path
from typing import Literal

import click

from commentsvc.cli.common import Choice, Commands, Failure, config_option, data_option
from commentsvc.cli.tables import Cell, Moment, show
from commentsvc.model import ROLES, SCOPES
from commentsvc.util.suggestions import no_such

KINDS = ("session", "blog", "token", "passkey", "identity")
_name = click.argument("name", metavar="NAME")
_sites_option = click.option(
    "--site", "sites", metavar="SITE", multiple=True, help="Only for this site. May be repeated."
)


@click.group(cls=Commands)
def moderator() -> None:
    """Manage the accounts for the moderation pages.

    Commands that need a password ask for it. If standard input is not a terminal, they read its
    first line.
    """


@moderator.command()
@data_option
@_name
def add(data: Path, name: str) -> None:
    """Create an account with a password."""
    from commentsvc.auth import accounts
    from commentsvc.cli import client

    client.read(data, accounts.refuse_name, name)  # before a password is asked for
    _write(data, "add", name, _new_hash())
    click.echo(f"{name} may sign in at /moderation")


@moderator.command()
@data_option
@_name
def passwd(data: Path, name: str) -> None:
    """Set a new password, and end all else that opens the account.

    Every browser is signed out, and all tokens, passkeys and identities at a provider are removed.
    A second factor stays: see no-code.
    """
    _must_exist(data, name)
    _write(data, "passwd", name, _new_hash())
    click.echo(f"{name} has a new password; sessions, tokens, passkeys and identities are removed")


@moderator.command()
@data_option
@_name
def remove(data: Path, name: str) -> None:
    """Remove an account. Its past decisions are kept."""
    _must_exist(data, name)
    _write(data, "remove", name)
    click.echo(f"{name} may no longer sign in")


@moderator.command("no-code")
@data_option
@_name
def no_code(data: Path, name: str) -> None:
    """Turn off two-factor sign-in, if app and codes are lost."""
    _must_exist(data, name)
    _write(data, "no-code", name)
    click.echo(f"{name} signs in with the password alone, and may set up an app again")


@moderator.command()
@data_option
@_name
@click.option("--public-name", metavar="TEXT", help="The name that readers see.")
@click.option("--email", metavar="ADDRESS", help="Never shown. You vouch that it is theirs.")
@click.option("--site", metavar="URL", help="The website that the name links to.")
def profile(data: Path, name: str, **changes: str | None) -> None:
    """Change what readers see of a moderator.

    Comments that NAME has written change too. An empty value ("") removes it.
    """
    if all(value is None for value in changes.values()):
        raise click.UsageError("Give --public-name, --email or --site.")
    from commentsvc.cli import client
    from commentsvc.runtime.control_commands import ChangeProfile

    _must_exist(data, name)
    client.write(data, ChangeProfile(name=name, **changes))
    click.echo(f"{name} has a new profile")


@moderator.command()
@data_option
@_name
@click.argument("given", metavar="ROLE", type=Choice(ROLES))
@_sites_option
def role(
    data: Path, name: str, given: Literal["owner", "moderator", "viewer"], sites: tuple[str, ...]
) -> None:
    """Change the role of an account: owner, moderator or viewer.

    An owner may do everything, a moderator may read and decide, a viewer may only read. Without
    --site the role applies to all sites. Only owners of all sites can manage accounts.
    """
    from commentsvc.cli import client
    from commentsvc.exports import contents
    from commentsvc.runtime.control_commands import AssignRole

    _must_exist(data, name)
    for site in sites:
        client.read(data, contents.check_site, site)
    client.write(data, AssignRole(name=name, role=given, sites=sites))
    click.echo(f"{name} is now {given} of {', '.join(sites) or 'all sites'}")


@moderator.group(cls=Commands)
def token() -> None:
    """Manage tokens, with which programs use an account."""


@token.command("add")
@data_option
@_name
@click.argument("label", metavar="LABEL")
@click.option(
    "--scope",
    type=Choice(SCOPES),
    default="read",
    show_default=True,
    help="What the token may do.",
)
@_sites_option
@click.option(
    "--days",
    type=click.IntRange(1, 3_650),
    default=90,
    show_default=True,
    help="Days until the token expires.",
)
def add_token(
    data: Path,
    name: str,
    label: str,
    scope: Literal["read", "decide", "administer"],
    sites: tuple[str, ...],
    days: int,
) -> None:
    """Create a token for an account, and show it once.

    LABEL says what the token is for.
    """
    from commentsvc.auth import api_tokens
    from commentsvc.cli import client
    from commentsvc.exports import contents
    from commentsvc.runtime.control_commands import AddToken

    _must_exist(data, name)
    for site in sites:
        client.read(data, contents.check_site, site)
    made, digest = api_tokens.new_token(os.urandom(api_tokens.TOKEN_SIZE))
    order = AddToken(name=name, label=label, scope=scope, sites=sites, days=days, digest=digest)
    client.write(data, order)
    click.echo(made)


@token.command("list")
@data_option
@_name
def list_tokens(data: Path, name: str) -> None:
    """List the tokens of an account."""
    from commentsvc.auth import api_tokens
    from commentsvc.cli import client

    tokens = client.read(data, api_tokens.of_moderator, _must_exist(data, name))
    rows = [
        (
            each.id,
            each.name,
            each.scope,
            _sites(each.sites),
            Moment(each.used_at or None),
            Moment(each.expires_at),
        )
        for each in tokens
    ]
    show(("ID", "LABEL", "SCOPE", "SITES", "USED", "ENDS"), rows, "no tokens")


@token.command("remove")
@data_option
@_name
@click.argument("id_", metavar="ID", type=click.IntRange(1, 2**63 - 1))
def remove_token(data: Path, name: str, id_: int) -> None:
    """Revoke a token of an account."""
    from commentsvc.cli import client
    from commentsvc.runtime.control_commands import RevokeToken

    _must_exist(data, name)
    if not client.write(data, RevokeToken(name=name, id=id_)).changed:
        raise Failure([f"{name} has no token {id_}"])
    click.echo(f"token {id_} is revoked")


@moderator.group(cls=Commands)
def credential() -> None:
    """Manage what opens an account besides its password."""


@credential.command("list")
@data_option
@config_option
@_name
def list_credentials(data: Path, settings_file: Path | None, name: str) -> None:
    """List browsers, blogs, tokens, passkeys and providers."""
    from commentsvc.auth import credentials
    from commentsvc.auth.sessions import Lifetime
    from commentsvc.cli import client, running
    from commentsvc.util.clock import SYSTEM_CLOCK

    settings = running.settings_for(data, settings_file, "moderation")
    lifetime, now = Lifetime.of(settings.moderation), SYSTEM_CLOCK.now_ms()
    owner = _must_exist(data, name)
    known = client.read(data, credentials.of_moderator, owner, lifetime, now)
    rows = [
        (
            each.kind,
            each.id,
            each.name,
            Moment(each.created_at),
            Moment(each.used_at or None, "not known"),
        )
        for each in known
    ]
    show(("KIND", "ID", "NAME", "SINCE", "USED"), rows, "only the password")


@credential.command("remove")
@data_option
@_name
@click.argument("kind", metavar="KIND", type=Choice(KINDS))
@click.argument("id_", metavar="ID", type=click.IntRange(1, 2**63 - 1))
def remove_credential(
    data: Path,
    name: str,
    kind: Literal["session", "blog", "token", "passkey", "identity"],
    id_: int,
) -> None:
    """Remove one: session, blog, token, passkey or identity."""
    from commentsvc.cli import client
    from commentsvc.runtime.control_commands import RemoveCredential

    _must_exist(data, name)
    if not client.write(data, RemoveCredential(name=name, kind=kind, id=id_)).changed:
        raise Failure([f"{name} has no {kind} {id_}"])
    click.echo(f"{kind} {id_} is removed")


@moderator.command("list")
@data_option
def list_(data: Path) -> None:
    """List the accounts, their roles and profiles."""
    from commentsvc.auth import accounts
    from commentsvc.cli import client
    from commentsvc.moderation import profiles

    everyone = client.read(data, accounts.everyone)
    by_name = {profile.name: profile for profile in client.read(data, profiles.everyone)}
    rows: list[tuple[Cell, ...]] = []
    for one in everyone:
        shown = by_name[one.name]
        email = shown.email if shown.is_verified else shown.email and f"{shown.email} (unconfirmed)"
        public = "  ".join(filter(None, (shown.author, email, shown.site)))
        rows.append((one.name, shown.role, _sites(shown.sites), Moment(one.created_at), public))
    show(("NAME", "ROLE", "SITES", "SINCE", "WRITES AS"), rows, "no moderators")


def _sites(names: str) -> str:
    return names.replace("\n", ", ") or "all sites"


def _must_exist(data: Path, name: str) -> int:
    """Return the id of an account. Raise Failure if there is none, before anything is asked."""
    from commentsvc.auth import accounts
    from commentsvc.cli import client

    account = client.read(data, accounts.find, name)
    if account is None:
        names = [each.name for each in client.read(data, accounts.everyone)]
        if not names:
            raise Failure([f"There is no account yet. Create it: commentsvc moderator add {name}"])
        raise Failure([no_such("moderator", name, names)])
    return account.id


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

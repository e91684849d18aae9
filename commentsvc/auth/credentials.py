"""Credentials: all that opens an account besides its password, in one list.

These are the sessions of browsers, those for a blog's pages, tokens for programs, passkeys, and
identities at a provider of OpenID Connect.
"""

from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from commentsvc.auth import api_tokens, blog_sessions, passkeys, sessions
from commentsvc.auth.sessions import Lifetime
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.schema.comments import (
    ApiTokenTable,
    BlogSessionTable,
    IdentityTable,
    ModeratorTable,
    PasskeyTable,
    SessionTable,
)

SESSION: Final = "session"
BLOG: Final = "blog"
TOKEN: Final = "token"  # noqa: S105 - a kind of credentials
PASSKEY: Final = "passkey"
IDENTITY: Final = "identity"
TABLES: Final[dict[str, Any]] = {  # Any: peewee's stubs know no columns of several tables
    SESSION: SessionTable,
    BLOG: BlogSessionTable,
    TOKEN: ApiTokenTable,
    PASSKEY: PasskeyTable,
    IDENTITY: IdentityTable,
}
# Those that a person set up to sign in with. To remove one, the password is asked for.
LASTING: Final = (PASSKEY, IDENTITY)
SUBJECT_LENGTH: Final = 80  # characters of a provider's name for somebody


class Credential(msgspec.Struct, frozen=True):
    """One of the account's; `id` is unique within its `kind`.

    `name` is a browser's User-Agent, the origin of a blog's pages, what a token or passkey is
    called, or the person at a provider. Times are Unix milliseconds; `used_at` is 0 for never or
    unknown, `expires_at` for no fixed end.
    """

    kind: str
    id: int
    name: str
    created_at: int
    used_at: int = 0
    expires_at: int = 0


def of_moderator(
    snapshot: Snapshot, moderator_id: int, lifetime: Lifetime, now: int
) -> list[Credential]:
    """Return the credentials of an account, by kind."""
    known = [
        Credential(SESSION, one.id, one.user_agent, one.created_at, one.seen_at)
        for one in sessions.of_moderator(snapshot, moderator_id, lifetime, now)
    ]
    known += [
        Credential(BLOG, one.id, one.origin, one.created_at, one.used_at, one.expires_at)
        for one in blog_sessions.of_moderator(snapshot, moderator_id, now)
    ]
    known += [
        Credential(TOKEN, one.id, one.name, one.created_at, one.used_at, one.expires_at)
        for one in api_tokens.of_moderator(snapshot, moderator_id)
    ]
    known += [
        Credential(PASSKEY, one.id, one.name, one.created_at, one.used_at)
        for one in passkeys.of_moderator(snapshot, moderator_id)
    ]
    identities = IdentityTable.select(
        IdentityTable.id, IdentityTable.issuer, IdentityTable.subject, IdentityTable.created_at
    ).where(IdentityTable.moderator == moderator_id)
    for number, issuer, subject, created_at in snapshot.query(
        identities.order_by(IdentityTable.id)
    ):
        name = f"{urlsplit(issuer).hostname or issuer}: {subject[:SUBJECT_LENGTH]}"
        known.append(Credential(IDENTITY, number, name, created_at))
    return known


def remove(tx: Transaction, kind: str, number: int, moderator_id: int) -> bool:
    """Remove one of an account's credentials, of a kind of TABLES; return whether it existed.

    Without an identity, no provider opens the account before its address is confirmed anew.
    """
    table = TABLES[kind]
    gone = tx.change(table.delete().where(table.id == number, table.moderator == moderator_id))
    if gone and kind == IDENTITY:
        tx.change(ModeratorTable.update(may_link=0).where(ModeratorTable.id == moderator_id))
    return bool(gone)

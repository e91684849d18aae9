"""API tokens for programs that moderate in an account's name: see `admin.api.token_access`.

A token is 256 random bits, shown once; the table has its digest. It gives its account's
permissions, within its scope and on its sites. It ends with the account, when it expires, or when
it is revoked.
"""

import base64
from typing import Final

import msgspec

from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.query import Param, Select, prepared
from commentsvc.db.schema.comments import ApiTokenTable, ModeratorTable
from commentsvc.util.digest import digest
from commentsvc.util.timestamps import DAY_MS

PREFIX: Final = "cs_"  # so that scanners find leaked tokens
TOKEN_SIZE: Final = 32  # random bytes
TOKEN_LENGTH: Final = 64  # characters; ours have 46
NAME_LENGTH: Final = 60  # characters
DAYS: Final = (7, 30, 90, 365)  # possible lifetimes of a token


class ApiToken(msgspec.Struct, frozen=True):
    """A token, with its account's `role` and `role_sites`. Times are Unix milliseconds.

    `scope` is one of model.SCOPES, `sites` as in the table of accounts; `used_at` is 0 for never.
    """

    id: int
    moderator_id: int
    name: str
    scope: str
    sites: str
    created_at: int
    used_at: int
    expires_at: int
    moderator: str
    role: str
    role_sites: str


def new_token(random: bytes) -> tuple[str, bytes]:
    """Return a token of TOKEN_SIZE `random` bytes, and its digest for the database."""
    token = PREFIX + base64.urlsafe_b64encode(random).rstrip(b"=").decode()
    return token, digest_of_token(token)


def digest_of_token(token: str) -> bytes:
    """Return the digest of a token, as in the database."""
    text = token[:TOKEN_LENGTH].encode(errors="surrogatepass")
    return digest(text, b"API token")


def add(tx: Transaction, token: ApiToken, token_digest: bytes) -> None:
    """Store a new token."""
    row = {
        ApiTokenTable.moderator: token.moderator_id,
        ApiTokenTable.digest: token_digest,
        ApiTokenTable.name: token.name[:NAME_LENGTH],
        ApiTokenTable.scope: token.scope,
        ApiTokenTable.sites: token.sites,
        ApiTokenTable.created_at: token.created_at,
        ApiTokenTable.used_at: 0,
        ApiTokenTable.expires_at: token.expires_at,
    }
    tx.change(ApiTokenTable.insert(row))


def offer(moderator_id: int, name: str, scope: str, sites: str, now: int, days: int) -> ApiToken:
    """Return a token for `add` that is valid for so many days from `now` on."""
    expires = now + days * DAY_MS
    return ApiToken(0, moderator_id, name, scope, sites, now, 0, expires, "", "", "")


def find(snapshot: Snapshot, token: str) -> ApiToken | None:
    """Return the token, expired or not; None if it never existed, or is revoked."""
    row = snapshot.first(_by_digest, digest_of_token(token))
    return ApiToken(*row) if row else None


def by_id(snapshot: Snapshot, token_id: int) -> ApiToken | None:
    """Return the token of that id; None if it is revoked."""
    row = snapshot.first(_tokens().where(ApiTokenTable.id == token_id))
    return ApiToken(*row) if row else None


def of_moderator(snapshot: Snapshot, moderator_id: int) -> list[ApiToken]:
    """Return an account's tokens, the newest first."""
    query = _tokens().where(ApiTokenTable.moderator == moderator_id)
    return [ApiToken(*row) for row in snapshot.query(query.order_by(ApiTokenTable.id.desc()))]


def touch(tx: Transaction, token_id: int, now: int) -> None:
    """Note that a token was used."""
    tx.change(ApiTokenTable.update(used_at=now).where(ApiTokenTable.id == token_id))


def revoke(tx: Transaction, token_id: int, moderator_id: int) -> bool:
    """Revoke one of an account's tokens; return whether it existed."""
    gone = ApiTokenTable.delete().where(
        ApiTokenTable.id == token_id, ApiTokenTable.moderator == moderator_id
    )
    return bool(tx.change(gone))


def _tokens() -> Select:
    return ApiTokenTable.select(
        ApiTokenTable.id,
        ApiTokenTable.moderator,
        ApiTokenTable.name,
        ApiTokenTable.scope,
        ApiTokenTable.sites,
        ApiTokenTable.created_at,
        ApiTokenTable.used_at,
        ApiTokenTable.expires_at,
        ModeratorTable.name,
        ModeratorTable.role,
        ModeratorTable.sites,
    ).join(ModeratorTable)


@prepared
def _by_digest(token_digest: Param) -> Select:
    return _tokens().where(ApiTokenTable.digest == token_digest)

"""Sessions: which browser is signed in to which account.

Every visitor of a moderation page gets a cookie with 256 random bits, signed by itsdangerous. It is
a session only while a row of the database has its digest, and signing in always makes a new cookie,
so that nobody can plant one beforehand (session fixation). The signature refuses forged cookies
without a query. Deleting the row ends the session at once, and nobody can make a cookie from the
row.

Each form of a page contains a second digest of the cookie's bits. Another site can make a browser
send the cookie, but can neither read it nor compute that digest.

A third cookie says that this browser has signed in before, see `admin.login_limit`. It becomes
invalid when the password changes.

    ModeratorError
      SignInOver   the password that was checked is no longer the account's

Times are Unix milliseconds.
"""

import base64
import hashlib
import hmac
from collections.abc import Sequence
from typing import Final

import msgspec
from itsdangerous import BadSignature, Signer

from commentsvc.auth import accounts
from commentsvc.auth.accounts import Moderator, ModeratorError
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.query import Param, Select, prepared
from commentsvc.db.schema.comments import ModeratorTable, SessionTable
from commentsvc.settings.schema import ModerationSettings
from commentsvc.util.digest import digest
from commentsvc.util.timestamps import DAY_MS, MINUTE_MS

# The prefix makes browsers insist on Secure, on the path / and on this very host (RFC 6265bis).
COOKIE: Final = "__Host-commentsvc"
KNOWN_COOKIE: Final = "__Host-commentsvc-known"
_ATTRIBUTES: Final = "; Path=/; Secure; HttpOnly; SameSite=Strict"
KNOWN_SECONDS: Final = 365 * DAY_MS // 1_000  # for which a browser is recognised

TOKEN_SIZE: Final = 32  # random bytes
COOKIE_LENGTH: Final = 256  # characters; ours have 90
AGENT_LENGTH: Final = 120  # characters kept of a User-Agent
IDLE: Final = 7 * DAY_MS  # without a visit; a browser that nobody used for a week may be lost
TOUCH: Final = 5 * MINUTE_MS  # between two updates of `seen_at`, to write rarely


class Lifetime(msgspec.Struct, frozen=True):
    """How long a session may last, in total and without being used, in milliseconds."""

    most: int
    idle: int

    @classmethod
    def of(cls, settings: ModerationSettings) -> "Lifetime":
        """Return what the settings say."""
        return cls(settings.session_days * DAY_MS, IDLE)


class Session(msgspec.Struct, frozen=True):
    """A signed-in browser, and its moderator.

    `language` is the tag of the language of the moderator's pages, "" for the browser's; `role` and
    `sites` are the account's (see `db.schema.comments`).
    """

    id: int
    moderator_id: int
    name: str
    created_at: int
    seen_at: int
    user_agent: str
    language: str
    role: str
    sites: str


class SignInOver(ModeratorError):
    """The password that was checked is no longer the account's."""


class Cookies:
    """Makes and reads the cookies. The first of `keys` signs, the others are former keys."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        newest_last = list(reversed(keys))
        self._visit = _signer(newest_last, b"commentsvc visit")
        self._known = _signer(newest_last, b"commentsvc known browser")

    def visit(self, random: bytes) -> tuple[str, str]:
        """Return a new token of TOKEN_SIZE `random` bytes, and the Set-Cookie value with it."""
        token = base64.urlsafe_b64encode(random).rstrip(b"=").decode()
        return token, f"{COOKIE}={self._visit.sign(token).decode()}{_ATTRIBUTES}"

    def token(self, header: str | None) -> str | None:
        """Return the token in a Cookie header; None without one that we signed."""
        return _unsign(self._visit, cookie_value(header, COOKIE))

    def known(self, moderator: Moderator) -> str:
        """Return the Set-Cookie value that marks this browser as one the moderator has used."""
        value = self._known.sign(mark(moderator)).decode()
        return f"{KNOWN_COOKIE}={value}{_ATTRIBUTES}; Max-Age={KNOWN_SECONDS}"

    def is_known(self, header: str | None, moderator: Moderator) -> bool:
        """Return whether the moderator has signed in here before with the current password."""
        return _unsign(self._known, cookie_value(header, KNOWN_COOKIE)) == mark(moderator)


def _signer(keys: Sequence[bytes], salt: bytes) -> Signer:
    return Signer(keys, salt=salt, key_derivation="hmac", digest_method=hashlib.sha256)


def _unsign(signer: Signer, value: str) -> str | None:
    try:
        return signer.unsign(value).decode()
    except BadSignature:
        return None


def cookie_value(header: str | None, name: str) -> str:
    """Return the cookie of that name in a Cookie header (RFC 6265, section 5.4), `""` if none.

    Return "" also for cookies that are too long or not ASCII.
    """
    for pair in (header or "").split("; "):
        if pair.startswith(name + "="):
            value = pair[len(name) + 1 :]
            return value if len(value) <= COOKIE_LENGTH and value.isascii() else ""
    return ""


def mark(moderator: Moderator) -> str:
    """Return what identifies an account with its present password."""
    return f"{moderator.id}-{digest(moderator.password_hash, b'known', 16).hex()}"


def csrf_token(token: str) -> str:
    """Return the CSRF token of forms for the cookie's `token`."""
    return digest(token, b"CSRF token", 16).hex()


def is_csrf_token(sent: str, token: str) -> bool:
    """Return whether `sent` is `csrf_token(token)`, compared in constant time."""
    return hmac.compare_digest(sent.encode(errors="surrogatepass"), csrf_token(token).encode())


def begin(tx: Transaction, token: str, moderator: Moderator, agent: str, now: int) -> None:
    """Begin a session of the moderator for the cookie's `token`.

    Raise SignInOver if the password has changed since `moderator` was read, or the account is gone.
    """
    if accounts.find(tx, moderator.name) != moderator:
        raise SignInOver(moderator.name)
    row = {
        SessionTable.digest: digest(token, b"session"),
        SessionTable.moderator: moderator.id,
        SessionTable.created_at: now,
        SessionTable.seen_at: now,
        SessionTable.user_agent: agent[:AGENT_LENGTH],
    }
    tx.change(SessionTable.insert(row))


def _living(created_after: object, seen_after: object) -> Select:
    return (
        SessionTable.select(
            SessionTable.id,
            SessionTable.moderator,
            ModeratorTable.name,
            SessionTable.created_at,
            SessionTable.seen_at,
            SessionTable.user_agent,
            ModeratorTable.language,
            ModeratorTable.role,
            ModeratorTable.sites,
        )
        .join(ModeratorTable)
        .where(SessionTable.created_at > created_after, SessionTable.seen_at > seen_after)
    )


@prepared  # since every moderation page asks
def _find(digest: Param, created_after: Param, seen_after: Param) -> Select:
    return _living(created_after, seen_after).where(SessionTable.digest == digest)


def find(snapshot: Snapshot, token: str, lifetime: Lifetime, now: int) -> Session | None:
    """Return the session for a cookie's `token`; None if it never existed, ended or expired."""
    since = (now - lifetime.most, now - lifetime.idle)
    row = snapshot.first(_find, digest(token, b"session"), *since)
    return Session(*row) if row else None


def of_moderator(
    snapshot: Snapshot, moderator_id: int, lifetime: Lifetime, now: int
) -> list[Session]:
    """Return the moderator's sessions that have not expired, the last used first."""
    living = _living(now - lifetime.most, now - lifetime.idle)
    own = living.where(SessionTable.moderator == moderator_id)
    rows = snapshot.query(own.order_by(SessionTable.seen_at.desc(), SessionTable.id))
    return [Session(*row) for row in rows]


def touch(tx: Transaction, session_id: int, now: int) -> None:
    """Note that a session was used."""
    tx.change(SessionTable.update(seen_at=now).where(SessionTable.id == session_id))


def end(tx: Transaction, session_id: int, moderator_id: int) -> bool:
    """End one of the moderator's sessions; return whether it existed."""
    ended = SessionTable.delete().where(
        SessionTable.id == session_id, SessionTable.moderator == moderator_id
    )
    return bool(tx.change(ended))


def sweep(tx: Transaction, lifetime: Lifetime, now: int) -> None:
    """Delete expired sessions."""
    expired = (SessionTable.created_at <= now - lifetime.most) | (
        SessionTable.seen_at <= now - lifetime.idle
    )
    tx.change(SessionTable.delete().where(expired))

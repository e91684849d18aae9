"""Blog sessions: a moderator decides on comments in the threads of a blog's own pages.

No cookie of ours is sent from there. Instead, a moderator who is signed in agrees on a page of ours
and comes back with a code in the fragment of the address. The widget exchanges it for a token, as
clients of OAuth do with PKCE (RFC 7636): it made a random `word` before, whose digest, the
`challenge`, is in the code. So a code that somebody else sees is of no use, and nobody makes a
browser use the code of another account.

A token is 256 random bits; the table has its digest. It counts for LIFE at most, for one site and
one origin, and gives the rights that its account has at that moment. It ends with the session of
the browser in which the moderator agreed, which takes its row along.

    BlogSessionRefused   the code does not fit the word or the page, or its session is over
"""

import base64
import hashlib
import hmac
from typing import Final, NamedTuple

import msgspec

from commentsvc.auth import signed_links
from commentsvc.auth.sessions import Lifetime, Session
from commentsvc.auth.signed_links import SignedLinks
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.query import Param, Select, prepared
from commentsvc.db.schema.comments import BlogSessionTable, ModeratorTable, SessionTable
from commentsvc.util.digest import digest
from commentsvc.util.origin import LOCAL_HOSTS, host_of, origin
from commentsvc.util.timestamps import HOUR_MS, MINUTE_MS

PREFIX: Final = "csb_"  # so that scanners find leaked tokens
TOKEN_SIZE: Final = 32  # random bytes
TOKEN_LENGTH: Final = 64  # characters; ours have 47
LIFE: Final = 2 * HOUR_MS  # of a token
CODE: Final = "blog session"  # the purpose of a code
CODE_LIFE: Final = 2 * MINUTE_MS
CODE_CHALLENGE: Final = "[A-Za-z0-9_-]{43}"  # a SHA-256 digest in Base64 without padding
MOST: Final = 20  # of an account at once


class BlogSessionRefused(Exception):
    """A code does not fit the word or the page, or its session is over."""


class BlogSession(msgspec.Struct, frozen=True):
    """A token of the account `moderator`, with its `role` and `role_sites`.

    `site` is the name of the site, `origin` that of the pages; `used_at` is 0 for never. Times are
    Unix milliseconds.
    """

    id: int
    moderator_id: int
    site: str
    origin: str
    created_at: int
    used_at: int
    expires_at: int
    moderator: str
    role: str
    role_sites: str


class AgreedSession(NamedTuple):
    """What a code says: the browser's session and when it began, the site, the origin of its page.

    `challenge` is the digest of the word of the browser that asked.
    """

    session_id: int
    began_at: int
    site: str
    origin: str
    challenge: str


def is_safe(address: str) -> bool:
    """Return whether nobody on the way can change the page at an address, nor see its requests."""
    return origin(address).startswith("https://") or host_of(address) in LOCAL_HOSTS


def make_code(links: SignedLinks, session: Session, page: tuple[str, str, str], now: int) -> str:
    """Return the code for a signed-in browser; `page` is a site, an origin and a challenge."""
    return links.make(CODE, session.id, session.created_at, *page, expires=now + CODE_LIFE)


def read_code(links: SignedLinks, code: str, word: str, sender: str, now: int) -> AgreedSession:
    """Return what a code says that a page at the origin `sender` exchanges with its `word`.

    Raise BlogSessionRefused, LinkError.
    """
    agreed = AgreedSession(*links.read(CODE, code, now))
    if not hmac.compare_digest(challenge(word).encode(), agreed.challenge.encode()):
        raise BlogSessionRefused  # the code is for another browser
    if sender != agreed.origin:
        raise BlogSessionRefused
    return agreed


def challenge(word: str) -> str:
    """Return the digest of a word, as the widget makes it (RFC 7636, section 4.2, `S256`)."""
    found = hashlib.sha256(word.encode(errors="surrogatepass")).digest()
    return base64.urlsafe_b64encode(found).rstrip(b"=").decode()


def begin(
    tx: Transaction, agreed: AgreedSession, random: bytes, lifetime: Lifetime, now: int
) -> tuple[str, BlogSession]:
    """Begin what a code says; return the new token of TOKEN_SIZE `random` bytes, and its row.

    Sessions that are over are deleted, and the oldest one of an account with MOST. Raise
    BlogSessionRefused if the browser was signed out meanwhile, LinkExpired for a used code.
    """
    signed_links.mark_used(tx, f"{CODE} {agreed}", now, CODE_LIFE)
    alive = SessionTable.select(SessionTable.moderator).where(
        SessionTable.id == agreed.session_id,
        SessionTable.created_at == agreed.began_at,
        SessionTable.created_at > now - lifetime.most,
        SessionTable.seen_at > now - lifetime.idle,
    )
    row = tx.first(alive)
    if row is None:
        raise BlogSessionRefused
    tx.change(BlogSessionTable.delete().where(BlogSessionTable.expires_at <= now))
    for one in of_moderator(tx, row[0], now)[MOST - 1 :]:
        tx.change(BlogSessionTable.delete().where(BlogSessionTable.id == one.id))
    token = PREFIX + base64.urlsafe_b64encode(random).rstrip(b"=").decode()
    new = {
        BlogSessionTable.digest: _digest_of_token(token),
        BlogSessionTable.moderator: row[0],
        BlogSessionTable.session: agreed.session_id,
        BlogSessionTable.site: agreed.site,
        BlogSessionTable.origin: agreed.origin,
        BlogSessionTable.created_at: now,
        BlogSessionTable.used_at: 0,
        BlogSessionTable.expires_at: min(now + LIFE, agreed.began_at + lifetime.most),
    }
    tx.change(BlogSessionTable.insert(new))
    made = find(tx, token, now)
    assert made is not None, "it was just stored"
    return token, made


def find(snapshot: Snapshot, token: str, now: int) -> BlogSession | None:
    """Return the session with a token; None if it never existed, or is over."""
    row = snapshot.first(_by_digest, _digest_of_token(token), now)
    return BlogSession(*row) if row else None


def of_moderator(snapshot: Snapshot, moderator_id: int, now: int) -> list[BlogSession]:
    """Return an account's sessions that are not over, the newest first."""
    own = _sessions().where(
        BlogSessionTable.moderator == moderator_id, BlogSessionTable.expires_at > now
    )
    return [BlogSession(*row) for row in snapshot.query(own.order_by(BlogSessionTable.id.desc()))]


def touch(tx: Transaction, session_id: int, now: int) -> None:
    """Note that a session was used."""
    tx.change(BlogSessionTable.update(used_at=now).where(BlogSessionTable.id == session_id))


def end(tx: Transaction, session_id: int) -> None:
    """End a session."""
    tx.change(BlogSessionTable.delete().where(BlogSessionTable.id == session_id))


def _digest_of_token(token: str) -> bytes:
    return digest(token[:TOKEN_LENGTH].encode(errors="surrogatepass"), b"blog session")


def _sessions() -> Select:
    return BlogSessionTable.select(
        BlogSessionTable.id,
        BlogSessionTable.moderator,
        BlogSessionTable.site,
        BlogSessionTable.origin,
        BlogSessionTable.created_at,
        BlogSessionTable.used_at,
        BlogSessionTable.expires_at,
        ModeratorTable.name,
        ModeratorTable.role,
        ModeratorTable.sites,
    ).join(ModeratorTable)


@prepared  # since every request of the widget asks
def _by_digest(token_digest: Param, now: Param) -> Select:
    return _sessions().where(
        BlogSessionTable.digest == token_digest, BlogSessionTable.expires_at > now
    )

"""Login limit: how often somebody may try to sign in.

There are three kinds of buckets. A network may guess a few times, whatever names it tries. A name
may be tried a few times, from all networks together. That alone would let anybody lock a moderator
out on purpose. So a browser in which this moderator signed in before (it has a signed cookie) has a
bucket of its own, and the other two do not apply to it. OWASP calls that a device cookie.

Passwords are checked by one thread, and few may wait for it: any number of guesses takes one CPU
and 7 MiB at most.
"""

import asyncio
from collections.abc import Callable
from typing import Final, TypeVar

from commentsvc.auth import passwords
from commentsvc.auth.attempts import AttemptLimiter, Bucket, Rate, buckets_of_network
from commentsvc.db.database import Database
from commentsvc.http.messages import HttpError, too_many
from commentsvc.util.client_network import network_of
from commentsvc.util.i18n import gettext as _
from commentsvc.util.threads import ACCOUNTS, run_in
from commentsvc.util.timestamps import HOUR_MS

T = TypeVar("T")

PER_NETWORK: Final = Rate(20, HOUR_MS)
PER_NAME: Final = Rate(30, HOUR_MS)
PER_KNOWN_BROWSER: Final = Rate(30, HOUR_MS)
WAITING: Final = 8  # guesses that may wait for the CPU: a fifteenth of a second
NAME_BYTES: Final = 256  # bytes of a name that are counted; account names are shorter


def too_many_attempts(wait: int) -> HttpError:
    """Return the error for somebody who has to wait so many seconds."""
    message = _("Too many attempts. Try again in %(minutes)s min.", minutes=-(-wait // 60))
    return too_many(message, wait, "too_many_attempts")


def _busy() -> HttpError:
    """Return the error for an attempt while too many others wait."""
    message = _("Too many people are trying to sign in right now. Try again in a moment.")
    return HttpError(503, "busy", message, headers=(("Retry-After", "5"),))


class LoginLimiter:
    """The buckets, and the thread that checks passwords."""

    def __init__(self, database: Database, key: bytes) -> None:
        """Take the secret `key` of the digests of names and networks."""
        self._attempts = AttemptLimiter(database, key)
        self._lane = asyncio.Lock()
        self._waiting = 0

    async def count(self, address: str, name: str, now_ms: int, *, known: bool) -> None:
        """Count an attempt from `address` for `name`. Raise HttpError 429, DatabaseError.

        `known`: it comes from a browser where this name signed in before. `now_ms` is in Unix
        milliseconds.
        """
        named = name.casefold().encode(errors="surrogatepass")[:NAME_BYTES]
        if known:
            buckets = [Bucket(b"known", named, PER_KNOWN_BROWSER)]
        else:
            buckets = [
                *buckets_of_network(b"network", network_of(address), PER_NETWORK),
                Bucket(b"name", named, PER_NAME),
            ]
        if wait := await self._attempts.take(buckets, now_ms):
            raise too_many_attempts(wait)

    async def verify(self, password: str, stored: str, *, known: bool) -> bool:
        """Return whether the password is right. Raise HttpError 503 if too many attempts wait."""
        if self._waiting >= WAITING and not known:
            raise _busy()
        return await self._in_lane(passwords.verify, password, stored)

    async def hash_password(self, password: str) -> str:
        """Do as `passwords.hash_password`, on the same thread."""
        return await self._in_lane(passwords.hash_password, password)

    async def _in_lane(self, work: Callable[..., T], *arguments: str) -> T:
        self._waiting += 1
        try:
            async with self._lane:
                return await run_in(ACCOUNTS, work, *arguments)
        finally:
            self._waiting -= 1

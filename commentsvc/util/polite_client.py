"""Requests JSON and pages from other servers, no more often than they allow.

It respects robots.txt (RFC 9309) and sends ETags, so that unchanged answers need not be sent. After
a Retry-After, or a status of 429 or 503, it makes a pause.
"""

from operator import attrgetter
from typing import Any, Final, NamedTuple
from urllib.parse import urljoin

import msgspec
from cachetools import TTLCache

from commentsvc.util import robots
from commentsvc.util.clock import Clock
from commentsvc.util.http_client import Fetched, RemoteError, SettingsClient, StrangerClient
from commentsvc.util.robots import RobotRules
from commentsvc.util.threads import FOREIGN, run_in
from commentsvc.util.timestamps import DAY_MS, HOUR_MS

AGENT: Final = "commentsvc"
ANSWER_SIZE: Final = 4_194_304  # bytes of JSON: a context of 60 long replies has a tenth
MEMORY: Final = 16_777_216  # bytes that decoded JSON may take
VALUE_SIZE: Final = 72  # bytes that a decoded value takes, besides its text
ROBOTS_SIZE: Final = 524_288  # bytes; RFC 9309 asks for 500 KiB
# Bytes of the robots.txt that are cached, each with its overhead; parsed, they take 30 times that.
ROBOTS_CACHE: Final = 1_048_576
ROBOTS_OVERHEAD: Final = 1_000


class LeaveAlone(RemoteError):
    """The server wants no requests for `pause_ms` milliseconds."""

    def __init__(self, message: str, pause_ms: int) -> None:
        super().__init__(message)
        self.pause_ms = pause_ms


class Disallowed(LeaveAlone):
    """The server's robots.txt allows no request for this address."""


class _Robots(NamedTuple):
    """A parsed robots.txt, and its size in the cache."""

    rules: RobotRules
    size: int


class JsonAnswer(NamedTuple):
    """An answer: its status (304 if the ETag still matches), decoded body, ETag, and url.

    `memory` is how many bytes the body takes, at most.
    """

    status: int
    body: Any = None  # Any: JSON of others
    etag: str = ""
    url: str = ""
    memory: int = 0


class PoliteClient:
    """Sends polite requests through one of the HTTP clients."""

    def __init__(self, client: SettingsClient | StrangerClient, clock: Clock) -> None:
        self._client = client
        self._robots: TTLCache[str, _Robots] = TTLCache(
            ROBOTS_CACHE, DAY_MS, clock.monotonic_ms, getsizeof=attrgetter("size")
        )

    async def get(self, url: str, accept: str = "application/json", etag: str = "") -> JsonAnswer:
        """As `fetch`, but decode the body of an answer with status 200."""
        found = await self.fetch(url, accept, ANSWER_SIZE, etag)
        if found.status != 200:
            return JsonAnswer(found.status, etag=etag, url=found.url)
        values = sum(map(found.body.count, (b",", b"[", b"{")))
        memory = len(found.body) + values * VALUE_SIZE
        if memory > MEMORY:
            raise RemoteError("its JSON has too many values")
        try:
            body = await run_in(FOREIGN, msgspec.json.decode, found.body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise RemoteError("its JSON cannot be read") from error
        return JsonAnswer(200, body, found.header("etag"), found.url, memory)

    async def fetch(
        self, url: str, accept: str, size: int, etag: str = "", named_by: str = ""
    ) -> Fetched:
        """Return an answer of at most `size` bytes with status 200, 304, 400, 404 or 410.

        Raise RemoteError for others. `named_by` is as for `SettingsClient.fetch`.
        """
        if not await self._may_ask(url, named_by):
            raise Disallowed("its robots.txt does not allow to ask", DAY_MS)
        headers = {"Accept": accept} | ({"If-None-Match": etag} if etag else {})
        found = await self._client.fetch(url, size, headers, named_by)
        if found.status in (429, 503):
            raise LeaveAlone(f"it answers {found.status}", _pause(found.header("retry-after")))
        if found.status not in (200, 304, 400, 404, 410):
            raise RemoteError(f"it answers {found.status}")
        return found

    async def sitemaps(self, url: str) -> list[str]:
        """Return the addresses of sitemaps in the robots.txt of a server. Raise RemoteError."""
        return [*(await self._rules(url)).sitemaps]

    async def _may_ask(self, url: str, named_by: str) -> bool:
        """Return whether the robots.txt of the server allows a request (RFC 9309)."""
        rules = await self._rules(url, named_by)
        return await run_in(FOREIGN, rules.allow, url)

    async def _rules(self, url: str, named_by: str = "") -> RobotRules:
        home = urljoin(url, "/robots.txt")
        known = self._robots.get(home)
        if known is None:
            found = await self._client.fetch(home, ROBOTS_SIZE, {}, named_by)
            if found.status >= 500:
                raise RemoteError(f"its robots.txt answers {found.status}")
            text = found.body.decode(errors="replace") if found.status == 200 else ""
            rules = await run_in(FOREIGN, robots.parse, text, AGENT)
            known = self._robots[home] = _Robots(rules, len(text) + ROBOTS_OVERHEAD)
        return known.rules


def _pause(retry_after: str) -> int:
    """Return how many milliseconds to wait before the next request; an hour by default."""
    if retry_after.isascii() and retry_after.isdigit():
        return min(max(int(retry_after[:6]) * 1_000, 1_000), DAY_MS)
    return HOUR_MS

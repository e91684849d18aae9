"""Requests JSON and pages from other servers, no more often than they allow.

It respects robots.txt (RFC 9309) and sends ETags, so that unchanged answers need not be sent. After
a Retry-After, or a status of 429 or 503, it makes a pause.
"""

from typing import Any, Final, NamedTuple
from urllib.parse import urljoin, urlsplit
from urllib.robotparser import RobotFileParser

import msgspec
from cachetools import TTLCache

from commentsvc.util.clock import Clock
from commentsvc.util.http_client import Fetched, RemoteError, fetch
from commentsvc.util.timestamps import DAY_MS, HOUR_MS

AGENT: Final = "commentsvc"
ANSWER_SIZE: Final = 4_194_304  # bytes of JSON: a context of 60 long replies has a tenth
ROBOTS_SIZE: Final = 524_288  # bytes; RFC 9309 asks for 500 KiB
HOSTS: Final = 1_000  # the most hosts whose robots.txt is cached


class LeaveAlone(RemoteError):
    """The server wants no requests for `pause_ms` milliseconds."""

    def __init__(self, message: str, pause_ms: int) -> None:
        super().__init__(message)
        self.pause_ms = pause_ms


class Disallowed(LeaveAlone):
    """The server's robots.txt allows no request for this address."""


class JsonAnswer(NamedTuple):
    """An answer: its status (304 if the ETag still matches), decoded body, ETag, and url."""

    status: int
    body: Any = None  # Any: JSON of others
    etag: str = ""
    url: str = ""


class PoliteClient:
    """An HTTP client. It may reach `networks` although they are not public."""

    def __init__(self, networks: tuple[str, ...], clock: Clock) -> None:
        self._networks = networks
        self._robots: TTLCache[str, RobotFileParser] = TTLCache(HOSTS, DAY_MS, clock.monotonic_ms)

    async def get(self, url: str, accept: str = "application/json", etag: str = "") -> JsonAnswer:
        """As `fetch`, but decode the body of an answer with status 200."""
        found = await self.fetch(url, accept, ANSWER_SIZE, etag)
        if found.status != 200:
            return JsonAnswer(found.status, etag=etag, url=found.url)
        try:
            body = msgspec.json.decode(found.body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise RemoteError("its JSON cannot be read") from error
        return JsonAnswer(200, body, found.header("etag"), found.url)

    async def fetch(self, url: str, accept: str, size: int, etag: str = "") -> Fetched:
        """Return an answer of at most `size` bytes with status 200, 304, 400, 404 or 410.

        Raise RemoteError for others.
        """
        if not await self._may_ask(url):
            raise Disallowed("its robots.txt does not allow to ask", DAY_MS)
        headers = {"Accept": accept} | ({"If-None-Match": etag} if etag else {})
        found = await fetch(url, size, headers, self._networks)
        if found.status in (429, 503):
            raise LeaveAlone(f"it answers {found.status}", _pause(found.header("retry-after")))
        if found.status not in (200, 304, 400, 404, 410):
            raise RemoteError(f"it answers {found.status}")
        return found

    async def _may_ask(self, url: str) -> bool:
        """Return whether the robots.txt of the server allows a request (RFC 9309)."""
        home = urljoin(url, "/robots.txt")
        rules = self._robots.get(home)
        if rules is None:
            rules = RobotFileParser()
            found = await fetch(home, ROBOTS_SIZE, {}, self._networks)
            if found.status >= 500:
                raise RemoteError(f"its robots.txt answers {found.status}")
            text = found.body.decode(errors="replace") if found.status == 200 else ""
            rules.parse(text.splitlines())
            self._robots[home] = rules
        return rules.can_fetch(AGENT, urlsplit(url).path)


def _pause(retry_after: str) -> int:
    """Return how many milliseconds to wait before the next request; an hour by default."""
    if retry_after.isascii() and retry_after.isdigit():
        return min(max(int(retry_after[:6]) * 1_000, 1_000), DAY_MS)
    return HOUR_MS

"""Miss limit: how much work one network may cause by reads that the cache cannot answer.

Hits never come here, so they are not limited. A miss costs the more the longer its answer is: one
for each `SIZE` bytes and `BASE` at least, which is about its milliseconds of work. An answer that
is given later is counted as `LATER` until its size is known, so that many at once do not pass as
few.
"""

from collections.abc import Awaitable
from typing import Final

from commentsvc.http.messages import (
    Deferred,
    HttpError,
    Request,
    Response,
    TrustedProxies,
    refusal,
)
from commentsvc.http.router import Router
from commentsvc.settings.schema import ServerSettings
from commentsvc.util.client_network import network
from commentsvc.util.clock import Clock
from commentsvc.util.ratelimit import RateLimiter

BASE: Final = 0.125
SIZE: Final = 8_192
LATER: Final = 16.0
READS: Final = ("GET", "HEAD")
# Moderators' pages are behind sign-in, and must not wait for a neighbour's flood.
MODERATION: Final = ("/moderation", "/web/moderation")


class MissLimiter:
    """Passes requests on to a router, but reads of a network beyond its limit get 429."""

    def __init__(self, router: Router, settings: ServerSettings, clock: Clock) -> None:
        self._handle = router.handle
        self._proxies = TrustedProxies(settings.trusted_proxies)
        self._limiter = RateLimiter(settings.miss_limit)
        self._clock = clock

    def handle(self, request: Request) -> Response | Deferred | Awaitable[Response]:
        """Answer as the router does, or with 429."""
        if request.method not in READS or request.path.startswith(MODERATION):
            return self._handle(request)
        key = network(self._proxies.client(request))
        if wait := self._limiter.take(key, self._clock.monotonic_ms(), BASE):
            return _refused(wait)
        answer = self._handle(request)
        if isinstance(answer, Response):
            more = len(answer.body) / SIZE - BASE
            if more > 0:
                self._limiter.charge(key, more)
        elif not isinstance(answer, Deferred):
            self._limiter.charge(key, LATER)
            return self._finish(key, answer)
        return answer

    async def _finish(self, key: bytes, answer: Awaitable[Response]) -> Response:
        cost = 0.0
        try:
            response = await answer
            cost = max(0.0, len(response.body) / SIZE - BASE)
            return response
        finally:
            self._limiter.charge(key, cost - LATER)


def _refused(wait: int) -> Response:
    message = "Your network asks for too much that is not cached. Please wait a moment."
    headers = (("Retry-After", str(wait)),)
    return refusal(HttpError(429, "too_many_reads", message, headers=headers))

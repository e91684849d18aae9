"""Miss limit: how much work one network may cause by reads that the cache cannot answer.

Hits never come here, so they are not limited. A miss costs the more the longer it and its answer
are: `BASE` at least, and one for each `SIZE` bytes of an answer or `QUERY_SIZE` of a question,
which is about its milliseconds of work; `UNSTORED` more where it is made anew for each who asks, as
the token of a form. An answer that is given later is counted as `LATER` until its size is known, so
that many at once do not pass as few.

Pages for moderators are counted by themselves: a flood of reads next door must not keep a moderator
out, and who is not signed in must not keep them busy.
"""

from collections.abc import Awaitable, Container
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
from commentsvc.util.i18n import gettext as _
from commentsvc.util.ratelimit import RateLimiter

BASE: Final = 0.125
SIZE: Final = 8_192
QUERY_SIZE: Final = 2_048
UNSTORED: Final = 0.5
OK: Final = 200
LATER: Final = 16.0
READS: Final = ("GET", "HEAD")
MODERATION: Final = ("/moderation", "/web/moderation")


class MissLimiter:
    """Passes requests on to a router, but reads of a network beyond its limit get 429."""

    def __init__(
        self, router: Router, settings: ServerSettings, clock: Clock, questions: Container[str] = ()
    ) -> None:
        """Take what is limited; `questions` are the paths at which POST only reads."""
        self._handle = router.handle
        self._proxies = TrustedProxies(settings.trusted_proxies)
        self._limiter = RateLimiter(settings.miss_limit)
        is_limited = settings.miss_limit != "off"
        self._limited: Container[str] = READS if is_limited else ()
        self._questions: Container[str] = questions if is_limited else ()
        self._clock = clock

    def handle(self, request: Request) -> Response | Deferred | Awaitable[Response]:
        """Answer as the router does, or with 429."""
        if request.method not in self._limited and not self._is_question(request):
            return self._handle(request)
        key = network(self._proxies.client(request))
        if request.path.startswith(MODERATION):
            key = b"moderation " + key
        cost = BASE + (len(request.query) + len(request.body)) / QUERY_SIZE
        if wait := self._limiter.take(key, self._clock.monotonic_ms(), cost):
            return _refused(request, wait)
        answer = self._handle(request)
        if isinstance(answer, Response):
            if more := _more(answer):
                self._limiter.charge(key, more)
        elif not isinstance(answer, Deferred):
            self._limiter.charge(key, LATER)
            return self._finish(key, answer)
        return answer

    def _is_question(self, request: Request) -> bool:
        return request.method == "POST" and request.path in self._questions

    async def _finish(self, key: bytes, answer: Awaitable[Response]) -> Response:
        cost = 0.0
        try:
            response = await answer
            cost = _more(response)
            return response
        finally:
            self._limiter.charge(key, cost - LATER)


def _more(response: Response) -> float:
    """Return what an answer costs beyond what its request did."""
    made_each_time = response.status == OK and not response.tags
    return max(0.0, len(response.body) / SIZE - BASE) + (UNSTORED if made_each_time else 0.0)


def _refused(request: Request, wait: int) -> Response:
    message = _("Your network sends too many requests. Please wait a moment.")
    headers = (("Retry-After", str(wait)),)
    error = HttpError(429, "too_many_reads", message, headers=headers)
    return refusal(error, request.language().tag)

"""Miss limit: how much work one network may cause by reads that are not in the cache.

Hits do not come here, so they are not limited. The cost of a miss is the milliseconds of its work,
on the event loop or in the database; at least `BASE`, and one for each `SIZE` bytes of the answer
or `QUERY_SIZE` bytes of the query. Waiting for a database that does not answer costs nothing. An
answer that is made anew for each client, such as a form token, costs `UNSTORED` more. An answer
that is given later counts as `LATER` until its work is known, so that many slow ones at once are
limited too.

Moderation pages have a limit of their own: a flood of public reads from the same network must not
keep a moderator out, and requests without a sign-in must not keep moderators' pages busy.
"""

from collections.abc import Awaitable, Container
from typing import Final

from commentsvc.http.messages import Request, Response, TrustedProxies, refusal, too_many
from commentsvc.http.router import Router
from commentsvc.settings.schema import ServerSettings
from commentsvc.util.client_network import network_of
from commentsvc.util.clock import Clock
from commentsvc.util.database_cost import database_ms
from commentsvc.util.i18n import gettext as _
from commentsvc.util.lasting import Lasting
from commentsvc.util.ratelimit import NetworkLimiter

BASE: Final = 0.125
SIZE: Final = 8_192
QUERY_SIZE: Final = 2_048
UNSTORED: Final = 0.5
OK: Final = 200
UNAVAILABLE: Final = 503
LATER: Final = 16.0
READS: Final = ("GET", "HEAD")
MODERATION: Final = ("/moderation/", "/web/moderation/")


class MissLimiter:
    """Passes requests on to a router, but answers 429 to reads beyond a network's limit."""

    def __init__(
        self,
        router: Router,
        settings: ServerSettings,
        clock: Clock,
        lasting: Lasting,
        read_only_posts: Container[str] = (),
    ) -> None:
        """Take the router; `read_only_posts` are the paths whose POST requests only read."""
        self._handle = router.handle
        self.target_rules = router.target_rules
        self._proxies = TrustedProxies(settings.trusted_proxies)
        self._public = lasting.get("reads", NetworkLimiter, settings.miss_limit)
        self._moderation = lasting.get("moderation", NetworkLimiter, settings.miss_limit)
        is_limited = settings.miss_limit != "off"
        self._limited: Container[str] = READS if is_limited else ()
        self._read_only_posts: Container[str] = read_only_posts if is_limited else ()
        self._clock = clock

    def handle(self, request: Request) -> Response | Awaitable[Response]:
        """Return the router's answer, or 429."""
        method = request.method
        if method not in self._limited and (
            method != "POST" or request.decoded_path() not in self._read_only_posts
        ):
            return self._handle(request)
        network = network_of(self._proxies.client(request))
        is_moderation = f"{request.decoded_path()}/".startswith(MODERATION)
        limiter = self._moderation if is_moderation else self._public
        cost = BASE + (len(request.query) + len(request.body)) / QUERY_SIZE
        if wait := limiter.take(network, self._clock.monotonic_ms(), cost):
            return _refused(request, wait)
        begun = self._clock.precise_ms()
        answer = self._handle(request)
        if isinstance(answer, Response):
            if more := _more(answer, self._clock.precise_ms() - begun):
                limiter.charge(network, more)
            return answer
        limiter.charge(network, LATER)
        return _finish(answer, limiter, network)


async def _finish(answer: Awaitable[Response], limiter: NetworkLimiter, network: bytes) -> Response:
    """Return an answer that is given later, and charge for its work instead of LATER."""
    cost = 0.0
    database_ms.set(0.0)
    try:
        response = await answer
        cost = _more(response, database_ms.get())
        return response
    finally:
        limiter.charge(network, cost - LATER)


def _more(response: Response, took_ms: float) -> float:
    """Return the cost of an answer, which took so long, beyond that of its request."""
    if response.status == UNAVAILABLE:
        return 0.0
    made_each_time = response.status == OK and not response.tags
    work = max(len(response.body) / SIZE, took_ms)
    return max(0.0, work - BASE) + (UNSTORED if made_each_time else 0.0)


def _refused(request: Request, wait: int) -> Response:
    message = _("Your network sends too many requests. Please wait a moment.")
    return refusal(too_many(message, wait, "too_many_reads"), request.language().tag)

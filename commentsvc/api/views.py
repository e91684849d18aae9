"""Page views: a page tells that it was opened. See `feedback.views`."""

import re
from typing import Final

from commentsvc.api.parameters import PageQuery
from commentsvc.comments.page_urls import PageRef
from commentsvc.context import ServiceContext
from commentsvc.feedback.views import ViewCounter
from commentsvc.http.messages import (
    NOT_STORED,
    CorsPolicy,
    Headers,
    HttpError,
    Request,
    Response,
    TrustedProxies,
    too_fast,
)
from commentsvc.http.operation import handles
from commentsvc.util.client_network import network_of, wide_network
from commentsvc.util.i18n import gettext as _
from commentsvc.util.ratelimit import RateLimiter

# Views from one network; further ones are not counted, so that nobody makes a page popular alone.
VIEWS: Final = "300/hour"
# How search engines call themselves, and not phones by CUBOT.
_ROBOT: Final = re.compile(r"(?<!cu)bot\b|crawl|spider", re.IGNORECASE)


class PageViews:
    """The handler of page views."""

    def __init__(self, service: ServiceContext, counter: ViewCounter) -> None:
        spam = service.settings.spam
        self._sites = service.sites
        self._clock = service.clock
        self._counter = counter
        self._cors = CorsPolicy(service.settings.sites)
        self._limiter = service.lasting.get(
            "views", RateLimiter, "off" if spam.rate_limit == "off" else VIEWS
        )
        self._proxies = TrustedProxies(service.settings.server.trusted_proxies)

    @handles("POST", "/api/views", errors=(400, 403, 404, 429))
    def view(self, request: Request, query: PageQuery) -> Response:
        """Count a view of a page.

        It shows within a minute. Nothing about the reader is stored. Views by search
        engines are not counted. 400 for an invalid url or site, 403 for a foreign page, 404
        if the site does not count views, 429 from a network with too many.
        """
        page = self._sites.locate(query.url, query.site)
        if not self._sites.counts_views(page.site):
            raise HttpError(404, "not_found", _("Page views are disabled on this site."))
        return Response(204, (NOT_STORED, *self.count(request, page)), b"")

    def count(self, request: Request, page: PageRef) -> Headers:
        """Count a view of a page, unless it is a robot's; return the CORS headers.

        Raise HttpError 403 or 429.
        """
        headers = self._cors.check(request, page.site)
        if not _ROBOT.search(request.header("user-agent") or ""):
            client = wide_network(network_of(self._proxies.client(request)))
            wait = self._limiter.take(client, self._clock.monotonic_ms())
            if wait:
                raise too_fast(wait)
            self._counter.add(page)
        return headers

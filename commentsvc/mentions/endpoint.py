"""The endpoint for webmentions: it checks a request as far as possible at once, and stores it.

Whether the page really links to ours is checked later (see `verifier`). So a slow server does not
delay the answer, and repeated requests do not make us fetch a page several times.
https://www.w3.org/TR/webmention/#receiving-webmentions
"""

from typing import Annotated, Final
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from commentsvc.comments.page_urls import LENGTH, PageRef, UrlError
from commentsvc.comments.submission import SITE_LENGTH, is_site
from commentsvc.context import ServiceContext
from commentsvc.http.forms import FormError, parse_urlencoded
from commentsvc.http.messages import (
    ANY_ORIGIN,
    NOT_STORED,
    HttpError,
    Request,
    Response,
    TrustedProxies,
    first,
    too_many,
)
from commentsvc.http.operation import TEXT, Content, handles
from commentsvc.mentions import store
from commentsvc.util.client_network import network_of
from commentsvc.util.origin import host_of, origin
from commentsvc.util.ratelimit import NetworkLimiter, RateLimiter

# Webmentions from one network, and those that name pages of one host: each makes us fetch a page.
RATE: Final = "60/hour"
TAKEN: Final = b"Thank you. Your page will be checked soon.\n"


class WebmentionFields(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The fields of a webmention."""

    source: Annotated[str, Meta(description="The page that links to ours.", max_length=SITE_LENGTH)]
    target: Annotated[str, Meta(description="The page of ours.", max_length=LENGTH)]


class WebmentionEndpoint:
    """The handler of POST /webmention."""

    def __init__(self, service: ServiceContext) -> None:
        settings = service.settings
        self._taking = {site.name for site in settings.sites if site.webmentions}
        base = settings.server.public_url.rstrip("/")
        rate = "off" if settings.spam.rate_limit == "off" else RATE
        self._plain = base and f"{base}/embed/thread?"
        self._networks = service.lasting.get("mentions of networks", NetworkLimiter, rate)
        self._hosts = service.lasting.get("mentions of hosts", RateLimiter, rate)
        self._proxies = TrustedProxies(settings.server.trusted_proxies)
        self._sites = service.sites
        self._database = service.database
        self._clock = service.clock

    @handles(
        "POST",
        "/webmention",
        {202: TEXT},
        body=(Content("application/x-www-form-urlencoded", WebmentionFields),),
        ignores_unknown=True,
        errors=(400, 404, 429, 503),
        note="The service fetches the page later. 404 if no site has `webmentions` on.",
    )
    async def receive(self, request: Request) -> Response:
        """Receive a webmention, as the W3C recommends.

        400 for invalid addresses, 404 if no site accepts webmentions, 429, 503.
        """
        if not self._taking:
            raise HttpError(404, "no_webmentions", "No site here takes webmentions.")
        form = request.form()
        source, target = (first(form, name).strip() for name in ("source", "target"))
        page = self._check(source, target)
        now = self._clock.now_ms()
        if not self._database.read_now(store.waits, page, source, now):
            client, since = network_of(self._proxies.client(request)), self._clock.monotonic_ms()
            if wait := self._networks.take(client, since) or self._hosts.take(
                host_of(source), since
            ):
                message = "There were too many webmentions. Please send it again later."
                raise too_many(message, wait)
            if not await self._database.write(store.receive, page, source, target, now):
                message = "Too many webmentions wait. Please send it again later."
                raise HttpError(503, "busy", message, headers=(("Retry-After", "600"),))
        headers = (("Content-Type", "text/plain; charset=utf-8"), NOT_STORED, ANY_ORIGIN)
        return Response(202, headers, TAKEN)

    def _page(self, target: str) -> PageRef:
        """Return the page that `target` addresses, directly or by our plain page of comments."""
        if not origin(target):
            raise UrlError("This must be an http or https address.")
        if len(target) > LENGTH:  # it is stored as it was sent
            raise UrlError(f"This must have at most {LENGTH} characters.")
        if self._plain and target.startswith(self._plain):
            query = parse_urlencoded(urlsplit(target).query)
            return self._sites.locate(first(query, "url"), first(query, "site"))
        return self._sites.locate(target)

    def _check(self, source: str, target: str) -> PageRef:
        """Check both addresses; return the page that `target` addresses. Raise HttpError 400."""
        problems = {}
        page = PageRef("", "")
        if not is_site(source):
            problems["source"] = (
                f"This must be an http or https address of at most {SITE_LENGTH} characters."
            )
        elif source.partition("#")[0] == target.partition("#")[0]:
            problems["source"] = "This must be another page than the target."
        try:
            page = self._page(target)
            if page.site not in self._taking:
                problems["target"] = "The site of this page takes no webmentions."
        except (UrlError, FormError) as error:
            problems["target"] = str(error)
        if problems:
            raise HttpError(400, "invalid", f"Please look at: {', '.join(problems)}.", problems)
        return page

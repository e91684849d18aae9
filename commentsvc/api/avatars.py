"""Avatars: pictures of authors from a service such as Gravatar, if a site turns that on.

The pictures are fetched by this service. So the other service does not learn who reads a comment,
only that somebody here reads comments of the owner of a digest. It gets the MD5 of an email
address, which our lists contain too, but never the address. The answer is an image of a known type
and a limited size, or nothing: then the widget shows the picture that it draws. Clients of other
systems cannot do that, and ask for a neutral picture instead. Answers are cached in memory for a
day, also if there is no picture. After a failure there is a pause.

A request may contain any digest: made-up ones cause fetches, which are limited, for each network
and for all.
"""

import asyncio
from typing import Annotated, Final, Literal, NamedTuple

from cachetools import TLRUCache
from msgspec import Meta

from commentsvc.api.parameters import SiteName
from commentsvc.api.serialize import is_digest
from commentsvc.comments.page_urls import Sites
from commentsvc.http.messages import (
    ANY_ORIGIN,
    EMBEDDABLE,
    NO_SNIFFING,
    HttpError,
    Request,
    Response,
    TrustedProxies,
)
from commentsvc.http.operation import Content, Query, handles
from commentsvc.settings.schema import Settings
from commentsvc.util.client_network import network_of
from commentsvc.util.clock import Clock
from commentsvc.util.http_client import Fetched, RemoteError, SettingsClient
from commentsvc.util.lasting import Lasting
from commentsvc.util.ratelimit import NetworkLimiter, RateLimiter
from commentsvc.util.timestamps import DAY_MS, MINUTE_MS

PREFIX: Final = "/api/avatar/"
BYTES: Final = 32_768  # of a picture; one with 96 pixels has 2 to 12 KiB
KEPT: Final = 256  # cached answers, so at most 8 MiB
KEPT_MS: Final = DAY_MS  # how long we and browsers cache an answer
PAUSE_MS: Final = 5 * MINUTE_MS  # before another attempt after a failure
AT_ONCE: Final = 8  # fetches
RATE: Final = "300/minute"  # of fetches
NETWORK_RATE: Final = "150/minute"  # of fetches that one network causes
QUERY: Final = "?d=404&s=96"  # Gravatar's parameters: 404 without a picture, size in pixels
TYPES: Final = ("image/gif", "image/jpeg", "image/png", "image/webp")

NEUTRAL: Final = (  # an SVG image, as large as those that are fetched
    b'<svg xmlns="http://www.w3.org/2000/svg" width="96" height="96" viewBox="0 0 2 2">'
    b'<circle cx="1" cy="1" r="1" fill="#8a8f98"/></svg>'
)
SVG: Final = "image/svg+xml"
NOBODY: Final = "0"  # instead of a digest, for an author without an email address

_HEADERS: Final = (
    ("Content-Security-Policy", "default-src 'none'; sandbox"),
    ANY_ORIGIN,
    EMBEDDABLE,
    NO_SNIFFING,
)


class AvatarQuery(Query, frozen=True):
    """A site, and what is answered if there is no picture."""

    site: SiteName = ""
    fallback: Annotated[
        Literal["0", "1"],
        Meta(description="1 for a neutral picture if there is none; 0 for 404."),
    ] = "0"


def _no_picture() -> HttpError:
    return HttpError(404, "not_found", "There is no such picture.")


def _image(media_type: str, content: bytes, kept_ms: int) -> Response:
    """Return an image that browsers cache for `kept_ms`."""
    age = f"public, max-age={kept_ms // 1_000}"
    headers = (("Content-Type", media_type), ("Cache-Control", age), *_HEADERS)
    return Response(200, headers, content)


class Kept(NamedTuple):
    """A picture, or None, and for how many milliseconds it is cached."""

    picture: Fetched | None
    kept_ms: int


class Avatars:
    """The handler, and its cache."""

    def __init__(self, settings: Settings, sites: Sites, clock: Clock, lasting: Lasting) -> None:
        self._sources = {site.name: site.avatar_url.rstrip("/") for site in settings.sites}
        self._client = SettingsClient(settings.hooks.allowed_networks)
        self._sites = sites
        self._clock = clock
        self._kept: TLRUCache[str, Kept] = TLRUCache(KEPT, _expiry, clock.monotonic_ms)
        self._limiter = lasting.get("avatars", RateLimiter, RATE)
        self._of_each = lasting.get("avatars of networks", NetworkLimiter, NETWORK_RATE)
        self._proxies = TrustedProxies(settings.server.trusted_proxies)
        self._lane = asyncio.Semaphore(AT_ONCE)

    @handles(
        "GET",
        "/api/avatar/{path}",
        Content("image/*"),
        note="Only where the site has an `avatar_url`.",
        path_type=Annotated[
            str,
            Meta(
                description="`avatar` of a comment; 0 for an author without one.",
                pattern=f"^([0-9a-f]{{32}}|{NOBODY})$",
            ),
        ],
        errors=(400, 404),
    )
    async def picture(self, request: Request, query: AvatarQuery) -> Response:
        """The picture of an author, by the MD5 digest of an email address.

        MD5 is the `avatar` of a comment, or NOBODY. The core does not cache it, because it would
        never be purged.
        """
        source = self._sources[self._sites.named(query.site)]
        name = request.path.removeprefix(PREFIX)
        if name != NOBODY and not is_digest(name):
            raise _no_picture()
        found = None
        if source and name != NOBODY:
            found = await self._find(f"{source}/{name}{QUERY}", request)
        if found is not None:
            return _image(found.type, found.body, KEPT_MS)
        if query.fallback == "1":
            return _image(SVG, NEUTRAL, PAUSE_MS)
        raise _no_picture()

    async def _find(self, url: str, request: Request) -> Fetched | None:
        """Return a cached or fetched picture; None if there is none, or if fetching fails.

        Nothing is fetched for a network that has caused too many fetches.
        """
        if url not in self._kept:
            network = network_of(self._proxies.client(request))
            if self._of_each.take(network, self._clock.monotonic_ms()):
                return None
            async with self._lane:
                if url not in self._kept:  # nobody has fetched it meanwhile
                    await self._fetch(url)
        kept = self._kept.get(url)
        return kept.picture if kept else None

    async def _fetch(self, url: str) -> None:
        if self._limiter.take("", self._clock.monotonic_ms()):
            return
        found: Fetched | None = None
        try:
            found = await self._client.get(url, BYTES)
            kept_ms = KEPT_MS if found.status in (200, 404) else PAUSE_MS
        except RemoteError:
            kept_ms = PAUSE_MS
        if found and (found.status != 200 or found.type not in TYPES):
            found = None
        self._kept[url] = Kept(found, kept_ms)


def _expiry(_url: str, kept: Kept, now_ms: float) -> float:
    """Return the time until which an answer is cached."""
    return now_ms + kept.kept_ms

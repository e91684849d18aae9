"""Readers' search in the comments of a page or a whole site.

An answer is made anew for each request, and never cached: what is deleted is not found any more,
and nobody can fill the cache with words. What a search costs has bounds: see `comments.search`.
"""

from typing import Annotated, Final, NamedTuple

from msgspec import UNSET, Meta, UnsetType

from commentsvc.api.parameters import LanguageTag, PageOrSiteQuery
from commentsvc.api.serialize import FoundComments, LatestComment
from commentsvc.comments import search
from commentsvc.comments.page_urls import PageRef
from commentsvc.comments.search import Found
from commentsvc.context import ServiceContext
from commentsvc.http.messages import (
    ANY_ORIGIN,
    Request,
    Response,
    TrustedProxies,
    json_answer,
    too_fast,
)
from commentsvc.http.operation import handles
from commentsvc.model import fragment
from commentsvc.util.client_network import network_of
from commentsvc.util.ratelimit import NetworkLimiter
from commentsvc.util.text import passage
from commentsvc.util.timestamps import rfc3339

LISTED: Final = 10  # comments in an answer
PASSAGE: Final = 200  # characters of a comment that are shown
# Searches of one network, each of which may take some milliseconds of a reading thread.
SEARCHES: Final = "30/minute"


class SearchQuery(PageOrSiteQuery, frozen=True):
    """What is searched, and where."""

    q: Annotated[
        str,
        Meta(
            description=f"Up to {search.SHOWN_TERMS} words, which must all be in the comment or its"
            " author's name.",
            max_length=search.SHOWN_LENGTH,
            extra={"message": f"This may have {search.SHOWN_LENGTH} characters."},
        ),
    ] = ""
    before: (
        Annotated[
            int,
            Meta(
                description="Continue here: `next` of the previous answer.",
                ge=1,
                le=10**18 - 1,
                extra={"message": "This must be `next` of an answer. Leave it out to begin."},
            ),
        ]
        | UnsetType
    ) = UNSET
    lang: LanguageTag = "en"


class SearchResults(NamedTuple):
    """What a search for `words` found on a page (its url is "" for a site), and where to go on."""

    page: PageRef
    words: list[str]
    found: list[Found]
    next: int | None


class CommentSearch:
    """The handler of readers' searches."""

    def __init__(self, service: ServiceContext) -> None:
        self._database = service.database
        self._sites = service.sites
        self._clock = service.clock
        self._limiter = service.lasting.get("searches", NetworkLimiter, SEARCHES)
        self._proxies = TrustedProxies(service.settings.server.trusted_proxies)

    @handles("GET", "/api/search", FoundComments, errors=(400, 429, 503))
    async def search(self, request: Request, query: SearchQuery) -> Response:
        """Search the comments of a page, or of the whole site.

        ``{"data": [{"id", "author", "excerpt", "link", "title", "published"}], "next"?}``: the
        newest comments with all words of `q` in their text or their author's name, at most 10;
        `next` is the value of `before` for further ones. Upper and lower case, and accents, make no
        difference. Only whole words are found, and a new comment after some seconds. Not cached.
        400 for an invalid parameter, 429 for a network that searches more than 30 times a minute.
        """
        results = await self.find(request, query)
        data = [
            LatestComment(
                comment.id,
                comment.author,
                passage(comment.html, results.words, PASSAGE),
                self._sites.address(entry.site, entry.url) + fragment(comment.id),
                entry.title or entry.url,
                rfc3339(comment.published_at or comment.created_at),
            )
            for entry in (each.entry for each in results.found)
            for comment in [entry.comment]
        ]
        return json_answer(FoundComments(data, results.next or UNSET), ANY_ORIGIN)

    async def find(self, request: Request, query: SearchQuery) -> SearchResults:
        """Return what a search finds. Raise HttpError 429, UrlError or UnknownSiteError."""
        page = self._sites.page_or_site(query.url, query.site)
        words = search.words_of(query.q)
        if not words:
            return SearchResults(page, words, [], None)
        network = network_of(self._proxies.client(request))
        if wait := self._limiter.take(network, self._clock.monotonic_ms()):
            raise too_fast(wait)
        before = None if query.before is UNSET else query.before
        found = await self._database.read_for_public(search.find_shown, words, page, LISTED, before)
        return SearchResults(page, words, *found)

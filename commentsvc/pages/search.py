"""Search: readers' search without JavaScript, as a page.

Its links lead to the thread as a page of its own: to the part that begins with the comment, if the
thread is long.
"""

from typing import Annotated, Final, NamedTuple
from urllib.parse import urlencode

from msgspec import Meta
from msgspec.structs import replace

from commentsvc.api.search import PASSAGE, CommentSearch, SearchQuery, SearchResults
from commentsvc.comments import pagination, search
from commentsvc.comments.page_urls import Sites
from commentsvc.comments.search import Found
from commentsvc.context import ServiceContext
from commentsvc.http.messages import NO_SNIFFING, NOT_STORED, Request, Response
from commentsvc.http.operation import HTML as PAGE
from commentsvc.http.operation import handles
from commentsvc.model import fragment
from commentsvc.pages.embed import HTML, POLICY
from commentsvc.util.i18n import ENGLISH, Language, find_language
from commentsvc.util.templates import Templates
from commentsvc.util.text import passage
from commentsvc.util.timestamps import rfc3339

WHOLE: Final = 100  # comments of a thread that is shown as a whole, however long they are
_TEMPLATES: Final = Templates("")


class SearchPageQuery(SearchQuery, frozen=True):
    """As for programs, but of longer words the beginning is searched."""

    q: Annotated[str, Meta(description="The words.")] = ""


class _Result(NamedTuple):
    """A comment as the page shows it."""

    author: str
    passage: str
    title: str
    published: str
    link: str


class SearchPage:
    """The handler of the page."""

    def __init__(self, service: ServiceContext, searches: CommentSearch) -> None:
        self._sites: Sites = service.sites
        self._searches = searches

    @handles(
        "GET",
        "/embed/search",
        PAGE,
        errors={400: PAGE, 429: PAGE, 503: PAGE},
    )
    async def show(self, request: Request, query: SearchPageQuery) -> Response:
        """Search the comments of a page, or of the whole site, by a form without JavaScript."""
        results = await self._searches.find(request, query)
        language = find_language(query.lang)
        site, url = results.page
        html = _TEMPLATES.render(
            "search.html",
            language,
            blogs=self._sites.blogs(site),
            back=self._sites.address(site, url) if url else "",
            given=query,
            typed=query.q[: search.SHOWN_LENGTH],
            found=[_result(each, results.words, query.site, language) for each in results.found],
            asked=bool(results.words),
            more=_more(query, results),
        )
        return Response(200, (HTML, NOT_STORED, NO_SNIFFING, POLICY), html.encode())


def _result(found: Found, words: list[str], site: str, language: Language) -> _Result:
    entry = found.entry
    comment = entry.comment
    query = {"url": entry.url, "view": "page"}
    if site:
        query["site"] = site
    if language.tag != ENGLISH:
        query["lang"] = language.tag
    if found.count > WHOLE:
        query["after"] = pagination.encode("oldest", replace(comment, id=comment.id - 1))
    return _Result(
        comment.author,
        passage(comment.html, words, PASSAGE),
        entry.title or entry.url,
        rfc3339(comment.published_at or comment.created_at),
        f"thread?{urlencode(query)}{fragment(comment.id)}",
    )


def _more(query: SearchQuery, results: SearchResults) -> str:
    """Return the link to further results; "" without any."""
    if results.next is None:
        return ""
    words = query.q[: search.SHOWN_LENGTH]
    given = {"q": words, "url": query.url, "site": query.site, "lang": query.lang}
    return f"search?{urlencode({name: text for name, text in given.items() if text})}" + (
        f"&before={results.next}"
    )

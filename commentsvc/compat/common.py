"""What the APIs for clients of other systems have in common.

Such a client knows paths of pages and one address of the service. So each site that answers it has
an address of its own: ``/isso`` for the first one, ``/isso-NAME`` for the others.
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from typing import Annotated, ClassVar, Final, NamedTuple, TypeVar

import msgspec
from msgspec import Meta

from commentsvc.api.author import VALUES, AuthorActions
from commentsvc.api.errors import foreseen
from commentsvc.api.feeds import Feeds
from commentsvc.api.parameters import COUNTED
from commentsvc.api.reactions import PageReactions
from commentsvc.api.serialize import CommentSerializer
from commentsvc.api.submit import HttpSubmissions
from commentsvc.api.views import PageViews
from commentsvc.comments import queries
from commentsvc.comments.page_urls import PageRef
from commentsvc.comments.queries import Thread
from commentsvc.comments.submission import (
    PLAIN_SITE,
    MalformedError,
    Submission,
    SubmissionFields,
    check,
)
from commentsvc.context import ServiceContext
from commentsvc.db.connection import Snapshot
from commentsvc.errors import TooManyVotes, UnknownComment
from commentsvc.feedback import views
from commentsvc.http.messages import (
    ANY_ORIGIN,
    EMBEDDABLE,
    JSON,
    NO_SNIFFING,
    NOT_STORED,
    CorsPolicy,
    Headers,
    HttpError,
    Request,
    Response,
    encode,
    json_answer,
)
from commentsvc.http.operation import Content, declared
from commentsvc.http.router import NOTHING_HERE, Handler, HandlerResult, Route, bound
from commentsvc.model import thread_tag
from commentsvc.settings.schema import Site
from commentsvc.submissions.service import Accepted
from commentsvc.util.i18n import translate

WEBSITE_LENGTH: Final = 254  # characters

_HOST = r"(?:[A-Za-z0-9-]+\.)+[A-Za-z0-9-]+"

Website = Annotated[
    str,
    Meta(
        description="The author's web site, with or without `http://` before it.",
        extra_json_schema={
            "pattern": rf"{PLAIN_SITE}|^{_HOST}$",
            "maxLength": WEBSITE_LENGTH,
        },
    ),
]

# The client's form, or our own, in which the router answers to an id that no comment can have.
NO_SUCH_ID: Final = {404: Content(JSON)}

_begins_with_host = re.compile(rf"{_HOST}(?:[:/?#]|$)").match

T = TypeVar("T")


class Handlers(NamedTuple):
    """Our own handlers for requests that clients of other systems make in the same way."""

    submissions: HttpSubmissions
    serializer: CommentSerializer
    actions: AuthorActions
    reactions: PageReactions
    views: PageViews
    feeds: Feeds
    cors: CorsPolicy


def prefixes(first: str, sites: Iterable[Site]) -> dict[str, Site]:
    """Return the `sites` by the prefix of their routes: `first` is that of the first site."""
    return {
        f"{first}-{site.name}" if position else first: site for position, site in enumerate(sites)
    }


def guarded(handler: Handler, refuse: Callable[[Request, HttpError], Response]) -> Handler:
    """Return `handler` with foreseen errors answered by `refuse`, in the form of its clients."""

    def refusal(request: Request, error: Exception) -> Response:
        known = foreseen(error)
        return refuse(request, known)

    async def later(request: Request, answer: Awaitable[Response]) -> Response:
        try:
            return await answer
        except Exception as error:
            return refusal(request, error)

    def handled(request: Request) -> HandlerResult:
        try:
            answer = handler(request)
        except Exception as error:
            return refusal(request, error)
        return answer if isinstance(answer, Response) else later(request, answer)

    return handled


def error_text(error: HttpError) -> str:
    """Return the message of an error and those of its fields as one text."""
    messages = [error.message, *(error.fields or {}).values()]
    return " ".join(dict.fromkeys(map(translate, messages)))


def json_body(request: Request) -> bytes:
    """Return the JSON body of a request; a form on another page cannot send it."""
    if request.media_type() not in ("", JSON):
        raise HttpError(403, "csrf", "Send the body with Content-Type: application/json.")
    return request.body


def read_json(decode: Callable[[bytes], T], body: bytes) -> T:
    """Return what `decode` makes of a body. Raise MalformedError."""
    try:
        return decode(body)
    except msgspec.ValidationError as error:
        raise MalformedError(f"{error}.") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise MalformedError("The body is not valid JSON in UTF-8.") from None


def with_scheme(site: str) -> str:
    """Return the address of an author's web site, which may be a host name without a scheme."""
    site = site.strip()
    return f"http://{site}" if _begins_with_host(site) else site


def split_pages(pages: str) -> list[str]:
    """Return the pages of a list with commas. Raise HttpError 400 if there are too many."""
    found = pages.split(",")
    if len(found) > COUNTED:
        message = f"Ask for at most {COUNTED} pages at once."
        raise HttpError(400, "invalid", message)
    return found


class SiteApi:
    """The handlers of a system's API for one site, and what they do alike.

    `PREFIX` is that of the first site. Errors are answered by `refuse`, in the form of the clients.
    """

    PREFIX: ClassVar[str]

    def __init__(self, service: ServiceContext, handlers: Handlers, site: Site) -> None:
        self._site = site
        self._bounds = service.settings.comments
        self._sites = service.sites
        self._locate = service.sites.locator(site.name)
        self._database = service.database
        self._submissions, self._actions = handlers.submissions, handlers.actions
        self._cors, self._views = handlers.cors, handlers.views
        self._cache_control = ("Cache-Control", service.settings.server.cache_control)

    def routes(self, prefix: str) -> list[Route]:
        """Return the routes below `prefix`; only those of the first site are documented."""
        return [
            Route(
                operation.method,
                prefix + operation.path.removeprefix(self.PREFIX),
                guarded(bound(operation, handler), self.refuse),
                operation if prefix == self.PREFIX else None,
                operation.target_rule,
            )
            for operation, handler in declared(self)
        ]

    def refuse(self, request: Request, error: HttpError) -> Response:
        """Return the answer to an error."""
        raise NotImplementedError

    async def store(
        self, request: Request, read: Callable[[Request], SubmissionFields], *, any_parent: bool
    ) -> tuple[Submission, Accepted, Headers]:
        """Store what `read` finds in a request; return it, the result, and the CORS headers.

        These clients know no form token. `any_parent` is for systems whose servers accept a reply
        to a comment that is gone: see `create.add`.

        Raise HttpError 403 or 429, SubmissionError, CommentsError, or DatabaseError; then nothing
        is stored.
        """
        network = self._submissions.admit(request)
        checked = msgspec.structs.replace(
            check(read(request), self._submissions.rules(request, self._locate)),
            form_token=None,
            any_parent=any_parent,
        )
        return checked, *await self._submissions.submit(request, network, checked)

    async def vote(self, request: Request, value: int) -> None:
        """Store the vote of the requesting network on the comment of a path, or 0 to take it back.

        The clients always show their buttons, and throw if they are refused: nothing is stored,
        and nothing said, where votes are off or the network has its vote. Raise HttpError 403 or
        429, UnknownComment.
        """
        number = request.number()
        entry = self._database.read_now(queries.find, number)
        if entry is None or entry.site != self._site.name:
            raise UnknownComment([number])
        if value in VALUES[self._bounds.votes]:
            with suppress(TooManyVotes):
                await self._actions.vote_by_form(request, number, value)

    def views_of(self, snapshot: Snapshot, thread: Thread) -> int:
        """Return how often the page of a thread was viewed; 0 if the site does not count views."""
        name = self._site.name
        return views.views(snapshot, name, thread.url) if self._sites.counts_views(name) else 0

    def count_view(self, request: Request, page: PageRef) -> int:
        """Count a view, which is stored later; return 1, or 0 if it does not count.

        Nothing is counted where views are off, or of a network that has too many.
        """
        if self._sites.counts_views(page.site):
            with suppress(HttpError):
                self._views.count(request, page)
                return 1
        return 0

    def threads_of(self, urls: Iterable[str]) -> Callable[[Snapshot], dict[str, Thread]]:
        """Return the function that reads the threads of those `urls` that are pages of the site."""
        site = self._site.name
        pages = {url: page for url in urls if (page := self._sites.locate_or_none(url, site))}
        return lambda snapshot: {
            url: queries.thread(snapshot, *page) for url, page in pages.items()
        }

    def tags_of(self, threads: Mapping[str, Thread]) -> tuple[str, ...]:
        """Return the tags of an answer that shows `threads`."""
        return tuple({thread_tag(self._site.name, thread.url) for thread in threads.values()})

    def on_blog(self, file: str | None) -> Response:
        """Return the redirect to a `file` of the system's client on the blog.

        Raise HttpError 404 for None, or if the address of the blog is not known.
        """
        if not file or not self._site.origin:
            raise HttpError(404, *NOTHING_HERE)
        location = f"{self._site.origin}/{file}"
        # Browsers ask each answer on the way to a script whether an isolated page may have it
        return Response(302, (("Location", location), EMBEDDABLE, NOT_STORED), b"")

    def answer(self, what: object, *tags: str) -> Response:
        """Return JSON that any page may read; it is cached under `tags`."""
        headers = (("Content-Type", JSON), self._cache_control, ANY_ORIGIN, NO_SNIFFING)
        return Response(200, headers, encode(what), tags)


def routes_of(first: str, sites: Iterable[Site], api: Callable[[Site], SiteApi]) -> list[Route]:
    """Return the routes of `sites`: those of `api` for each site, below its prefix."""
    found = prefixes(first, sites).items()
    return [route for prefix, site in found for route in api(site).routes(prefix)]


def refused(error: HttpError, answer: msgspec.Struct) -> Response:
    """Return the JSON for an error, whose text the client shows. Any page may read it."""
    return json_answer(answer, ANY_ORIGIN, *error.headers, status=error.status)

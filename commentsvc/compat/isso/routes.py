"""Isso's HTTP API (0.13 and 0.14), for its published clients, on the same data as our own.

A client knows paths of pages, and one address of the service. So each site with `isso` in its
settings has an address of its own: ``/isso`` for the first one, ``/isso-NAME`` for the others.
Submissions pass the same checks as ours.

Isso's clients send credentials with every request, for which browsers require the exact origin in
the answer. A site with one origin has the same answer for all clients; those of a site with several
origins are cached for each of them. The author of a comment is recognised by a cookie that is named
after the comment's id and contains our edit token. The client itself sets a second cookie on the
blog, which only says that the first one exists.

Clients of version 0.13 add the replies of each comment to the number of comments, and continue a
list with `after`; those of 0.14 expect the number of all comments, and send `sort` and `offset`. So
a request with one of these is answered as by 0.14.

Replies follow Isso's rules: a comment whose parent is gone becomes a top-level comment, and a
deleted comment can be answered and voted for as long as it is listed for its replies.

Isso's errors are texts, which its clients write to the console.
"""

import re
from collections.abc import Coroutine, Iterable, Sequence
from datetime import UTC, datetime
from email.utils import format_datetime
from functools import partial
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from commentsvc.api import feeds
from commentsvc.api.author import DISABLED, VALUES, with_text
from commentsvc.api.parameters import FORMER, PageUrl
from commentsvc.auth.edit_tokens import EditTokens
from commentsvc.auth.sessions import cookie_value
from commentsvc.comments import queries, submission, tree
from commentsvc.comments.page_urls import PageRef
from commentsvc.comments.queries import Thread
from commentsvc.comments.submission import SubmissionFields
from commentsvc.compat import two_levels
from commentsvc.compat.common import (
    Handlers,
    SiteApi,
    error_text,
    guarded,
    json_body,
    prefixes,
    routes_of,
)
from commentsvc.compat.isso import messages
from commentsvc.compat.isso.messages import (
    IssoComment,
    IssoConfig,
    IssoEdit,
    IssoHtml,
    IssoPages,
    IssoPreview,
    IssoSerializer,
    IssoSettings,
    IssoSubmission,
    IssoThread,
    IssoVotes,
    tally,
)
from commentsvc.compat.two_levels import Order, TwoLevelSelection
from commentsvc.context import ServiceContext
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.errors import TooManyVotes, UnknownComment
from commentsvc.feedback import votes as voting
from commentsvc.http.messages import (
    JSON,
    NO_SNIFFING,
    NOT_STORED,
    PREFLIGHT_AGE,
    VARY_ORIGIN,
    Headers,
    HttpError,
    Request,
    Response,
    encode,
    json_answer,
)
from commentsvc.http.operation import NOTHING, TEXT, Content, Query, handles, json_of
from commentsvc.http.router import NOTHING_HERE, Route
from commentsvc.model import APPROVED, DELETED, Comment, Entry, site_tag, thread_tag
from commentsvc.moderation import author_edits
from commentsvc.moderation.changes import Signature
from commentsvc.settings.schema import Site
from commentsvc.settings.types import REQUIRED
from commentsvc.util.i18n import translate

PREFIX: Final = "/isso"
FILES: Final = "isso-client"  # the folder of the blog with Isso's own files
SHORT: Final = 100  # pages that are counted on the event loop
MOST: Final = 10**15  # the greatest number in a query; a page has fewer comments
LATEST: Final = 100  # comments in the list of the latest ones
EXPOSED: Final = (
    ("Access-Control-Allow-Credentials", "true"),
    ("Access-Control-Expose-Headers", "X-Set-Cookie, Date"),
)
VOTED: Final = "Your network has already voted on this comment, or it is yours."
METHODS: Final = ("GET", "POST", "PUT", "DELETE")
TEXT_TYPE: Final = ("Content-Type", "text/plain; charset=utf-8")
_OLD_LINK: Final = re.compile(r"/id/[0-9]+/(unsubscribe|activate|edit|delete)/.").search

_Whole = Annotated[int, Meta(ge=0, le=MOST, extra={"message": "This must be a whole number."})]


Plain = Annotated[Literal["0", "1"], Meta(description="1 for the Markdown source, 0 for HTML.")]


class IssoPageQuery(Query, frozen=True):
    """A page."""

    uri: PageUrl


class IssoPlainQuery(Query, frozen=True):
    """How the text of a comment is shown."""

    plain: Plain = "0"


class IssoThreadQuery(IssoPageQuery, frozen=True):
    """Which comments of a page are listed."""

    parent: Annotated[_Whole, Meta(description="Only replies to this comment.")] | UnsetType = UNSET
    limit: Annotated[_Whole, Meta(description="The largest number of comments.")] | UnsetType = (
        UNSET
    )
    nested_limit: (
        Annotated[_Whole, Meta(description="The largest number of replies to each comment.")]
        | UnsetType
    ) = UNSET
    after: Annotated[
        float,
        Meta(description="Only comments since then, in seconds of Unix time.", ge=0, le=1e11),
    ] = 0.0
    sort: Annotated[Order, Meta(description="The order; else oldest first.")] | UnsetType = UNSET
    offset: (
        Annotated[_Whole, Meta(description="The number of comments to skip, with a `limit`.")]
        | UnsetType
    ) = UNSET
    plain: Plain = "0"


class IssoLatestQuery(Query, frozen=True):
    """How many of the latest comments are listed."""

    limit: Annotated[
        int, Meta(ge=1, le=MOST, extra={"message": "This must be a whole number, at least 1."})
    ]


_REFUSALS: Final = dict.fromkeys((400, 403, 429, 503), TEXT)
_COMMENT: Final = json_of(IssoComment)
_handles = partial(handles, ignores_unknown=True, errors=_REFUSALS)
_acts = partial(handles, ignores_unknown=True, errors={**_REFUSALS, 404: TEXT})
_own = partial(_acts, note="The cookie that came with the comment identifies the author.")
_votes = partial(_acts, answer=json_of(IssoVotes | None))
_redirects = partial(handles, answer={302: NOTHING, 404: TEXT}, ignores_unknown=True, errors=())

# The files of Isso that themes request.
NAMES: Final = ("embed.min.js", "count.min.js", "isso.css")


def _pictures(service: str, pictures: str) -> str:
    """Return the address of pictures for `IssoSerializer`; "" if the address is not known.

    `pictures` is that below the `service`, "" if the site shows none.
    """
    if not service or not pictures:
        return ""
    mark = "&" if "?" in pictures else "?"
    return f"{service.rstrip('/')}/{pictures}{mark}fallback=1"


def served(sites: Iterable[Site]) -> dict[str, Site]:
    """Return the sites with `isso` in their settings, by the prefix of their routes."""
    return prefixes(PREFIX, (site for site in sites if site.isso))


def routes(service: ServiceContext, handlers: Handlers) -> list[Route]:
    """Return the routes of all sites with `isso` in their settings."""
    sites = (site for site in service.settings.sites if site.isso)
    return routes_of(PREFIX, sites, partial(IssoApi, service, handlers))


def read_only_posts(sites: Iterable[Site]) -> frozenset[str]:
    """Return the paths whose POST requests only read."""
    return frozenset(f"{prefix}/count" for prefix in served(sites))


class IssoApi(SiteApi):
    """The handlers of Isso's API for one site."""

    PREFIX = PREFIX

    def __init__(self, service: ServiceContext, handlers: Handlers, site: Site) -> None:
        super().__init__(service, handlers, site)
        settings = service.settings
        self._votes = VALUES[settings.comments.votes]
        self._tokens = EditTokens(service.keys)
        pictures = _pictures(settings.server.public_url, service.sites.options[site.name].pictures)
        self._serializer = IssoSerializer(service.keys[0], pictures)
        self._clock = service.clock
        self._feeds = handlers.feeds
        self._is_secure = settings.server.public_url.startswith("https://")
        asks = service.sites.options[site.name].asks
        self._config = IssoConfig(
            reply_to_self=True,
            require_email=asks.email == REQUIRED,
            require_author=asks.author == REQUIRED,
            reply_notifications=bool(settings.mail.host) and settings.mail.reply_notifications,
            gravatar=bool(pictures),
            feed=True,
            avatar=False if pictures else UNSET,
        )
        self._has_one_answer = len(site.origins) < 2
        known = (("Access-Control-Allow-Origin", site.origin), *EXPOSED) if site.origins else ()
        cache_control = ("Cache-Control", settings.server.cache_control)
        self._shared: Headers = (cache_control, NO_SNIFFING, *known)
        self._private: Headers = (cache_control, NO_SNIFFING)

    def routes(self, prefix: str) -> list[Route]:
        found = super().routes(prefix)
        methods: dict[str, list[str]] = {}
        for route in found:
            methods.setdefault(route.pattern, []).append(route.method)
        below = f"{prefix}/id/{{path}}"
        found += [Route(each, below, guarded(self.lead_on, self.refuse)) for each in METHODS]
        for pattern, allowed in methods.items():
            found.append(Route("OPTIONS", pattern, partial(self.preflight, methods=allowed)))
        return found

    @_handles("GET", "/isso/", IssoThread, cached=True)
    async def list_comments(self, request: Request, query: IssoThreadQuery) -> Response:
        """List the comments of a page (Isso)."""
        page = self._locate(query.uri)
        selection = TwoLevelSelection(
            _or_none(query.parent),
            _or_none(query.limit),
            _or_none(query.nested_limit),
            round(query.after * 1_000_000),
            query.sort or "oldest",
            0 if query.limit is UNSET else query.offset or 0,
            counts_all=query.sort is not UNSET or query.offset is not UNSET,
        )
        most = self._bounds.list_limit
        part = await self._database.read_for_public(two_levels.read, page, selection, most)
        plain = query.plain == "1"
        shown = self._serializer.thread(part, selection.parent, self._config, plain=plain)
        return self._shown(request, shown, thread_tag(page.site, part.thread.url))

    @_handles("POST", "/isso/count", list[int], cached=True, body=IssoPages)
    def count(self, request: Request) -> Response | Coroutine[Any, Any, Response]:
        """Count the comments of several pages (Isso).

        ``[2, …]``; 0 for pages of other sites.
        """
        urls = messages.pages(json_body(request))
        work = self.threads_of(urls)
        few = len(set(urls)) <= SHORT

        def answer(threads: dict[str, Thread]) -> Response:
            counts = [threads[url].count if url in threads else 0 for url in urls]
            return self._shown(request, counts, *(self.tags_of(threads) if few else ()))

        if few:
            return answer(self._database.read_now(work))

        async def later() -> Response:
            return answer(await self._database.read_for_public(work))

        return later()

    @_handles("GET", "/isso/config", IssoSettings, cached=True, errors=())
    def config(self, request: Request) -> Response:
        """The server's settings, for Isso's clients."""
        return self._shown(request, IssoSettings(self._config), site_tag(self._site.name))

    @_handles(
        "POST",
        "/isso/new",
        {201: _COMMENT, 202: _COMMENT, 401: TEXT, 409: TEXT},
        body=IssoSubmission,
    )
    async def submit(self, request: Request, query: IssoPageQuery) -> Response:
        """Submit a comment (Isso).

        201 for a comment that is shown, 202 for one that waits. The author gets two cookies.
        """

        def fields(request: Request) -> SubmissionFields:
            body = json_body(request)
            length, needed = self._bounds.author_length, self._config.require_author
            return messages.submission_fields(body, query.uri, length, needs_author=needed)

        checked, accepted, cors = await self.store(request, fields, any_parent=True)
        shown = await self._database.read(self._own, accepted.comment)
        cookies: Headers = ()
        if accepted.token:
            seconds = (accepted.token_expires_at - self._clock.now_ms()) // 1_000
            cookies = self._cookies(shown.id, accepted.token, seconds)
        if checked.notify:
            shown = msgspec.structs.replace(shown, notification=1)
        status = 201 if accepted.comment.status == APPROVED else 202
        return _written(shown, cors, *cookies, status=status)

    @_own("GET", "/isso/id/{id}", _COMMENT)
    async def view(self, request: Request, query: IssoPlainQuery) -> Response:
        """Read your own comment (Isso).

        403 without the cookie.
        """
        cors = self._cors.check(request, self._site.name)
        entry = self._claim(request, unknown=404)
        shown = await self._database.read(self._own, entry.comment, plain=query.plain == "1")
        return _written(shown, cors)

    @_own("PUT", "/isso/id/{id}", _COMMENT, body=IssoEdit)
    async def edit(self, request: Request) -> Response:
        """Edit your own comment (Isso).

        403 without the cookie.
        """
        cors = self._cors.check(request, self._site.name)
        body = json_body(request)
        entry = self._claim(request, unknown=403)
        length, asks = self._bounds.author_length, self._sites.options[entry.site].asks
        fields = messages.edited_fields(body, entry.comment, entry.url, length, asks)
        rules = submission.Rules(self._bounds, lambda _url: (entry.site, entry.url))
        sent = submission.check(fields, rules)
        signature = Signature(sent.author, sent.site)
        revised = msgspec.structs.replace(
            with_text(entry, sent.message), author=signature.author, site=signature.site
        )
        verdict = await self._submissions.check_edit(request, revised)
        number, now = entry.comment.id, self._clock.now_ms()
        changed = await self._database.write(
            author_edits.edit, number, sent.message, verdict, now, signature
        )
        shown = await self._database.read(self._own, changed)
        return _written(shown, cors)

    @_own("DELETE", "/isso/id/{id}", IssoComment | None)
    async def delete(self, request: Request) -> Response:
        """Delete your own comment (Isso).

        ``null``, or the deleted comment if it has replies.
        """
        cors = self._cors.check(request, self._site.name)
        json_body(request)
        comment = self._claim(request, unknown=403).comment
        await self._database.write(author_edits.delete, comment.id, self._clock.now_ms())
        left = None
        if comment.parent_id is None and await self._database.read(tree.has_replies, comment.id):
            votes = await self._database.read(_votes_of, comment)
            left = self._serializer.emptied(comment.id, comment.created_at / 1_000, votes)
        return _written(left, cors, *self._cookies(comment.id, "", 0))

    @_votes("POST", "/isso/id/{id}/like")
    async def like(self, request: Request) -> Response:
        """Vote for a comment (Isso)."""
        return await self._vote(request, 1)

    @_votes("POST", "/isso/id/{id}/dislike")
    async def dislike(self, request: Request) -> Response:
        """Vote against a comment (Isso)."""
        return await self._vote(request, -1)

    async def _vote(self, request: Request, value: int) -> Response:
        """Store a vote; ``{"likes", "dislikes", "message"?}``.

        A network has one vote on a comment, and none on its own comments. Further votes change
        nothing, and `message` says so. As Isso, answer null for a comment that is not listed.
        """
        cors = self._cors.check(request, self._site.name)
        json_body(request)
        if (number := request.number()) == 0:
            raise UnknownComment([number])
        entry = self._database.read_now(self._find_listed, number)
        votes: IssoVotes | None = None
        if entry is not None:
            try:
                votes = await self._cast(request, number, value)
            except UnknownComment:
                pass
            except TooManyVotes:
                votes = await self._database.read(_votes_of, entry.comment)
                message = VOTED if value in self._votes else translate(DISABLED)
                votes = msgspec.structs.replace(votes, message=message)
        return _written(votes, cors)

    def _find_listed(self, snapshot: Snapshot, number: int) -> Entry | None:
        """Return a comment of the site, None if its list has none with that number."""
        entry = queries.find(snapshot, number)
        if (
            entry is None
            or entry.site != self._site.name
            or not voting.takes_votes(snapshot, number)
        ):
            return None
        return entry

    async def _cast(self, request: Request, number: int, value: int) -> IssoVotes:
        """Store a vote of the network of a request. Raise HttpError 429 or TooManyVotes."""
        if value not in self._votes:
            raise TooManyVotes
        networks = self._actions.admit_only_vote(request, number)

        def work(tx: Transaction) -> IssoVotes:
            votes = voting.vote_once(tx, number, value, networks, self._clock.now_ms())
            return tally(votes, two_levels.dislikes(tx, [number]).get(number, 0))

        return await self._database.write(work)

    @_handles("POST", "/isso/preview", IssoHtml, body=IssoPreview)
    async def preview(self, request: Request) -> Response:
        """Render a text as HTML, for a preview (Isso)."""
        cors = self._cors.check(request, self._site.name)
        text = messages.preview_text(json_body(request))
        message = submission.message_from_text(text, self._bounds)
        page = PageRef(self._site.name, "")
        html = await self._submissions.preview(request, message, page)
        return _written(IssoHtml(html), cors)

    @_handles("GET", "/isso/feed", Content(feeds.ATOM), cached=True)
    async def feed(self, request: Request, query: IssoPageQuery) -> Response:
        """The newest comments of a page, as Atom (Isso)."""
        source, entries = await self._feeds.read(self._locate(query.uri))
        address = self._feeds.address(request.path, uri=source.url)
        source = msgspec.structs.replace(source, anchor="isso-", address=address)
        made = feeds.make_feed(source, entries)
        changed = datetime.fromtimestamp(made.updated // 1_000, UTC)
        headers = (
            ("Content-Type", feeds.ATOM),
            ("Last-Modified", format_datetime(changed, usegmt=True)),
            *self._reading(request),
        )
        tags = self._storable(request, thread_tag(source.site, source.url))
        return Response(200, headers, feeds.atom(made), tags)

    @_handles("GET", "/isso/latest", list[IssoComment], cached=True)
    async def latest(self, request: Request, query: IssoLatestQuery) -> Response:
        """The latest comments of the site (Isso).

        The newest is the last.
        """
        limit = min(query.limit, LATEST)

        def work(snapshot: Snapshot) -> list[IssoComment]:
            found = queries.latest(snapshot, self._site.name, None, limit)[::-1]
            entries = [*map(self._sites.with_absolute_links, found)]
            placed = _placed(snapshot, [each.comment for each in entries])
            against = two_levels.dislikes(snapshot, [each.id for each in placed])
            return [
                self._serializer.latest(
                    msgspec.structs.replace(each, comment=comment), against.get(comment.id, 0)
                )
                for each, comment in zip(entries, placed, strict=True)
            ]

        shown = await self._database.read_for_public(work)
        return self._shown(request, shown, site_tag(self._site.name))

    def lead_on(self, request: Request) -> Response:
        """GET /isso/id/N/activate/KEY and similar links of old mails: 302 to the moderation pages.

        A link to unsubscribe leads to our page that says that the subscription has ended. 404 for
        all other paths, also for invalid ids.
        """
        found = _OLD_LINK(request.path)
        if found is None or request.method not in ("GET", "HEAD"):
            raise HttpError(404, *NOTHING_HERE)
        page = f"mail/stop?t={FORMER}" if found[1] == "unsubscribe" else "moderation"
        return Response(
            302, (("Location", "../" * (request.path.count("/") - 1) + page), NOT_STORED), b""
        )

    @_redirects("GET", "/isso/js/{path}", summary="Redirect to Isso's own scripts on the blog")
    @_redirects("GET", "/isso/css/{path}")
    def file(self, request: Request) -> Response:
        """Redirect to Isso's own style sheet on the blog."""
        name = request.path.rpartition("/")[2]
        return self.on_blog(f"{FILES}/{name}" if name in NAMES else None)

    def preflight(self, request: Request, methods: Sequence[str]) -> Response:
        """OPTIONS: 204 with the CORS headers for Isso's clients on pages of the site."""
        allowed = self._allowed(request)
        more: Headers = (VARY_ORIGIN,)
        if allowed:
            more = (
                *allowed,
                ("Access-Control-Allow-Methods", ", ".join(methods)),
                ("Access-Control-Allow-Headers", "content-type"),
                ("Access-Control-Max-Age", PREFLIGHT_AGE),
            )
        return Response(204, (("Allow", ", ".join((*methods, "OPTIONS"))), *more), b"")

    def refuse(self, request: Request, error: HttpError) -> Response:
        """Return the answer to an error, as a text for Isso's clients."""
        headers = (TEXT_TYPE, NOT_STORED, NO_SNIFFING, *self._allowed(request), *error.headers)
        return Response(error.status, headers, error_text(error).encode())

    def _own(self, snapshot: Snapshot, comment: Comment, *, plain: bool = False) -> IssoComment:
        """Return the JSON of a comment for its author, whatever its status."""
        against = two_levels.dislikes(snapshot, [comment.id]).get(comment.id, 0)
        (placed,) = _placed(snapshot, [comment])
        return self._serializer.comment(placed, against, plain=plain)

    def _claim(self, request: Request, unknown: int) -> Entry:
        """Return the comment of a request that has its author's cookie.

        Raise HttpError 403, or `unknown` if there is no such comment.
        """
        number = request.number()
        entry = self._database.read_now(queries.find, number)
        if entry is None or entry.site != self._site.name or entry.comment.status == DELETED:
            raise HttpError(unknown, "not_found", f"There is no comment {number}.")
        own = self._database.read_now(author_edits.authorize, number)
        token = cookie_value(request.header("cookie"), str(number))
        is_known = own is not None and self._tokens.check(token, own.token_hash)
        if own is None or not is_known or own.token_expires_at <= self._clock.now_ms():
            message = "Only its author can see or change this, by the cookie that came with it."
            raise HttpError(403, "token", message)
        return entry

    def _cookies(self, number: int, token: str, seconds: int) -> Headers:
        """Return the headers for the cookie with the edit token, and for the client's cookie."""
        # On the blog's page this is a third-party cookie: browsers that block those keep one that
        # is partitioned (CHIPS).
        cross_site = "SameSite=None; Secure; Partitioned" if self._is_secure else "SameSite=Lax"
        until = f"Max-Age={seconds}; Path=/"
        return (
            ("Set-Cookie", f"{number}={token}; {until}; HttpOnly; {cross_site}"),
            ("X-Set-Cookie", f"isso-{number}={'1' if token else ''}; {until}; SameSite=Lax"),
        )

    def _allowed(self, request: Request) -> Headers:
        """Return the CORS headers for the requesting page; none for a foreign one."""
        try:
            cors = self._cors.check(request, self._site.name)
        except HttpError:
            return ()
        return (*cors, *EXPOSED) if cors else ()

    def _reading(self, request: Request) -> Headers:
        """Return the headers of an answer that is the same for all pages of the site."""
        if self._has_one_answer:
            return self._shared
        return (*self._private, *(self._allowed(request) or (VARY_ORIGIN,)))

    def _storable(self, request: Request, *tags: str) -> tuple[str, ...]:
        """Return the tags of an answer; none if a page of another site asks for its own."""
        return tags if self._has_one_answer or self._allowed(request) else ()

    def _shown(self, request: Request, what: Any, *tags: str) -> Response:  # Any: JSON
        headers = (("Content-Type", JSON), *self._reading(request))
        return Response(200, headers, encode(what), self._storable(request, *tags))


def _placed(snapshot: Snapshot, comments: Sequence[Comment]) -> list[Comment]:
    """Return comments as replies to the top-level comments that they descend from."""
    tops = two_levels.tops_of(snapshot, [each.parent_id for each in comments])
    return [
        msgspec.structs.replace(each, parent_id=each.parent_id and tops[each.parent_id])
        for each in comments
    ]


def _votes_of(snapshot: Snapshot, comment: Comment) -> IssoVotes:
    """Return the votes for a comment and against it."""
    return tally(comment.votes, two_levels.dislikes(snapshot, [comment.id]).get(comment.id, 0))


def _written(what: object, cors: Headers, *headers: tuple[str, str], status: int = 200) -> Response:
    """Return JSON for one client."""
    return json_answer(what, *cors, *(EXPOSED if cors else ()), *headers, status=status)


def _or_none(number: int | UnsetType) -> int | None:
    return None if number is UNSET else number

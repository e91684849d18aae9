"""The part of Waline's HTTP API that its client needs for readers.

It counts, lists and posts comments, votes with its heart, counts page views, and shows reactions:
its first one is the first of the site's. Sign-in and administration are not answered.

Clients of version 2, which many themes still load, use paths without ``/api`` and get the data
alone. The client sends no word that identifies a reader, so a network has one vote and one
reaction. The client ignores what a vote or a reaction is answered, and throws if it is refused: one
too many is answered as if it had been stored.

Errors are JSON with ``errno`` and ``errmsg``, which the client shows.
"""

from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from functools import partial
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlencode

import msgspec
from msgspec import UNSET, Meta, UnsetType

from commentsvc.api.parameters import PageOrSite, PageUrl
from commentsvc.api.serialize import CommentSerializer
from commentsvc.comments import queries
from commentsvc.comments.queries import Thread
from commentsvc.comments.submission import (
    Author,
    Email,
    MessageText,
    ParentId,
    SubmissionFields,
    Url,
)
from commentsvc.compat import two_levels
from commentsvc.compat.common import (
    NO_SUCH_ID,
    Handlers,
    SiteApi,
    Website,
    error_text,
    json_body,
    read_json,
    refused,
    routes_of,
    split_pages,
    with_scheme,
)
from commentsvc.compat.two_levels import Order, Shown, TwoLevels, TwoLevelSelection
from commentsvc.context import ServiceContext
from commentsvc.db.connection import Snapshot
from commentsvc.errors import TooManyReactions
from commentsvc.feedback import reactions
from commentsvc.http.messages import (
    NOT_STORED,
    HttpError,
    Request,
    Response,
    encode,
    json_answer,
)
from commentsvc.http.operation import NOTHING, Query, handles, json_of
from commentsvc.http.router import Handler, Route
from commentsvc.model import APPROVED, Comment, site_tag, thread_tag, views_tag
from commentsvc.settings.schema import Site
from commentsvc.util.timestamps import rfc3339

PREFIX: Final = "/waline"
REFUSED: Final = 1000  # `errno` of every error; 0 means success
LATEST: Final = 50  # comments in the list of the latest ones
TYPES: Final = ("time", *(f"reaction{number}" for number in range(9)))  # numbers of a page
ORDERS: Final[dict[str, Order]] = {
    "insertedAt_desc": "newest",
    "insertedAt_asc": "oldest",
    "like_desc": "upvotes",
}

_Number = Annotated[
    int, Meta(ge=1, le=10**9, extra={"message": "This must be a whole number, at least 1."})
]


class WalineQuery(Query, frozen=True):
    """What the client asks for, by `type`: comments of `path`, counts of `url`, or the latest."""

    type: Annotated[
        Literal["", "count", "recent"],
        Meta(description="`count` for numbers, `recent` for the latest comments of the site."),
    ] = ""
    url: Annotated[str, Meta(description="With `count`: pages, separated by commas.")] = ""
    path: PageUrl = "/"
    page: Annotated[_Number, Meta(description="The part of the list, from 1.")] = 1
    pageSize: Annotated[_Number, Meta(description="Top-level comments in a part.")] = 10  # noqa: N815 - as Waline names it
    sortBy: Annotated[  # noqa: N815 - as Waline names it
        Literal["insertedAt_desc", "insertedAt_asc", "like_desc"], Meta(description="The order.")
    ] = "insertedAt_desc"
    count: Annotated[_Number, Meta(description="With `recent`: how many comments.")] = 10
    lang: Annotated[str, Meta(description="Ignored.")] = ""


class WalineNumbersQuery(Query, frozen=True):
    """Which numbers of which pages the client asks for."""

    path: Annotated[str, Meta(description="Pages, separated by commas.")] = "/"
    type: Annotated[
        str,
        Meta(
            description="Numbers, separated by commas: `time` for views, `reaction0` to "
            "`reaction8` for reactions in the order of the site's.",
        ),
    ] = "time"
    lang: Annotated[str, Meta(description="Ignored.")] = ""


class WalineFeedQuery(Query, frozen=True):
    """Which comments a feed has; without a path those of the site."""

    path: PageOrSite = ""


class WalineEvent(msgspec.Struct, frozen=True, gc=False):
    """What a reader did on a page: opened it, or reacted, or took that reaction back (`desc`)."""

    path: Url
    type: Annotated[str, Meta(description="As in a query for numbers.")] = "time"
    action: Literal["inc", "desc"] = "inc"


class WalineChange(msgspec.Struct, frozen=True, gc=False):
    """A vote for a comment, or its withdrawal. Other changes need a sign-in: there is none."""

    like: bool


class WalineSubmission(msgspec.Struct, frozen=True, gc=False):
    """A comment as the client sends it. Other keys are ignored."""

    nick: Author
    comment: MessageText
    url: Url
    mail: Email | None = None
    link: Website | None = None
    pid: ParentId | None = None


class WalineAuthor(msgspec.Struct, frozen=True):
    """The author of the comment that a reply answers."""

    nick: str
    link: str
    avatar: str


class WalineComment(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    rename={"object_id": "objectId", "inserted_at": "insertedAt"},
):
    """A comment for the client; `time` is in milliseconds of Unix time.

    `insertedAt` is the same for version 2. `orig` is the Markdown source, `comment` the HTML.
    Top-level comments of a list have `children`, replies have `pid`, `rid` and `reply_user`.
    """

    object_id: int
    time: int
    inserted_at: str
    nick: str
    link: str
    avatar: str
    comment: str
    orig: str
    like: int
    status: str
    type: str | UnsetType = UNSET
    url: str | UnsetType = UNSET
    sticky: bool | UnsetType = UNSET
    children: "list[WalineComment] | UnsetType" = UNSET
    pid: int | UnsetType = UNSET
    rid: int | UnsetType = UNSET
    reply_user: WalineAuthor | UnsetType = UNSET


class WalineList(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A part of a page's comments; `count` is the number of all of them, without parts."""

    page: int
    total_pages: int
    page_size: int
    count: int
    data: list[WalineComment]


class WalineAnswer(msgspec.Struct, frozen=True):
    """What every answer is wrapped in. `errno` is 0 for success; else `errmsg` says what is wrong.

    `data` is a part of a page's comments; with `count` a list of numbers, with `recent` one of
    comments; after a submission the stored comment; for numbers of pages a list of objects with
    them by type; after a vote or an error null.
    """

    data: Any = None  # Any: msgspec cannot describe these as one type
    errno: int = 0
    errmsg: str = ""


_ANSWER: Final = json_of(WalineAnswer)
_REFUSALS: Final = dict.fromkeys((400, 403, 409, 415, 429, 503), _ANSWER)


class _Wrapped(msgspec.Struct):
    """An answer whose data are left as they are."""

    data: msgspec.Raw


_handles = partial(handles, ignores_unknown=True, errors=_REFUSALS)
_decode = msgspec.json.Decoder(WalineSubmission).decode
_decode_change = msgspec.json.Decoder(WalineChange).decode
_decode_event = msgspec.json.Decoder(WalineEvent).decode
_unwrap = msgspec.json.Decoder(_Wrapped).decode


def routes(service: ServiceContext, handlers: Handlers) -> list[Route]:
    """Return the routes of all sites with `waline` in their settings."""
    sites = (site for site in service.settings.sites if site.waline)
    return routes_of(PREFIX, sites, partial(WalineApi, service, handlers))


class WalineApi(SiteApi):
    """The handlers of Waline's API for one site."""

    PREFIX = PREFIX

    def __init__(self, service: ServiceContext, handlers: Handlers, site: Site) -> None:
        super().__init__(service, handlers, site)
        public_url = service.settings.server.public_url
        self._comments = _Serializer(handlers.serializer, public_url, site.name)
        self._reactions = handlers.reactions

    def routes(self, prefix: str) -> list[Route]:
        """Return the routes below `prefix`, also those for version 2."""
        found = super().routes(prefix)
        for each in tuple(found):
            handler = each.handler
            if form := _FORMS.get((each.method, each.pattern.removeprefix(prefix))):
                handler = partial(_answer_version_2, handler, form)
            old = each.pattern.replace(f"{prefix}/api/", f"{prefix}/", 1)
            found.append(Route(each.method, old, handler, None, each.target_rule))
        return found

    def refuse(self, request: Request, error: HttpError) -> Response:
        return refused(error, WalineAnswer(None, REFUSED, error_text(error)))

    @_handles("GET", "/waline/api/comment", _ANSWER, cached=True, without_effect=("lang",))
    def read(self, query: WalineQuery) -> Response | Coroutine[Any, Any, Response]:
        """Count or list comments (Waline)."""
        if query.type == "count":
            return self._count(split_pages(query.url))
        if query.type == "recent":
            return self._latest(min(query.count, LATEST))
        return self._list(query)

    def _count(self, urls: list[str]) -> Response:
        threads = self._database.read_now(self.threads_of(urls))
        numbers = [threads[url].count if url in threads else 0 for url in urls]
        return self.answer(WalineAnswer(numbers), *self.tags_of(threads))

    async def _latest(self, limit: int) -> Response:
        entries = await self._database.read_for_public(queries.latest, self._site.name, None, limit)
        shown = [
            self._comments.comment(each.comment, url=each.url)
            for each in map(self._sites.with_absolute_links, entries)
        ]
        return self.answer(WalineAnswer(shown), site_tag(self._site.name))

    async def _list(self, query: WalineQuery) -> Response:
        page = self._locate(query.path)
        most = self._bounds.list_limit
        size = min(query.pageSize, most)
        selection = TwoLevelSelection(
            limit=size,
            order=ORDERS[query.sortBy],
            offset=(query.page - 1) * size,
        )
        part = await self._database.read_for_public(two_levels.read, page, selection, most)
        shown = WalineList(
            page=query.page,
            total_pages=-(-part.level.total // size),
            page_size=size,
            count=part.thread.count,
            data=self._comments.thread(part),
        )
        return self.answer(WalineAnswer(shown), thread_tag(self._site.name, part.thread.url))

    @_handles("POST", "/waline/api/comment", {200: _ANSWER, 401: _ANSWER}, body=WalineSubmission)
    async def submit(self, request: Request) -> Response:
        """Submit a comment (Waline)."""
        _, accepted, cors = await self.store(request, _fields, any_parent=True)
        comment = accepted.comment
        tops = await self._database.read(two_levels.tops_of, [comment.parent_id])
        root = tops.get(comment.parent_id or 0)
        return json_answer(WalineAnswer(self._comments.reply(comment, root)), *cors)

    @_handles("PUT", "/waline/api/comment/{id}", {200: _ANSWER, **NO_SUCH_ID}, body=WalineChange)
    async def like(self, request: Request) -> Response:
        """Vote for a comment, or withdraw the vote (Waline).

        Where votes are off, this changes nothing: the client always shows its heart.
        """
        sent = read_json(_decode_change, json_body(request))
        await self.vote(request, int(sent.like))
        return json_answer(WalineAnswer(), *self._cors.check(request, self._site.name))

    @_handles("GET", "/waline/api/article", _ANSWER, cached=True, without_effect=("lang",))
    async def numbers(self, query: WalineNumbersQuery) -> Response:
        """Count views of pages, and reactions to them (Waline).

        Those that the site does not have are 0.
        """
        paths = split_pages(query.path)
        types = [each for each in dict.fromkeys(query.type.split(",")) if each in TYPES]
        threads, numbers = await self._database.read_for_public(
            self._numbers, paths, types or TYPES[:1]
        )
        tags = [*self.tags_of(threads), views_tag(self._site.name)]
        return self.answer(WalineAnswer(numbers), *tags)

    @_handles("POST", "/waline/api/article", _ANSWER, body=WalineEvent)
    async def note(self, request: Request) -> Response:
        """Count a view of a page, or a reaction to it (Waline)."""
        sent = read_json(_decode_event, json_body(request))
        page = self._locate(sent.path)
        cors = self._cors.check(request, page.site)
        kind = sent.type if sent.type in TYPES else TYPES[0]
        more = 0
        if kind == TYPES[0]:
            more = self.count_view(request, page)
        elif emoji := self._offered().get(kind):
            with suppress(TooManyReactions):
                given = sent.action == "inc"
                await self._reactions.react_by_form(request, page, emoji, given=given)
        _, [numbers] = await self._database.read(self._numbers, [page.url], [kind])
        return json_answer(WalineAnswer([{kind: numbers[kind] + more}]), *cors)

    def _offered(self) -> dict[str, str]:
        """Return the emoji of the site by their types."""
        return dict(zip(TYPES[1:], self._sites.reactions(self._site.name, {}), strict=False))

    def _numbers(
        self, snapshot: Snapshot, paths: Sequence[str], types: Sequence[str]
    ) -> tuple[dict[str, Thread], list[dict[str, int]]]:
        """Return the threads of those `paths` that are pages, and the numbers of all, by type."""
        offered = self._offered()
        threads = self.threads_of(paths)(snapshot)
        found = []
        for path in paths:
            numbers = dict.fromkeys(types, 0)
            if thread := threads.get(path):
                given = reactions.counts(snapshot, thread.id) if offered else {}
                numbers |= {kind: given.get(offered.get(kind, ""), 0) for kind in types}
                if TYPES[0] in types:
                    numbers[TYPES[0]] = self.views_of(snapshot, thread)
            found.append(numbers)
        return threads, found

    @_handles("GET", "/waline/api/comment/rss", {302: NOTHING})
    def feed(self, request: Request, query: WalineFeedQuery) -> Response:
        """Redirect to the feed of a page, or of the site (Waline)."""
        wanted = {"url": self._locate(query.path).url} if query.path else {}
        up = "../" * (request.path.count("/") - 1)
        location = f"{up}feed.atom?{urlencode({**wanted, 'site': self._site.name})}"
        return Response(302, (("Location", location), NOT_STORED), b"")


def _fields(request: Request) -> SubmissionFields:
    """Return the comment of a request. Raise MalformedError or HttpError."""
    sent = read_json(_decode, json_body(request))
    return SubmissionFields(
        sent.url,
        sent.nick,
        sent.comment,
        email=sent.mail,
        site=with_scheme(sent.link or ""),
        parent=sent.pid,
    )


class _Serializer:
    """Makes the JSON of comments for Waline's client."""

    def __init__(self, serializer: CommentSerializer, public_url: str, site: str) -> None:
        self._item = serializer.item
        self._base = public_url.rstrip("/") + "/" if public_url else ""
        self._site = site

    def thread(self, part: TwoLevels) -> list[WalineComment]:
        """Return the top-level comments of a part of a thread with their replies.

        A deleted comment is left out; its replies stand alone then.
        """
        found: list[WalineComment] = []
        for top in part.level.comments:
            below = part.below[top.position.id].comments
            if top.comment is None:
                found += [self.comment(one.comment, children=[]) for one in below if one.comment]
                continue
            found.append(
                self.comment(
                    top.comment,
                    children=self._children(top, below),
                    sticky=top.position.id == part.thread.pinned,
                )
            )
        return found

    def _children(self, top: Shown, below: Sequence[Shown]) -> list[WalineComment]:
        by_id = {one.position.id: one.comment for one in (top, *below)}
        found = []
        for one in below:
            assert one.comment, "only top-level comments are listed when they are deleted"
            shown = self.reply(one.comment, top.position.id)
            if answered := by_id.get(one.reply_to or top.position.id) or top.comment:
                author = WalineAuthor(answered.author, answered.site, self._avatar(answered))
                shown = msgspec.structs.replace(shown, pid=answered.id, reply_user=author)
            found.append(shown)
        return found

    def reply(self, comment: Comment, root: int | None) -> WalineComment:
        """Return the JSON of a comment below the top-level comment `root`, None if it is one."""
        shown = self.comment(comment)
        return shown if root is None else msgspec.structs.replace(shown, pid=root, rid=root)

    def comment(
        self,
        comment: Comment,
        *,
        children: "list[WalineComment] | UnsetType" = UNSET,
        sticky: bool | UnsetType = UNSET,
        url: str | UnsetType = UNSET,
    ) -> WalineComment:
        """Return the JSON of a comment. A comment that waits has the status `waiting`."""
        return WalineComment(
            object_id=comment.id,
            time=comment.shown_at,
            inserted_at=rfc3339(comment.shown_at),
            nick=comment.author,
            link=comment.site,
            avatar=self._avatar(comment),
            comment=comment.html,
            orig=comment.source,
            like=comment.votes,
            status="approved" if comment.status == APPROVED else "waiting",
            type="administrator" if comment.role else UNSET,
            url=url,
            sticky=sticky,
            children=children,
        )

    def _avatar(self, comment: Comment) -> str:
        """Return the address of an author's picture; "" without any, or without `public_url`."""
        picture = self._item(comment, self._site).picture
        return self._base + picture if picture and self._base else ""


def _alone(data: msgspec.Raw) -> bytes:
    """Return numbers without their type if there is one, and without a list for one page."""
    pages = msgspec.json.decode(data, type=list[dict[str, int]])
    numbers = [next(iter(page.values())) if len(page) == 1 else page for page in pages]
    return encode(numbers[0] if len(numbers) == 1 else numbers)


# What version 2 gets as the body of an answer, made of its data.
_FORMS: Final[dict[tuple[str, str], Callable[[msgspec.Raw], bytes]]] = {
    ("GET", "/api/comment"): bytes,
    ("GET", "/api/article"): _alone,
    ("POST", "/api/article"): _alone,
}


async def _answer_version_2(
    handler: Handler, form: Callable[[msgspec.Raw], bytes], request: Request
) -> Response:
    """Return the answer of `handler`, but only its data in that `form`, unless it is an error."""
    answer = handler(request)
    found = answer if isinstance(answer, Response) else await answer
    if found.status != 200:
        return found
    return msgspec.structs.replace(found, body=form(_unwrap(found.body).data))

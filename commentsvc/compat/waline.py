"""The part of Waline's HTTP API that its client needs to count, list and post comments.

Clients of version 2, which many themes still load, use paths without ``/api`` and get the data
alone.

Votes, reactions, page views, sign-in and administration are not answered: the client reports an
error if a theme turns them on. Errors are JSON with ``errno`` and ``errmsg``, which the client
shows.
"""

from collections.abc import Coroutine, Sequence
from functools import partial
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from commentsvc.api.parameters import PageUrl
from commentsvc.api.serialize import CommentSerializer
from commentsvc.api.submit import HttpSubmissions
from commentsvc.comments import queries
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
    Guarded,
    Website,
    error_text,
    guarded,
    json_body,
    prefixes,
    read_json,
    refused,
    routes_of,
    site_routes,
    split_pages,
    stored,
    submit,
    threads_of,
    with_scheme,
)
from commentsvc.compat.two_levels import Order, Shown, TwoLevels, TwoLevelSelection
from commentsvc.context import ServiceContext
from commentsvc.http.messages import (
    ANY_ORIGIN,
    JSON,
    NO_SNIFFING,
    Headers,
    HttpError,
    Request,
    Response,
    encode,
)
from commentsvc.http.operation import Operation, Query, json_of
from commentsvc.http.router import Route
from commentsvc.model import APPROVED, Comment, site_tag, thread_tag
from commentsvc.settings.schema import Site
from commentsvc.util.timestamps import rfc3339

PREFIX: Final = "/waline"
REFUSED: Final = 1000  # `errno` of every error; 0 means success
LATEST: Final = 50  # comments in the list of the latest ones
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
    comments; after a submission the stored comment; after an error null.
    """

    data: Any = None  # Any: msgspec cannot describe these four as one type
    errno: int = 0
    errmsg: str = ""


_ANSWER: Final = json_of(WalineAnswer)
_REFUSALS: Final = dict.fromkeys((400, 403, 409, 415, 429, 503), _ANSWER)
READ = Operation(
    method="GET",
    path="/waline/api/comment",
    summary="Count or list comments (Waline)",
    query=WalineQuery,
    ignores_unknown=True,
    cached=True,
    without_effect=("lang",),
    answers={200: _ANSWER, **_REFUSALS},
)
WRITE = Operation(
    method="POST",
    path="/waline/api/comment",
    summary="Submit a comment (Waline)",
    query=Query,
    ignores_unknown=True,
    body=(json_of(WalineSubmission),),
    answers={200: _ANSWER, **_REFUSALS},
)


class _Wrapped(msgspec.Struct):
    """An answer whose data are left as they are."""

    data: msgspec.Raw


_decode = msgspec.json.Decoder(WalineSubmission).decode
_unwrap = msgspec.json.Decoder(_Wrapped).decode


def routes(
    service: ServiceContext, submissions: HttpSubmissions, serializer: CommentSerializer
) -> list[Route]:
    """Return the routes of all sites with `waline` in their settings."""
    sites = (site for site in service.settings.sites if site.waline)
    api = partial(WalineApi, service, submissions, serializer)
    return routes_of(prefixes(PREFIX, sites), api)


class WalineApi:
    """The handlers of Waline's API for one site."""

    def __init__(
        self,
        service: ServiceContext,
        submissions: HttpSubmissions,
        serializer: CommentSerializer,
        site: Site,
    ) -> None:
        settings = service.settings
        self._site = site.name
        self._bounds = settings.comments
        self._sites = service.sites
        self._locate = service.sites.locator(site.name)
        self._database = service.database
        self._submissions = submissions
        self._comments = _Serializer(serializer, settings.server.public_url, site.name)
        cache_control = ("Cache-Control", settings.server.cache_control)
        self._headers: Headers = (("Content-Type", JSON), cache_control, ANY_ORIGIN, NO_SNIFFING)

    def routes(self, prefix: str) -> list[Route]:
        """Return the routes below `prefix`."""
        table: tuple[tuple[Operation[Any], Guarded], ...] = (
            (READ, self.read),
            (WRITE, self.submit),
        )
        old = f"{prefix}/comment"
        return [
            *site_routes(prefix, PREFIX, table, _refuse),
            Route("GET", old, guarded(self.read_for_version_2, _refuse), None, READ.target_rule),
            Route("POST", old, guarded(self.submit, _refuse)),
        ]

    def read(self, request: Request) -> Response | Coroutine[Any, Any, Response]:
        """GET /waline/api/comment: 200 with numbers, or with comments and their replies. Cached."""
        query = READ.read(request)
        if query.type == "count":
            return self._count(request, split_pages(query.url))
        if query.type == "recent":
            return self._latest(request, min(query.count, LATEST))
        return self._list(request, query)

    async def read_for_version_2(self, request: Request) -> Response:
        """GET /waline/comment: as `read`, but only the data."""
        answer = self.read(request)
        found = answer if isinstance(answer, Response) else await answer
        return msgspec.structs.replace(found, body=bytes(_unwrap(found.body).data))

    def _count(self, request: Request, urls: list[str]) -> Response:
        threads = self._database.read_now(threads_of(self._sites, self._site, urls))
        tags = {thread_tag(self._site, thread.url) for thread in threads.values()}
        numbers = [threads[url].count if url in threads else 0 for url in urls]
        return self._answer(numbers, READ.tags(request, *tags))

    async def _latest(self, request: Request, limit: int) -> Response:
        entries = await self._database.read_for_public(queries.latest, self._site, None, limit)
        shown = [self._comments.comment(each.comment, url=each.url) for each in entries]
        return self._answer(shown, READ.tags(request, site_tag(self._site)))

    async def _list(self, request: Request, query: WalineQuery) -> Response:
        page = self._sites.locate(query.path, self._site)
        most = self._bounds.list_limit
        size = min(query.pageSize, most)
        selection = TwoLevelSelection(
            limit=size,
            order=ORDERS[query.sortBy],
            offset=(query.page - 1) * size,
            counts_all=True,
        )
        part = await self._database.read_for_public(two_levels.read, page, selection, most)
        shown = WalineList(
            page=query.page,
            total_pages=-(-part.level.total // size),
            page_size=size,
            count=part.total,
            data=self._comments.thread(part),
        )
        return self._answer(shown, READ.tags(request, thread_tag(self._site, part.thread.url)))

    async def submit(self, request: Request) -> Response:
        """POST /waline/api/comment: 200 with the stored comment; 400, 403, 409, 429."""
        _, accepted, cors = await submit(
            request, _fields, self._submissions, self._bounds, self._locate, any_parent=True
        )
        comment = accepted.comment
        root = await self._database.read(two_levels.top_of, comment.parent_id)
        return stored(WalineAnswer(self._comments.reply(comment, root)), cors)

    def _answer(
        self, data: list[int] | list[WalineComment] | WalineList, tags: tuple[str, ...]
    ) -> Response:
        return Response(200, self._headers, encode(WalineAnswer(data)), tags)


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


def _refuse(request: Request, error: HttpError) -> Response:
    return refused(error, WalineAnswer(None, REFUSED, error_text(error)))

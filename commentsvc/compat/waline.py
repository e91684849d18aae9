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
from commentsvc.http.messages import HttpError, Request, Response, json_answer
from commentsvc.http.operation import Query, handles, json_of
from commentsvc.http.router import Handler, Route
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


class _Wrapped(msgspec.Struct):
    """An answer whose data are left as they are."""

    data: msgspec.Raw


_handles = partial(handles, ignores_unknown=True, errors=_REFUSALS)
_decode = msgspec.json.Decoder(WalineSubmission).decode
_unwrap = msgspec.json.Decoder(_Wrapped).decode


def routes(
    service: ServiceContext, submissions: HttpSubmissions, serializer: CommentSerializer
) -> list[Route]:
    """Return the routes of all sites with `waline` in their settings."""
    sites = (site for site in service.settings.sites if site.waline)
    return routes_of(PREFIX, sites, partial(WalineApi, service, submissions, serializer))


class WalineApi(SiteApi):
    """The handlers of Waline's API for one site."""

    PREFIX = PREFIX

    def __init__(
        self,
        service: ServiceContext,
        submissions: HttpSubmissions,
        serializer: CommentSerializer,
        site: Site,
    ) -> None:
        super().__init__(service, submissions, site)
        self._comments = _Serializer(serializer, service.settings.server.public_url, site.name)

    def routes(self, prefix: str) -> list[Route]:
        """Return the routes below `prefix`."""
        read, write = super().routes(prefix)
        old = f"{prefix}/comment"
        read_old = partial(_read_for_version_2, read.handler)
        return [
            read,
            write,
            Route("GET", old, read_old, None, read.target_rule),
            Route("POST", old, write.handler),
        ]

    def refuse(self, request: Request, error: HttpError) -> Response:
        """Return the answer to an error."""
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
        return self.answer(WalineAnswer(shown), thread_tag(self._site.name, part.thread.url))

    @_handles("POST", "/waline/api/comment", _ANSWER, body=WalineSubmission)
    async def submit(self, request: Request) -> Response:
        """Submit a comment (Waline)."""
        _, accepted, cors = await self.store(request, _fields, any_parent=True)
        comment = accepted.comment
        root = await self._database.read(two_levels.top_of, comment.parent_id)
        return json_answer(WalineAnswer(self._comments.reply(comment, root)), *cors)


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


async def _read_for_version_2(read: Handler, request: Request) -> Response:
    """Return the answer of `read`, but only the data, unless it is an error."""
    answer = read(request)
    found = answer if isinstance(answer, Response) else await answer
    if found.status != 200:
        return found
    return msgspec.structs.replace(found, body=bytes(_unwrap(found.body).data))

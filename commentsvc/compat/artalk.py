"""The part of Artalk's HTTP API (version 2) that its client needs for readers.

It counts, lists and posts comments, votes, and counts page views. Sign-in, captchas and uploads are
not answered; the settings that the client gets turn them off, as well as emoticons and pictures
from other servers. Nobody has notifications: replies come by mail. Errors are JSON with ``msg``,
which the client shows.
"""

import re
from collections.abc import Sequence
from functools import partial
from html import escape
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlencode

import msgspec
from msgspec import Meta

from commentsvc.api.avatars import NEUTRAL, SVG
from commentsvc.api.parameters import PageUrl
from commentsvc.comments import queries, submission
from commentsvc.comments.page_urls import PageRef
from commentsvc.comments.queries import Thread
from commentsvc.comments.submission import Author, Email, MessageText, SubmissionFields, Title, Url
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
from commentsvc.compat.two_levels import OneLevel, Order, Shown, TwoLevels, TwoLevelSelection
from commentsvc.context import ServiceContext
from commentsvc.db.connection import Snapshot
from commentsvc.http.messages import (
    ANY_ORIGIN,
    EMBEDDABLE,
    HTML_UTF8,
    NO_SNIFFING,
    NOT_STORED,
    HttpError,
    Request,
    Response,
    json_answer,
)
from commentsvc.http.operation import HTML, NOTHING, Content, Query, handles, json_of
from commentsvc.http.router import Route
from commentsvc.model import APPROVED, CLOSED, Comment, site_tag, thread_tag, views_tag
from commentsvc.settings.schema import Site
from commentsvc.util.i18n import gettext as _
from commentsvc.util.i18n import translate
from commentsvc.util.timestamps import rfc3339

PREFIX: Final = "/artalk"
LIMIT: Final = 20  # comments in a list, as the client asks for
MOST: Final = 10**9
VERSION: Final = "2.9.1"  # the API that is answered
FILES: Final = "artalk-client"  # the folder of the blog with Artalk's own files
_is_file: Final = re.compile(r"Artalk(Lite)?\.(js|mjs|css)|i18n/[A-Za-z-]{2,12}\.js").fullmatch
ORDERS: Final[dict[str, Order]] = {
    "date_desc": "newest",
    "date_asc": "oldest",
    "vote": "upvotes",
}

_Whole = Annotated[int, Meta(ge=0, le=MOST, extra={"message": "This must be a whole number."})]


class ArtalkListQuery(Query, frozen=True):
    """Which comments of a page are listed."""

    page_key: PageUrl = "/"
    site_name: Annotated[str, Meta(description="Ignored: the address names the site.")] = ""
    limit: Annotated[_Whole, Meta(description="The largest number of comments.")] = LIMIT
    offset: Annotated[_Whole, Meta(description="The number of comments to skip.")] = 0
    flat_mode: Annotated[
        Literal["", "true", "false"],
        Meta(description="`true`: without levels. Else `limit` counts top-level comments only."),
    ] = ""
    sort_by: Annotated[
        Literal["", "date_desc", "date_asc", "vote"], Meta(description="The order.")
    ] = ""


class ArtalkStatisticsQuery(Query, frozen=True):
    """Whose comments are counted."""

    page_keys: Annotated[str, Meta(description="The pages, separated by commas.")] = ""
    site_name: Annotated[str, Meta(description="Ignored: the address names the site.")] = ""


class ArtalkSidebarQuery(Query, frozen=True):
    """The page that shows the frame."""

    pageKey: PageUrl = "/"  # noqa: N815 - as Artalk names it


class ArtalkSubmission(msgspec.Struct, frozen=True, gc=False):
    """A comment as the client sends it; `rid` is the comment it answers, 0 for none."""

    name: Author
    content: MessageText
    page_key: Url
    email: Email | None = None
    link: Website | None = None
    rid: Annotated[int, Meta(ge=0, le=submission.BIGGEST_ID)] = 0
    page_title: Title | None = None


class ArtalkView(msgspec.Struct, frozen=True, gc=False):
    """A view of a page."""

    page_key: Url


class ArtalkViews(msgspec.Struct, frozen=True):
    """How often a page was viewed."""

    pv: int


class ArtalkVotes(msgspec.Struct, frozen=True):
    """The votes for a comment and against it."""

    up: int
    down: int


class ArtalkComment(msgspec.Struct, frozen=True, kw_only=True):
    """A comment for the client, which renders `content` as Markdown: it contains our HTML."""

    id: int
    rid: int
    content: str
    content_marked: str
    user_id: int
    nick: str
    email_encrypted: str
    link: str
    ua: str
    date: str
    is_collapsed: bool
    is_pending: bool
    is_pinned: bool
    is_allow_reply: bool
    is_verified: bool
    visible: bool
    badge_name: str
    badge_color: str
    ip_region: str
    vote_up: int
    vote_down: int
    page_key: str
    page_url: str
    site_name: str


class ArtalkPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page. Nobody but administrators may comment if it is `admin_only`."""

    id: int
    key: str
    url: str
    admin_only: bool
    title: str = ""
    site_name: str = ""
    date: str = ""
    pv: int = 0
    vote_up: int = 0
    vote_down: int = 0


class ArtalkList(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a page's comments, and the numbers of all and of those without a parent."""

    comments: list[ArtalkComment]
    count: int
    roots_count: int
    page: ArtalkPage


class ArtalkCounts(msgspec.Struct, frozen=True):
    """Numbers of comments by page, or the one of the site."""

    data: dict[str, int] | int


class ArtalkError(msgspec.Struct, frozen=True):
    """Why a request failed."""

    msg: str


class ArtalkUser(msgspec.Struct, frozen=True):
    """What is known of an author: nothing, since nobody can sign in."""

    user: None = None
    is_login: bool = False
    notifies: list[str] = msgspec.field(default_factory=list)
    notifies_count: int = 0


class ArtalkStatus(msgspec.Struct, frozen=True):
    """Whether an author has signed in: nobody can."""

    is_admin: bool = False
    is_login: bool = False


class ArtalkNotifications(msgspec.Struct, frozen=True):
    """The notifications of an author: none."""

    notifies: list[str] = msgspec.field(default_factory=list)
    count: int = 0


class ArtalkVersion(msgspec.Struct, frozen=True):
    """The version of the API."""

    app: str = "artalk"
    version: str = VERSION
    commit_hash: str = ""


class ArtalkSettings(msgspec.Struct, frozen=True):
    """The settings of the client, and the version of the API."""

    frontend_conf: dict[str, Any]  # Any: names and values of the client's own settings
    version: ArtalkVersion = ArtalkVersion()


_ERROR: Final = json_of(ArtalkError)
_REFUSALS: Final = dict.fromkeys((400, 403, 409, 415, 429, 503), _ERROR)

_handles = partial(handles, ignores_unknown=True, errors=_REFUSALS)
_votes = partial(_handles, "POST", answer={200: json_of(ArtalkVotes), **NO_SUCH_ID})
_lists = partial(_handles, "GET", cached=True, without_effect=("site_name",))
_decode = msgspec.json.Decoder(ArtalkSubmission).decode
_decode_view = msgspec.json.Decoder(ArtalkView).decode


def routes(service: ServiceContext, handlers: Handlers) -> list[Route]:
    """Return the routes of all sites with `artalk` in their settings."""
    sites = (site for site in service.settings.sites if site.artalk)
    return routes_of(PREFIX, sites, partial(ArtalkApi, service, handlers))


class ArtalkApi(SiteApi):
    """The handlers of Artalk's API for one site."""

    PREFIX = PREFIX

    def __init__(self, service: ServiceContext, handlers: Handlers, site: Site) -> None:
        super().__init__(service, handlers, site)
        self._item = handlers.serializer.item
        self._public_url = service.settings.server.public_url.rstrip("/")
        self._sends_mail = bool(service.settings.mail.host)
        self._config = ArtalkSettings({})

    def routes(self, prefix: str) -> list[Route]:
        self._config = ArtalkSettings(self._client_settings(prefix))
        return super().routes(prefix)

    def _client_settings(self, prefix: str) -> dict[str, Any]:  # Any: see ArtalkSettings
        pictures = f"{self._public_url}/api/avatar/" if self._site.avatar_url else ""
        return {
            "emoticons": False,
            "gravatar": {
                "mirror": pictures or f"{self._public_url}{prefix}/avatar/",
                "params": f"site={self._site.name}{'&fallback=1' if pictures else ''}",
            },
            "imgUpload": False,
            "locale": self._site.language,
            "pvAdd": self._site.views,
            "uaBadge": False,
            "versionCheck": False,
            "vote": self._bounds.votes in ("up", "both"),
            "voteDown": self._bounds.votes == "both",
        }

    @_handles("GET", "/artalk/api/v2/conf", ArtalkSettings, cached=True, errors=())
    def config(self) -> Response:
        """The settings of Artalk's client."""
        return self.answer(self._config, site_tag(self._site.name))

    def refuse(self, request: Request, error: HttpError) -> Response:
        return refused(error, ArtalkError(error_text(error)))

    @_handles("GET", "/artalk/api/v2/user", ArtalkUser, errors=())
    def user(self) -> Response:
        """What is known of an author: nothing (Artalk).

        The client asks as soon as an author enters a name.
        """
        return json_answer(ArtalkUser(), ANY_ORIGIN)

    @_handles("GET", "/artalk/api/v2/user/status", ArtalkStatus, errors=())
    def user_status(self) -> Response:
        """Whether an author has signed in: nobody can (Artalk)."""
        return json_answer(ArtalkStatus(), ANY_ORIGIN)

    @_handles("GET", "/artalk/api/v2/notifies", ArtalkNotifications, errors=())
    @_handles("POST", "/artalk/api/v2/notifies/{path}", ArtalkNotifications, errors=())
    def notifications(self) -> Response:
        """The notifications of an author: none (Artalk)."""
        return json_answer(ArtalkNotifications(), ANY_ORIGIN)

    @_handles("GET", "/artalk/sidebar/", HTML, errors={400: _ERROR})
    def sidebar(self, query: ArtalkSidebarQuery) -> Response:
        """What the client shows for notifications: how to get mails instead (Artalk)."""
        page = self._locate(query.pageKey)
        html = "<!doctype html><title></title>"
        if self._sends_mail:
            address = urlencode({"url": page.url, "site": page.site})
            text = translate(_("Follow the comments by mail"), self._site.language)
            html += f'<a href="../../follow?{escape(address)}" target="_blank">{escape(text)}</a>'
        headers = (("Content-Type", HTML_UTF8), NOT_STORED, NO_SNIFFING)
        return Response(200, headers, html.encode())

    @_handles("GET", "/artalk/dist/{path}", {302: NOTHING, 404: _ERROR}, errors=())
    def file(self, request: Request) -> Response:
        """Redirect to Artalk's own file on the blog."""
        name = request.path.partition("/dist/")[2]
        return self.on_blog(f"{FILES}/{name}" if _is_file(name) else None)

    @_handles("GET", "/artalk/avatar/{path}", Content("image/svg+xml"), errors=())
    def avatar(self) -> Response:
        """The same picture for every author (Artalk)."""
        headers = (("Content-Type", SVG), self._cache_control, EMBEDDABLE, NO_SNIFFING)
        return Response(200, headers, NEUTRAL)

    @_lists("/artalk/api/v2/comments", ArtalkList)
    async def list_comments(self, query: ArtalkListQuery) -> Response:
        """List the comments of a page (Artalk)."""
        page = self._locate(query.page_key)
        most = self._bounds.list_limit
        order: Order = ORDERS[query.sort_by or "date_desc"]
        limit = min(query.limit, most)
        if query.flat_mode == "true":
            flat = await self._database.read_for_public(
                two_levels.read_flat, page, order, limit, query.offset
            )
            shown, thread = self._flat(flat, page), flat.thread
        else:
            selection = TwoLevelSelection(limit=limit, order=order, offset=query.offset)
            part = await self._database.read_for_public(two_levels.read, page, selection, most)
            shown, thread = self._nested(part, page), part.thread
        return self.answer(shown, thread_tag(page.site, thread.url))

    @_lists("/artalk/api/v2/stats/page_comment", ArtalkCounts)
    def count(self, query: ArtalkStatisticsQuery) -> Response:
        """Count the comments of several pages (Artalk).

        Pages of other sites have no comments.
        """
        keys = split_pages(query.page_keys)
        threads = self._database.read_now(self.threads_of(filter(None, keys)))
        numbers = {key: threads[key].count if key in threads else 0 for key in keys}
        return self.answer(ArtalkCounts(numbers), *self.tags_of(threads))

    @_lists("/artalk/api/v2/stats/site_comment", ArtalkCounts, query=ArtalkStatisticsQuery)
    def count_site(self) -> Response:
        """Count the comments of the site (Artalk)."""
        name = self._site.name
        number = self._database.read_now(queries.site_count, name)
        return self.answer(ArtalkCounts(number), site_tag(name))

    @_lists("/artalk/api/v2/stats/page_pv", ArtalkCounts)
    def count_views(self, query: ArtalkStatisticsQuery) -> Response:
        """Count the views of several pages (Artalk).

        0 where the site does not count views.
        """
        keys = split_pages(query.page_keys)

        def work(snapshot: Snapshot) -> tuple[dict[str, int], dict[str, Thread]]:
            threads = self.threads_of(filter(None, keys))(snapshot)
            found = {key: self.views_of(snapshot, thread) for key, thread in threads.items()}
            return dict.fromkeys(keys, 0) | found, threads

        numbers, threads = self._database.read_now(work)
        tags = (*self.tags_of(threads), views_tag(self._site.name))
        return self.answer(ArtalkCounts(numbers), *tags)

    @_handles("POST", "/artalk/api/v2/pages/pv", ArtalkViews, body=ArtalkView)
    async def note_view(self, request: Request) -> Response:
        """Count a view of a page (Artalk)."""
        page = self._locate(read_json(_decode_view, json_body(request)).page_key)
        cors = self._cors.check(request, page.site)
        number = self.count_view(request, page)

        def work(snapshot: Snapshot) -> int:
            return self.views_of(snapshot, queries.thread(snapshot, *page))

        number += await self._database.read(work)
        return json_answer(ArtalkViews(number), *cors)

    @_votes("/artalk/api/v2/votes/comment_up/{id}")
    async def vote_up(self, request: Request) -> Response:
        """Vote for a comment (Artalk)."""
        return await self._vote(request, 1)

    @_votes("/artalk/api/v2/votes/comment_down/{id}")
    async def vote_down(self, request: Request) -> Response:
        """Vote against a comment (Artalk)."""
        return await self._vote(request, -1)

    async def _vote(self, request: Request, value: int) -> Response:
        await self.vote(request, value)
        entry = await self._database.read(queries.find, request.number())
        number = entry.comment.votes if entry else 0
        votes = ArtalkVotes(max(number, 0), max(-number, 0))
        return json_answer(votes, *self._cors.check(request, self._site.name))

    @_handles(
        "POST",
        "/artalk/api/v2/comments",
        {200: json_of(ArtalkComment), 401: _ERROR},
        body=ArtalkSubmission,
    )
    async def submit(self, request: Request) -> Response:
        """Submit a comment (Artalk)."""
        sent, accepted, cors = await self.store(request, _fields, any_parent=False)
        page = PageRef(*sent.page)
        shown = self._comment(accepted.comment, accepted.comment.parent_id or 0, page)
        return json_answer(shown, *cors)

    def _nested(self, part: TwoLevels, page: PageRef) -> ArtalkList:
        shown: list[Shown] = []
        for top in part.level.comments:
            shown += [top, *part.below[top.position.id].comments]
        comments = self._comments(shown, part.thread, page)
        return self._list(comments, part.thread.count, part.level.total, (part.thread, page))

    def _flat(self, part: OneLevel, page: PageRef) -> ArtalkList:
        comments = self._comments(part.comments, part.thread, page)
        return self._list(comments, part.total, part.total, (part.thread, page))

    def _list(
        self,
        comments: list[ArtalkComment],
        count: int,
        roots_count: int,
        about: tuple[Thread, PageRef],
    ) -> ArtalkList:
        thread, page = about
        return ArtalkList(
            comments=comments,
            count=count,
            roots_count=roots_count,
            page=ArtalkPage(
                id=thread.id,
                key=page.url,
                url=self._site.origin + thread.url,
                admin_only=thread.state == CLOSED,
            ),
        )

    def _comments(
        self, shown: Sequence[Shown], thread: Thread, page: PageRef
    ) -> list[ArtalkComment]:
        """Return the JSON of comments; a reply to one that is not shown answers the top one."""
        listed = {each.position.id for each in shown if each.comment}
        found = []
        for each in shown:
            if each.comment is None:
                continue
            above = (each.reply_to, each.position.parent)
            answered = next((one for one in above if one in listed), 0)
            made = self._comment(each.comment, answered or 0, page)
            if each.position.id == thread.pinned:
                made = msgspec.structs.replace(made, is_pinned=True)
            found.append(made)
        return found

    def _comment(self, comment: Comment, answered: int, page: PageRef) -> ArtalkComment:
        item = self._item(comment, page.site)
        return ArtalkComment(
            id=comment.id,
            rid=answered,
            content=comment.html,  # without empty lines, which would begin Markdown
            content_marked=comment.html,
            user_id=0,
            nick=comment.author,
            email_encrypted=item.avatar or "0" * 32,
            link=comment.site,
            ua="",
            date=rfc3339(comment.shown_at),
            is_collapsed=False,
            is_pending=comment.status != APPROVED,
            is_pinned=False,
            is_allow_reply=True,
            is_verified=bool(comment.role) or comment.reader_id is not None,
            visible=True,
            badge_name=comment.role,
            badge_color="#0b6bcb" if comment.role else "",
            ip_region="",
            vote_up=max(comment.votes, 0),
            vote_down=max(-comment.votes, 0),
            page_key=page.url,
            page_url=self._site.origin + page.url,
            site_name=self._site.name,
        )


def _fields(request: Request) -> SubmissionFields:
    """Return the comment of a request. Raise MalformedError or HttpError."""
    sent = read_json(_decode, json_body(request))
    return SubmissionFields(
        sent.page_key,
        sent.name,
        sent.content,
        email=sent.email,
        site=with_scheme(sent.link or ""),
        parent=sent.rid or None,
        title=sent.page_title,
    )

"""Our own HTTP API: counts, lists, submissions, previews.

Each handler parses, acts and answers. Its docstring documents the API for people, the OpenAPI
document for programs. Answers to public reads are cached by the core under the tags of what they
show, so a handler runs only once per answer and change. Counts and the usual lists are short
indexed reads on the event loop; other lists are read by a reading thread.

Every page may read all answers except those to writes; errors are made by the router.
"""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType, field

from commentsvc.api.feeds import REPLIES_FEED
from commentsvc.api.parameters import (
    After,
    AnyPageQuery,
    PageOfSite,
    PageOrSiteQuery,
    PageQuery,
    PagesQuery,
    Token,
    WriteQuery,
)
from commentsvc.api.serialize import (
    CommentSerializer,
    Count,
    Counts,
    FormOptions,
    LatestComment,
    ListedComments,
    NoteReceipt,
    PopularPage,
    Preview,
    Receipt,
    ViewedPage,
    status,
)
from commentsvc.api.submit import HttpSubmissions
from commentsvc.auth.edit_tokens import ReplyFeedWords
from commentsvc.comments import fediverse, popular, queries
from commentsvc.comments.page_urls import PageRef
from commentsvc.comments.pagination import Sort
from commentsvc.comments.popular import DAYS, DiscussedPage, Period
from commentsvc.comments.queries import CommentList, Thread
from commentsvc.comments.submission import (
    MessageBody,
    NoteFields,
    SubmissionFields,
    from_json,
    message_from_json,
    note_from_json,
)
from commentsvc.context import ServiceContext
from commentsvc.db.connection import Snapshot
from commentsvc.feedback import reactions, views
from commentsvc.http.messages import (
    ANY_ORIGIN,
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
from commentsvc.http.operation import TEXT, handles, json_of
from commentsvc.model import APPROVED, fragment, site_tag, thread_tag, views_tag
from commentsvc.submissions.service import Accepted
from commentsvc.util.text import excerpt
from commentsvc.util.timestamps import read, rfc3339

LISTED = 10  # the most latest comments and popular pages in an answer
EXCERPT = 140  # characters of a latest comment's text
SHORT = 100  # comments in a list that is read on the event loop, as many as the widget asks for
MOST = 10**18 - 1  # the greatest `limit`; the settings have a lower one


class CountQuery(PageOrSiteQuery, frozen=True):
    """Which comments are counted."""

    token: Token = ""


Shown = Literal["yes"] | UnsetType


class PreviewQuery(WriteQuery, frozen=True):
    """The page whose comments a preview may mention, its site, and the language of errors."""

    url: PageOfSite = ""


class CountsQuery(PagesQuery, frozen=True):
    """The pages whose comments are counted, and what else the answer contains."""

    reactions: Annotated[Shown, Meta(description="Also give the reactions to each page.")] = UNSET
    latest: Annotated[
        Shown, Meta(description=f"Also give the {LISTED} newest comments of the site.")
    ] = UNSET
    popular: Annotated[
        list[Period],
        Meta(
            description=f"Also give the {LISTED} pages of the site that got the most comments in a"
            " day, week, month or year; repeat the parameter for several.",
            max_length=len(DAYS),
            extra={"message": f"This must be one of {', '.join(DAYS)}."},
        ),
    ] = field(default_factory=list)
    views: Annotated[
        Shown, Meta(description="With how often each page was viewed, if its site counts views.")
    ] = UNSET
    viewed: Annotated[
        Shown, Meta(description=f"With the {LISTED} pages of the site that were viewed most often.")
    ] = UNSET


class ListQuery(PageQuery, frozen=True):
    """A page, and which of its comments."""

    token: Token = ""

    sort: Annotated[Sort, Meta(description="The order.")] = "oldest"
    limit: (
        Annotated[
            int,
            Meta(
                description="The largest number of comments, at most the setting `list_limit`."
                " Long comments make parts shorter.",
                ge=1,
                le=MOST,
                extra={"message": "This must be a whole number, at least 1."},
            ),
        ]
        | UnsetType
    ) = UNSET
    after: After = ""
    since: Annotated[
        str,
        Meta(
            description="Only comments that are new or changed since then. Only with the order "
            "`oldest` and without `after`.",
            min_length=1,
            extra_json_schema={"format": "date-time"},
            extra={"message": "This must be a moment."},
        ),
    ] = ""


class CommentsApi:
    """The handlers of our own API for comments."""

    def __init__(
        self,
        service: ServiceContext,
        cors: CorsPolicy,
        submissions: HttpSubmissions,
        serializer: CommentSerializer,
    ) -> None:
        self._settings = service.settings
        self._database = service.database
        self._sites = service.sites
        self._clock = service.clock
        self._cors = cors
        self._submissions = submissions
        self._serializer = serializer
        self._feed_words = ReplyFeedWords(service.keys)
        shared = (("Cache-Control", service.settings.server.cache_control), ANY_ORIGIN)
        self._json: Headers = (("Content-Type", JSON), *shared)
        self._list: Headers = (*self._json, NO_SNIFFING)

    @handles("GET", "/api/ping", TEXT, ignores_unknown=True, errors=())
    def ping(self) -> Response:
        """Answer `OK`.

        Not cached, so that it shows that the whole program works.
        """
        return Response(200, (("Content-Type", "text/plain"), NOT_STORED, ANY_ORIGIN), b"OK")

    @handles("GET", "/api/comments/count", Count, cached=True, without_effect=("token",))
    def count(self, query: CountQuery) -> Response:
        """Count the comments of a page, or of the whole site.

        Without a url, or with an empty one, all pages of the site are counted. 400 for an invalid
        url or site. Cached.
        """
        site, url = self._sites.page_or_site(query.url, query.site)
        if url:
            thread = self._database.read_now(queries.thread, site, url)
            number, tag = thread.count, thread_tag(site, thread.url)
        else:
            number = self._database.read_now(queries.site_count, site)
            tag = site_tag(site)
        return Response(200, self._json, b'{"count":%d}' % number, (tag,))

    @handles("GET", "/api/comments/counts", Counts)
    def counts(self, query: CountsQuery) -> Response | Coroutine[Any, Any, Response]:
        """Count the comments of several pages, and give what else is asked for.

        ``{"counts": {"A": n, "B": 0}}``: the keys are the urls as they were sent, at most
        100; what is no page of ours has null. The same answer can contain what else a page
        with a list of posts shows: with
        `reactions=yes` ``"reactions": {"A": {emoji: n}}``; with `latest=yes` ``"latest":
        [{"id", "author", "excerpt", "link", "title", "published"}]`` of the site; with
        `popular=day|week|month|year`, which may be repeated, ``"popular": {"week":
        [{"link", "title", "count"}]}``; with `views=yes` ``"views": {"A": n}``, where the
        site counts views; with `viewed=yes` ``"viewed": [{"link", "title", "views"}]``. 400
        for an invalid site. Cached.
        """
        site = self._sites.named(query.site)
        found = {url: self._sites.locate_or_none(url, query.site) for url in query.url}
        pages = {url: page for url, page in found.items() if page}
        unknown = dict.fromkeys(found.keys() - pages.keys())
        now = self._clock.now_ms()

        def work(snapshot: Snapshot) -> tuple[Counts, set[str]]:
            threads = {url: queries.thread(snapshot, *page) for url, page in pages.items()}
            tags = {thread_tag(pages[url].site, thread.url) for url, thread in threads.items()}
            counted = self._views(snapshot, pages, threads) if query.views else UNSET
            if counted:
                tags |= {views_tag(pages[url].site) for url in counted}
            counts = Counts(
                {url: thread.count for url, thread in threads.items()} | unknown,
                {
                    url: self._sites.reactions(
                        pages[url].site, reactions.counts(snapshot, thread.id)
                    )
                    for url, thread in threads.items()
                }
                | unknown
                if query.reactions
                else UNSET,
                self._latest(snapshot, site) if query.latest else UNSET,
                {
                    period: self._popular(
                        popular.popular(snapshot, site, period, now, LISTED), site
                    )
                    for period in query.popular
                }
                or UNSET,
                counted if counted is UNSET else counted | unknown,
                self._viewed(snapshot, site) if query.viewed else UNSET,
            )
            return counts, tags

        others = {site_tag(site)} if query.latest or query.popular or query.viewed else set()
        if query.popular:
            others.add(popular.TAG)
        if query.viewed:
            others.add(views_tag(site))
        if query.popular or query.viewed:
            return self._read_counts(work, others)
        return self._show_counts(self._database.read_now(work), others)

    async def _read_counts(
        self, work: Callable[[Snapshot], tuple[Counts, set[str]]], tags: set[str]
    ) -> Response:
        return self._show_counts(await self._database.read_for_public(work), tags)

    def _show_counts(self, found: tuple[Counts, set[str]], others: set[str]) -> Response:
        counts, tags = found
        return Response(200, self._json, encode(counts), tuple(tags | others))

    def _latest(self, snapshot: Snapshot, site: str) -> list[LatestComment]:
        origin = self._sites.origin(site)
        return [
            LatestComment(
                comment.id,
                comment.author,
                excerpt(comment.html, EXCERPT),
                origin + entry.url + fragment(comment.id),
                entry.title or entry.url,
                rfc3339(comment.published_at or comment.created_at),
            )
            for entry in queries.latest(snapshot, site, None, LISTED)
            for comment in [entry.comment]
        ]

    def _popular(self, pages: Sequence[DiscussedPage], site: str) -> list[PopularPage]:
        origin = self._sites.origin(site)
        return [
            PopularPage(origin + each.url, each.title or each.url, each.comments) for each in pages
        ]

    def _views(
        self, snapshot: Snapshot, pages: Mapping[str, PageRef], threads: Mapping[str, Thread]
    ) -> dict[str, int]:
        return {
            url: views.views(snapshot, page.site, threads[url].url)
            for url, page in pages.items()
            if self._sites.counts_views(page.site)
        }

    def _viewed(self, snapshot: Snapshot, site: str) -> list[ViewedPage]:
        if not self._sites.counts_views(site):
            return []
        origin = self._sites.origin(site)
        return [
            ViewedPage(origin + page.url, page.title or page.url, page.views)
            for page in views.most_viewed(snapshot, site, LISTED)
        ]

    @handles("GET", "/api/comments", ListedComments, cached=True, without_effect=("token",))
    def list_comments(self, query: ListQuery) -> Response | Coroutine[Any, Any, Response]:
        """List the comments of a page.

        ``{"data": […], "count": N, "next"?, "closes"?, "voting"?}``: the approved comments of the
        page. `count` is the number of all of them. `next` is the value of `after` for the next part
        of the list, `closes` the time from which the page takes no more comments, `voting` is
        ``up``, ``both`` or ``reactions``, with the ``emoji``. ``"deleted": [{"id", "parent",
        "deleted": true}]`` lists the ancestors of those in `data` that are no longer shown. An
        unknown page has no comments. If `limit` comments have more than 800,000 bytes, with 300 for
        each, the answer has fewer, and `next`.

        With `since`, a time as in the answers, `data` has only what was published or changed since
        then, without `next`, and ``"votes": {id: number}`` has the votes of all comments that have
        some, ``"reactions": {id: {emoji: number}}`` their reactions. There is no `votes` if more
        than `limit` comments have changed, or more than `list_limit` have votes, or if that would
        be too long. A client that has the earlier comments, but then not `count` of them, or that
        gets no `votes`, requests the whole list. 400 for an invalid parameter. Cached.
        """
        page = self._sites.locate(query.url, query.site)
        sort, after, since = query.sort, query.after or None, _since(query)
        most = self._settings.comments.list_limit
        limit = most if query.limit is UNSET else min(query.limit, most)
        open_for = self._sites.options[page.site].open_for

        def work(snapshot: Snapshot) -> CommentList:
            if since is not None:
                return queries.changed(snapshot, page, since, limit, most, open_for)
            return queries.list_comments(snapshot, page, sort, limit, after, open_for)

        if since is None and sort != "top" and limit <= SHORT:
            return self._show_list(self._database.read_now(Snapshot.whole, work), page.site)
        return self._read_list(work, page.site)

    async def _read_list(self, work: Callable[[Snapshot], CommentList], site: str) -> Response:
        return self._show_list(await self._database.read_for_public(work), site)

    def _show_list(self, part: CommentList, site: str) -> Response:
        tags = (thread_tag(site, part.thread.url),)
        return Response(200, self._list, encode(self._listed(part, site)), tags)

    def _listed(self, part: CommentList, site: str) -> ListedComments:
        voting, options = self._settings.comments.votes, self._sites.options[site]
        if voting == "reactions" and not options.emoji:
            voting = "off"
        return ListedComments(
            data=self._serializer.items(part.items, site, part.anchors, part.thread.pinned),
            count=part.thread.count,
            next=UNSET if part.next is None else part.next,
            closes=UNSET if part.closes is None else rfc3339(part.closes),
            voting=UNSET if voting == "off" else voting,
            emoji=[*options.emoji],
            notices=options.notices,
            votes=UNSET if part.votes is None else part.votes,
            reactions={
                number: self._serializer.reactions(stored, site)
                for number, stored in part.reactions.items()
            }
            or UNSET,
            deleted=part.deleted or UNSET,
            likes=part.thread.likes,
            reposts=part.thread.reposts,
            posts=self._posts(site, part.thread.url),
        )

    def _posts(self, site: str, url: str) -> list[str]:
        if not self._sites.names_posts(site):
            return []
        return self._database.read_now(fediverse.posts, site, url)

    @handles(
        "POST",
        "/api/comments",
        {201: json_of(Receipt), 202: json_of(Receipt)},
        body=SubmissionFields,
        errors=(400, 401, 403, 409, 415, 429, 503),
    )
    async def submit(self, request: Request, query: WriteQuery) -> Response:
        """Submit a comment.

        201 if it is shown at once, 202 if it waits for approval. Both answer ``{"status",
        "comment", "token", "token_expires", "replies_feed"}``; the token is null if an
        equal comment without a key was sent within the hour. 400 with all invalid fields,
        403 for a foreign page, 409 for the key of another comment, 415, 429, 503. `?site=`
        names the site; `site` in the body is the author's web site. A reader who signed in
        sends the session's token in `Authorization: Bearer`; name and address are then the
        reader's. 401 if the session is over.
        """
        network = self._submissions.admit(request)
        locate = self._sites.locator(query.site)
        submission = from_json(request.json(), self._submissions.rules(request, locate))
        accepted, cors = await self._submissions.submit(request, network, submission)
        return self._receipt(submission.page[0], accepted, cors)

    @handles(
        "POST",
        "/api/notes",
        {202: json_of(NoteReceipt)},
        body=NoteFields,
        errors=(400, 401, 403, 404, 409, 415, 429, 503),
    )
    async def submit_note(self, request: Request, query: WriteQuery) -> Response:
        """Send a private note to the author of a page.

        Only those who moderate the site can read it, by mail and on their pages; no public answer
        contains it. It is checked like a comment. 202 ``{"status": "received"}`` whatever becomes
        of it. With an `email` it can be answered by mail; with `thank` the author may be thanked by
        name. 400 with all invalid fields, 401 and 403 as for a comment, 404 where the setting
        `private_notes` is off, 409 for the key of another note, 415, 429, 503.
        """
        network = self._submissions.admit(request)
        locate = self._sites.locator(query.site)
        note = note_from_json(request.json(), self._submissions.rules(request, locate))
        cors = await self._submissions.submit_note(request, network, note)
        return json_answer(NoteReceipt("received"), *cors, status=202)

    @handles("POST", "/api/preview", Preview, body=MessageBody, errors=(400, 403, 415, 429))
    async def preview(self, request: Request, query: PreviewQuery) -> Response:
        """Render a message as HTML, for a preview.

        It looks as on the page. Nothing is stored. 400 with the invalid fields, 403 for a
        foreign page, 415, 429.
        """
        page = self._sites.page_or_site(query.url, query.site)
        headers = self._cors.check(request, page.site)
        message = message_from_json(request.json(), self._settings.comments, may_be_blank=True)
        html = await self._submissions.preview(request, message, page)
        return json_answer(Preview(html), *headers)

    @handles("GET", "/api/form-token", FormOptions, errors=(400,))
    def form_token(self, request: Request, query: AnyPageQuery) -> Response:
        """Get what a form needs: a form token, and perhaps a proof-of-work challenge.

        ``{"form_token", "proof_of_work"?, "length", "notify"}``. The comment is sent with the form
        token and a solution of the work in ALTCHA's format. Each is valid for one comment on that
        site within a day. `length` is that of the longest message; `notify` says whether replies
        can be mailed, `notes` whether private notes are accepted. 400 for an invalid url. Not
        cached: every client gets another token.
        """
        site, _ = self._sites.page_or_site(query.url, query.site)
        return json_answer(self._submissions.form_options(request, site), ANY_ORIGIN)

    def _receipt(self, site: str, accepted: Accepted, cors: Headers) -> Response:
        """Return the answer for the author of a submission."""
        comment = accepted.comment
        expires = rfc3339(accepted.token_expires_at) if accepted.token else None
        shown = self._serializer.item(comment, site)
        feed = REPLIES_FEED + self._feed_words.make(comment.id)
        receipt = Receipt(status(comment), shown, accepted.token, expires, feed)
        return json_answer(receipt, *cors, status=201 if comment.status == APPROVED else 202)


def _since(query: ListQuery) -> int | None:
    """Return the time (Unix milliseconds) in `since`; None without one. Raise HttpError 400."""
    if not query.since:
        return None
    problem = "This goes with the order `oldest` alone, and without `after`."
    if not query.after and query.sort == "oldest":
        try:
            return read(query.since)
        except ValueError:
            problem = "This must be a moment such as 2026-11-21T08:30:00Z."
    raise HttpError(400, "invalid", "Please look at: since.", {"since": problem})

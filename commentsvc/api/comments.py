"""Our own HTTP interface: counts, lists, submissions, the preview.

Each handler parses, acts and answers; its docstring is the API's truth, and the OpenAPI
document says the same to machines. Public reads are stored by the core under the tags of what they
show, so a handler here runs only once per answer and change. The counts and the usual lists are
short indexed reads and run on the event loop; other lists go to a reader.

All answers but writes allow every page to read them; errors are made by the router.
"""

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, get_args

from commentsvc.api.serialize import CommentSerializer, Receipt, status
from commentsvc.api.submit import Accepted, SubmissionService
from commentsvc.comments import queries
from commentsvc.comments.pagination import Sort
from commentsvc.comments.queries import CommentList, Thread
from commentsvc.comments.submission import from_json, message_from_json
from commentsvc.comments.urls import PageRef, Sites
from commentsvc.db.database import Database
from commentsvc.db.sqlite import Reader
from commentsvc.http.forms import Form
from commentsvc.http.messages import (
    ANY_ORIGIN,
    JSON,
    NO_SNIFFING,
    NOT_STORED,
    CorsPolicy,
    Deferred,
    Headers,
    HttpError,
    Request,
    Response,
    encode,
    first,
)
from commentsvc.http.router import Route
from commentsvc.model import APPROVED, site_tag, thread_tag
from commentsvc.settings.schema import Settings
from commentsvc.util.text import whole_number
from commentsvc.util.timestamps import read, rfc3339

COUNTED = 100  # pages of one batch count; a list page shows 10 to 50, an answer may have 128 tags
SHORT = 100  # comments of a list that is read on the event loop: what the widget asks for
SORTS: dict[str, Sort] = {sort: sort for sort in get_args(Sort)}


class CommentsApi:
    """The handlers of group A, but for the embedded thread and what operators ask."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        sites: Sites,
        origins: CorsPolicy,
        submissions: SubmissionService,
        serializer: CommentSerializer,
    ) -> None:
        """Take the settings, what was built of them, and where comments come from and go to."""
        self._settings = settings
        self._database = database
        self._sites = sites
        self._origins = origins
        self._submissions = submissions
        self._serializer = serializer
        shared = (("Cache-Control", settings.server.cache_control), ANY_ORIGIN)
        self._json: Headers = (("Content-Type", JSON), *shared)
        self._list: Headers = (*self._json, NO_SNIFFING)

    def routes(self) -> list[Route]:
        """Give the table of routes."""
        return [
            Route("GET", "/api/ping", self.ping),
            Route("GET", "/api/comments/count", self.count),
            Route("GET", "/api/comments/counts", self.counts),
            Route("GET", "/api/comments", self.list_comments),
            Route("POST", "/api/comments", self.submit),
            Route("POST", "/api/preview", self.preview),
            Route("GET", "/api/form-token", self.form_token),
        ]

    def ping(self, request: Request) -> Response:
        """GET /api/ping: 200 ``OK``. Not stored, so that it tells of the whole program."""
        return Response(200, (("Content-Type", "text/plain"), NOT_STORED, ANY_ORIGIN), b"OK")

    def count(self, request: Request) -> Response:
        """GET /api/comments/count?url=U: 200 ``{"count": N}``, approved comments only.

        Without a url, or with an empty one, those of the whole site. 400 for a bad url or site.
        Stored.
        """
        form = request.parameters()
        site, url = self._place(form)
        if url:
            thread = self._database.read_now(queries.thread, site, url)
            number, tag = thread.count, thread_tag(site, thread.url)
        else:
            number = self._database.read_now(queries.site_count, site)
            tag = site_tag(site)
        return Response(200, self._json, b'{"count":%d}' % number, (tag,))

    def counts(self, request: Request) -> Response:
        """GET /api/comments/counts?url=A&url=B: 200 ``{"counts": {"A": n, "B": 0}}``.

        The keys are the urls as they were sent, at most 100. 400 for a bad url or site. Stored.
        """
        form = request.parameters()
        urls = form.get("url", [])
        if len(urls) > COUNTED:
            message = f"These are {len(urls)} urls; ask for at most {COUNTED} at once."
            raise HttpError(400, "too_many_urls", message, {"url": message})
        name = first(form, "site")
        places = {url: self._sites.locate(url, name) for url in urls}

        def work(reader: Reader) -> dict[str, Thread]:
            return {url: queries.thread(reader, *place) for url, place in places.items()}

        threads = self._database.read_now(work)
        tags = {thread_tag(places[url].site, thread.url) for url, thread in threads.items()}
        numbers = {url: thread.count for url, thread in threads.items()}
        return Response(200, self._json, encode({"counts": numbers}), tuple(tags))

    def list_comments(self, request: Request) -> Response | Coroutine[Any, Any, Response]:
        """GET /api/comments?url=U[&sort=oldest|newest|top&limit&after&since]: 200 with comments.

        ``{"data": […], "count": N, "next"?, "closes"?, "voting"?}``: approved comments of the page,
        `count` is of all, `next` is what to send as `after` to go on, `closes` the moment from
        which the page takes no more comments, `voting` is ``up`` or ``both``. A page never
        heard of has none. With `since`, a moment as in the answers, only what was published or
        changed from then on, without `next`, and ``"votes": {id: number}`` of all that have some;
        who has those of that moment and, with these, not `count` of them, asks for all. 400 for a
        bad parameter. Stored.
        """
        form = request.parameters()
        place = self._sites.locate(first(form, "url"), first(form, "site"))
        sort, limit, after, since = self._range(form)
        open_for = self._sites.open_for(place.site)

        def work(reader: Reader) -> CommentList:
            if since is not None:
                return queries.changed(reader, place, since, limit, open_for)
            return queries.list_comments(reader, place, sort, limit, after, open_for)

        if since is None and sort != "top" and limit <= SHORT:
            page = self._database.read_now(Reader.whole, work)
            return self._show_list(page, place)
        return self._read_list(work, place)

    async def _read_list(self, work: Callable[[Reader], CommentList], place: PageRef) -> Response:
        return self._show_list(await self._database.read(work), place)

    def _show_list(self, page: CommentList, place: PageRef) -> Response:
        tags = (thread_tag(place.site, page.thread.url),)
        return Response(200, self._list, encode(self._listed(page, place.site)), tags)

    def _listed(self, page: CommentList, site: str) -> dict[str, object]:
        data = self._serializer.items(page.items, site)
        answer: dict[str, object] = {"data": data, "count": page.thread.count}
        if page.next is not None:
            answer["next"] = page.next
        if page.closes is not None:
            answer["closes"] = rfc3339(page.closes)
        if self._settings.comments.votes != "off":
            answer["voting"] = self._settings.comments.votes
        if page.votes is not None:
            answer["votes"] = page.votes
        return answer

    def submit(self, request: Request) -> Deferred:
        """POST /api/comments with JSON: 201 if shown at once, 202 if it waits for approval.

        Both say ``{"status", "comment", "token", "token_expires"}``; the token is null where an
        equal comment without a key was sent within the hour. 400 with all faulty fields,
        403 for a foreign page, 409 for a key of another comment, 415, 429, 503. `?site=` names
        the site; `site` in the body is the author's.
        """
        self._submissions.admit(request)
        body, locate = request.json(), self._submissions.locator(request)
        submission = from_json(body, self._submissions.bounds, locate)
        return self._submissions.begin(
            request, submission, partial(self._receipt, submission.place[0])
        )

    def preview(self, request: Request) -> Deferred:
        """POST /api/preview with JSON ``{"message"}``: 200 ``{"html"}``, as it would be shown.

        Nothing is stored. 400 with the faulty fields, 403 for a foreign page, 415, 429.
        """
        site = self._sites.named(first(request.parameters(), "site"))
        headers = self._origins.check(request, site)
        message = message_from_json(request.json(), self._submissions.bounds)
        headers = (("Content-Type", JSON), NOT_STORED, NO_SNIFFING, *headers)
        return self._submissions.preview(
            request, message, lambda html: Response(200, headers, encode({"html": html}))
        )

    def form_token(self, request: Request) -> Response:
        """GET /api/form-token?url=U: 200, what a new form needs.

        ``{"form_token", "proof_of_work"?, "length", "notify"}``. The first two are sent
        back with the comment: the form token as it is, a solution of the work in ALTCHA's
        format. Each is good for one comment of that site within a day. `length` is that of
        the longest message, `notify` whether answers can be mailed. 400 for a bad url. Not
        stored: everybody gets another one.
        """
        site, _ = self._place(request.parameters())
        headers = (("Content-Type", JSON), NOT_STORED, NO_SNIFFING, ANY_ORIGIN)
        return Response(200, headers, encode(self._submissions.invite(request, site)))

    def _receipt(self, site: str, accepted: Accepted) -> Response:
        """Tell an author what became of a submission."""
        comment = accepted.comment
        expires = rfc3339(accepted.token_expires_at) if accepted.token else None
        shown = self._serializer.item(comment, site)
        receipt = Receipt(status(comment), shown, accepted.token, expires)
        headers = (("Content-Type", JSON), NOT_STORED, NO_SNIFFING, *accepted.headers)
        return Response(201 if comment.status == APPROVED else 202, headers, encode(receipt))

    def _place(self, form: Form) -> PageRef:
        """Find what `url` and `site` name; the url is `""` where the whole site is meant."""
        return self._sites.place(first(form, "url"), first(form, "site"))

    def _range(self, form: Form) -> tuple[Sort, int, str | None, int | None]:
        """Read `sort`, `limit`, `after`, `since`. Raises HttpError 400 naming all faulty ones."""
        most = self._settings.comments.list_limit
        sort, limit = first(form, "sort") or "oldest", first(form, "limit") or str(most)
        wrong = {}
        if sort not in SORTS:
            wrong["sort"] = f"This must be one of {', '.join(SORTS)}."
        number = whole_number(limit) or 0
        if not number:
            wrong["limit"] = f"This must be a whole number from 1 to {most}."
        after, since = first(form, "after") or None, first(form, "since")
        moment = None
        if since:
            try:
                moment = read(since)
            except ValueError:
                wrong["since"] = "This must be a moment as 2026-11-21T08:30:00Z."
            if after or sort != "oldest":
                wrong["since"] = "This goes with the order oldest alone, and without after."
        if wrong:
            raise HttpError(400, "invalid", f"Please look at: {', '.join(wrong)}.", wrong)
        return SORTS[sort], min(number, most), after, moment

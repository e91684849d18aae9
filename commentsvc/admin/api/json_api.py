"""The JSON API of moderation, below /api/moderation: everything that the pages do.

A token identifies the account, see `token_access`. The work is done by `moderation.decisions` and
`moderation.review`, as for the pages. As in `api.comments`, each operation defines its part of the
API.
"""

from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta
from msgspec.structs import asdict

from commentsvc.admin.api.token_access import TokenAccess, answered, body
from commentsvc.admin.dashboard import settings_sections
from commentsvc.api.serialize import Answer, Moment
from commentsvc.comments import search
from commentsvc.comments.submission import MessageBody, message_from_json
from commentsvc.context import ServiceContext
from commentsvc.db.connection import Reader, Transaction
from commentsvc.db.schema.outbox import OutboxRow
from commentsvc.http.messages import NOT_STORED, HttpError, Request, Response
from commentsvc.http.operation import NOTHING, Operation, Query, json_of
from commentsvc.http.router import Route
from commentsvc.model import STATES, Entry
from commentsvc.moderation import actions, decisions, lists, review, threads
from commentsvc.moderation.actions import ChangeResult, HistoryEntry
from commentsvc.moderation.decisions import TAKE_BACK
from commentsvc.moderation.lists import CURSOR, StoredVerdict
from commentsvc.moderation.permissions import Actor, Permission
from commentsvc.moderation.review import ReviewQuery
from commentsvc.moderation.threads import ThreadSummary
from commentsvc.outbox import outbox
from commentsvc.spam import bans
from commentsvc.spam.bans import Ban
from commentsvc.util.timestamps import DAY_MS, rfc3339

BASE: Final = "/api/moderation"
LAST: Final = 2**63 - 1
STATUS_OF: Final = {"approve": "approved", "spam": "spam", "delete": "deleted"}

Id = Annotated[int, Meta(ge=1, le=10**18 - 1)]
Cursor = Annotated[
    str,
    Meta(
        description="Continue here: `next` of the previous answer.",
        pattern=rf"^(?:|{CURSOR})(?![\s\S])",
        extra={"message": "This must be the `next` of a page."},
    ),
]
IdCursor = Annotated[
    int, Meta(ge=1, le=10**18 - 1, description="Continue here: `next` of the previous answer.")
]
Limit = Annotated[int, Meta(ge=1, le=100, description="The largest number of results.")]
Words = Annotated[str, Meta(description="Search words, all of which must occur.")]
SiteOrAll = Annotated[
    str,
    Meta(
        description="The name of a site. Default: all sites.",
        extra_json_schema={"x-setting": "site"},
    ),
]


class ReviewListQuery(Query, frozen=True):
    """Which comments are listed. Without a status and words, the pending ones."""

    status: Literal["", "pending", "approved", "spam", "deleted"] = ""
    q: Words = ""
    site: SiteOrAll = ""
    after: Cursor = ""
    limit: Limit = 50


class ThreadListQuery(Query, frozen=True):
    """Which pages are listed."""

    q: Annotated[str, Meta(description="Part of an address or title.")] = ""
    after: IdCursor | None = None
    limit: Limit = 50


class OutboxListQuery(Query, frozen=True):
    """Which mails and webhook calls are listed."""

    state: Literal["", "open", "queued", "sent", "failed"] = ""
    after: IdCursor | None = None
    limit: Limit = 50


class DaysQuery(Query, frozen=True):
    """How many days, up to today (UTC), are counted."""

    days: Annotated[int, Meta(ge=1, le=1_000)] = 30
    site: SiteOrAll = ""


class ModeratedComment(Answer, frozen=True):
    """A comment as moderators see it, with its author's address and its verdict."""

    id: int
    site: str
    url: str
    title: str
    parent: int | None
    status: Literal["pending", "approved", "spam", "deleted"]
    author: str
    email: str
    author_site: str
    role: str
    verified: bool
    message: str
    html: str
    created: Moment
    published: Moment | None
    edited: Moment | None
    votes: int
    score: int
    reasons: list[str]


class ModeratedComments(Answer, frozen=True):
    """Comments, the newest first; pass `next` as `after` for more, null at the end."""

    data: list[ModeratedComment]
    next: str | None


class HistoryItem(Answer, frozen=True):
    """A change of a comment: who made it, what changed, and who undid it."""

    decision: int
    field: str
    old: str
    new: str
    actor: str
    created: Moment
    undone: Moment | None
    undone_by: str | None


class CommentWithHistory(Answer, frozen=True):
    """A comment and its history: the last 50 changes, the newest first."""

    comment: ModeratedComment
    history: list[HistoryItem]


class DecisionBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An action and the comments it is for; `restore` undoes the last change of each."""

    action: Literal["approve", "spam", "delete", "restore"]
    ids: Annotated[list[Id], Meta(min_length=1, max_length=1_000)]


class DecisionResult(Answer, frozen=True):
    """What a decision changed, and the number for undoing it (0 if there is nothing to undo).

    `unchanged` are the comments that it did not change, with their status.
    """

    decision: int
    changed: list[int]
    unchanged: dict[int, str]


class AnswerResultBody(Answer, frozen=True):
    """The id of the answer, and the decision that approved its parent (0 if none did)."""

    id: int
    decision: int


class ModeratedThread(Answer, frozen=True):
    """A page of a blog. `count` is the number of its published comments."""

    id: int
    site: str
    url: str
    title: str
    count: int
    state: Literal["aging", "open", "closed"]
    aliases: list[str]


class ModeratedThreads(Answer, frozen=True):
    """Pages, the newest first; pass `next` as `after` for more, null at the end."""

    data: list[ModeratedThread]
    next: int | None


class ThreadVerb(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A change of a page: its state, its title, or another address.

    `merge` moves its comments to the page `value`; `remove_reactions` and `remove_views` need no
    `value`. None of these can be undone.
    """

    do: Literal[
        "state",
        "title",
        "move",
        "alias",
        "unalias",
        "merge",
        "remove_reactions",
        "remove_views",
    ]
    value: Annotated[str, Meta(max_length=2_000)] = ""


class BanBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What to ban, and for how many days (0 for ever)."""

    kind: Literal["author", "network", "word", "domain"]
    value: Annotated[str, Meta(max_length=300)]
    days: Annotated[int, Meta(ge=0, le=36_500)] = 0


class ListedBan(Answer, frozen=True):
    """A ban; `expires` is null for a ban without end."""

    id: int
    kind: Literal["author", "network", "word", "domain"]
    value: str
    actor: str
    created: Moment
    expires: Moment | None


class ListedBans(Answer, frozen=True):
    """All bans, the newest first."""

    data: list[ListedBan]


class MadeBan(Answer, frozen=True):
    """The id of a new ban."""

    id: int


class ListedPost(Answer, frozen=True):
    """A mail or webhook call, and its state."""

    id: int
    channel: str
    kind: str
    recipient: str
    comment: int | None
    state: Literal["open", "queued", "sent", "failed"]
    attempts: int
    error: str
    created: Moment
    due: Moment


class ListedPosts(Answer, frozen=True):
    """Mails and webhook calls, the newest first; pass `next` as `after` for more.

    `next` is null at the end.
    """

    data: list[ListedPost]
    next: int | None


class DayNumber(Answer, frozen=True):
    """How many of the comments written on a day (UTC) now have a status."""

    day: str
    status: str
    number: int


class DayNumbers(Answer, frozen=True):
    """The figures of each day, and how many comments are pending and spam (counted up to 1,001)."""

    data: list[DayNumber]
    pending: int
    spam: int


def operation_of(
    method: str,
    path: str,
    summary: str,
    permission: Permission,
    **more: Any,  # Any: as in Operation
) -> Operation[Any]:
    """Return an operation of this API."""
    errors = (400, 401, 403, *more.pop("errors", ()), 429, 503)
    query = more.pop("query", Query)
    return Operation(
        method=method,
        path=BASE + path,
        summary=summary,
        permission=permission,
        query=query,
        errors=errors,
        **more,
    )


READ, DECIDE = Permission.READ, Permission.DECIDE
COMMENTS = operation_of(
    *("GET", "/comments", "List or search comments; by default those that wait", READ),
    query=ReviewListQuery,
    answers={200: json_of(ModeratedComments)},
)
COMMENT = operation_of(
    *("GET", "/comments/{id}", "One comment and its history", READ),
    answers={200: json_of(CommentWithHistory)},
    errors=(404,),
)
EDIT = operation_of(
    *("PATCH", "/comments/{id}", "Change the text of a comment", DECIDE),
    body=(json_of(MessageBody),),
    answers={200: json_of(DecisionResult)},
    errors=(404, 415),
)
ANSWER = operation_of(
    *("POST", "/comments/{id}/answers", "Answer a comment, and approve it if it waits", DECIDE),
    body=(json_of(MessageBody),),
    answers={201: json_of(AnswerResultBody)},
    errors=(404, 409, 415),
)
PIN = operation_of(
    *("PUT", "/comments/{id}/pin", "Pin a comment to the top of its page", DECIDE),
    answers={204: NOTHING},
    errors=(404, 409),
)
UNPIN = operation_of(
    *("DELETE", "/comments/{id}/pin", "Unpin a comment", DECIDE),
    answers={204: NOTHING},
    errors=(404,),
)
DECISION = operation_of(
    *("POST", "/decisions", "Approve, mark as spam, delete or restore comments", DECIDE),
    body=(json_of(DecisionBody),),
    answers={200: json_of(DecisionResult)},
    errors=(404, 409, 415),
)
UNDO = operation_of(
    *("DELETE", "/decisions/{id}", "Undo a decision", DECIDE),
    answers={200: json_of(DecisionResult)},
    errors=(404, 409),
)
THREADS = operation_of(
    *("GET", "/threads", "The pages of the blog that have comments", READ),
    query=ThreadListQuery,
    answers={200: json_of(ModeratedThreads)},
)
THREAD = operation_of(
    *(
        "POST",
        "/threads/{id}",
        "Close, move, merge or rename a page, change its aliases, or remove its reactions or views",
        DECIDE,
    ),
    body=(json_of(ThreadVerb),),
    answers={200: json_of(ModeratedThread)},
    errors=(404, 409, 415),
)
BANS = operation_of(
    *("GET", "/bans", "All bans", Permission.READ_SERVICE),
    answers={200: json_of(ListedBans)},
)
BAN = operation_of(
    *("POST", "/bans", "Ban somebody or something", Permission.DECIDE_SERVICE),
    body=(json_of(BanBody),),
    answers={201: json_of(MadeBan)},
    errors=(409, 415),
)
UNBAN = operation_of(
    *("DELETE", "/bans/{id}", "Lift a ban", Permission.DECIDE_SERVICE),
    answers={204: NOTHING},
    errors=(404,),
)
BAN_COMMENTS = operation_of(
    *(
        "POST",
        "/bans/{id}/comments",
        "Mark the existing comments that a ban covers as spam",
        Permission.DECIDE_SERVICE,
    ),
    answers={200: json_of(DecisionResult)},
    errors=(404,),
)
OUTBOX = operation_of(
    *("GET", "/outbox", "Mails and webhooks: sent, waiting or failed", Permission.READ_SERVICE),
    query=OutboxListQuery,
    answers={200: json_of(ListedPosts)},
)
RETRY = operation_of(
    *("POST", "/outbox/{id}/retry", "Send something again", Permission.DECIDE_SERVICE),
    answers={204: NOTHING},
    errors=(404, 409),
)
DAYS = operation_of(
    *("GET", "/days", "The number of comments of each day, by status", READ),
    query=DaysQuery,
    answers={200: json_of(DayNumbers)},
)
SETTINGS = operation_of(
    *("GET", "/settings", "The settings in effect, without secrets", Permission.READ_SERVICE),
    answers={200: json_of(dict[str, dict[str, str]])},
)
DONE: Final = Response(204, (NOT_STORED,), b"")


class ModerationApi:
    """The handlers. `TokenAccess` tells each of them which account it works for."""

    def __init__(self, service: ServiceContext, access: TokenAccess) -> None:
        self._database = service.database
        self._clock = service.clock
        self._sites = service.sites
        self._settings = service.settings
        self._access = access

    def routes(self) -> list[Route]:
        """Return the table of routes."""
        return self._access.routes(
            [
                (COMMENTS, self.comments),
                (COMMENT, self.comment),
                (EDIT, self.edit),
                (ANSWER, self.answer),
                (PIN, self.pin),
                (UNPIN, self.unpin),
                (DECISION, self.decide),
                (UNDO, self.undo),
                (THREADS, self.threads),
                (THREAD, self.change_thread),
                (BANS, self.bans),
                (BAN, self.ban),
                (UNBAN, self.unban),
                (BAN_COMMENTS, self.ban_comments),
                (OUTBOX, self.outbox),
                (RETRY, self.retry),
                (DAYS, self.days),
                (SETTINGS, self.settings),
            ]
        )

    async def comments(self, request: Request, who: Actor) -> Response:
        """GET /comments."""
        asked = COMMENTS.read(request)
        self._check_site(asked.site)
        status = asked.status or ("" if asked.q.strip() else "pending")
        chosen = ReviewQuery(status, asked.q.strip(), asked.site, asked.after)
        piece = await self._database.read(review.piece, who, chosen, asked.limit)
        data = [_comment(entry, piece.verdicts.get(entry.comment.id)) for entry in piece.items]
        return answered(ModeratedComments(data, piece.next or None))

    def _check_site(self, name: str) -> None:
        """Raise UnknownSiteError if no site has that name; "" means all sites."""
        if name:
            self._sites.named(name)

    async def comment(self, request: Request, who: Actor) -> Response:
        """GET /comments/{id}."""
        COMMENT.read(request)
        number = request.number()

        def work(reader: Reader) -> CommentWithHistory:
            entry = decisions.find_comment(reader, who, number)
            verdict = lists.verdicts_of(reader, [number]).get(number)
            changes = actions.history(reader, number, actions.SHOWN)
            return CommentWithHistory(_comment(entry, verdict), [*map(_change, changes)])

        return answered(await self._database.read(work))

    async def edit(self, request: Request, who: Actor) -> Response:
        """PATCH /comments/{id}."""
        EDIT.read(request)
        message = message_from_json(request.json(), self._settings.comments)
        number, now = request.number(), self._clock.now_ms()
        return _result(await self._database.write(decisions.edit, who, number, message, now))

    async def answer(self, request: Request, who: Actor) -> Response:
        """POST /comments/{id}/answers."""
        ANSWER.read(request)
        message = message_from_json(request.json(), self._settings.comments)
        number, now = request.number(), self._clock.now_ms()
        made = await self._database.write(decisions.answer, who, number, message, now)
        return answered(AnswerResultBody(made.comment.id, made.decision_id), 201)

    async def pin(self, request: Request, who: Actor) -> Response:
        """PUT /comments/{id}/pin."""
        PIN.read(request)
        await self._database.write(decisions.pin, who, request.number(), pinned=True)
        return DONE

    async def unpin(self, request: Request, who: Actor) -> Response:
        """DELETE /comments/{id}/pin."""
        UNPIN.read(request)
        await self._database.write(decisions.pin, who, request.number(), pinned=False)
        return DONE

    async def decide(self, request: Request, who: Actor) -> Response:
        """POST /decisions."""
        DECISION.read(request)
        sent = body(request, DecisionBody)
        to = STATUS_OF.get(sent.action, TAKE_BACK)
        now = self._clock.now_ms()
        return _result(await self._database.write(decisions.decide, who, sent.ids, to, now))

    async def undo(self, request: Request, who: Actor) -> Response:
        """DELETE /decisions/{id}."""
        UNDO.read(request)
        number, now = request.number(), self._clock.now_ms()
        return _result(await self._database.write(decisions.undo, who, number, now))

    async def threads(self, request: Request, who: Actor) -> Response:
        """GET /threads."""
        asked = THREADS.read(request)
        rows = await self._database.read(
            threads.listing, asked.q.strip(), asked.limit + 1, asked.after, who.sites
        )
        more = rows[asked.limit - 1].id if len(rows) > asked.limit else None
        return answered(ModeratedThreads([*map(_thread, rows[: asked.limit])], more))

    async def change_thread(self, request: Request, who: Actor) -> Response:
        """POST /threads/{id}."""
        THREAD.read(request)
        sent, number, now = body(request, ThreadVerb), request.number(), self._clock.now_ms()
        if sent.do == "state" and sent.value not in STATES:
            problem = f"This must be one of {', '.join(STATES)}."
            raise HttpError(400, "invalid", "Please look at: value.", {"value": problem})
        thread = await self._database.read(decisions.find_thread, who, number)
        change = decisions.thread_change(self._sites, thread, sent.do, sent.value)

        def work(tx: Transaction) -> ThreadSummary:
            shown = decisions.change_thread(tx, who, number, change, now)
            return decisions.find_thread(tx, who, shown)

        return answered(_thread(await self._database.write(work)))

    async def bans(self, request: Request, _who: Actor) -> Response:
        """GET /bans."""
        BANS.read(request)
        return answered(ListedBans([*map(_ban, await self._database.read(bans.listing))]))

    async def ban(self, request: Request, who: Actor) -> Response:
        """POST /bans."""
        BAN.read(request)
        sent, now = body(request, BanBody), self._clock.now_ms()
        expires = now + sent.days * DAY_MS if sent.days else None
        number = await self._database.write(bans.add, sent.kind, sent.value, who.name, now, expires)
        return answered(MadeBan(number), 201)

    async def unban(self, request: Request, _who: Actor) -> Response:
        """DELETE /bans/{id}."""
        UNBAN.read(request)
        await self._database.write(bans.remove, request.number())
        return DONE

    async def ban_comments(self, request: Request, who: Actor) -> Response:
        """POST /bans/{id}/comments."""
        BAN_COMMENTS.read(request)
        number, now = request.number(), self._clock.now_ms()
        return _result(
            await self._database.write(decisions.ban_comments, who, number, review.MANY, now)
        )

    async def outbox(self, request: Request, _who: Actor) -> Response:
        """GET /outbox."""
        asked = OUTBOX.read(request)
        rows = await self._database.read(
            outbox.listing, asked.state or None, asked.after or LAST, asked.limit + 1
        )
        more = rows[asked.limit - 1].id if len(rows) > asked.limit else None
        return answered(ListedPosts([*map(_post, rows[: asked.limit])], more))

    async def retry(self, request: Request, _who: Actor) -> Response:
        """POST /outbox/{id}/retry."""
        RETRY.read(request)
        number, now = request.number(), self._clock.now_ms()
        if not await self._database.write(outbox.retry, [number], now):
            raise HttpError(409, "refused", "That was sent, or does not exist.")
        return DONE

    async def days(self, request: Request, who: Actor) -> Response:
        """GET /days."""
        asked = DAYS.read(request)
        self._check_site(asked.site)
        sites = who.narrowed(asked.site)
        since = self._clock.now_ms() // DAY_MS - asked.days + 1
        found = await self._database.read(search.days, sites, since)
        numbers = await self._database.read(lists.numbers, sites)
        data = [
            DayNumber(rfc3339(each.day * DAY_MS)[:10], each.status, each.number)
            for each in found
            if each.number
        ]
        return answered(DayNumbers(data, numbers["pending"], numbers["spam"]))

    async def settings(self, request: Request, _who: Actor) -> Response:
        """GET /settings."""
        SETTINGS.read(request)
        sections = settings_sections(self._settings)
        names = [name for name, _ in sections]
        return answered(_named(names, [dict(rows) for _, rows in sections]))


def _named(names: list[str], sections: list[dict[str, str]]) -> dict[str, dict[str, str]]:
    """Return sections by name; those with the same name are numbered."""
    return {
        f"{name} {number}" if names.count(name) > 1 else name: section
        for number, (name, section) in enumerate(zip(names, sections, strict=True), 1)
    }


def _moment(moment: int | None) -> str | None:
    return None if moment is None else rfc3339(moment)


def _comment(entry: Entry, verdict: StoredVerdict | None) -> ModeratedComment:
    comment = entry.comment
    return ModeratedComment(
        comment.id,
        entry.site,
        entry.url,
        entry.title,
        comment.parent_id,
        comment.status,  # type: ignore[arg-type]  # the table's CHECK says that it is one of them
        comment.author,
        comment.email,
        comment.site,
        comment.role,
        comment.reader_id is not None,
        comment.source,
        comment.html,
        rfc3339(comment.created_at),
        _moment(comment.published_at),
        _moment(comment.edited_at),
        comment.votes,
        verdict.score if verdict else 0,
        [*verdict.reasons] if verdict else [],
    )


def _change(entry: HistoryEntry) -> HistoryItem:
    return HistoryItem(
        entry.decision_id,
        entry.field,
        entry.old,
        entry.new,
        entry.actor,
        rfc3339(entry.created_at),
        _moment(entry.undone_at),
        entry.undone_by,
    )


def _result(done: ChangeResult) -> Response:
    return answered(DecisionResult(done.decision_id, [*done.changed], done.unchanged))


def _thread(thread: ThreadSummary) -> ModeratedThread:
    return ModeratedThread(**{**asdict(thread), "aliases": [*thread.aliases]})


def _ban(ban: Ban) -> ListedBan:
    return ListedBan(
        ban.id,
        ban.kind,  # type: ignore[arg-type]  # the table's CHECK says that it is one of them
        ban.value,
        ban.actor,
        rfc3339(ban.created_at),
        _moment(ban.expires_at),
    )


def _post(row: OutboxRow) -> ListedPost:
    return ListedPost(
        row.id,
        row.channel,
        row.kind,
        row.recipient,
        row.comment_id,
        row.state,  # type: ignore[arg-type]  # the table's CHECK says that it is one of them
        row.attempts,
        row.error,
        rfc3339(row.created_at),
        rfc3339(row.due_at),
    )

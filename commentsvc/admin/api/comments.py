"""The JSON API of moderation: comments, and the decisions on them.

The work is done by `moderation.authorized` and `moderation.review`, as for the pages.
"""

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from commentsvc.admin.api.token_access import Asked, Plain, Sent, endpoint
from commentsvc.api.parameters import NO_TAG
from commentsvc.api.serialize import Answer, Moment, answer_of
from commentsvc.comments.submission import MessageBody, message_from_text
from commentsvc.context import ServiceContext
from commentsvc.db.connection import Snapshot
from commentsvc.http.operation import Query
from commentsvc.model import Entry, reaction_counts
from commentsvc.moderation import authorized, history, lists, review, statements
from commentsvc.moderation.authorized import TAKE_BACK, Decision
from commentsvc.moderation.changes import ChangeResult
from commentsvc.moderation.lists import CURSOR, StoredVerdict
from commentsvc.moderation.permissions import Permission
from commentsvc.moderation.review import ReviewQuery
from commentsvc.util.i18n import TAG, canonical_tag

READ, DECIDE = Permission.READ, Permission.DECIDE
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
    lang: str
    role: str
    verified: bool
    message: str
    html: str
    created: Moment
    published: Moment | None
    edited: Moment | None
    votes: int
    reactions: dict[str, int]
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


class LanguageBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The language of a comment."""

    lang: Annotated[
        str,
        Meta(
            description="Its tag (BCP 47).",
            pattern=rf"^{TAG}(?![\s\S])",
            examples=["de"],
            extra={"message": NO_TAG},
        ),
    ]


class DecisionBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An action and the comments it is for; `restore` undoes the last change of each."""

    action: Literal["approve", "spam", "delete", "restore"]
    ids: Annotated[list[Id], Meta(min_length=1, max_length=1_000)]
    ground: Annotated[
        Literal["law", "rules"] | None,
        Meta(description="What the decision rests on: the law, or the rules of the blog."),
    ] = None
    reason: Annotated[
        str,
        Meta(
            description="The reasons, for the authors, and for readers who reported a comment.",
            max_length=statements.LENGTH,
        ),
    ] = ""


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


class ModerationApi:
    """The handlers of comments and authorized."""

    def __init__(self, service: ServiceContext) -> None:
        self._database = service.database
        self._sites = service.sites
        self._bounds = service.settings.comments

    @endpoint("GET", "/comments", READ)
    async def comments(self, call: Asked[ReviewListQuery]) -> ModeratedComments:
        """List or search comments; by default those that wait."""
        asked = call.query
        self._sites.named(asked.site)  # or it raises UnknownSiteError
        status = asked.status or ("" if asked.q.strip() else "pending")
        chosen = ReviewQuery(status, asked.q.strip(), asked.site, asked.after)
        piece = await self._database.read(review.piece, call.who, chosen, asked.limit)
        data = [
            _comment(self._sites.with_absolute_links(entry), piece.verdicts.get(entry.comment.id))
            for entry in piece.items
        ]
        return ModeratedComments(data, piece.next or None)

    @endpoint("GET", "/comments/{id}", READ)
    async def comment(self, call: Plain) -> CommentWithHistory:
        """One comment and its history."""
        number = call.number

        def work(snapshot: Snapshot) -> CommentWithHistory:
            entry = authorized.find_comment(snapshot, call.who, number)
            verdict = lists.verdicts_of(snapshot, [number]).get(number)
            changes = history.entries(snapshot, number, history.SHOWN)
            return CommentWithHistory(
                _comment(self._sites.with_absolute_links(entry), verdict),
                [answer_of(HistoryItem, each) for each in changes],
            )

        return await self._database.read(work)

    @endpoint("PATCH", "/comments/{id}", DECIDE)
    async def edit(self, call: Sent[MessageBody]) -> DecisionResult:
        """Change the text of a comment."""
        text = message_from_text(call.body.message, self._bounds)
        return result_of(
            await self._database.write(authorized.edit, call.who, call.number, text, call.now)
        )

    @endpoint("PUT", "/comments/{id}/language", DECIDE)
    async def correct_language(self, call: Sent[LanguageBody]) -> DecisionResult:
        """Correct the language of a comment."""
        lang = canonical_tag(call.body.lang)
        return result_of(
            await self._database.write(
                authorized.correct_language, call.who, call.number, lang, call.now
            )
        )

    @endpoint("POST", "/comments/{id}/answers", DECIDE, status=201, errors=(409,))
    async def answer(self, call: Sent[MessageBody]) -> AnswerResultBody:
        """Answer a comment, and approve it if it waits."""
        text = message_from_text(call.body.message, self._bounds)
        made = await self._database.write(authorized.answer, call.who, call.number, text, call.now)
        return AnswerResultBody(made.comment.id, made.decision_id)

    @endpoint("PUT", "/comments/{id}/pin", DECIDE, errors=(409,))
    async def pin(self, call: Plain) -> None:
        """Pin a comment to the top of its page."""
        await self._database.write(authorized.pin, call.who, call.number, pinned=True)

    @endpoint("DELETE", "/comments/{id}/pin", DECIDE)
    async def unpin(self, call: Plain) -> None:
        """Unpin a comment."""
        await self._database.write(authorized.pin, call.who, call.number, pinned=False)

    @endpoint("POST", "/decisions", DECIDE, errors=(404, 409))
    async def decide(self, call: Sent[DecisionBody]) -> DecisionResult:
        """Approve, mark as spam, delete or restore comments."""
        body = call.body
        to = STATUS_OF.get(body.action, TAKE_BACK)
        given = statements.reasons(body.ground or "", body.reason)
        decision = Decision(body.ids, to, reasons=dict.fromkeys(body.ids, given) if given else {})
        return result_of(
            await self._database.write(authorized.decide, call.who, decision, call.now)
        )

    @endpoint("DELETE", "/decisions/{id}", DECIDE, errors=(409,))
    async def undo(self, call: Plain) -> DecisionResult:
        """Undo a decision."""
        return result_of(
            await self._database.write(authorized.undo_decision, call.who, call.number, call.now)
        )


def _comment(entry: Entry, verdict: StoredVerdict | None) -> ModeratedComment:
    comment = entry.comment
    return answer_of(
        ModeratedComment,
        comment,
        site=entry.site,
        url=entry.url,
        title=entry.title,
        author_site=comment.site,
        verified=comment.reader_id is not None,
        message=comment.source,
        reactions=reaction_counts(comment.reactions),
        score=verdict.score if verdict else 0,
        reasons=verdict.reasons if verdict else (),
    )


def result_of(done: ChangeResult) -> DecisionResult:
    """Return the answer for the result of a decision."""
    return DecisionResult(done.decision_id, [*done.changed], done.unchanged)

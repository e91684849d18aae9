"""Classifier: another program judges comments before they are published.

If `spam.classifier_url` is set, a comment that would be published at once waits for the answer of
that program; one that waits for a moderator anyway gets its opinion too. The outbox asks it after
the comment was stored: so no submission waits for it, and while it is down or slow, comments wait
and none is lost. A failed request is retried for a week, with growing pauses; a moderator may
decide at any time.

The request is a POST of JSON with the same content and signature as webhooks (see
`webhooks.signature`). The answer is JSON too:

    {"decision": "accept" | "hold" | "spam", "reason": "…", "score": 0.93}

"accept" publishes a comment that waited for nothing else, "hold" leaves it to the moderators,
"spam" files it as spam. The reason and the score (any number) are shown to moderators.
"""

import contextlib
from collections.abc import AsyncIterator
from typing import Final, Literal, NamedTuple

import msgspec

from commentsvc.comments import queries
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.database import Database
from commentsvc.db.schema.comments import CommentTable
from commentsvc.db.schema.outbox import OutboxRow
from commentsvc.delivery.channel import DeliveryRejected, TemporaryFailure
from commentsvc.delivery.webhooks import Notification, WebhookRequest, exchange, webhook
from commentsvc.model import APPROVED, AUTHOR, CLASSIFIER, PENDING, SPAM, STATUS, Entry
from commentsvc.moderation import changes, history
from commentsvc.settings.schema import Settings, origins
from commentsvc.spam import opinion
from commentsvc.util.clock import Clock
from commentsvc.util.http_client import SettingsClient
from commentsvc.util.text import one_line

REASON_LENGTH: Final = 200  # characters kept of a reason


class ClassifierAnswer(msgspec.Struct, frozen=True):
    """An answer of the classifier, see this module's docstring."""

    decision: Literal["accept", "hold", "spam"]
    reason: str = ""
    score: float | None = None


class ClassifierQuestion(NamedTuple):
    """The request, and the id and text of its comment at that time."""

    request: WebhookRequest
    comment_id: int
    source: str


class Classifier:
    """A channel that asks the classifier, and acts on the answer."""

    def __init__(self, settings: Settings, database: Database, clock: Clock) -> None:
        self._form = webhook(settings.spam.classifier_url, settings.hooks.secret)
        self._deadline = settings.spam.classifier_seconds
        self._client = SettingsClient(settings.hooks.allowed_networks)
        self._origins = origins(settings.sites)
        self._database = database
        self._clock = clock

    def compose(self, snapshot: Snapshot, row: OutboxRow) -> ClassifierQuestion | None:
        entry = queries.find(snapshot, row.comment_id or 0)
        if entry is None or not _is_open(snapshot, entry, _reasons(snapshot, entry.comment.id)):
            return None
        page = self._origins.get(entry.site, "") + entry.url
        request = self._form(Notification(entry, row, page, self._clock.now_ms() // 1_000))
        return ClassifierQuestion(request, entry.comment.id, entry.comment.source)

    @contextlib.asynccontextmanager
    async def connect(self) -> AsyncIterator["Classifier"]:
        """See `channel.Channel`; each request has a connection of its own."""
        yield self

    async def send(self, question: ClassifierQuestion) -> None:
        try:
            answer = await exchange(question.request, self._client, self._deadline)
        except TemporaryFailure as error:  # moderators decide on what it cannot read
            raise DeliveryRejected(str(error)) from error
        try:
            judged = msgspec.json.decode(answer.text, type=ClassifierAnswer)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise DeliveryRejected(f"{answer.status} {error}") from error
        await self._database.write(_apply, question, judged, self._clock.now_ms())


def _is_open(snapshot: Snapshot, entry: Entry, reasons: tuple[str, ...]) -> bool:
    """Return whether a comment has neither an opinion nor a moderator's decision."""
    comment = entry.comment
    if comment.status != PENDING or comment.role or not comment.source:
        return False
    if opinion.is_given(reasons):
        return False
    changes = history.last_changes(snapshot, comment.id, STATUS)
    decision = next((each for each in changes if each.undone_at is None), None)
    return decision is None or decision.actor == AUTHOR


def _reasons(snapshot: Snapshot, comment_id: int) -> tuple[str, ...]:
    [(stored,)] = snapshot.query(
        CommentTable.select(CommentTable.reasons).where(CommentTable.id == comment_id)
    )
    return tuple(stored.splitlines())


def _apply(
    tx: Transaction, question: ClassifierQuestion, answer: ClassifierAnswer, now: int
) -> None:
    """Act on the `answer`, unless the comment was changed or decided on meanwhile."""
    entry = queries.find(tx, question.comment_id)
    if entry is None or entry.comment.source != question.source:
        return
    number, stored = entry.comment.id, _reasons(tx, entry.comment.id)
    if not _is_open(tx, entry, stored):
        return
    score = "" if answer.score is None else f"{answer.score:g}"
    said = (answer.decision, score, one_line(answer.reason[:REASON_LENGTH]))
    lines = opinion.with_opinion(stored, ", ".join(filter(None, said)))
    judged = CommentTable.update(reasons="\n".join(lines))
    tx.change(judged.where(CommentTable.id == number))
    if answer.decision == "spam":
        changes.change(tx, [number], SPAM, CLASSIFIER, now)
    elif answer.decision == "accept" and opinion.waits(stored):
        changes.change(tx, [number], APPROVED, CLASSIFIER, now)

"""Classifier: a program or a language model judges comments before they are published.

If `spam.classifier_url` or `judge.url` is set, a comment that would be published at once waits for
the answer; one that waits for a moderator anyway gets the opinion too. The outbox asks it after
the comment was stored: so no submission waits for it, and while it is down or slow, comments wait
and none is lost. A failed request is retried for a week, with growing pauses; a moderator may
decide at any time.

The request to a program is a POST of JSON with the same content and signature as webhooks (see
`webhooks.signature`). The answer is JSON too:

    {"decision": "accept" | "hold" | "spam", "reason": "…", "score": 0.93}

"accept" publishes a comment that waited for nothing else, "hold" leaves it to the moderators,
"spam" files it as spam. The reason and the score (any number) are shown to moderators.
"""

import contextlib
from collections import deque
from collections.abc import AsyncIterator
from typing import Any, Final, Literal, NamedTuple, Protocol

import msgspec

from commentsvc import outbox
from commentsvc.comments import queries
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.database import Database
from commentsvc.db.schema.comments import CommentTable
from commentsvc.db.schema.outbox import OutboxRow
from commentsvc.delivery.channel import DeliveryRejected, TemporaryFailure
from commentsvc.delivery.webhooks import Notification, WebhookRequest, exchange, webhook
from commentsvc.model import APPROVED, AUTHOR, CLASSIFIER, PENDING, SPAM, STATUS, Entry
from commentsvc.moderation import changes, history
from commentsvc.settings.schema import Settings, Site
from commentsvc.spam import opinion
from commentsvc.util.clock import Clock
from commentsvc.util.http_client import SettingsClient
from commentsvc.util.i18n import gettext as _
from commentsvc.util.i18n import moderators_language, translate
from commentsvc.util.lasting import Lasting
from commentsvc.util.text import one_line
from commentsvc.util.timestamps import DAY_MS

REASON_LENGTH: Final = 200  # characters kept of a reason


class ClassifierAnswer(msgspec.Struct, frozen=True):
    """An answer of the classifier, see this module's docstring."""

    decision: Literal["accept", "hold", "spam"]
    reason: str = ""
    score: float | None = None


class ClassifierBackend(Protocol):
    """Whoever is asked: a program, or a language model (see `judge`)."""

    a_day: int | None  # questions in a day at most

    def prepare(self, notification: Notification) -> Any:
        """Return the question about a comment."""

    async def ask(self, question: Any) -> ClassifierAnswer:  # Any: what `prepare` made
        """Return the answer. Raise DeliveryError."""


class ClassifierProgram:
    """The program at `spam.classifier_url`."""

    a_day: int | None = None

    def __init__(self, settings: Settings) -> None:
        self.prepare = webhook(settings.spam.classifier_url, settings.hooks.secret)
        self._deadline = settings.spam.classifier_seconds
        self._client = SettingsClient(settings.hooks.allowed_networks)

    async def ask(self, question: WebhookRequest) -> ClassifierAnswer:
        """Return the program's answer. Raise DeliveryError."""
        try:
            answer = await exchange(question, self._client, self._deadline)
        except TemporaryFailure as error:  # moderators decide on what it cannot read
            raise DeliveryRejected(str(error)) from error
        try:
            return msgspec.json.decode(answer.text, type=ClassifierAnswer)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise DeliveryRejected(f"{answer.status} {error}") from error


class ClassifierQuestion(NamedTuple):
    """A question, and the id and text of its comment at that time.

    `refusal` says that the day's questions are used up; "" if they are not.
    """

    prepared: Any  # by ClassifierBackend
    comment_id: int
    source: str
    refusal: str


class Classifier:
    """A channel that asks for an opinion, and acts on the answer."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        clock: Clock,
        backend: ClassifierBackend,
        lasting: Lasting,
    ) -> None:
        self._backend = backend
        self._sites = {site.name: site for site in settings.sites}
        self._database = database
        self._clock = clock
        # When questions were asked that the outbox does not have as sent; they cost as much.
        most = backend.a_day or 1  # without a bound, nothing is done with it
        self._uncounted: deque[int] = lasting.get("questions asked", deque, (), most)

    def compose(self, snapshot: Snapshot, row: OutboxRow) -> ClassifierQuestion | None:
        entry = queries.find(snapshot, row.comment_id or 0)
        if entry is None or not _is_open(snapshot, entry, _reasons(snapshot, entry.comment.id)):
            return None
        now = self._clock.now_ms()
        site = self._sites.get(entry.site, Site())
        language = moderators_language(site.language).tag
        page = site.origin + entry.url
        prepared = self._backend.prepare(Notification(entry, row, page, now // 1_000, language))
        refusal, most = "", self._backend.a_day
        while self._uncounted and self._uncounted[0] <= now - DAY_MS:
            self._uncounted.popleft()
        left = (most or 0) - len(self._uncounted)
        if most and len(snapshot.query(outbox.find_sent, CLASSIFIER, now - DAY_MS, left)) >= left:
            refusal = translate(
                _("Not asked: %(number)s questions were asked within a day.", number=most), language
            )
        return ClassifierQuestion(prepared, entry.comment.id, entry.comment.source, refusal)

    @contextlib.asynccontextmanager
    async def connect(self) -> AsyncIterator["Classifier"]:
        """See `channel.Channel`; each request has a connection of its own."""
        yield self

    async def send(self, question: ClassifierQuestion) -> None:
        if question.refusal:
            answer = ClassifierAnswer("hold", question.refusal)
            await self._database.write(_apply, question, answer, self._clock.now_ms())
            raise DeliveryRejected(question.refusal)
        self._uncounted.append(self._clock.now_ms())
        answer = await self._backend.ask(question.prepared)
        await self._database.write(_apply, question, answer, self._clock.now_ms())
        self._uncounted.pop()


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

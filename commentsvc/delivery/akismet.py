"""Akismet: a spam check by another service, if the operator wants one.

The outbox asks it after the comment was stored: so no submission waits for another server or fails
with it, and a failed request is retried for a week. A comment that it calls spam is filed as such,
unless a moderator has decided meanwhile. If a moderator decides otherwise than Akismet, it is told
so (submit-spam, submit-ham). Our own filter learns nothing from it (see `spam.training`).

Akismet gets what readers see, the page and the name, but not the e-mail address, nor the client's
network address, which is not stored. The protocol requires one, so an address for documentation is
sent (RFC 5737). https://akismet.com/developers/detailed-docs/
"""

import contextlib
from collections.abc import AsyncIterator
from typing import Final, NamedTuple
from urllib.parse import urlencode

from commentsvc.comments import queries
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.database import Database
from commentsvc.db.schema.outbox import OutboxRow
from commentsvc.delivery.channel import ServerUnreachable, TemporaryFailure
from commentsvc.model import AKISMET, APPROVED, AUTHOR, PENDING, SPAM, STATUS, Entry
from commentsvc.moderation import changes, history
from commentsvc.settings.schema import Settings, origins
from commentsvc.util.clock import Clock
from commentsvc.util.http_client import RemoteError, SettingsClient
from commentsvc.util.timestamps import rfc3339

URL: Final = "https://rest.akismet.com/1.1"
NOBODY: Final = "192.0.2.1"
CHECK, MISSED_SPAM, NO_SPAM = "comment-check", "submit-spam", "submit-ham"
_HEADERS: Final = {"Content-Type": "application/x-www-form-urlencoded"}


class Question(NamedTuple):
    """A request: a method of the protocol, its fields, and the id of the comment."""

    method: str
    body: bytes
    comment_id: int


class Akismet:
    """A channel that asks Akismet, and acts on the answer."""

    def __init__(
        self, settings: Settings, database: Database, clock: Clock, url: str = URL
    ) -> None:
        self._key = settings.spam.akismet_key
        self._client = SettingsClient(settings.hooks.allowed_networks)
        self._blogs = origins(settings.sites)
        self._base = settings.server.public_url
        self._database = database
        self._clock = clock
        self._url = url

    def compose(self, snapshot: Snapshot, row: OutboxRow) -> Question | None:
        entry = queries.find(snapshot, row.comment_id or 0)
        if entry is None or not entry.comment.source or entry.comment.role:  # erased, or our own
            return None
        method = _method(snapshot, row.kind, entry)
        return Question(method, self._fields(entry), entry.comment.id) if method else None

    @contextlib.asynccontextmanager
    async def connect(self) -> AsyncIterator["Akismet"]:
        """See `channel.Channel`; each request has a connection of its own."""
        yield self

    async def send(self, question: Question) -> None:
        """See `channel.Connection`; a comment that Akismet calls spam is filed as spam."""
        url = f"{self._url}/{question.method}"
        try:
            answer = await self._client.post(url, question.body, _HEADERS)
        except RemoteError as error:
            raise ServerUnreachable(str(error)) from error
        said = answer.text.strip()
        if answer.status != 200 or said == "invalid":
            raise ServerUnreachable(f"{answer.status} {said}: see spam.akismet_key")
        if question.method == CHECK and said not in ("true", "false"):
            raise TemporaryFailure(f"{answer.status} {said}")
        if question.method == CHECK and said == "true":
            now = self._clock.now_ms()
            await self._database.write(_file, question.comment_id, now)

    def _fields(self, entry: Entry) -> bytes:
        comment = entry.comment
        blog = self._blogs.get(entry.site) or self._base
        return urlencode(
            {
                "api_key": self._key,
                "blog": blog,
                "user_ip": NOBODY,
                "permalink": blog + entry.url,
                "comment_type": "reply" if comment.parent_id else "comment",
                "comment_author": comment.author,
                "comment_author_url": comment.site,
                "comment_content": comment.source,
                "comment_date_gmt": rfc3339(comment.created_at),
            }
        ).encode()


def _method(snapshot: Snapshot, kind: str, entry: Entry) -> str:
    """Return what to report about a comment, "" for nothing."""
    changes = history.last_changes(snapshot, entry.comment.id, STATUS)
    is_decided = any(one.undone_at is None and one.actor != AUTHOR for one in changes)
    asked = any(one.actor == AKISMET for one in changes)
    if kind == "submitted":
        return "" if is_decided or entry.comment.status not in (PENDING, APPROVED) else CHECK
    last = history.entries(snapshot, entry.comment.id, 1)
    if not last or last[0].field != STATUS or last[0].actor == AUTHOR:
        return ""  # the text or the page was changed, or no moderator did it
    if asked and entry.comment.status in (PENDING, APPROVED):
        return NO_SPAM
    return MISSED_SPAM if not asked and entry.comment.status == SPAM else ""


def _file(tx: Transaction, comment_id: int, now: int) -> None:
    """File a comment as spam, unless a moderator has decided on it."""
    entry = queries.find(tx, comment_id)
    if entry and _method(tx, "submitted", entry):
        changes.change(tx, [comment_id], SPAM, AKISMET, now)

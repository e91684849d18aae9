"""Live updates of the queue for API clients, as Server-Sent Events: how many comments wait.

They use the core's streams, as readers' pages do. Submissions do not publish anything, which would
make them slower. Instead, while a token has a stream, its numbers are read every PAUSE, with the
queue's index, and sent if they have changed. A token that expires or is revoked gets no more
events.
"""

import asyncio
from typing import Final

import msgspec

from commentsvc.admin.api.token_access import TokenAccess, actor_of, refused
from commentsvc.api.stream import Publisher
from commentsvc.auth import api_tokens
from commentsvc.context import ServiceContext
from commentsvc.db.connection import Snapshot
from commentsvc.db.errors import DatabaseError
from commentsvc.http.messages import NO_SNIFFING, NOT_STORED, Headers, Request, Response
from commentsvc.http.operation import Content, Operation, Query
from commentsvc.http.router import Route, route
from commentsvc.moderation import lists
from commentsvc.moderation.permissions import Actor, Permission

PAUSE: Final = 1.0  # seconds between two reads
RETRY: Final = b"retry: 5000\n\n"
STREAMS: Final = 16  # the most streams of one account
HEADERS: Final[Headers] = (
    ("Content-Type", "text/event-stream"),
    NOT_STORED,
    ("X-Accel-Buffering", "no"),  # else nginx would buffer events
    NO_SNIFFING,
)

STREAM: Final = Operation(
    method="GET",
    path="/api/moderation/stream",
    summary="Stream the state of the queue (Server-Sent Events)",
    note='An event with `{"pending": N, "spam": N, "reported": N, "newest": ID}` is sent at once'
    " and at each change. `newest` is the newest comment that waits, or 0.",
    query=Query,
    permission=Permission.READ,
    answers={200: Content("text/event-stream")},
    errors=(400, 401, 403, 429, 503),
)


class QueueStream:
    """The handler of new streams, and the task that sends their events."""

    def __init__(self, service: ServiceContext, access: TokenAccess, publisher: Publisher) -> None:
        self._database = service.database
        self._clock = service.clock
        self._access = access
        self._publisher = publisher
        self._sent: dict[int, bytes] = {}  # the last event by the id of each token with a stream
        self._new: set[int] = set()  # tokens whose streams may not have reached the core

    def routes(self) -> list[Route]:
        return [route(STREAM, self.stream)]

    def stream(self, request: Request) -> Response:
        """GET /api/moderation/stream: 200 ``text/event-stream`` that stays open. 401, 403, 503."""
        try:
            token, who = self._access.token(request, STREAM.permission)
            STREAM.read(request)
            event = self._database.read_now(_event, who)
        except Exception as failure:
            return refused(failure)
        self._sent[token.id] = event
        self._new.add(token.id)
        return Response(
            200,
            HEADERS,
            RETRY + event,
            follows=_tag(token.id),
            group=(hash(("moderator", who.account_id)) & 0xFFFFFFFF, STREAMS),
        )

    async def run(self) -> None:
        """Send changes until cancelled."""
        while True:
            await asyncio.sleep(PAUSE)
            self.send_changes()

    def send_changes(self) -> None:
        """Send each token with a stream what has changed since the last call."""
        new, self._new = self._new, set()
        for token_id, sent in list(self._sent.items()):
            if not self._publisher.is_followed(_tag(token_id)):
                if token_id not in new:
                    del self._sent[token_id]
                continue
            try:
                event = self._database.read_now(self._current, token_id)
            except DatabaseError:
                return  # each further read might block the event loop
            if event and event != sent and self._publisher.publish(_tag(token_id), event):
                self._sent[token_id] = event

    def _current(self, snapshot: Snapshot, token_id: int) -> bytes:
        """Return the current event for a token; b"" if it may not get events any more."""
        token = api_tokens.by_id(snapshot, token_id)
        if token is None or token.expires_at <= self._clock.now_ms():
            return b""
        who = actor_of(token)
        return _event(snapshot, who) if who.may(STREAM.permission) else b""


def _tag(token_id: int) -> str:
    return f"queue:{token_id}"


def _event(snapshot: Snapshot, who: Actor) -> bytes:
    numbers = lists.numbers(snapshot, who.sites)
    newest = lists.newest_ids(snapshot, "pending", who.sites, 1)
    data = msgspec.json.encode({**numbers, "newest": newest[0] if newest else 0})
    return b"data: %s\n\n" % data

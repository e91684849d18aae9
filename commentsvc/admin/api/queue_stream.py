"""Live updates of the queue, as Server-Sent Events: how many comments wait.

They use the core's streams, as readers' pages do. Submissions do not publish anything, which would
make them slower. Instead, while a token of the API or a session of the moderation pages has a
stream, its numbers are read every PAUSE, with the queue's index, and sent if they have changed. A
token that expires or is revoked, and a session that ends, gets no more events.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final

import msgspec

from commentsvc.admin import render
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
SESSION_STREAMS: Final = 4  # of one browser, whose tabs share one
NEWEST: Final = 50  # comments that an event for a session names
HEADERS: Final[Headers] = (
    ("Content-Type", "text/event-stream"),
    NOT_STORED,
    ("X-Accel-Buffering", "no"),  # else nginx would buffer events
    NO_SNIFFING,
)
SESSION_HEADERS: Final[Headers] = (*HEADERS[::2], *render.HEADERS)

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


# Returns the current event for whom a stream is; b"" if it may not get events any more.
Current = Callable[[Snapshot], bytes]


class QueueStream:
    """The handler of new streams, and the task that sends their events."""

    def __init__(self, service: ServiceContext, access: TokenAccess, publisher: Publisher) -> None:
        self._database = service.database
        self._clock = service.clock
        self._access = access
        self._publisher = publisher
        # What each stream's tag tells, and the last event.
        self._sent: dict[str, tuple[Current, bytes]] = {}
        self._new: set[str] = set()  # tags whose streams may not have reached the core

    def go_on(self, former: "QueueStream") -> None:
        """Go on with the streams that a former one has begun."""
        self._sent, self._new = former._sent, former._new

    def routes(self) -> list[Route]:
        return [route(STREAM, self.stream)]

    def stream(self, request: Request) -> Response:
        """GET /api/moderation/stream: 200 ``text/event-stream`` that stays open. 401, 403, 503."""
        try:
            token, who = self._access.token(request, STREAM.permission)
            STREAM.read(request)
            current = partial(self._of_token, token_id=token.id)
            group = (hash(("moderator", who.account_id)) & 0xFFFFFFFF, STREAMS)
            return self._begin(f"queue:{token.id}", current, group)
        except Exception as failure:
            return refused(failure)

    def for_session(self, session_id: int, actor: Callable[[Snapshot], Actor | None]) -> Response:
        """Return a stream for a session; `actor` returns its account, None when it has ended."""

        def current(snapshot: Snapshot) -> bytes:
            who = actor(snapshot)
            return _event(snapshot, who, NEWEST) if who else b""

        group = (hash(("session", session_id)) & 0xFFFFFFFF, SESSION_STREAMS)
        response = self._begin(f"queue:session:{session_id}", current, group)
        return msgspec.structs.replace(response, headers=SESSION_HEADERS)

    def _begin(self, tag: str, current: Current, group: tuple[int, int]) -> Response:
        event = self._database.read_now(current)
        self._sent[tag] = current, event
        self._new.add(tag)
        return Response(200, HEADERS, RETRY + event, follows=tag, group=group)

    async def run(self) -> None:
        """Send changes until cancelled."""
        while True:
            await asyncio.sleep(PAUSE)
            self.send_changes()

    def send_changes(self) -> None:
        """Send each stream what has changed since the last call."""
        new = {*self._new}
        self._new.clear()  # a former handler may still add to it
        for tag, (current, sent) in list(self._sent.items()):
            if not self._publisher.is_followed(tag):
                if tag not in new:
                    del self._sent[tag]
                continue
            try:
                event = self._database.read_now(current)
            except DatabaseError:
                return  # each further read might block the event loop
            if event and event != sent and self._publisher.publish(tag, event):
                self._sent[tag] = current, event

    def _of_token(self, snapshot: Snapshot, token_id: int) -> bytes:
        """Return the current event for a token; b"" if it may not get events any more."""
        token = api_tokens.by_id(snapshot, token_id)
        if token is None or token.expires_at <= self._clock.now_ms():
            return b""
        who = actor_of(token)
        return _event(snapshot, who) if who.may(STREAM.permission) else b""


def _event(snapshot: Snapshot, who: Actor, named: int = 0) -> bytes:
    """Return an event with the numbers for an account, and the ids of the `named` newest."""
    numbers: dict[str, object] = {**lists.numbers(snapshot, who.sites)}
    newest = lists.newest_ids(snapshot, "pending", who.sites, named or 1)
    numbers["newest"] = newest[0] if newest else 0
    if named:
        numbers["ids"] = newest
    return b"data: %s\n\n" % msgspec.json.encode(numbers)

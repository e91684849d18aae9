"""Live updates: a page that is open learns at once that its comments have changed.

A stream is the core's: here it begins with what is true now, and later each change is
published once, however many are told of it. The writer purges the answers that a transaction made
stale, and the same tags lead here, on the event loop. What is told is only that something has
changed, how many comments there are, and an id, which is the number of the tag's last purge: the
reader fetches the thread as always, out of the core's store.

Nobody misses a change: a stream begins on the loop in one step with the look at the database, and
changes are published on the loop, so each is either seen by that look or told after it. But whoever
keeps a page open while it is moved is told of that, and then of nothing more.

A network has a part of the streams, lest one client takes all. Networks whose hashes meet share it.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from commentsvc.api.parameters import PageQuery
from commentsvc.comments import queries
from commentsvc.context import ServiceContext
from commentsvc.db.sqlite import DatabaseError
from commentsvc.http.messages import (
    ANY_ORIGIN,
    NO_SNIFFING,
    NOT_STORED,
    Headers,
    Request,
    Response,
    TrustedProxies,
)
from commentsvc.http.operation import Content, Operation
from commentsvc.http.router import Route, route
from commentsvc.model import thread_of, thread_tag
from commentsvc.util.client_network import network, wide_network

# Seconds between two tellings: under discussion, a page costs each reader one event a second.
PAUSE: Final = 1.0
# Milliseconds after which a browser comes again, and up to as many more, so that not all come at
# once when the service has been started anew.
RETRY: Final = 2_000

HEADERS: Final[Headers] = (
    ("Content-Type", "text/event-stream"),
    NOT_STORED,
    ("X-Accel-Buffering", "no"),  # else nginx would keep events back
    ANY_ORIGIN,
    NO_SNIFFING,
)


STREAM: Final = Operation(
    method="GET",
    path="/api/comments/stream",
    summary="Follow the number of comments of a page (Server-Sent Events)",
    note='An event with `{"count": N}` and an id comes at once, and at each change.',
    query=PageQuery,
    answers={200: Content("text/event-stream")},
    errors=(400, 503),
)


class Publisher(Protocol):
    """What is needed of the core; see `_core.Server`."""

    def watch(self, watcher: Callable[[Sequence[str]], None]) -> None:
        """Tell `watcher`, on the loop, of the tags of each purge."""

    def purged(self, tag: str) -> int:
        """Return the number of the last purge of `tag`."""

    def is_followed(self, tag: str) -> bool:
        """Return whether a stream may follow `tag`."""

    def publish(self, tag: str, data: bytes) -> bool:
        """Send `data` on all streams that follow `tag`; False where that must wait."""


class CommentStream:
    """The handler that begins streams, and the telling of changes.

    `life` tells this start of the program from others, since numbers of purges begin anew with
    each. `below` draws a number below its argument.
    """

    def __init__(
        self, service: ServiceContext, publisher: Publisher, life: str, below: Callable[[int], int]
    ) -> None:
        settings = service.settings.server
        self._proxies = TrustedProxies(settings.trusted_proxies)
        self._network_streams = settings.max_network_streams
        self._database = service.database
        self._sites = service.sites
        self._publisher = publisher
        self._life = life
        self._below = below
        self._changed: set[str] = set()  # tags of which is still to be told
        self._resting = False
        publisher.watch(self.changed)

    def routes(self) -> list[Route]:
        """Return the table of routes."""
        return [route(STREAM, self.stream)]

    def stream(self, request: Request) -> Response:
        """GET /api/comments/stream?url=U: 200 ``text/event-stream`` that goes on.

        Each event says ``{"count": N}`` and comes with an id: the first at once, unless the
        client knows it (`Last-Event-ID`), the others when visible comments of the page change, at
        most one each second. 400 for a bad url or site, 503 where there are too many streams.
        """
        query = STREAM.read(request)
        site, url = self._sites.locate(query.url, query.site)
        thread = self._database.read_now(queries.thread, site, url)
        tag = thread_tag(site, thread.url)
        begin = b"retry: %d\n\n" % (RETRY + self._below(RETRY))
        if request.header("last-event-id") != self._id(tag):
            begin += self._event(tag, thread.count)
        place = wide_network(network(self._proxies.client(request)))
        group = hash(place) & 0xFFFFFFFF
        return Response(200, HEADERS, begin, follows=tag, group=(group, self._network_streams))

    def changed(self, tags: Sequence[str]) -> None:
        """Tell of what was purged, to those who follow it; on the loop."""
        self._changed.update(
            tag for tag in tags if thread_of(tag) and self._publisher.is_followed(tag)
        )
        if self._changed and not self._resting:
            self._tell()

    def _tell(self) -> None:
        tags, self._changed = self._changed, set()
        self._changed.update(tag for tag in tags if not self._publish(tag))
        self._resting = True
        asyncio.get_running_loop().call_later(PAUSE, self._go_on)

    def _go_on(self) -> None:
        self._resting = False
        if self._changed:
            self._tell()

    def _publish(self, tag: str) -> bool:
        """Tell of one page; False where that has to be tried again."""
        place = thread_of(tag)
        assert place is not None
        try:
            thread = self._database.read_now(queries.thread, *place)
        except DatabaseError:
            return False
        return self._publisher.publish(tag, self._event(tag, thread.count))

    def _id(self, tag: str) -> str:
        return f"{self._life}-{self._publisher.purged(tag)}"

    def _event(self, tag: str, count: int) -> bytes:
        return b'id: %s\ndata: {"count":%d}\n\n' % (self._id(tag).encode(), count)

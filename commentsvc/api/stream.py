"""Live updates: an open page is told at once that its comments have changed.

The core keeps the streams open. A stream begins here with the current state; later each change is
published once, for any number of readers. The writer purges the tags of answers that a transaction
made stale, and this module gets the same tags, on the event loop. An event says only that something
has changed: it has the number of comments, and an id, which is the version of the thread in the
database. So a reader who connects again, also to another instance, is told only what is new. The
reader then fetches the thread from the core's cache as usual.

No reader misses a change. The tag of a stream is noted before its read of the database, so a change
that the read does not have finds the tag noted. The stream begins in the same step of the event
loop as the read, and changes are published on the loop, so after the beginning. But a reader whose
page moves to another url while it is open is told of the move, and then of nothing more.

Each network has a limit of streams, so that one client cannot take all. Networks with the same
group number share a limit.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from commentsvc.api.parameters import PageQuery
from commentsvc.comments import queries
from commentsvc.comments.queries import Thread
from commentsvc.context import ServiceContext
from commentsvc.db.errors import DatabaseError
from commentsvc.http.messages import (
    ANY_ORIGIN,
    NO_SNIFFING,
    NOT_STORED,
    Headers,
    Request,
    Response,
    TrustedProxies,
)
from commentsvc.http.operation import Content, handles
from commentsvc.model import thread_of, thread_tag
from commentsvc.util.client_network import network_of, wide_network

# Seconds between two events: even a busy page costs each reader one event a second.
PAUSE: Final = 1.0
# Milliseconds after which a browser reconnects, and up to as many more, so that not all reconnect
# at the same time after a restart.
RETRY: Final = 2_000

# Tags after which those that no stream follows any more are forgotten.
REMEMBERED: Final = 1_000

HEADERS: Final[Headers] = (
    ("Content-Type", "text/event-stream"),
    NOT_STORED,
    ("X-Accel-Buffering", "no"),  # else nginx would buffer events
    ANY_ORIGIN,
    NO_SNIFFING,
)


class Publisher(Protocol):
    """The part of the core that streams need; see `_core.Server`."""

    def watch(
        self, watcher: Callable[[Sequence[str]], None], concerns: Callable[[Sequence[str]], bool]
    ) -> None:
        """Call `watcher` on the loop with the tags of each purge; () if everything was purged.

        Purges of tags for which `concerns`, called on any thread, returns False are left out.
        """

    def is_followed(self, tag: str) -> bool:
        """Return whether streams follow `tag`, or may do so soon."""

    def publish(self, tag: str, data: bytes) -> bool:
        """Send `data` on all streams that follow `tag`; return False if it must be tried again."""


class CommentStream:
    """The handler of new streams, and the publisher of changes.

    `below(n)` returns a random number below n.
    """

    def __init__(
        self, service: ServiceContext, publisher: Publisher, below: Callable[[int], int]
    ) -> None:
        settings = service.settings.server
        self._proxies = TrustedProxies(settings.trusted_proxies)
        self._network_streams = settings.max_network_streams
        self._database = service.database
        self._sites = service.sites
        self._publisher = publisher
        self._below = below
        # Tags that streams follow, or followed. Those of streams that began before a setting was
        # changed are among them at once, and so are those that a former handler adds later.
        self._followed: set[str] = service.lasting.get("followed", set)
        self._most = REMEMBERED
        self._changed: set[str] = set()  # tags with changes to publish
        self._resting = False
        publisher.watch(self.changed, self.concerns)

    @handles(
        "GET",
        "/api/comments/stream",
        Content("text/event-stream"),
        note='An event with `{"count": N}` and an id is sent at once and at each change.',
    )
    def stream(self, request: Request, query: PageQuery) -> Response:
        """Stream the number of comments of a page (Server-Sent Events).

        Each event is ``{"count": N}`` with an id. The first is sent at once, unless the client has
        it already (`Last-Event-ID`), the others when visible comments of the page change, at most
        one each second. 400 for an invalid url or site, 503 if there are too many streams.
        """
        site, url = self._sites.locate(query.url, query.site)
        url = self._database.read_now(queries.thread, site, url).url  # after a move, another one
        tag = thread_tag(site, url)
        self._remember(tag)
        thread = self._database.read_now(queries.thread, site, url)
        begin = b"retry: %d\n\n" % (RETRY + self._below(RETRY))
        if request.header("last-event-id") != _id(thread):
            begin += _event(thread)
        network = wide_network(network_of(self._proxies.client(request)))
        group = hash(network) & 0xFFFFFFFF
        return Response(200, HEADERS, begin, follows=tag, group=(group, self._network_streams))

    def concerns(self, tags: Sequence[str]) -> bool:
        """Return whether a stream may follow one of `tags`; any thread may call this."""
        return not self._followed.isdisjoint(tags)

    def changed(self, tags: Sequence[str]) -> None:
        """Publish changes of purged tags that streams follow; called on the loop.

        No tags mean all: another instance has changed something, and this one was not told what.
        """
        self._changed.update(
            tag
            for tag in tags or self._followed
            if thread_of(tag) and self._publisher.is_followed(tag)
        )
        if self._changed and not self._resting:
            self._publish_changes()

    def _remember(self, tag: str) -> None:
        """Note that a stream follows a tag; now and then forget those that none follows."""
        if len(self._followed) >= self._most:
            ended = {each for each in self._followed if not self._publisher.is_followed(each)}
            self._followed -= ended
            self._most = max(REMEMBERED, 2 * len(self._followed))
        self._followed.add(tag)

    def _publish_changes(self) -> None:
        tags, self._changed = self._changed, set()
        self._changed.update(tag for tag in tags if not self._publish(tag))
        self._resting = True
        asyncio.get_running_loop().call_later(PAUSE, self._end_pause)

    def _end_pause(self) -> None:
        self._resting = False
        if self._changed:
            self._publish_changes()

    def _publish(self, tag: str) -> bool:
        """Publish the change of one page; return False if it must be tried again."""
        page = thread_of(tag)
        assert page is not None
        try:
            thread = self._database.read_now(queries.thread, *page)
        except DatabaseError:
            return False
        return self._publisher.publish(tag, _event(thread))


def _id(thread: Thread) -> str:
    return f"{thread.id}-{thread.version}"


def _event(thread: Thread) -> bytes:
    return b'id: %s\ndata: {"count":%d}\n\n' % (_id(thread).encode(), thread.count)

"""The Bridge: the asyncio end of the core, whose only importer this module is.

The core's workers put requests that the store cannot answer into a mailbox and make a descriptor
readable; the loop then drains all of them, hands each to the router, and answers. A handler that
is a plain function is answered in the same step, or calls back later. One that is a coroutine runs
as a task.

When a popular page's answer was purged, many ask for it before the next one is stored. What a plain
function answers with tags is the same for everybody, and was made after all of its turn's requests
had come: those among them that ask for the same get it, too.

Exceptions that no handler turned into an answer end here: they are logged once, and the client
gets a 500 that says nothing of them.
"""

import asyncio
import contextlib
import logging
import os
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple, Protocol, TypedDict

from commentsvc import _core
from commentsvc.http import messages, refusals
from commentsvc.http.compression import compressed
from commentsvc.settings.schema import ServerSettings

_log = logging.getLogger(__name__)

# Without a new sign of it for so long, a shortage is over; in seconds.
RECOVERED = 60.0

Answer = messages.Response | messages.Deferred | Awaitable[messages.Response]

# Answers with tags to what was asked in one turn of the loop: method, path and query.
Shared = dict[tuple[str, str, str], messages.Response]
STORABLE = ("GET", "HEAD")

FULL = messages.refusal(
    messages.HttpError(
        503,
        "too_many_streams",
        "Too many pages are kept open for live updates. Ask for the comments now and then instead.",
        headers=(("Retry-After", "300"),),
    )
)
FAILURE = messages.refusal(
    messages.HttpError(
        500, "failed", "The server made a mistake. It is in its log; please try again later."
    )
)


# Each with what the core noted about it, often nothing.
Connections = Sequence[tuple[int, str]]


class Sockets(NamedTuple):
    """Descriptors of one core that go to the next. Whoever holds them has to close them.

    `lent` listeners belong to a service manager.
    """

    listeners: tuple[int, ...] = ()
    connections: Connections = ()
    lent: bool = False

    def close(self) -> None:
        """Let go of them."""
        close_all((*self.listeners, *(descriptor for descriptor, _ in self.connections)))


def close_all(descriptors: Iterable[int]) -> None:
    """Close file descriptors; those that are closed already are passed over."""
    for descriptor in descriptors:
        with contextlib.suppress(OSError):
            os.close(descriptor)


class RequestHandler(Protocol):
    """What the Bridge asks of a router."""

    def handle(self, request: messages.Request) -> Answer:
        """Return the response, or what will give it; raises only what nobody foresaw."""


class CoreOptions(TypedDict):
    """What the core is told at its start; see `_core.pyi`."""

    workers: int
    cache_bytes: int
    connections: int
    waiting: int
    trace_lines: int
    streams: int
    body_bytes: int
    client_bytes: int
    keep_alive: float
    head_deadline: float
    body_deadline: float
    handler_deadline: float
    heartbeat: float
    proxy_protocol: bool
    hsts: str
    refusal_type: str
    refusals: dict[int, bytes]


def core_options(settings: ServerSettings, trace_lines: int = 0) -> CoreOptions:
    """Return the core's options as `settings` has them."""
    return {
        "workers": settings.workers,
        "cache_bytes": settings.cache_mib << 20,
        "connections": settings.max_connections,
        "waiting": settings.max_waiting_requests,
        "trace_lines": trace_lines,
        "streams": settings.max_streams,
        "body_bytes": settings.max_body_kib << 10,
        "client_bytes": settings.max_client_mib << 20,
        "keep_alive": settings.keep_alive,
        "head_deadline": settings.head_timeout,
        "body_deadline": settings.body_timeout,
        "handler_deadline": settings.handler_timeout,
        "heartbeat": settings.stream_heartbeat,
        "proxy_protocol": settings.proxy_protocol,
        "hsts": settings.hsts,
        "refusal_type": messages.JSON,
        "refusals": refusals.bodies(),
    }


class Bridge:
    """One running core and the loop's side of it. Its methods are called on the loop, but `purge`,
    `announce`, `stats` and `take_trace`, which any thread may call."""

    def __init__(self, settings: ServerSettings, trace_lines: int = 0) -> None:
        """Make the core; raises ValueError when `settings.listen` is no address.

        Each of its workers holds `trace_lines` lines for `take_trace`.
        """
        self._core = _core.Server(settings.listen, **core_options(settings, trace_lines))
        self._answering: RequestHandler | None = None
        self._watcher: Callable[[Sequence[str]], None] | None = None
        self._lent = False
        self._starved = 0
        self._starved_at = -RECOVERED
        self._tasks: set[asyncio.Task[None]] = set()
        self._unanswered = 0  # requests that are answered later
        self._corked = False
        self._committing: frozenset[str] = frozenset()

    @property
    def address(self) -> str:
        """``HOST:PORT`` or ``unix:PATH``, with the real port once `serve` was called."""
        return self._core.address

    def purge(self, tags: Sequence[str]) -> None:
        """Forget the stored answers with one of `tags`, before this returns."""
        self._core.purge(tags)
        if self._watcher is not None:
            self._loop.call_soon_threadsafe(self._watcher, tags)

    def announce(self, tags: Sequence[str]) -> None:
        """Take the tags of what is about to be committed, and will be purged then; () after that.

        An answer with one of them may tell the new state already, while stored answers still tell
        the old one. So nobody who has read it may find those: they are purged before it is sent.
        """
        self._committing = frozenset(tags)

    def watch(self, watcher: Callable[[Sequence[str]], None]) -> None:
        """Let `watcher` be told, on this loop, of the tags of each purge, after it."""
        self._loop = asyncio.get_running_loop()
        self._watcher = watcher

    def purged(self, tag: str) -> int:
        """Return the number of the last purge of `tag`; it grows with each."""
        return self._core.purged(tag)

    def is_followed(self, tag: str) -> bool:
        """Return whether a stream may follow `tag`."""
        return self._core.is_followed(tag)

    def publish(self, tag: str, data: bytes) -> bool:
        """Send `data` on all streams that follow `tag`; False where that must wait a moment."""
        return self._core.publish(tag, data)

    def stats(self) -> dict[str, int]:
        """Return the core's counters and gauges by name."""
        return self._core.stats()

    def take_trace(self) -> bytes:
        """Return some lines about requests, whole ones, or none; for one thread at a time."""
        return self._core.take_trace()

    def serve(
        self,
        answering: RequestHandler,
        sockets: Sockets = Sockets(),  # noqa: B008 - it is a constant
    ) -> None:
        """Listen, and answer by it from now on. Raise OSError when the address is taken.

        `sockets` are open already, and taken, also when it raises.
        """
        self._answering = answering
        wanted = self._core.address
        self._lent = sockets.lent
        self._core.start(sockets.listeners, sockets.connections, borrowed=sockets.lent)
        inherits = bool(sockets.listeners) and not sockets.lent
        if inherits and self.address != wanted and not wanted.endswith(":0"):
            line = "listens on %s as the server before it; a restart is needed to listen on %s"
            _log.warning(line, self.address, wanted)
        asyncio.get_running_loop().add_reader(self._core.fileno(), self._drain)

    async def stop(self, grace: float, *, keep: bool = False) -> None:
        """Answer what was read, `grace` seconds at most, and end. Does nothing before `serve`.

        With `keep`, listeners and idle connections stay open, for `release` to give them away.
        """
        if self._answering is None:
            return
        self._core.stop(grace, for_handover=keep)
        await asyncio.to_thread(self._core.join)
        asyncio.get_running_loop().remove_reader(self._core.fileno())
        self._answering = None
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def release(self) -> Sockets:
        """After a stop that keeps: listeners and idle connections, now the caller's."""
        listeners, connections = self._core.release()
        return Sockets(tuple(listeners), tuple(connections), self._lent)

    def _drain(self) -> None:
        calls = self._core.drain()
        if not calls:
            self._look_for_starving()
            return
        shared: Shared = {}
        self._cork()
        for call in calls:
            self._begin(call, shared)
        self._uncork()

    def _look_for_starving(self) -> None:
        """Say once that clients wait for file descriptors, and again when it begins anew."""
        count, now = self._core.stats()["out_of_fds"], asyncio.get_running_loop().time()
        if count == self._starved:
            return
        if now - self._starved_at > RECOVERED:
            _log.warning(
                "no file descriptor is left for further clients: they wait, or idle ones are let "
                "go; raise the limit of open files (LimitNOFILE=, ulimit -Hn) above "
                "server.max_connections"
            )
        self._starved, self._starved_at = count, now

    def _answer(self, request: messages.Request, shared: Shared) -> Answer:
        """Return what another one of this turn was given, or ask for an answer."""
        assert self._answering is not None
        if request.method not in STORABLE:
            return self._answering.handle(request)
        question = (request.method, request.path, request.query)
        if question in shared:
            return shared[question]
        answer = self._answering.handle(request)
        if isinstance(answer, messages.Response) and answer.tags:
            answer = shared[question] = compressed(answer)
        return answer

    def _begin(self, call: _core.Request, shared: Shared) -> None:
        request = messages.Request(
            call.method, call.path, call.query, call.body, call.peer, call.header, call.client
        )
        try:
            answer = self._answer(request, shared)
        except Exception as error:
            answer = _failure(request, error)
        if isinstance(answer, messages.Response):
            self._respond(call, request, answer)
            return
        self._unanswered += 1
        if isinstance(answer, messages.Deferred):
            answer.add_done_callback(partial(self._conclude, call, request))
            return
        task = asyncio.get_running_loop().create_task(self._finish(call, request, answer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _finish(
        self, call: _core.Request, request: messages.Request, answer: Awaitable[messages.Response]
    ) -> None:
        try:
            outcome: messages.Response | Exception = compressed(await answer)
        except Exception as error:
            outcome = error
        self._conclude(call, request, outcome)

    def _conclude(
        self, call: _core.Request, request: messages.Request, outcome: messages.Response | Exception
    ) -> None:
        if isinstance(outcome, Exception):
            outcome = _failure(request, outcome)
        self._unanswered -= 1
        if self._unanswered and not self._corked:  # more answers may come in this turn
            self._cork()
            asyncio.get_running_loop().call_soon(self._uncork)
        self._respond(call, request, outcome)

    def _respond(
        self, call: _core.Request, request: messages.Request, response: messages.Response
    ) -> None:
        committing = self._committing
        if committing and not committing.isdisjoint((*response.tags, response.follows)):
            self._core.purge([*committing])
        try:
            if response.follows:
                if call.stream(response.headers, response.body, response.follows, *response.group):
                    return
                response = FULL
            call.respond(
                response.status, response.headers, response.body, response.tags, response.gzip
            )
        except ValueError as error:  # a handler of ours made a header that cannot be sent
            response = _failure(request, error)
            call.respond(response.status, response.headers, response.body)

    def _cork(self) -> None:
        """Keep answers back until `_uncork`, so that each worker is woken once for all of them."""
        self._corked = True
        self._core.cork()

    def _uncork(self) -> None:
        """Let go all answers that were kept back."""
        self._corked = False
        self._core.uncork()


def _failure(request: messages.Request, error: Exception) -> messages.Response:
    """Log what nobody foresaw, and give an answer that says nothing of it."""
    _log.error("cannot answer %s %s", request.method, request.path, exc_info=error)
    return FAILURE

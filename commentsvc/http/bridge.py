"""The Bridge: the asyncio side of the C core. Only this module imports the core.

The core's workers put requests that the cache cannot answer into a mailbox and make a descriptor
readable. The event loop then takes all of them, passes each to the router, and answers. If the
handler is a plain function, the answer is sent in the same step. If it is a coroutine, it runs as a
task.

After the answer for a popular page was purged, many clients ask for it before the next one is
cached. An answer with tags from a plain function is the same for everybody, and was made after all
requests of this turn of the loop had arrived. So equal requests of the turn share that answer,
unless it has ``Vary: Origin``.

Exceptions that no handler turned into an answer end here: they are logged once, and the client gets
a 500 without details.
"""

import asyncio
import contextlib
import errno
import logging
import os
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final, NamedTuple, Protocol, TypedDict

from commentsvc import _core
from commentsvc.http import listening, messages, refusals
from commentsvc.http.compression import compressed
from commentsvc.http.pieces import PieceSender
from commentsvc.settings.schema import ServerSettings
from commentsvc.util.threads import ANSWERS, PROCESS, run_in

_log = logging.getLogger(__name__)

# Bytes of a body from which on it is compressed by a thread: it takes 3 ms for each 100 KB.
IN_THREAD: Final = 262_144

# Bytes for each process in the memory with their numbers of clients.
COUNT_BYTES: Final = 4

# Requests that may wait for an answer that is not in the cache; further ones get 503. The event
# loop answers so many in about a second, so a longer queue would only delay the refusal.
WAITING: Final = 1_024
# Seconds in which a request's head, with a PROXY protocol header before it, and its body must
# arrive. So a client that sends slowly on purpose occupies a connection for at most so long.
HEAD_DEADLINE: Final = 10
BODY_DEADLINE: Final = 30
# Seconds after which a request without an answer gets 504: what answers so late has hung. The
# proxies' configurations in config/proxy wait a little longer.
HANDLER_DEADLINE: Final = 30
# Seconds after which a silent live connection gets an empty event: many proxies close one that has
# been silent for 60 s, and some after 30 s.
HEARTBEAT: Final = 15

# A shortage of file descriptors is over after so many seconds without a new one.
RECOVERED = 60.0

Answer = messages.Response | Awaitable[messages.Response]

# Answers with tags of one turn of the loop, by method, path and query.
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


# Descriptors of connections, each with what the core noted about it, often nothing.
Connections = Sequence[tuple[int, str]]


class Sockets(NamedTuple):
    """Descriptors that go from one core to the next. Whoever holds them has to close them.

    `borrowed` listeners belong to a service manager.
    """

    listeners: tuple[int, ...] = ()
    connections: Connections = ()
    borrowed: bool = False

    def close(self) -> None:
        """Close all of them."""
        close_all((*self.listeners, *(descriptor for descriptor, _ in self.connections)))


def close_all(descriptors: Iterable[int]) -> None:
    """Close file descriptors; those that are closed already are ignored."""
    for descriptor in descriptors:
        with contextlib.suppress(OSError):
            os.close(descriptor)


class RequestHandler(Protocol):
    """The interface of a router, for the Bridge."""

    def handle(self, request: messages.Request) -> Answer:
        """Return the response, or what will give it; raise only unforeseen exceptions."""


class ErrorPageMaker(Protocol):
    """What a browser shows in place of the JSON of an error."""

    def in_place_of(
        self, answer: messages.Response, request: messages.Request
    ) -> messages.Response:
        """Return the page for an error, or `answer` as it is."""

    def made_before(self, statuses: Iterable[int]) -> dict[int, bytes]:
        """Return the pages of the errors that the core answers by itself."""


class CoreOptions(TypedDict):
    """The options of the core; see `_core.pyi`."""

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
    refusal_page_type: str
    refusal_pages: dict[int, bytes]


def core_options(
    settings: ServerSettings, trace_lines: int = 0, pages: ErrorPageMaker | None = None
) -> CoreOptions:
    """Return the core's options from the settings."""
    bodies = refusals.bodies()
    return {
        "workers": settings.workers,
        "cache_bytes": settings.cache_mib << 20,
        "connections": settings.max_connections,
        "waiting": WAITING,
        "trace_lines": trace_lines,
        "streams": settings.max_streams,
        "body_bytes": settings.max_body_kib << 10,
        "client_bytes": settings.max_client_mib << 20,
        "keep_alive": settings.keep_alive,
        "head_deadline": HEAD_DEADLINE,
        "body_deadline": BODY_DEADLINE,
        "handler_deadline": HANDLER_DEADLINE,
        "heartbeat": HEARTBEAT,
        "proxy_protocol": settings.proxy_protocol,
        "hsts": settings.hsts,
        "refusal_type": messages.JSON,
        "refusals": bodies,
        "refusal_page_type": messages.HTML_UTF8,
        "refusal_pages": pages.made_before(bodies) if pages else {},
    }


class Bridge:
    """One running core and the event loop's side of it.

    Its methods are called on the loop, except `purge`, `purge_all`, `set_lease`, `announce`,
    `stats` and `take_trace`, which any thread may call.
    """

    def __init__(
        self, settings: ServerSettings, trace_lines: int = 0, pages: ErrorPageMaker | None = None
    ) -> None:
        """Make the core; raise OSError if `server.listen` cannot be listened on.

        Each of its workers keeps the last `trace_lines` lines for `take_trace`. Without `pages`,
        browsers get the JSON of errors too.
        """
        self._pages = pages
        options = core_options(settings, trace_lines, pages)
        try:
            self._core = _core.Server(settings.listen, **options)
        except ValueError as error:  # the settings are checked, but not for this machine
            is_path = settings.listen.startswith("unix:")
            code = errno.ENAMETOOLONG if is_path else errno.EADDRNOTAVAIL
            raise OSError(code, os.strerror(code), settings.listen) from error
        self._settings = settings
        self._answering: RequestHandler | None = None
        self._watcher: Callable[[Sequence[str]], None] | None = None
        self._concerns: Callable[[Sequence[str]], bool] = lambda _tags: False
        self._borrowed = False
        self._out_of_fds = 0
        self._out_of_fds_at = -RECOVERED
        self._tasks: dict[_core.Request, asyncio.Task[None]] = {}  # of unanswered requests
        self._corked = False
        self._committing: frozenset[str] = frozenset()
        self._pieces = PieceSender()

    def show_errors(self, pages: ErrorPageMaker) -> None:
        """Show other pages for errors from now on, except for those that the core answers."""
        self._pages = pages

    @property
    def address(self) -> str:
        """``HOST:PORT`` or ``unix:PATH``, with the real port once `serve` was called."""
        return self._core.address

    def purge(self, tags: Sequence[str]) -> None:
        """Purge the cached answers with one of `tags` before this returns."""
        self._core.purge(tags)
        if self._watcher is not None and self._concerns(tags):
            self._loop.call_soon_threadsafe(self._watcher, tags)

    def purge_all(self) -> None:
        """Purge all cached answers before this returns."""
        self._core.purge_all()
        if self._watcher is not None:
            self._loop.call_soon_threadsafe(self._watcher, ())

    def set_lease(self, until: float) -> None:
        """Use cached answers only before `until`, in seconds of `time.monotonic`."""
        self._core.set_lease(until)

    def announce(self, tags: Sequence[str]) -> None:
        """Take the tags of a transaction that is about to be committed; () after its purge.

        An answer with one of these tags may contain the new state while the cache still has the old
        one. Somebody who has read the new state must not get the old one later. So these tags are
        purged before such an answer is sent.
        """
        self._committing = frozenset(tags)

    def watch(
        self, watcher: Callable[[Sequence[str]], None], concerns: Callable[[Sequence[str]], bool]
    ) -> None:
        """Call `watcher` on this loop after each purge whose tags concern it; () for `purge_all`.

        `concerns(tags)` says so after the purge, on the thread that purges.
        """
        self._loop = asyncio.get_running_loop()
        self._watcher, self._concerns = watcher, concerns

    def is_followed(self, tag: str) -> bool:
        """Return whether streams that follow `tag` are open."""
        return self._core.is_followed(tag)

    def publish(self, tag: str, data: bytes) -> bool:
        """Send `data` on all streams that follow `tag`; return False if it must be tried again."""
        return self._core.publish(tag, data)

    def stats(self) -> dict[str, int]:
        """Return the core's counters and gauges by name."""
        return self._core.stats()

    def take_trace(self) -> bytes:
        """Return some complete lines about requests, or b""; one thread at a time may call this."""
        return self._core.take_trace()

    def share_clients(self, counts: int, number: int, processes: int) -> None:
        """Share the clients evenly with other processes; call this before `serve`.

        `counts` is a descriptor of memory that all of them have, with COUNT_BYTES for each of the
        `processes`. This is the one with this `number`, from 1. Raise OSError.
        """
        self._core.balance(counts, number - 1, processes)

    def serve(
        self,
        answering: RequestHandler,
        sockets: Sockets = Sockets(),  # noqa: B008 - it is a constant
        target_rules: bytes = b"",
    ) -> None:
        """Listen, and answer requests with `answering`. Raise OSError if the address is taken.

        `sockets` are open already; this takes ownership of them, also if it raises. `target_rules`
        say which parameters the core drops (core/http/target.h).
        """
        self._answering = answering
        wanted = self._core.address
        self._borrowed = sockets.borrowed
        self._core.set_targets(target_rules)
        inherits = bool(sockets.listeners) and not sockets.borrowed
        listeners = sockets.listeners
        if not listeners and listening.needs_us(self._settings):
            listeners = listening.open_listeners(self._settings)
        self._core.start(listeners, sockets.connections, borrowed=sockets.borrowed)
        if inherits and self.address != wanted and not wanted.endswith(":0"):
            line = "listens on %s as the server before it; a restart is needed to listen on %s"
            _log.warning(line, self.address, wanted)
        asyncio.get_running_loop().add_reader(self._core.fileno(), self._drain)

    async def stop(self, grace: float, *, keep: bool = False) -> None:
        """Answer the requests that were read, in at most `grace` seconds, and stop.

        This does nothing before `serve`. With `keep`, listeners and idle connections stay open for
        `release`.
        """
        if self._answering is None:
            return
        self._core.stop(grace, for_handover=keep)
        await run_in(PROCESS, self._core.join)
        asyncio.get_running_loop().remove_reader(self._core.fileno())
        self._answering = None
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        await self._pieces.stop()

    def release(self) -> Sockets:
        """Return listeners and idle connections after a stop with `keep`; the caller owns them."""
        listeners, connections = self._core.release()
        return Sockets(tuple(listeners), tuple(connections), self._borrowed)

    def _drain(self) -> None:
        calls = self._core.drain()
        if not calls:
            self._report_out_of_fds()
            return
        shared: Shared = {}
        self._cork()
        for call in calls:
            if call.number:
                self._pieces.go_on(call)
            else:
                self._begin(call, shared)
        self._uncork()

    def _report_out_of_fds(self) -> None:
        """Log once that clients wait for file descriptors, and again when a new shortage begins."""
        count, now = self._core.stats()["out_of_fds"], asyncio.get_running_loop().time()
        if count == self._out_of_fds:
            return
        if now - self._out_of_fds_at > RECOVERED:
            _log.warning(
                "no file descriptor is left for further clients: they wait, or idle ones are let "
                "go; raise the limit of open files (LimitNOFILE=, ulimit -Hn) above "
                "server.max_connections"
            )
        self._out_of_fds, self._out_of_fds_at = count, now

    def _answer(self, request: messages.Request, shared: Shared) -> Answer:
        """Return the shared answer to an equal request of this turn, or ask the handler."""
        assert self._answering is not None
        if request.method not in STORABLE:
            return self._answering.handle(request)
        question = (request.method, request.path, request.query)
        if question in shared:
            return shared[question]
        answer = self._answering.handle(request)
        if isinstance(answer, messages.Response) and answer.tags:
            if len(answer.body) > IN_THREAD:
                return _at_once(answer)
            answer = compressed(answer)
            if messages.VARY_ORIGIN not in answer.headers:
                shared[question] = answer
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
        finishing = self._finish(call, request, answer)
        self._tasks[call] = asyncio.get_running_loop().create_task(finishing)

    async def _finish(
        self, call: _core.Request, request: messages.Request, answer: Awaitable[messages.Response]
    ) -> None:
        try:
            response = await answer
            if len(response.body) > IN_THREAD:
                response = await run_in(ANSWERS, compressed, response)
            else:
                response = compressed(response)
        except Exception as error:
            response = _failure(request, error)
        finally:
            del self._tasks[call]
        if self._tasks and not self._corked:  # more answers may come in this turn
            self._cork()
            asyncio.get_running_loop().call_soon(self._uncork)
        self._respond(call, request, response)

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
            if response.pieces is not None:
                self._pieces.begin(call, response)
                return
            if self._pages and response.status >= 400:
                response = self._pages.in_place_of(response, request)
            call.respond(
                response.status,
                response.headers,
                response.body,
                response.tags,
                response.gzip,
                response.brotli,
            )
        except ValueError as error:  # a handler of ours made a header that cannot be sent
            response = _failure(request, error)
            call.respond(response.status, response.headers, response.body)

    def _cork(self) -> None:
        """Hold answers back until `_uncork`, so that each worker is woken once for all of them."""
        self._corked = True
        self._core.cork()

    def _uncork(self) -> None:
        """Send all answers that were held back."""
        self._corked = False
        self._core.uncork()


async def _at_once(answer: messages.Response) -> messages.Response:
    return answer


def _failure(request: messages.Request, error: Exception) -> messages.Response:
    """Log an unforeseen exception, and return an answer without its details."""
    _log.error("cannot answer %s %s", request.method, request.path, exc_info=error)
    return FAILURE

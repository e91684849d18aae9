"""The seam's contract: what the C extension offers to Python.

Only `commentsvc.server` imports this module. Every method may be called from any
Python thread that holds the GIL; none of them blocks except `Server.join`.
"""

from collections.abc import Sequence
from typing import final

@final
class Server:
    """An HTTP/1.1 origin server: worker threads, a response cache, a mailbox of requests.

    `listen` is ``"HOST:PORT"`` (port 0 lets the kernel choose; IPv6 as ``"[::1]:8080"``)
    or ``"unix:PATH"``. Times are seconds, sizes are bytes.
    `waiting` requests may wait for Python at most. `trace_lines` is how many lines each worker may
    hold for `take_trace`; with 0 there are none. Of the `connections`, `streams` may be open at
    the same time; each sends a `heartbeat` when it was silent for so long. Requests that are
    arriving or not answered yet, and responses that clients do not take, may hold `client_bytes`,
    or two bodies for each worker where that is more. Beyond that, those that have held some for
    longest are refused (503), or closed.
    With `proxy_protocol`, every connection must begin with a PROXY protocol header, version 2, as
    TLS terminators send it; else it is closed. Where that header says that the client came by TLS,
    each response, also a refusal, has `hsts` as Strict-Transport-Security, unless it is ``""``.
    What the core refuses by itself has the body of its status in `refusals`, of the media type
    `refusal_type`: 400, 408, 413, 414, 417, 431, 500 (a request that died unanswered), 501, 503,
    504 and 505. Raises ValueError for a malformed `listen`, `hsts` or `refusal_type`, a status that
    is missing, or a limit out of range.
    """

    def __init__(
        self,
        listen: str,
        *,
        workers: int,
        cache_bytes: int,
        connections: int,
        waiting: int,
        trace_lines: int,
        streams: int,
        body_bytes: int,
        client_bytes: int,
        keep_alive: float,
        head_deadline: float,
        body_deadline: float,
        handler_deadline: float,
        heartbeat: float,
        proxy_protocol: bool,
        hsts: str,
        refusal_type: str,
        refusals: dict[int, bytes],
    ) -> None: ...
    @property
    def address(self) -> str:
        """What the server listens on, with the real port; valid after `start`."""

    def start(
        self,
        listeners: Sequence[int] = (),
        connections: Sequence[tuple[int, str]] = (),
        *,
        borrowed: bool = False,
    ) -> None:
        """Bind, listen and start the workers. Raises OSError, with the address in its filename.

        With `listeners`, descriptors of at most 64 listening sockets, those are listened on and
        `listen` is not; where they are `borrowed`, the path of a unix socket stays when the server
        ends. `connections` are idle ones of the server that ran before, as its `release` gave them;
        all are served, even where they are more than may come. The server takes all of these
        descriptors, also when it raises OSError.
        """

    def fileno(self) -> int:
        """A descriptor that is readable while requests wait for `drain`."""

    def drain(self) -> list[Request]:
        """Take all requests that wait."""

    def cork(self) -> None:
        """Keep answers back from now on, until `uncork` lets all of them go at once.

        So each worker is woken once for many answers. For the thread that answers.
        """

    def uncork(self) -> None:
        """Let the answers go that were kept back, and later ones as they are given."""

    def purge(self, tags: Sequence[str], /) -> None:
        """Forget every answer stored under one of `tags`, or still to come for what was drained."""

    def purged(self, tag: str, /) -> int:
        """The number of the last purge of `tag`: it grows with each. 0 when there was none.

        Purges of other tags may raise it too.
        """

    def is_followed(self, tag: str, /) -> bool:
        """Whether a stream follows `tag`, or may do so in a moment, as it was begun before."""

    def publish(self, tag: str, data: bytes, /) -> bool:
        """Send the event `data`, of 1 byte to 16 KiB, on all streams that follow `tag`.

        Each stream that was begun before has it, in the order of the calls; none costs Python
        anything. False when the workers are far behind with events, or there is no memory, and
        then nobody gets it: publish again in a moment.
        """

    def stop(self, grace: float, *, for_handover: bool = False) -> None:
        """Begin a graceful stop: no new connections; what was read is answered, `grace` at most.

        The caller goes on calling `drain`, else nothing in flight is answered. What is owed at the
        end of the grace gets 503. With `for_handover`, clients that wait and connections that are
        idle are not served to their end but kept for another server, which gets them by `release`.
        """

    def join(self) -> None:
        """Wait, without the GIL, until every worker has ended (`stop` first)."""

    def release(self) -> tuple[list[int], list[tuple[int, str]]]:
        """After `join` of a stop that keeps: listeners and idle connections, now the caller's.

        With each connection comes a note for `start`, of at most 53 ASCII characters.
        """

    def stats(self) -> dict[str, int]:
        """Counters and gauges, summed over the workers; the keys are stable names.

        The keys are ``accepted``, ``connections`` (open), ``max_connections``,
        ``requests``, ``hits``, ``not_modified`` (hits with 304), ``misses``, ``refusals``,
        ``writes`` (system calls), ``streams`` (open), ``streams_refused`` (for want of a
        place), ``events_sent`` (events, once for each stream), ``cache_entries``,
        ``cache_bytes``, ``evictions``, ``stale`` (dropped because of a purge),
        ``client_bytes`` (held for clients), ``max_client_bytes``,
        ``requests_waiting`` and ``replies_waiting`` (depths of the mailboxes to Python and
        back), ``mailbox_full`` (requests that found the first one full), ``out_of_fds``
        (accepts that found no descriptor; `fileno` becomes readable then, too, and `drain`
        gives nothing), ``late_replies`` (replies that came too late); ``refused_STATUS``
        and ``closed_REASON`` of requests and connections; ``latency_N``, the misses that
        took at most N microseconds and more than the N before, ``latency_inf``, and the
        microseconds of all of them, ``latency_sum``.
        """

    def take_trace(self) -> bytes:
        """Whole lines about requests since the last call, 64 KiB at most; ``b""`` when none wait.

        A line is ``trace DATE KIND METHOD STATUS BYTES TOTAL PYTHON TARGET``. KIND is hit, miss,
        refused, or aborted (the client did not wait for the answer). BYTES are those of the answer,
        TOTAL and PYTHON are microseconds in all and from `drain` to `Request.respond` ("-" if
        Python did not answer). All but visible ASCII in METHOD and TARGET is written as ``\\xHH``,
        and "..." ends a TARGET that was cut. Workers do not wait for room: ``trace N lines lost``
        says how many lines found none.
        """

@final
class Request:
    """A request that the cache could not answer. One that dies unanswered answers 500."""

    @property
    def method(self) -> str:
        """GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS."""

    @property
    def path(self) -> str:
        """The target before the first ``?``, as received (not percent-decoded)."""

    @property
    def query(self) -> str:
        """The target after the first ``?``, as received, else ``""``."""

    @property
    def body(self) -> bytes:
        """The payload without its transfer coding."""

    @property
    def peer(self) -> str:
        """The address at the other end, without a port; ``""`` on a unix socket."""

    @property
    def client(self) -> str | None:
        """For whose address the other end speaks, by the PROXY protocol; ``""``: for itself.

        None where it does not speak that protocol.
        """

    def header(self, name: str, /) -> str | None:
        """The value of the field `name` (lower case); several are joined by ``", "``.

        None if it is absent.
        """

    def respond(
        self,
        status: int,
        headers: Sequence[tuple[str, str]],
        body: bytes,
        tags: Sequence[str] = (),
        gzip: bytes = b"",
    ) -> None:
        """Answer, once. With `tags` a 200 answer to GET or HEAD is stored under the target.

        The core adds Date, Content-Length, Connection, and ETag where there are tags, answers
        HEAD and If-None-Match, and drops the answer if the client has left. What is stored may
        have a second variant, `gzip`, which is `body` with that content coding: clients get it
        that prefer it, with an ETag of its own, and both have `Vary: Accept-Encoding`.
        Raises ValueError for a status outside 200…599, a field name or value that could end
        its line, a field the core sets itself or over 128 tags; RuntimeError when answered before.
        """

    def stream(
        self,
        headers: Sequence[tuple[str, str]],
        body: bytes,
        tag: str,
        group: int = 0,
        group_limit: int = 0,
        /,
    ) -> bool:
        """Answer 200 with a stream that begins with `body` and goes on with the events of `tag`.

        False when there is no place for one more stream; then the request is still to be answered.
        Nor is there one where the clients of `group`, a number below 2**32, have `group_limit`.
        HEAD gets the head alone and takes no place. The core keeps the connection, writes a comment
        line of text/event-stream where nothing was said for `beat` seconds, lets go of clients that
        do not take their events, and ends all streams at a stop. Raises as `respond` does.
        """

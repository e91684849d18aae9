"""The interface of the C core for Python.

Only `commentsvc.http.bridge` imports this module. Every method may be called from any Python thread
that holds the GIL; none of them blocks except `Server.join`.
"""

from collections.abc import Sequence
from typing import final

@final
class Server:
    """An HTTP/1.1 origin server: worker threads, a response cache, a mailbox of requests.

    `listen` is ``"HOST:PORT"`` (port 0 lets the kernel choose; IPv6 as ``"[::1]:8080"``) or
    ``"unix:PATH"``. Times are in seconds, sizes in bytes. At most `waiting` requests may wait for
    Python. `trace_lines` is how many lines each worker may hold for `take_trace`; 0 turns tracing
    off.

    At most `streams` of the `connections` may be open streams; each sends a `heartbeat` after it
    was silent for so long. Requests that are arriving or not answered yet, and responses that
    clients have not taken, may hold `client_bytes` together, or two bodies for each worker if that
    is more. Beyond that, those that have held memory for the longest time are refused (503) or
    closed.

    With `proxy_protocol`, every connection must begin with a PROXY protocol header, version 2, as
    TLS terminators send it; others are closed. If that header says that the client uses TLS, each
    response, also a refusal, has `hsts` as Strict-Transport-Security, unless it is ``""``.

    A request that the core refuses by itself is answered with the body of its status in `refusals`,
    of the media type `refusal_type`: 400, 408, 413, 414, 417, 431, 500 (Python dropped the request
    without an answer), 501, 503, 504 and 505. A browser that opens an address gets one of
    `refusal_pages` instead, of the type `refusal_page_type`; they have the same statuses, or none.
    Raise ValueError for a malformed `listen`, `hsts` or type, a missing status, or a limit out of
    range.
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
        refusal_page_type: str,
        refusal_pages: dict[int, bytes],
    ) -> None: ...
    @property
    def address(self) -> str:
        """The address that the server listens on, with the real port; valid after `start`."""

    def balance(self, fd: int, own: int, size: int, /) -> None:
        """Share the clients evenly with other processes; call this before `start`.

        The memory behind `fd`, which the caller may then close, has four bytes for each of `size`
        processes. This one has the slot `own`, from 0. Raise OSError if the memory is too small.
        """

    def set_targets(self, rules: bytes, /) -> None:
        """Drop parameters from targets by these rules; call this before `start`.

        See core/http/target.h. Requests with the same target then have one cached answer.
        """

    def start(
        self,
        listeners: Sequence[int] = (),
        connections: Sequence[tuple[int, str]] = (),
        *,
        borrowed: bool = False,
    ) -> None:
        """Bind, listen and start the workers. Raise OSError with the address as its filename.

        With `listeners`, descriptors of at most 64 listening sockets, the server listens on these
        and not on `listen`; if they are `borrowed`, the path of a Unix socket stays when the server
        ends. `connections` are the idle ones of the previous server, as its `release` returned
        them; all are served, even if they exceed the limit of connections. The server takes all of
        these descriptors, also when it raises OSError.
        """

    def fileno(self) -> int:
        """Return a descriptor that is readable while requests wait for `drain`."""

    def drain(self) -> list[Request]:
        """Return all requests that wait, and remove them from the mailbox."""

    def cork(self) -> None:
        """Hold answers back until `uncork` sends all of them at once.

        So each worker is woken once for many answers. Only the thread that answers may call this.
        """

    def uncork(self) -> None:
        """Send the answers that were held back, and later ones immediately."""

    def purge(self, tags: Sequence[str], /) -> None:
        """Delete every answer cached under one of `tags`.

        An answer to a request that was drained before is not cached if it has one of them.
        """

    def purge_all(self) -> None:
        """Delete every cached answer, as if all tags were purged."""

    def set_lease(self, until: float, /) -> None:
        """Use cached answers only before the time `until`, in seconds of `time.monotonic`.

        From then on, every request goes to Python, and no answer is cached, until this is called
        again. Workers see the end by themselves, up to 20 ms early. Without a call there is no end.
        Raise ValueError for less than a millisecond.
        """

    def is_followed(self, tag: str, /) -> bool:
        """Return whether a stream follows `tag`, or may do so soon because it has begun."""

    def publish(self, tag: str, data: bytes, /) -> bool:
        """Send the event `data`, of 1 byte to 16 KiB, on all streams that follow `tag`.

        Each stream that has begun gets it, in the order of the calls, without further work of
        Python. Return False if the workers are far behind with events, or if there is no memory;
        then no stream gets it, and the caller publishes it again a moment later.
        """

    def stop(self, grace: float, *, for_handover: bool = False) -> None:
        """Begin a graceful stop: accept no connections, and answer what was read.

        The answers have at most `grace` seconds, and the caller goes on calling `drain` for them.
        Requests that are unanswered then get 503. With `for_handover`, connections that are idle or
        wait to be accepted are kept for another server, which gets them from `release`.
        """

    def join(self) -> None:
        """Wait, without the GIL, until every worker has ended (`stop` first)."""

    def release(self) -> tuple[list[int], list[tuple[int, str]]]:
        """Return listeners and idle connections after `join` of a stop for a handover.

        The caller owns them. With each connection comes a note for `start`, of at most 53 ASCII
        characters.
        """

    def stats(self) -> dict[str, int]:
        """Return counters and gauges, summed over the workers; the keys are stable names.

        The keys are ``accepted``, ``connections`` (open), ``max_connections``,
        ``requests``, ``hits``, ``not_modified`` (hits with 304), ``misses``, ``refusals``,
        ``writes`` (system calls), ``streams`` (open), ``streams_refused`` (because of a
        limit), ``events_sent`` (events, once for each stream), ``cache_entries``,
        ``cache_bytes``, ``evictions``, ``stale`` (dropped because of a purge),
        ``client_bytes`` (held for clients), ``max_client_bytes``,
        ``requests_waiting`` and ``replies_waiting`` (the numbers of messages in the
        mailboxes to Python and back), ``mailbox_full`` (requests refused because the first
        one was full), ``out_of_fds`` (accepts that failed for lack of a descriptor; `fileno`
        becomes readable then too, and `drain` returns nothing), ``late_replies`` (replies
        after the deadline); ``refused_STATUS`` and ``closed_REASON``, the refused requests
        and closed connections; ``latency_N``, the misses that took at most N microseconds
        and more than the N before, ``latency_inf``, the slower ones, and ``latency_sum``,
        the microseconds of all misses.
        """

    def take_trace(self) -> bytes:
        r"""Return complete lines about requests since the last call, at most 64 KiB, or ``b""``.

        A line is ``trace DATE KIND METHOD STATUS BYTES TOTAL PYTHON TARGET``. KIND is hit, miss,
        refused, or aborted (the client did not wait for the answer). BYTES are those of the answer.
        TOTAL is the time in microseconds, PYTHON the part of it from `drain` to `Request.respond`
        ("-" if Python did not answer). Bytes of METHOD and TARGET that are not visible ASCII are
        written as ``\xHH``, and "..." ends a TARGET that was cut. Workers do not wait for room:
        ``trace N lines lost`` counts the lines for which there was none.
        """

@final
class Request:
    """A request that the cache could not answer. If Python drops it, the client gets 500."""

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
        """The address of the peer, without a port; ``""`` for a Unix socket."""

    @property
    def client(self) -> str | None:
        """The client's address from the PROXY protocol; ``""`` if the peer speaks for itself.

        None if the peer does not use that protocol.
        """

    def header(self, name: str, /) -> str | None:
        """Return the value of the field `name` (lower case); several are joined by ``", "``.

        Return None if it is absent.
        """

    def respond(
        self,
        status: int,
        headers: Sequence[tuple[str, str]],
        body: bytes,
        tags: Sequence[str] = (),
        gzip: bytes = b"",
        brotli: bytes = b"",
    ) -> None:
        """Answer, once. With `tags`, a 200 answer to GET or HEAD is cached under the target.

        With `Vary: Origin`, it is cached for the request's Origin alone, and not without one.

        The core adds Date, Content-Length, Connection, and ETag if there are tags. It answers HEAD
        and If-None-Match, and drops the answer if the client has left. A cached answer may have
        further variants, `gzip` and `brotli`, which are `body` with these content codings. Each
        client gets the variant that it prefers, or Brotli if it accepts both equally. Each has an
        ETag of its own, and all have `Vary: Accept-Encoding`.

        Raise ValueError for a status outside 200…599, a field name or value that could end its
        line, a field that the core sets itself, or over 128 tags. Raise RuntimeError if it was
        answered before.
        """

    def begin(
        self, status: int, headers: Sequence[tuple[str, str]], body: bytes, number: int, /
    ) -> bool:
        """Answer with a head and the beginning of a body whose length is not known.

        Then this object is used up. `Server.drain` returns a new one for the same request, with
        this `number` (1 to 2**64 - 1), when the client has taken all that was sent, or has left.
        Call `send` or `end` on that. If it is freed without either, or if nothing comes for as long
        as a handler may take, the connection ends before the end of the body.

        HEAD gets the head alone; then the answer is complete and this returns False. `body` has at
        most 128 KiB. Raise as `respond` does, and ValueError for a status without a body.
        """

    @property
    def number(self) -> int:
        """The number that `begin` was given; 0 for a request whose answer has not begun."""

    @property
    def left(self) -> bool:
        """Whether the client of an answer that has begun has left: what is sent is dropped."""

    def send(self, data: bytes, /) -> None:
        """Send the next piece, of 1 byte to 128 KiB, after `begin`; this object is used up then.

        Raise ValueError for another size, RuntimeError if the answer has not begun.
        """

    def end(self, data: bytes = b"", /) -> None:
        """Do as `send` with the last piece, which may be empty."""

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

        Return False if the limit of streams is reached, or if the clients of `group`, a number
        below 2**32, have `group_limit` streams already; then the request still has to be answered.
        HEAD gets the head alone and does not count. The core keeps the connection open, writes a
        comment line of text/event-stream after `heartbeat` seconds of silence, closes streams whose
        clients do not take their events, and ends all streams at a stop. Raise as `respond` does.
        """

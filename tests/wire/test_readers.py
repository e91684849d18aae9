"""Whatever the core accepts, h11 and llhttp read in the same way.

They find the same requests with the same fields and bodies, and the next request begins at the same
byte. What they refuse and we accept is listed with its reason; a different reading is never
allowed.
"""

import re
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from commentsvc import _core
from tests.bridge.application import PATIENCE, Application, running
from tests.fuzz import seed_corpus
from tests.wire import obscured
from tests.wire.cases import all_cases
from tests.wire.readers import (
    Reading,
    Readings,
    of_the_core,
    read_by_h11,
    read_by_lenient_llhttp,
    read_by_llhttp,
)

READERS: dict[str, Callable[[bytes], Readings]] = {
    "h11": read_by_h11,
    "llhttp": read_by_llhttp,
    "lenient llhttp": read_by_lenient_llhttp,
}
NAME = re.compile(rb"[!#-'*+.^_`|~\w-]+$")
LONGEST_NAME = 100  # of the names that are looked for
FRAMING = ("host", "connection", "content-length", "transfer-encoding", "expect")


@dataclass(frozen=True)
class Known:
    """A message with which a reader refuses what the core accepts, and why that does no harm."""

    reader: str
    message: str
    reason: str


KNOWN = (
    Known("h11", "no request line received", "it forgives no empty line before a request"),
    Known("h11", "bad Content-Length", "it reads no more than 20 digits; ours may be zeros"),
    Known("h11", "it closes the connection", "it keeps none of HTTP/1.0 alive"),
    Known(
        "llhttp",
        "Content-Length can't be present with Transfer-Encoding",
        "it refuses that in trailers too, which we drop unread",
    ),
    Known("llhttp", "Invalid `Transfer-Encoding` header value", "the same"),
)


def streams() -> Iterator[tuple[str, bytes]]:
    """Yield what clients send in tests, with names: wire cases, obscured requests, corpora."""
    for case in all_cases():
        yield str(case), b"".join(step.data for step in case.steps)
    for number, stream in enumerate(obscured.streams()):
        yield f"obscured/{number}", stream
    for target in ("fuzz_head", "fuzz_conn"):
        for name, data in seed_corpus.read(target).items():
            yield f"{target}/{name}", data
    for name, data in seed_corpus.read("fuzz_body").items():
        chunked = data[:1] and data[0] & 1
        frame = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {len(data) // 2}"
        yield (
            f"fuzz_body/{name}",
            f"POST / HTTP/1.1\r\nHost: a\r\n{frame}\r\n\r\n".encode() + data[1:],
        )


def names_in(stream: bytes) -> set[str]:
    """Return everything before a colon that some parser may take for a field name."""
    ends = (piece[-LONGEST_NAME:].rstrip(b" \t") for piece in stream.split(b":"))
    return {match[0].decode().lower() for end in ends if (match := NAME.search(end))}


class Mirror:
    """An application that records how the core reads one stream after another."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.requests: list[Reading] = []

    def __call__(self, request: _core.Request) -> None:
        self.requests.append(of_the_core(request, self.names))
        request.respond(200, [], b"")

    def read(self, application: Application, stream: bytes) -> Readings:
        self.names = [*FRAMING, *names_in(stream)]
        self.requests = []
        host, port = application.server.address.rsplit(":", 1)
        with socket.create_connection((host, int(port)), PATIENCE) as connection:
            connection.sendall(stream)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(1 << 16):
                continue
        return Readings(self.requests)


def difference(ours: Readings, theirs: Readings) -> str:
    """Return how a reader differs about the requests that the core accepted; "" if it does not."""
    for number, request in enumerate(ours.requests):
        if number == len(theirs.requests):
            return f"refuses: {theirs.refusal}" if theirs.refusal else "waits for more"
        if theirs.requests[number] != request:
            return f"reads otherwise: {theirs.requests[number]} and we {request}"
    return ""


@pytest.fixture(scope="module")
def ours() -> dict[str, tuple[bytes, Readings]]:
    mirror = Mirror()
    with running(mirror) as application:
        return {name: (stream, mirror.read(application, stream)) for name, stream in streams()}


@pytest.mark.parametrize("reader", READERS)
def test_whatever_we_accept_others_read_the_same_way(
    reader: str, ours: dict[str, tuple[bytes, Readings]]
) -> None:
    found: dict[str, str] = {}
    for name, (stream, readings) in ours.items():
        if what := difference(readings, READERS[reader](stream)):
            found.setdefault(what, name)
    known = {f"refuses: {one.message}" for one in KNOWN if one.reader == reader}
    assert {what: name for what, name in found.items() if what not in known} == {}
    assert known - set(found) == set(), "it occurs no more"


def test_the_streams_are_many(ours: dict[str, tuple[bytes, Readings]]) -> None:
    accepted = [readings for _, readings in ours.values() if readings.requests]
    assert len(ours) > 2500
    assert len(accepted) > 400

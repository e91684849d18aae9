"""A client that sends a case's bytes cut as requested, and checks the answers strictly."""

import re
import socket
from collections.abc import Callable, Iterable
from itertools import pairwise

from tests.wire.cases import Answer, Case

PATIENCE = 120.0  # seconds after which a wait has failed; the machine may be busy
FOLLOWER = b"GET /echo?follower HTTP/1.1\r\nHost: follower\r\n\r\n"
FOLLOWED = b"query: follower\n"

_HEAD = re.compile(
    rb"HTTP/1\.1 (?P<status>[1-5]\d\d [^\r\n]*)\r\n(?P<fields>([!-9;-~]+: [^\r\n\0]*\r\n)*)\r\n"
)
_DATE = re.compile(r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT")

Cut = Callable[[bytes], Iterable[bytes]]


def whole(data: bytes) -> Iterable[bytes]:
    return [data]


def byte_by_byte(data: bytes) -> Iterable[bytes]:
    """Return single bytes; of a long input only those around line ends, and at both ends."""
    if len(data) <= 2048:
        return [data[at : at + 1] for at in range(len(data))]
    ends = [match.end() for match in re.finditer(rb"[\r\n]", data)][:200]
    cuts = sorted({0, 1, len(data) - 1, len(data), *(c for e in ends for c in (e - 1, e))})
    return [data[start:end] for start, end in pairwise(cuts)]


class Player:
    """One connection to the server under test."""

    def __init__(self, address: str) -> None:
        host, port = address.rsplit(":", 1)
        self._socket = socket.create_connection((host, int(port)), PATIENCE)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._read = b""

    def close(self) -> None:
        self._socket.close()

    def send(self, pieces: Iterable[bytes]) -> None:
        for piece in pieces:
            try:
                self._socket.sendall(piece)
            except (BrokenPipeError, ConnectionResetError):
                return  # refused before all was sent; the answers show whether that is right

    def finish(self) -> None:
        """Tell the server that no more bytes will come."""
        self._socket.shutdown(socket.SHUT_WR)

    def expect(self, wanted: Answer) -> None:
        """Read one answer and compare it with the expected one."""
        status, fields = self._read_head()
        assert status == wanted.status, f"got {status} {fields}"
        given = {name.lower(): value for name, value in fields}
        assert len(given) == len(fields), f"a field twice: {fields}"
        for name, value in wanted.fields:
            assert given.get(name.lower()) == value, f"{name} is {given.get(name.lower())!r}"
        for name in wanted.absent:
            assert name.lower() not in given
        body = self._read_body(status, given) if wanted.has_body else b""
        if wanted.body is not None:
            assert body == wanted.body
        if status[0] != "1":
            assert _DATE.fullmatch(given["date"])

    def expect_end(self) -> None:
        """Check that nothing more comes and that the server closes the connection in good order."""
        assert self._read == b"", f"more than was expected: {self._read!r}"
        rest = self._socket.recv(65536)
        assert rest == b"", f"more than was expected: {rest!r}"

    def expect_open(self) -> None:
        """Check that nothing more has come and that the connection can still be used."""
        self.send([FOLLOWER])
        self.expect_follower()

    def expect_follower(self) -> None:
        status, fields = self._read_head()
        assert status == "200 OK", f"the follower got {status}"
        given = {name.lower(): value for name, value in fields}
        assert FOLLOWED in self._read_body(status, given)

    def _receive(self) -> None:
        data = self._socket.recv(65536)
        assert data, f"the connection ended within an answer: {self._read!r}"
        self._read += data

    def _read_head(self) -> tuple[str, list[tuple[str, str]]]:
        while b"\r\n\r\n" not in self._read:
            self._receive()
        match = _HEAD.match(self._read)
        assert match, f"this is no head: {self._read!r}"
        self._read = self._read[match.end() :]
        lines = match["fields"].decode("latin-1").split("\r\n")[:-1]
        fields = [(name, value) for name, _, value in (line.partition(": ") for line in lines)]
        return match["status"].decode("latin-1"), fields

    def _read_body(self, status: str, given: dict[str, str]) -> bytes:
        if status[0] == "1" or status[:3] in ("204", "304"):
            assert "content-length" not in given or status[:3] == "304"
            return b""
        length = int(given["content-length"])
        while len(self._read) < length:
            self._receive()
        body, self._read = self._read[:length], self._read[length:]
        return body


def play(case: Case, address: str, cut: Cut, *, followed: bool) -> None:
    """Play `case` on a new connection; with `followed`, send one more request after it."""
    player = Player(address)
    try:
        for step in case.steps:
            last = step is case.steps[-1]
            player.send(cut(step.data + (FOLLOWER if followed and last else b"")))
            if last and case.alone:
                player.finish()
            for answer in step.answers:
                player.expect(answer)
        if not case.stays_open:
            player.expect_end()
        elif followed:
            player.expect_follower()
        else:
            player.expect_open()
    finally:
        player.close()

"""A small application on the core alone, and raw connections to it."""

import select
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from commentsvc import _core
from tests.core_server import core_server

PATIENCE = 120.0  # seconds after which a wait has failed; the machine may be busy

Handler = Callable[[_core.Request], None]


def await_that(condition: Callable[[], object], what: str) -> None:
    """Wait until `condition` holds; fail with a message that says what was waited for."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.001)


class Application:
    """A running server, and a thread that passes its requests to `handler`."""

    def __init__(self, handler: Handler, **options: Any) -> None:  # Any: options of the core
        self._sockets = options.pop("sockets", ())  # listening sockets of an earlier server
        self.server = core_server(**options)
        self.handler = handler
        self.grace = PATIENCE
        self.drained = 0
        self._draining = threading.Lock()
        self._ended = False
        self._thread = threading.Thread(target=self._run)

    def start(self) -> None:
        self.server.start(*self._sockets)
        self._thread.start()

    def _run(self) -> None:
        while not self._ended:
            if select.select([self.server.fileno()], [], [], 0.01)[0]:
                with self._draining:
                    self._drain()

    def _drain(self) -> None:
        for request in self.server.drain():
            self.drained += 1
            self.handler(request)
            del request  # a request that the handler left unanswered is freed here

    @contextmanager
    def stuck(self) -> Iterator[None]:
        """Take no requests from the core during the block."""
        with self._draining:
            yield

    def stop(self) -> None:
        self.server.stop(self.grace)
        self.server.join()
        self._ended = True
        self._thread.join()

    def dial(self) -> "Client":
        address = self.server.address
        if address.startswith("unix:"):
            connection = socket.socket(socket.AF_UNIX)
            connection.connect(address.removeprefix("unix:"))
        else:
            host, port = address.rsplit(":", 1)
            connection = socket.create_connection((host, int(port)))
        return Client(connection)

    def get(self, target: str, *fields: str, method: str = "GET") -> "Answer":
        """Send one GET request on a new connection."""
        with self.dial() as client:
            client.send(request(target, *fields, method=method))
            return client.answer(method)

    def post(self, target: str, body: bytes, *fields: str) -> "Answer":
        """Send one POST request with a body on a new connection."""
        with self.dial() as client:
            client.send(request(target, *fields, method="POST", body=body))
            return client.answer("POST")


@contextmanager
def running(handler: Handler, **options: Any) -> Iterator[Application]:  # Any: as above
    application = Application(handler, **options)
    application.start()
    try:
        yield application
    finally:
        application.stop()


def request(target: str, *fields: str, method: str = "GET", body: bytes = b"") -> bytes:
    length = [f"Content-Length: {len(body)}"] if body else []
    lines = [f"{method} {target} HTTP/1.1", "Host: h", *fields, *length, "", ""]
    return "\r\n".join(lines).encode() + body


TEXT = [("Content-Type", "text/plain")]


def echo(call: _core.Request) -> None:
    """Answer with the target. Paths below /stored/ may be cached, tagged by their last segment."""
    body = f"{call.path}?{call.query}".encode()
    tags = [call.path.rsplit("/", 1)[1]] if call.path.startswith("/stored/") else []
    call.respond(200, TEXT, body, tags)


def memory() -> int:
    """Return the resident memory of this process in KiB."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0])


class Held:
    """A handler that keeps requests until the test answers them."""

    def __init__(self) -> None:
        self.requests: list[_core.Request] = []

    def __call__(self, call: _core.Request) -> None:
        self.requests.append(call)

    def take(self) -> _core.Request:
        await_that(lambda: self.requests, "a request")
        return self.requests.pop(0)


class Answer:
    """One response as it was received."""

    def __init__(self, head: bytes, body: bytes) -> None:
        line, *fields = head.decode().split("\r\n")
        self.status = int(line.split()[1])
        self.fields = {
            name.lower(): value for name, _, value in (f.partition(": ") for f in fields)
        }
        self.body = body


class Client:
    """A connection that reads responses one by one."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self.socket.settimeout(PATIENCE)
        self._read = b""

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def answer(self, method: str = "GET") -> Answer:
        while b"\r\n\r\n" not in self._read:
            self._receive()
        head, _, self._read = self._read.partition(b"\r\n\r\n")
        answer = Answer(head, b"")
        chunked = "transfer-encoding" in answer.fields  # the test reads the rest with `piece`
        if method != "HEAD" and answer.status != 304 and not chunked:
            length = int(answer.fields.get("content-length", "0"))
            while len(self._read) < length:
                self._receive()
            answer.body, self._read = self._read[:length], self._read[length:]
        return answer

    def piece(self) -> bytes:
        """Return the next chunk of a chunked body; b"" for the last one."""
        while b"\r\n" not in self._read:
            self._receive()
        size, _, rest = self._read.partition(b"\r\n")
        end = int(size, 16)
        while len(rest) < end + 2:
            self._receive()
            rest = self._read.partition(b"\r\n")[2]
        assert rest[end : end + 2] == b"\r\n"
        self._read = rest[end + 2 :]
        return rest[:end]

    def is_ended(self) -> bool:
        """Return True when the server closes; fail when it sends something instead."""
        return not self._read and self.socket.recv(1) == b""

    def is_silent(self, seconds: float) -> bool:
        return not self._read and not select.select([self.socket], [], [], seconds)[0]

    def _receive(self) -> None:
        data = self.socket.recv(65536)
        assert data, f"the connection ended within an answer: {self._read!r}"
        self._read += data

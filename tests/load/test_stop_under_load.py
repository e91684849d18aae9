"""A stop under load, from the clients' side: every request that was read is answered.

A client knows whether its bytes were read from how the connection ends: with a reset if some were
not (tcp(7), unix(7)), otherwise with an orderly close. Each send is small, so the server reads all
of it or nothing.
"""

import itertools
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import pytest

from tests.e2e.program import PATIENCE, Service, wait_for

CLIENTS = 8
ENVIRON = {"COMMENTSVC_MODERATION_POLICY": "none", "COMMENTSVC_SPAM_RATE_LIMIT": "off"}
COUNT = b"GET /api/comments/count?url=/post/ HTTP/1.1\r\nHost: h\r\n\r\n"
PING = b"GET /api/ping HTTP/1.1\r\nHost: h\r\n\r\n"


def comment(text: str) -> bytes:
    """Return a submission."""
    body = f'{{"url": "/post/", "author": "Ann", "message": "{text}"}}'.encode()
    head = "POST /api/comments HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


class Client(threading.Thread):
    """Sends batches of requests, each after all of the previous batch are answered."""

    def __init__(self, dial: Callable[[], socket.socket], number: int) -> None:
        super().__init__()
        self._dial = dial
        self._number = number
        self.answered = 0
        self.acknowledged = 0  # comments
        self.unread = 0  # requests that the server had not read when it reset the connection
        self.was_announced = False  # an answer announced the end of the connection
        self.failures: list[str] = []

    def run(self) -> None:
        """Work until the connection ends."""
        with self._dial() as connection, connection.makefile("rb") as answers:
            for turn in itertools.count(self._number):
                own = comment(f"{self._number} {turn}")
                batch = ([COUNT], [PING], [COUNT, PING, COUNT, PING], [own])[turn % 4]
                try:
                    connection.sendall(b"".join(batch))
                    if not self._hear(answers, len(batch)):
                        return
                except ConnectionError:
                    self.unread = len(batch)
                    return
                except Exception as error:
                    self.failures.append(repr(error))
                    return

    def _hear(self, answers: BinaryIO, count: int) -> bool:
        """Read `count` answers; return whether the connection stays open.

        Raise ConnectionError if none of them came, since the requests were not read.
        """
        for number in range(count):
            try:
                status, closes = self._answer(answers)
            except ConnectionError as error:
                if number > 0:
                    raise ValueError(f"{number} of {count} were answered") from error
                raise
            self.answered += 1
            self.acknowledged += status == 201
            if status not in (200, 201):
                self.failures.append(str(status))
            if closes:
                self.was_announced = True
                assert number + 1 == count, "the last answer came before all were answered"
                assert answers.read() == b""
        return not self.was_announced

    def _answer(self, answers: BinaryIO) -> tuple[int, bool]:
        status = answers.readline()
        if not status:
            raise EOFError("what was read was not answered")
        fields = dict(
            line.rstrip().lower().split(b": ", 1) for line in iter(answers.readline, b"\r\n")
        )
        size = int(fields[b"content-length"])
        assert len(answers.read(size)) == size
        return int(status.split()[1]), fields.get(b"connection") == b"close"


def dialler(address: str) -> Callable[[], socket.socket]:
    """Return a function that connects to "unix:PATH" or "http://HOST:PORT"."""

    def dial() -> socket.socket:
        if not address.startswith("unix:"):
            port = int(address.rpartition(":")[2])
            return socket.create_connection(("127.0.0.1", port), PATIENCE)
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(PATIENCE)
        client.connect(address.removeprefix("unix:"))
        return client

    return dial


@pytest.mark.both_engines
@pytest.mark.parametrize("kind", ["tcp", "unix"])
def test_at_a_stop_all_that_was_read_is_answered(
    data: Path, tmp_path: Path, start: Callable[..., Service], kind: str
) -> None:
    listen = f"unix:{tmp_path}/http.sock" if kind == "unix" else "127.0.0.1:0"
    service = start(data, listen=listen, environ=ENVIRON)
    dial = dialler(service.address)
    clients = [Client(dial, number) for number in range(CLIENTS)]
    with dial() as idle:
        for client in clients:
            client.start()
        wait_for(lambda: all(client.answered > 40 for client in clients), "work")
        assert service.stop() == 0
        assert idle.recv(1) == b""
    for client in clients:
        client.join(PATIENCE)
    assert [failure for client in clients for failure in client.failures] == []
    assert any(client.was_announced for client in clients)
    service = start(data, listen=listen, environ=ENVIRON)
    # What was not read was not stored.
    assert service.count("/post/") == sum(client.acknowledged for client in clients)
    assert service.stop() == 0

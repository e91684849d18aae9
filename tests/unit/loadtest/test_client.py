"""loadtest/harness/client.py: the output of wrk and of the generator, and the generator itself."""

import os
import re
import socketserver
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import ClassVar

import pytest

from loadtest.harness import client
from loadtest.harness.client import ClientError, Outcome, Request, pack, parse_generator, parse_wrk
from tests.background import background

WRK = """Running 1s test @ http://127.0.0.1:8080/
  1 threads and 100 connections
Requests/sec: 1000
{"answered": 1000, "seconds": 1.5, "wrong": 3, "failed": 2, \
"latency": {"p50": 10, "p90": 20, "p99": 30, "max": 40}}
"""
LATENCY = (10, 20, 30, 40)
CORE = str(min(os.sched_getaffinity(0)))
ENOUGH = (0.2, 2, 10)  # seconds that each client needs for more than one request


def test_wrks_answers_without_success_are_not_counted_as_answers() -> None:
    assert parse_wrk(WRK, 1, 0.5) == Outcome(997, 1.5, 3, 2, *LATENCY, client_share=0.5)


def test_of_a_pipeline_wrk_tells_the_greatest_latency_alone() -> None:
    assert parse_wrk(WRK, 24, 0.5) == Outcome(997, 1.5, 3, 2, 0, 0, 0, 40, client_share=0.5)


def test_the_generators_wrong_answers_are_told_apart() -> None:
    said = (
        '{"answered": 9, "wrong": 3, "seconds": 2.0, "cpu": 1.5, "waited": 1.0,'
        ' "statuses": {"201": 8, "503": 1},'
        ' "latency": {"p50": 10, "p90": 20, "p99": 30, "max": 40}}'
    )
    assert parse_generator(said) == Outcome(6, 2.0, 3, 0, *LATENCY, 0.25, waiting_share=0.5)


def test_requests_are_packed_with_what_must_be_answered() -> None:
    requests = [Request(b"GET /\n", 200, b"ok"), Request(b"", 204, b""), Request(b"PUT", 201, None)]
    assert pack(requests, [0, 2, 0]) == (
        b"3 3\n6 200 2\nGET /\nok\n0 204 0\n\n3 201 -1\nPUT\n0 2 0\n"
    )


def test_wrk_missing_is_told_with_the_line_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ClientError, match="apt-get install -y wrk"):
        client.find_wrk()


class Taking(BaseHTTPRequestHandler):
    """Answers 201 to a body that it has not seen before, else 409."""

    protocol_version = "HTTP/1.1"
    seen: ClassVar[set[bytes]] = set()
    looking = threading.Lock()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with self.looking:
            known = body in self.seen
            self.seen.add(body)
        self.send_response(409 if known else 201)
        self.send_header("content-length", "5")
        self.end_headers()
        self.wfile.write(b"taken")

    def log_message(self, format: str, *words: object) -> None:
        """Do not log."""


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True


@pytest.fixture
def port() -> Iterator[int]:
    Taking.seen = set()
    with background(Server(("127.0.0.1", 0), Taking)) as server:
        yield server.server_address[1]


def posts(*bodies: bytes) -> bytes:
    head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%b"
    requests = [Request(head % (len(body), body), 201, b"taken") for body in bodies]
    return pack(requests, range(len(requests)))


def test_the_generator_sends_no_request_twice(tmp_path: Path, port: int) -> None:
    file = tmp_path / "requests"
    file.write_bytes(posts(b"a########## ", b"bb ##########"))
    for seconds in ENOUGH:
        Taking.seen.clear()
        outcome = client.generate(port, file, 4, 1, seconds, 7, CORE)
        if outcome.answered > 4:
            break
    assert outcome.wrong == 0
    assert outcome.answered == len(Taking.seen) > 4
    serials = sorted(int(re.sub(rb"[ab ]", b"", body)) for body in Taking.seen)
    assert serials == [*range(7, 7 + outcome.answered)]
    assert 0 < outcome.p50 <= outcome.p99
    assert seconds <= outcome.seconds < seconds + 30


def test_the_generator_tells_other_answers_apart(tmp_path: Path, port: int) -> None:
    file = tmp_path / "requests"
    file.write_bytes(posts(b"always the same"))
    outcome = client.generate(port, file, 2, 1, 0.1, 1, CORE)
    assert outcome.answered == 1
    assert outcome.wrong > 0

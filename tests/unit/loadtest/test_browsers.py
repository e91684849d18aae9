"""loadtest/harness/browsers.py: the generator `browsers`, its output, and the figures from it."""

import contextlib
import os
import socketserver
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import trustme

from loadtest.harness import browsers
from loadtest.harness.browsers import Seen, browse
from loadtest.harness.client import Request, pack
from loadtest.harness.measurement import Row
from loadtest.harness.scenario import Goal
from tests.background import background

CORE = str(min(os.sched_getaffinity(0)))
ASKED = b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n"
GOOD = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood"
CLOSING = GOOD.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", 1)
SILENT = b""
MOMENT = 0.3  # seconds


class Answers(socketserver.ThreadingTCPServer):
    """Answers each connection with the next of `script`, repeats the last one, then closes."""

    daemon_threads = True
    request_queue_size = 100

    def __init__(self, script: list[list[bytes]], context: ssl.SSLContext | None) -> None:
        super().__init__(("127.0.0.1", 0), socketserver.BaseRequestHandler)
        self.script = script
        self.context = context
        self.connections = 0

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Any: the base class also handles datagrams."""
        answers = self.script[min(self.connections, len(self.script) - 1)]
        self.connections += 1
        with contextlib.suppress(OSError):  # without trust, a client closes
            if self.context:
                request = self.context.wrap_socket(request, server_side=True)
            for answer in answers:
                if not request.recv(4096):
                    break
                request.sendall(answer)
            request.close()


@contextmanager
def serve(*script: list[bytes], context: ssl.SSLContext | None = None) -> Iterator[Answers]:
    with background(Answers(list(script), context)) as server:
        yield server


def play(server: Answers, folder: Path, clients: int = 1, least: int = 0, **more: object) -> Seen:
    """Return what clients see in a moment, or in a longer time if they have had too few answers."""
    plan = folder / "plan"
    plan.write_bytes(pack([Request(ASKED, 200, b"good")], [0]))
    for seconds in (MOMENT, 3, 10):
        server.connections = 0
        seen = browse(server.server_address[1], plan, clients, seconds, CORE, **more)  # type: ignore[arg-type]  # `more` has what browse takes
        if seen.outcome.answered >= least:
            break
    return seen


def test_a_server_that_closes_each_connection_is_no_failure(tmp_path: Path) -> None:
    with serve([CLOSING]) as server:
        seen = play(server, tmp_path, clients=3, least=2)
    assert seen.outcome.answered == server.connections > 1
    assert seen.errors == 0


def test_a_kept_connection_that_ended_while_idle_is_opened_again(tmp_path: Path) -> None:
    with serve([GOOD, GOOD]) as server:
        seen = play(server, tmp_path, least=5)
    assert seen.outcome.answered >= 2 * (server.connections - 1) > 2
    assert seen.errors == 0


def test_an_end_without_an_answer_and_a_wrong_answer_are_errors(tmp_path: Path) -> None:
    with serve([SILENT], [GOOD[:-4] + b"evil"], [CLOSING]) as server:
        seen = play(server, tmp_path, least=1)
    assert (seen.outcome.failed, seen.outcome.wrong, seen.errors) == (1, 1, 2)
    assert seen.outcome.answered > 0


def test_over_tls_the_server_has_to_be_trusted(tmp_path: Path) -> None:
    authority, other = trustme.CA(), trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    for name, one in (("right", authority), ("wrong", other)):
        one.cert_pem.write_to_path(str(tmp_path / name))
    with serve([GOOD] * 10_000, context=context) as server:
        assert play(server, tmp_path, trusted=tmp_path / "right").errors == 0
        refused = play(server, tmp_path, trusted=tmp_path / "wrong")
    assert refused.outcome.answered == 0
    assert refused.outcome.failed > 0


def row(name: str, number: int, rate: float, *, disturbed: bool = False) -> Row:
    return {"scenario": name, "round": number, "rate": rate, "disturbed": disturbed}


def test_a_ratio_is_taken_within_a_round_by_the_best() -> None:
    rows = [row("a", 1, 60), row("b", 1, 10), row("c", 1, 20), row("a", 2, 80), row("b", 2, 20)]
    verdict = browsers.ratio(rows, "a", ["b", "c"], Goal("times", "least", 3, ""), "rate")
    assert (verdict.value, verdict.spread, verdict.holds) == (3.5, (3.0, 4.0), True)
    with pytest.raises(KeyError):
        browsers.ratio(rows, "a", ["d"], Goal("times", "least", 3, ""), "rate")


def test_the_worst_of_all_rounds_is_judged() -> None:
    verdict = browsers.worst(
        [row("a", 1, 3_000), row("a", 2, 9_000)], "a", Goal("ms", "most", 5, ""), "rate", 1_000
    )
    assert (verdict.value, verdict.holds) == (9, False)

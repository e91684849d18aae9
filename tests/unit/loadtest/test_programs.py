"""loadtest/harness: the programs that are built, installed and run."""

import os
import re
import select
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from commentsvc.settings.schema import Settings
from loadtest.harness import client, programs
from loadtest.harness.client import ClientError, Outcome, Request, pack
from loadtest.harness.process import (
    TICK,
    Core,
    parse_core,
    parse_cpu,
)
from loadtest.harness.programs import ROOT
from loadtest.harness.service import ServiceError, parse_counters

STAT = "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 1 2 3 40 50 6 7 8 0 0\ncpu10 0 0 0 0 0 0 0 0 0 0\nintr 5 0\n"
SERVER = "42 (a (strange) name) S 1 42 42 0 -1 4194560 9 0 0 0 700 35 2 1 20 0 5 0 99 1 1\n"


def test_a_core_is_busy_with_all_but_waiting_and_what_was_stolen() -> None:
    assert parse_core(STAT, 0) == Core(busy=(1 + 2 + 3 + 6 + 7) * TICK, stolen=8 * TICK)


def test_a_name_with_brackets_does_not_disturb_the_cpu_time() -> None:
    assert parse_cpu(SERVER) == 735 * TICK


CORE = str(min(os.sched_getaffinity(0)))
PATIENCE = 120.0
ASKED = b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n"
GOOD = b"HTTP/1.1 200 OK\r\ndate: Thu, 01 Jan 1970 00:00:00 GMT\r\nContent-Length: 4\r\n\r\ngood"


@contextmanager
def limit(folder: Path, answer: bytes = GOOD) -> Iterator[int]:
    """Run the limit program on a port."""
    (folder / "answer").write_bytes(answer)
    words = [str(programs.baseline()), "0", str(folder / "answer")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert select.select([process.stdout], [], [], PATIENCE)[0], "the limit must listen"
        yield int(process.stdout.readline().rpartition(":")[2])
        process.terminate()


def plan(folder: Path, *requests: Request, order: range | None = None) -> Path:
    file = folder / "plan"
    file.write_bytes(pack(requests, order or range(len(requests))))
    return file


def play(
    port: int, file: Path, clients: int = 3, depth: int = 1, *, awake: bool = False
) -> Outcome:
    return client.generate(port, file, clients, depth, 0.1, 0, CORE, awake=awake)


def answers(port: int, *pieces: bytes) -> int:
    """Return how many answers the limit program gives to `pieces` that arrive in separate reads."""
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for piece in pieces:
            connection.sendall(piece)
        connection.shutdown(socket.SHUT_WR)
        got = b"".join(iter(lambda: connection.recv(65536), b""))
    assert got == GOOD * (len(got) // len(GOOD))
    return len(got) // len(GOOD)


def test_the_limit_answers_each_request_once(tmp_path: Path) -> None:
    long = b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n"
    with limit(tmp_path) as port:
        assert answers(port, ASKED) == 1
        assert answers(port, ASKED * 24) == 24
        assert answers(port, *(ASKED[i : i + 1] for i in range(len(ASKED)))) == 1
        assert answers(port, long, ASKED * 3_000) == 3_001
        assert answers(port, ASKED[:-1]) == 0
        assert answers(port, ASKED.replace(b"\r", b"")) == 0
        assert answers(port, b"\r\n\r\n\r\n\r\n" * 50) == 100
        for cut in range(1, len(ASKED)):
            assert answers(port, ASKED + ASKED[:cut], ASKED[cut:] + ASKED) == 3


@pytest.mark.parametrize("awake", [False, True])
@pytest.mark.parametrize("depth", [1, 24])
def test_the_generator_counts_exactly(tmp_path: Path, depth: int, awake: bool) -> None:
    file = plan(tmp_path, *[Request(ASKED, 200, b"good")] * depth)
    with limit(tmp_path) as port:
        outcome = play(port, file, depth=depth, awake=awake)
    assert outcome.answered > 0
    assert outcome.answered % depth == 0
    assert outcome.wrong == outcome.failed == 0
    assert 0 < outcome.p50 <= outcome.p90 <= outcome.p99 <= outcome.max
    assert outcome.seconds >= 0.1
    assert 0 < outcome.client_share <= 1.01
    assert (outcome.waiting_share > 0) is awake


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (GOOD + b"!", "there are more bytes than answers"),
        (GOOD.replace(b"200", b"204"), "there are more bytes than answers"),
        (b"HTTP/1.1 200 OK\r\n\r\n", "no Content-Length"),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", "no HTTP/1.1"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9999999\r\n\r\n", "larger than we expect"),
    ],
)
def test_answers_that_cannot_be_told_apart_end_the_run(
    tmp_path: Path, answer: bytes, message: str
) -> None:
    file = plan(tmp_path, Request(ASKED, 200, b"good"))
    with limit(tmp_path, answer=answer) as port, pytest.raises(ClientError, match=message):
        play(port, file)


METRICS = """# TYPE commentsvc_core_hits_total counter
commentsvc_core_hits_total 1.5e+06
commentsvc_core_misses_total 12.0
"""


def test_counters_are_read_whole() -> None:
    names = ("commentsvc_core_hits_total", "commentsvc_core_misses_total")
    assert parse_counters(METRICS, names) == dict(zip(names, (1_500_000, 12), strict=True))
    assert parse_counters(METRICS, ["hits_total"]) == {"hits_total": 1_500_000}


def test_a_counter_that_is_not_there_is_an_error() -> None:
    with pytest.raises(ServiceError, match="0 metrics named absent"):
        parse_counters(METRICS, ["absent"])
    with pytest.raises(ServiceError, match="2 metrics named total"):
        parse_counters(METRICS, ["total"])


def test_every_setting_of_the_load_tests_exists() -> None:
    """Variables of a proxy, such as COMMENTSVC_HTTP_PORT, belong to no section of our settings."""
    known = {
        f"COMMENTSVC_{section.name}_{field.name}".upper()
        for section in msgspec.structs.fields(Settings)
        if isinstance(section.default, msgspec.Struct)
        for field in msgspec.structs.fields(section.default)
    }
    sections = {name.split("_")[1] for name in known}
    text = "".join(path.read_text() for path in (ROOT / "loadtest").rglob("*.py"))
    used = set(re.findall(r"\bCOMMENTSVC_([A-Z]+)_([A-Z_]+)\b", text))
    wrong = {f"COMMENTSVC_{a}_{b}" for a, b in used if a in sections} - known
    assert used
    assert not wrong

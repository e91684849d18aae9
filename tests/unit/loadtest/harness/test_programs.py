"""loadtest/harness/programs.py, and the programs that it builds: the generator and the limit."""

import os
import select
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from loadtest.harness import client, programs
from loadtest.harness.client import ClientError, Outcome, Request, pack
from loadtest.harness.programs import ProgramError
from loadtest.harness.running import Running
from loadtest.harness.service import ServiceError

CORE = str(min(os.sched_getaffinity(0)))
PATIENCE = 30.0
ASKED = b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n"
GOOD = b"HTTP/1.1 200 OK\r\ndate: Thu, 01 Jan 1970 00:00:00 GMT\r\nContent-Length: 4\r\n\r\ngood"
VECTORS = [
    False,
    pytest.param(
        True,
        marks=pytest.mark.skipif(
            not programs.has_avx2(Path("/proc/cpuinfo").read_text()), reason="no AVX2 here"
        ),
    ),
]


@contextmanager
def limit(folder: Path, vectors: bool | None = None, answer: bytes = GOOD) -> Iterator[int]:
    """Run the limit program on a port."""
    (folder / "answer").write_bytes(answer)
    words = [str(programs.baseline(vectors=vectors)), "0", str(folder / "answer")]
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
    """How many answers the limit gives to `pieces` that come in reads of their own."""
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for piece in pieces:
            connection.sendall(piece)
        connection.shutdown(socket.SHUT_WR)
        got = b"".join(iter(lambda: connection.recv(65536), b""))
    assert got == GOOD * (len(got) // len(GOOD))
    return len(got) // len(GOOD)


@pytest.mark.parametrize("vectors", VECTORS, ids=["plain", "avx2"])
def test_the_limit_answers_each_request_once(tmp_path: Path, vectors: bool) -> None:
    long = b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n"
    with limit(tmp_path, vectors) as port:
        assert answers(port, ASKED) == 1
        assert answers(port, ASKED * 24) == 24
        assert answers(port, *(ASKED[i : i + 1] for i in range(len(ASKED)))) == 1
        assert answers(port, long, ASKED * 3_000) == 3_001
        assert answers(port, ASKED[:-1]) == 0
        assert answers(port, ASKED.replace(b"\r", b"")) == 0
        assert answers(port, b"\r\n\r\n\r\n\r\n" * 50) == 100
        for cut in range(1, len(ASKED)):
            assert answers(port, ASKED + ASKED[:cut], ASKED[cut:] + ASKED) == 3


def test_the_limit_answers_at_a_unix_socket_too(tmp_path: Path) -> None:
    answer, where = tmp_path / "answer", tmp_path / "sock"
    answer.write_bytes(GOOD)
    words = [str(programs.baseline()), f"unix:{where}", str(answer)]
    for _ in range(2):  # the first one leaves its socket behind
        with (
            Running(words, where, tmp_path / "log", [int(CORE)]),
            socket.socket(socket.AF_UNIX) as client,
        ):
            client.settimeout(PATIENCE)
            client.connect(str(where))
            client.sendall(ASKED)
            assert client.recv(65536) == GOOD
    with pytest.raises(ServiceError, match="File name too long"):
        Running([words[0], f"unix:/{'x' * 200}", str(answer)], where, tmp_path / "log", [int(CORE)])


@pytest.mark.parametrize("vectors", VECTORS, ids=["plain", "avx2"])
def test_the_limit_finds_an_end_wherever_it_stands(tmp_path: Path, vectors: bool) -> None:
    with limit(tmp_path, vectors) as port:
        for size in range(70):
            assert answers(port, b"a" * size + b"\r\n\r\n" + b"\n" * 40) == 1
            assert answers(port, b"\r\n\r\n" + b"\r\n" + b"a" * size + b"\r\n\r\n") == 2


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
    "request_", [Request(ASKED, 200, b"best"), Request(ASKED, 200, b""), Request(ASKED, 201, None)]
)
def test_an_answer_that_is_not_the_demanded_one_is_wrong(
    tmp_path: Path, request_: Request, capfd: pytest.CaptureFixture[str]
) -> None:
    file = plan(tmp_path, Request(ASKED, 200, b"good"), request_)
    with limit(tmp_path) as port:
        outcome = play(port, file, clients=2, depth=2)
    assert outcome.wrong == outcome.answered > 0
    shown = GOOD.decode().replace("\r\n", "\n")
    assert f"the first wrong answer:\n{shown}" in capfd.readouterr().err


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


@pytest.mark.parametrize(
    "content",
    [b"", b"1 1\n", b"1 1\n5 200\n", b"1 1\n3 200 0\nab", b"1 1\n1 200 0\na 1\n", b"1 0\n"],
)
def test_a_file_that_is_none_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "plan").write_bytes(content)
    with pytest.raises(ClientError, match="requests"):
        play(1, tmp_path / "plan")


def test_a_program_that_cannot_be_built_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "BUILD", tmp_path)
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(ProgramError, match="apt-get install -y gcc"):
        programs.generator()

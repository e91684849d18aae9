"""loadtest/harness: the programs that are built, installed and run."""

import os
import re
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from commentsvc.settings.schema import Settings
from loadtest.harness import client, install, process, programs
from loadtest.harness.client import ClientError, Outcome, Request, pack
from loadtest.harness.process import (
    TICK,
    Core,
    is_dead,
    is_kernel_thread,
    parse_core,
    parse_cpu,
    parse_rss,
)
from loadtest.harness.programs import ROOT, ProgramError
from loadtest.harness.running import Running
from loadtest.harness.service import START, ServiceError, parse_counters


def test_without_a_revision_the_working_tree_is_meant() -> None:
    assert install.find("") == ("working tree", install.PROGRAM)


def test_a_program_is_taken_as_it_is(tmp_path: Path) -> None:
    program = tmp_path / "commentsvc"
    program.touch()
    assert install.find(str(program)) == (str(program), program)


def test_an_unknown_revision_is_an_error() -> None:
    with pytest.raises(ProgramError, match="git rev-parse"):
        install.find("no-such-revision")


def test_a_revision_is_built_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install, "REVISIONS", tmp_path)
    ran: list[tuple[str, ...]] = []

    def run(*words: str, cwd: Path = tmp_path) -> str:
        ran.append(words)
        if words[:2] == ("git", "archive"):
            Path(words[2].removeprefix("--output=")).touch()
        return f"{'a' * 40}\n"

    monkeypatch.setattr(install, "_run", run)
    for _ in range(2):
        program = tmp_path / ("a" * 12) / ".venv" / "bin" / "commentsvc"
        assert install.find("HEAD") == ("a" * 40, program)
    assert [words[0] for words in ran] == ["git", "git", "tar", "sh", "env", "git"]


STAT = "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 1 2 3 40 50 6 7 8 0 0\ncpu10 0 0 0 0 0 0 0 0 0 0\nintr 5 0\n"
SERVER = "42 (a (strange) name) S 1 42 42 0 -1 4194560 9 0 0 0 700 35 2 1 20 0 5 0 99 1 1\n"
WORKER = "7 (kworker/0:1-events) I 2 0 0 0 -1 69238880 0 0 0 0 0 12 0 0 20 0 1 0 99 0 0\n"


def test_a_core_is_busy_with_all_but_waiting_and_what_was_stolen() -> None:
    assert parse_core(STAT, 0) == Core(busy=(1 + 2 + 3 + 6 + 7) * TICK, stolen=8 * TICK)


def test_a_core_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(ValueError, match="no core 1"):
        parse_core(STAT, 1)


def test_a_name_with_brackets_does_not_disturb_the_cpu_time() -> None:
    assert parse_cpu(SERVER) == 735 * TICK


def test_the_kernels_threads_are_told_from_processes() -> None:
    assert is_kernel_thread(WORKER)
    assert not is_kernel_thread(SERVER)


def test_a_process_that_only_waits_to_be_missed_is_dead() -> None:
    assert is_dead(SERVER.replace(") S 1", ") Z 1"))
    assert not is_dead(SERVER)


def test_resident_memory_is_read_in_mib() -> None:
    assert parse_rss("Name:\tx\nVmHWM:\t 9999 kB\nVmRSS:\t   52224 kB\n") == 51.0
    with pytest.raises(ValueError, match="VmRSS"):
        parse_rss("Name:\tx\n")


def test_a_busy_process_uses_time_and_memory() -> None:
    before, end = process.cpu(os.getpid()), time.process_time() + 0.05
    while time.process_time() < end:
        pass
    assert process.cpu(os.getpid()) - before >= 0.03 * 1e9
    assert process.rss(os.getpid()) > 5
    assert process.core(min(os.sched_getaffinity(0))).busy > 0
    assert process.kernel_cpu() >= 0


def test_work_that_is_shorter_than_a_tick_is_seen() -> None:
    """Regression: a server that worked for a moment was said to have used no CPU time."""
    for _ in range(10):
        before, end = process.cpu(os.getpid()), time.process_time_ns() + TICK // 20
        while time.process_time_ns() < end:
            pass
        assert process.cpu(os.getpid()) - before >= TICK // 20


def test_a_process_that_is_not_there_is_an_error() -> None:
    with pytest.raises(OSError, match="Invalid argument"):
        process.cpu(1 << 25)


def test_all_processes_of_a_session_count() -> None:
    """A shell that waits, and its child process that works."""
    work = f"'{sys.executable}' -c 'while True: pass' & wait"
    with subprocess.Popen(["sh", "-c", work], start_new_session=True) as shell:
        try:
            end = time.monotonic() + 30
            while process.session_cpu(shell.pid) < 0.05 * 1e9:
                assert time.monotonic() < end, "the child must be seen at work"
                time.sleep(0.01)
            assert process.cpu(shell.pid) < 0.05 * 1e9
            assert process.session_lives(shell.pid)
        finally:
            os.killpg(shell.pid, signal.SIGKILL)


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
    """Return how many answers the limit program gives to `pieces` that arrive in separate reads."""
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
    for _ in range(2):  # the first one leaves its socket file behind
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


METRICS = """# TYPE commentsvc_core_hits_total counter
commentsvc_core_hits_total 1.5e+06
commentsvc_core_misses_total 12.0
"""


def test_the_port_is_read_from_the_announcement() -> None:
    match = START.match("commentsvc listens on http://127.0.0.1:34567")
    assert match is not None
    assert match[1] == "34567"


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

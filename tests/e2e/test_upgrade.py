"""A server is replaced while comments are read and sent; no client notices.

UPGRADE_RESTARTS says how often (5). The long form is
`UPGRADE_RESTARTS=100 python -m pytest -o faulthandler_timeout=0 tests/e2e/test_upgrade.py`.
"""

import http.client
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from commentsvc.runtime import handover
from commentsvc.settings import data_dir
from tests.e2e.program import (
    PATIENCE,
    ROOT,
    Service,
    UnixConnection,
    command,
    environment,
    wait_for,
)
from tests.e2e.readers import PAUSE, Readers, reading

CORE = "the core's part is the same with PostgreSQL"
RESTARTS = int(os.environ.get("UPGRADE_RESTARTS", "5"))
CLIENTS = 16
ENVIRON = {
    "COMMENTSVC_MODERATION_POLICY": "none",
    "COMMENTSVC_SPAM_RATE_LIMIT": "off",
    "COMMENTSVC_SERVER_MISS_LIMIT": "off",  # on a slow machine the readers would reach it
}
Start = Callable[..., Service]
Dial = Callable[[], http.client.HTTPConnection]


def dialler(address: str) -> Dial:
    """Return a function that connects to "unix:PATH" or "http://HOST:PORT"."""
    if address.startswith("unix:"):
        return lambda: UnixConnection(address.removeprefix("unix:"))
    port = int(address.rpartition(":")[2])
    return lambda: http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)


def listen_address(kind: str, tmp_path: Path) -> str:
    return f"unix:{tmp_path}/http.sock" if kind == "unix" else "127.0.0.1:0"


class Writer(threading.Thread):
    """A client that sends comments, each once, and remembers which were acknowledged."""

    def __init__(self, dial: Dial) -> None:
        super().__init__()
        self.dial = dial
        self.ending = threading.Event()
        self.acknowledged = 0
        self.failures: list[str] = []

    def run(self) -> None:
        connection = self.dial()
        head = {"Content-Type": "application/json"}
        while not self.ending.is_set():
            body = f'{{"url": "/post/", "author": "Ann", "message": "{self.acknowledged}"}}'
            try:
                connection.request("POST", "/api/comments", body, head)
                response = connection.getresponse()
                response.read()
            except (OSError, http.client.HTTPException) as error:
                self.failures.append(repr(error))
                return
            if response.status != 201:
                self.failures.append(str(response.status))
            self.acknowledged += 1
            self.ending.wait(PAUSE)
        connection.close()


@contextmanager
def at_work(address: str) -> Iterator[tuple[Readers, Writer]]:
    """Run readers and a writer during the block."""
    dial = dialler(address)
    writer = Writer(dial)
    with reading(CLIENTS, dial) as readers:
        writer.start()
        try:
            yield readers, writer
        finally:
            writer.ending.set()
            writer.join(PATIENCE)


def wait_for_progress(readers: Readers, writer: Writer) -> None:
    """Wait until the clients have had more answers, some of them from the newest server."""
    read, written = readers.answered, writer.acknowledged
    wait_for(
        lambda: (
            (readers.answered > read + 200 and writer.acknowledged > written + 5)
            or bool(readers.failures or writer.failures)
        ),
        "answers",
    )


def test_a_server_that_takes_over_fails_no_request(data: Path, start: Start) -> None:
    take_over(data, start, "127.0.0.1:0", (1, 1))


@pytest.mark.sqlite_only(CORE)
@pytest.mark.parametrize(("kind", "workers"), [("unix", (1, 1)), ("tcp", (2, 3)), ("tcp", (3, 1))])
def test_neither_does_one_with_another_socket_or_number_of_workers(
    data: Path, tmp_path: Path, start: Start, kind: str, workers: tuple[int, int]
) -> None:
    take_over(data, start, listen_address(kind, tmp_path), workers)
    assert not (tmp_path / "http.sock").exists()


def take_over(data: Path, start: Start, listen: str, workers: tuple[int, int]) -> None:
    """Let servers with two numbers of workers take over from each other under load."""
    service = start(data, "--workers", workers[0], listen=listen, environ=ENVIRON)
    address = service.address
    idle = dialler(address)()
    idle.request("GET", "/api/ping")
    assert idle.getresponse().read() == b"OK"
    with closing(idle), at_work(address) as (readers, writer):
        for number in range(RESTARTS):
            wait_for_progress(readers, writer)
            options = ("--take-over", "--workers", workers[(number + 1) % 2])
            following = start(data, *options, listen=listen, environ=ENVIRON)
            assert following.address == address
            assert service.wait() == 0
            service = following
        wait_for_progress(readers, writer)
        idle.request("GET", "/api/ping")
        assert idle.getresponse().read() == b"OK"  # on the first server's connection
    assert not readers.failures
    assert not writer.failures
    assert readers.closed == 0
    assert service.count("/post/") == writer.acknowledged
    print(
        f"{RESTARTS} restarts: {readers.answered} requests answered, the slowest in "
        f"{readers.slowest * 1000:.0f} ms; {writer.acknowledged} comments acknowledged"
    )
    assert service.stop() == 0
    done = command("check", "--data", data)
    assert done.code == 0, done


@pytest.fixture
def busy_port() -> Iterator[int]:
    """Listen on a port that the server then cannot have."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        yield other.getsockname()[1]


@pytest.mark.parametrize("kind", ["tcp", "unix"])
def test_a_server_goes_on_when_the_next_one_fails(
    data: Path, tmp_path: Path, start: Start, kind: str, busy_port: int
) -> None:
    """By then it has handed everything over. The next server cannot open a port of its settings."""
    listen = listen_address(kind, tmp_path)
    service = start(data, listen=listen, environ=ENVIRON)
    redirect = f"127.0.0.1:{busy_port}"
    wrong = {
        "COMMENTSVC_SERVER_REDIRECT_LISTEN": redirect,
        "COMMENTSVC_SERVER_PUBLIC_URL": "https://h.example",
    }
    with at_work(service.address) as (readers, writer):
        wait_for_progress(readers, writer)
        failing = Service(data, "--take-over", listen=listen, environ=ENVIRON | wrong)
        assert failing.wait() == 1
        failing.close()
        assert service.read_address() == service.address
        wait_for_progress(readers, writer)
    assert not readers.failures
    assert not writer.failures
    assert service.count("/post/") == writer.acknowledged
    log = service.log.read_text()
    assert redirect in log
    assert "has failed, so we continue" in log
    following = start(data, "--take-over", listen=listen, environ=ENVIRON)
    assert service.wait() == 0
    assert following.stop() == 0


@pytest.mark.sqlite_only(CORE)
def test_a_server_goes_on_when_the_next_one_leaves_before_it_is_there(
    data: Path, start: Start
) -> None:
    service = start(data)
    inherited, talk = handover.take_over(data / data_dir.CONTROL)
    inherited.close()
    talk.close()
    assert service.read_address() == service.address
    assert service.request("GET", "/api/ping").body == b"OK"
    assert service.stop() == 0


@pytest.mark.sqlite_only(CORE)
def test_a_server_that_waits_for_the_next_one_can_be_stopped(data: Path, start: Start) -> None:
    service = start(data)
    inherited, talk = handover.take_over(data / data_dir.CONTROL)
    with closing(talk):
        assert service.stop() == -signal.SIGTERM  # at once, since it has nothing left to lose
    inherited.close()


@pytest.mark.sqlite_only(CORE)
def test_those_on_their_way_to_https_notice_nothing_either(
    data: Path, tmp_path: Path, start: Start
) -> None:
    """The listener for plain HTTP, which redirects to HTTPS, is handed over too."""
    path = tmp_path / "redirect.sock"
    environ = {
        "COMMENTSVC_SERVER_REDIRECT_LISTEN": f"unix:{path}",
        "COMMENTSVC_SERVER_PUBLIC_URL": "https://h.example",
    }
    service = start(data, environ=environ)
    with reading(CLIENTS, dialler(f"unix:{path}"), 308) as readers:
        for _ in range(2):
            before = readers.answered
            wait_for(lambda b=before: readers.answered > b + 200, "answers")  # type: ignore[misc] # mypy has no type for it
            following = start(data, "--take-over", environ=environ)
            assert service.wait() == 0
            service = following
    assert not readers.failures
    assert readers.closed == 0
    assert service.stop() == 0
    assert not path.exists()


@pytest.mark.sqlite_only(CORE)
def test_a_server_takes_over_from_nobody(data: Path, start: Start) -> None:
    service = start(data, "--take-over")
    assert service.request("GET", "/api/ping").body == b"OK"


@pytest.mark.sqlite_only(CORE)
def test_without_being_told_a_second_server_is_refused(data: Path, start: Start) -> None:
    first = start(data)
    second = Service(data)
    assert second.wait() == 1
    second.close()
    assert f"in use by another commentsvc (process {first.process.pid})" in first.log.read_text()
    assert first.request("GET", "/api/ping").body == b"OK"


PASSING = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
os.execv(sys.executable, [sys.executable, "-m", "commentsvc", "serve", *sys.argv[2:]])
"""


class Passed(Service):
    """A service that inherits a listening socket from its parent process (sd_listen_fds(3))."""

    def __init__(self, data: Path, listener: socket.socket) -> None:
        self.data = data
        data.mkdir(mode=0o700, exist_ok=True)
        self._is_new = not (data / data_dir.DATABASE).exists()
        self.log = data.with_name(data.name + ".log")
        number = str(listener.fileno())
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", PASSING, number, "--data", str(data)],
                cwd=ROOT,
                env=environment(ENVIRON),
                pass_fds=(listener.fileno(),),
                stdout=subprocess.PIPE,
                stderr=log,
                bufsize=0,
            )
        self.address = ""


def listener_of(kind: str, tmp_path: Path) -> socket.socket:
    if kind == "tcp":
        return socket.create_server(("127.0.0.1", 0), backlog=1024)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / "http.sock"))
    listener.listen(1024)
    return listener


@pytest.mark.sqlite_only(CORE)
@pytest.mark.parametrize("kind", ["tcp", "unix"])
def test_a_restart_on_an_inherited_socket_fails_no_request(
    data: Path, tmp_path: Path, kind: str
) -> None:
    with listener_of(kind, tmp_path) as listener:
        service = Passed(data, listener).wait_until_ready()
        address = service.address
        with reading(CLIENTS, dialler(address)) as readers:
            for _ in range(RESTARTS):
                before = readers.answered
                wait_for(lambda b=before: readers.answered > b + 200, "answers")  # type: ignore[misc] # mypy has no type for it
                assert service.stop(signal.SIGTERM) == 0
                service.close()
                service = Passed(data, listener).wait_until_ready()
                assert service.address == address
        assert not readers.failures
        assert readers.closed > 0  # connections end only after an answer that announces it
        assert service.stop() == 0
        service.close()
        assert (tmp_path / "http.sock").exists() == (kind == "unix")
    assert service.log.read_text() == ""


@pytest.mark.sqlite_only(CORE)
def test_a_malformed_inheritance_is_told(data: Path, tmp_path: Path) -> None:
    with (tmp_path / "file").open("w") as file:
        service = Passed(data, file)  # type: ignore[arg-type] # the wrong type is what is tested
        assert service.wait() == 1
        service.close()
    assert "Descriptor 3 of LISTEN_FDS is not a listening stream socket" in service.log.read_text()


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[socket.socket]:
    """Return a service manager's notification socket, at `notify`."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(PATIENCE)
        yield manager


@pytest.mark.sqlite_only(CORE)
def test_a_service_manager_is_told_when_it_is_ready_and_when_it_stops(
    data: Path, start: Start, manager: socket.socket
) -> None:
    service = start(data, environ={"NOTIFY_SOCKET": manager.getsockname()})
    assert manager.recv(100) == f"READY=1\nMAINPID={service.process.pid}".encode()
    assert service.stop() == 0
    assert manager.recv(100) == b"STOPPING=1"


@pytest.mark.sqlite_only(CORE)
def test_the_server_of_a_service_manager_is_left_to_it(
    data: Path, start: Start, manager: socket.socket
) -> None:
    """Otherwise the unit would become inactive as soon as its server has handed over."""
    environ = {"NOTIFY_SOCKET": manager.getsockname()}
    service = start(data, environ=environ)
    done = command("serve", "--data", data, "--take-over")
    assert done.code == 1
    assert "restart it there: systemctl restart commentsvc" in done.err
    assert service.request("GET", "/api/ping").status == 200
    start(data, "--take-over", environ=environ)
    assert service.wait() == 0


@pytest.mark.sqlite_only(CORE)
def test_a_watchdog_hears_from_the_loop_until_it_is_stuck(
    data: Path, start: Start, manager: socket.socket
) -> None:
    environ = {"NOTIFY_SOCKET": manager.getsockname(), "WATCHDOG_USEC": "200000"}
    service = start(data, environ=environ)
    heard = [manager.recv(100) for _ in range(4)]
    assert heard.count(b"WATCHDOG=1") == 3
    service.process.send_signal(signal.SIGSTOP)
    manager.settimeout(1.0)  # five times the interval; messages that were already sent still arrive
    with suppress(TimeoutError):
        for _ in range(20):
            manager.recv(100)
        pytest.fail("a process that stands still was heard")
    service.process.send_signal(signal.SIGCONT)
    manager.settimeout(PATIENCE)
    assert manager.recv(100) == b"WATCHDOG=1"

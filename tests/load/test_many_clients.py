"""Very many clients: idle ones, slow ones, and more than there are file descriptors."""

import http.client
import resource
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

import pytest

from tests.e2e.program import PATIENCE, Service, wait_for

Start = Callable[..., Service]
IDLE = 10_000
IDLE_MIB = 40  # what all idle connections may cost
SLOW, NEVER_READ = 1_500, 500
BOUND_MIB = 8  # on the memory that all slow clients together take
SLACK_MIB = 12  # MiB beyond the bound: for the connections, and for the rest of the program
REQUEST = b"GET /api/comments/count?url=/post/ HTTP/1.1\r\nHost: h\r\n\r\n"
HALF_A_HEAD = b"GET /api/comments/count?url=/post/ HTTP/1.1\r\nHo"
HALF_A_BODY = (
    b"POST /api/comments HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
    b'Content-Length: 1000\r\n\r\n{"url"'
)

SLOW_BODY = (
    b"POST /api/comments HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
    b"Content-Length: 100000\r\n\r\n" + 60_000 * b"x"
)


def memory(service: Service) -> float:
    """Return the resident memory of the server in MiB."""
    status = Path(f"/proc/{service.process.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


@contextmanager
def crowd(service: Service, count: int, said: bytes) -> Iterator[list[socket.socket]]:
    """Open so many connections, each of which has sent `said`."""
    with ExitStack() as stack:
        clients = []
        for _ in range(count):
            client = socket.create_connection(("127.0.0.1", service.port), PATIENCE)
            clients.append(stack.enter_context(client))
            client.sendall(said)
        yield clients


@pytest.fixture
def many_descriptors() -> Iterator[None]:
    """Raise the limit of open files for our end of the connections; skip if that is not allowed."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = IDLE + 500
    if limits[1] != resource.RLIM_INFINITY and limits[1] < wanted:
        pytest.skip(f"the hard limit of open files is {limits[1]}, below {wanted}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(wanted, limits[0]), limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)


@pytest.mark.usefixtures("many_descriptors")
def test_ten_thousand_idle_connections_cost_little(data: Path, start: Start) -> None:
    """The server starts with the usual soft limit of 1024 and raises it by itself."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, hard))
    service = start(data)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert service.count("/post/") == 0
    before = memory(service)
    with crowd(service, IDLE, REQUEST) as clients:
        for client in clients:
            assert client.recv(4096).startswith(b"HTTP/1.1 200 OK\r\n")
        grown = memory(service) - before
        print(f"{IDLE} idle connections cost {grown:.1f} MiB")
        assert grown < IDLE_MIB
        clients[0].sendall(REQUEST)
        assert clients[0].recv(4096).startswith(b"HTTP/1.1 200 OK\r\n")
    assert service.log.read_text() == ""


def test_without_descriptors_it_serves_who_is_there_and_says_so_once(
    data: Path, start: Start
) -> None:
    service = start(data)
    assert service.count("/post/") == 0
    with ExitStack() as stack:
        room = len(list(Path(f"/proc/{service.process.pid}/fd").iterdir())) + 20
        resource.prlimit(service.process.pid, resource.RLIMIT_NOFILE, (room, room))
        # None of them is idle, so none can be closed to make room for another.
        crowded = stack.enter_context(ExitStack())
        clients = crowded.enter_context(crowd(service, 60, HALF_A_HEAD))
        wait_for(lambda: "no file descriptor is left" in service.log.read_text(), "the line")
        clients[0].sendall(REQUEST[len(HALF_A_HEAD) :])
        assert clients[0].recv(4096).startswith(b"HTTP/1.1 200 OK\r\n")
        crowded.close()
        assert service.count("/post/") == 0
        assert service.figure("out_of_fds_total") > 1
    assert service.log.read_text().count("no file descriptor is left") == 1
    assert service.stop() == 0


def ask(reader: http.client.HTTPConnection) -> None:
    reader.request("GET", "/api/comments/count?url=/post/")
    response = reader.getresponse()
    response.read()
    assert response.status == 200


def test_slow_clients_hold_nobody_up(data: Path, start: Start) -> None:
    """Readers get answers and memory is bounded. Response times are measured, not tested."""
    service = start(data)
    assert service.count("/post/") == 0
    greedy = REQUEST * 1000
    with ExitStack() as stack:
        before = memory(service)
        stack.enter_context(crowd(service, 100, HALF_A_HEAD))
        stack.enter_context(crowd(service, 100, HALF_A_BODY))
        never_read = stack.enter_context(crowd(service, 100, b""))
        for client in never_read:
            client.setblocking(False)
            for _ in range(20):
                try:
                    client.send(greedy)
                except BlockingIOError:
                    break
        with closing(service.connection()) as reader:
            begin = time.monotonic()
            for _ in range(500):
                ask(reader)
            assert time.monotonic() - begin < PATIENCE
        assert memory(service) - before < 100 * 0.5  # LIMIT_UNSENT, one read and one head for each
    assert service.stop() == 0


def send_all_that_it_takes(clients: list[socket.socket], data: bytes) -> None:
    for client in clients:
        client.setblocking(False)
        with suppress(OSError):  # it accepts no more, or was closed to make room
            while client.send(data):
                pass


@pytest.mark.usefixtures("many_descriptors")
def test_all_clients_together_hold_no_more_than_their_bound(data: Path, start: Start) -> None:
    """Slow bodies of 90 MiB and answers that nobody reads; then all clients leave."""
    service = start(data, environ={"COMMENTSVC_SERVER_MAX_CLIENT_MIB": str(BOUND_MIB)})
    assert service.count("/post/") == 0
    before = memory(service)
    with ExitStack() as stack:
        slow = stack.enter_context(crowd(service, SLOW, SLOW_BODY))
        never_read = stack.enter_context(crowd(service, NEVER_READ, b""))
        send_all_that_it_takes(never_read, REQUEST * 1000)
        with closing(service.connection()) as reader:
            for _ in range(100):
                ask(reader)
        assert service.submit("/post/", "Hello").status == 202
        grown = memory(service) - before
        print(f"{SLOW + NEVER_READ} clients cost {grown:.1f} MiB")
        assert grown < BOUND_MIB + SLACK_MIB
        assert service.figure("client_bytes") <= BOUND_MIB << 20
        assert service.figure('closed_total{reason="memory"}') > 0
        refusal = slow[0].recv(4096)
        assert refusal.startswith(b"HTTP/1.1 503 ")
        assert b"Retry-After" in refusal
    wait_for(lambda: service.figure("connections") < 5, "the clients to be gone")
    wait_for(lambda: memory(service) - before < SLACK_MIB, "their memory to be given back")
    assert service.stop() == 0

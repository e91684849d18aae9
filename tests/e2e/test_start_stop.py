"""How the server starts, stops, and starts again on the same data."""

import http.client
import json
import os
import re
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from tests.e2e.program import Service, locked, wait_for

Start = Callable[..., Service]
CORE = "it is about the core"
SHOW_AT_ONCE = {"COMMENTSVC_MODERATION_POLICY": "none"}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_start_says_what_is_where_and_a_signal_ends_it_well(
    data: Path, start: Start, number: signal.Signals
) -> None:
    service = start(data)
    assert service.address.startswith("http://127.0.0.1:")
    assert service.request("GET", "/api/ping").body == b"OK"
    assert service.stop(number) == 0
    moderation, owner, *_ = iter(service.read_line, "")
    assert (
        moderation
        == f"Moderation: {service.address.replace('127.0.0.1', 'localhost')}/moderation\n"
    )
    assert owner.startswith("There is no account yet.")
    lines = service.log.read_text().splitlines()
    usual = ("this instance leads", "other users may connect")  # roles of other tests
    assert [line for line in lines if not any(text in line for text in usual)] == []


@pytest.mark.sqlite_only(CORE)
def test_sigusr1_tells_the_statistics_and_the_server_goes_on(data: Path, start: Start) -> None:
    service = start(data)
    for _ in range(2):
        service.request("GET", "/static/count.js")
    service.process.send_signal(signal.SIGUSR1)
    wait_for(lambda: " memory: " in service.log.read_text(), "the statistics")
    lines = service.log.read_text().splitlines()
    assert [line.split(": ")[1] for line in lines] == [
        *("requests", "misses", "connections", "clients"),
        *("cache", "streams", "mailboxes", "memory"),
    ]
    assert "requests: 2, of them 1 hits (0 with 304) and 1 misses; 0 refused (none)" in lines[0]
    assert service.request("GET", "/api/ping").body == b"OK"
    assert service.stop() == 0


@pytest.mark.sqlite_only(CORE)
def test_a_trace_tells_of_each_request(data: Path, start: Start) -> None:
    service = start(data, "--trace", environ=SHOW_AT_ONCE)
    for _ in range(2):
        service.request("GET", "/api/comments/count?url=/post/")
    service.submit("/post/", "Hello")
    with service.connected() as client:
        client.sendall(b"GET /\x1b[2J HTTP/1.1\r\nHost: h\r\n\r\n")
        assert client.recv(100).startswith(b"HTTP/1.1 400 ")
    assert service.stop() == 0
    lines = [line.split(" ") for line in service.log.read_text().splitlines()]
    assert [(kind, method, status, target) for _, _, kind, method, status, *_, target in lines] == [
        ("miss", "GET", "200", "/api/comments/count?url=/post/"),
        ("hit", "GET", "200", "/api/comments/count?url=/post/"),
        ("miss", "POST", "201", "/api/comments"),
        ("refused", "GET", "400", r"/\x1b[2J"),
    ]
    for _, _, kind, *_, total, python, _ in lines:
        assert python == "-" if kind != "miss" else 0 < float(python) < float(total)


@pytest.mark.sqlite_only(CORE)
def test_a_trace_that_nobody_reads_stops_no_request_and_tells_what_was_lost(
    data: Path, start: Start
) -> None:
    log = data.with_name("data.log")
    os.mkfifo(log)
    with os.fdopen(os.open(log, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0) as reader:
        service = start(data, "--trace")
        service.request("GET", "/static/count.js")
        with service.connected() as client, client.makefile("rb") as answers:
            for _ in range(200):
                client.sendall(b"HEAD /static/count.js HTTP/1.1\r\nHost: h\r\n\r\n" * 50)
                heads = 0
                while heads < 50:
                    heads += answers.readline() == b"\r\n"
        trace = bytearray()

        def all_logged() -> bool:
            trace.extend(reader.read(65_536) or b"")
            lines = re.findall(rb"^trace 2.* (?:miss|hit) (?:GET|HEAD) 200 .*\.js$", trace, re.M)
            lost = re.findall(rb"^trace (\d+) lines lost$", trace, re.M)
            return bool(lost) and len(lines) + sum(map(int, lost)) == 10_001

        wait_for(all_logged, "each request's line, or its loss")


@pytest.mark.sqlite_only(CORE)
def test_a_server_listens_on_a_unix_socket(data: Path, tmp_path: Path, start: Start) -> None:
    path = tmp_path / "http.sock"
    service = start(data, listen=f"unix:{path}")
    assert service.address == f"unix:{path}"
    assert service.request("GET", "/api/ping").body == b"OK"
    assert service.stop() == 0


def test_the_data_folder_is_for_its_owner_alone(engine: str, data: Path, start: Start) -> None:
    start(data)
    assert data.stat().st_mode & 0o777 == 0o700
    modes = {path.name: path.stat().st_mode & 0o777 for path in data.iterdir()}
    assert {"secret.key", "control.sock", "lock"} <= modes.keys()
    assert ("comments.sqlite3" in modes) == (engine == "sqlite")
    assert set(modes.values()) == {0o600}


def test_data_survive_a_restart(data: Path, start: Start) -> None:
    environ = SHOW_AT_ONCE | {"COMMENTSVC_SITE_VIEWS": "true"}
    first = start(data, environ=environ)
    assert first.submit("/post/", "Hello").status == 201
    assert first.request("POST", "/api/views?url=/post/").status == 204
    key = (data / "secret.key").read_bytes()
    assert first.stop() == 0
    assert not (data / "control.sock").exists()
    second = start(data, environ=environ)
    counts = second.request("GET", "/api/comments/counts?url=/post/&views=yes").json()
    assert counts == {"counts": {"/post/": 1}, "views": {"/post/": 1}}
    assert (data / "secret.key").read_bytes() == key


def test_a_lost_secret_key_is_told_where_there_are_comments(data: Path, start: Start) -> None:
    first = start(data, environ=SHOW_AT_ONCE)
    assert first.submit("/post/", "Hello").status == 201
    assert first.stop() == 0
    assert "secret.key" not in first.log.read_text()
    key = data / "secret.key"
    key.unlink()
    second = start(data)
    assert f"{key} was missing and is a new key now" in second.log.read_text()


@pytest.mark.sqlite_only("it looks for the driver")
def test_a_service_on_sqlite_does_not_load_the_driver_of_postgresql(
    data: Path, start: Start
) -> None:
    start(data).stop()
    service = start(data)
    loaded = Path(f"/proc/{service.process.pid}/maps").read_text()
    assert "_sqlite3" in loaded
    assert "psycopg" not in loaded


def test_a_build_is_requested_after_a_start_and_put_off_by_a_change(
    data: Path, start: Start
) -> None:
    hook = {"COMMENTSVC_SITE_BUILD_HOOKS": "https://builder.example/blog"}
    service = start(data, environ=SHOW_AT_ONCE | hook)

    with closing(service.rows()) as rows:

        def due_at() -> int:
            row = rows.execute("SELECT due_at FROM outbox WHERE kind = 'build'").fetchone()
            return row[0] if row else 0

        wait_for(lambda: due_at() > 0, "a request for a build")
        first = due_at()
        assert service.submit("/post/", "Hello").status == 201
        wait_for(lambda: due_at() > first, "the build is put off")


def test_a_server_starts_after_one_was_killed(data: Path, start: Start) -> None:
    first = start(data, environ=SHOW_AT_ONCE)
    assert first.submit("/post/", "Hello").status == 201
    first.stop(signal.SIGKILL)
    assert (data / "control.sock").exists()
    assert start(data).count("/post/") == 1


def has_read_everything(service: Service) -> bool:
    """Return whether both ends of a connection exist and no bytes are in transit or unread."""
    queues = []
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        _, local, remote, state, sizes, *_ = line.split()
        ports = {int(end.split(":")[1], 16) for end in (local, remote)}
        if service.port in ports and state == "01":
            queues.append(sizes)
    return len(queues) > 1 and set(queues) == {"00000000:00000000"}


@contextmanager
def submission_in_flight(service: Service) -> Iterator[http.client.HTTPConnection]:
    """Open a connection on which the server has read a submission and not answered it yet."""
    body = json.dumps({"url": "/post/", "author": "Ann", "message": "In flight"})
    with closing(service.connection()) as connection:
        connection.request("POST", "/api/comments", body, {"Content-Type": "application/json"})
        wait_for(lambda: has_read_everything(service), "the server to read the submission")
        yield connection


def refuses(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) != 0


def test_a_stop_answers_what_is_in_flight(data: Path, start: Start) -> None:
    service = start(data, environ=SHOW_AT_ONCE)
    with ExitStack() as stack:
        lock = stack.enter_context(ExitStack())
        lock.enter_context(locked(data))
        connection = stack.enter_context(submission_in_flight(service))
        service.process.terminate()
        wait_for(lambda: refuses(service.port), "the listener to close")
        lock.close()
        assert connection.getresponse().status == 201
    assert service.wait() == 0
    assert start(data).count("/post/") == 1


def test_a_second_signal_ends_it_at_once(data: Path, start: Start) -> None:
    service = start(data)
    with locked(data), submission_in_flight(service):
        service.process.terminate()
        wait_for(lambda: refuses(service.port), "the listener to close")
        assert service.stop(signal.SIGTERM) == -signal.SIGTERM


def test_starting_and_stopping_leaves_no_process_behind(data: Path, start: Start) -> None:
    service = start(data, "--workers", "3")
    group = os.getpgid(service.process.pid)
    assert group == os.getpgid(0)
    assert service.stop() == 0
    assert not Path(f"/proc/{service.process.pid}").exists()


@pytest.mark.sqlite_only(CORE)
def test_a_blog_is_served_below_the_interface(data: Path, tmp_path: Path, start: Start) -> None:
    blog = tmp_path / "blog"
    (blog / "api" / "ping").mkdir(parents=True)
    (blog / "index.html").write_text("<h1>Blog</h1>")
    (blog / "api" / "ping" / "index.html").write_text("hidden")
    service = start(data, "--blog", blog)
    assert service.request("GET", "/").body == b"<h1>Blog</h1>"
    assert service.request("GET", "/api/ping").body == b"OK"
    assert service.request("GET", "/../data/secret.key").status in (400, 404)

"""The server as a whole: stopping, workers, addresses, and responses Python must not send."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from commentsvc import _core
from tests.bridge.application import (
    PATIENCE,
    TEXT,
    Application,
    Held,
    echo,
    request,
    running,
)
from tests.core_server import core_server


@contextmanager
def closing_descriptor(descriptor: int) -> Iterator[int]:
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def test_a_stop_answers_what_is_in_flight_and_ends_idle_connections() -> None:
    held = Held()
    app = Application(held)
    app.start()
    with app.dial() as busy, app.dial() as idle:
        busy.send(request("/slow"))
        call = held.take()
        app.server.stop(PATIENCE)
        assert idle.is_ended()
        call.respond(200, TEXT, b"done")
        answer = busy.answer()
        assert (answer.body, answer.fields["connection"]) == (b"done", "close")
        busy.socket.close()
    app.stop()


@pytest.mark.parametrize("kind", ["tcp", "unix"])
def test_two_workers_share_one_address(kind: str, tmp_path: Path) -> None:
    listen = "127.0.0.1:0" if kind == "tcp" else f"unix:{tmp_path / 'socket'}"
    with running(echo, listen=listen, workers=2) as app:
        clients = [app.dial() for _ in range(40)]
        for client in clients:
            client.send(request("/stored/a"))
        assert {client.answer().body for client in clients} == {b"/stored/a?"}
        for client in clients:
            client.socket.close()


def test_a_taken_port_is_an_error_that_names_the_address() -> None:
    with running(echo, workers=2) as app:
        second = core_server(app.server.address, workers=2)
        with pytest.raises(OSError, match="in use") as caught:
            second.start()
        assert caught.value.filename == app.server.address


@pytest.mark.parametrize("listen", ["", "80", "host", "1.2.3.4:99999", "unix:", "::1:80", "a:b"])
def test_a_malformed_address_is_refused(listen: str) -> None:
    with pytest.raises(ValueError, match="HOST:PORT"):
        core_server(listen)


@pytest.mark.parametrize(
    "headers",
    [[("A", "b\r\nC: d")], [("A b", "c")], [("", "c")], [("Content-Length", "1")], [("Date", "x")]],
)
def test_a_field_that_cannot_be_sent_is_refused_and_the_request_can_still_be_answered(
    headers: list[tuple[str, str]],
) -> None:
    def answer(call: _core.Request) -> None:
        with pytest.raises(ValueError, match="cannot be sent"):
            call.respond(200, headers, b"")
        call.respond(200, TEXT, b"fine")
        with pytest.raises(RuntimeError, match="already answered"):
            call.respond(200, TEXT, b"twice")

    with running(answer) as app:
        assert app.get("/").body == b"fine"


@pytest.mark.parametrize(
    ("processes", "error"),
    [((0, 3), OSError), ((2, 2), OSError), ((0, 0), OSError), ((-1, 2), ValueError)],
)
def test_memory_without_a_slot_for_each_process_is_refused(
    processes: tuple[int, int], error: type[Exception]
) -> None:
    with closing_descriptor(os.memfd_create("counts")) as counts:
        os.ftruncate(counts, 8)
        server = core_server()
        with pytest.raises(error):
            server.balance(counts, *processes)
        server.balance(counts, 1, 2)
        server.balance(counts, 0, 2)  # it may be told again before it starts


def test_the_balance_is_known_before_the_start() -> None:
    with running(echo) as app, closing_descriptor(os.memfd_create("counts")) as counts:
        os.ftruncate(counts, 4)
        with pytest.raises(RuntimeError, match="has started"):
            app.server.balance(counts, 0, 1)

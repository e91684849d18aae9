"""Rules 8 to 10 of the bridge (core/DESIGN.md): clients cannot make it grow, wait or guess."""

import contextlib
import json
import socket

import pytest

from commentsvc.http import refusals
from tests.bridge.application import (
    TEXT,
    Held,
    await_that,
    echo,
    memory,
    request,
    running,
)

# Rule 8: a client that does not read cannot make the server grow.


def test_clients_that_never_read_do_not_make_the_server_grow() -> None:
    body = b"x" * 20_000
    with running(lambda call: call.respond(200, TEXT, body, ["a"])) as app:
        app.get("/stored/a")
        before = memory()
        clients = [app.dial() for _ in range(50)]
        pipeline = request("/stored/a") * 20_000
        for client in clients:
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.socket.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                client.socket.send(pipeline)
        await_that(lambda: app.server.stats()["hits"] >= 50, "the pipelines to be served")
        served = 2
        while served > 1:  # until the only request served is our own
            hits = app.server.stats()["hits"]
            assert app.get("/stored/a").body == body, "others are served meanwhile"
            served = app.server.stats()["hits"] - hits
        assert memory() - before < 16 * 1024, "KiB more for 50 clients"
        for client in clients:
            client.socket.close()


# Rule 9: no request waits for ever, and cached answers are served without Python.


def test_a_request_that_dies_unanswered_is_500() -> None:
    with running(lambda _: None) as app, app.dial() as client:
        client.send(request("/a") + request("/b"))
        assert [client.answer().status, client.answer().status] == [500, 500]


def test_a_handler_that_hangs_is_504_at_its_deadline_and_its_late_reply_is_dropped() -> None:
    held = Held()
    with running(held, handler_deadline=0.1) as app, app.dial() as client:
        client.send(request("/a"))
        assert client.answer().status == 504
        held.take().respond(200, TEXT, b"late")
        assert client.is_ended()


def test_a_full_mailbox_is_503_and_stored_answers_go_on_while_python_is_stuck() -> None:
    with running(echo, waiting=2) as app:
        app.get("/stored/a")
        waiting = [app.dial() for _ in range(2)]
        with app.stuck():
            for client in waiting:
                client.send(request("/miss"))
            await_that(lambda: app.server.stats()["requests_waiting"] == 2, "a full mailbox")
            refused = app.get("/miss")
            assert (refused.status, refused.fields["retry-after"]) == (503, "1")
            assert app.get("/stored/a").body == b"/stored/a?"
        assert [client.answer().status for client in waiting] == [200, 200]
        for client in waiting:
            client.socket.close()


# Rule 10: the core refuses invalid requests by itself.


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\nHost: h\r\n\r\n", 414),
        (request("/", *["A: " + "b" * 1000] * 20), 431),
        (request("/", "Content-Length: 999999", method="POST"), 413),
        (request("/", "Expect: more"), 417),
        (request("/", method="BREW"), 501),
        (b"GET / HTTP/2.0\r\nHost: h\r\n\r\n", 505),
    ],
)
def test_the_core_refuses_by_itself_and_closes(sent: bytes, status: int) -> None:
    with running(echo) as app, app.dial() as client:
        client.send(sent)
        answer = client.answer()
        assert answer.status == status
        assert answer.fields["connection"] == "close"
        assert answer.fields["content-type"] == "application/json"
        error = json.loads(answer.body)["error"]
        assert error["code"]
        assert error["message"].endswith("."), "it says what to do"
        assert client.is_ended()
        assert app.drained == 0
        assert app.server.stats()["refusals"] == 1


def test_a_head_that_does_not_end_is_408() -> None:
    with running(echo, head_deadline=0.1) as app, app.dial() as client:
        client.send(b"GET / HTTP/1.1\r\n")
        assert client.answer().status == 408


def test_the_core_holds_the_bodies_of_its_refusals() -> None:
    bodies = {status: b"refused %d" % status for status in refusals.bodies()}
    with running(lambda _: None, refusals=bodies, refusal_type="text/x-refusal") as app:
        bodies.clear()
        with app.dial() as client:
            client.send(request("/", method="BREW"))
            assert client.answer().body == b"refused 501"
        unanswered = app.get("/")
        assert (unanswered.status, unanswered.body) == (500, b"refused 500")
        assert unanswered.fields["content-type"] == "text/x-refusal"

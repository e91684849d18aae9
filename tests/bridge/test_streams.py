"""Rule 11 of the bridge (core/DESIGN.md): streams that stay open, and events published to them."""

import socket
from typing import Any

import pytest

from commentsvc import _core
from tests.bridge.application import (
    PATIENCE,
    TEXT,
    Application,
    Client,
    Held,
    await_that,
    memory,
    request,
    running,
)

EVENTS = [("Content-Type", "text/event-stream")]


def stream(call: _core.Request) -> None:
    """Begin a stream tagged with the path, or answer 503 if no more streams are allowed."""
    if not call.stream(EVENTS, b"retry: 1\n\n", call.path):
        call.respond(503, TEXT, b"full")


def begun(client: Client) -> Client:
    """Read the beginning of the stream that was requested."""
    answer = client.answer()
    assert (answer.status, answer.fields["transfer-encoding"]) == (200, "chunked")
    assert client.piece() == b"retry: 1\n\n"
    return client


def begin(app: Application, target: str) -> Client:
    client = app.dial()
    client.send(request(target))
    return begun(client)


def test_an_event_goes_to_every_stream_of_its_tag_and_to_no_other() -> None:
    with running(stream, workers=2) as app:
        clients = [begin(app, "/a" if number % 3 else "/b") for number in range(30)]
        assert app.server.is_followed("/a")
        assert app.server.publish("/a", b"data: 1\n\n")
        assert app.server.publish("/b", b"data: 2\n\n")
        for number, client in enumerate(clients):
            assert client.piece() == (b"data: 1\n\n" if number % 3 else b"data: 2\n\n")
            client.socket.close()
        await_that(lambda: app.server.stats()["streams"] == 0, "the streams to end")
        assert not app.server.is_followed("/a")
        assert app.server.stats()["events_sent"] == 30


def test_one_group_of_clients_takes_no_more_than_its_streams() -> None:
    def answer(call: _core.Request) -> None:
        if not call.stream(EVENTS, b"retry: 1\n\n", "/", int(call.path[1:]), 2):
            call.respond(503, TEXT, b"full")

    with running(answer, workers=2) as app:
        clients = [begin(app, "/1"), begin(app, "/1")]
        refused = app.dial()
        refused.send(request("/1"))
        assert refused.answer().status == 503
        refused.socket.close()
        clients.append(begin(app, "/2"))
        clients[0].socket.close()
        await_that(lambda: app.server.stats()["streams"] == 2, "the stream to end")
        clients.append(begin(app, "/1"))
        for client in clients[1:]:
            client.socket.close()


def test_events_keep_their_order_and_none_is_lost_behind_the_beginning() -> None:
    def answer(call: _core.Request) -> None:
        stream(call)
        for number in range(100):
            assert call_server().publish("/a", b"data: %d\n\n" % number)

    with running(answer) as app:

        def call_server() -> _core.Server:
            return app.server

        with begin(app, "/a") as client:
            assert [client.piece() for _ in range(100)] == [b"data: %d\n\n" % n for n in range(100)]


def test_head_takes_no_slot_and_the_connection_goes_on() -> None:
    with running(stream, streams=0) as app, app.dial() as client:
        client.send(request("/a", method="HEAD"))
        head = client.answer("HEAD")
        assert (head.status, head.fields["content-type"]) == (200, "text/event-stream")
        client.send(request("/a"))
        answer = client.answer()
        assert (answer.status, answer.body) == (503, b"full")
        assert app.server.stats()["streams_refused"] == 1


def test_a_silent_stream_is_kept_alive_by_comments() -> None:
    """The request waits in the listener's queue until the server has started."""
    listener = socket.create_server(("127.0.0.1", 0))
    with Client(socket.create_connection(listener.getsockname())) as client:
        client.send(request("/a"))
        sockets = ([listener.detach()],)
        with running(stream, heartbeat=0.02, keep_alive=0.05, sockets=sockets):
            begun(client)
            assert [client.piece() for _ in range(5)] == [b":\n\n"] * 5


def test_a_reader_that_takes_nothing_is_let_go_and_the_others_are_told() -> None:
    with running(stream, heartbeat=0.05) as app, begin(app, "/a") as good:
        bad = begin(app, "/a")
        before = memory()
        event = b"data: " + b"x" * 16_000 + b"\n\n"
        while not app.server.stats()["closed_slow"]:
            assert app.server.publish("/a", event)
            while (piece := good.piece()) == b":\n\n":
                pass
            assert piece == event
        assert memory() - before < 4096
        bad.socket.close()


def test_a_stop_ends_streams_in_good_order() -> None:
    app = Application(stream)
    app.start()
    client = begin(app, "/a")
    app.server.stop(PATIENCE)
    assert client.piece() == b""
    assert client.is_ended()
    client.socket.close()
    app.stop()


def test_whoever_was_followed_is_asked_before_a_change_is_told() -> None:
    """Streams are counted when Python begins one, not when a worker has taken it over."""
    held = Held()
    with running(held) as app, app.dial() as client:
        client.send(request("/a"))
        call = held.take()
        assert not app.server.is_followed("/a")
        stream(call)
        assert app.server.is_followed("/a")
        client.answer()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (([("Transfer-Encoding", "gzip")], b"", "a"), ValueError),
        ((EVENTS, b"", ""), ValueError),
        ((EVENTS, "text", "a"), TypeError),
    ],
)
def test_a_stream_that_cannot_begin_leaves_the_request_to_be_answered(
    arguments: Any,  # Any: what a faulty caller may pass
    error: type[Exception],
) -> None:
    def answer(call: _core.Request) -> None:
        with pytest.raises(error):
            call.stream(*arguments)
        call.respond(200, TEXT, b"plain")

    with running(answer) as app:
        assert app.get("/a").body == b"plain"
        assert app.server.stats()["streams"] == 0


def test_an_event_has_a_byte_and_an_end() -> None:
    with running(stream) as app:
        for data in (b"", b"x" * 16_385):
            with pytest.raises(ValueError, match="1 to 16384 bytes"):
                app.server.publish("a", data)

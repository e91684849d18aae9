"""Rule 13 of the bridge (core/DESIGN.md): answers in pieces, which are sent as they are taken."""

import socket
from collections.abc import Callable

import pytest

from commentsvc import _core
from tests.bridge.application import (
    TEXT,
    Application,
    Client,
    Held,
    await_that,
    memory,
    request,
    running,
)

LARGEST = 128 * 1024


class Pieces:
    """A handler whose answers have a number of pieces, /NUMBER, each of `size` bytes."""

    def __init__(self, size: int = 10) -> None:
        self.size = size
        self.sent: dict[int, int] = {}
        self.left: list[int] = []

    def __call__(self, call: _core.Request) -> None:
        if not call.number:
            number = len(self.sent) + 1
            if call.begin(200, TEXT, b"", number):
                self.sent[number] = 0
        elif call.left:
            self.left.append(call.number)
        elif self.sent[call.number] == int(call.path[1:]):
            call.end(b"end")
        else:
            self.sent[call.number] += 1
            call.send(str(self.sent[call.number]).encode().rjust(self.size))


def body(client: Client) -> bytes:
    """Read all chunks of an answer."""
    answer = client.answer()
    assert (answer.status, answer.fields["transfer-encoding"]) == (200, "chunked")
    assert "content-length" not in answer.fields
    found = b""
    while piece := client.piece():
        found += piece
    return found


def taken(client: Client) -> int:
    """Return the number of bytes up to the last chunk."""
    size, last = 0, b""
    while not last.endswith(b"\r\n3\r\nend\r\n0\r\n\r\n"):
        data = client.socket.recv(65_536)
        assert data
        size += len(data)
        last = (last + data)[-20:]
    return size


def test_a_body_of_unknown_length_comes_in_order_and_the_connection_goes_on() -> None:
    with running(Pieces(1), workers=2) as app, app.dial() as client:
        for wanted in (3, 0, 9):
            client.send(request(f"/{wanted}"))
            assert body(client) == b"".join(b"%d" % n for n in range(1, wanted + 1)) + b"end"


def test_pipelined_neighbours_keep_their_order() -> None:
    pieces = Pieces(1)

    def answer(call: _core.Request) -> None:
        if call.path == "/stored":
            call.respond(200, TEXT, b"stored", ["stored"])
        else:
            pieces(call)

    with running(answer) as app, app.dial() as client:
        assert app.get("/stored").body == b"stored"
        client.send(b"".join(map(request, ("/stored", "/2", "/stored", "/1", "/stored"))))
        assert client.answer().body == b"stored"
        assert body(client) == b"12end"
        assert client.answer().body == b"stored"
        assert body(client) == b"1end"
        assert client.answer().body == b"stored"
        assert client.is_silent(0.05)


def test_a_client_of_http_1_0_gets_the_bytes_until_the_connection_ends() -> None:
    with running(Pieces(1)) as app, app.dial() as client:
        client.send(b"GET /3 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        answer = client.answer()
        assert "transfer-encoding" not in answer.fields
        assert answer.fields["connection"] == "close"
        rest = client._read
        while data := client.socket.recv(100):
            rest += data
        assert rest == b"123end"


def test_head_gets_the_head_alone_and_the_connection_goes_on() -> None:
    with running(Pieces(1)) as app, app.dial() as client:
        client.send(request("/3", method="HEAD") + request("/1"))
        head = client.answer("HEAD")
        assert (head.status, head.fields["content-type"]) == (200, "text/plain")
        assert body(client) == b"1end"


def test_a_piece_is_asked_for_when_the_client_has_taken_those_before() -> None:
    """A slow client makes Python wait, and neither the memory grow nor other clients wait."""
    pieces = Pieces(LARGEST)
    with running(pieces) as app, app.dial() as slow:
        slow.send(request("/300"))
        await_that(lambda: pieces.sent and app.server.stats()["client_bytes"], "a full socket")
        assert app.get("/2").status == 200
        before, asked = memory(), pieces.sent[1]
        assert not slow.is_silent(0)
        assert pieces.sent[1] == asked < 100  # what fits into the buffers of two sockets
        assert app.server.stats()["client_bytes"] < 2 * LARGEST + 10_000
        assert taken(slow) >= 300 * LARGEST
        assert memory() - before < 10_000
        assert app.server.stats()["client_bytes"] == 0


def test_whoever_leaves_is_told_to_python_once() -> None:
    pieces = Pieces(LARGEST)
    with running(pieces) as app:
        with app.dial() as client:
            client.send(request("/1000"))
            client.answer()
            await_that(lambda: app.server.stats()["client_bytes"], "a full socket")
        await_that(lambda: pieces.left == [1], "the end")
        assert app.server.stats()["connections"] == 0


def test_a_client_that_leaves_while_python_makes_a_piece_is_told_with_a_later_one() -> None:
    """It may have closed its side alone: the kernel says so when it is sent something."""
    held = Held()
    with running(held) as app:
        with app.dial() as client:
            client.send(request("/a"))
            held.take().begin(200, TEXT, b"first", 7)
            assert client.answer().status == 200
            call = held.take()
            assert (call.number, call.left, call.path) == (7, False, "/a")
        while not call.left:
            call.send(b"more")
            call = held.take()
        assert call.number == 7
        assert app.server.stats()["connections"] == 0
        call.end()
        assert held.requests == []


def closed_within(app: Application, client: Client, reason: str) -> None:
    """Check that the connection ends without the last chunk, and why."""
    assert client.answer().status == 200
    assert client.piece() == b"first"
    assert client.is_ended()
    await_that(lambda: app.server.stats()[f"closed_{reason}"] == 1, reason)


def test_an_answer_that_is_dropped_ends_without_its_last_chunk() -> None:
    def answer(call: _core.Request) -> None:
        if not call.number:
            call.begin(200, TEXT, b"first", 1)

    with running(answer) as app, app.dial() as client:
        client.send(request("/a") + request("/b"))
        closed_within(app, client, "aborted")


def test_a_piece_that_does_not_come_in_time_ends_the_connection() -> None:
    held = Held()
    with running(held, handler_deadline=2.0) as app, app.dial() as client:
        client.send(request("/a"))
        held.take().begin(200, TEXT, b"first", 1)
        call = held.take()
        closed_within(app, client, "aborted")
        call.send(b"late")
        assert held.take().left


def test_a_stop_waits_for_pieces_until_its_time_is_over() -> None:
    returned = Held()

    def answer(call: _core.Request) -> None:
        if call.number:
            returned(call)
        else:
            call.begin(200, TEXT, b"first", int(call.path[1:]))

    app = Application(answer)
    app.start()
    with app.dial() as client, app.dial() as late:
        calls = {}
        for path, each in (("/1", client), ("/2", late)):
            each.send(request(path))
            assert each.answer().status == 200
            assert each.piece() == b"first"
            calls[path] = returned.take()
        app.grace = 2.0
        app.server.stop(app.grace)
        calls["/1"].end(b"last")
        app.stop()
        assert [client.piece() for _ in range(2)] == [b"last", b""]
        assert late.is_ended()
        calls["/2"].end()  # nobody is there any more


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (lambda call: call.begin(204, TEXT, b"", 1), ValueError),
        (lambda call: call.begin(200, TEXT, bytes(LARGEST + 1), 1), ValueError),
        (lambda call: call.begin(200, [("A", "\n")], b"", 1), ValueError),
        (lambda call: call.send(b"a"), RuntimeError),
        (lambda call: call.end(), RuntimeError),
    ],
)
def test_what_cannot_begin_is_refused_and_can_still_be_answered(
    wrong: Callable[[_core.Request], object], error: type[Exception]
) -> None:
    def answer(call: _core.Request) -> None:
        with pytest.raises(error):
            wrong(call)
        call.respond(200, TEXT, b"answered")

    with running(answer) as app:
        assert app.get("/a").body == b"answered"


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (lambda call: call.send(b""), ValueError),
        (lambda call: call.send(bytes(LARGEST + 1)), ValueError),
        (lambda call: call.end(bytes(LARGEST + 1)), ValueError),
        (lambda call: call.begin(200, TEXT, b"", 1), RuntimeError),
        (lambda call: call.respond(200, TEXT, b""), RuntimeError),
        (lambda call: call.stream(TEXT, b"", "a"), RuntimeError),
    ],
)
def test_what_is_no_piece_is_refused_and_the_answer_goes_on(
    wrong: Callable[[_core.Request], object], error: type[Exception]
) -> None:
    def answer(call: _core.Request) -> None:
        if not call.number:
            call.begin(200, TEXT, b"first", 1)
            with pytest.raises(RuntimeError, match="already answered"):
                call.send(b"too early")
            return
        with pytest.raises(error):
            wrong(call)
        call.end(b"last")

    with running(answer) as app, app.dial() as client:
        client.send(request("/a"))
        assert body(client) == b"firstlast"


def test_a_client_that_takes_nothing_and_closes_its_side_loses_nothing() -> None:
    with running(Pieces(LARGEST)) as app, app.dial() as client:
        client.send(request("/100"))
        client.socket.shutdown(socket.SHUT_WR)
        assert taken(client) >= 100 * LARGEST
        assert client.socket.recv(1) == b""

"""Answers in pieces, by a Bridge with a real core."""

import asyncio
import http.client
import logging
import os
import socket
import zipfile
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

import pytest

from commentsvc.http import pieces as pieces_module
from commentsvc.http.bridge import Bridge
from commentsvc.http.messages import Request, Response
from commentsvc.http.pieces import LARGEST, PieceFile, written
from commentsvc.util.threads import DOWNLOADS, run_in
from tests.e2e.program import wait_for
from tests.unit.http.test_bridge import PATIENCE, ask, serve

TEXT = (("Content-Type", "text/plain"),)


def answering(
    pieces: Callable[[], AsyncGenerator[bytes]], headers: tuple[tuple[str, str], ...] = TEXT
) -> Callable[[Request], Response]:
    return lambda _request: Response(200, headers, b"first ", pieces=pieces())


def test_what_a_generator_yields_is_the_body() -> None:
    async def pieces() -> AsyncGenerator[bytes]:
        for number in range(3):
            await asyncio.sleep(0)
            yield b"%d" % number

    def client(bridge: Bridge) -> None:
        assert ask(bridge.address) == (200, b"first 012")
        assert ask(bridge.address, method="HEAD") == (200, b"")

    serve(answering(pieces), client)


def test_the_generator_ends_when_its_client_has_left() -> None:
    made, closed = [], []

    async def pieces() -> AsyncGenerator[bytes]:
        try:
            while True:
                made.append(1)
                yield bytes(131_072)
        finally:
            closed.append(1)

    def client(bridge: Bridge) -> None:
        host, port = bridge.address.split(":")
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            connection.recv(10)
            wait_for(lambda: bridge.stats()["client_bytes"] > 0, "a full socket")
            assert ask(bridge.address, method="HEAD") == (200, b"")
            assert len(made) < 100
        wait_for(lambda: closed == [1], "the end of the generator")

    serve(answering(pieces), client)


def test_an_answer_that_fails_is_logged_and_its_client_sees_that_it_is_not_whole(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def pieces() -> AsyncGenerator[bytes]:
        yield b"second"
        raise RuntimeError("no disk")

    def client(bridge: Bridge) -> None:
        host, port = bridge.address.split(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=PATIENCE)
        connection.request("GET", "/")
        with pytest.raises(http.client.IncompleteRead):
            connection.getresponse().read()
        connection.close()

    with caplog.at_level(logging.ERROR):
        serve(answering(pieces), client)
    [record] = caplog.records
    assert record.getMessage() == "cannot bring an answer to its end"
    assert record.exc_info
    assert "no disk" in str(record.exc_info[1])


def test_a_head_that_cannot_be_sent_is_a_failure(caplog: pytest.LogCaptureFixture) -> None:
    async def pieces() -> AsyncGenerator[bytes]:
        yield b"never"

    def client(bridge: Bridge) -> None:
        assert ask(bridge.address)[0] == 500

    serve(answering(pieces, (("A", "\n"),)), client)
    assert len(caplog.records) == 1


def test_a_stop_gives_up_what_has_not_ended() -> None:
    closed = []

    async def pieces() -> AsyncGenerator[bytes]:
        try:
            yield b"second"
            await asyncio.Event().wait()
        finally:
            closed.append(1)

    def client(bridge: Bridge) -> None:
        host, port = bridge.address.split(":")
        connection = socket.create_connection((host, int(port)))
        connection.sendall(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        received = b""
        while b"second" not in received:
            received += connection.recv(1_000)
        connections.append(connection)

    connections: list[socket.socket] = []
    serve(answering(pieces), client, grace=0.1)
    assert closed == [1]
    with connections[0] as connection:
        assert connection.recv(1_000) == b""


def test_what_a_thread_writes_comes_in_pieces_and_waits_for_its_client() -> None:
    written_so_far = []

    def write(file: PieceFile) -> None:
        for _ in range(50):
            file.write(bytes(LARGEST))
            written_so_far.append(1)
        file.write(b"end")

    async def take() -> list[bytes]:
        pieces = []
        async for piece in written(write):
            pieces.append(piece)
            await asyncio.sleep(0)
            assert len(written_so_far) <= len(pieces) + 2
        return pieces

    pieces = asyncio.run(take())
    assert [len(piece) for piece in pieces] == [LARGEST] * 50 + [3]


def test_a_thread_whose_client_has_left_cannot_write_any_more() -> None:
    ended = []

    def write(file: PieceFile) -> None:
        try:
            while True:
                file.write(b"more")
                file.flush()
        except BrokenPipeError:
            ended.append(file.is_unwanted())

    async def take() -> None:
        async with aclosing(written(write)) as pieces:
            assert await anext(pieces) == b"more"

    asyncio.run(take())
    assert ended == [True]


def test_a_failure_of_the_thread_is_raised_behind_what_was_written() -> None:
    def write(file: PieceFile) -> None:
        file.write(b"first")
        file.flush()
        raise OSError("no disk")

    async def take() -> None:
        async with aclosing(written(write)) as pieces:
            assert await anext(pieces) == b"first"
            await anext(pieces)

    with pytest.raises(OSError, match="no disk"):
        asyncio.run(take())


def test_nobody_holds_a_thread_for_longer_than_an_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces_module, "LONGEST_MS", -1)
    with pytest.raises(BrokenPipeError):
        asyncio.run(anext(written(lambda file: file.write(b"late"))))


def test_a_thread_that_writes_on_after_its_client_has_left_is_told_each_time() -> None:
    """A ZIP file writes its end when it is closed, also because of an exception."""
    ended = []

    def write(file: PieceFile) -> None:
        try:
            with zipfile.ZipFile(file, "w") as packed:  # type: ignore[call-overload]  # it only writes
                while True:
                    packed.writestr("a", os.urandom(LARGEST))
        finally:
            ended.append(file.is_unwanted())

    async def take() -> None:
        async with asyncio.timeout(PATIENCE), aclosing(written(write)) as pieces:
            assert await anext(pieces)

    asyncio.run(take())
    assert ended == [True]


def test_short_writes_are_collected() -> None:
    def write(file: PieceFile) -> None:
        for _ in range(1_000):
            file.write(b"short")

    async def take() -> list[bytes]:
        return [piece async for piece in written(write)]

    assert asyncio.run(take()) == [b"short" * 1_000]


def test_a_client_that_takes_nothing_holds_no_thread_beyond_the_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pieces_module, "LONGEST_MS", 500)

    def write(file: PieceFile) -> None:
        for _ in range(3):
            file.write(bytes(LARGEST))

    async def take() -> None:
        file = PieceFile()
        async with asyncio.timeout(PATIENCE):
            await run_in(DOWNLOADS, file.run, write)

    with pytest.raises(BrokenPipeError):
        asyncio.run(take())

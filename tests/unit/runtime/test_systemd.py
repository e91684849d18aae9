"""What a service manager passes to the service, and what the service tells it."""

import asyncio
import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from commentsvc.runtime import systemd
from commentsvc.runtime.systemd import Notifier, SocketsUnusable

PID = 4711


@pytest.fixture
def first(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Return the first of two consecutive descriptors of listening sockets."""
    numbers = range(200, 202)
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in numbers]
    for listener, number in zip(sockets, numbers, strict=True):
        os.dup2(listener.fileno(), number)
        listener.close()
    monkeypatch.setattr(systemd, "FIRST", numbers[0])
    yield numbers[0]
    for number in numbers:
        os.close(number)


def test_sockets_are_passed_in_a_row(first: int) -> None:
    ours = Notifier({"LISTEN_PID": str(PID), "LISTEN_FDS": "2"}, PID)
    assert ours.sockets() == (first, first + 1)


@pytest.mark.usefixtures("first")
@pytest.mark.parametrize(
    "environ",
    [{}, {"LISTEN_FDS": "2"}, {"LISTEN_PID": "1", "LISTEN_FDS": "2"}, {"LISTEN_PID": str(PID)}],
)
def test_what_was_meant_for_another_process_is_left_alone(environ: dict[str, str]) -> None:
    assert Notifier(environ, PID).sockets() == ()


@pytest.mark.parametrize("count", ["x", "-1", "65", "1.0", "٣"])
def test_a_malformed_number_is_refused(count: str) -> None:
    with pytest.raises(SocketsUnusable, match="LISTEN_FDS"):
        Notifier({"LISTEN_PID": str(PID), "LISTEN_FDS": count}, PID).sockets()


def test_what_does_not_listen_is_refused_with_what_to_do(
    first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    environ = {"LISTEN_PID": str(PID), "LISTEN_FDS": "3"}
    with pytest.raises(SocketsUnusable, match=f"Descriptor {first + 2} .*Accept=no"):
        Notifier(environ, PID).sockets()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as datagrams:
        monkeypatch.setattr(systemd, "FIRST", datagrams.fileno())
        with pytest.raises(SocketsUnusable, match="ListenStream="):
            Notifier({**environ, "LISTEN_FDS": "1"}, PID).sockets()


@pytest.mark.parametrize("abstract", [False, True])
def test_the_manager_is_told(tmp_path: Path, abstract: bool) -> None:
    name = f"@commentsvc-{os.getpid()}" if abstract else str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind("\0" + name[1:] if abstract else name)
        Notifier({"NOTIFY_SOCKET": name}, PID).notify("READY=1", "MAINPID=4711")
        assert listener.recv(100) == b"READY=1\nMAINPID=4711"


def test_a_manager_that_does_not_listen_is_no_trouble(tmp_path: Path) -> None:
    Notifier({"NOTIFY_SOCKET": str(tmp_path / "nobody")}, PID).notify("READY=1")
    Notifier({}, PID).notify("READY=1")


def messages_of(receiver: socket.socket) -> list[bytes]:
    """Return all messages that wait there."""
    receiver.setblocking(False)
    messages = []
    with contextlib.suppress(BlockingIOError):
        while True:
            messages.append(receiver.recv(100))
    return messages


@pytest.mark.parametrize("meant", [{}, {"WATCHDOG_PID": str(PID)}])
def test_a_watchdog_hears_of_us_twice_in_its_time(tmp_path: Path, meant: dict[str, str]) -> None:
    pauses: list[float] = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            raise asyncio.CancelledError

    path = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.bind(path)
        ours = Notifier({"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "30000000", **meant}, PID)
        with pytest.raises(asyncio.CancelledError):
            asyncio.run(ours.watch(pause))
        assert messages_of(receiver) == [b"WATCHDOG=1"] * 3
    assert pauses == [15.0] * 3


@pytest.mark.parametrize(
    "environ",
    [{}, {"WATCHDOG_USEC": "1000", "WATCHDOG_PID": "1"}, {"WATCHDOG_USEC": "0"}]
    + [{"WATCHDOG_USEC": text} for text in ("-5", "x", "\N{ARABIC-INDIC DIGIT THREE}")],
)
def test_without_a_watchdog_nothing_is_said(environ: dict[str, str]) -> None:
    async def pause(_seconds: float) -> None:
        raise AssertionError

    asyncio.run(Notifier(environ, PID).watch(pause))

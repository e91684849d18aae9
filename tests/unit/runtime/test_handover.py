"""What one server hands over to the next, over a real socket."""

import asyncio
import os
import resource
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from commentsvc.http.bridge import Sockets
from commentsvc.runtime import handover
from commentsvc.runtime.control import ControlError, NoServer
from commentsvc.runtime.handover import Handover, InheritedState

Old = Callable[[socket.socket], None]


def files(folder: Path, count: int) -> tuple[int, ...]:
    """Open `count` descriptors, each of a file whose text is its number."""
    numbers = []
    for number in range(count):
        (folder / str(number)).write_text(str(number))
        numbers.append(os.open(folder / str(number), os.O_RDONLY))
    return tuple(numbers)


def texts(descriptors: tuple[int, ...]) -> list[str]:
    """Read and close the files; return their texts."""
    found = []
    for descriptor in descriptors:
        assert not os.get_inheritable(descriptor)
        with os.fdopen(descriptor) as file:
            found.append(file.read())
    return found


def held() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@contextmanager
def old_server(path: Path, act: Old) -> Iterator[None]:
    """Run a control socket that expects the request to hand over, and then calls `act`."""

    def serve() -> None:
        talk, _ = listener.accept()
        with talk:
            assert talk.recv(100) == b'{"do":"hand_over"}\n'
            act(talk)

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield
        finally:
            thread.join()


@pytest.mark.parametrize("lent", [False, True])
def test_all_sockets_and_the_lock_arrive_in_their_order(tmp_path: Path, lent: bool) -> None:
    before = held()
    all_ = files(tmp_path, 700)
    notes = ["" if number < 600 else f"tls 192.0.2.{number % 250}" for number in range(7, 700)]
    sockets = Sockets(all_[1:5], tuple(zip(all_[7:], notes, strict=True)), lent)
    given = InheritedState(sockets, Sockets(all_[5:6], ((all_[6], ""),)), all_[0])
    ready: list[bool] = []
    with old_server(tmp_path / "c", lambda talk: ready.append(handover.give(talk.dup(), given))):
        taken, talk = handover.take_over(tmp_path / "c")
        with talk:
            talk.sendall(handover.READY)
    assert ready == [True]
    given.close()
    assert taken.sockets.borrowed == lent
    assert texts((taken.lock, *taken.sockets.listeners)) == [str(number) for number in range(5)]
    by_text = {texts((connection,))[0]: note for connection, note in taken.sockets.connections}
    assert by_text == {str(number): note for number, note in zip(range(7, 700), notes, strict=True)}
    assert texts(taken.redirect.listeners) == ["5"]
    assert [(texts((fd,)), note) for fd, note in taken.redirect.connections] == [(["6"], "")]
    assert held() == before


def test_more_connections_arrive_than_our_own_limit_of_files_allows(tmp_path: Path) -> None:
    given = InheritedState(
        Sockets(connections=tuple((descriptor, "") for descriptor in files(tmp_path, 200))),
        lock=os.open(tmp_path, os.O_RDONLY),
    )
    ready: list[bool] = []
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (held() + 100, hard))
    try:
        with old_server(
            tmp_path / "c", lambda talk: ready.append(handover.give(talk.dup(), given))
        ):
            taken, talk = handover.take_over(tmp_path / "c")
            talk.close()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    given.close()
    taken.close()
    assert len(taken.sockets.connections) == 200


def test_without_a_server_there_is_nothing_to_take(tmp_path: Path) -> None:
    with pytest.raises(NoServer):
        handover.take_over(tmp_path / "c")


def refuse(talk: socket.socket) -> None:
    talk.sendall(b'{"error":"this server does not understand the command"}\n')


def leave_in_the_middle(talk: socket.socket) -> None:
    with Path(os.devnull).open() as file:
        socket.send_fds(talk, [handover.LOCK], [file.fileno()])


def say_nothing_of_a_lock(talk: socket.socket) -> None:
    talk.sendall(handover.END)


@pytest.mark.parametrize(
    ("act", "reason"),
    [
        (refuse, "this server does not understand the command"),
        (leave_in_the_middle, "has closed the connection"),
        (say_nothing_of_a_lock, "has closed the connection"),
    ],
)
def test_a_hand_over_that_fails_leaves_nothing_open(tmp_path: Path, act: Old, reason: str) -> None:
    before = held()
    with (
        old_server(tmp_path / "c", act),
        pytest.raises(ControlError, match=f"cannot be taken over: .*{reason}"),
    ):
        handover.take_over(tmp_path / "c")
    assert held() == before


@pytest.mark.parametrize(
    ("listens", "line"), [(False, "has closed the connection"), (True, "has failed")]
)
def test_a_successor_that_fails_leaves_our_sockets_to_us(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, listens: bool, line: str
) -> None:
    before = held()
    idle = tuple((descriptor, "") for descriptor in files(tmp_path, 3))
    ours, other = socket.socketpair()
    if listens:
        other.shutdown(socket.SHUT_WR)  # it dies after it has received everything
    else:
        other.close()
    succession = Handover(asyncio.Event(), None)
    assert succession.begin(ours)
    with (tmp_path / "lock").open("w") as lock:
        succession.hold(Sockets((), idle), lock.fileno())
    left = asyncio.run(succession.conclude())
    other.close()
    assert line in caplog.text
    assert left is not None
    assert [texts((fd,))[0] for fd, _ in left.sockets.connections] == ["0", "1", "2"]
    os.close(left.lock)
    assert held() == before


def test_a_server_that_fails_lets_the_one_before_it_go_on(tmp_path: Path) -> None:
    before = held()
    ready: list[bool] = []
    given = InheritedState(lock=os.open(tmp_path, os.O_RDONLY))
    with old_server(tmp_path / "c", lambda talk: ready.append(handover.give(talk.dup(), given))):
        succession = Handover(asyncio.Event(), None)
        succession.succeed(tmp_path / "c")
        assert succession.has_other_server
        assert asyncio.run(succession.conclude()) is None
    assert ready == [False]
    given.close()
    succession.inherited.close()
    assert held() == before


def test_only_the_first_who_asks_succeeds() -> None:
    stop = asyncio.Event()
    succession = Handover(stop, None)
    assert not succession.has_other_server
    ours, other = socket.socketpair()
    with closing(ours), closing(other):
        assert succession.begin(ours)
        assert stop.is_set()
        assert succession.has_other_server
        assert not succession.begin(other)


def test_nobody_succeeds_a_server_that_stops_already() -> None:
    stop = asyncio.Event()
    stop.set()
    ours, other = socket.socketpair()
    with closing(ours), closing(other):
        assert not Handover(stop, None).begin(ours)
    assert asyncio.run(Handover(stop, None).conclude()) is None  # nobody is there to receive it

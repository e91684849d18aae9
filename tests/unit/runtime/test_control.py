"""The control socket, both of its ends, with a real database."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TypeVar

import pytest

from commentsvc.comments import create, queries, site_rows
from commentsvc.db.connection import Transaction
from commentsvc.db.database import Database
from commentsvc.runtime import control
from commentsvc.runtime.control import (
    Control,
    ControlError,
    HandOver,
    NoServer,
    Ping,
    Request,
    ShowSettings,
    TryMail,
)
from commentsvc.runtime.control_commands import ChangeStatus, CommandResult, Order, UndoChange
from tests.unit.database_fixture import location, new

T = TypeVar("T")
NOW = 1_790_000_000.0  # a Unix time in seconds


def submit(tx: Transaction, message: str) -> int:
    """Store one pending comment; return its id."""
    pending = new(source=message, status="pending", key=message)
    return create.add(tx, pending, int(NOW * 1000)).comment.id


@asynccontextmanager
async def running(
    folder: Path, accept: Callable[[socket.socket], bool] = lambda _: False
) -> AsyncIterator[tuple[Control, Database, list[str]]]:
    """A control socket in `folder`, its database, and the tags that were purged."""
    purged: list[str] = []
    database = Database(location(folder), purge=purged.extend)
    database.open()
    await database.write(site_rows.sync, ["blog"])

    async def execute(order: Request) -> CommandResult:
        assert not isinstance(order, ShowSettings | TryMail), "the composition root answers these"
        return await database.write(order.run, int(NOW * 1_000))

    ours = Control(
        folder / "control.sock",
        execute=execute,
        ready=CommandResult(address="http://127.0.0.1:1"),
        accept=accept,
    )
    await ours.start()
    try:
        yield ours, database, purged
    finally:
        await ours.stop(1)
        await database.close()


def test_a_ping_tells_the_address(tmp_path: Path) -> None:
    async def scene() -> str:
        async with running(tmp_path):
            return (await asyncio.to_thread(control.ask, tmp_path / "control.sock", Ping())).address

    assert asyncio.run(scene()) == "http://127.0.0.1:1"


@pytest.mark.parametrize("everything", [True, False])
def test_an_approval_is_written_and_purged_before_it_is_answered(
    tmp_path: Path, everything: bool
) -> None:
    async def scene() -> None:
        async with running(tmp_path) as (_, database, purged):
            ids = [await database.write(submit, message=m) for m in ("a", "b")]
            request = (
                ChangeStatus(to="approved", all=True)
                if everything
                else ChangeStatus(to="approved", ids=tuple(ids))
            )
            purged.clear()
            answer = await asyncio.to_thread(control.ask, tmp_path / "control.sock", request)
            assert sorted(answer.changed) == ids
            assert set(purged) == {"thread:blog:/post/", "site:blog"}
            assert (
                database.read_now(lambda snapshot: queries.thread(snapshot, "blog", "/post/").count)
                == 2
            )

    asyncio.run(scene())


def test_an_unknown_id_is_an_error_and_changes_nothing(tmp_path: Path) -> None:
    async def scene() -> None:
        async with running(tmp_path) as (_, database, _purged):
            known = await database.write(submit, "a")
            with pytest.raises(ControlError, match="no comment has the id 77"):
                await asyncio.to_thread(
                    control.ask,
                    tmp_path / "control.sock",
                    ChangeStatus(to="approved", ids=(known, 77)),
                )
            assert (
                database.read_now(lambda snapshot: queries.thread(snapshot, "blog", "/post/").count)
                == 0
            )

    asyncio.run(scene())


def test_the_last_command_or_a_named_change_is_undone(tmp_path: Path) -> None:
    async def ask(request: Order) -> CommandResult:
        return await asyncio.to_thread(control.ask, tmp_path / "control.sock", request)

    async def scene() -> None:
        async with running(tmp_path) as (_, database, _purged):
            ids = [await database.write(submit, message=m) for m in ("a", "b")]
            await ask(ChangeStatus(to="approved", ids=tuple(ids)))
            await ask(ChangeStatus(to="spam", ids=(ids[0],)))
            assert await ask(UndoChange()) == CommandResult((ids[0],))
            assert await ask(UndoChange(ids=(ids[0],))) == CommandResult((ids[0],))
            assert await ask(UndoChange()) == CommandResult((ids[1],))
            with pytest.raises(ControlError, match="there is no command to undo"):
                await ask(UndoChange())

    asyncio.run(scene())


def speak(path: Path, line: bytes) -> bytes:
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(120)
        client.connect(str(path))
        client.sendall(line)
        client.shutdown(socket.SHUT_WR)
        with client.makefile("rb") as file:
            return file.read()


@pytest.mark.parametrize(
    "line",
    [b"{}\n", b'{"do":"drop"}\n', b'{"do":"changestatus","to":"spam","ids":["1"]}\n',
     b'{"do":"ping","x":1}\n', b'{"do":"undochange","ids":[0]}\n',
     b'{"do":"changestatus","to":"pending"}\n', b"\xff\n", b"\n", b""],
)  # fmt: skip
def test_a_command_that_is_not_understood_is_told_so(tmp_path: Path, line: bytes) -> None:
    async def scene() -> bytes:
        async with running(tmp_path):
            return await asyncio.to_thread(speak, tmp_path / "control.sock", line)

    assert asyncio.run(scene()).startswith(b'{"error":"this server does not understand')


def test_an_endless_line_ends_the_connection(tmp_path: Path) -> None:
    async def scene() -> bytes:
        async with running(tmp_path):
            line = b" " * (control.LINE_LIMIT + 1)
            return await asyncio.to_thread(speak, tmp_path / "control.sock", line)

    with suppress(ConnectionResetError, BrokenPipeError):  # our bytes may still be in transit
        assert asyncio.run(scene()) == b""


def test_the_socket_is_for_its_owner_alone_and_goes_away(tmp_path: Path) -> None:
    path = tmp_path / "control.sock"

    async def scene() -> None:
        async with running(tmp_path):
            assert path.stat().st_mode & 0o777 == 0o600

    asyncio.run(scene())
    assert not path.exists()
    with pytest.raises(NoServer):
        control.ask(path, Ping())


def leave_stale(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))


@pytest.mark.parametrize("leave", [leave_stale, Path.touch])
def test_what_a_killed_server_left_is_replaced(
    tmp_path: Path, leave: Callable[[Path], None]
) -> None:
    path = tmp_path / "control.sock"
    leave(path)
    with pytest.raises(NoServer):
        control.ask(path, Ping())

    async def scene() -> None:
        async with running(tmp_path):
            await asyncio.to_thread(control.ask, path, Ping())

    asyncio.run(scene())


def test_a_path_longer_than_a_socket_address_works(tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 30)
    folder.mkdir()

    async def scene() -> str:
        async with running(folder):
            return (await asyncio.to_thread(control.ask, folder / "control.sock", Ping())).address

    assert asyncio.run(scene()) == "http://127.0.0.1:1"


def test_too_many_ids_are_refused_before_they_are_sent(tmp_path: Path) -> None:
    with pytest.raises(ControlError, match="Too many IDs"):
        control.ask(tmp_path / "none", ChangeStatus(to="spam", ids=tuple(range(1, 40_000))))


def test_a_server_that_leaves_without_an_answer_is_told(tmp_path: Path) -> None:
    async def scene() -> None:
        async def leave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readline()
            writer.close()

        server = await asyncio.start_unix_server(leave, tmp_path / "s")
        with pytest.raises(ControlError, match="closed the connection without an answer"):
            await asyncio.to_thread(control.ask, tmp_path / "s", Ping())
        server.close()

    asyncio.run(scene())


def test_stopping_waits_for_a_command_in_progress(tmp_path: Path) -> None:
    path = tmp_path / "control.sock"

    async def scene() -> bytes:
        async with running(tmp_path) as (ours, _, _purged):
            reader, writer = await asyncio.open_unix_connection(path)
            writer.write(b'{"do":')
            while len(asyncio.all_tasks()) == 1:  # noqa: ASYNC110 - nothing tells of an accept
                await asyncio.sleep(0)
            stopping = asyncio.create_task(ours.stop(30))
            await asyncio.sleep(0)
            writer.write(b'"ping"}\n')
            answer = await reader.readline()
            await stopping
            writer.close()
            return answer

    assert asyncio.run(scene()) == b'{"address":"http://127.0.0.1:1"}\n'


def test_a_server_that_cannot_give_way_says_so(tmp_path: Path) -> None:
    async def scene() -> None:
        async with running(tmp_path):
            with control.dial(tmp_path / "control.sock", HandOver()) as talk:
                line = await asyncio.to_thread(talk.recv, 1000)
            assert line == b'{"error":"the server is already stopping"}\n'

    asyncio.run(scene())


def test_the_talk_with_a_successor_goes_on_elsewhere(tmp_path: Path) -> None:
    async def scene() -> None:
        kept: asyncio.Queue[socket.socket] = asyncio.Queue()

        def accept(talk: socket.socket) -> bool:
            kept.put_nowait(talk)
            return True

        async with running(tmp_path, accept):
            with control.dial(tmp_path / "control.sock", HandOver()) as talk:
                with await kept.get() as ours:
                    ours.setblocking(True)
                    ours.sendall(b"welcome")
                assert await asyncio.to_thread(talk.recv, 1000) == b"welcome"

    asyncio.run(scene())

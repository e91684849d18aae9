"""The control socket: a command sends its writes to the server that runs on the same data.

Only one process may write the database, so a command that writes while a server runs has to ask the
server. A command that reads asks for the server's settings, since only the server knows what its
service manager gave it. The Unix socket is in the data folder; it answers only root and the user of
the server. One connection carries one JSON line in each direction:

    {"do": "change", "to": "approved", "ids": [3, 5]}   {"changed": [3], "unchanged": {"5": "spam"}}
    {"do": "change", "to": "approved", "all": true}     {"changed": []}
    {"do": "undo"}                                      {"changed": [3]}
    {"do": "undo", "ids": [3]}                          {"error": "comment 3 was not changed…"}
    {"do": "staff", "verb": "remove", "name": "ann"}    {}
    {"do": "ping"}                                      {"address": "http://127.0.0.1:8080"}
    {"do": "hand_over"}                                 see handover.py
    {"do": "show_settings"}                             {"settings": {…}}, with all secrets
    {"do": "try_mail", "recipient": "ann@blog.example"} {"note": "…"}
    anything else                                       {"error": "…"}

`control_commands` has the other commands.

    ControlError    the server cannot do what it was asked; the text says why
      NoServer      no server listens on the socket
"""

import asyncio
import contextlib
import os
import socket
import struct
import sys
from asyncio.trsock import TransportSocket
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from commentsvc import errors
from commentsvc.auth import accounts
from commentsvc.db.errors import DatabaseError
from commentsvc.delivery.channel import DeliveryError
from commentsvc.runtime.control_commands import CommandResult, Order
from commentsvc.util.error_texts import error_text

# Bytes of a request: enough for 10,000 ids, more than a shell accepts.
LINE_LIMIT: Final = 131_072
# Bytes of an answer, which lists all approved comments.
ANSWER_LIMIT: Final = 16_777_216
# Seconds to read a request, which a command writes at once.
LINE_DEADLINE: Final = 5.0
# Seconds to wait for an answer: approving thousands of comments takes some.
ANSWER_DEADLINE: Final = 60.0
# sockaddr_un has 108 bytes for a path and its NUL.
ADDRESS_LIMIT: Final = 107
# The LOCAL command of the PROXY protocol, version 2: the connection is not for another client.
LOCAL: Final = b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0"


OTHER_NUMBER: Final = (
    "a server with --processes can only replace one with --processes, and a server without it only"
    " one without it; stop the server, then start it again"
)


class ControlError(Exception):
    """The server cannot do what it was asked; the text is one line for the operator."""


class NoServer(ControlError):
    """No server listens on the socket."""


class Ping(msgspec.Struct, frozen=True, tag_field="do", tag="ping", forbid_unknown_fields=True):
    """Ask where the server listens."""


class HandOver(
    msgspec.Struct,
    frozen=True,
    tag_field="do",
    tag="hand_over",
    forbid_unknown_fields=True,
    omit_defaults=True,
):
    """Ask the server to end, and to pass its sockets and lock to the asking process.

    `manager` is the address of the service manager that started the asking process, "" for none.
    `several` says whether that will run several processes.
    """

    manager: str = ""
    several: bool = False


class ShowSettings(
    msgspec.Struct, frozen=True, tag_field="do", tag="show_settings", forbid_unknown_fields=True
):
    """Ask for the settings that the server uses, wherever they come from."""


class TryMail(
    msgspec.Struct, frozen=True, tag_field="do", tag="try_mail", forbid_unknown_fields=True
):
    """Ask the server to send a test mail to `recipient`, or only to sign in if that is ""."""

    recipient: str = ""


# What the server does with its settings, and what it does to its database.
Request = ShowSettings | TryMail | Order

_decode = msgspec.json.Decoder(Ping | HandOver | Request).decode


class Control:
    """The server's side of the socket at `path`."""

    def __init__(
        self,
        path: Path,
        *,
        execute: Callable[[Request], Awaitable[CommandResult]],
        ready: CommandResult,
        accept: Callable[[socket.socket], bool],
        several: bool = False,
    ) -> None:
        """Take what executes commands, and `ready`, the answer to a Ping.

        `several` says whether this supervises several processes. `accept` gets the connection of
        a process that wants to replace this one, and returns whether that is accepted. If a service
        manager started this server, only another process of it may replace it.
        """
        self._path = path
        self._accept = accept
        self._execute = execute
        self._ready = ready
        self._several = several
        self._talks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        """Listen. A file at the path is replaced: the caller holds the lock on the data.

        Raise OSError.
        """
        self._path.unlink(missing_ok=True)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            os.fchmod(listener.fileno(), 0o600)  # before bind, so that it is never wider
            with _reachable(self._path) as address:
                listener.bind(address)
            # We unlink the socket ourselves; its address may go through a closed descriptor.
            keep: dict[str, Any] = {}  # Any: the values of keyword arguments
            if sys.version_info >= (3, 13):
                keep["cleanup_socket"] = False
            self._server = await asyncio.start_unix_server(
                self._talk, sock=listener, limit=LINE_LIMIT, **keep
            )
        except BaseException:
            listener.close()
            raise

    async def stop(self, grace: float) -> None:
        """Stop listening and remove the socket; running commands have `grace` seconds to finish."""
        if self._server is None:
            return
        self._path.unlink(missing_ok=True)
        self._server.close()
        if self._talks:
            await asyncio.wait(self._talks, timeout=grace)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._talks.add(task)
        try:
            connection: TransportSocket = writer.get_extra_info("socket")
            async with asyncio.timeout(LINE_DEADLINE):
                line = await reader.readline()
            if _user(connection) in (0, os.geteuid()):
                answer = await self._answer(line, connection)
            else:  # somebody has changed the mode of the socket
                answer = CommandResult(error="only root and its own user may ask this server")
            if answer is not None:
                writer.write(msgspec.json.encode(answer) + b"\n")
                await writer.drain()
        except (OSError, TimeoutError, ValueError):
            pass  # the command disconnected, hangs, or sent too long a line
        finally:
            writer.close()
            self._talks.discard(task)

    async def _answer(self, line: bytes, talk: TransportSocket) -> CommandResult | None:
        try:
            request = _decode(line)
        except msgspec.MsgspecError as error:
            return CommandResult(error=f"this server does not understand the command: {error}")
        if isinstance(request, Ping):
            return self._ready
        if isinstance(request, HandOver):
            if self._ready.manager not in ("", request.manager):
                return CommandResult(
                    error="systemd or another service manager started it, and would think that it "
                    "has ended; restart it there: systemctl restart commentsvc"
                )
            if request.several != self._several:
                return CommandResult(error=OTHER_NUMBER)
            return self._hand_over(talk.dup())
        try:
            return await self._execute(request)
        except (
            errors.CommentsError,
            accounts.ModeratorError,
            ControlError,
            DatabaseError,
            DeliveryError,
        ) as error:
            return CommandResult(error=str(error))

    def _hand_over(self, talk: socket.socket) -> CommandResult | None:
        if self._accept(talk):
            return None  # `accept` has taken over the connection
        talk.close()
        return CommandResult(error="the server is already stopping")


def _user(connection: TransportSocket) -> int:
    """Return the user id of the process that connected (SO_PEERCRED of unix(7))."""
    size = struct.calcsize("3i")
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    _, user, _ = struct.unpack("3i", credentials)
    return int(user)


@contextlib.contextmanager
def dial(
    path: Path, request: Ping | HandOver | Request, deadline: float = ANSWER_DEADLINE
) -> Iterator[socket.socket]:
    """Connect to the server at the socket `path`, send `request`, and yield the connection.

    `deadline` is in seconds, for each step. Raise ControlError; it is NoServer if none runs.
    """
    line = msgspec.json.encode(request) + b"\n"
    if len(line) > LINE_LIMIT:
        raise ControlError("Too many IDs for one command. Give fewer, or use --all.")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(deadline)
        try:
            with _reachable(path) as address:
                client.connect(address)
            client.sendall(line)
        except (FileNotFoundError, NotADirectoryError, ConnectionRefusedError) as error:
            raise NoServer(f"No server answers at {path}.") from error
        except OSError as error:
            raise ControlError(
                f"The server at {path} cannot be reached: {error_text(error)}."
            ) from error
        yield client


def ask(path: Path, request: Ping | Request) -> CommandResult:
    """Send `request` to the server at the socket `path`; return its answer.

    Raise ControlError; it is NoServer if none runs.
    """
    try:
        with dial(path, request) as client:
            answer = read_answer(client)
    except OSError as error:
        raise ControlError(
            f"The server at {path} cannot be reached: {error_text(error)}."
        ) from error
    if answer.error:
        raise ControlError(answer.error)
    return answer


def hangs(path: Path, patience: float) -> bool:
    """Return whether a server listens on the socket `path`, but does not answer in `patience` s."""
    try:
        with dial(path, Ping(), patience) as client:
            read_answer(client)
    except TimeoutError:
        return True
    except (ControlError, OSError):
        pass  # it starts, or it ends
    return False


def read_answer(client: socket.socket, begun: bytes = b"") -> CommandResult:
    """Return a server's answer, which begins with `begun`. Raise ControlError, OSError."""
    try:
        with client.makefile("rb") as file:
            return msgspec.json.decode(begun + file.readline(ANSWER_LIMIT), type=CommandResult)
    except msgspec.MsgspecError as error:
        raise ControlError("The server closed the connection without an answer.") from error


def connect(server: CommandResult, deadline: float) -> socket.socket:
    """Return a connection, ready for HTTP, to the server that answered a Ping. Raise OSError.

    `deadline` is in seconds, for each step.
    """
    client = _dial_http(server.address, deadline)
    try:
        if server.proxy_header:
            client.sendall(LOCAL)
    except OSError:
        client.close()
        raise
    return client


def _dial_http(address: str, deadline: float) -> socket.socket:
    """Connect to "unix:PATH" or "http://HOST:PORT"."""
    if address.startswith("unix:"):
        client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            client.settimeout(deadline)
            client.connect(address.removeprefix("unix:"))
        except OSError:
            client.close()
            raise
        return client
    host, _, port = address.removeprefix("http://").rpartition(":")
    return socket.create_connection((host.strip("[]"), int(port)), deadline)


@contextlib.contextmanager
def _reachable(path: Path) -> Iterator[str]:
    """Yield a name of `path` that fits into a socket address: long paths go through /proc."""
    if len(os.fsencode(path)) <= ADDRESS_LIMIT:
        yield str(path)
        return
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)

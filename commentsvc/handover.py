"""The hand-over: a new server takes the place of the one that runs, and no client notices.

DESIGN. The listening sockets are passed on, and with them the clients that wait in them: a second
socket on the same port (SO_REUSEPORT) would lose those. Idle connections are passed on, too, so
that nobody's next request meets a close. And the lock on the data goes along, still locked, so
that at every moment exactly one process may write.

    new server                        old server
      the control socket: "hand_over" ─▶
                                      accepts nobody; answers what it has read
                                      commits, closes the database
      ◀─ the lock, listeners, connections (SCM_RIGHTS), then it ends
      opens the database, serves

Between the two, clients wait in the kernel, for as long as the old one needs to answer what it has
read (GRACE at most; who is not answered by then gets 503) and the new one to open the database.
All that can fail for reasons of the new server's own (settings, imports) comes before it asks.

A message is one byte, which says what the descriptors are that come with it. Behind that of
connections stands what the core noted about all of them, as for whom a proxy speaks.
"""

import asyncio
import contextlib
import logging
import os
import socket
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from commentsvc import control
from commentsvc.control import ControlError, HandOver

_log = logging.getLogger(__name__)

# What was read is answered within this, or gets 503; all other clients wait so long. In seconds.
GRACE: Final = 3.0
# Nothing comes for so long when the old server has died, or the new one; in seconds.
PATIENCE: Final = 60.0
# Descriptors in one message; the kernel takes 253.
BATCH: Final = 250
# Bytes of what the core noted about a connection, padded; it has 53 at most.
NOTE: Final = 64

LOCK: Final = b"K"
OWN: Final = b"O"
LENT: Final = b"L"
CONNECTIONS: Final = b"C"
END: Final = b"."
REFUSED: Final = b"{"  # an answer of the control socket: a server that hands nothing over


# Each with what the core noted about it, often nothing.
Connections = Sequence[tuple[int, str]]


class Sockets(NamedTuple):
    """Descriptors that go from one server to the next. Whoever holds them has to close them.

    `lent` listeners belong to a service manager. `lock` is -1 where there is none.
    """

    listeners: tuple[int, ...] = ()
    connections: Connections = ()
    lent: bool = False
    lock: int = -1


class Succession:
    """The old server's side: whether somebody has asked for its place, and what he gets."""

    def __init__(self, stop: asyncio.Event) -> None:
        """Take the event that a successor sets, so that the server ends."""
        self._stop = stop
        self._successor: socket.socket | None = None
        self._sockets = Sockets()

    @property
    def is_asked(self) -> bool:
        """Whether the server ends for a successor."""
        return self._successor is not None

    def begin(self, successor: socket.socket) -> bool:
        """Take the end of a talk with the new server; False, and nothing, when we stop already."""
        if self._stop.is_set():
            return False
        self._successor = successor
        self._stop.set()
        return True

    def hold(self, sockets: Sockets, lock: int) -> None:
        """Keep what will be handed over. The lock stays locked through a name of our own."""
        self._sockets = sockets._replace(lock=os.dup(lock))

    async def conclude(self) -> None:
        """Hand everything over, after all else has ended."""
        if self._successor is not None:
            await asyncio.to_thread(give, self._successor, self._sockets)


def give(successor: socket.socket, sockets: Sockets) -> None:
    """Send `sockets` and let go of them, and of the `successor`. What fails is logged."""
    kinds = [
        (LOCK, [sockets.lock]),
        (LENT if sockets.lent else OWN, sockets.listeners),
        *_by_note(sockets.connections),
    ]
    try:
        with successor:
            successor.settimeout(PATIENCE)
            for message, descriptors in kinds:
                for start in range(0, len(descriptors), BATCH):
                    socket.send_fds(successor, [message], descriptors[start : start + BATCH])
            successor.sendall(END)
        _log.info("handed over to another process, with %d connections", len(sockets.connections))
    except OSError as error:
        _log.error("the process that wanted to take over has left: %s", error)
    finally:
        _close((*sockets.listeners, *_descriptors(sockets.connections), sockets.lock))


def _by_note(connections: Connections) -> Iterator[tuple[bytes, list[int]]]:
    """Messages for all connections: those with the same note go together."""
    together: dict[str, list[int]] = {}
    for descriptor, note in connections:
        together.setdefault(note, []).append(descriptor)
    for note, descriptors in together.items():
        yield CONNECTIONS + note.encode().ljust(NOTE), descriptors


def _descriptors(connections: Connections) -> list[int]:
    return [descriptor for descriptor, _ in connections]


def take_over(path: Path) -> Sockets:
    """Ask the server at the control socket `path` for its place, and wait until it is ours.

    Raises NoServer where none runs, ControlError where it cannot give it.
    """
    taken: dict[bytes, list[int]] = {LOCK: [], OWN: [], LENT: []}
    connections: list[tuple[int, str]] = []
    with control.dial(path, HandOver()) as server:
        try:
            _receive(server, taken, connections)
        except (OSError, ControlError) as error:
            for descriptors in (*taken.values(), _descriptors(connections)):
                _close(descriptors)
            raise ControlError(f"The server at {path} hands nothing over: {error}.") from error
    return Sockets(
        listeners=(*taken[OWN], *taken[LENT]),
        connections=tuple(connections),
        lent=bool(taken[LENT]),
        lock=taken[LOCK][0],
    )


def _receive(
    server: socket.socket, taken: dict[bytes, list[int]], connections: list[tuple[int, str]]
) -> None:
    """Fill `taken`, by kind, and `connections`, until the end."""
    server.settimeout(PATIENCE)
    while True:
        kind, descriptors, flags, _ = socket.recv_fds(server, 1, BATCH)
        for descriptor in descriptors:  # Python 3.11 forgets to pass the flag that would do it
            os.set_inheritable(descriptor, False)
        if flags & socket.MSG_CTRUNC:
            _log.warning("some connections are lost: the limit of open files is too low")
        if kind == END and taken[LOCK]:
            return
        if kind == CONNECTIONS:
            note = server.recv(NOTE, socket.MSG_WAITALL).decode().rstrip()
            connections.extend((descriptor, note) for descriptor in descriptors)
            continue
        if kind not in taken:
            _close(descriptors)
            raise ControlError("it does not know how" if kind == REFUSED else "it has left")
        taken[kind].extend(descriptors)


def _close(descriptors: Sequence[int]) -> None:
    for descriptor in descriptors:
        with contextlib.suppress(OSError):
            os.close(descriptor)

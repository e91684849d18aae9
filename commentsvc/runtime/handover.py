"""The hand-over: a new server takes the place of the one that runs, and no client notices.

The listening sockets are passed on, and with them the clients that wait in them: a second
socket on the same port (SO_REUSEPORT) would lose those. Idle connections are passed on, too, so
that nobody's next request meets a close. And the lock on the data goes along, still locked, so
that at every moment exactly one process may write.

    new server                        old server
      the control socket: "hand_over" ─▶
                                      accepts nobody; answers what it has read
                                      commits, closes the database
      ◀─ the lock, listeners, connections (SCM_RIGHTS)
      opens the database, serves
      "ready" ─▶                      ends

The old server keeps all it has passed on, too, and looks at none of it. If the new one leaves
without a word, it takes its own place again, as if it were the next server.

Between the two, clients wait in the kernel, for as long as the old one needs to answer what it has
read (GRACE at most; who is not answered by then gets 503) and the new one to open the database.
All that can fail for reasons of the new server's own (settings, imports) comes before it asks, and
all but its control socket before it serves.

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

from commentsvc.http.bridge import Connections, Sockets, close_all
from commentsvc.runtime import control
from commentsvc.runtime.control import ControlError, HandOver
from commentsvc.runtime.process import raise_file_limit

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
REDIRECT: Final = b">"
REDIRECTED: Final = b"c"
END: Final = b"."
READY: Final = b"!"
REFUSED: Final = b"{"  # an answer of the control socket: a server that hands nothing over


# Descriptors by the kind of their message, each with such a note.
Taken = dict[bytes, list[tuple[int, str]]]


class InheritedState(NamedTuple):
    """All that goes from one server to the next; `lock` is -1 where there is none."""

    sockets: Sockets = Sockets()
    redirect: Sockets = Sockets()
    lock: int = -1

    def close(self) -> None:
        """Let go of it."""
        self.sockets.close()
        self.redirect.close()
        close_all([self.lock])


class Handover:
    """Who was here before us, and who wants to be here after us."""

    def __init__(self, stop: asyncio.Event, place: InheritedState | None) -> None:
        """Take the event that a successor sets, so that the server ends.

        `place` is our own, where a successor has failed.
        """
        self.place = place or InheritedState()
        self._stop = stop
        self._predecessor: socket.socket | None = None
        self._successor: socket.socket | None = None

    @property
    def has_other_server(self) -> bool:
        """Whether a server that ends now leaves its sockets open: somebody else goes on."""
        return self._successor is not None or self._predecessor is not None

    def succeed(self, path: Path, manager: str = "") -> None:
        """Take the place of the server at the control socket `path`; see `take_over`."""
        self.place, self._predecessor = take_over(path, manager)

    def take_passed(self, listeners: tuple[int, ...]) -> None:
        """Listen where a service manager has opened sockets, which it lends us."""
        old = self.place.sockets
        close_all(old.listeners)  # other names of those that were passed
        self.place = self.place._replace(sockets=Sockets(listeners, old.connections, True))

    def be_ready(self) -> None:
        """Let the server before us end."""
        if self._predecessor is not None:
            with self._predecessor, contextlib.suppress(OSError):  # it may have been ended
                self._predecessor.sendall(READY)
            self._predecessor = None

    def begin(self, successor: socket.socket) -> bool:
        """Take the end of a talk with the new server; False, and nothing, when we stop already."""
        if self._stop.is_set():
            return False
        self._successor = successor
        self._stop.set()
        return True

    def hold(self, sockets: Sockets, lock: int) -> None:
        """Keep what will be handed over. The lock stays locked through a name of our own."""
        self.place = self.place._replace(sockets=sockets, lock=os.dup(lock))

    def hold_redirect(self, sockets: Sockets) -> None:
        """Keep the other listener, too."""
        self.place = self.place._replace(redirect=sockets)

    async def conclude(self) -> InheritedState | None:
        """After all else has ended: hand everything over. Gives our place back to us where the
        successor has failed, else None."""
        if self._predecessor is not None:
            self._predecessor.close()  # we have failed, and it goes on
        if self._successor is None:
            return None
        if not await asyncio.to_thread(give, self._successor, self.place):
            return self.place
        self.place.close()
        return None


def give(successor: socket.socket, place: InheritedState) -> bool:
    """Send `place` and wait until the `successor` is ready, or gone; whether it is ready.

    Nothing is closed but the `successor`. Why it is not ready is logged.
    """
    try:
        with successor:
            successor.settimeout(PATIENCE)
            for message, descriptors in _messages(place):
                for start in range(0, len(descriptors), BATCH):
                    socket.send_fds(successor, [message], descriptors[start : start + BATCH])
            successor.sendall(END)
            # As long as it lives: to upgrade a large database takes its time.
            successor.settimeout(None)
            is_ready = successor.recv(1) == READY
    except OSError as error:
        _log.error("the process that wanted to take over has left, so we go on: %s", error)
        return False
    if is_ready:
        _log.info("handed over, with %d connections", len(place.sockets.connections))
    else:
        _log.error("the process that took over has failed, so we go on; its log says why")
    return is_ready


def _messages(place: InheritedState) -> Iterator[tuple[bytes, Sequence[int]]]:
    sockets, redirect = place.sockets, place.redirect
    yield LOCK, [place.lock]
    yield LENT if sockets.lent else OWN, sockets.listeners
    yield from _by_note(CONNECTIONS, sockets.connections)
    yield REDIRECT, redirect.listeners
    yield from _by_note(REDIRECTED, redirect.connections)


def _by_note(kind: bytes, connections: Connections) -> Iterator[tuple[bytes, list[int]]]:
    """Messages for all connections: those with the same note go together."""
    together: dict[str, list[int]] = {}
    for descriptor, note in connections:
        together.setdefault(note, []).append(descriptor)
    for note, descriptors in together.items():
        yield kind + note.encode().ljust(NOTE), descriptors


def take_over(path: Path, manager: str = "") -> tuple[InheritedState, socket.socket]:
    """Ask the server at the control socket `path` for its place, and wait until it is ours.

    `manager` is the address of the service manager that started us. The server waits for READY on
    the socket that is given, too. Raise NoServer where none runs, ControlError where it cannot
    give it.
    """
    taken: Taken = {kind: [] for kind in (LOCK, OWN, LENT, CONNECTIONS, REDIRECT, REDIRECTED)}
    with control.dial(path, HandOver(manager)) as server:
        try:
            _receive(server, taken)
            talk = server.dup()
        except (OSError, ControlError) as error:
            for connections in taken.values():
                close_all([descriptor for descriptor, _ in connections])
            raise ControlError(f"The server at {path} hands nothing over: {error}.") from error
    own, lent, redirect = (tuple(fd for fd, _ in taken[kind]) for kind in (OWN, LENT, REDIRECT))
    place = InheritedState(
        Sockets((*own, *lent), tuple(taken[CONNECTIONS]), bool(lent)),
        Sockets(redirect, tuple(taken[REDIRECTED])),
        taken[LOCK][0][0],
    )
    return place, talk


def _receive(server: socket.socket, taken: Taken) -> None:
    """Fill `taken` until the end."""
    server.settimeout(PATIENCE)
    while True:
        # There may be more than our own settings provide for.
        raise_file_limit(sum(map(len, taken.values())) + BATCH)
        kind, descriptors, flags, _ = socket.recv_fds(server, 1, BATCH)
        for descriptor in descriptors:  # Python 3.11 forgets to pass the flag that would do it
            os.set_inheritable(descriptor, False)
        if flags & socket.MSG_CTRUNC:
            _log.warning("some connections are lost: the limit of open files is too low")
        if kind == END and taken[LOCK]:
            return
        if kind not in taken:
            close_all(descriptors)
            if kind == REFUSED:
                raise ControlError(control.read_answer(server, kind).error)
            raise ControlError("it has left")
        note = ""
        if kind in (CONNECTIONS, REDIRECTED):
            note = server.recv(NOTE, socket.MSG_WAITALL).decode().rstrip()
        taken[kind].extend((descriptor, note) for descriptor in descriptors)

"""The handover: a new server replaces the running one, and no client notices.

The listening sockets are passed on, and with them the clients that wait in their queues: a second
socket on the same port (SO_REUSEPORT) would lose those. Idle connections are passed on too, so that
no client's next request finds its connection closed. The lock on the data is passed on while
locked, so that at every moment exactly one process may write.

    new server                        old server
      the control socket: "hand_over" ─▶
                                      accepts nobody; answers what it has read
                                      commits, closes the database
      ◀─ the lock, listeners, connections (SCM_RIGHTS)
      opens the database, serves
      "ready" ─▶                      ends

The old server keeps its own descriptors of everything it has passed on, but does not use them. If
the new one ends before it is ready, the old one starts to serve again, as if it were the next
server.

In between, clients wait in the kernel, for as long as the old server needs to answer what it has
read (at most GRACE; later requests get 503) and the new one to open the database. Everything that
can fail in the new server (settings, imports) is done before it asks, and everything except its
control socket before it serves.

A message is one byte that names the kind of its descriptors. For connections, the core's note about
all of them follows, such as the client that a proxy named.
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
from commentsvc.util.error_texts import error_text
from commentsvc.util.threads import PROCESS, run_in

_log = logging.getLogger(__name__)

# Seconds to answer the requests that were read; others wait, and unanswered ones get 503.
GRACE: Final = 3.0
# Seconds without a message after which the other server is considered dead.
PATIENCE: Final = 60.0
# Descriptors in one message; the kernel takes 253.
BATCH: Final = 250
# Bytes of the core's note about a connection, padded; it has at most 53.
NOTE: Final = 64

LOCK: Final = b"K"
OWN: Final = b"O"
BORROWED: Final = b"L"
CONNECTIONS: Final = b"C"
REDIRECT: Final = b">"
REDIRECTED: Final = b"c"
END: Final = b"."
READY: Final = b"!"
REFUSED: Final = b"{"  # the beginning of a JSON answer: the server refuses


# Descriptors by the kind of their message, each with its note.
Taken = dict[bytes, list[tuple[int, str]]]


class InheritedState(NamedTuple):
    """Everything that one server passes to the next; `lock` is -1 if there is none."""

    sockets: Sockets = Sockets()
    redirect: Sockets = Sockets()
    lock: int = -1

    def close(self) -> None:
        """Close all of it."""
        self.sockets.close()
        self.redirect.close()
        close_all([self.lock])


class Handover:
    """The handover from the previous server to this one, and from this one to the next."""

    def __init__(self, stop: asyncio.Event, inherited: InheritedState | None) -> None:
        """Take the event that a successor sets to stop this server.

        `inherited` is our own state, if a successor has failed.
        """
        self.inherited = inherited or InheritedState()
        self._stop = stop
        self._predecessor: socket.socket | None = None
        self._successor: socket.socket | None = None

    @property
    def has_other_server(self) -> bool:
        """Whether another server keeps using the sockets when this one ends."""
        return self._successor is not None or self._predecessor is not None

    def succeed(self, path: Path, manager: str = "") -> None:
        """Take over from the server at the control socket `path`; see `take_over`."""
        self.inherited, self._predecessor = take_over(path, manager)

    def take_passed(self, listeners: tuple[int, ...]) -> None:
        """Use the listening sockets that a service manager has opened and lends us."""
        old = self.inherited.sockets
        close_all(old.listeners)  # duplicates of the passed ones
        self.inherited = self.inherited._replace(sockets=Sockets(listeners, old.connections, True))

    def be_ready(self) -> None:
        """Let the previous server end."""
        if self._predecessor is not None:
            with self._predecessor, contextlib.suppress(OSError):  # it may have been ended
                self._predecessor.sendall(READY)
            self._predecessor = None

    def begin(self, successor: socket.socket) -> bool:
        """Accept a new server's connection, and stop; return False if we are stopping already."""
        if self._stop.is_set():
            return False
        self._successor = successor
        self._stop.set()
        return True

    def hold(self, sockets: Sockets, lock: int) -> None:
        """Keep what will be handed over. A duplicate of the lock's descriptor keeps it locked."""
        self.inherited = self.inherited._replace(sockets=sockets, lock=os.dup(lock))

    def hold_redirect(self, sockets: Sockets) -> None:
        """Keep the listener for redirects too."""
        self.inherited = self.inherited._replace(redirect=sockets)

    async def conclude(self) -> InheritedState | None:
        """Hand everything over, after all other parts have ended.

        Return our own state if the successor has failed, else None.
        """
        if self._predecessor is not None:
            self._predecessor.close()  # we have failed, and the previous server goes on
        if self._successor is None:
            return None
        if not await run_in(PROCESS, give, self._successor, self.inherited):
            return self.inherited
        self.inherited.close()
        return None


def give(successor: socket.socket, state: InheritedState) -> bool:
    """Send `state` and wait until the `successor` is ready or gone; return whether it is ready.

    Only the connection to the `successor` is closed. A failure is logged.
    """
    try:
        with successor:
            successor.settimeout(PATIENCE)
            for message, descriptors in _messages(state):
                for start in range(0, len(descriptors), BATCH):
                    socket.send_fds(successor, [message], descriptors[start : start + BATCH])
            successor.sendall(END)
            # No timeout while the successor lives: migrating a large database takes time.
            successor.settimeout(None)
            is_ready = successor.recv(1) == READY
    except OSError as error:
        _log.error(
            "the process that wanted to take over has closed the connection, so we continue: %s",
            error,
        )
        return False
    if is_ready:
        _log.info("handed over, with %d connections", len(state.sockets.connections))
    else:
        _log.error("the process that took over has failed, so we continue; its log says why")
    return is_ready


def _messages(state: InheritedState) -> Iterator[tuple[bytes, Sequence[int]]]:
    sockets, redirect = state.sockets, state.redirect
    yield LOCK, [state.lock]
    yield BORROWED if sockets.borrowed else OWN, sockets.listeners
    yield from _by_note(CONNECTIONS, sockets.connections)
    yield REDIRECT, redirect.listeners
    yield from _by_note(REDIRECTED, redirect.connections)


def _by_note(kind: bytes, connections: Connections) -> Iterator[tuple[bytes, list[int]]]:
    """Yield the messages for all connections, grouped by their notes."""
    together: dict[str, list[int]] = {}
    for descriptor, note in connections:
        together.setdefault(note, []).append(descriptor)
    for note, descriptors in together.items():
        yield kind + note.encode().ljust(NOTE), descriptors


def take_over(
    path: Path, manager: str = "", *, several: bool = False
) -> tuple[InheritedState, socket.socket]:
    """Ask the server at the control socket `path` for its state, and wait until we have it.

    `manager` is the address of the service manager that started us; `several` says whether we run
    several processes. The server waits for READY on
    the returned socket. Raise ControlError if the server refuses; it is NoServer if none runs.
    """
    taken: Taken = {kind: [] for kind in (LOCK, OWN, BORROWED, CONNECTIONS, REDIRECT, REDIRECTED)}
    with control.dial(path, HandOver(manager, several)) as server:
        try:
            _receive(server, taken)
            talk = server.dup()
        except (OSError, ControlError) as error:
            for connections in taken.values():
                close_all([descriptor for descriptor, _ in connections])
            raise ControlError(
                f"The server at {path} cannot be taken over: {error_text(error)}."
            ) from error
    own, borrowed, redirect = (
        tuple(fd for fd, _ in taken[kind]) for kind in (OWN, BORROWED, REDIRECT)
    )
    inherited = InheritedState(
        Sockets((*own, *borrowed), tuple(taken[CONNECTIONS]), bool(borrowed)),
        Sockets(redirect, tuple(taken[REDIRECTED])),
        taken[LOCK][0][0],
    )
    return inherited, talk


def _receive(server: socket.socket, taken: Taken) -> None:
    """Receive messages into `taken` until the last one."""
    server.settimeout(PATIENCE)
    while True:
        # There may be more than our own settings allow.
        raise_file_limit(sum(map(len, taken.values())) + BATCH)
        kind, descriptors, flags, _ = socket.recv_fds(server, 1, BATCH)
        for descriptor in descriptors:  # Python 3.11 does not pass MSG_CMSG_CLOEXEC
            os.set_inheritable(descriptor, False)
        if flags & socket.MSG_CTRUNC:
            _log.warning("some connections are lost: the limit of open files is too low")
        if kind == END and taken[LOCK]:
            return
        if kind not in taken:
            close_all(descriptors)
            if kind == REFUSED:
                raise ControlError(control.read_answer(server, kind).error)
            raise ControlError("it has closed the connection")
        note = ""
        if kind in (CONNECTIONS, REDIRECTED):
            note = server.recv(NOTE, socket.MSG_WAITALL).decode().rstrip()
        taken[kind].extend((descriptor, note) for descriptor in descriptors)

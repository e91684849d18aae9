"""Systemd: what a service manager passes to this process, and what it wants to be told.

It may open the listening sockets itself and keep them over restarts, so that no client is turned
away (sd_listen_fds(3): LISTEN_PID, LISTEN_FDS); wait until the service is ready (sd_notify(3):
NOTIFY_SOCKET); and expect a signal of life at intervals (sd_watchdog_enabled(3): WATCHDOG_USEC,
WATCHDOG_PID). Each takes a few lines, so libsystemd is not needed.
"""

import asyncio
import contextlib
import os
import socket
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

FIRST: Final = 3  # the first passed descriptor
MOST: Final = 64  # listening sockets: the core's limit


class SocketsUnusable(Exception):
    """The passed sockets are unusable; the text says what to do."""


class Notifier:
    """Reads the variables in `environ` for the process `pid`; see sd_notify(3).

    `address` is the notification socket, "" if there is none.
    """

    def __init__(self, environ: Mapping[str, str], pid: int) -> None:
        ours = environ.get("LISTEN_PID") == str(pid)
        self._count = environ.get("LISTEN_FDS", "") if ours else ""
        self.address = environ.get("NOTIFY_SOCKET", "")
        watched = environ.get("WATCHDOG_PID", str(pid)) == str(pid)
        microseconds = environ.get("WATCHDOG_USEC", "") if watched else ""
        is_number = microseconds.isascii() and microseconds.isdigit()
        # Seconds without a sign of life after which the manager ends the process; 0: never.
        self.watchdog: Final = int(microseconds) / 1_000_000 if is_number else 0.0

    def sockets(self) -> tuple[int, ...]:
        """Return the listening sockets that systemd passed; often none. Raise SocketsUnusable."""
        if not self._count:
            return ()
        if not self._count.isascii() or not self._count.isdigit() or int(self._count) > MOST:
            raise SocketsUnusable(
                f"LISTEN_FDS is {self._count!r}, but must be a number up to {MOST}."
            )
        numbers = range(FIRST, FIRST + int(self._count))
        for number in numbers:
            if not _listens(number):
                raise SocketsUnusable(
                    f"Descriptor {number} of LISTEN_FDS is not a listening stream socket. A socket "
                    "unit needs ListenStream= and Accept=no."
                )
        return tuple(numbers)

    def notify(self, *lines: str) -> None:
        """Send `lines`, such as READY=1. Errors are ignored: the manager may not listen."""
        path = self.address
        if not path:
            return
        address = "\0" + path[1:] if path.startswith("@") else path
        with (
            contextlib.suppress(OSError),
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as client,
        ):
            client.sendto("\n".join(lines).encode(), address)

    async def watch(self, pause: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        """Send a sign of life twice per watchdog interval, until cancelled.

        Return at once if none are wanted.
        """
        while self.watchdog:
            self.notify("WATCHDOG=1")
            await pause(self.watchdog / 2)


def _listens(number: int) -> bool:
    try:
        with socket.socket(fileno=os.dup(number)) as copy:
            accepts = copy.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
            return copy.type == socket.SOCK_STREAM and bool(accepts)
    except OSError:
        return False


def from_environment(environ: Mapping[str, str] = os.environ) -> Notifier:
    """Return the Notifier for this process; it does nothing without a service manager."""
    return Notifier(environ, os.getpid())

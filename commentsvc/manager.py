"""What the service manager that started us gives us, and what it wants to know.

It may open the listening sockets itself and keep them over our restarts, so that no client is
turned away (sd_listen_fds(3): LISTEN_PID, LISTEN_FDS), and wait until we are ready (sd_notify(3):
NOTIFY_SOCKET). Both are a few lines; libsystemd is not needed.

Errors: SocketsUnusable, alone.
"""

import contextlib
import os
import socket
from collections.abc import Mapping
from typing import Final

FIRST: Final = 3  # the first descriptor that is passed
MOST: Final = 64  # listening sockets; the core's bound


class SocketsUnusable(Exception):  # noqa: N818 - it names the state, as the message does
    """The sockets that were passed to us are not what we can use; the text says what to do."""


class Manager:
    """The variables in `environ` that are meant for the process `pid`."""

    def __init__(self, environ: Mapping[str, str], pid: int) -> None:
        ours = environ.get("LISTEN_PID") == str(pid)
        self._count = environ.get("LISTEN_FDS", "") if ours else ""
        self._notify = environ.get("NOTIFY_SOCKET", "")

    def sockets(self) -> tuple[int, ...]:
        """The listening sockets that were passed to us, none as a rule. Raises SocketsUnusable."""
        if not self._count:
            return ()
        if not self._count.isascii() or not self._count.isdigit() or int(self._count) > MOST:
            raise SocketsUnusable(f"LISTEN_FDS is {self._count!r}; give a number up to {MOST}.")
        numbers = range(FIRST, FIRST + int(self._count))
        for number in numbers:
            if not _listens(number):
                raise SocketsUnusable(
                    f"Descriptor {number} of LISTEN_FDS is no listening stream socket. A socket "
                    "unit needs ListenStream= and Accept=no."
                )
        return tuple(numbers)

    def tell(self, *lines: str) -> None:
        """Send `lines`, such as READY=1. A manager that does not listen is none of our trouble."""
        if not self._notify:
            return
        path = self._notify
        address = "\0" + path[1:] if path.startswith("@") else path
        with (
            contextlib.suppress(OSError),
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as client,
        ):
            client.sendto("\n".join(lines).encode(), address)


def _listens(number: int) -> bool:
    try:
        with socket.socket(fileno=os.dup(number)) as copy:
            accepts = copy.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
            return copy.type == socket.SOCK_STREAM and bool(accepts)
    except OSError:
        return False

"""Hostile clients: many connections at once that do little, or never read.

One thread of this process drives them, on the clients' core, with less than a hundredth of its
time: so what readers notice is caused by the server.
"""

import contextlib
import select
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from loadtest.harness.service import PATIENCE, ServiceError

TRICKLE = 4.0  # seconds between two bytes of a slow client
# Bytes of the kernel's buffers for a client that never reads: usually these are on another machine,
# but here all clients share the server's memory.
ROOM = 4_096
SETTLED = 0.5  # seconds in which none of them could send more

HALF_A_HEAD = b"GET /api/comments/count?url=/post/ HTTP/1.1\r\nX-Slow: "
HALF_A_BODY = (
    b"POST /api/comments HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
    b'Content-Length: 1000\r\n\r\n{"url"'
)


@contextmanager
def connect_many(
    port: int, count: int, said: bytes, room: int = 0
) -> Iterator[list[socket.socket]]:
    """Yield so many connections, each of which has sent `said`, with a receive buffer of `room`."""
    with ExitStack() as stack:
        clients = []
        for _ in range(count):
            client = stack.enter_context(socket.socket())
            client.settimeout(PATIENCE)
            if room:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
                client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, room)
            client.connect(("127.0.0.1", port))
            client.sendall(said)
            clients.append(client)
        yield clients


def wait_for_text(clients: list[socket.socket], wanted: bytes) -> float:
    """Read until each client has received `wanted`; return the time of the last one.

    Raise ServiceError if one is closed before, TimeoutError if one hears nothing.
    """
    with contextlib.closing(select.epoll()) as poller:
        silent = {client.fileno(): client for client in clients}
        heard = dict.fromkeys(silent, b"")
        for number in silent:
            poller.register(number, select.EPOLLIN)
        end = time.monotonic() + PATIENCE
        while silent:
            if time.monotonic() > end:
                raise TimeoutError(f"{len(silent)} clients did not hear {wanted!r}")
            for number, _ in poller.poll(PATIENCE):
                more = silent[number].recv(65_536)
                if not more:
                    raise ServiceError(f"a client heard {heard[number][:100]!r}, and was closed")
                heard[number] += more
                if wanted in heard[number]:
                    poller.unregister(number)
                    del silent[number]
    return time.monotonic()


def fill(clients: list[socket.socket], request: bytes) -> None:
    """Send requests until the server takes no more from any of them, and read nothing."""
    with contextlib.closing(select.epoll()) as poller:
        asking = {client.fileno(): client for client in clients}
        for number, client in asking.items():
            client.setblocking(False)
            poller.register(number, select.EPOLLOUT)
        while ready := poller.poll(SETTLED):
            for number, _ in ready:
                try:
                    asking[number].send(request * 100)
                except BlockingIOError:
                    continue
                except OSError:  # closed by the server
                    poller.unregister(number)


@contextmanager
def slow(port: int, each: int, request: bytes) -> Iterator[None]:
    """Keep `each` many slow heads, slow bodies, and clients that never read during the block.

    The slow ones send a byte now and then, spread over time; a closed one connects again.
    """
    ending = threading.Event()
    with ExitStack() as stack:
        fill(stack.enter_context(connect_many(port, each, b"", ROOM)), request)
        slow_ones = [
            (stack.enter_context(connect_many(port, each, said)), said)
            for said in (HALF_A_HEAD, HALF_A_BODY)
        ]
        clients = [(client, said) for many, said in slow_ones for client in many]
        thread = threading.Thread(target=_trickle, args=(port, clients, ending))
        thread.start()
        try:
            yield
        finally:
            ending.set()
            thread.join()


def _trickle(
    port: int, clients: list[tuple[socket.socket, bytes]], ending: threading.Event
) -> None:
    """Send a byte from each client in turn, all of them once in TRICKLE seconds."""
    with ExitStack() as stack:
        while not ending.is_set():
            for index, (client, said) in enumerate(clients):
                try:
                    client.send(b"x")
                except OSError:
                    again = socket.create_connection(("127.0.0.1", port), PATIENCE)
                    again.sendall(said)
                    clients[index] = (stack.enter_context(again), said)
                if ending.wait(TRICKLE / len(clients)):
                    break

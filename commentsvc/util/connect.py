"""Connects to a host by all of its addresses (RFC 8305, Happy Eyeballs).

Names are resolved in threads of their own. The event loop's few threads also check passwords and
render long comments, and a name server of somebody who wants to hold them up does not answer.
"""

import asyncio
import os
import socket
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from itertools import chain, zip_longest
from typing import Any, Final

LOOKUPS: Final = 64  # names that are looked up at once, also for requests that are over meanwhile
ADDRESSES: Final = 8  # of a host that are tried: a stranger's name may have any number
DELAY: Final = 0.25  # seconds until the next address is tried beside those before (RFC 8305, 5)

_lookups: Final = threading.BoundedSemaphore(LOOKUPS)


async def look_up(host: str, port: int) -> list[str]:
    """Return the addresses of `host`. Raise OSError or UnicodeError.

    Nothing but the resolver ends a lookup, which may take a minute. Its thread does not keep the
    program from ending.
    """
    entries: Future[list[Any]] = Future()  # Any: a tuple for each family of addresses
    entries.set_running_or_notify_cancel()

    def work() -> None:
        try:
            entries.set_result(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except Exception as error:  # for whoever waits
            entries.set_exception(error)
        finally:
            _lookups.release()

    if not _lookups.acquire(blocking=False):
        raise OSError("too many names are being looked up")
    threading.Thread(target=work, name="dns", daemon=True).start()
    return [str(entry[4][0]) for entry in await asyncio.wrap_future(entries)]


async def connect(addresses: Sequence[str], port: int) -> socket.socket:
    """Return a connection to the first of `addresses` that answers. Raise OSError."""
    waiting = _alternating(addresses)[:ADDRESSES]
    attempts: dict[asyncio.Task[socket.socket], str] = {}
    failures: list[str] = []
    try:
        while waiting or attempts:
            if waiting:
                address = waiting.pop(0)
                attempts[asyncio.create_task(_attempt(address, port))] = address
            done, _ = await asyncio.wait(
                attempts, timeout=DELAY if waiting else None, return_when=asyncio.FIRST_COMPLETED
            )
            for task in done:
                address, error = attempts.pop(task), task.exception()
                if error is None:
                    return task.result()
                number = getattr(error, "errno", None)
                failures.append(f"{address}: {os.strerror(number) if number else error}")
    finally:
        for task in attempts:
            task.cancel()
            task.add_done_callback(_close)
    raise ConnectionError("; ".join(failures) or "it has no address")


def _alternating(addresses: Sequence[str]) -> list[str]:
    """Return different addresses in their order, IPv6 and IPv4 in turns (RFC 8305, 4)."""
    different = [*dict.fromkeys(addresses)]
    first = [each for each in different if (":" in each) == (":" in different[0])]
    others = [each for each in different if each not in first]
    return [each for each in chain(*zip_longest(first, others)) if each]


async def _attempt(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    connection = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    try:
        await asyncio.get_running_loop().sock_connect(connection, (address, port))
    except BaseException:
        connection.close()
        raise
    return connection


def _close(attempt: "asyncio.Task[socket.socket]") -> None:
    """Close a connection that came in the moment in which another one was taken."""
    if not attempt.cancelled() and attempt.exception() is None:
        attempt.result().close()

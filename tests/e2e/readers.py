"""Clients that send requests over persistent connections and count the failures.

A client connects again only after an answer with "Connection: close". A connection that ends in
another way, an answer with another status, and a refused connection count as failed requests.
"""

import http.client
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.e2e.program import PATIENCE

TARGETS = (
    "/api/comments/count?url=/post/",  # answered from the response cache
    "/api/ping",  # answered by Python
)
PAUSE = 0.005  # seconds between two requests of a client, since many clients share two processors
LOST = (OSError, http.client.HTTPException)


class Readers:
    """What all clients together have received."""

    def __init__(self, dial: Callable[[], http.client.HTTPConnection], status: int) -> None:
        self.dial = dial
        self.status = status  # of each answer
        self.ending = threading.Event()
        self.answered = 0
        self.closed = 0  # connections whose end an answer announced
        self.slowest = 0.0  # seconds
        self.failures: list[str] = []
        self._lock = threading.Lock()

    def run(self, number: int) -> None:
        """Run one client until it is told to end."""
        target = TARGETS[number % len(TARGETS)]
        connection: http.client.HTTPConnection | None = None
        while not self.ending.is_set():
            fresh = connection is None
            begin = time.monotonic()
            try:
                connection = connection or self.dial()
                connection.request("GET", target)
                response = connection.getresponse()
                response.read()
            except LOST as error:
                self._count(begin, f"{target}, {'first' if fresh else 'kept'}: {error!r}")
                connection = None
                continue
            self._count(
                begin, "" if response.status == self.status else f"{target}: {response.status}"
            )
            if response.will_close:
                self.closed += 1
                connection.close()
                connection = None
            self.ending.wait(PAUSE)
        if connection:
            connection.close()

    def _count(self, begin: float, failure: str) -> None:
        with self._lock:
            self.answered += not failure
            self.slowest = max(self.slowest, time.monotonic() - begin)
            if failure:
                self.failures.append(failure)


@contextmanager
def reading(
    clients: int, dial: Callable[[], http.client.HTTPConnection], status: int = 200
) -> Iterator[Readers]:
    """Run this many clients during the block."""
    readers = Readers(dial, status)
    threads = [threading.Thread(target=readers.run, args=(n,)) for n in range(clients)]
    for thread in threads:
        thread.start()
    try:
        yield readers
    finally:
        readers.ending.set()
        for thread in threads:
            thread.join(PATIENCE)

"""Work on its way to an OS thread of ours, and its outcome on the way back.

DESIGN. An executor costs 100 µs per item, most of it in waking two sides for each. Here jobs wait
in a bounded backlog, whoever serves it takes many at once, and a whole batch of outcomes goes back
with one call into each event loop.
"""

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent import futures
from typing import Any, Generic, TypeVar

from commentsvc.db.sqlite import DatabaseBusy, DatabaseClosed, Transaction

T = TypeVar("T")
I = TypeVar("I")  # noqa: E741 - an item


class BatchOperation(Generic[I, T]):
    """Work that costs less for many items together than for each alone.

    `many` gives one outcome for each item, in their order. Where it raises, whatever it raises, it
    is undone and each item is done by `one`, which then raises for the items it concerns.
    """

    __slots__ = ("many", "one")

    def __init__(
        self,
        one: Callable[[Transaction, I], T],
        many: Callable[[Transaction, Sequence[I]], Sequence[T]],
    ) -> None:
        self.one = one
        self.many = many


class Job(Generic[T]):
    """One piece of work on its way to a writer or reader, then its outcome on the way back.

    It is `work`, or that of `bulk` on `item`. Any: an item's type is its bulk's own business. Where
    there is a `done`, it is called with the job on its loop, and there is no future.
    """

    __slots__ = ("bulk", "done", "error", "future", "item", "loop", "result", "work")

    def __init__(
        self,
        work: Callable[..., T],
        loop: asyncio.AbstractEventLoop | None,
        bulk: BatchOperation[Any, T] | None = None,
        item: Any = None,
        done: "Callable[[Job[T]], None] | None" = None,
    ) -> None:
        self.work = work
        self.loop = loop
        self.bulk = bulk
        self.item = item
        self.done = done
        self.future: Any = None  # Any: there are two kinds
        if done is None:
            self.future = loop.create_future() if loop else futures.Future()
        self.result: T | None = None
        self.error: Exception | None = None

    def settle(self) -> None:
        """Tell the outcome: on its loop's OS thread, or on any where there is no loop."""
        if self.done is not None:
            self.done(self)
        elif self.future.done():
            return  # its client has left
        elif self.error is None:
            self.future.set_result(self.result)
        elif isinstance(self.error, StopIteration):  # a future refuses to carry it
            self.future.set_exception(RuntimeError("the work raised StopIteration"))
        else:
            self.future.set_exception(self.error)


def _settle(jobs: Iterable[Job[Any]]) -> None:
    for job in jobs:
        job.settle()


def hand_back(jobs: Sequence[Job[Any]]) -> None:
    """Resolve the futures of `jobs` with one call into each of their loops."""
    by_loop: dict[asyncio.AbstractEventLoop | None, list[Job[Any]]] = {}
    for job in jobs:
        by_loop.setdefault(job.loop, []).append(job)
    for loop, theirs in by_loop.items():
        if loop is None:
            _settle(theirs)
        else:
            with contextlib.suppress(RuntimeError):  # the loop is closed, nobody waits there
                loop.call_soon_threadsafe(_settle, theirs)


class WorkQueue:
    """Jobs that wait for an OS thread of ours: bounded, first in first out."""

    def __init__(self, limit: int) -> None:
        self._jobs: queue.SimpleQueue[Job[Any] | None] = queue.SimpleQueue()
        self._limit = limit
        self._lock = threading.Lock()
        self._open = False

    def open(self) -> None:
        self._open = True

    def put(self, job: Job[Any]) -> None:
        with self._lock:  # so that no job gets behind the mark that close() leaves
            if not self._open:
                raise DatabaseClosed("the database is closed")
            if self._jobs.qsize() >= self._limit:
                raise DatabaseBusy(f"{self._limit} requests wait for the database")
            self._jobs.put(job)

    def take(self, most: int) -> list[Job[Any]]:
        """Wait for a job and take it with those behind it, `most` in all; [] once closed."""
        jobs: list[Job[Any]] = []
        while not jobs or (len(jobs) < most and self._jobs.qsize()):
            job = self._jobs.get()
            if job is None:
                self._jobs.put(None)  # the others who take from here want to see the mark too
                break
            jobs.append(job)
        return jobs

    def close(self) -> None:
        with self._lock:
            if self._open:
                self._open = False
                self._jobs.put(None)

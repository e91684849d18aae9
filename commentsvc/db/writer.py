"""The writer: one thread that changes the database, with many jobs in one transaction.

An acknowledged comment must survive a power cut, and an fsync takes longer than a hundred
submissions. So the writer takes what queued while its last fsync ran, gives each job a SAVEPOINT
inside one transaction, commits once, purges the cached responses that the transaction made stale,
and only then resolves the futures, with a single call into each event loop. Announce, commit,
purge, answer: the order is kept here and nowhere else. Between COMMIT and purge, reads see the new
state while stored answers still tell the old one; so the tags are announced before, and whoever
answers by such a read sees to it that nobody reads the old state after it (see `http.bridge`).

Neighbours of one kind (`BatchOperation`) share a SAVEPOINT and their statements. Where that fails,
all of them are undone and each is done alone, so one bad item never costs its neighbours.

A full disk, an I/O error or another program's lock fails the jobs of one transaction, and the next
transaction tries again: the service recovers by itself.

An executor costs 100 µs per item, most of it for waking two sides. Here jobs wait in a bounded
queue, the thread takes many at once, and a whole batch of outcomes goes back with one call into
each event loop. The reader threads use the same queue.
"""

import asyncio
import contextlib
import logging
import queue
import sqlite3
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent import futures
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter
from typing import Any, Concatenate, Final, Generic, ParamSpec, TypeVar

from commentsvc.db.sqlite import DatabaseBusy, DatabaseClosed, DatabaseError, Transaction, fault
from commentsvc.util.clock import SYSTEM_CLOCK, Clock
from commentsvc.util.timestamps import MINUTE_MS

P = ParamSpec("P")
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


@dataclass(slots=True, eq=False)
class Job(Generic[T]):
    """One piece of work on its way to a writer or reader, then its outcome on the way back.

    It is `work` with `args` and `kwargs` behind the Reader or Transaction. With a `bulk`, `work` is
    its `one`, and `args` the item alone. Where there is a `done`, it is called with the job on its
    loop, and there is no future.
    """

    work: Callable[..., T]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    loop: asyncio.AbstractEventLoop | None
    bulk: BatchOperation[Any, T] | None = None
    done: "Callable[[Job[T]], None] | None" = None
    future: Any = field(init=False, default=None)  # Any: there are two kinds
    result: T | None = field(init=False, default=None)
    error: Exception | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        if self.done is None:
            self.future = self.loop.create_future() if self.loop else futures.Future()

    def settle(self) -> None:
        """Tell the outcome: on its loop's thread, or on any where there is no loop."""
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
    """Jobs that wait for an thread of ours: bounded, first in first out."""

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


_log = logging.getLogger(__name__)

LOG_PAUSE_MS: Final = MINUTE_MS  # between two lines about the same failure
BATCH: Final = 512  # items per transaction: bounds what one failed COMMIT takes with it

Purge = Callable[[Sequence[str]], None]
# Is told the tags of a transaction before its COMMIT, and none after its purge.
Announce = Callable[[Sequence[str]], None]


class WriteHealth:
    """Whether transactions can be written, and how many could not; any thread may read it.

    A failure is logged at once, those that follow once in LOG_PAUSE_MS, and its end.
    """

    def __init__(self, clock: Clock = SYSTEM_CLOCK) -> None:
        self.error = ""  # of the last transaction; "" where it was written
        self.failures = 0  # since the start
        self._clock = clock
        self._logged_ms: int | None = None

    def failed(self, error: DatabaseError) -> None:
        """Note that a transaction could not be written."""
        self.failures += 1
        self.error = str(error)
        now_ms = self._clock.monotonic_ms()
        if self._logged_ms is None or now_ms - self._logged_ms >= LOG_PAUSE_MS:
            self._logged_ms = now_ms
            _log.error("nothing can be stored: %s", error)

    def succeeded(self) -> None:
        """Note that a transaction was written."""
        if self.error:
            self.error = ""
            self._logged_ms = None
            _log.info("comments can be stored again")


def run(
    connection: sqlite3.Connection,
    backlog: WorkQueue,
    purge: Purge,
    announce: Announce,
    health: WriteHealth,
) -> None:
    """Serve `backlog` until it is closed and empty."""
    while jobs := backlog.take(BATCH):
        tags: list[str] = []
        try:
            write_all(connection, jobs, tags, announce)
            health.succeeded()
            if tags:
                purge(list(dict.fromkeys(tags)))
        except Exception as error:
            with contextlib.suppress(sqlite3.Error):  # write_all tries again
                connection.rollback()
            known = fault(error)
            if known:
                health.failed(known)
            for job in jobs:
                job.error = known or error
        finally:
            if tags:
                announce(())
        hand_back(jobs)


def write_all(
    connection: sqlite3.Connection, jobs: Sequence[Job[Any]], tags: list[str], announce: Announce
) -> None:
    """Run `jobs` in one transaction, in their order, and commit; collect their tags.

    A job that fails is undone alone. Raises when the transaction as a whole failed.
    """
    transaction = Transaction(connection, tags)
    connection.rollback()  # does nothing, unless a failure left a transaction behind
    connection.execute("BEGIN IMMEDIATE")
    for bulk, group in groupby(jobs, attrgetter("bulk")):
        neighbours = list(group)
        if bulk is None or not _do_together(connection, transaction, bulk, neighbours):
            for job in neighbours:
                job.result, job.error = _attempt(
                    connection, transaction, job.work, *job.args, **job.kwargs
                )
    if tags:
        announce(tags)
    connection.execute("COMMIT")


def _do_together(
    connection: sqlite3.Connection,
    transaction: Transaction,
    bulk: BatchOperation[Any, Any],
    jobs: Sequence[Job[Any]],
) -> bool:
    """Do `jobs` by `bulk.many`; False where each has to be done alone."""
    if len(jobs) == 1:
        return False
    items = [job.args[0] for job in jobs]
    results, error = _attempt(connection, transaction, bulk.many, items)
    if error is not None:
        return False
    for job, result in zip(jobs, results, strict=True):
        job.result = result
    return True


def _attempt(
    connection: sqlite3.Connection,
    transaction: Transaction,
    work: Callable[Concatenate[Transaction, P], Any],
    *args: P.args,
    **kwargs: P.kwargs,
) -> tuple[Any, Exception | None]:
    """Run `work` in a savepoint: its outcome, or what it raised, and then it is undone.

    Raises when the transaction as a whole failed.
    """
    mark = transaction.mark()
    connection.execute("SAVEPOINT item")
    outcome, raised = None, None
    try:
        outcome = work(transaction, *args, **kwargs)
    except Exception as error:
        if fault(error) or not connection.in_transaction:  # SQLite may have undone it all
            raise
        transaction.forget(mark)
        connection.execute("ROLLBACK TO item")
        raised = error
    connection.execute("RELEASE item")
    return outcome, raised

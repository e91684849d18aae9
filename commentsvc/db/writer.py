"""The writer: one thread that changes the database, with many jobs in one transaction.

An acknowledged comment must survive a power cut, and an fsync takes longer than a hundred
submissions. So the writer takes all jobs that were queued during its last fsync, and those queued
while it waited for another process or instance that writes, runs each in a SAVEPOINT inside one
transaction, commits once, purges the cached responses that became stale, and only then resolves the
futures, with a single call into each event loop. Announce, commit, purge, answer: the order is
ensured here and nowhere else.

Between COMMIT and purge, reads see the new state while the cache still has the old one. So each tag
is noted before the COMMIT. A handler that answers from the new state first makes sure that the
cache no longer sends the old one (see `http.bridge`). If other instances have caches too (`peers`),
the answer waits for them, while the next transaction is already under way.

Neighbours of one kind (`BatchOperation`) share a SAVEPOINT and their statements. If that fails, all
of them are rolled back and each is run alone, so one invalid item does not affect its neighbours.

A full disk, an I/O error or another program's lock fails the jobs of one transaction. The next
transaction is tried again, so the service recovers by itself.

An executor costs 100 µs per item, mostly for waking two threads. Here jobs wait in a bounded queue,
the thread takes many at once, and all results go back with one call into each event loop. The
threads that read use the same queue.
"""

import asyncio
import contextlib
import logging
import queue
import sqlite3
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent import futures
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Any, Concatenate, Final, Generic, ParamSpec, TypeVar

import msgspec

from commentsvc.db.connection import Transaction
from commentsvc.db.engine import Engine
from commentsvc.db.errors import DatabaseBusy, DatabaseClosed, DatabaseError
from commentsvc.db.peers import Peers
from commentsvc.db.sqlite.connection import is_damaged_text
from commentsvc.util.clock import SYSTEM_CLOCK, Clock
from commentsvc.util.timestamps import MINUTE_MS

P = ParamSpec("P")
T = TypeVar("T")
I = TypeVar("I")  # noqa: E741 - an item


class BatchOperation(Generic[I, T]):
    """Work that costs less for many items together than for each alone.

    `many` returns one result for each item, in their order. If it raises any exception, it is
    rolled back and `one` is run for each item, which then raises only for the items at fault.
    """

    __slots__ = ("many", "one")

    def __init__(
        self,
        one: Callable[[Transaction, I], T],
        many: Callable[[Transaction, Sequence[I]], Sequence[T]],
    ) -> None:
        self.one = one
        self.many = many


class Job(msgspec.Struct, Generic[T], eq=False):
    """A call of `work` that waits for a writer or reading thread, and later its result.

    `args` and `kwargs` follow the Snapshot or Transaction. With a `bulk`, `work` is `bulk.one` and
    `args` is the item alone.
    """

    work: Callable[..., T]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    loop: asyncio.AbstractEventLoop | None
    bulk: BatchOperation[Any, T] | None = None
    future: Any = None  # Any: it is an asyncio or a concurrent future
    result: T | None = None
    error: Exception | None = None
    took_ms: float = 0.0  # milliseconds that a read took

    def __post_init__(self) -> None:
        self.future = self.loop.create_future() if self.loop else futures.Future()

    def report(self) -> None:
        """Report the result, on the thread of the event loop, or on any thread without a loop."""
        if self.future.done():
            return  # the client has disconnected
        if self.error is None:
            self.future.set_result(self.result)
        elif isinstance(self.error, StopIteration):  # a future does not accept it
            self.future.set_exception(RuntimeError("the work raised StopIteration"))
        else:
            self.future.set_exception(self.error)


def _report(jobs: Iterable[Job[Any]]) -> None:
    for job in jobs:
        job.report()


def hand_back(jobs: Sequence[Job[Any]]) -> None:
    """Resolve the futures of `jobs` with one call into each of their loops."""
    by_loop: dict[asyncio.AbstractEventLoop | None, list[Job[Any]]] = {}
    for job in jobs:
        by_loop.setdefault(job.loop, []).append(job)
    for loop, theirs in by_loop.items():
        if loop is None:
            _report(theirs)
        else:
            with contextlib.suppress(RuntimeError):  # the loop is closed, so nobody waits
                loop.call_soon_threadsafe(_report, theirs)


class WorkQueue:
    """A bounded first-in, first-out queue of jobs for a thread of the database."""

    def __init__(self, limit: int) -> None:
        self._jobs: queue.SimpleQueue[Job[Any] | None] = queue.SimpleQueue()
        self._limit = limit
        self._lock = threading.Lock()
        self._open = False

    def open(self) -> None:
        self._open = True

    def put(self, job: Job[Any]) -> None:
        with self._lock:  # so that no job comes after the end mark of close()
            if not self._open:
                raise DatabaseClosed("the database is closed")
            if self._jobs.qsize() >= self._limit:
                raise DatabaseBusy(f"{self._limit} requests wait for the database")
            self._jobs.put(job)

    def take(self, most: int) -> list[Job[Any]]:
        """Wait for a job; return it and its successors, `most` in all, or [] once closed."""
        jobs: list[Job[Any]] = []
        if self._append_next(jobs):
            self.fill(jobs, most)
        return jobs

    def fill(self, jobs: list[Job[Any]], most: int) -> None:
        """Append the waiting jobs to `jobs`, `most` in all, without waiting for others.

        Only for a queue from which one thread takes jobs.
        """
        while len(jobs) < most and self._jobs.qsize() and self._append_next(jobs):
            pass

    def _append_next(self, jobs: list[Job[Any]]) -> bool:
        """Wait for a job and append it; return False once closed."""
        job = self._jobs.get()
        if job is None:
            self._jobs.put(None)  # the other threads that take jobs need the end mark too
            return False
        jobs.append(job)
        return True

    def close(self) -> None:
        with self._lock:
            if self._open:
                self._open = False
                self._jobs.put(None)


_log = logging.getLogger(__name__)

LOG_PAUSE_MS: Final = MINUTE_MS  # between two log lines about the same failure
BATCH: Final = 512  # items per transaction: a failed COMMIT fails no more than these

Purge = Callable[[Sequence[str]], None]
# Called with the tags of a transaction before its COMMIT, and with none after its purge.
Announce = Callable[[Sequence[str]], None]


@dataclass(frozen=True, slots=True)
class Caches:
    """Who has answers that a transaction makes stale: this process, and its peers."""

    purge: Purge
    announce: Announce
    peers: Peers


class WriteHealth:
    """Whether transactions can be written, and how many failed; any thread may read it.

    The first failure is logged at once, further ones once per LOG_PAUSE_MS, and then the recovery.
    """

    def __init__(self, clock: Clock = SYSTEM_CLOCK) -> None:
        self.error = ""  # of the last transaction; "" where it was written
        self.failures = 0  # since the start
        self.is_logged = True  # not for a command, which tells its failure itself
        self._clock = clock
        self._logged_ms: int | None = None

    @property
    def trouble(self) -> str:
        """What is wrong, "" if nothing is."""
        return self.error and f"nothing can be stored: {self.error}"

    def failed(self, error: DatabaseError) -> None:
        """Count and log a transaction that could not be written."""
        self.failures += 1
        self.error = str(error)
        now_ms = self._clock.monotonic_ms()
        is_due = self._logged_ms is None or now_ms - self._logged_ms >= LOG_PAUSE_MS
        if self.is_logged and is_due:
            self._logged_ms = now_ms
            _log.error("%s (%s)", self.trouble, type(error).__name__)

    def succeeded(self) -> None:
        """Note that a transaction was written; log it after a failure."""
        if self.error:
            self.error = ""
            self._logged_ms = None
            _log.info("comments can be stored again")


def run(
    engine: Engine,
    connection: Any,
    backlog: WorkQueue,
    caches: Caches,
    health: WriteHealth,
) -> None:
    """Run the jobs of `backlog` until it is closed and empty.

    Any: a connection that `engine` opened.
    """
    while jobs := backlog.take(BATCH):
        tags: list[str] = []
        purged = False
        try:
            write_all(engine, connection, backlog, jobs, tags, caches)
            health.succeeded()
            if tags:
                caches.purge(list(dict.fromkeys(tags)))
                purged = True
        except Exception as error:
            with contextlib.suppress(sqlite3.Error):  # write_all rolls back again
                connection.rollback()
            known = engine.fault(error)
            if known:
                health.failed(known)
            for job in jobs:
                job.error = known or error
        finally:
            if tags:
                caches.announce(())
        if purged:
            caches.peers.when_seen(partial(hand_back, jobs))
        else:
            hand_back(jobs)


def write_all(
    engine: Engine,
    connection: Any,
    backlog: WorkQueue,
    jobs: list[Job[Any]],
    tags: list[str],
    caches: Caches,
) -> None:
    """Run `jobs` in one transaction, in their order, and commit; collect their tags.

    The jobs of `backlog` that were queued while it waited to write are appended to `jobs`. A job
    that fails is rolled back alone. Raise an exception if the whole transaction failed.
    """
    transaction = engine.transaction(connection, tags)
    connection.rollback()  # does nothing, unless a failure left a transaction behind
    engine.check_identity()
    connection.execute(transaction.BEGIN)
    caches.peers.begin(transaction)
    backlog.fill(jobs, BATCH)
    if len(jobs) == 1:
        if not _do_alone(engine, transaction, jobs[0]):
            connection.rollback()
            if not _is_damaged(jobs[0].error):
                return
            connection.execute(transaction.BEGIN)
            caches.peers.begin(transaction)
            _do_replacing_damage(engine, transaction, jobs[0])
    else:
        for bulk, group in groupby(jobs, attrgetter("bulk")):
            neighbours = list(group)
            if bulk is None or not _do_together(engine, transaction, bulk, neighbours):
                for job in neighbours:
                    job.result, job.error = _attempt(
                        engine, transaction, job.work, *job.args, **job.kwargs
                    )
                    if _is_damaged(job.error):
                        _do_replacing_damage(engine, transaction, job)
    if tags:
        caches.peers.notify_purge(transaction, list(dict.fromkeys(tags)))
        caches.announce(tags)
    connection.execute("COMMIT")
    engine.note_commit()


def _do_alone(engine: Engine, transaction: Transaction, job: Job[Any]) -> bool:
    """Do the only job of a transaction; return False if it failed and is to be rolled back.

    It needs no savepoint, which saves two of eight statements of a submission.
    """
    mark = transaction.mark()
    try:
        job.result = job.work(transaction, *job.args, **job.kwargs)
    except Exception as error:
        if engine.fault(error) or not transaction.is_open:  # SQLite may have rolled it back
            raise
        transaction.forget(mark)
        job.error = error
        return False
    return True


def _is_damaged(error: Exception | None) -> bool:
    return error is not None and is_damaged_text(error)


def _do_replacing_damage(engine: Engine, transaction: Transaction, job: Job[Any]) -> None:
    """Do a job again that found a damaged text, so that what is damaged can be moderated."""
    job.result, job.error = _attempt(
        engine, transaction, Transaction.replacing_damage, job.work, *job.args, **job.kwargs
    )


def _do_together(
    engine: Engine,
    transaction: Transaction,
    bulk: BatchOperation[Any, Any],
    jobs: Sequence[Job[Any]],
) -> bool:
    """Run `jobs` through `bulk.many`; return False if each has to be run alone."""
    if len(jobs) == 1:
        return False
    items = [job.args[0] for job in jobs]
    results, error = _attempt(engine, transaction, bulk.many, items)
    if error is not None:
        return False
    for job, result in zip(jobs, results, strict=True):
        job.result = result
    return True


def _attempt(
    engine: Engine,
    transaction: Transaction,
    work: Callable[Concatenate[Transaction, P], Any],
    *args: P.args,
    **kwargs: P.kwargs,
) -> tuple[Any, Exception | None]:
    """Run `work` in a savepoint; return its result, or the exception after a rollback.

    Raise an exception if the whole transaction failed.
    """
    mark = transaction.mark()
    transaction.execute("SAVEPOINT item")
    outcome, raised = None, None
    try:
        outcome = work(transaction, *args, **kwargs)
    except Exception as error:
        if engine.fault(error) or not transaction.is_open:  # SQLite may have rolled it back
            raise
        transaction.forget(mark)
        transaction.execute("ROLLBACK TO item")
        raised = error
    transaction.execute("RELEASE item")
    return outcome, raised

"""The database of the service: one thread that writes, in groups, and several that read.

One thread, the `writer`, holds the only connection that writes; it runs all waiting writes in one
transaction. Reading connections are `query_only`: one for `read_now`, and one for each reading
thread. Public reads have threads of their own, so that many of them delay neither moderators
nor submissions. In WAL mode reads and writes do not wait for each other, and a read that
begins after a write was acknowledged sees that write.
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Concatenate, Final, ParamSpec

from commentsvc.db import writer
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.engine import Location, engine_for
from commentsvc.db.errors import DatabaseBusy, DatabaseClosed, DatabaseUnusable
from commentsvc.db.peers import Peers
from commentsvc.db.sqlite.connection import is_damaged_text
from commentsvc.db.writer import (
    BatchOperation,
    Caches,
    I,
    Job,
    T,
    WorkQueue,
    WriteHealth,
    hand_back,
)
from commentsvc.settings.schema import DatabaseSettings
from commentsvc.util.clock import SYSTEM_CLOCK
from commentsvc.util.database_cost import database_ms
from commentsvc.util.threads import PROCESS, run_in

P = ParamSpec("P")

READ_THREADS: Final = (
    2  # threads of each kind, for reads that would block the event loop for too long
)
WRITER_PATIENCE: Final = 3.0  # seconds to wait for another program's lock; submissions wait too
DEFAULTS: Final = DatabaseSettings()
# The most writes, and the most reads of each kind, that may wait; further ones are refused. It is
# more than a second's work, so a longer queue would only delay the refusal.
QUEUE: Final = 10_000
WRITER_CACHE: Final = 4_096  # KiB: holds the pages that the largest batch changes


class Database:
    """The database of a service: a file, or PostgreSQL at a URL.

    `migrations.upgrade` has made or checked it before.

    After `checkpoint_pages` pages in `settings`, the log is copied into the file, which costs two
    more fsyncs; 0 means never. `purge` is called with the cache tags of each committed transaction,
    on the writer's thread. `announce` is called with them before the COMMIT, and with () after the
    purge.

    The `work` of each method is a function of a Snapshot or Transaction and of the arguments that
    follow, as in ``await database.read(find, comment_id)``.
    """

    def __init__(
        self,
        location: Location,
        settings: DatabaseSettings = DEFAULTS,
        *,
        purge: Callable[[Sequence[str]], None],
        announce: Callable[[Sequence[str]], None] = lambda _tags: None,
        patience: float = WRITER_PATIENCE,
    ) -> None:
        self.location = location
        self.write_health = WriteHealth()
        self._engine = engine_for(location, settings, patience)
        self._purge = purge
        self._announce = announce
        self._writes = WorkQueue(QUEUE)
        self._reads = WorkQueue(QUEUE)
        self._public_reads = WorkQueue(QUEUE)
        self._runners: list[threading.Thread] = []
        self._connections: list[Any] = []  # Any: see engine.Engine
        self._inline: Snapshot | None = None
        self._peers: Peers = self._engine.peers

    def open(self, *, cache: int = WRITER_CACHE, peers: Peers | None = None) -> None:
        """Connect, and start the threads that write and read. Raise DatabaseError.

        `cache` is the size of the writer's page cache in KiB. `peers` are given by an instance of
        the service; other programs only tell the instances what they change.
        """
        engine = self._engine
        if peers is not None:
            self._peers = peers
        try:
            writing = self._keep(engine.writing(cache))
            reading = [
                (reads, self._keep(engine.reading(on_loop=False)))
                for reads in (self._reads, self._public_reads)
                for _ in range(READ_THREADS)
            ]
            self._inline = engine.snapshot(self._keep(engine.reading(on_loop=True)))
        except Exception as error:
            self._disconnect()
            known = engine.fault(error)
            if isinstance(known, DatabaseBusy | DatabaseUnusable):
                raise known from error
            raise DatabaseUnusable(f"{engine.name} cannot be opened ({error})") from error
        self._start("writer", self._run_writer, writing)
        for number, (reads, connection) in enumerate(reading, 1):
            self._start(f"reads-{number}", partial(self._run_reads, reads), connection)
        for queue in (self._writes, self._reads, self._public_reads):
            queue.open()

    async def write(
        self, work: Callable[Concatenate[Transaction, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run `work` in the next transaction; return after its COMMIT and its purge.

        An exception of `work` rolls back the changes of `work` alone and is raised here. Raise
        DatabaseError.
        """
        job = Job(work, args, kwargs, asyncio.get_running_loop())
        self._writes.put(job)
        return await job.future  # type: ignore[no-any-return]  # Job says why it is Any

    async def write_each(self, bulk: BatchOperation[I, T], item: I) -> T:
        """Do as `write` with `bulk.one` and `item`; `bulk.many` takes items that wait together."""
        job = Job(bulk.one, (item,), {}, asyncio.get_running_loop(), bulk)
        self._writes.put(job)
        return await job.future  # type: ignore[no-any-return]  # Job says why it is Any

    def write_now(
        self, work: Callable[Concatenate[Transaction, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Do as `write`, but block the caller: for programs without an event loop."""
        job = Job(work, args, kwargs, None)
        self._writes.put(job)
        return job.future.result()  # type: ignore[no-any-return]  # Job says why it is Any

    async def read(
        self, work: Callable[Concatenate[Snapshot, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run `work` on a reading thread; all of its queries see one state. Raise DatabaseError.

        This is for moderators, submissions and background tasks.
        """
        return await _read_on(self._reads, Job(work, args, kwargs, asyncio.get_running_loop()))

    async def read_for_public(
        self, work: Callable[Concatenate[Snapshot, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Do as `read`, on other threads: for requests that need no sign-in."""
        job = Job(work, args, kwargs, asyncio.get_running_loop())
        return await _read_on(self._public_reads, job)

    def read_alone(
        self, work: Callable[Concatenate[Snapshot, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run `work` on the caller's thread and a connection of its own, however long it takes.

        It sees one state. The log of writes grows meanwhile, since no checkpoint is made. Raise
        DatabaseError, and what `work` raises.
        """
        try:
            with contextlib.closing(self._engine.reading(on_loop=False)) as connection:
                return self._engine.snapshot(connection).whole(work, *args, **kwargs)
        except Exception as error:
            if known := self._engine.fault(error):
                raise known from error
            raise

    def read_now(
        self, work: Callable[Concatenate[Snapshot, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run short indexed reads on the event loop's thread, without waiting for another.

        Each statement sees the state of its own moment, unless `work` uses `Snapshot.whole`.
        """
        if self._inline is None:
            raise DatabaseClosed("the database is closed")
        try:
            return work(self._inline, *args, **kwargs)
        except Exception as error:
            if is_damaged_text(error):
                return self._inline.replacing_damage(work, *args, **kwargs)
            known = self._engine.fault(error)
            if known is None:
                raise
            raise known from error

    @property
    def seems_replaced(self) -> bool:
        """Whether the files at the database's path may be others; the next write finds out."""
        return self._engine.seems_replaced()

    async def close(self) -> None:
        """Finish what is queued, then close the file. Later calls raise DatabaseClosed."""
        await run_in(PROCESS, self.close_now)

    def close_now(self) -> None:
        """Do as `close`, but block the caller."""
        self._reads.close()
        self._public_reads.close()
        self._writes.close()
        self._inline = None
        while self._runners:
            self._runners.pop().join()
        self._disconnect()

    def _keep(self, connection: Any) -> Any:  # Any: see engine.Engine
        self._connections.append(connection)
        return connection

    def _disconnect(self) -> None:
        while self._connections:  # the writer's last: the last one to close makes the checkpoint
            self._connections.pop().close()
        self._engine.close()

    def _start(
        self,
        name: str,
        run: Callable[[Any], None],
        connection: Any,  # Any: see engine.Engine
    ) -> None:
        runner = threading.Thread(target=run, args=(connection,), name=name, daemon=True)
        self._runners.append(runner)
        runner.start()

    def _run_writer(self, connection: Any) -> None:  # Any: as above
        caches = Caches(self._purge, self._announce, self._peers)
        writer.run(self._engine, connection, self._writes, caches, self.write_health)

    def _run_reads(self, reads: WorkQueue, connection: Any) -> None:  # Any: as above
        snapshot = self._engine.snapshot(connection)
        while jobs := reads.take(1):
            [job] = jobs
            begun = SYSTEM_CLOCK.precise_ms()
            try:
                try:
                    job.result = snapshot.whole(job.work, *job.args, **job.kwargs)
                except Exception as error:
                    if not is_damaged_text(error):
                        raise
                    job.result = snapshot.replacing_damage(
                        Snapshot.whole, job.work, *job.args, **job.kwargs
                    )
            except Exception as error:
                job.error = self._engine.fault(error) or error
            job.took_ms = SYSTEM_CLOCK.precise_ms() - begun
            hand_back(jobs)


async def _read_on(reads: WorkQueue, job: Job[T]) -> T:
    """Return the result of a job on one of the threads of a queue, and note how long it took."""
    reads.put(job)
    try:
        return await job.future  # type: ignore[no-any-return]  # Job says why it is Any
    finally:
        database_ms.set(database_ms.get() + job.took_ms)

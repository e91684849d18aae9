"""The writer: commit, purge, answer; failing work fails alone and is retried."""

import asyncio
import contextlib
import logging
import os
import resource
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from commentsvc.db import database as database_module
from commentsvc.db.connection import Transaction
from commentsvc.db.database import Database
from commentsvc.db.errors import DatabaseBusy, DatabaseClosed, DatabaseFull, DatabaseUnwritable
from commentsvc.db.postgresql import connection as postgresql
from commentsvc.db.writer import BATCH, Job, WorkQueue, WriteHealth, hand_back
from tests.conftest import cannot_run
from tests.e2e.program import holding_lock
from tests.unit.database_fixture import BROKEN_RULE, connected, held, opened, site, sites
from tests.unit.settable_clock import SettableClock


@contextlib.contextmanager
def file_limit(size: int) -> Iterator[None]:
    """Let no file of this process grow beyond `size` bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """Mount a file system of one megabyte."""
    disk = folder / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False).returncode != 0:
        cannot_run("only root may mount a small file system")
    try:
        yield disk
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_an_answer_comes_after_the_commit_and_after_the_purge(tmp_path: Path) -> None:
    events: list[object] = []

    def purge(tags: object) -> None:
        # Another connection sees only what is committed.
        with contextlib.closing(connected(tmp_path)) as other:
            events.append((tags, other.execute("SELECT max(name) FROM site").fetchone()[0]))

    async def main(database: Database) -> None:
        events.append(await database.write(site("new", "site:new")))

    with opened(tmp_path, purge) as database:
        asyncio.run(main(database))
    assert events == [(["site:new"], "new"), "new"]


def test_tags_are_announced_before_anybody_can_see_and_until_the_purge_is_over(
    tmp_path: Path,
) -> None:
    events: list[object] = []

    def note(kind: str, tags: Sequence[str]) -> None:
        with contextlib.closing(connected(tmp_path)) as other:
            [(newest,)] = other.execute("SELECT max(name) FROM site").fetchall()
        events.append((kind, [*tags], newest))

    with opened(tmp_path, partial(note, "purge"), announce=partial(note, "announce")) as database:
        database.write_now(site("new", "site:new"))
        database.write_now(lambda _: None)
    assert events == [
        ("announce", ["site:new"], "blog"),
        ("purge", ["site:new"], "new"),
        ("announce", [], "new"),
    ]


def test_what_queues_meanwhile_shares_a_transaction_and_a_purge(tmp_path: Path) -> None:
    purged: list[list[str]] = []

    async def main(database: Database) -> None:
        go_on = held(database)
        writes = [
            asyncio.ensure_future(database.write(site(f"site {number}", "all", f"{number}")))
            for number in range(BATCH + 10)
        ]
        await asyncio.sleep(0)  # all of them are queued
        go_on.set()
        await asyncio.gather(*writes)

    with opened(tmp_path, lambda tags: purged.append(list(tags))) as database:
        asyncio.run(main(database))
    assert purged[0] == ["all", *(str(number) for number in range(BATCH))]
    assert [len(tags) for tags in purged] == [BATCH + 1, 11]


def test_what_queues_while_another_writes_shares_the_next_transaction(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    purged: list[list[str]] = []

    async def main(database: Database, other: Any) -> None:  # Any: a connection
        async def queued(name: str) -> asyncio.Task[str]:
            """Queue a job once the one before it was taken."""
            while True:
                write = asyncio.create_task(database.write(site(name, name)))
                await asyncio.sleep(0.01)
                if not write.done():
                    return write
                with pytest.raises(DatabaseBusy, match="1 requests wait"):
                    await write

        with holding_lock(other):
            first = await queued("first")
            second = await queued("second")
        await asyncio.gather(first, second)

    monkeypatch.setattr(database_module, "QUEUE", 1)
    with (
        opened(tmp_path, lambda tags: purged.append(list(tags))) as database,
        contextlib.closing(connected(tmp_path)) as other,
    ):
        asyncio.run(main(database, other))
    assert purged == [["first", "second"]]


def test_work_that_raises_is_undone_alone_and_purges_nothing(tmp_path: Path) -> None:
    purged: list[str] = []

    def refused(tx: Transaction) -> None:
        site("half", "half")(tx)
        raise ValueError("refused")

    def twice(tx: Transaction) -> None:
        site("half", "half")(tx)
        site("half")(tx)

    async def main(database: Database) -> list[object]:
        go_on = held(database)
        works = [site("first", "first"), refused, twice, site("last", "last")]
        writes = [asyncio.ensure_future(database.write(work)) for work in works]
        await asyncio.sleep(0)
        go_on.set()
        return list(await asyncio.gather(*writes, return_exceptions=True))

    with opened(tmp_path, purged.extend) as database:
        first, error, repeated, last = asyncio.run(main(database))
        assert (first, last) == ("first", "last")
        assert isinstance(error, ValueError)
        assert isinstance(repeated, BROKEN_RULE)
        assert database.read_now(sites) == ["blog", "first", "last"]
    assert purged == ["first", "last"]


@pytest.mark.sqlite_only("PostgreSQL accepts no text that is not UTF-8")
def test_what_is_damaged_can_be_changed_alone_and_beside_others(tmp_path: Path) -> None:
    purged: list[str] = []

    def damaged(tx: Transaction, name: str) -> str:
        site(name, name)(tx)
        tx.purge(name)
        return str(tx.execute("SELECT CAST(x'6fff' AS TEXT)").fetchone()[0])

    async def main(database: Database) -> list[object]:
        alone = await database.write(damaged, "alone")
        go_on = held(database)
        beside = asyncio.ensure_future(database.write(damaged, "beside"))
        other = asyncio.ensure_future(database.write(site("other", "other")))
        await asyncio.sleep(0)
        go_on.set()
        return [alone, await beside, await other]

    with opened(tmp_path, purged.extend) as database:
        assert asyncio.run(main(database)) == ["o\ufffd", "o\ufffd", "other"]
        assert database.read_now(sites) == ["blog", "alone", "beside", "other"]
    assert purged == ["alone", "beside", "other"]


def test_a_purge_that_fails_is_no_acknowledgement_but_the_service_goes_on(tmp_path: Path) -> None:
    def purge(tags: object) -> None:
        if tags == ["bad"]:
            raise ValueError("bad tag")

    with opened(tmp_path, purge) as database:
        with pytest.raises(ValueError, match="bad tag"):
            database.write_now(site("stored", "bad"))
        assert database.write_now(site("next", "good")) == "next"


@pytest.mark.sqlite_only("test_postgresql.py fails a COMMIT of PostgreSQL")
def test_what_was_returned_before_a_commit_failed_is_no_result(tmp_path: Path) -> None:
    """A comment was acknowledged though its COMMIT had failed."""

    def orphan(tx: Transaction, name: str) -> str:
        tx.execute("PRAGMA defer_foreign_keys = ON")
        tx.execute("INSERT INTO proposed_title (comment_id, title) VALUES (999, 't')")
        return name

    with opened(tmp_path) as database, pytest.raises(BROKEN_RULE):
        database.write_now(orphan, "lost")


def test_another_programs_lock_means_a_bounded_wait_and_no_acknowledgement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    purged: list[str] = []
    monkeypatch.setattr(postgresql, "WRITER_PATIENCE", 1)
    with opened(tmp_path, purged.extend, patience=0.2) as database:
        with contextlib.closing(connected(tmp_path)) as other, holding_lock(other):
            start = time.monotonic()
            with pytest.raises(DatabaseBusy, match=r"another (program|commentsvc)"):
                database.write_now(site("waits", "waits"))
            assert time.monotonic() - start > 0.1
            assert database.read_now(sites) == ["blog"]
        assert database.write_now(site("later", "later")) == "later"
        assert database.read_now(sites) == ["blog", "later"]
    assert purged == ["later"]


@pytest.mark.sqlite_only("PostgreSQL writes the files")
def test_a_file_that_cannot_grow_fails_what_was_queued_and_recovers(tmp_path: Path) -> None:
    purged: list[str] = []

    def large(name: str) -> Callable[[Transaction], str]:
        return site(name + "x" * 20_000, name)

    async def main(database: Database) -> list[object]:
        go_on = held(database)
        writes = [asyncio.ensure_future(database.write(large(str(n)))) for n in range(20)]
        await asyncio.sleep(0)
        size = (tmp_path / "comments.sqlite3-wal").stat().st_size
        with file_limit(size + 40_000):
            go_on.set()
            return list(await asyncio.gather(*writes, return_exceptions=True))

    with opened(tmp_path, purged.extend) as database:
        for _ in range(3):
            outcomes = {type(outcome) for outcome in asyncio.run(main(database))}
            assert outcomes == {DatabaseUnwritable}
            assert "SQLITE_IOERR_WRITE" in database.write_health.error
        assert database.read_now(sites) == ["blog"]
        assert purged == []
        database.write_now(site("room again", "room"))
        assert not database.write_health.error
        assert database.read_now(sites) == ["blog", "room again"]
        assert purged == ["room"]
        assert database.read_now(
            lambda snapshot: snapshot.execute("PRAGMA integrity_check").fetchall()
        )


@pytest.mark.sqlite_only("loadtest/cluster fills PostgreSQL's disk")
def test_a_full_disk_fails_what_was_queued_and_recovers(tmp_path: Path) -> None:
    with small_disk(tmp_path) as disk, opened(disk) as database:
        ballast = disk / "ballast"
        with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(b"x" * 4096)
        for number in range(1_000):
            try:
                database.write_now(site(f"{number}" + "x" * 10_000))
            except DatabaseFull:
                break
        stored = database.read_now(sites)
        with pytest.raises(DatabaseFull, match="full"):
            database.write_now(site("y" * 10_000))
        ballast.unlink()
        database.write_now(site("room again"))
        assert database.read_now(sites) == [*stored, "room again"]


def test_what_cannot_be_stored_is_logged_once_a_minute_and_when_it_is_over(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = SettableClock(0)
    health = WriteHealth(clock)
    with caplog.at_level(logging.INFO):
        for clock.elapsed in (0, 1_000, 59_000, 61_000, 62_000):
            health.failed(DatabaseFull("the disk is full"))
        assert (health.error, health.failures) == ("the disk is full", 5)
        health.succeeded()
        health.succeeded()
    assert health.error == ""
    failed = "nothing can be stored: the disk is full (DatabaseFull)"
    lines = [record.getMessage() for record in caplog.records]
    assert lines == [failed, failed, "comments can be stored again"]


def job(loop: asyncio.AbstractEventLoop | None = None) -> Job[Any]:
    return Job(lambda: None, (), {}, loop)


def backlog(limit: int = 10) -> WorkQueue:
    waiting = WorkQueue(limit)
    waiting.open()
    return waiting


def test_jobs_are_taken_in_order_and_not_more_than_asked_for() -> None:
    waiting, jobs = backlog(), [job() for _ in range(5)]
    for one in jobs:
        waiting.put(one)
    assert waiting.take(3) == jobs[:3]
    assert waiting.take(3) == jobs[3:]


def test_a_full_backlog_refuses() -> None:
    waiting = backlog(2)
    waiting.put(job())
    waiting.put(job())
    with pytest.raises(DatabaseBusy, match="2 requests wait"):
        waiting.put(job())
    waiting.take(1)
    waiting.put(job())


def test_a_closed_backlog_hands_out_what_waits_and_then_nothing_for_everybody() -> None:
    waiting, last = backlog(), job()
    waiting.put(last)
    waiting.close()
    waiting.close()
    with pytest.raises(DatabaseClosed):
        waiting.put(job())
    assert waiting.take(9) == [last]
    assert waiting.take(9) == []
    assert waiting.take(9) == []


def test_a_backlog_that_was_never_opened_refuses() -> None:
    waiting = WorkQueue(1)
    waiting.close()
    with pytest.raises(DatabaseClosed):
        waiting.put(job())


def test_who_waits_for_a_job_is_woken_by_it() -> None:
    waiting, taken = backlog(), []
    taker = threading.Thread(target=lambda: taken.extend(waiting.take(9)))
    taker.start()
    one = job()
    waiting.put(one)
    taker.join(120)
    assert taken == [one]


def test_outcomes_reach_each_loop_by_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        calls: list[object] = []
        soon = loop.call_soon_threadsafe

        def counted(*given: Any) -> asyncio.Handle:  # Any: a callback and its arguments
            calls.append(given)
            return soon(*given)

        monkeypatch.setattr(loop, "call_soon_threadsafe", counted)
        jobs = [job(loop) for _ in range(3)]
        jobs[0].result = "stored"
        jobs[1].error = ValueError("refused")
        jobs[2].error = StopIteration()
        alone = job()
        alone.result = 7
        hand_back([*jobs, alone])
        assert len(calls) == 1
        outcomes = await asyncio.gather(*(one.future for one in jobs), return_exceptions=True)
        assert outcomes[0] == "stored"
        assert outcomes[1] is jobs[1].error
        assert isinstance(outcomes[2], RuntimeError)
        assert alone.future.result() == 7

    asyncio.run(main())


def test_a_client_that_left_does_not_disturb_the_others() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        left, stays = job(loop), job(loop)
        left.future.cancel()
        hand_back([left, stays])
        assert await stays.future is None

    asyncio.run(main())


def test_nobody_waits_on_a_closed_loop() -> None:
    loop = asyncio.new_event_loop()
    forgotten = job(loop)
    loop.close()
    hand_back([forgotten])
    assert not forgotten.future.done()

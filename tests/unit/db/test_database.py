"""What is acknowledged is visible; readers cannot write; opening and closing, and their errors."""

import asyncio
import operator
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import psycopg
import pytest

from commentsvc.db import database as database_module
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.database import Database
from commentsvc.db.errors import (
    DatabaseBusy,
    DatabaseClosed,
    DatabaseUnusable,
    DatabaseUnwritable,
)
from commentsvc.db.migrations import upgrade
from commentsvc.settings.schema import DatabaseSettings
from tests.e2e.program import wait_for
from tests.unit.database_fixture import held, in_use, opened, site, sites

PATIENCE = 120.0  # seconds


def test_a_read_after_the_answer_sees_what_was_acknowledged(tmp_path: Path) -> None:
    async def main(database: Database) -> None:
        for number in range(200):
            name = await database.write(site(f"site {number:03}"))
            assert database.read_now(sites)[-1] == name
            assert (await database.read(sites))[-1] == name

    with opened(tmp_path) as database:
        asyncio.run(main(database))


def test_a_full_queue_refuses_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main(database: Database) -> None:
        go_on = held(database)
        writes = [asyncio.ensure_future(database.write(site(str(n)))) for n in range(4)]
        await asyncio.sleep(0)
        assert isinstance(writes[3].exception(), DatabaseBusy)
        go_on.set()
        assert await asyncio.gather(*writes[:3]) == ["0", "1", "2"]

    monkeypatch.setattr(database_module, "QUEUE", 3)
    with opened(tmp_path) as database:
        asyncio.run(main(database))


def test_closing_finishes_what_is_queued_and_refuses_the_rest(tmp_path: Path) -> None:
    async def main(database: Database) -> None:
        go_on = held(database)
        writes = [asyncio.ensure_future(database.write(site(str(n)))) for n in range(700)]
        reads = [asyncio.ensure_future(database.read(sites)) for _ in range(20)]
        await asyncio.sleep(0)
        closing = asyncio.ensure_future(database.close())
        go_on.set()
        assert await asyncio.gather(*writes) == [str(n) for n in range(700)]
        await asyncio.gather(*reads)
        await closing
        for late in (database.write(site("late")), database.read(sites)):
            with pytest.raises(DatabaseClosed, match="closed"):
                await late

    with opened(tmp_path) as database:
        asyncio.run(main(database))
        with pytest.raises(DatabaseClosed, match="closed"):
            database.read_now(sites)
        with pytest.raises(DatabaseClosed, match="closed"):
            database.write_now(site("late"))


def test_opening_and_closing_leaves_descriptors_and_threads_as_they_were(tmp_path: Path) -> None:
    def counted() -> tuple[int, int]:
        return len(list(Path("/proc/self/fd").iterdir())), threading.active_count()

    before = counted()
    for _ in range(3):
        with opened(tmp_path) as database:
            asyncio.run(database.read(lambda _: None))
    wait_for(  # of an earlier test, some may end meanwhile
        lambda: all(map(operator.le, counted(), before)),
        "the end of threads that look after connections",
    )
    if not in_use:  # the checkpoint was made
        assert list(tmp_path.iterdir()) == [tmp_path / "comments.sqlite3"]


def test_a_read_sees_one_state_and_runs_on_a_reader(tmp_path: Path) -> None:
    async def main(database: Database) -> None:
        loop = asyncio.get_running_loop()

        def work(snapshot: Snapshot) -> tuple[list[str], list[str], str]:
            before = sites(snapshot)
            asyncio.run_coroutine_threadsafe(database.write(site("between")), loop).result(120)
            return before, sites(snapshot), threading.current_thread().name

        before, after, thread = await database.read(work)
        assert before == after == ["blog"]
        assert thread.startswith("reads")
        assert database.read_now(sites) == ["blog", "between"]

    with opened(tmp_path) as database:
        asyncio.run(main(database))


def test_reads_of_the_public_hold_up_nobody_else(tmp_path: Path) -> None:
    """There are many more reads than readers, and none ends before the others are answered."""
    go_on = threading.Event()

    def long(_: Snapshot) -> bool:
        return go_on.wait(PATIENCE)

    async def main(database: Database) -> None:
        flood = [asyncio.ensure_future(database.read_for_public(long)) for _ in range(50)]
        await asyncio.sleep(0)
        try:
            assert await asyncio.wait_for(database.read(sites), PATIENCE) == ["blog"]
            assert await asyncio.wait_for(database.write(site("new")), PATIENCE) == "new"
        finally:
            go_on.set()
        assert all(await asyncio.gather(*flood))

    with opened(tmp_path) as database:
        asyncio.run(main(database))


def test_work_gets_what_follows_it(tmp_path: Path) -> None:
    def work(_: Snapshot, first: int, *, second: str = "") -> tuple[int, str]:
        return first, second

    async def main(database: Database) -> None:
        assert await database.read(work, 1, second="a") == (1, "a")
        assert await database.write(work, 2, second="b") == (2, "b")

    with opened(tmp_path) as database:
        asyncio.run(main(database))
        assert database.read_now(work, 3, second="c") == (3, "c")
        assert database.read_now(Snapshot.whole, work, 4, second="d") == (4, "d")
        assert database.write_now(work, 5) == (5, "")


def test_only_the_writer_can_write(tmp_path: Path) -> None:
    def work(snapshot: Snapshot) -> None:
        snapshot.execute("DELETE FROM site")

    with opened(tmp_path) as database:
        with pytest.raises(DatabaseUnwritable, match=r"read-?only"):
            database.read_now(work)
        with pytest.raises(DatabaseUnwritable, match=r"read-?only"):
            asyncio.run(database.read(work))
        assert database.read_now(sites) == ["blog"]
        assert database.write_now(lambda _: threading.current_thread().name) == "writer"


def test_a_failing_read_raises_its_own_error(tmp_path: Path) -> None:
    def work(snapshot: Snapshot) -> None:
        snapshot.execute("SELECT missing_column")

    with opened(tmp_path) as database:
        for _ in range(2):
            with pytest.raises(
                (sqlite3.OperationalError, psycopg.ProgrammingError), match="missing_column"
            ):
                database.read_now(work)
            with pytest.raises(
                (sqlite3.OperationalError, psycopg.ProgrammingError), match="missing_column"
            ):
                asyncio.run(database.read(work))


@pytest.mark.sqlite_only("test_postgresql.py reads PostgreSQL's settings")
@pytest.mark.parametrize(("setting", "value"), [("full", 2), ("normal", 1)])
def test_the_writer_is_set_for_durability(
    tmp_path: Path, setting: Literal["full", "normal"], value: int
) -> None:
    def pragma(name: str) -> Callable[[Transaction], object]:
        return lambda tx: tx.execute(f"PRAGMA {name}").fetchone()[0]

    settings = DatabaseSettings(synchronous=setting, checkpoint_pages=16_000)
    with opened(tmp_path, settings=settings) as database:
        assert database.write_now(pragma("synchronous")) == value
        assert database.write_now(pragma("journal_mode")) == "wal"
        assert database.write_now(pragma("mmap_size")) == 0
        assert database.write_now(pragma("wal_autocheckpoint")) == 16_000
        assert database.write_now(pragma("foreign_keys")) == 1


@pytest.mark.sqlite_only("PostgreSQL lets others in")
def test_opening_waits_no_longer_than_its_patience_for_another_program(tmp_path: Path) -> None:
    path = tmp_path / "comments.sqlite3"
    upgrade.upgrade(path)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("PRAGMA locking_mode=EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")
    database = Database(path, purge=lambda _tags: None, patience=0.1)
    with pytest.raises(DatabaseBusy):
        database.open()
    other.close()


@pytest.mark.sqlite_only("it is about a file")
def test_a_missing_file_is_unusable_and_is_not_made(tmp_path: Path) -> None:
    database = Database(tmp_path / "comments.sqlite3", purge=lambda _tags: None)
    with pytest.raises(DatabaseUnusable, match=r"comments\.sqlite3 cannot be opened"):
        database.open()
    with pytest.raises(DatabaseClosed):
        database.write_now(site("new"))
    assert list(tmp_path.iterdir()) == []

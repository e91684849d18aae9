"""Maintenance: done in a pause, interrupted by a submission, retried after a failure."""

import asyncio
import threading
from pathlib import Path

import pytest

from commentsvc.comments import images, search
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.database import Database
from commentsvc.db.errors import DatabaseFull
from commentsvc.markup import image_names
from commentsvc.moderation import retention
from commentsvc.runtime import maintenance
from commentsvc.settings.schema import PrivacySettings, Settings, SpamSettings
from commentsvc.util.clock import Clock
from commentsvc.util.timestamps import DAY_MS
from tests.unit.database_fixture import NOW, add, opened
from tests.unit.settable_clock import SettableClock

PAUSE = 0.01  # seconds


async def wait_until_fed(database: Database) -> None:
    async with asyncio.timeout(120):
        while database.read_now(search.unindexed):  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(PAUSE)


def test_all_comments_are_fed_in_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maintenance, "PIECE", 3)

    async def scene(database: Database) -> None:
        doing = asyncio.create_task(maintenance.run(database, Settings(), Clock(), PAUSE))
        await wait_until_fed(database)
        await asyncio.to_thread(add, database)
        await wait_until_fed(database)
        doing.cancel()

    with opened(tmp_path) as database:
        for _ in range(10):
            add(database)
        asyncio.run(scene(database))


def test_a_submission_ends_the_work_until_the_next_pause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A submission comes between every two checks, so nothing is ever indexed."""
    rounds = 0

    def last(reader: object) -> int:
        nonlocal rounds
        rounds += 1
        return rounds

    monkeypatch.setattr(search, "last", last)

    async def scene(database: Database) -> None:
        doing = asyncio.create_task(maintenance.run(database, Settings(), Clock(), 0))
        async with asyncio.timeout(120):
            while rounds < 50:  # noqa: ASYNC110 - nothing tells of it
                await asyncio.sleep(0)
        doing.cancel()
        assert database.read_now(search.unindexed) == 1

    with opened(tmp_path) as database:
        add(database)
        asyncio.run(scene(database))


def test_a_full_disk_is_no_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, failures = search.index_pending, iter([True, True])

    def feed(tx: Transaction, most: int) -> bool:
        if next(failures, False):
            raise DatabaseFull("no space")
        return real(tx, most)

    monkeypatch.setattr(search, "index_pending", feed)

    async def scene(database: Database) -> None:
        doing = asyncio.create_task(maintenance.run(database, Settings(), Clock(), PAUSE))
        await wait_until_fed(database)
        doing.cancel()

    with opened(tmp_path) as database:
        add(database)
        asyncio.run(scene(database))
    assert next(failures, None) is None


def test_networks_are_forgotten_after_their_days(tmp_path: Path) -> None:
    async def scene(database: Database) -> None:
        doing = asyncio.create_task(
            maintenance.run(
                database,
                Settings(privacy=PrivacySettings(keep_network_days=1)),
                SettableClock(NOW + DAY_MS),
                PAUSE,
            )
        )

        def count(snapshot: Snapshot) -> int:
            sql = "SELECT count(*) FROM comment WHERE network IS NOT NULL"
            return int(snapshot.execute(sql).fetchone()[0])

        async with asyncio.timeout(120):
            while database.read_now(count) != 1:  # noqa: ASYNC110 - nothing tells of it
                await asyncio.sleep(PAUSE)
        doing.cancel()

    with opened(tmp_path) as database:
        for moment in (NOW - 2, NOW - 1, NOW + 1):
            add(database, moment, network=b"network!")
        asyncio.run(scene(database))


def test_what_is_told_of_the_last_days_is_purged_when_one_is_over(tmp_path: Path) -> None:
    purged: list[str] = []
    clock = SettableClock(NOW)

    async def scene(database: Database) -> None:
        doing = asyncio.create_task(maintenance.run(database, Settings(), clock, 0))
        for _ in range(10):
            await asyncio.sleep(0)
        assert "popular" not in purged
        clock.moment += DAY_MS
        async with asyncio.timeout(120):
            while "popular" not in purged:  # noqa: ASYNC110 - nothing tells of it
                await asyncio.sleep(PAUSE)
        doing.cancel()
        assert purged.count("popular") == 1

    with opened(tmp_path, purged.extend) as database:
        asyncio.run(scene(database))


@pytest.mark.parametrize(("deleted", "days"), [(False, 2), (True, 31)])
def test_images_without_a_comment_and_of_deleted_comments_are_removed(
    tmp_path: Path, deleted: bool, days: int
) -> None:
    name = image_names.name(b"RIFF red", 4, 3)

    async def scene(database: Database) -> None:
        clock = SettableClock(NOW + days * DAY_MS)
        doing = asyncio.create_task(maintenance.run(database, Settings(), clock, PAUSE))
        async with asyncio.timeout(120):
            while database.read_now(images.stored, name):  # noqa: ASYNC110 - nothing tells of it
                await asyncio.sleep(PAUSE)
        doing.cancel()

    with opened(tmp_path) as database:
        database.write_now(images.put, "blog", name, b"RIFF red", NOW, images.Quota(99))
        if deleted:
            add(database, NOW, source=f"![x](image:{name})", status="deleted")
        asyncio.run(scene(database))


def test_what_reads_all_images_is_asked_once_a_round_and_not_on_the_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, rounds = [], 0

    def is_due(snapshot: Snapshot, before: int) -> bool:
        asked.append(threading.current_thread() is threading.main_thread())
        return False

    def last(snapshot: Snapshot) -> int:
        nonlocal rounds
        rounds += 1
        return 0

    monkeypatch.setattr(images, "is_due", is_due)
    monkeypatch.setattr(search, "last", last)

    async def scene(database: Database) -> None:
        doing = asyncio.create_task(maintenance.run(database, Settings(), Clock(), 0))
        async with asyncio.timeout(120):
            while rounds < 50:  # noqa: ASYNC110 - nothing tells of it
                await asyncio.sleep(PAUSE)
        doing.cancel()

    with opened(tmp_path) as database:
        asyncio.run(scene(database))
    assert asked == [False]


def test_spam_is_removed_after_its_days_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "PIECE", 2)
    later = Settings(spam=SpamSettings(keep_spam_days=2))

    async def scene(database: Database) -> None:
        doing = asyncio.create_task(
            maintenance.run(database, later, SettableClock(NOW + 2 * DAY_MS), PAUSE)
        )

        def left(snapshot: Snapshot) -> int:
            return int(snapshot.execute("SELECT count(*) FROM comment").fetchone()[0])

        async with asyncio.timeout(120):
            while database.read_now(left) != 2:  # noqa: ASYNC110 - nothing tells of it
                await asyncio.sleep(PAUSE)
        doing.cancel()
        assert database.read_now(retention.removed, 0) == 5

    with opened(tmp_path) as database:
        for moment in range(NOW - 5, NOW + 1):
            add(database, moment, status="spam")
        add(database, NOW - 5, status="pending")
        asyncio.run(scene(database))

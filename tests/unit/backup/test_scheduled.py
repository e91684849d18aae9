"""Scheduled backups: made when due, the newest are kept, and failures are reported."""

import asyncio
import logging
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from commentsvc.backup import archive as backup
from commentsvc.backup import scheduled
from commentsvc.backup.result import BackupError
from commentsvc.backup.scheduled import ScheduledBackup
from commentsvc.settings.schema import BackupSettings
from tests.unit.database_fixture import add, opened
from tests.unit.settable_clock import SettableClock

pytestmark = pytest.mark.sqlite_only("test_postgresql_dump.py has the difference")

HOUR = 3_600
START = 1_795_003_200.0  # 2026-11-18, noon


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(int(START * 1_000))


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "data").mkdir()
    with opened(tmp_path / "data") as running:
        add(running)
        yield tmp_path / "data" / "comments.sqlite3"


def kept(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in (tmp_path / "kept").iterdir())


def settings(tmp_path: Path, every: str = "daily", keep: int = 14) -> BackupSettings:
    return BackupSettings(directory=str(tmp_path / "kept"), every=every, keep=keep)  # type: ignore[arg-type] # a Literal


def name(moment: float) -> str:
    return time.strftime("comments-%Y%m%dT%H%M%SZ.sqlite3", time.gmtime(moment))


def test_one_is_made_at_once_and_the_next_after_a_day(
    tmp_path: Path, database: Path, clock: SettableClock
) -> None:
    ours = ScheduledBackup(settings(tmp_path), database, clock)
    ours.round()
    clock.now += 23 * HOUR
    ours.round()
    assert kept(tmp_path) == [name(START)]
    clock.now += HOUR
    ours.round()
    assert kept(tmp_path) == [name(START), name(START + 24 * HOUR)]
    state = ours.state()
    assert state
    assert state.newest_at == (START + 24 * HOUR) * 1_000
    assert state.size == (tmp_path / "kept" / name(START)).stat().st_size
    assert (tmp_path / "kept").stat().st_mode & 0o777 == 0o700


def test_a_restart_makes_none_before_its_time(
    tmp_path: Path, database: Path, clock: SettableClock
) -> None:
    ScheduledBackup(settings(tmp_path, "hourly"), database, clock).round()
    clock.now += HOUR - 1
    ScheduledBackup(settings(tmp_path, "hourly"), database, clock).round()
    assert len(kept(tmp_path)) == 1


def test_a_name_from_the_future_stops_nothing(
    tmp_path: Path, database: Path, clock: SettableClock
) -> None:
    """After a clock that was a year ahead, backups must go on."""
    clock.now += 365 * 24 * HOUR
    ours = ScheduledBackup(settings(tmp_path), database, clock)
    ours.round()
    clock.now = START
    ours.round()
    ours.round()
    assert len(kept(tmp_path)) == 2


def test_only_so_many_are_kept_and_nothing_else_is_touched(
    tmp_path: Path, database: Path, clock: SettableClock
) -> None:
    (tmp_path / "kept").mkdir()
    dated = "comments-20260101T000000Z.sqlite3"
    for other in ("comments.sqlite3", "comments-old.sqlite3", f"{dated}.x"):
        (tmp_path / "kept" / other).touch()
    others = kept(tmp_path)
    (tmp_path / "kept" / f".{dated}.abcd.part").touch()  # left by a crash
    ours = ScheduledBackup(settings(tmp_path, "hourly", keep=3), database, clock)
    for _ in range(5):
        ours.round()
        clock.now += HOUR
    assert kept(tmp_path) == sorted([*others, *(name(START + n * HOUR) for n in (2, 3, 4))])


def test_a_failure_is_told_once_and_removes_nothing(
    tmp_path: Path, database: Path, clock: SettableClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "commentsvc")
    ours = ScheduledBackup(settings(tmp_path, "hourly", keep=1), database, clock)
    ours.round()
    (tmp_path / "kept").chmod(0o500)
    real = os.open
    with pytest.MonkeyPatch.context() as patch:

        def refusing(path: object, *rest: int, **more: int) -> int:
            if str(path).endswith(backup.PART):  # since root may write anywhere
                raise PermissionError(13, "Permission denied")
            return real(path, *rest, **more)  # type: ignore[arg-type] # passed on unchanged

        patch.setattr(os, "open", refusing)
        for _ in range(3):
            clock.now += HOUR
            ours.round()
        state = ours.state()
    assert state
    assert state.failures == 3
    assert "Permission denied" in state.error
    assert kept(tmp_path) == [name(START)]
    (tmp_path / "kept").chmod(0o700)
    ours.round()
    state = ours.state()
    assert state
    assert not state.error
    assert kept(tmp_path) == [name(START + 3 * HOUR)]
    [failed, again] = [record.getMessage() for record in caplog.records]
    assert "no backup is made" in failed
    assert "Permission denied" in failed
    assert "backups are made again" in again


def test_without_a_folder_none_is_made(database: Path, clock: SettableClock) -> None:
    ours = ScheduledBackup(BackupSettings(), database, clock)
    asyncio.run(ours.run())
    assert ours.state() is None


def test_the_end_of_the_program_gives_up_one_that_is_under_way(
    tmp_path: Path,
    database: Path,
    clock: SettableClock,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    begun = asyncio.Event()

    async def scene() -> None:
        loop = asyncio.get_running_loop()

        def write(_database: Path, _target: Path, *, unwanted: object) -> int:
            loop.call_soon_threadsafe(begun.set)
            assert callable(unwanted)
            while not unwanted():
                pass
            raise BackupError("not finished")

        monkeypatch.setattr(backup, "write", write)
        doing = asyncio.create_task(ScheduledBackup(settings(tmp_path), database, clock).run())
        await begun.wait()
        doing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await doing

    asyncio.run(scene())
    assert not caplog.records


def test_rounds_go_on(tmp_path: Path, database: Path, clock: SettableClock) -> None:
    pauses = 0

    async def pause(seconds: float) -> None:
        nonlocal pauses
        assert seconds == scheduled.ROUND
        clock.now += 24 * HOUR
        pauses += 1
        if pauses == 3:
            raise asyncio.CancelledError

    ours = ScheduledBackup(settings(tmp_path), database, clock, pause)
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(ours.run())
    assert len(kept(tmp_path)) == 3

"""Scheduled backups: the running server makes them, and removes the oldest.

A backup is named after its time, comments-20261121T120000Z.sqlite3 (or .dump for PostgreSQL), and
the names are the only state: a restart neither makes a backup too early nor skips one. A backup is
due if no name is from the last hour, day or week. Names with a time in the future, from a clock
that was wrong, are ignored.

A backup is made by a thread of low priority. A failure is logged once, shown by /metrics and on the
dashboard, and retried. An old backup is removed only after a newer one is complete.
"""

import asyncio
import contextlib
import logging
import os
import re
import threading
import time
from calendar import timegm
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, NamedTuple

from commentsvc.backup.result import BackupError
from commentsvc.db.engine import Location
from commentsvc.db.errors import DatabaseError
from commentsvc.settings.schema import BackupSettings
from commentsvc.util.clock import Clock
from commentsvc.util.timestamps import DAY_MS, HOUR_MS

_log = logging.getLogger(__name__)

# Seconds between two checks whether a backup is due, and between two attempts.
ROUND: Final = 60.0
PERIODS_MS: Final = {"hourly": HOUR_MS, "daily": DAY_MS, "weekly": 7 * DAY_MS}
# The nice value of the thread: nearly everything else runs before it.
NICE: Final = 15
_FAILED: Final = "no backup is made: %s"
_MOMENT: Final = "comments-%Y%m%dT%H%M%SZ"
_NAME: Final = re.compile(r"comments-\d{8}T\d{6}Z\.(sqlite3|dump)", re.ASCII)

Pause = Callable[[float], Awaitable[None]]


class BackupState(NamedTuple):
    """When the newest backup was made (Unix milliseconds, 0 for none) and its size in bytes.

    `failures` counts those since the start; `error` is the last one, "" after a success.
    """

    newest_at: int
    size: int
    failures: int
    error: str

    @property
    def trouble(self) -> str:
        """What is wrong, "" if nothing is."""
        return self.error and _FAILED % self.error


class ScheduledBackup:
    """Makes backups of the database as `settings` say."""

    def __init__(
        self,
        settings: BackupSettings,
        database: Location,
        clock: Clock,
        pause: Pause = asyncio.sleep,
    ) -> None:
        self._folder = Path(settings.directory) if settings.directory else None
        self._period_ms = PERIODS_MS[settings.every]
        self._keep = settings.keep
        self._database = database
        self._clock = clock
        self._pause = pause
        self._ending = threading.Event()
        self._failures = 0
        self._error = ""

    def state(self) -> BackupState | None:
        """Return the state of the backups; None if the settings ask for none."""
        if self._folder is None:
            return None
        made = _made(self._folder)
        newest = made[-1] if made else None
        try:
            size = newest.stat().st_size if newest else 0
        except OSError:
            size = 0
        return BackupState(_moment(newest) if newest else 0, size, self._failures, self._error)

    async def run(self) -> None:
        """Make backups when they are due, until cancelled; that also stops one in progress."""
        if self._folder is None:
            return
        loop = asyncio.get_running_loop()
        self._ending.clear()
        with ThreadPoolExecutor(1, "backup", initializer=_lower_priority) as worker:
            try:
                while True:
                    await loop.run_in_executor(worker, self.round)
                    await self._pause(ROUND)
            finally:
                self._ending.set()  # the executor waits until the backup has stopped

    def round(self) -> None:
        """Make a backup if one is due, and remove the oldest. This blocks, and logs errors."""
        assert self._folder is not None
        try:
            if self._is_due(self._folder):
                self._make(self._folder)
                if self._error:
                    _log.info("backups are made again in %s", self._folder)
                self._error = ""
        except Exception as error:
            if self._ending.is_set():
                return
            known = isinstance(error, BackupError | DatabaseError | OSError)
            self._failures += 1
            if not self._error:
                _log.error(_FAILED, error, exc_info=None if known else error)
            self._error = str(error)

    def _is_due(self, folder: Path) -> bool:
        now_ms = self._clock.now_ms()
        return not any(now_ms - self._period_ms < _moment(path) <= now_ms for path in _made(folder))

    def _make(self, folder: Path) -> None:
        from commentsvc.backup import archive as backup

        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            reason = f"{folder} cannot be made: {error.strerror}."
            raise BackupError(f"{reason} Look at backup.directory and its owner.") from error
        for left in folder.glob(
            f".comments-*{backup.PART}"
        ):  # by a crash: only one process works here
            left.unlink()
        moment = time.strftime(_MOMENT, time.gmtime(self._clock.now_ms() // 1_000))
        target = folder / f"{moment}.{'sqlite3' if isinstance(self._database, Path) else 'dump'}"
        backup.write(self._database, target, unwanted=self._ending.is_set)
        for old in _made(folder)[: -self._keep]:
            old.unlink()


def _made(folder: Path) -> list[Path]:
    """Return the backups in `folder`, the oldest first."""
    try:
        return sorted(path for path in folder.iterdir() if _NAME.fullmatch(path.name))
    except OSError:
        return []


def _moment(path: Path) -> int:
    """Return the time in the name of a backup, in Unix milliseconds."""
    try:
        return timegm(time.strptime(path.stem, _MOMENT)) * 1_000
    except ValueError:  # no such day
        return 0


def _lower_priority() -> None:
    with contextlib.suppress(OSError):  # a service manager's filter may forbid it
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)

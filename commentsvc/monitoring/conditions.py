"""Conditions: what an operator has to know of and mend. A new one is added here.

The log, `/readyz`, `/metrics`, the dashboard and `doctor --data` say each in the same words.

    database  nothing can be stored: a full disk, a file that was replaced, another program's lock
    disk      hardly any room is left for the database
    CHANNEL   a server takes no messages; its certificate may have ended. "mail" is one of these
    inbox     the mailbox for answers cannot be read
    backup    no backup is made
    clock     the clock has jumped within the last hour
    settings  the settings file is newer than the running service

Most are logged where they arise. `watch` logs the others: those of this machine.
"""

import asyncio
import logging
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from commentsvc.api.serialize import Answer
from commentsvc.backup.scheduled import ScheduledBackup
from commentsvc.db.database import Database
from commentsvc.delivery.worker import OutboxWorker
from commentsvc.util.clock import Clock
from commentsvc.util.timestamps import HOUR_MS, rfc3339

_log = logging.getLogger(__name__)

ROUND: Final = 20.0  # seconds between two checks of the machine
JUMP_MS: Final = 10_000  # more than clocks are adjusted by in a round
JUMP_SHOWN_MS: Final = HOUR_MS
ROOM: Final = 33_554_432  # bytes: a few writes from the end, for which SQLite needs room itself


class Condition(Answer, frozen=True, gc=False):
    """What an operator has to mend: a stable name, and what it is and what to do."""

    name: str
    text: str


class Machine:
    """What may happen to the machine and the files of a running service."""

    def __init__(self, folder: Path | None, settings_file: Path | None, clock: Clock) -> None:
        """Take the folder of the database, if that is a file, and the settings file, if any."""
        self._folder = folder
        self._file = settings_file
        self._clock = clock
        self._started = _changed(settings_file)
        self._jump = ""
        self._jumped_ms = 0
        self._seen = clock.now_ms(), clock.monotonic_ms()
        self._logged: set[str] = set()

    async def watch(self) -> None:
        """Check the machine, and log what begins and ends, until cancelled."""
        while True:
            self.check()
            await asyncio.sleep(ROUND)

    def check(self) -> None:
        """Compare the clocks with those of the last check, and log what has begun or ended."""
        now, elapsed = self._clock.now_ms(), self._clock.monotonic_ms()
        jump_ms = (now - self._seen[0]) - (elapsed - self._seen[1])
        self._seen = now, elapsed
        if abs(jump_ms) > JUMP_MS:
            way = "ahead" if jump_ms > 0 else "back"
            self._jumped_ms = elapsed
            self._jump = (
                f"the clock jumped {abs(jump_ms) // 1_000} seconds {way} to {rfc3339(now)}, or the"
                " machine slept: sessions, links and limits go by it. See timedatectl"
            )
        found = self.conditions()
        for name, text in found.items():
            if name not in self._logged:
                _log.warning("%s", text)
        for name in self._logged - set(found) - {"clock"}:
            _log.info("%s: the condition is over", name)
        self._logged = set(found)

    def conditions(self) -> dict[str, str]:
        """Return the texts of the conditions that hold, by name."""
        found = {
            "disk": self._full(),
            "clock": self._jump if self._is_recent() else "",
            "settings": self._stale(),
        }
        return {name: text for name, text in found.items() if text}

    def _is_recent(self) -> bool:
        return self._clock.monotonic_ms() - self._jumped_ms < JUMP_SHOWN_MS

    def _full(self) -> str:
        if self._folder is None:
            return ""
        try:
            disk = os.statvfs(self._folder)
        except OSError:  # the database says so itself
            return ""
        left = disk.f_bavail * disk.f_frsize
        if left >= ROOM and (disk.f_favail or not disk.f_files):
            return ""
        return (
            f"the disk of {self._folder} is full, with {left // 1_000_000} MB left: make room there"
        )

    def _stale(self) -> str:
        if _changed(self._file) == self._started:
            return ""
        return f"{self._file} is newer than the running service: restart it"


def _changed(file: Path | None) -> int:
    """Return when a file was changed, 0 if it cannot be read."""
    try:
        return file.stat().st_mtime_ns if file else 0
    except OSError:
        return 0


class Conditions:
    """Asks all parts of a service."""

    def __init__(
        self,
        database: Database,
        outbox: OutboxWorker,
        backups: ScheduledBackup,
        machine: Machine,
        inbox: Callable[[], str] = str,
    ) -> None:
        """Take the parts; `inbox` returns why the mailbox is not read, or ""."""
        self._database = database
        self.outbox = outbox
        self.backups = backups
        self._machine = machine
        self._inbox = inbox

    def now(self) -> list[Condition]:
        """Return the conditions that hold now."""
        backup = self.backups.state()
        found: Mapping[str, str] = {
            "database": self._database.write_health.trouble,
            **self.outbox.troubles,
            "inbox": self._inbox(),
            "backup": backup.trouble if backup else "",
            **self._machine.conditions(),
        }
        return [Condition(name, text) for name, text in found.items() if text]

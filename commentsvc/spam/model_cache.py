"""Model cache: keeps the Bayesian filter in memory up to date with its training.

A submission asks the filter in memory. At most once in PAUSE_MS it also asks whether the training
has changed; if so, a reading thread reads the odds of all words again, while the filter uses the
former ones. Only the very first submission waits for that.
"""

import asyncio
from contextlib import suppress
from typing import Final

from commentsvc.comments.submission import Submission
from commentsvc.db.connection import Snapshot
from commentsvc.db.database import Database
from commentsvc.db.errors import DatabaseError
from commentsvc.spam import training
from commentsvc.spam.bayes import Bayes
from commentsvc.spam.score import Signal

PAUSE_MS: Final = 2_000


class ModelCache:
    """The filter, updated from the database."""

    def __init__(self, database: Database) -> None:
        """Take the database; nothing is read yet."""
        self._database = database
        self._bayes = Bayes()
        self._version = -1
        self._asked_ms = -PAUSE_MS
        self._loading: asyncio.Task[None] | None = None

    def score(self, submission: Submission, now_ms: int) -> list[Signal]:
        """Return the filter's signals at the time `now_ms`; this runs on the event loop."""
        if not 0 <= now_ms - self._asked_ms < PAUSE_MS and (
            self._loading is None or self._loading.done()
        ):
            self._asked_ms = now_ms
            if self._version < 0:
                self._take(self._database.read_now(_read))
            elif self._database.read_now(training.version) != self._version:
                self._loading = asyncio.get_running_loop().create_task(self._load())
        return self._bayes.score(submission)

    async def _load(self) -> None:
        with suppress(DatabaseError):  # it is busy, and logs that; we try again later
            self._take(await self._database.read(_read))

    def _take(self, read: tuple[int, dict[int, float]]) -> None:
        self._version, self._bayes.odds = read


def _read(snapshot: Snapshot) -> tuple[int, dict[int, float]]:
    """Return the version and the odds, read in this order so that changes are noticed."""
    return training.version(snapshot), training.odds(snapshot)

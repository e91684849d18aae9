"""The outbox worker: sends the messages of the outbox. Only `mail test` does without it.

Each channel has a task of its own, so that a mail server that hangs does not delay a webhook. A
task looks for due rows once a second (which takes 5 µs, so no signal is needed), sends them one
after the other on one connection, and stores the result of each before it continues:

    taken               sent
    DeliveryRejected    failed, and the moderator sees why
    TemporaryFailure    this row is retried later
    ServerUnreachable   all due rows of the channel are retried later, after a pause
    no message          deleted, since what it was about is gone

Delivery is at least once. A success is stored at once, and if the database cannot store it, the
task waits until it can rather than send again. Only after a crash between the two, or if the
connection breaks before the server's answer, a message is sent twice, with the same Message-ID or
delivery number. Of several instances only the leader sends, see `cluster.leader`; it asks before
each message whether it still leads.

No failure ends the loop, or prevents the start of the program: messages wait. Each channel logs the
first failure and the recovery, not every attempt.
"""

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Final

from commentsvc import outbox
from commentsvc.db import background
from commentsvc.db.connection import Transaction
from commentsvc.db.database import Database
from commentsvc.db.errors import DatabaseError
from commentsvc.db.schema.outbox import MAIL, OutboxRow
from commentsvc.delivery.channel import (
    Channel,
    Connection,
    DeliveryError,
    DeliveryRejected,
    ServerUnreachable,
    TemporaryFailure,
)
from commentsvc.outbox import ChannelBacklog
from commentsvc.readers import follows
from commentsvc.util.clock import Clock

_log = logging.getLogger(__name__)

# Seconds between two searches for due rows.
PAUSE: Final = 1.0
# Seconds between two attempts to store a result while the database is full or busy.
NOTE_PAUSE: Final = 1.0
# Seconds between two rounds of work that depends on time only: digests, and deleting old rows.
ROUND: Final = 20.0
# The first and the longest pause after a server could not be reached, in milliseconds. New messages
# wait with the others.
FIRST_REST, LONGEST_REST = 5_000, 60_000
# Rows sent on one connection; mail servers may limit their number.
BATCH: Final = 100
# Seconds for a message that is being sent at a stop.
GRACE: Final = 3.0

_DELAYED: Final = "%s is not sent, and will be tried again: %s"
_GIVEN_UP: Final = "%s: a message was refused for good, see Mail on the moderation pages: %s"

Pause = Callable[[float], Awaitable[None]]
Note = Callable[[Transaction], None]


class OutboxWorker:
    """Sends due messages on each of the `channels`."""

    def __init__(
        self,
        database: Database,
        channels: Mapping[str, Channel],
        clock: Clock,
        pause: Pause = asyncio.sleep,
        leads: Callable[[], bool] = lambda: True,
    ) -> None:
        """Take the channels by name; `pause(n)` waits for n seconds.

        No message is sent while `leads` returns False.
        """
        self.sent: Counter[str] = Counter()  # since the start, by channel
        self.errors: Counter[str] = Counter()  # attempts that failed
        self.troubles: dict[str, str] = {}  # why a channel sends nothing
        self.backlogs: dict[str, ChannelBacklog] = {}  # at the last round
        self._database = database
        self._channels = channels
        self._clock = clock
        self._pause = pause
        self._leads = leads
        self._logged: set[tuple[str, str]] = set()  # what was logged since the last success
        self._unreachable: Counter[str] = Counter()  # attempts in a row, by channel
        self._rests_until: dict[str, int] = {}
        self._last_errors: dict[str, float] = {}
        self._tasks: set[asyncio.Task[None]] = set()  # one for each channel
        self._sending: set[asyncio.Task[None] | None] = set()
        self._unstored: list[Note] = []  # results that are not in the database yet
        self._stopping = False

    def go_on(self, former: "OutboxWorker") -> None:
        """Go on with the figures of a former one, and with the results that it has not stored."""
        self.sent, self.errors, self.backlogs = former.sent, former.errors, former.backlogs
        self._last_errors, self._unstored = former._last_errors, former._unstored

    @property
    def channels(self) -> list[str]:
        """The names of the channels."""
        return [*self._channels]

    def states(self) -> dict[str, dict[str, float]]:
        """Return what waits and failed, by channel, at the last round; for /metrics."""
        return {
            name: {
                "queued": backlog.queued,
                "failed": backlog.failed,
                "oldest_timestamp_seconds": backlog.oldest / 1_000,
                "error_timestamp_seconds": self._last_errors.get(name, 0.0),
            }
            for name in self._channels
            for backlog in [self.backlogs.get(name, ChannelBacklog())]
        }

    async def run(self) -> None:
        """Send until cancelled; a message that is being sent then has GRACE seconds."""
        self._stopping = False
        for note in list(self._unstored):  # from the time before another instance took over
            await self._store(note)
        self._tasks = {asyncio.create_task(self._deliver_on(name)) for name in self._channels}
        try:
            await asyncio.Event().wait()
        finally:
            await self._stop()
            self.troubles.clear()  # another instance may lead now

    async def finish(self) -> None:
        """Send no more; return when what is being sent was sent, and its result is stored."""
        self._stopping = True
        for task in self._tasks - self._sending:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def watch(self) -> None:
        """Do what depends on time only, and count what waits, until cancelled."""
        while self._channels:
            await background.attempt(self.round, "the outbox")
            await self._pause(ROUND)

    async def _stop(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GRACE):
                await self.finish()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _deliver_on(self, name: str) -> None:
        while True:
            await background.attempt(partial(self.deliver, name), "the outbox")
            if self._stopping:
                return
            await self._pause(PAUSE)

    async def round(self) -> None:
        """Close digests, delete old rows, queue mails to followers, and count what waits.

        An instance that does not lead only counts.
        """
        now = self._clock.now_ms()
        if self._leads():
            await self._database.write(outbox.close_digests, now)
            await self._database.write(outbox.delete_old, now)
            await self._database.write(outbox.drop_expired, self.channels, now)
            if MAIL in self._channels:
                await self._database.write(follows.queue_mails, now)
        self.backlogs = await self._database.read(outbox.backlogs)

    async def deliver(self, name: str) -> None:
        """Send the due messages of the channel `name`. Raise DatabaseError."""
        now = self._clock.now_ms()
        if now < self._rests_until.get(name, 0):
            return
        if not self._database.read_now(outbox.due, name, now, 1):
            return
        try:
            async with self._channels[name].connect() as connection:
                await self._converse(name, connection, now)
            self._unreachable[name] = 0
            self.troubles.pop(name, None)
        except ServerUnreachable as error:
            self._count_error(name, error)
            self.troubles[name] = _DELAYED % (name, error)
            text, later = str(error), self._clock.now_ms()
            rest = min(LONGEST_REST, FIRST_REST << min(self._unreachable[name], 10))
            self._rests_until[name] = later + rest
            self._unreachable[name] += 1
            await self._store(partial(outbox.retry_all_later, channel=name, error=text, now=later))

    async def _converse(self, name: str, connection: Connection, now: int) -> None:
        """Send due messages on one connection. Raise ServerUnreachable, DatabaseError."""
        rows = await self._database.read(outbox.due, name, now, BATCH)
        for row in rows:
            if self._stopping or not self._leads():
                return
            self._sending.add(asyncio.current_task())
            try:
                await self._store(await self._send(connection, row))
            finally:
                self._sending.discard(asyncio.current_task())

    async def _send(self, connection: Connection, row: OutboxRow) -> Note:
        """Send one row; return the function that stores the result.

        Raise ServerUnreachable, DatabaseError.
        """
        name = row.channel
        try:
            now = self._clock.now_ms()
            if await self._database.read(outbox.is_flooding, row, now):
                return partial(outbox.collect, row=row, now=now)
            message = await self._database.read(self._channels[name].compose, row)
            if message is None:
                return partial(outbox.drop, row=row)
            await connection.send(message)
        except (ServerUnreachable, DatabaseError):
            raise
        except TemporaryFailure as error:
            self._count_error(name, error)
            return partial(outbox.retry_later, row=row, error=str(error), now=self._clock.now_ms())
        except DeliveryRejected as error:
            self._count_error(name, error)
            return partial(outbox.mark_sent, row=row, error=str(error), now=self._clock.now_ms())
        except Exception as error:  # a bug in one message must not delay the others
            _log.exception("no message can be made of row %d of the outbox", row.id)
            text = f"{type(error).__name__}: {error}"
            return partial(outbox.mark_sent, row=row, error=text, now=self._clock.now_ms())
        self._count_sent(name)
        return partial(outbox.mark_sent, row=row, error="", now=self._clock.now_ms())

    async def _store(self, note: Note) -> None:
        """Store a result; wait while the database cannot store it."""
        if note not in self._unstored:
            self._unstored.append(note)
        while True:
            with contextlib.suppress(DatabaseError):
                await self._database.write(note)
                return self._unstored.remove(note)
            await self._pause(NOTE_PAUSE)

    def _count_sent(self, name: str) -> None:
        self.sent[name] += 1
        if (name, _DELAYED) in self._logged:
            _log.info("%s is sent again", name)
        self._logged -= {(name, _DELAYED), (name, _GIVEN_UP)}

    def _count_error(self, name: str, error: DeliveryError) -> None:
        self.errors[name] += 1
        self._last_errors[name] = self._clock.now_ms() / 1_000
        text = _GIVEN_UP if isinstance(error, DeliveryRejected) else _DELAYED
        if (name, text) not in self._logged:
            self._logged.add((name, text))
            _log.warning(text, name, error)

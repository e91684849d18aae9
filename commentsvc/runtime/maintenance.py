"""Maintenance: what can wait until nobody does.

Feeding the index of words costs as much as storing the comment. So it is done in pieces,
after a pause in which no comment came, and stops as soon as one comes: submissions never wait for
more than one piece. Under a load that never pauses nothing is fed, and search says how much is
missing. In such a pause old hashes of networks and old spam are dropped too.
"""

import asyncio
from typing import Final

from commentsvc.comments import search, voting
from commentsvc.db.database import Database
from commentsvc.db.sqlite import DatabaseError
from commentsvc.moderation import retention
from commentsvc.settings.schema import Settings
from commentsvc.util.clock import Clock
from commentsvc.util.timestamps import DAY_MS

# Without a submission for so long, nobody is writing just now; in seconds.
PAUSE: Final = 1.0
# Comments that are fed at once: about 20 ms, as long as a submission may wait for a slow disk.
PIECE: Final = 200
# Between two looks for old spam where there was none; in seconds. It takes a reader's thread.
ROUND: Final = 600.0


async def run(database: Database, settings: Settings, clock: Clock, pause: float = PAUSE) -> None:
    """Do the chores of `database` until cancelled."""
    before, rest = None, 0.0
    while True:
        await asyncio.sleep(pause)
        try:
            last = database.read_now(search.last)
            while last == before and await database.write(search.index_pending, PIECE):
                last = database.read_now(search.last)
            if last == before:
                await _forget(database, _ago(settings.privacy.keep_network_days, clock.now_ms()))
                if settings.spam.keep_spam_days and rest <= 0:
                    now_ms = clock.now_ms()
                    more = await _remove(
                        database, _ago(settings.spam.keep_spam_days, now_ms), now_ms
                    )
                    rest = 0 if more else ROUND
                rest -= pause
            before = last
        except DatabaseError:
            before = None  # it is full or busy, as requests tell: later


def _ago(days: int, now_ms: int) -> int:
    """Return the moment so many days before `now_ms`, both in Unix milliseconds."""
    return now_ms - days * DAY_MS


async def _forget(database: Database, before: int) -> None:
    """Drop the hashes of networks from before that moment, a piece of them."""
    if database.read_now(retention.is_due, before):
        await database.write(retention.drop_networks, before, PIECE)
    if database.read_now(voting.is_due, before):
        await database.write(voting.drop_networks, before, PIECE)


async def _remove(database: Database, before: int, now_ms: int) -> bool:
    """Remove a piece of the spam from before that moment; whether there may be more."""
    if not await database.read(retention.old_spam, before, 1):
        return False
    return await database.write(retention.drop_spam, before, PIECE, now_ms) == PIECE

"""Maintenance: background work that waits until nobody submits comments.

Adding a comment to the search index costs as much as storing it. So comments are indexed in
batches, after a pause without submissions, and indexing stops as soon as one arrives: a submission
never waits for more than one batch. Under a load without pauses nothing is indexed, and the search
says how much is missing. In such pauses, old network hashes, old spam, unused images and those of
comments that were deleted long ago are removed too. At the end of a day, answers about the last
days are purged from the cache.
"""

import asyncio
from typing import Final

from commentsvc.comments import images, popular, search
from commentsvc.db.database import Database
from commentsvc.db.errors import DatabaseError
from commentsvc.model import DONE, SPAM
from commentsvc.moderation import private_notes, retention
from commentsvc.readers import mailed_comments
from commentsvc.settings.schema import Settings
from commentsvc.util.clock import Clock
from commentsvc.util.timestamps import DAY_MS

# Seconds without a submission after which maintenance begins.
PAUSE: Final = 1.0
# Comments per batch: about 20 ms, as long as a submission may wait for a slow disk.
PIECE: Final = 200
# Days in which a deleted comment that is restored has its pictures again.
DELETED_DAYS: Final = 30
# Seconds between two searches for unused images, and for old spam if there was none; a search takes
# a reading thread.
ROUND: Final = 600.0


async def run(database: Database, settings: Settings, clock: Clock, pause: float = PAUSE) -> None:
    """Maintain `database` until cancelled."""
    before, rest = None, 0.0
    day = clock.now_ms() // DAY_MS
    while True:
        await asyncio.sleep(pause)
        try:
            if (today := clock.now_ms() // DAY_MS) != day:
                await database.write(popular.forget_yesterday)
                day = today
            last = database.read_now(search.last)
            while last == before and await database.write(search.index_pending, PIECE):
                last = database.read_now(search.last)
            if last == before:
                await _forget(database, _ago(settings.privacy.keep_network_days, clock.now_ms()))
                if rest <= 0:
                    more = await _remove(database, settings.spam.keep_spam_days, clock.now_ms())
                    rest = 0 if more else ROUND
                rest -= pause
            before = last
        except DatabaseError:
            before = None  # full or busy, which is logged elsewhere: try again later


def _ago(days: int, now_ms: int) -> int:
    """Return the time so many days before `now_ms`, both in Unix milliseconds."""
    return now_ms - days * DAY_MS


async def _forget(database: Database, before: int) -> None:
    """Delete a batch of the network hashes from before that time."""
    for networks in retention.NETWORKS:
        if database.read_now(networks.is_due, before):
            await database.write(networks.drop, before, PIECE)


async def _remove(database: Database, spam_days: int, now_ms: int) -> bool:
    """Delete a batch of unused images, those of deleted comments, old notes, mails and spam.

    Return whether there may be more spam. With 0 days all spam stays.
    """
    unused = _ago(1, now_ms)
    if await database.read(images.is_due, unused):  # it reads the rows of all images
        await database.write(images.drop_unused, unused, PIECE)
    if await database.read(mailed_comments.is_due, now_ms):
        await database.write(mailed_comments.drop_old, now_ms)
    deleted = _ago(DELETED_DAYS, now_ms)
    if await database.read(retention.has_deleted_images, deleted):
        await database.write(retention.drop_deleted_images, deleted, PIECE)
    before = _ago(spam_days, now_ms)
    for state, moment in ((DONE, now_ms - private_notes.KEPT), (SPAM, before if spam_days else 0)):
        if await database.read(private_notes.is_due, state, moment):
            await database.write(private_notes.delete_old, state, moment, PIECE)
    if not spam_days or not await database.read(retention.old_spam, before, 1):
        return False
    return await database.write(retention.drop_spam, before, PIECE, now_ms) == PIECE

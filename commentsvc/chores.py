"""Chores: what can wait until nobody does.

DESIGN. Feeding the index of words costs as much as storing the comment. So it is done in pieces,
after a pause in which no comment came, and stops as soon as one comes: submissions never wait for
more than one piece. Under a load that never pauses nothing is fed, and search says how much is
missing.
"""

import asyncio
from typing import Final

from commentsvc import search
from commentsvc.database import Database, DatabaseError

# Without a submission for so long, nobody is writing just now; in seconds.
PAUSE: Final = 1.0
# Comments that are fed at once: about 20 ms, as long as a submission may wait for a slow disk.
PIECE: Final = 200


async def run(database: Database, pause: float = PAUSE) -> None:
    """Do the chores of `database` until cancelled."""
    before = None
    while True:
        await asyncio.sleep(pause)
        try:
            last = database.read_now(search.last)
            while last == before and await database.write(lambda tx: search.feed(tx, PIECE)):
                last = database.read_now(search.last)
            before = last
        except DatabaseError:
            before = None  # it is full or busy, as requests tell: later

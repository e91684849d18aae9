"""The leader: the only instance that does what may be done only once.

Several instances can share one PostgreSQL. Each answers requests, but messages must be sent once,
old rows deleted once, and mailboxes read once. One instance does all of that, the leader; when it
ends or loses its connection, another one takes over: `election` decides which. With SQLite there is
only one instance, which always leads.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Protocol

# Work that goes on until it is cancelled; it is begun anew each time the instance becomes leader.
Work = Callable[[], Coroutine[None, None, None]]


class Leader(Protocol):
    """Whether this instance is the leader, and what it does then."""

    def leads(self) -> bool:
        """Return whether this instance may do the leader's work now."""

    async def run(self, *works: Work) -> None:
        """Do `works` whenever this instance leads, until cancelled."""


class SoleLeader:
    """The leader if there is only one instance."""

    def leads(self) -> bool:
        """Return True."""
        return True

    async def run(self, *works: Work) -> None:
        """Do `works` until cancelled."""
        async with meanwhile(*(work() for work in works)):
            await asyncio.Event().wait()


@asynccontextmanager
async def meanwhile(*works: Coroutine[None, None, None]) -> AsyncIterator[None]:
    """Run `works` during the block; then cancel them, and wait until they have ended."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

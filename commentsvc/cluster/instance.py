"""An instance of the service among others on one PostgreSQL: its lease, and its purges.

A thread of its own runs the channel. It purges what others have changed, asks for a longer lease
every HEARTBEAT_MS, and calls back the writer once all others have purged what this one changed. The
rules are in `membership`.

If the channel is lost, the lease ends soon, and nothing cached is used: every answer then comes
from the database, or says that the database is away. A new channel begins with empty caches.
"""

import asyncio
import contextlib
import secrets
import threading
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from commentsvc.cluster.membership import HEARTBEAT_MS, InstanceState, Membership
from commentsvc.cluster.notifications import NotificationChannel
from commentsvc.db import peers
from commentsvc.db.connection import Transaction
from commentsvc.db.notices import LeaveNotice, Notice, PurgeNotice, SeenNotice
from commentsvc.model import EVERY_TAG
from commentsvc.util.clock import SYSTEM_CLOCK, Clock

# A moment that is past: no lease.
PAST: Final = 0.001
# Seconds to say that this instance leaves.
LEAVE_PATIENCE: Final = 0.25
# Seconds after which a task that has not ended is cancelled again.
CANCEL_AGAIN: Final = 0.25


class Cache(Protocol):
    """The response cache, see `_core.Server`; any thread may call it."""

    def purge(self, tags: Sequence[str]) -> None:
        """Delete the answers with one of `tags`."""

    def purge_all(self) -> None:
        """Delete all answers."""

    def set_lease(self, until: float) -> None:
        """Use answers only before this time, in seconds of `time.monotonic`."""


class Instance:
    """This process among the instances on the PostgreSQL at `url`.

    Each callable of `on_remote` is called, on the channel's thread, with the tags of what another
    instance has changed, before they are purged and seen; see `model.is_purged`.
    """

    def __init__(
        self, url: str, cache: Cache, *, strict: bool, clock: Clock = SYSTEM_CLOCK
    ) -> None:
        """Let `cache` use nothing before the first lease."""
        self.on_remote: list[Callable[[Sequence[str]], None]] = []
        self._url = url
        self._cache = cache
        self._strict = strict
        self._clock = clock
        self._membership = Membership(secrets.token_hex(8))
        self._number = 0  # of the last transaction; the writer's
        self._purged: set[int] = set()  # transactions whose tags the writer has purged
        self._thens: dict[int, Callable[[], None]] = {}
        self._counts = [0, 0]  # notices of others, and losses of the channel
        self._timer: asyncio.TimerHandle | None = None
        self._is_ending = False
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="channel", daemon=True)
        cache.set_lease(PAST)

    def start(self) -> None:
        """Open the channel in the background, and keep it open."""
        self._thread.start()
        self._ready.wait()

    def stop(self) -> None:
        """End the lease, and tell the others, so that none waits for this instance.

        Before that, wait for transactions that others have not seen, about a second at most.
        """
        self._loop.call_soon_threadsafe(self._end)
        self._thread.join()

    def state(self) -> InstanceState:
        """Return the present state; any thread may ask."""
        now = self._clock.monotonic_ms()
        membership = self._membership
        return InstanceState(
            membership.living(now),
            max(0, membership.lease_ms - now),
            membership.lag_ms,
            membership.waiting,
            *self._counts,
        )

    # Called by the writer.

    def begin(self, transaction: Transaction) -> None:
        transaction.exclude_others()

    def notify_purge(self, transaction: Transaction, tags: Sequence[str]) -> None:
        """Tell the others, as a part of the transaction, what its COMMIT makes stale."""
        self._number += 1
        notice = PurgeNotice(self._membership.identity, self._number, tuple(tags))
        peers.notify(transaction, notice)

    def when_seen(self, then: Callable[[], None]) -> None:
        """Call `then` once no instance uses what the last transaction made stale.

        It was committed, and its tags are purged here. With bounded coherence, call it at once.
        """
        self._purged.add(self._number)
        if self._strict:
            now = self._clock.monotonic_ms()
            self._loop.call_soon_threadsafe(self._await_others, self._number, now, then)
        else:
            then()

    # Called by the channel.

    def connected(self) -> None:
        """Purge everything, since notices may have been missed, and ask for a lease."""
        self._cache.set_lease(PAST)
        self._purged.clear()
        self._purge((EVERY_TAG,))
        self._channel.notify(self._membership.join(self._clock.monotonic_ms()))

    def disconnected(self) -> None:
        """Ask for no lease; the last one ends by itself."""
        self._counts[1] += 1
        self._membership.lose()

    def receive(self, notice: Notice) -> None:
        """Purge what the notice names, then follow the rules of the protocol."""
        membership = self._membership
        if isinstance(notice, PurgeNotice):
            self._purge_for(notice)
        membership.receive(notice, self._clock.monotonic_ms())
        if membership.lease_ms:
            self._cache.set_lease(membership.lease_ms / 1_000)
        self._acknowledge()

    def heartbeat(self) -> Notice | None:
        """Return a request for a longer lease."""
        return self._membership.heartbeat(self._clock.monotonic_ms())

    def _purge_for(self, notice: PurgeNotice) -> None:
        if notice.origin != self._membership.identity:
            self._counts[0] += 1
            self._purge(notice.tags)
            if notice.origin:
                self._channel.notify(
                    SeenNotice(self._membership.identity, notice.number), to=notice.origin
                )
            return
        if notice.number not in self._purged:  # COMMIT has just returned, or its answer was lost
            self._purge(notice.tags)
        for number in [each for each in [*self._purged] if each <= notice.number]:
            self._purged.discard(number)

    def _purge(self, tags: Sequence[str]) -> None:
        for remote in self.on_remote:
            remote(tags)
        if EVERY_TAG in tags:
            self._cache.purge_all()
        else:
            self._cache.purge(tags)

    def _await_others(self, number: int, committed_ms: int, then: Callable[[], None]) -> None:
        self._thens[number] = then
        self._membership.commit(number, committed_ms)
        self._acknowledge()

    def _acknowledge(self) -> None:
        """Call back for what all have seen, and again when time alone may change that."""
        now = self._clock.monotonic_ms()
        for number in self._membership.acknowledged(now):
            self._thens.pop(number)()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        due = self._membership.due_ms(now)
        if due is not None:
            wait = max(1, due - now) / 1_000
            self._timer = self._loop.call_later(wait, self._acknowledge)
        elif self._is_ending:
            self._over.set()

    def _end(self) -> None:
        self._is_ending = True
        self._acknowledge()

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._over = asyncio.Event()
        self._channel = NotificationChannel(self._url, self._membership.identity, self)
        self._ready.set()
        sending = asyncio.create_task(self._channel.send(HEARTBEAT_MS / 1_000))
        listening = asyncio.create_task(self._channel.listen())
        await self._over.wait()
        await _end(listening)
        self._membership.lose()
        self._cache.set_lease(PAST)
        self._channel.notify(LeaveNotice(self._membership.identity))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LEAVE_PATIENCE):
                await self._channel.all_sent()
        await _end(sending)


async def _end(task: asyncio.Task[None]) -> None:
    """Cancel a task until it ends.

    Once does not suffice before Python 3.12: what psycopg waits with loses a cancellation that
    comes together with what it waits for (CPython's issue 86296).
    """
    while not task.done():
        task.cancel()
        await asyncio.wait([task], timeout=CANCEL_AGAIN)

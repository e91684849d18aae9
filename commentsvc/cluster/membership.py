"""Who has a lease, and who has seen which change: the rules of the protocol, without I/O.

docs/architecture.md explains why they suffice. Times are in monotonic milliseconds of this
instance; no two clocks are compared.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from commentsvc.db.notices import (
    HeartbeatNotice,
    JoinNotice,
    LeaveNotice,
    Notice,
    PurgeNotice,
    SeenNotice,
)

# How long after a heartbeat was sent the cache may be used.
LEASE_MS: Final = 1_000
# How long others wait for an instance that is silent: clocks may differ by a hundredth.
SILENCE_MS: Final = LEASE_MS + LEASE_MS // 100
# Between two heartbeats.
HEARTBEAT_MS: Final = 200
# Other instances that are known. Whoever may connect to the database can pretend to be many: where
# there are more, every transaction waits for as long as a lease.
MOST_OTHERS: Final = 256


@dataclass(slots=True)
class _Other:
    """Another instance: when it asked for a lease last, and up to where it has purged for us."""

    heard_ms: int
    seen: int


@dataclass(frozen=True, slots=True)
class _Commit:
    """A transaction of ours that is not acknowledged."""

    number: int
    committed_ms: int


@dataclass(frozen=True, slots=True)
class InstanceState:
    """What operators see of the protocol."""

    instances: int  # that have a lease or had one just now, with this one
    lease_ms: int  # what is left of the own lease; 0 if it has ended
    lag_ms: int  # from sending a notice to its return
    waiting: int  # transactions that other instances have not seen
    remote_purges: int  # notices of other instances, since the start
    losses: int  # how often the channel was lost, since the start


class Membership:
    """One instance's view of all instances."""

    def __init__(self, identity: str) -> None:
        self.identity = identity
        self.lease_ms = 0  # when the own lease ends; 0 if there was none
        self.lag_ms = 0  # from sending a heartbeat to its return
        self._requests = 0
        self._sent: dict[int, int] = {}  # when each request for a lease was sent, by its number
        self._joining = 0  # the number of the request that has to return first
        self._listening_ms: int | None = None
        self._returned = 0  # the last of our transactions whose notice came back
        self._others: dict[str, _Other] = {}
        self._waiting: deque[_Commit] = deque()

    def join(self, now: int) -> JoinNotice:
        """Begin on a new channel, which listens; the cache was emptied since it does.

        The lease ends; the next one begins when the notice has come back.
        """
        self.lose()
        self._listening_ms = now
        self._joining = self._request(now)
        return JoinNotice(self.identity, self._joining)

    def lose(self) -> None:
        """Note that the channel is lost, and the lease given up."""
        self.lease_ms = 0
        self._listening_ms = None
        self._sent.clear()

    def heartbeat(self, now: int) -> HeartbeatNotice | None:
        """Return a request for a longer lease, which is sent now; None without a channel."""
        if self._listening_ms is None:
            return None
        return HeartbeatNotice(self.identity, self._request(now))

    def _request(self, now: int) -> int:
        self._requests += 1
        self._sent[self._requests] = now
        return self._requests

    def receive(self, notice: Notice, now: int) -> None:
        """Take a notice in its order on the channel; what it purges was purged before."""
        match notice:
            case PurgeNotice(origin, number):
                if origin == self.identity:
                    self._returned = number
            case JoinNotice(origin, number) | HeartbeatNotice(origin, number):
                if origin == self.identity:
                    self._extend(number, now)
                elif other := self._other(origin, now):
                    other.heard_ms = now
            case SeenNotice(origin, number):
                if other := self._other(origin, now):
                    other.seen = number
            case LeaveNotice(origin):
                self._others.pop(origin, None)

    def _other(self, origin: str, now: int) -> _Other | None:
        """Return another instance, which may be new; None where too many are known."""
        if origin not in self._others and len(self._others) >= MOST_OTHERS:
            self._listening_ms = now  # as on a new channel: not every instance is known
            return None
        return self._others.setdefault(origin, _Other(now, 0))

    def _extend(self, number: int, now: int) -> None:
        """Extend the lease: everything that was committed before this request is purged."""
        sent = self._sent.pop(number, None)
        if sent is None:  # from before the channel was lost
            return
        for older in [each for each in self._sent if each < number]:
            del self._sent[older]
        self.lag_ms = now - sent
        if number >= self._joining:
            self.lease_ms = max(self.lease_ms, sent + LEASE_MS)

    def commit(self, number: int, now: int) -> None:
        """Note a transaction of ours; the COMMIT has returned."""
        self._waiting.append(_Commit(number, now))

    def acknowledged(self, now: int) -> Iterator[int]:
        """Yield the numbers of transactions after which no instance uses what is stale."""
        self._forget_silent(now)
        while self._waiting and self._is_seen(self._waiting[0], now):
            yield self._waiting.popleft().number

    def _is_seen(self, commit: _Commit, now: int) -> bool:
        if now >= commit.committed_ms + SILENCE_MS:  # so old is no lease
            return True
        return (
            commit.number <= self._returned
            and self._knows_all(now)
            and all(other.seen >= commit.number for other in self._others.values())
        )

    def _knows_all(self, now: int) -> bool:
        """Return whether each instance with a lease was heard since the channel was opened."""
        return self._listening_ms is not None and now >= self._listening_ms + SILENCE_MS

    def _forget_silent(self, now: int) -> None:
        for name in [each for each, other in self._others.items() if _is_silent(other, now)]:
            del self._others[name]

    def due_ms(self, now: int) -> int | None:
        """Return when time alone may acknowledge something; None if nothing waits."""
        if not self._waiting:
            return None
        moments = [self._waiting[0].committed_ms, *(o.heard_ms for o in self._others.values())]
        if self._listening_ms is not None and not self._knows_all(now):
            moments.append(self._listening_ms)
        return min(moments) + SILENCE_MS

    def living(self, now: int) -> int:
        """Return how many instances have a lease or may have one, this one included."""
        others = [*self._others.values()]  # another thread may ask
        return 1 + sum(not _is_silent(each, now) for each in others)

    @property
    def waiting(self) -> int:
        """The number of transactions that are not acknowledged."""
        return len(self._waiting)


def _is_silent(other: _Other, now: int) -> bool:
    return now >= other.heard_ms + SILENCE_MS

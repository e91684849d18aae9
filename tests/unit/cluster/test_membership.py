"""The lease protocol with a clock that the test sets: who may use its cache, who is waited for."""

import random

import pytest

from commentsvc.cluster.membership import LEASE_MS, MOST_OTHERS, SILENCE_MS, Membership
from commentsvc.db.notices import (
    HeartbeatNotice,
    JoinNotice,
    LeaveNotice,
    Notice,
    PurgeNotice,
    SeenNotice,
)

START = 50_000


def joined(now: int = START) -> Membership:
    """Return a membership whose first lease began, and that knows of all others."""
    member = Membership("me")
    member.receive(member.join(now - SILENCE_MS), now - SILENCE_MS)
    return member


def hear(member: Membership, *heard: Notice, now: int = START) -> None:
    for notice in heard:
        member.receive(notice, now)


def commit(member: Membership, number: int, now: int = START) -> None:
    """Commit a transaction whose notice has come back."""
    member.commit(number, now)
    member.receive(PurgeNotice("me", number, ("a",)), now)


def done(member: Membership, now: int) -> list[int]:
    return [*member.acknowledged(now)]


def test_a_lease_begins_when_the_own_join_came_back_and_counts_from_when_it_was_sent() -> None:
    member = Membership("me")
    assert member.heartbeat(START) is None, "there is no channel"
    join = member.join(START)
    assert member.lease_ms == 0
    hear(member, JoinNotice("other", 1), HeartbeatNotice("other", 2), now=START + 10)
    assert member.lease_ms == 0
    hear(member, join, now=START + 300)
    assert (member.lease_ms, member.lag_ms) == (START + LEASE_MS, 300)
    heartbeat = member.heartbeat(START + 400)
    assert heartbeat is not None
    hear(member, heartbeat, now=START + 420)
    assert (member.lease_ms, member.lag_ms) == (START + 400 + LEASE_MS, 20)


def test_a_beat_that_comes_back_late_gives_no_time_that_has_passed() -> None:
    member = joined()
    heartbeat = member.heartbeat(START)
    assert heartbeat is not None
    hear(member, heartbeat, now=START + 5_000)
    assert member.lease_ms == START + LEASE_MS


def test_what_was_sent_before_the_channel_was_lost_extends_no_lease() -> None:
    member = joined()
    heartbeat = member.heartbeat(START)
    assert heartbeat is not None
    member.lose()
    assert member.lease_ms == 0
    join = member.join(START + 100)
    hear(member, heartbeat, now=START + 110)
    assert member.lease_ms == 0
    hear(member, join, now=START + 120)
    assert member.lease_ms == START + 100 + LEASE_MS


def test_alone_a_transaction_is_acknowledged_when_its_notice_came_back() -> None:
    member = joined()
    member.commit(1, START)
    assert done(member, START + 1) == []
    hear(member, PurgeNotice("me", 1, ("a",)), now=START + 2)
    assert done(member, START + 2) == [1]
    assert member.due_ms(START + 2) is None


def test_each_living_instance_has_to_see_it_and_seeing_a_later_one_suffices() -> None:
    member = joined()
    hear(member, HeartbeatNotice("b", 1), HeartbeatNotice("c", 1))
    assert member.living(START) == 3
    commit(member, 1)
    commit(member, 2)
    hear(member, SeenNotice("b", 2))
    assert done(member, START + 1) == []
    hear(member, SeenNotice("c", 1))
    assert done(member, START + 1) == [1]
    assert member.waiting == 1
    hear(member, SeenNotice("c", 2))
    assert done(member, START + 1) == [2]


def test_a_silent_instance_is_waited_for_until_its_lease_has_ended_on_any_clock() -> None:
    member = joined()
    hear(member, HeartbeatNotice("b", 1))
    hear(member, SeenNotice("b", 0), now=START + 700)
    commit(member, 1, START + 800)
    assert member.due_ms(START + 800) == START + SILENCE_MS
    assert done(member, START + SILENCE_MS - 1) == []
    assert done(member, START + SILENCE_MS) == [1]
    assert member.living(START + SILENCE_MS) == 1


def test_one_that_beats_but_sees_nothing_delays_by_a_lease_at_most() -> None:
    member = joined()
    commit(member, 1)
    for now in range(START, START + SILENCE_MS, 200):
        hear(member, HeartbeatNotice("b", now), now=now)
        assert done(member, now) == []
    assert done(member, START + SILENCE_MS) == [1]


def test_a_join_says_nothing_about_what_was_seen_since_it_may_be_said_twice() -> None:
    """A notice is sent again if its answer was lost; the cache has been filled meanwhile."""
    member = joined()
    hear(member, HeartbeatNotice("b", 1), SeenNotice("b", 1))
    commit(member, 2)
    hear(member, JoinNotice("b", 2), JoinNotice("c", 1))
    assert done(member, START) == []
    hear(member, SeenNotice("b", 2), SeenNotice("c", 3))
    assert done(member, START) == [2]


def test_one_that_leaves_is_not_waited_for() -> None:
    member = joined()
    hear(member, HeartbeatNotice("b", 1))
    commit(member, 1)
    hear(member, LeaveNotice("b"))
    assert done(member, START) == [1]


def test_a_newcomer_waits_until_every_instance_with_a_lease_must_have_been_heard() -> None:
    member = Membership("me")
    hear(member, member.join(START))
    commit(member, 1, START + 50)
    assert member.due_ms(START + 50) == START + SILENCE_MS
    assert done(member, START + SILENCE_MS - 1) == []
    assert done(member, START + SILENCE_MS) == [1]


def test_where_more_are_named_than_are_known_a_transaction_waits_as_long_as_any_lease() -> None:
    """Whoever may connect can name others; those that are not known may have a lease."""
    member = joined()
    for number in range(3 * MOST_OTHERS):
        hear(member, HeartbeatNotice(f"{number:016x}", 1))
    assert member.living(START) == MOST_OTHERS + 1
    commit(member, 1)
    hear(member, *(SeenNotice(f"{number:016x}", 1) for number in range(MOST_OTHERS)))
    assert done(member, START + SILENCE_MS - 1) == []
    assert done(member, START + SILENCE_MS) == [1]
    commit(member, 2, START + SILENCE_MS)
    assert done(member, START + SILENCE_MS) == [2]


def test_without_a_channel_a_transaction_is_acknowledged_when_no_lease_can_be_so_old() -> None:
    member = joined()
    hear(member, HeartbeatNotice("b", 1))
    member.lose()
    member.commit(1, START)
    assert done(member, START + SILENCE_MS - 1) == []
    assert done(member, START + SILENCE_MS) == [1]
    member.join(START + SILENCE_MS)
    member.commit(2, START + SILENCE_MS)
    assert done(member, START + 2 * SILENCE_MS - 1) == []
    assert done(member, START + 2 * SILENCE_MS) == [2]


def test_one_that_was_silent_and_comes_back_is_waited_for_again() -> None:
    member = joined()
    hear(member, HeartbeatNotice("b", 1))
    late = START + 10_000
    assert done(member, late) == []
    hear(member, SeenNotice("b", 0), HeartbeatNotice("b", 2), now=late)
    commit(member, 1, late)
    assert done(member, late) == []
    hear(member, SeenNotice("b", 1), now=late + 1)
    assert done(member, late + 1) == [1]


class Fabric:
    """PostgreSQL: one row, which is counted up, and what was notified, in the order of commits."""

    def __init__(self) -> None:
        self.count = 0
        self.notified: list[tuple[str, Notice]] = []  # to whom ("": all)


class Player:
    """An instance with one cached answer, as `cluster.instance` has it, driven step by step."""

    def __init__(self, name: str, fabric: Fabric, chance: random.Random) -> None:
        self.name = name
        self.member = Membership(name)
        self.cached: int | None = None
        self.lease_ms = 0  # of the core: it stays when the channel is lost
        self.waiting: dict[
            int, int
        ] = {}  # the count after each transaction without acknowledgement
        self._fabric = fabric
        self._chance = chance
        self._heard: int | None = None  # how many notices it has read; None: it does not LISTEN
        self._is_connected = False
        self._to_say: dict[tuple[str, type[Notice]], Notice] = {}
        self._purges = 0
        self._reads: list[tuple[int, int]] = []  # what was read, and before which purge
        self._commits = 0

    def connect(self, now: int) -> None:
        """LISTEN; in a later step purge, and join."""
        if self._heard is None:
            self._heard = len(self._fabric.notified)
        elif not self._is_connected:
            self._is_connected, self.lease_ms = True, 0
            self._purge()
            self._say(self.member.join(now))

    def lose(self, _: int) -> None:
        if self._is_connected:
            self.member.lose()
        self._heard, self._is_connected = None, False

    def beat(self, now: int) -> None:
        if heartbeat := self.member.heartbeat(now):
            self._say(heartbeat)

    def speak(self, _: int) -> None:
        """Notify; if the answer is lost, notify again with everything."""
        self._fabric.notified += [(to, notice) for (to, _), notice in self._to_say.items()]
        if self._chance.random() < 0.4:
            self._to_say.clear()

    def hear(self, now: int) -> None:
        notified = self._fabric.notified
        if not self._is_connected or self._heard is None or self._heard == len(notified):
            return
        to, notice = notified[self._heard]
        self._heard += 1
        if to not in ("", self.name):
            return
        if isinstance(notice, PurgeNotice):
            self._purge()
            if notice.origin != self.name:
                self._say(SeenNotice(self.name, notice.number), notice.origin)
        self.member.receive(notice, now)
        self.lease_ms = self.member.lease_ms or self.lease_ms

    def write(self, now: int) -> None:
        """COMMIT; its answer may be lost, and then nothing is purged here."""
        self._commits += 1
        self._fabric.count += 1
        self._fabric.notified.append(("", PurgeNotice(self.name, self._commits, ("a",))))
        if self._chance.random() < 0.9:
            self._purge()
            self.waiting[self._commits] = self._fabric.count
            self.member.commit(self._commits, now)

    def read(self, _: int) -> None:
        self._reads.append((self._fabric.count, self._purges))

    def answer(self, now: int) -> None:
        """Store what was read, unless it was purged meanwhile."""
        if self._reads:
            count, purges = self._reads.pop(0)
            if purges == self._purges and now < self.lease_ms:
                self.cached = count

    def _purge(self) -> None:
        self._purges += 1
        self.cached = None

    def _say(self, notice: Notice, to: str = "") -> None:
        self._to_say[(to, type(notice))] = notice


# How often each step is taken, and how many milliseconds pass before one.
STEPS = {
    Player.hear: 60,
    Player.speak: 12,
    Player.read: 8,
    Player.answer: 8,
    Player.connect: 6,
    Player.beat: 4,
    Player.write: 3,
    Player.lose: 0.5,
}
PAUSES = (*[0] * 60, *[3] * 60, 400)


@pytest.mark.parametrize("seed", range(10, 16))
def test_in_whatever_order_things_happen_no_cache_lacks_what_was_acknowledged(seed: int) -> None:
    chance = random.Random(seed)
    fabric = Fabric()
    players = [Player(name, fabric, chance) for name in "abc"]
    now, known, acknowledgements = START, 0, 0
    for step in chance.choices([*STEPS], [*STEPS.values()], k=10_000):
        now += chance.choice(PAUSES)
        if step is Player.lose and chance.random() < 0.1:  # PostgreSQL ends, and comes back
            fabric.notified.clear()
            for each in players:
                each.lose(now)
        step(chance.choice(players), now)
        for each in players:
            for number in each.member.acknowledged(now):
                known = max(known, each.waiting.pop(number))
                acknowledgements += 1
        for each in players:
            assert each.cached is None or now >= each.lease_ms or each.cached >= known
    assert acknowledgements > 100

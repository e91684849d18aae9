"""The lease protocol with a clock that the test sets: who may use its cache, who is waited for."""

from commentsvc.cluster.membership import LEASE_MS, SILENCE_MS, Membership
from commentsvc.db.notices import (
    BeatNotice,
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
    assert member.beat(START) is None, "there is no channel"
    join = member.join(START)
    assert member.lease_ms == 0
    hear(member, JoinNotice("other", 1), BeatNotice("other", 2), now=START + 10)
    assert member.lease_ms == 0
    hear(member, join, now=START + 300)
    assert (member.lease_ms, member.lag_ms) == (START + LEASE_MS, 300)
    beat = member.beat(START + 400)
    assert beat is not None
    hear(member, beat, now=START + 420)
    assert (member.lease_ms, member.lag_ms) == (START + 400 + LEASE_MS, 20)


def test_a_beat_that_comes_back_late_gives_no_time_that_has_passed() -> None:
    member = joined()
    beat = member.beat(START)
    assert beat is not None
    hear(member, beat, now=START + 5_000)
    assert member.lease_ms == START + LEASE_MS


def test_what_was_sent_before_the_channel_was_lost_extends_no_lease() -> None:
    member = joined()
    beat = member.beat(START)
    assert beat is not None
    member.lose()
    assert member.lease_ms == 0
    join = member.join(START + 100)
    hear(member, beat, now=START + 110)
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
    hear(member, BeatNotice("b", 1), BeatNotice("c", 1))
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
    hear(member, BeatNotice("b", 1))
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
        hear(member, BeatNotice("b", now), now=now)
        assert done(member, now) == []
    assert done(member, START + SILENCE_MS) == [1]


def test_one_that_joins_later_has_seen_what_came_back_before() -> None:
    member = joined()
    hear(member, BeatNotice("b", 1))
    commit(member, 1)
    hear(member, JoinNotice("c", 1), JoinNotice("b", 2))
    assert done(member, START) == [1]
    commit(member, 2)
    assert done(member, START) == []


def test_one_that_leaves_is_not_waited_for() -> None:
    member = joined()
    hear(member, BeatNotice("b", 1))
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


def test_without_a_channel_a_transaction_is_acknowledged_when_no_lease_can_be_so_old() -> None:
    member = joined()
    hear(member, BeatNotice("b", 1))
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
    hear(member, BeatNotice("b", 1))
    late = START + 10_000
    assert done(member, late) == []
    hear(member, SeenNotice("b", 0), BeatNotice("b", 2), now=late)
    commit(member, 1, late)
    assert done(member, late) == []
    hear(member, SeenNotice("b", 1), now=late + 1)
    assert done(member, late + 1) == [1]

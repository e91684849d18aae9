"""Rate limits: buckets that empty and refill, and need bounded memory."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commentsvc.util import ratelimit
from commentsvc.util.client_network import network_of
from commentsvc.util.ratelimit import WIDE, NetworkLimiter, RateLimiter

# The 256 networks of an IPv6 /48.
WIDE_NETWORK = [network_of(f"2001:db8:1:{number:x}00::1") for number in range(256)]


def test_a_key_gets_its_count_and_then_waits() -> None:
    limiter = RateLimiter("3/minute")
    assert [limiter.take("192.0.2.1", 0) for _ in range(4)] == [0, 0, 0, 20]
    assert limiter.take("192.0.2.1", 19_000) == 1
    assert limiter.take("198.51.100.1", 19_000) == 0


def test_waiting_as_long_as_told_is_enough() -> None:
    limiter = RateLimiter("3/minute")
    for _ in range(3):
        limiter.take("", 0)
    assert limiter.take("", 1_000 * limiter.take("", 0)) == 0


def test_a_bucket_never_holds_more_than_its_count() -> None:
    limiter = RateLimiter("2/day")
    limiter.take("", 0)
    assert [limiter.take("", 10**12) for _ in range(3)] == [0, 0, 43200]


def test_a_clock_that_goes_back_neither_fills_nor_locks() -> None:
    limiter = RateLimiter("1/hour")
    assert limiter.take("", 1_000_000) == 0
    assert limiter.take("", 0) == 3600
    assert limiter.take("", 3_600_000) == 0


def test_off_counts_nothing() -> None:
    limiter = RateLimiter("off")
    assert not any(limiter.take("", 0) for _ in range(100))


def test_the_table_forgets_the_key_seen_longest_ago(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ratelimit, "BUCKETS", 2)
    limiter = RateLimiter("1/hour")
    for address in ("192.0.2.1", "198.51.100.1", "192.0.2.1", "203.0.113.1"):
        limiter.take(address, 0)
    assert limiter.take("192.0.2.1", 0) > 0
    assert limiter.take("198.51.100.1", 0) == 0


@given(st.lists(st.integers(0, 10_000), max_size=60))
def test_no_window_lets_more_through_than_the_bucket_and_the_rate(pauses: list[int]) -> None:
    limiter, now_ms, allowed = RateLimiter("5/second"), 0, 0
    for pause in pauses:
        now_ms += pause
        allowed += limiter.take("", now_ms) == 0
    assert allowed <= 5 + 5 * now_ms / 1_000 + 1e-6


def test_an_ipv6_48_gets_three_times_as_much_as_a_network() -> None:
    """It has 256 networks, and anybody can have one."""
    limiter = NetworkLimiter("4/minute")
    waits = [limiter.take(network, 0) for network in WIDE_NETWORK for _ in range(2)]
    assert waits.count(0) == 4 * WIDE
    assert limiter.take(network_of("2001:db8:2::1"), 0) == 0
    assert [limiter.take(network_of("192.0.2.1"), 0) for _ in range(5)].count(0) == 4
    assert limiter.take(WIDE_NETWORK[-1], 1_000 * max(waits)) == 0


def test_what_is_charged_later_counts_for_the_48_too() -> None:
    limiter = NetworkLimiter("4/minute")
    assert limiter.take(WIDE_NETWORK[0], 0) == 0
    limiter.charge(WIDE_NETWORK[0], 4.0 * WIDE)
    assert limiter.take(WIDE_NETWORK[1], 0) > 0
    limiter.charge(WIDE_NETWORK[0], -4.0 * WIDE)
    assert limiter.take(WIDE_NETWORK[1], 0) == 0

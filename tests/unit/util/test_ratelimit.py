"""Rate limits: buckets that empty and refill, and need bounded memory."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commentsvc.util import ratelimit
from commentsvc.util.ratelimit import RateLimiter


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

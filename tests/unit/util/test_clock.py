"""The clock: which time it returns."""

import time

from commentsvc.util.clock import Clock


def test_the_clock_tells_milliseconds_of_the_day_and_monotonic_ones() -> None:
    before, since = time.time(), time.monotonic_ns() // 1_000_000
    now_ms, monotonic_ms = Clock().now_ms(), Clock().monotonic_ms()
    assert int(before * 1_000) - 1 <= now_ms <= time.time() * 1_000
    assert since <= monotonic_ms <= time.monotonic_ns() // 1_000_000

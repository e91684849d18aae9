"""Clock: which time it tells."""

import time

from commentsvc.util.clock import Clock


def test_the_clock_tells_milliseconds_of_the_day_and_monotonic_seconds() -> None:
    before, since = time.time(), time.monotonic()
    now_ms, monotonic = Clock().now_ms(), Clock().monotonic()
    assert int(before * 1_000) - 1 <= now_ms <= time.time() * 1_000
    assert since <= monotonic <= time.monotonic()

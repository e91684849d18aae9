"""The CPU time that work takes, whatever else the machine does meanwhile."""

import time
from collections.abc import Callable
from typing import TypeVar

# Turns of an empty loop, its milliseconds on a quiet processor, and the slowest one that counts.
LOOP, LOOP_MS, MOST_SLOWNESS = 10_000, 0.18, 3
ATTEMPTS, AT_ONCE, PAUSE = 60, 6, 0.2  # seconds
T = TypeVar("T")


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """Return the CPU time of `work` in milliseconds, as on a quiet processor, and its result.

    Two programs on one core, or a busy host of this virtual machine, make the same work take up to
    twice the CPU time. So a loop is timed beside it.
    """
    began = time.process_time()
    result = work()
    worked = time.process_time()
    for _ in range(LOOP):
        pass
    took, loop = worked - began, time.process_time() - worked
    return took * 1_000 / min(max(loop * 1_000 / LOOP_MS, 1), MOST_SLOWNESS), result


def quickest(work: Callable[[], T], most: float) -> tuple[float, T]:
    """Return the least CPU time of attempts at `work` in milliseconds, and the last result.

    One that takes at most `most` is the last. Some follow each other at once, since the first finds
    the caches of the processor as others have left them; then there is a pause, since what slows
    down a processor lasts longer than short work.
    """
    least, result = timed(work)
    for number in range(1, ATTEMPTS):
        if least <= most:
            break
        if number % AT_ONCE == 0:
            time.sleep(PAUSE)
        took, result = timed(work)
        least = min(least, took)
    return least, result


def assert_quick(work: Callable[[], T], most: float) -> T:
    """Return the result of `work`, one of several attempts at which takes at most `most` ms."""
    took, result = quickest(work, most)
    assert took <= most, f"{took:.1f} ms of {most}"
    return result

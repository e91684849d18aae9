"""The clock of the program, which tests replace by one that they set."""

import time
from typing import Final


class Clock:
    """The time of day, and a time that never goes back, for intervals."""

    __slots__ = ()

    def now_ms(self) -> int:
        """Return Unix milliseconds."""
        return time.time_ns() // 1_000_000

    def monotonic_ms(self) -> int:
        """Return the milliseconds since an arbitrary moment; they never decrease."""
        return time.monotonic_ns() // 1_000_000

    def precise_ms(self) -> float:
        """Return the milliseconds since an arbitrary moment with fractions, to measure work."""
        return time.perf_counter() * 1_000


SYSTEM_CLOCK: Final = Clock()

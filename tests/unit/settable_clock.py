"""A clock that stands still until a test sets it."""

from commentsvc.util.clock import Clock


class SettableClock(Clock):
    """A clock: `moment` is in Unix milliseconds, `elapsed` is what the other methods return."""

    def __init__(self, moment: int, elapsed: int = 0) -> None:
        self.moment = moment
        self.elapsed = elapsed

    @property
    def now(self) -> float:
        """Return the current time in Unix seconds."""
        return self.moment / 1_000

    @now.setter
    def now(self, now: float) -> None:
        self.moment = round(now * 1_000)

    def now_ms(self) -> int:
        return self.moment

    def monotonic_ms(self) -> int:
        return self.elapsed

    def precise_ms(self) -> float:
        return self.elapsed

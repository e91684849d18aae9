"""Rate limit: how often one network, or all of a site's readers together, may submit.

A token bucket for each key holds as many tokens as the rate names and fills evenly, so that a
reader may write three comments in a row, but nobody writes for ever. A bucket is two floats. The
table is bounded: when it is full, the least recently seen key is forgotten. That can only let
somebody write earlier, never lock anybody out. Nothing is stored on disk.
"""

from math import ceil

from cachetools import LRUCache

BUCKETS = 10_000  # at once, about 2 MiB
_SECONDS = {"second": 1.0, "minute": 60.0, "hour": 3600.0, "day": 86400.0}


class RateLimiter:
    """Counts what each key does against one rate."""

    def __init__(self, rate: str, times: int = 1) -> None:
        """Take the rate as in the settings, and how many times of it are allowed.

        A rate is ``10/minute`` (second, hour, day) or ``off``.
        """
        self._buckets: LRUCache[bytes | str, tuple[float, float]] = LRUCache(BUCKETS)
        self._size = 0.0
        if rate != "off":
            count, _, unit = rate.partition("/")
            self._size = float(count) * times
            self._per_second = self._size / _SECONDS[unit]

    def take(self, key: bytes | str, now: float) -> int:
        """Take a token of `key`, a network or a site: 0 if it had one, else seconds to wait.

        `now` is a monotonic clock in seconds; one that goes back only delays the filling.
        """
        if not self._size:
            return 0
        tokens, since = self._buckets.get(key, (self._size, now))
        tokens = min(self._size, tokens + max(0.0, now - since) * self._per_second)
        allowed = tokens >= 1.0
        self._buckets[key] = (tokens - 1.0 if allowed else tokens, now)
        return 0 if allowed else max(1, ceil((1.0 - tokens) / self._per_second))

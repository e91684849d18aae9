"""Rate limit: how often one network, or all readers of a site together, may do something.

Each key has a token bucket, which holds as many tokens as the rate names and is refilled at an even
pace. So a reader may write three comments in a row, but not go on at that speed. The table of
buckets is bounded: when it is full, the least recently used key is removed and starts again with a
full bucket. Nothing is stored on disk.
"""

from collections import OrderedDict

from commentsvc.util.timestamps import DAY_MS, HOUR_MS, MINUTE_MS

BUCKETS = 10_000  # at once, about 2 MiB
_UNITS_MS = {"second": 1_000, "minute": MINUTE_MS, "hour": HOUR_MS, "day": DAY_MS}


class RateLimiter:
    """Limits how often each key may act, by one rate."""

    def __init__(self, rate: str, times: int = 1) -> None:
        """Take a rate as in the settings, such as ``10/minute``; `times` multiplies it.

        The unit is second, minute, hour or day. The rate ``off`` is no limit.
        """
        # A bucket is [credit, milliseconds of the last refill]. To stay with whole numbers, one
        # token is as much credit as the unit has milliseconds, and each millisecond adds as much
        # credit as the rate has tokens. `charge` can make the credit negative. The keys are in the
        # order of their last use; cachetools.LRUCache would add a microsecond to each miss.
        self._buckets: OrderedDict[bytes | str, list[int]] = OrderedDict()
        self._tokens = self._token = 0
        if rate != "off":
            count, _, unit = rate.partition("/")
            self._tokens = int(count) * times
            self._token = _UNITS_MS[unit]

    def take(self, key: bytes | str, now_ms: int, cost: float = 1.0) -> int:
        """Take `cost` tokens from the bucket of `key`, a network or the name of a site.

        Return 0 if it had enough; otherwise take none and return the seconds to wait. `now_ms`
        comes from the monotonic clock.
        """
        if not self._tokens:
            return 0
        full = self._tokens * self._token
        bucket = self._buckets.get(key)
        if bucket is None:
            bucket = self._buckets[key] = [full, now_ms]
            if len(self._buckets) > BUCKETS:
                self._buckets.popitem(last=False)
        else:
            self._buckets.move_to_end(key)
        credit, since = bucket
        if now_ms > since:
            credit = min(full, credit + (now_ms - since) * self._tokens)
        missing = round(cost * self._token) - credit
        bucket[:] = (credit if missing > 0 else -missing, now_ms)
        return -(-missing // (self._tokens * 1_000)) if missing > 0 else 0

    def charge(self, key: bytes | str, cost: float) -> None:
        """Take `cost` more tokens from the bucket of `key`, even if it has too few.

        A negative cost returns tokens.
        """
        bucket = self._buckets.get(key)
        if bucket is not None:
            bucket[0] -= round(cost * self._token)

"""Rate limit: how often one network, or all of a site's readers together, may do something.

A token bucket for each key holds as many tokens as the rate names and fills evenly, so that a
reader may write three comments in a row, but nobody writes for ever. A bucket is two numbers. The
table is bounded: when it is full, the least recently seen key is forgotten. That can only let
somebody write earlier, never lock anybody out. Nothing is stored on disk.
"""

from collections import OrderedDict

from commentsvc.util.timestamps import DAY_MS, HOUR_MS, MINUTE_MS

BUCKETS = 10_000  # at once, about 2 MiB
_UNITS_MS = {"second": 1_000, "minute": MINUTE_MS, "hour": HOUR_MS, "day": DAY_MS}


class RateLimiter:
    """Counts what each key does against one rate."""

    def __init__(self, rate: str, times: int = 1) -> None:
        """Take the rate as in the settings, and how many times of it are allowed.

        A rate is ``10/minute`` (second, hour, day) or ``off``.
        """
        # A key's credit, and the moment of it. A token costs as much credit as a unit has
        # milliseconds, and in each of them the credit grows by one for each token of a unit. It is
        # negative while the key owes some. The keys stand in the order in which they were seen;
        # LRUCache of cachetools would cost each miss a microsecond more.
        self._buckets: OrderedDict[bytes | str, list[int]] = OrderedDict()
        self._tokens = self._token = 0
        if rate != "off":
            count, _, unit = rate.partition("/")
            self._tokens = int(count) * times
            self._token = _UNITS_MS[unit]

    def take(self, key: bytes | str, now_ms: int, cost: float = 1.0) -> int:
        """Take `cost` tokens of `key`, a network or a site: 0 if it had them, else seconds to wait.

        `now_ms` is monotonic; a clock that goes back only delays the filling.
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
        """Take `cost` tokens more for what `key` has begun, whether it has them or not.

        A negative cost gives some back.
        """
        bucket = self._buckets.get(key)
        if bucket is not None:
            bucket[0] -= round(cost * self._token)

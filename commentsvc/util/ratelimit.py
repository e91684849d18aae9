"""Rate limit: how often one network, or all readers of a site together, may do something.

Each key has a token bucket, which holds as many tokens as the rate names and is refilled at an even
pace. So a reader may write three comments in a row, but not go on at that speed. The table of
buckets is bounded: when it is full, the least recently used key is removed and starts again with a
full bucket. Nothing is stored on disk.

A network is an IPv4 /24 or an IPv6 /56. Since many have an IPv6 /48, which holds 256 of these, a
`NetworkLimiter` limits the /48, too.
"""

from collections import OrderedDict

from commentsvc.util.client_network import PACKED_SIZE, wide_network
from commentsvc.util.timestamps import DAY_MS, HOUR_MS, MINUTE_MS

BUCKETS = 10_000  # at once, about 2 MiB
WIDE = 3  # times as much as one network may do, an IPv6 /48 may
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


class NetworkLimiter:
    """Limits how often each network may act by a rate, and an IPv6 /48 by WIDE times that rate."""

    def __init__(self, rate: str, times: int = 1) -> None:
        """Take the same as `RateLimiter`."""
        self._each = RateLimiter(rate, times)
        self._wide = RateLimiter(rate, WIDE * times)

    def take(self, network: bytes, now_ms: int, cost: float = 1.0) -> int:
        """Do as `RateLimiter.take` for a network, and the /48 that holds it."""
        wait = self._each.take(network, now_ms, cost)
        if wait or len(network) != PACKED_SIZE:
            return wait
        return self._wide.take(wide_network(network), now_ms, cost)

    def charge(self, network: bytes, cost: float) -> None:
        """Do as `RateLimiter.charge` for a network, and the /48 that holds it."""
        self._each.charge(network, cost)
        if len(network) == PACKED_SIZE:
            self._wide.charge(wide_network(network), cost)

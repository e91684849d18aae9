"""Rate limit: how often one network may submit.

DESIGN. A token bucket per network holds as many tokens as the rate names and fills evenly, so that
a reader may write three comments in a row, but nobody writes for ever. Networks, not addresses,
since one person has a whole IPv6 /56 and providers share an IPv4 /24. A bucket is two floats. The
table is bounded: when it is full the network that was seen longest ago is forgotten, which can
only let somebody write earlier, never lock anybody out. Nothing is stored on disk.
"""

import socket
from collections import OrderedDict
from math import ceil

NETWORKS = 10_000  # buckets at once, about 2 MiB
_SECONDS = {"second": 1.0, "minute": 60.0, "hour": 3600.0, "day": 86400.0}
_MAPPED = bytes(10) + b"\xff\xff"  # ::ffff:0:0/96, an IPv4 address in IPv6 clothes (RFC 4291)


def network(address: str) -> bytes:
    """Give the network of an IP address: its IPv4 /24 or IPv6 /56.

    What is no address, as the ``""`` of a unix socket, is one network of its own.
    """
    try:
        if ":" not in address:
            return socket.inet_pton(socket.AF_INET, address)[:3]
        packed = socket.inet_pton(socket.AF_INET6, address.partition("%")[0])
    except (OSError, ValueError):
        return b""
    return packed[12:15] if packed.startswith(_MAPPED) else packed[:7]


class Limiter:
    """Counts the submissions of each network against one rate."""

    def __init__(self, rate: str) -> None:
        """Take the rate as in the settings: ``10/minute`` (second, hour, day) or ``off``."""
        self._buckets: OrderedDict[bytes, tuple[float, float]] = OrderedDict()
        self._size = 0.0
        if rate != "off":
            count, _, unit = rate.partition("/")
            self._size = float(count)
            self._per_second = self._size / _SECONDS[unit]

    def take(self, address: str, now: float) -> int:
        """Take a token for the network of `address`: 0 if it had one, else seconds to wait."""
        return self.spend(network(address), now) if self._size else 0

    def spend(self, key: bytes, now: float) -> int:
        """As `take`, of the bucket with this `key`; the rate is not off.

        `now` is a monotonic clock in seconds; one that goes back only delays the filling.
        """
        tokens, since = self._buckets.pop(key, (self._size, now))
        tokens = min(self._size, tokens + max(0.0, now - since) * self._per_second)
        allowed = tokens >= 1.0
        self._buckets[key] = (tokens - 1.0 if allowed else tokens, now)
        if len(self._buckets) > NETWORKS:
            self._buckets.popitem(last=False)
        return 0 if allowed else max(1, ceil((1.0 - tokens) / self._per_second))

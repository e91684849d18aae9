"""Moments: Unix milliseconds, how they are written, and how many there are in a day.

Lists and receipts show the same seconds again and again, so the texts are remembered.
"""

import calendar
import time
from functools import lru_cache
from typing import Final

MINUTE_MS: Final = 60_000  # milliseconds
HOUR_MS: Final = 60 * MINUTE_MS
DAY_MS: Final = 24 * HOUR_MS

REMEMBERED: Final = 4_096  # texts of each kind; a list has at most 1,000 comments
_FORMAT: Final = "%Y-%m-%dT%H:%M:%SZ"


def rfc3339(moment: int) -> str:
    """Give Unix milliseconds as RFC 3339 in UTC, to the second: ``2017-07-14T02:40:00Z``."""
    return _rfc3339(moment // 1_000)


def local(moment: int) -> str:
    """Give Unix milliseconds in the server's time zone, as Stacosys: ``2017-07-14 04:40:00``."""
    return _local(moment // 1_000)


def read(text: str) -> int:
    """Unix milliseconds of what `rfc3339` gives. Raises ValueError for all else."""
    return calendar.timegm(time.strptime(text, _FORMAT)) * 1_000


@lru_cache(REMEMBERED)
def _rfc3339(second: int) -> str:
    return time.strftime(_FORMAT, time.gmtime(second))


@lru_cache(REMEMBERED)
def _local(second: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(second))

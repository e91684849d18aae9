"""Timestamps: Unix milliseconds, their text forms, and the lengths of a minute, hour and day.

The text forms are cached, since lists show the same seconds again and again.
"""

import time
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Annotated, Final

import msgspec

MINUTE_MS: Final = 60_000  # milliseconds
HOUR_MS: Final = 60 * MINUTE_MS
DAY_MS: Final = 24 * HOUR_MS

REMEMBERED: Final = 4_096  # cached texts of each kind; a list has at most 1,000 comments
_FORMAT: Final = "%Y-%m-%dT%H:%M:%SZ"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_Moment = Annotated[datetime, msgspec.Meta(tz=True)]  # with an offset from UTC


def rfc3339(moment: int) -> str:
    """Return Unix milliseconds as RFC 3339 in UTC, to the second: ``2017-07-14T02:40:00Z``."""
    return _rfc3339(moment // 1_000)


def rfc3339_ms(moment: int) -> str:
    """Return Unix milliseconds as RFC 3339 in UTC, exactly: ``2017-07-14T02:40:00.123Z``."""
    hour, rest = divmod(moment, HOUR_MS)
    minute, rest = divmod(rest, MINUTE_MS)
    return f"{_hour(hour)}:{minute:02}:{rest // 1_000:02}.{rest % 1_000:03}Z"


def local(moment: int) -> str:
    """Return Unix milliseconds in local time, as Stacosys does: ``2017-07-14 04:40:00``."""
    return _local(moment // 1_000)


def read(text: str) -> int:
    """Return the Unix milliseconds of a time in RFC 3339. Raise ValueError for other texts."""
    try:
        moment = msgspec.convert(text, _Moment)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from None
    return (moment - _EPOCH) // timedelta(milliseconds=1)


@lru_cache(REMEMBERED)
def _rfc3339(second: int) -> str:
    return time.strftime(_FORMAT, time.gmtime(second))


@lru_cache(REMEMBERED)
def _hour(hour: int) -> str:
    return time.strftime("%Y-%m-%dT%H", time.gmtime(hour * 3_600))


@lru_cache(REMEMBERED)
def _local(second: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(second))

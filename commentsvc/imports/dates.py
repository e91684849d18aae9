"""Dates of other systems, as Unix milliseconds.

A date without an offset from UTC is in the time zone that the caller names.
"""

import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta, tzinfo
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)
_LATEST: Final = 253_402_300_799_999  # the end of the year 9999
_ISO: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?"
    r"\s*(Z|UTC|[+-]\d\d:?\d\d)?)?"
)


# An MD5 digest, as other systems have in place of an e-mail address.
is_digest: Final = re.compile(r"[0-9a-f]{32}").fullmatch


@lru_cache(4_096)
def _second(parts: tuple[str | None, ...], zone: tzinfo) -> int:
    year, month, day, hour, minute, second = (int(part or 0) for part in parts)
    return int(datetime(year, month, day, hour, minute, second, tzinfo=zone).timestamp())


def moment(text: str, zone: tzinfo = UTC) -> int | None:
    """Return the Unix milliseconds of a date in ISO 8601 or RFC 2822; None for other texts."""
    if len(text) == 20 and text[-1] == "Z":  # the most frequent form, three times as fast
        with suppress(ValueError):
            return (datetime.fromisoformat(text) - _EPOCH) // _MILLISECOND
    text = text.strip()
    match = _ISO.fullmatch(text)
    if not match:
        return _rfc2822(text)
    *parts, fraction, offset = match.groups()
    try:
        second = _second(tuple(parts), UTC if offset else zone)
    except (ValueError, OverflowError):
        return None
    if offset and offset[0] in "+-":
        minutes = int(offset[1:3]) * 60 + int(offset[-2:])
        second -= 60 * minutes if offset[0] == "+" else -60 * minutes
    return second * 1_000 + int((fraction or "0").ljust(3, "0")[:3])


def _rfc2822(text: str) -> int | None:
    try:
        found = parsedate_to_datetime(text)
    except (TypeError, ValueError, IndexError):
        return None
    return int((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()) * 1_000


def from_seconds(seconds: object) -> int | None:
    """Return Unix milliseconds for Unix seconds; None if they are not a valid number."""
    if isinstance(seconds, int | float) and -_LATEST <= seconds * 1_000 <= _LATEST:
        return round(seconds * 1_000)
    return None


def numeric_moment(text: str, zone: tzinfo = UTC) -> int | None:
    """Do as `moment`; a number is in seconds, or in milliseconds if seconds would be after 5138."""
    if not text.isascii() or not text.isdigit():
        return moment(text, zone)
    number = int(text[:16])
    return from_seconds(number if number < 10**11 else number / 1_000)

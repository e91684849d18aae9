"""Moments: Unix milliseconds as text."""

import time


def rfc3339(moment: int) -> str:
    """Give Unix milliseconds as RFC 3339 in UTC, to the second: ``2017-07-14T02:40:00Z``."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment // 1_000))


def local(moment: int) -> str:
    """Give Unix milliseconds in the server's time zone, as Stacosys: ``2017-07-14 04:40:00``."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(moment // 1_000))

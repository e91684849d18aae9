"""Timestamps: the two ways to write one."""

import time

import pytest

from commentsvc.util import timestamps
from commentsvc.util.timestamps import local, read, rfc3339, rfc3339_ms


def test_a_moment_is_told_in_utc() -> None:
    assert rfc3339(1_500_000_000_999) == "2017-07-14T02:40:00Z"
    assert rfc3339(0) == "1970-01-01T00:00:00Z"


def test_a_moment_is_told_to_the_millisecond_and_read_again() -> None:
    for moment in (1_500_000_000_999, 1_500_000_000_007, 0, -1):
        assert read(rfc3339_ms(moment)) == moment
    assert rfc3339_ms(1_500_000_000_007) == "2017-07-14T02:40:00.007Z"


def test_a_moment_that_was_told_is_read() -> None:
    assert read("2017-07-14T02:40:00Z") == 1_500_000_000_000
    assert read("2017-07-14T04:40:00.5+02:00") == 1_500_000_000_500
    for text in ("", "2017-07-14", "2017-07-14T02:40:00", "2017-13-14T02:40:00Z", "5"):
        with pytest.raises(ValueError, match=r"Invalid|Expected"):
            read(text)


def test_a_moment_is_told_in_the_servers_time_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Europe/Paris")
    time.tzset()
    timestamps._local.cache_clear()
    try:
        assert local(1_500_000_000_000) == "2017-07-14 04:40:00"
        assert local(1_515_000_000_000) == "2018-01-03 18:20:00"
    finally:
        monkeypatch.undo()
        time.tzset()
        timestamps._local.cache_clear()

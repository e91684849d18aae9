"""What instances tell each other: as it was said, and never more than PostgreSQL takes."""

import pytest

from commentsvc.db import notices
from commentsvc.db.notices import HeartbeatNotice, JoinNotice, LeaveNotice, PurgeNotice, SeenNotice
from commentsvc.model import EVERY_TAG, is_purged

ORIGIN = "0123456789abcdef"


@pytest.mark.parametrize(
    "notice",
    [
        PurgeNotice(ORIGIN, 1, ("thread:blog:/ä|\x1f\0/", "site:blog")),
        JoinNotice(ORIGIN, 2),
        HeartbeatNotice(ORIGIN, 3),
        SeenNotice(ORIGIN, 4),
        LeaveNotice(ORIGIN),
    ],
)
def test_a_notice_is_read_as_it_was_written(notice: notices.Notice) -> None:
    payload = notices.encode(notice)
    assert notices.decode(payload) == notice
    assert "\0" not in payload


def test_too_many_tags_become_the_one_that_stands_for_all() -> None:
    many = tuple(f"thread:blog:/ä/{number}/" for number in range(400))
    payload = notices.encode(PurgeNotice(ORIGIN, 7, many))
    assert len(payload.encode()) <= notices.MOST_BYTES
    assert notices.decode(payload) == PurgeNotice(ORIGIN, 7, (EVERY_TAG,))
    few = PurgeNotice(ORIGIN, 7, many[:300])
    assert notices.decode(notices.encode(few)) == few
    assert is_purged("bans", (EVERY_TAG,))
    assert not is_purged("bans", ("site:blog",))


@pytest.mark.parametrize(
    "payload",
    [
        "",
        "nonsense",
        f'["new kind","{ORIGIN}",1]',
        f'["purge","{ORIGIN}"]',
        '["join","of a stranger",1]',
        f'["purge","{ORIGIN}",-1,["a"]]',
        f'["purge","{ORIGIN}",{1 << 63},["a"]]',
        f'["heartbeat","{ORIGIN}",{"9" * 7_900}]',
        '["leave","",' + "[" * 7_900,
        '["purge","",1,["\\ud800"]]',
    ],
)
def test_what_a_newer_version_or_a_stranger_says_purges_everything(payload: str) -> None:
    assert notices.decode(payload) == PurgeNotice("", 0, (EVERY_TAG,))

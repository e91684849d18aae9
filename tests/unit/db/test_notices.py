"""What instances tell each other: as it was said, and never more than PostgreSQL takes."""

import pytest

from commentsvc.db import notices
from commentsvc.db.notices import HeartbeatNotice, JoinNotice, LeaveNotice, PurgeNotice, SeenNotice
from commentsvc.model import EVERY_TAG, is_purged


@pytest.mark.parametrize(
    "notice",
    [
        PurgeNotice("a", 1, ("thread:blog:/ä|\x1f\0/", "site:blog")),
        JoinNotice("a", 2),
        HeartbeatNotice("a", 3),
        SeenNotice("a", 4),
        LeaveNotice("a"),
    ],
)
def test_a_notice_is_read_as_it_was_written(notice: notices.Notice) -> None:
    payload = notices.encode(notice)
    assert notices.decode(payload) == notice
    assert "\0" not in payload


def test_too_many_tags_become_the_one_that_stands_for_all() -> None:
    many = tuple(f"thread:blog:/ä/{number}/" for number in range(400))
    payload = notices.encode(PurgeNotice("a", 7, many))
    assert len(payload.encode()) <= notices.MOST_BYTES
    assert notices.decode(payload) == PurgeNotice("a", 7, (EVERY_TAG,))
    few = PurgeNotice("a", 7, many[:300])
    assert notices.decode(notices.encode(few)) == few
    assert is_purged("bans", (EVERY_TAG,))
    assert not is_purged("bans", ("site:blog",))


@pytest.mark.parametrize("payload", ["", "nonsense", '["new kind","a",1]', '["purge","a"]'])
def test_what_a_newer_version_says_purges_everything(payload: str) -> None:
    assert notices.decode(payload) == PurgeNotice("", 0, (EVERY_TAG,))

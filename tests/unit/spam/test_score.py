"""spam: one verdict with all its reasons."""

import pytest

from commentsvc.settings.schema import SpamSettings
from commentsvc.spam import score
from commentsvc.spam.score import HOLD, Signal, Verdict, decide

LINKS = Signal(HOLD, "9 links")
AGAIN = Signal(1, "again")
BANNED = Signal(score.BANNED, "banned")


@pytest.mark.parametrize(
    ("signals", "policy", "expected"),
    [
        ([], "none", Verdict("accept")),
        ([], "all", Verdict("hold")),
        ([AGAIN], "none", Verdict("accept", 1, ("again (+1)",))),
        ([AGAIN], "all", Verdict("hold", 1, ("again (+1)",))),
        ([LINKS], "suspicious", Verdict("hold", 5, ("9 links (+5)",))),
        ([LINKS], "none", Verdict("accept", 5, ("9 links (+5)",))),
        ([AGAIN], "suspicious", Verdict("accept", 1, ("again (+1)",))),
        ([], "first", Verdict("hold")),
        ([BANNED], "none", Verdict("spam", 100, ("banned (+100)",))),
        ([LINKS, AGAIN], "suspicious", Verdict("hold", 6, ("9 links (+5)", "again (+1)"))),
        ([LINKS, LINKS], "none", Verdict("spam", 10, ("9 links (+5)", "9 links (+5)"))),
        ([LINKS, LINKS], "all", Verdict("spam", 10, ("9 links (+5)", "9 links (+5)"))),
        ([Signal(-3, "known")], "none", Verdict("accept", 0, ("known (-3)",))),
    ],
)
def test_a_submission_is_judged(signals: list[Signal], policy: str, expected: Verdict) -> None:
    assert decide(tuple(signals), score.HOLDS_FROM[policy], 8) == expected


def test_nothing_is_filed_as_spam_where_that_is_off() -> None:
    assert decide((BANNED,), score.HOLDS_FROM["none"], 0).decision == "hold"
    assert decide((LINKS,) * 20, 5, 0).decision == "hold"


def test_no_single_doubt_files_a_comment_as_spam_but_what_moderators_said() -> None:
    theirs = {score.BANNED, score.LIKE_SPAM}
    points = {value for value in vars(score).values() if isinstance(value, int)} - theirs
    assert len(points) > 3
    assert max(points) < SpamSettings().spam_score

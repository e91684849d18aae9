"""The score of a submission: one verdict with all its reasons."""

import pytest

from commentsvc.settings.schema import SpamSettings
from commentsvc.spam import score
from commentsvc.spam.score import HOLD, Signal, Verdict, decide

LINKS = Signal(HOLD, "links", "9")
AGAIN = Signal(1, "common")
BANNED = Signal(score.BANNED, "word-banned")


@pytest.mark.parametrize(
    ("signals", "policy", "expected"),
    [
        ([], "none", Verdict("accept")),
        ([], "all", Verdict("hold")),
        ([AGAIN], "none", Verdict("accept", 1, ("common +1",))),
        ([AGAIN], "all", Verdict("hold", 1, ("common +1",))),
        ([LINKS], "suspicious", Verdict("hold", 5, ("links +5 9",))),
        ([LINKS], "none", Verdict("accept", 5, ("links +5 9",))),
        ([AGAIN], "suspicious", Verdict("accept", 1, ("common +1",))),
        ([], "first", Verdict("hold")),
        ([BANNED], "none", Verdict("spam", 100, ("word-banned +100",))),
        ([LINKS, AGAIN], "suspicious", Verdict("hold", 6, ("links +5 9", "common +1"))),
        ([LINKS, LINKS], "none", Verdict("spam", 10, ("links +5 9", "links +5 9"))),
        ([LINKS, LINKS], "all", Verdict("spam", 10, ("links +5 9", "links +5 9"))),
        (
            [Signal(-3, "like-approved", "tea")],
            "none",
            Verdict("accept", 0, ("like-approved -3 tea",)),
        ),
    ],
)
def test_a_submission_is_judged(signals: list[Signal], policy: str, expected: Verdict) -> None:
    assert decide(tuple(signals), score.HOLDS_FROM[policy], 8) == expected


def test_only_bans_and_the_filter_may_file_a_comment_as_spam_alone() -> None:
    points = {name: value for name, value in vars(score).items() if isinstance(value, int)}
    alone = {name for name, value in points.items() if value >= SpamSettings().spam_score}
    assert alone == {"BANNED", "LIKE_SPAM"}


def test_nothing_is_filed_as_spam_where_that_is_off() -> None:
    assert decide((BANNED,), score.HOLDS_FROM["none"], 0).decision == "hold"
    assert decide((LINKS,) * 20, 5, 0).decision == "hold"


def test_no_single_doubt_files_a_comment_as_spam_but_what_moderators_said() -> None:
    theirs = {score.BANNED, score.LIKE_SPAM}
    points = {value for value in vars(score).values() if isinstance(value, int)} - theirs
    assert len(points) > 3
    assert max(points) < SpamSettings().spam_score

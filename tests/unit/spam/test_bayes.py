"""bayes: Fisher's method, and what it says of a comment."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commentsvc.comments.submission import Submission
from commentsvc.spam import score
from commentsvc.spam.bayes import STRONGEST, Bayes, spamminess
from commentsvc.spam.tokens import tokens

PLAIN = Submission(("blog", "/p/"), "", "", "", "", "", None, "", "", "")
SPAM = "cheap pills casino bonus deposit"
GOOD = "thank you for this bread"


def taught(spam_odds: float = 0.97, good_odds: float = 0.03) -> Bayes:
    bayes = Bayes()
    spammy = dict.fromkeys(tokens("", "", SPAM), spam_odds)
    bayes.odds = spammy | dict.fromkeys(tokens("", "", GOOD), good_odds)
    return bayes


def found(bayes: Bayes, text: str) -> list[tuple[int, str]]:
    return [
        (points, reason)
        for points, reason in bayes.score(msgspec.structs.replace(PLAIN, message=text))
    ]


def test_an_untaught_filter_says_nothing() -> None:
    assert found(Bayes(), SPAM) == []


def test_what_is_like_spam_is_said_with_its_strongest_words() -> None:
    bayes = taught()
    [number] = tokens("", "", "casino")
    bayes.odds = {**bayes.odds, number: 0.99}
    reason = "like what was marked as spam: casino, cheap, pills, bonus, deposit"
    assert found(bayes, f"Today {SPAM}") == [(score.LIKE_SPAM, reason)]


def test_one_word_never_files_a_comment_as_spam() -> None:
    bayes = taught(spam_odds=0.995)
    reason = "like what was marked as spam: casino"
    assert found(bayes, "my casino visit") == [(score.RATHER_LIKE_SPAM, reason)]


def test_what_is_like_approved_comments_loses_a_little_doubt() -> None:
    reason = "like what was approved: thank, you, for, this, bread"
    assert found(taught(), GOOD) == [(score.LIKE_APPROVED, reason)]


@pytest.mark.parametrize("text", ["", "words nobody knows", f"{GOOD} {SPAM}"])
def test_what_is_unknown_or_contradicts_itself_is_no_finding(text: str) -> None:
    assert found(taught(), text) == []


def test_the_tail_of_chi_square_is_that_of_the_tables() -> None:
    """With two words of odds 0.9: m = -ln 0.81 and -ln 0.01, degrees of freedom 4 each."""
    spam_like = 0.81 * (1 + 0.2107210313)
    good_like = 0.01 * (1 + 4.605170186)
    assert spamminess([0.9, 0.9]) == pytest.approx((1 + spam_like - good_like) / 2)
    assert spamminess([]) == 0.5


@given(st.lists(st.floats(1e-7, 1 - 1e-7), max_size=STRONGEST))
def test_it_is_fair_to_both_sides(odds: list[float]) -> None:
    sure = spamminess(odds)
    assert 0 <= sure <= 1
    assert sure == pytest.approx(1 - spamminess([1 - each for each in odds]), abs=1e-6)

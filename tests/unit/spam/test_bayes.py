"""The Bayes filter: Fisher's method, and its score for a comment."""

from functools import partial

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commentsvc.comments.submission import Submission
from commentsvc.spam import score
from commentsvc.spam.bayes import MOST, STRONGEST, Bayes, spamminess, tokens
from tests.unit.processor_time import assert_quick

PLAIN = Submission(("blog", "/p/"), "", "", "", "", "", None, "", "", "")
SPAM = "cheap pills casino bonus deposit"
GOOD = "thank you for this bread"


def taught(spam_odds: float = 0.97, good_odds: float = 0.03) -> Bayes:
    bayes = Bayes()
    spammy = dict.fromkeys(tokens("", "", SPAM), spam_odds)
    bayes.odds = spammy | dict.fromkeys(tokens("", "", GOOD), good_odds)
    return bayes


def found(bayes: Bayes, text: str) -> list[tuple[int, str, str]]:
    return [*bayes.score(msgspec.structs.replace(PLAIN, message=text))]


def test_an_untaught_filter_says_nothing() -> None:
    assert found(Bayes(), SPAM) == []


def test_what_is_like_spam_is_said_with_its_strongest_words() -> None:
    bayes = taught()
    [number] = tokens("", "", "casino")
    bayes.odds = {**bayes.odds, number: 0.99}
    words = "casino, cheap, pills, bonus, deposit"
    assert found(bayes, f"Today {SPAM}") == [(score.LIKE_SPAM, "like-spam", words)]


def test_one_word_never_files_a_comment_as_spam() -> None:
    bayes = taught(spam_odds=0.995)
    expected = [(score.RATHER_LIKE_SPAM, "like-spam", "casino")]
    assert found(bayes, "my casino visit") == expected


def test_what_is_like_approved_comments_loses_a_little_doubt() -> None:
    words = "thank, you, for, this, bread"
    assert found(taught(), GOOD) == [(score.LIKE_APPROVED, "like-approved", words)]


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


def of(author: str = "", site: str = "", text: str = "") -> set[str]:
    return set(tokens(author, site, text).values())


def test_words_are_the_same_in_any_case_and_width() -> None:
    assert of(text="Casino CASINO ｃａｓｉｎｏ, a casino!") == {"casino"}


def test_a_name_and_a_link_are_counted_by_themselves() -> None:
    text = "see https://Shop.Example.TOP/pills?x=1 now"
    assert of("Pills", "https://me.icu/", text) == {
        "name:pills",
        "link:me.icu",
        "link:*.icu",
        "link:shop.example.top",
        "link:*.top",
        "see",
        "now",
    }


def test_signs_without_spaces_between_words_are_counted_by_pairs() -> None:
    assert of(text="写真が好き") == {"写真", "が好", "き"}


def test_numbers_are_those_of_every_process() -> None:
    assert tokens("", "", "Casino") == {2198816663: "casino"}


def test_few_tokens_of_a_long_text_count() -> None:
    assert len(of(text=" ".join(f"word{n}" for n in range(10_000)))) == MOST
    assert max(map(len, of(text="x" * 8_000))) == 24


@given(st.text(max_size=300), st.text(max_size=300), st.text(max_size=2_000))
def test_any_text_has_bounded_tokens(author: str, site: str, text: str) -> None:
    found = tokens(author, site, text)
    assert len(found) <= MOST
    assert all(0 <= number < 2**32 for number in found)
    assert all(token.isprintable() or not token.isascii() for token in found.values())


def test_a_hostile_text_takes_no_time() -> None:
    for text in ("https://" * 1_000, "h" * 8_000, "https://" + "a" * 7_992, "_" * 8_000):
        assert_quick(partial(tokens, text, text, text), 50)

"""tokens: what a comment is made of."""

import time

from hypothesis import given
from hypothesis import strategies as st

from commentsvc.spam.tokens import MOST, tokens


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
        start = time.process_time()
        tokens(text, text, text)
        assert time.process_time() - start < 0.05

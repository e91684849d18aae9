"""Suggestions for mistyped names."""

import pytest

from commentsvc.util.suggestions import nearest, no_such

KNOWN = ("blog", "Notes", "diary")


@pytest.mark.parametrize(
    ("word", "found"),
    [("blgo", "blog"), ("notes", "Notes"), ("dairy", "diary"), ("x", ""), ("", ""), ("other", "")],
)
def test_the_nearest_name_is_found_whatever_its_case(word: str, found: str) -> None:
    assert nearest(word, KNOWN) == found


def test_a_long_word_costs_no_more_than_a_short_one() -> None:
    assert nearest("blog" * 1_000_000, KNOWN) == ""


def test_who_errs_is_told_what_there_is() -> None:
    assert no_such("site", "blgo", KNOWN) == 'There is no site "blgo". Did you mean "blog"?'
    assert no_such("site", "x", KNOWN) == 'There is no site "x". There are: blog, Notes, diary.'
    assert no_such("site", "x", ()) == 'There is no site "x". There is none at all.'

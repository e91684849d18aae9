"""Rules that look at the text alone."""

import random
import re
from functools import partial
from itertools import product

import pytest

from commentsvc.comments.submission import Submission
from commentsvc.spam import score
from commentsvc.spam.score import Signal
from commentsvc.spam.text_rules import TextRules
from tests.unit.processor_time import assert_quick

RUSSIAN = "Спасибо большое, очень полезная статья"


def sent(message: str, author: str = "Ann", site: str = "") -> Submission:
    return Submission(("blog", "/p/"), author, message, "", "", site, None, "", "", "")


def reasons(rules: TextRules, message: str, links: int = 0) -> list[str]:
    return [f"{signal.reason} {signal.about}" for signal in rules.check(sent(message), links)]


@pytest.mark.parametrize(
    ("most", "links", "found"),
    [(3, 3, []), (3, 4, ["links 4"]), (0, 900, []), (1, 2, ["links 2"])],
)
def test_more_links_than_allowed_are_a_doubt(most: int, links: int, found: list[str]) -> None:
    assert reasons(TextRules(most, (), ()), "Hi", links=links) == found


@pytest.mark.parametrize(
    ("message", "found"),
    [
        ("The best CASINO in town", True),
        ("ＣＡＳＩＮＯ", True),
        ("casino.", True),
        ("casinos and occasinonal", False),
        ("cheap   loans", False),
        ("Cheap Loans!", True),
        ("a.b is a pattern of nothing", True),
        ("axb", False),
    ],
)
def test_an_unwanted_word_is_found_as_a_whole_word(message: str, found: bool) -> None:
    rules = TextRules(0, ("casino", "Cheap loans", "a.b"), ())
    assert bool(reasons(rules, message)) is found


def test_an_unwanted_word_is_found_in_the_name_and_told_once() -> None:
    rules = TextRules(0, ("casino",), ())
    found = rules.check(sent("casino", "Casino Royal", "https://casino.example/"), 0)
    assert found == [Signal(score.WORD, "word", "casino")]


@pytest.mark.parametrize(
    ("message", "scripts", "found"),
    [
        (RUSSIAN, ("latin",), ["script cyrillic"]),
        (RUSSIAN, ("latin", "cyrillic"), []),
        (RUSSIAN, (), []),
        ("Спасибо!", ("latin",), []),
        ("The word спасибо means thank you", ("latin",), []),
        ("日本語のコメントです、ありがとう", ("han", "kana"), []),
        ("日本語のコメントです、ありがとう", ("latin",), ["script kana"]),
        ("1234567890 " * 20 + "!?", ("latin",), []),
        ("Naïve café, ĳsvrij", ("latin",), []),
    ],
)
def test_a_text_in_a_script_that_nobody_reads_is_a_doubt(
    message: str, scripts: tuple[str, ...], found: list[str]
) -> None:
    assert reasons(TextRules(0, (), scripts), message) == found


def test_all_reasons_are_told() -> None:
    rules = TextRules(1, ("спасибо",), ("latin",))
    assert len(reasons(rules, RUSSIAN, links=2)) == 3


@pytest.mark.parametrize(
    "word",
    [
        "pill%05d", "buy pill%05d", "%05d buy pill", "a b %05d", "c++%05d", "!!%05d", "薬%05d",
        "%05d" + " a" * 40, "a " * 40 + "%05d", "x" * 90 + "%05d",
    ],
)  # fmt: skip
def test_a_text_is_compared_with_ten_thousand_words_in_no_time(word: str) -> None:
    words = tuple(word % number for number in range(10_000))
    rules = assert_quick(lambda: TextRules(0, words, ()), 300)
    for text in (
        "nothing of it is unwanted " * 300, "buy pill " * 888, "a " * 4_000, "a b " * 2_000,
        "!" * 8_000, "x" * 8_000, "\ufdfa" * 8_000, "c++x " * 1_600, "薬" * 8_000,
    ):  # fmt: skip
        assert assert_quick(partial(reasons, rules, text), 100) == [], text[:20]


def test_words_are_found_as_a_pattern_of_all_finds_them() -> None:
    """The pattern is simple, but takes time for each word at each place of a text."""
    parts = ("a", "b", " ", "+", "é", "\n", "#")
    words = ["".join(each) for size in (1, 2, 3) for each in product(parts, repeat=size)]
    texts = ["".join(each) for each in product(parts, repeat=5)]
    choice = random.Random(29)
    for _ in range(200):
        unwanted = tuple(choice.sample(words, 3))
        any_word = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, unwanted))})(?!\w)")
        rules = TextRules(0, unwanted, ())
        for text in choice.sample(texts, 20):
            wanted = bool(any_word.search(f"Ann\n\n{text}"))
            assert bool(reasons(rules, text)) is wanted, (unwanted, text)

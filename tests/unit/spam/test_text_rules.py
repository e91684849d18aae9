"""Rules that look at the text alone."""

import time

import pytest

from commentsvc.comments.submission import Submission
from commentsvc.spam import score
from commentsvc.spam.score import Signal
from commentsvc.spam.text_rules import TextRules

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


def test_a_hostile_text_takes_no_time() -> None:
    rules = TextRules(3, tuple(f"{'a' * 50} {n}" for n in range(1_000)), ("thai",))
    begin = time.process_time()
    for text in ("a" * 8_000, "ﷺ" * 8_000, "a " * 4_000):
        rules.check(sent(text), 0)
    assert time.process_time() - begin < 1

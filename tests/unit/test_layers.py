"""layers: what all of them together make of a submission."""

from typing import Any

import msgspec
import pytest

from commentsvc.config import Settings, Spam
from commentsvc.layers import Layers
from commentsvc.markup import render
from commentsvc.spam import BANNED, HOLD, Finding, Verdict
from commentsvc.standing import Standing
from commentsvc.submission import Submission

PLAIN = Submission(("blog", "/p/"), "Ann", "Hello.", "", "", "", None, "", "", "")
USUAL = Standing(HOLD, [])
LONG = "This text is long enough to be known again when it comes a second time."
LINKS = " ".join(f"https://{n}.example/" for n in range(4))


def layers(**spam: Any) -> Layers:  # Any: a field of Spam
    return Layers(Settings(spam=Spam(**spam)))


def verdict(
    judge: Layers,
    message: str = "Hello.",
    network: bytes = b"abc",
    now: float = 0.0,
    standing: Standing = USUAL,
    **fields: Any,  # Any: a field of Submission
) -> Verdict:
    submission = msgspec.structs.replace(PLAIN, message=message, **fields)
    return judge.judge(submission, render(message), network, now, standing)


def test_a_plain_comment_is_accepted_or_held_as_its_standing_says() -> None:
    assert verdict(layers()) == Verdict("accept")
    assert verdict(layers(), standing=Standing(0, [])) == Verdict("hold")
    banned = Standing(HOLD, [Finding(BANNED, "the author is banned")])
    expected = Verdict("spam", 100, ("the author is banned (+100)",))
    assert verdict(layers(), standing=banned) == expected


def test_what_several_layers_doubt_is_filed_as_spam_with_all_reasons() -> None:
    judge = layers(words=("casino",), score=10)
    assert verdict(judge, LINKS + " a").decision == "hold"
    found = verdict(judge, LINKS + " b", author="Casino")
    assert found == Verdict("spam", 10, ("4 links (+5)", 'the word "casino" (+5)'))


def test_a_filled_honeypot_is_refused_whatever_the_rest() -> None:
    assert verdict(layers(), honeypot="x").decision == "reject"
    assert verdict(layers(score=0, rate_limit="off"), honeypot=" ").decision == "reject"


def test_a_wave_makes_comments_wait_and_refuses_none() -> None:
    judge = layers(site_rate_limit="2/minute")
    decisions = [verdict(judge, f"Hello {n}").decision for n in range(4)]
    assert decisions == ["accept", "accept", "hold", "hold"]
    assert verdict(judge, place=("notes", "/p/")).decision == "accept"
    assert verdict(judge, now=60.0).decision == "accept"


def test_a_wave_of_what_is_doubtful_goes_to_the_spam() -> None:
    judge = layers(site_rate_limit="1/day")
    verdict(judge, LONG)
    assert verdict(judge, LONG, b"def", author="Bob").decision == "spam"


def test_a_text_that_other_networks_sent_is_doubted_unless_that_is_off() -> None:
    for judge, score in ((layers(), 3), (layers(duplicates=False), 0)):
        verdict(judge, LONG)
        assert verdict(judge, LONG, b"def", author="Bob").score == score


@pytest.mark.parametrize("off", [{"rate_limit": "off"}, {"site_rate_limit": "off"}])
def test_without_limits_there_is_no_wave(off: dict[str, str]) -> None:
    judge = layers(**({"site_rate_limit": "1/day"} | off))
    assert [verdict(judge).score for _ in range(3)] == [0, 0, 0]


def test_links_are_no_doubt_where_any_number_is_allowed() -> None:
    assert verdict(layers(links=0), LINKS).decision == "accept"

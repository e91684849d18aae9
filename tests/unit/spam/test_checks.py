"""The verdict of all spam checks together on a submission."""

from typing import Any

import altcha
import msgspec
import pytest

from commentsvc.comments.submission import Submission
from commentsvc.markup.markdown import render
from commentsvc.settings.schema import Settings, SpamSettings
from commentsvc.spam.checks import SpamChecker
from commentsvc.spam.policy import PolicyResult
from commentsvc.spam.score import BANNED, HOLD, Signal, Verdict
from commentsvc.util.lasting import Lasting

PLAIN = Submission(("blog", "/p/"), "Ann", "Hello.", "", "", "", None, "", "", "")
USUAL = PolicyResult(HOLD, [])
NOW = 1_795_000_000_000
SENTENCE = "Thank you so much for this post, it has really helped me a lot today!"
LONG = "This text is long enough to be known again when it comes a second time. " * 3
LINKS = " ".join(f"https://{n}.example/" for n in range(4))


def layers(**spam: Any) -> SpamChecker:  # Any: a field of Spam
    """Return checks without form token and proof of work, unless `spam` says otherwise."""
    fields: dict[str, Any] = {"form_token": "off", "proof_of_work": 0} | spam  # Any: as above
    return SpamChecker(Settings(spam=SpamSettings(**fields)), [b"k" * 32], Lasting())


def verdict(
    judge: SpamChecker,
    message: str = "Hello.",
    network: bytes = b"abc",
    later_ms: int = 0,
    policy: PolicyResult = USUAL,
    **fields: Any,  # Any: a field of Submission
) -> Verdict:
    """Return the verdict on a comment that is submitted so many milliseconds later."""
    submission = msgspec.structs.replace(PLAIN, message=message, **fields)
    return judge.check(submission, render(message), network, policy, NOW + later_ms, later_ms)


def test_a_plain_comment_is_accepted_or_held_as_its_standing_says() -> None:
    assert verdict(layers()) == Verdict("accept")
    assert verdict(layers(), policy=PolicyResult(0, [])) == Verdict("hold")
    banned = PolicyResult(HOLD, [Signal(BANNED, "author-banned")])
    expected = Verdict("spam", 100, ("author-banned +100",))
    assert verdict(layers(), policy=banned) == expected


def test_what_several_layers_doubt_is_filed_as_spam_with_all_reasons() -> None:
    judge = layers(blocked_words=("casino",), spam_score=10)
    assert verdict(judge, LINKS + " a").decision == "hold"
    found = verdict(judge, LINKS + " b", author="Casino")
    assert found == Verdict("spam", 10, ("links +5 4", "word +5 casino"))


def test_a_filled_honeypot_is_refused_whatever_the_rest() -> None:
    assert verdict(layers(), honeypot="x").decision == "reject"
    assert verdict(layers(spam_score=0, rate_limit="off"), honeypot=" ").decision == "reject"


def test_a_wave_makes_comments_wait_and_refuses_none() -> None:
    judge = layers(site_rate_limit="2/minute")
    decisions = [verdict(judge, f"Hello {n}").decision for n in range(4)]
    assert decisions == ["accept", "accept", "hold", "hold"]
    assert verdict(judge, page=("notes", "/p/")).decision == "accept"
    assert verdict(judge, later_ms=60_000).decision == "accept"


def test_beyond_the_sites_limit_repeats_wait_and_are_not_spam() -> None:
    judge = layers(site_rate_limit="1/day")
    verdict(judge, LONG)
    for network, author in ((b"def", "Bob"), (b"ghi", "Eve"), (b"jkl", "Dan")):
        assert verdict(judge, LONG, network, author=author).decision == "hold"


def test_a_wave_hides_no_spam() -> None:
    judge = layers(site_rate_limit="1/day", blocked_words=("casino",))
    verdict(judge, LONG)
    assert verdict(judge, f"{LINKS} casino").decision == "spam"


def test_the_same_sentence_of_three_readers_without_javascript_is_not_spam() -> None:
    judge = layers(form_token="judge", proof_of_work=5)
    for number in range(4):
        found = verdict(judge, SENTENCE, b"%3d" % number, author=f"Reader {number}")
        assert found.decision == "accept", found


def test_a_text_that_other_networks_sent_is_doubted_unless_that_is_off() -> None:
    for judge, score in ((layers(), 3), (layers(duplicates=False), 0)):
        verdict(judge, LONG)
        assert verdict(judge, LONG, b"def", author="Bob").score == score


@pytest.mark.parametrize("off", [{"rate_limit": "off"}, {"site_rate_limit": "off"}])
def test_without_limits_there_is_no_wave(off: dict[str, str]) -> None:
    judge = layers(**({"site_rate_limit": "1/day"} | off))
    assert [verdict(judge).score for _ in range(3)] == [0, 0, 0]


def test_links_are_no_doubt_where_any_number_is_allowed() -> None:
    assert verdict(layers(max_links=0), LINKS).decision == "accept"


def proof(judge: SpamChecker) -> dict[str, Any]:  # Any: fields of Submission
    """Return what a browser sends with a form after the proof of work."""
    issued = judge.issue_token("blog", NOW, 0)
    sent = {"form_token": issued["form_token"]}
    if work := issued.get("proof_of_work"):
        challenge = altcha.Challenge.from_dict(work)
        solution = altcha.solve_challenge(challenge)
        assert solution
        sent["proof_of_work"] = altcha.Payload(challenge, solution).to_base64()
    return sent


WITH: dict[str, Any] = {"form_token": "judge", "proof_of_work": 5}


def test_who_has_stamp_and_work_is_not_doubted() -> None:
    judge = layers(**WITH)
    assert verdict(judge, later_ms=9_000, **proof(judge)) == Verdict("accept")


@pytest.mark.parametrize(
    ("mode", "decision", "reasons"),
    [
        ("off", "accept", ("no-work +3",)),
        ("judge", "accept", ("no-form-token +3",)),
        ("hold", "hold", ("no-form-token +5",)),
        ("require", "reject", ()),
    ],
)
def test_what_has_no_stamp_is_judged_as_the_settings_say(
    mode: str, decision: str, reasons: tuple[str, ...]
) -> None:
    found = verdict(layers(form_token=mode, proof_of_work=5))
    assert (found.decision, found.reasons) == (decision, reasons)


@pytest.mark.parametrize("mode", ["hold", "require"])
def test_an_old_client_that_knows_no_stamp_waits_and_is_never_refused(mode: str) -> None:
    assert verdict(layers(form_token=mode, proof_of_work=5), form_token=None).decision == "hold"


def test_a_stamp_without_its_work_is_doubted() -> None:
    judge = layers(**WITH)
    form_token = proof(judge)["form_token"]
    assert verdict(judge, later_ms=9_000, form_token=form_token).reasons == ("no-work +3",)


@pytest.mark.parametrize("mode", ["off", "judge"])
def test_the_work_of_a_used_stamp_is_none(mode: str) -> None:
    judge = layers(form_token=mode, proof_of_work=5)
    sent = proof(judge)
    assert verdict(judge, later_ms=9_000, **sent).score == 0
    again = verdict(judge, "Something else.", later_ms=9_000, **sent)
    assert "no-work +3" in again.reasons


def test_a_forged_stamp_is_refused_where_one_is_required() -> None:
    judge = layers(form_token="require", proof_of_work=5)
    assert (
        verdict(judge, later_ms=9_000, form_token="1795000000000.00.blog.xx").decision == "reject"
    )
    assert verdict(judge, later_ms=9_000, **proof(judge)).decision == "accept"


def test_without_work_asked_a_stamp_is_enough() -> None:
    judge = layers(form_token="require")
    assert [*judge.issue_token("blog", NOW, 0)] == ["form_token"]
    assert verdict(judge, later_ms=9_000, **proof(judge)).score == 0
    assert verdict(judge, "Quick.", **proof(judge)).reasons == ("hasty +3 3",)


EVERYTHING: dict[str, Any] = {  # Any: as for layers
    "blocked_words": ("casino",),
    "scripts": ("latin",),
    "form_token": "judge",
    "proof_of_work": 5,
    "site_rate_limit": "1/day",
}


def suspected(**spam: Any) -> set[str]:  # Any: as for layers
    """Return the reasons to suspect a comment that is wrong in every way."""
    judge = layers(**(EVERYTHING | spam))
    text = f"{LINKS} casino {'Очень длинный русский текст о самых разных вещах. ' * 5}"
    verdict(judge, text)
    form_token = judge.issue_token("blog", NOW, 0)["form_token"]
    return {*verdict(judge, text, b"def", 500, author="Bob", form_token=form_token).reasons}


@pytest.mark.parametrize(
    ("off", "word"),
    [
        ({"max_links": 0}, "links"),
        ({"blocked_words": ()}, "casino"),
        ({"scripts": ()}, "script"),
        ({"duplicates": False}, "repeated"),
        ({"form_token": "off"}, "hasty"),
        ({"proof_of_work": 0}, "no-work"),
        ({"site_rate_limit": "off"}, "crowd"),
    ],
)
def test_each_layer_can_be_off_by_itself(off: dict[str, Any], word: str) -> None:  # Any: as above
    assert suspected() - suspected(**off) == {reason for reason in suspected() if word in reason}
    assert len(suspected(**off)) == len(suspected()) - 1

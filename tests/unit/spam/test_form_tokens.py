"""Form tokens: signed, limited in time, and valid once."""

import pytest

from commentsvc.spam import form_tokens, score
from commentsvc.spam.form_tokens import OLDEST_MS, SKEW_MS, YOUNGEST_MS, FormTokens

NOW = 1_795_000_000_000
KEY, OLD = b"k" * 32, b"o" * 32


@pytest.fixture
def ours() -> FormTokens:
    return FormTokens([KEY])


def check(
    ours: FormTokens, form_token: str, after: int = 60_000, site: str = "blog", of: int = 1
) -> int:
    """Return the points for faults of a form token, `after` it was made at NOW."""
    seen = ours.check(form_token, site, of, NOW + after)
    assert seen.usable or seen.signal
    return seen.signal.points if seen.signal else 0


def test_a_stamp_of_a_minute_ago_is_good(ours: FormTokens) -> None:
    assert check(ours, ours.make("blog", NOW)) == 0


@pytest.mark.parametrize(
    ("after", "points"),
    [
        (0, score.HASTY),
        (YOUNGEST_MS - 1, score.HASTY),
        (YOUNGEST_MS, 0),
        (OLDEST_MS - 1, 0),
        (OLDEST_MS, score.EXPIRED),
        (-SKEW_MS, score.HASTY),
        (-SKEW_MS - 1, score.EXPIRED),
        (10**12, score.EXPIRED),
    ],
)
def test_the_age_of_a_stamp_counts(ours: FormTokens, after: int, points: int) -> None:
    assert check(ours, ours.make("blog", NOW), after) == points


def test_a_hasty_stamp_is_usable_and_an_old_one_is_not(ours: FormTokens) -> None:
    assert ours.check(ours.make("blog", NOW), "blog", 1, NOW).usable
    assert not ours.check(ours.make("blog", NOW), "blog", 1, NOW + OLDEST_MS).usable


def test_a_stamp_is_for_one_submission_and_its_retries(ours: FormTokens) -> None:
    form_token = ours.make("blog", NOW)
    assert [check(ours, form_token, of=n) for n in (1, 1, 2, 1)] == [0, 0, score.REPLAYED, 0]


def test_a_stamp_is_for_its_site(ours: FormTokens) -> None:
    assert check(ours, ours.make("blog", NOW), site="notes") == score.FORGED


def test_every_altered_letter_is_noticed(ours: FormTokens) -> None:
    form_token = ours.make("blog", NOW)
    for index, letter in enumerate(form_token):
        altered = form_token[:index] + ("0" if letter != "0" else "1") + form_token[index + 1 :]
        # The last letter of the signature has two unused bits.
        assert check(ours, altered) == score.FORGED or index == len(form_token) - 1


@pytest.mark.parametrize(
    "form_token",
    ["x", ".", "a.b.c.d", "0" * 10_000, "1795000000.é.blog", "\x00", "💥." * 40, "\ud800."],
)
def test_what_is_no_stamp_is_forged(ours: FormTokens, form_token: str) -> None:
    assert check(ours, form_token) == score.FORGED


def test_a_stamp_of_another_key_is_forged_and_one_of_an_older_key_is_not(ours: FormTokens) -> None:
    theirs = FormTokens([OLD]).make("blog", NOW)
    assert check(ours, theirs) == score.FORGED
    assert check(FormTokens([KEY, OLD]), theirs) == 0
    assert check(ours, FormTokens([KEY, OLD]).make("blog", NOW)) == 0


def test_what_was_used_is_forgotten_only_when_many_others_were(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(form_tokens, "REMEMBERED", 3)
    ours = FormTokens([KEY])
    first = ours.make("blog", NOW)
    check(ours, first)
    for _ in range(2):
        check(ours, ours.make("blog", NOW))
    assert check(ours, first, of=2) == score.REPLAYED
    check(ours, ours.make("blog", NOW))
    assert check(ours, first, of=2) == 0

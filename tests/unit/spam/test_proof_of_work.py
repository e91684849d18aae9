"""Proof of work: only solutions of our own challenges are accepted; a wave makes it harder."""

import base64
import json
from typing import Any

import pytest
from altcha import Challenge, Payload, solve_challenge

from commentsvc.spam.proof_of_work import HALF_MS, LENGTH, QUIET, STEEPEST, ProofOfWork
from tests.unit.processor_time import assert_quick

KEY, OLD = b"k" * 32, b"o" * 32
FORM_TOKEN = "a form token"


def solved(asked: dict[str, Any]) -> str:  # Any: JSON as ALTCHA defines it
    """Return the solution of a challenge, found by ALTCHA's own library."""
    challenge = Challenge.from_dict(json.loads(json.dumps(asked)))
    solution = solve_challenge(challenge)
    assert solution
    return Payload(challenge, solution).to_base64()


def altered(answer: str, *path: str, value: object) -> str:
    payload = json.loads(base64.b64decode(answer))
    parent = payload
    for name in path[:-1]:
        parent = parent[name]
    parent[path[-1]] = value
    return base64.b64encode(json.dumps(payload).encode()).decode()


@pytest.fixture
def ours() -> ProofOfWork:
    return ProofOfWork([KEY], 20)


def test_the_work_that_was_asked_is_accepted(ours: ProofOfWork) -> None:
    assert ours.is_solved(solved(ours.challenge(FORM_TOKEN, 0)), FORM_TOKEN)


def test_the_work_for_one_stamp_is_not_that_for_another(ours: ProofOfWork) -> None:
    assert not ours.is_solved(solved(ours.challenge(FORM_TOKEN, 0)), "another form_token")


def test_the_work_of_another_key_is_none_and_that_of_an_older_key_is_some(
    ours: ProofOfWork,
) -> None:
    theirs = solved(ProofOfWork([OLD], 20).challenge(FORM_TOKEN, 0))
    assert not ours.is_solved(theirs, FORM_TOKEN)
    assert ProofOfWork([KEY, OLD], 20).is_solved(theirs, FORM_TOKEN)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("solution", "derivedKey"), "00" * 32),
        (("solution", "derivedKey"), 7),
        (("solution", "derivedKey"), "é"),
        (("challenge", "signature"), "00" * 32),
        (("challenge", "signature"), None),
        (("challenge", "parameters", "cost"), 1),
        (("challenge", "parameters", "keyPrefix"), ""),
        (("challenge", "parameters", "keySignature"), None),
        (("challenge", "parameters", "data"), None),
        (("challenge", "parameters", "data"), {"__proto__": 1}),
        (("challenge", "parameters"), []),
        (("challenge",), 5),
        (("solution",), None),
    ],
)
def test_an_altered_answer_is_none(ours: ProofOfWork, path: tuple[str, ...], value: object) -> None:
    answer = solved(ours.challenge(FORM_TOKEN, 0))
    assert not ours.is_solved(altered(answer, *path, value=value), FORM_TOKEN)


@pytest.mark.parametrize(
    "answer", ["", "x", "e30=", "W10=", "é", "\ud800", base64.b64encode(b"[" * 2_000).decode()]
)
def test_what_is_no_answer_is_none(ours: ProofOfWork, answer: str) -> None:
    assert not ours.is_solved(answer, FORM_TOKEN)


def test_an_endless_answer_is_not_read(ours: ProofOfWork) -> None:
    answer = solved(ours.challenge(FORM_TOKEN, 0))
    padded = base64.b64encode(base64.b64decode(answer) + b" " * LENGTH).decode()
    assert not ours.is_solved(padded, FORM_TOKEN)


def choosing() -> tuple[ProofOfWork, list[int]]:
    """Return a proof of work, and how many numbers each of its challenges could choose from."""
    asked: list[int] = []

    def choose(count: int) -> int:
        asked.append(count)
        return 0

    return ProofOfWork([KEY], 100, choose), asked


def numbers(opened: int, pause_ms: int) -> list[int]:
    """Return how many numbers each challenge could choose from, while `opened` forms arrive."""
    work, asked = choosing()
    for number in range(opened):
        work.challenge(FORM_TOKEN, number * pause_ms)
    return asked


def test_a_wave_makes_it_harder_to_an_upper_bound() -> None:
    asked = numbers(int(QUIET * STEEPEST * 2), 0)
    assert asked[: int(QUIET)] == [100] * int(QUIET)
    assert asked == sorted(asked)
    assert asked[-1] == 100 * STEEPEST


def test_who_asks_often_makes_it_harder_for_nobody_else() -> None:
    work, asked = choosing()
    for _ in range(1_000):
        work.challenge(FORM_TOKEN, 0, b"bot")
    work.challenge(FORM_TOKEN, 0, b"reader")
    assert asked[-2:] == [100 * STEEPEST, 100]


def test_a_quiet_blog_asks_for_little() -> None:
    assert set(numbers(500, HALF_MS // 10)) == {100}


def test_after_a_wave_it_gets_easier_again() -> None:
    work, asked = choosing()
    for _ in range(1_000):
        work.challenge(FORM_TOKEN, 0)
    work.challenge(FORM_TOKEN, 10 * HALF_MS)
    work.challenge(FORM_TOKEN, 0)  # a clock that goes back does no harm
    assert asked[-2:] == [100, 100]


def test_asking_and_checking_take_a_millisecond(ours: ProofOfWork) -> None:
    answer = solved(ours.challenge(FORM_TOKEN, 0))

    def work() -> None:
        for _ in range(50):
            ours.challenge(FORM_TOKEN, 0)
            ours.is_solved(answer, FORM_TOKEN)

    assert_quick(work, 50 * 5)

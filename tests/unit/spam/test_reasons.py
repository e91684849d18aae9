"""Reasons of a verdict: stored as codes, shown in words."""

import re
from pathlib import Path
from typing import get_args

import pytest

from commentsvc.spam import reasons
from commentsvc.util.i18n import translate

PACKAGE = Path(reasons.__file__).parent


@pytest.mark.parametrize(
    ("stored", "text", "points"),
    [
        ("links +5 9", "more links than allowed: 9", "+5"),
        ("no-work +3", "no proof of work", "+3"),
        ("protected-name +0 Ann Lee", "looks like the protected name “Ann Lee”", ""),
        ("word +5 100 % free %(x)s", "contains the word “100 % free %(x)s”", "+5"),
        ("like-approved -3 tea, cake", "similar to approved comments: tea, cake", "-3"),
        ("script +3 greek", "written in another script: Greek", "+3"),
        ("script +3 cherokee", "written in another script: cherokee", "+3"),
        ("the author has a bad name (+2)", "the author has a bad name (+2)", ""),
        ("unknown +5", "unknown +5", ""),
        ("", "", ""),
    ],
)
def test_a_stored_reason_is_said_in_words(stored: str, text: str, points: str) -> None:
    said = reasons.said(stored)
    assert (translate(said.text), said.points) == (text, points)


def test_a_reason_is_said_in_the_moderators_language() -> None:
    said = reasons.said(reasons.line("script", 3, "greek"))
    assert translate(said.text, "de") == "in einer anderen Schrift geschrieben: Griechisch"


def test_every_reason_has_a_text_and_is_given_by_a_check() -> None:
    assert {*get_args(reasons.Reason)} == {*reasons.TEXTS}
    checks = "".join(path.read_text() for path in PACKAGE.glob("*.py") if path.stem != "reasons")
    assert {*reasons.TEXTS} <= {*re.findall(r'"([a-z-]+)"', checks)}

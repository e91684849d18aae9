"""How the pages show points in time and browsers."""

import pytest

from commentsvc.admin import render
from commentsvc.util.timestamps import DAY_MS

NOW = 1_795_000_000_000  # ms


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        (-5_000, "just now"),
        (0, "just now"),
        (59_999, "just now"),
        (60_000, "1 min ago"),
        (3_599_999, "59 min ago"),
        (3_600_000, "1 h ago"),
        (DAY_MS - 1, "23 h ago"),
        (DAY_MS, "yesterday"),
        (2 * DAY_MS, "2 days ago"),
        (14 * DAY_MS, "4 Nov 2026"),
    ],
)
def test_an_age_is_told_by_its_largest_unit(before: int, expected: str) -> None:
    assert render.ago(NOW - before, NOW) == expected


def test_a_moment_is_told_to_people_and_machines() -> None:
    assert render.exactly(NOW) == "18 Nov 2026, 11:06 UTC"
    assert render.machine(NOW) == "2026-11-18T11:06:40Z"


@pytest.mark.parametrize(
    ("agent", "expected"),
    [
        ("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) … Firefox/140.0", "Firefox on Linux"),
        ("Mozilla/5.0 (Linux; Android 15) … Chrome/140.0 Mobile Safari/537", "Chrome on Android"),
        ("Mozilla/5.0 (Windows NT 10.0) … Chrome/140.0 Safari/537.36 Edg/140.0", "Edge on Windows"),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 18 like Mac OS X) … Safari/604.1", "Safari on iPhone"),
        ("Mozilla/5.0 (Macintosh; Intel Mac OS X 15) … Safari/605.1", "Safari on macOS"),
        ("curl/8", "An unknown browser"),
        ("", "An unknown browser"),
    ],
)  # fmt: skip
def test_a_browser_is_told_by_two_words(agent: str, expected: str) -> None:
    assert render.browser(agent) == expected


def test_a_letter_that_is_none_does_not_break_a_page() -> None:
    answer = render.render("problem.html", message="\ud800", kept=[], blogs=[])
    assert b"?" in answer.body

"""The page of numbers: rounded, with times that half of the cases kept."""

from typing import Final

from commentsvc.legal.numbers import NOTHING, numbers
from commentsvc.moderation.decision_counts import DecisionCount
from commentsvc.settings.schema import Settings
from commentsvc.util.i18n import find_language, speaking

HALF: Final = 2 * 2026


def said(*rows: DecisionCount, language: str = "en") -> list[str]:
    with speaking(find_language(language)):
        page = numbers(Settings(), rows)
        lines = [str(page.title)]
        for title, items in page.sections:
            lines += [str(title), *(" ".join(map(str, item)) for item in items)]
        return [*lines, *map(str, page.end)]


def test_the_numbers_of_a_half_year() -> None:
    lines = said(
        DecisionCount(HALF + 1, "moderator", "", "spam", 0, 100),
        DecisionCount(HALF, "report", "illegal", "deleted", 2, 7),
        DecisionCount(HALF, "report", "abuse", "approved", 64, 6),
        DecisionCount(HALF, "objection", "", "", 8, 5),
        DecisionCount(HALF, "objection", "", "approved", 8, 9),
        DecisionCount(HALF, "undone", "", "", 0, 12),
        DecisionCount(HALF, "program", "", "spam", 1, 40),
    )
    assert lines.index("2026-07-01 to 2026-12-31") < lines.index("2026-01-01 to 2026-06-30")
    first = lines[lines.index("2026-01-01 to 2026-06-30") :]
    assert first[1] == "Reports by readers: 15"
    assert first[2].startswith("Illegal content: 5. Insults, threats or harassment: 5.")
    assert first[3] == "Published: 5. Marked as spam: 0. Deleted: 5."
    assert first[4] == "Decided within: 2 hours"
    at = first.index("Decisions by programs alone: 40")
    assert first[at + 1] == "Published: 0. Marked as spam: 40. Deleted: 0."
    assert "Decisions that were taken back: 10" in first
    assert "Objections: 15" in first
    assert "Granted: 10" in first


def test_few_cases_tell_of_nobody() -> None:
    lines = said(
        DecisionCount(HALF, "report", "illegal", "deleted", 2, 1),
        DecisionCount(HALF, "report", "spam", "deleted", 2, 1),
    )
    text = "\n".join(lines)
    assert "Reports by readers: 0" in text
    assert "within" not in text


def test_a_site_without_decisions_says_so() -> None:
    assert str(NOTHING) in said()


def test_the_page_is_in_the_language_of_the_site() -> None:
    row = DecisionCount(HALF, "report", "illegal", "deleted", 2, 7)
    assert "2026-01-01 bis 2026-06-30" in said(row, language="de")

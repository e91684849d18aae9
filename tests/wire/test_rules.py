"""Keep rules.md true: its cases exist, and it omits no case and no section of RFC 9112."""

import re
from pathlib import Path

from tests.wire.cases import all_cases

PAGE = (Path(__file__).parent / "rules.md").read_text()

# The table of contents of RFC 9112, without introduction, IANA considerations and references.
# Sections that only contain others are represented by those.
SECTIONS = re.findall(
    r"\S+",
    """
    2.1 2.2 2.3 3 3.1 3.2 3.2.1 3.2.2 3.2.3 3.2.4 3.3 4 5 5.1 5.2 6.1 6.2 6.3 7 7.1 7.1.1 7.1.2
    7.1.3 7.2 7.3 7.4 8 9.1 9.2 9.3 9.3.1 9.3.2 9.4 9.5 9.6 9.7 9.8 10.1 10.2 11.1 11.2 11.3 11.4
    """,
)


def table(heading: str) -> list[list[str]]:
    """Return the cells of each row of the table under `heading`."""
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def named_cases() -> set[str]:
    """Return the cases in the table, as `str(case)` writes them: "file: title"."""
    return {
        f"{file}: {title.strip()}"
        for _, _, cell in table("Rules and their cases")
        for file, titles in re.findall(r"`([\w-]+)` ([^`]+)", cell)
        for title in titles.split(";")
    }


def test_every_case_shows_a_rule_and_every_rule_has_its_cases() -> None:
    assert named_cases() == {str(case) for case in all_cases()}


def test_no_section_of_the_standard_is_forgotten() -> None:
    rows = [*table("Rules and their cases"), *table("Shown elsewhere, or not ours")]
    found = set()
    for row in rows:
        source = "9110"
        for number, section in re.findall(r"(9\d\d\d)|§([\d.]+)", row[0]):
            source = number or source
            if section and source == "9112":
                found.add(section)
    assert set(SECTIONS) - found == set()
    assert found - set(SECTIONS) == set(), "RFC 9112 has no such section"

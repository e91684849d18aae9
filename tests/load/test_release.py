"""The page of `python -m loadtest release`; the commands on it are run by test_loadtest.py."""

from loadtest.__main__ import COMMANDS
from loadtest.workloads.release import PARTS, result_of, run


def test_the_parts_exist_and_end_within_half_an_hour() -> None:
    assert {part.words[0] for part in PARTS} <= COMMANDS.keys()
    assert sum(part.minutes for part in PARTS) < 30


def test_the_page_has_tables_and_goals_without_single_rounds() -> None:
    said = (
        "seeded\nround 1\n\nwhat  rate\nours  7\n\ngoal  holds\n\nAll rounds: build/x.json\nPublish"
    )
    assert result_of(said) == "what  rate\nours  7\n\ngoal  holds"


def test_a_part_that_takes_too_long_is_ended() -> None:
    assert not run(["methods"], 0.01)[1]
    assert run(["--help"], 100)[1]

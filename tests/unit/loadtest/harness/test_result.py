"""loadtest/harness/result.py: medians, verdicts, and the file that holds them."""

from dataclasses import replace
from pathlib import Path

import pytest

from loadtest.harness.measurement import Measurement
from loadtest.harness.result import Result, summarise
from loadtest.harness.rounds import Round
from loadtest.harness.scenario import Scenario, named
from tests.unit.loadtest.sample import QUIET

COUNT: Scenario = named(["count"])[0]


def of(*measurements: Measurement, end: float = 50.0) -> Result:
    rounds = [
        Round(number, 300.0, 40.0, end, 0, (one,)) for number, one in enumerate(measurements, 1)
    ]
    about = {"commit": "0" * 40, "dirty": False, "date": "2026-11-21T10:00:00Z", "machine": {}}
    return Result.of(about, [COUNT], rounds)


def test_the_median_of_the_quiet_rounds_counts() -> None:
    loud = replace(QUIET, cpu_ns=20_000.0, others_share=0.04, stolen_share=0.02)
    fast = replace(QUIET, cpu_ns=6_000.0)
    made = (loud, QUIET, fast, replace(fast, scenario="x"))
    summary = summarise("count", "", [one.row() for one in made])
    assert summary.medians["cpu_ns"] == 6_250.0
    assert summary.spread["cpu_ns"] == (6_000.0, 6_500.0)
    assert not summary.disturbed


def test_without_a_quiet_round_nothing_is_said_of_the_goal() -> None:
    result = of(replace(QUIET, others_share=0.5))
    assert result.summaries[0].disturbed
    assert result.verdicts[0].holds is None


def test_goals_are_judged_and_memory_with_them() -> None:
    assert [(verdict.name, verdict.holds) for verdict in of(QUIET).verdicts] == [
        ("count", True),
        ("memory", True),
    ]
    missed = of(replace(QUIET, cpu_ns=7_001.0), end=60.5).verdicts
    assert [verdict.holds for verdict in missed] == [False, False]


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "results" / "one.json"
    result = of(QUIET, replace(QUIET, round=2))
    result.write(path)
    again = Result.read(path)
    assert again.summaries == result.summaries
    assert again.verdicts == result.verdicts
    assert again.rounds[1]["measurements"][0]["round"] == 2


def test_figures_are_stored_without_false_digits(tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    of(replace(QUIET, cpu_ns=6_543.219)).write(path)
    assert Result.read(path).summaries[0].medians["cpu_ns"] == 6_543


@pytest.mark.parametrize("text", ["[]", '{"format": 0}', "nothing"])
def test_a_foreign_file_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "foreign.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"not a result|Expecting"):
        Result.read(path)


def test_a_published_summary_has_a_line_for_each_entry_and_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "count.json"
    result = of(QUIET, replace(QUIET, cpu_ns=6_600.0))
    result.publish(path)
    lines = path.read_text().splitlines()
    assert len([line for line in lines if line.startswith(' "count": {"rate"')]) == 1
    [again] = Result.read(path).summaries
    assert (again.name, again.medians["cpu_ns"]) == ("count", 6_550.0)
    assert again.spread["cpu_ns"] == (6_500.0, 6_600.0)


def test_a_summary_has_forty_lines_and_says_what_it_leaves_out(tmp_path: Path) -> None:
    path = tmp_path / "many.json"
    result = of(QUIET)
    many = tuple(replace(result.summaries[0], name=f"entry {n}") for n in range(50))
    replace(result, summaries=many).publish(path)
    assert len(path.read_text().splitlines()) == 40
    again = Result.read(path)
    assert again.about["entries_left_out"] == 50 - len(again.summaries)

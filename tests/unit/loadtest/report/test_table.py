"""loadtest/report/table.py: what people read."""

from dataclasses import replace

from loadtest.harness.result import Result, Summary, Verdict
from loadtest.harness.scenario import Goal
from loadtest.report import table

MEDIANS = {
    "rate": 100_000.0,
    "cpu_ns": 6_500.0,
    "p50": 900.0,
    "p90": 1_000.0,
    "p99": 1_200.0,
    "max": 2_000.0,
    "server_share": 0.9,
    "client_share": 0.8,
    "client_ns": 8_000.0,
}
COUNT = Summary("count", "a count", MEDIANS, disturbed=False)


def result(*summaries: Summary) -> Result:
    rounds = (
        {
            "number": 1,
            "start_ms": 300.0,
            "rss_start_mib": 40.9,
            "rss_end_mib": 48.5,
            "thrown_away": 2,
        },
    )
    goal = Goal("cpu_ns", "most", 7_000, "")
    return Result({}, summaries, (Verdict("count", goal, 6_500.0, True),), rounds)


def test_columns_are_aligned_and_lines_end_without_spaces() -> None:
    assert table.align([("a", "1", ""), ("long", "1,000", "x")]) == "a         1\nlong  1,000  x"


def test_figures_are_written_as_people_read_them() -> None:
    assert [table.number(value) for value in (1_234_567.8, 99.94, 0.5)] == [
        "1,234,568",
        "99.9",
        "0.5",
    ]
    assert [table.milliseconds(time) for time in (1_234.0, 0)] == ["1.23", "–"]


def test_a_result_shows_figures_memory_and_goals() -> None:
    told = table.result(result(COUNT))
    assert "count        100,000   6,500    0.90    1.00    1.20    2.00     80%" in told
    assert "48.5" in told
    assert "at most 7,000 CPU-ns per request    6,500  holds" in table.goals(result(COUNT).verdicts)


def test_entries_show_how_many_times_the_baseline_they_cost() -> None:
    floor = {**MEDIANS, "cpu_ns": 3_250.0}
    summaries = [
        Summary(name, "", medians, disturbed=False)
        for name, medians in (
            ("plain: ours", MEDIANS),
            ("plain: baseline", floor),
            ("x: y", MEDIANS),
        )
    ]
    told = table.entries(Result({}, tuple(summaries), (), ()))
    lines = [line.split() for line in told.splitlines()]
    assert ["plain:", "ours", "100,000", "6,500", "2.00", "0.90", "1.20", "80%", "8,000"] in lines
    assert ["x:", "y", "100,000", "6,500", "–", "0.90", "1.20", "80%", "8,000"] in lines


def test_what_limits_a_figure_is_said() -> None:
    full = replace(COUNT, medians={**MEDIANS, "client_share": 0.99}, disturbed=True)
    told = table.result(result(full))
    assert "count (disturbed)" in told
    assert "99% full" in told


def test_goals_say_whether_they_hold() -> None:
    goal = Goal("rate", "least", 15_000, "")
    told = table.goals(
        [Verdict("a", goal, 1.0, True), Verdict("b", goal, 2.0, False), Verdict("c", goal, 3, None)]
    )
    ends = [line.split("  ")[-1].strip() for line in told.splitlines()[1:]]
    assert ends == ["holds", "MISSED", "no quiet round"]


def test_a_comparison_shows_what_both_measured() -> None:
    faster = replace(COUNT, medians={**MEDIANS, "cpu_ns": 5_850.0})
    other = replace(COUNT, name="list")
    told = table.comparison(result(COUNT), result(faster, other))
    assert "6,500  5,850  -10.0%" in told
    assert "list" not in told

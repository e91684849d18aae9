"""loadtest/report: charts and tables."""

from dataclasses import replace
from pathlib import Path

from click.testing import CliRunner

from loadtest.harness.result import Result, Summary, Verdict
from loadtest.harness.scenario import Goal
from loadtest.report import chart, table

ABOUT = {
    "date": "2026-11-21T12:00:00Z",
    "commit": "abcdef0123456",
    "machine": {"cores": 2, "processor": "Some Processor"},
}


def result(test: str, medians: dict[str, dict[str, float]]) -> Result:
    summaries = tuple(Summary(name, "", figures, False) for name, figures in medians.items())
    return Result({**ABOUT, "kind": test}, summaries, (), ())


def test_the_front_pages_chart_shows_what_goes_through_the_proxy() -> None:
    figures = {"views": 40.0, "mean": 6_000.0}
    ways = ("https: ours", "batch: ours", "direct: ours", "https: sanic-1")
    drawn = chart.front_page(result("front-page", dict.fromkeys(ways, figures)))
    assert drawn.count("/s, mean 6 ms") == 3
    assert "direct" not in drawn
    assert "ours, one request" in drawn
    assert "2026-11-21, commit abcdef0123, 2 cores of Some Processor" in drawn


def test_the_chart_of_scaling_has_a_line_for_each_kind() -> None:
    names = ("count at 10", "count at 1000", "queue at 10", "queue at 1000")
    figures: dict[str, dict[str, float]] = {name: {"cpu_ns": 5_000.0} for name in names}
    drawn = chart.scaling(result("scaling", {**figures, "start at 10": {"start_ms": 300.0}}))
    assert "count  5<" in drawn
    assert "queue  5<" in drawn
    assert ">start" not in drawn


def test_the_mixs_chart_shows_the_highest_rates_beside_the_talks() -> None:
    figures = {"wanted": 4_000.0, "p95": 20_000.0, "rate": 4_000.0}
    mixes = ("whole: 500", "whole: highest", "readers: highest")
    drawn = chart.mixed(result("mixed", dict.fromkeys(mixes, figures)))
    assert drawn.count("ours") == 2
    assert "readers alone" in drawn
    assert "4,000/s, p95 20 ms" in drawn


def test_the_methods_chart_ends_with_its_own_figure() -> None:
    drawn = chart.methods(result("methods", {"GET": {"rate": 20_000.0}}))
    assert "20,000/s" in drawn
    assert "1,164/s" in drawn


def test_the_frameworks_chart_begins_with_the_cheapest() -> None:
    figures: dict[str, dict[str, float]] = {
        "frameworks: sanic": {"cpu_ns": 46_000.0, "rate": 20_000.0},
        "frameworks: ours": {"cpu_ns": 272.0, "rate": 3_000_000.0},
    }
    drawn = chart.frameworks(result("frameworks", figures))
    assert drawn.index("272 ns, 3,000,000/s") < drawn.index("46,000 ns, 20,000/s")


def test_a_result_without_a_chart_says_so(tmp_path: Path) -> None:
    path = tmp_path / "some.json"
    result("other", {}).write(path)
    done = CliRunner().invoke(chart.main, [str(path)])
    assert done.exit_code == 1
    assert "some.json has no chart" in done.output


def test_a_chart_is_the_same_file_each_time() -> None:
    found = result("methods", {"GET": {"rate": 20_000.0}})
    assert chart.methods(found) == chart.methods(found)


def test_labels_of_curves_do_not_cover_each_other() -> None:
    placed = chart._apart({"a": 10.0, "b": 10.1, "c": 100.0})
    assert placed["b"] >= placed["a"] * 1.3
    assert placed["c"] == 100.0


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


def table_result(*summaries: Summary) -> Result:
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
    told = table.result(table_result(COUNT))
    assert "count        100,000   6,500    0.90    1.00    1.20    2.00     80%" in told
    assert "48.5" in told
    assert "at most 7,000 CPU-ns per request    6,500  holds" in table.goals(
        table_result(COUNT).verdicts
    )


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
    told = table.result(table_result(full))
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
    told = table.comparison(table_result(COUNT), table_result(faster, other))
    assert "6,500  5,850  -10.0%" in told
    assert "list" not in told

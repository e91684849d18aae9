"""loadtest/report/chart.py: each kind of result has its chart."""

from pathlib import Path

from click.testing import CliRunner

from loadtest.harness.result import Result, Summary
from loadtest.report import chart

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

"""loadtest/workloads/front_page.py: who has a turn, and what is judged."""

from loadtest.harness.measurement import Row
from loadtest.harness.result import summarise
from loadtest.workloads import front_page
from loadtest.workloads.front_page import turns


def row(name: str, rate: float, per_view: int, most: float = 1_000) -> Row:
    figures = {"rate": rate, "views": rate / per_view, "errors": 0, "min": 10.0, "mean": 500.0}
    about = {"scenario": name, "round": 1, "disturbed": False, "proxy_share": 0.5, "max": most}
    return {**about, **figures}


def test_only_who_can_answer_a_batch_is_asked_for_one() -> None:
    assert [turn.name for turn in turns(["batch"], [])] == ["batch: ours", "batch: isso"]
    assert [turn.name for turn in turns(["https"], ["ours", "flask"])] == [
        "https: ours",
        "https: flask",
    ]


def test_page_views_are_compared_with_those_of_ten_requests() -> None:
    rows = [row("batch: ours", 200, 1), row("https: sanic-cache-1", 100, 10)]
    verdicts = {verdict.name: verdict for verdict in front_page.judge(rows)}
    views = verdicts["batch: ours, views by the best of https: sanic-cache-1, https: sanic-cache-4"]
    assert (views.value, views.holds) == (20, True)


def test_without_the_articles_best_errors_and_the_maximum_are_judged_alone() -> None:
    verdicts = front_page.judge([row("https: ours", 200, 10, most=300_000)])
    assert [(verdict.value, verdict.holds) for verdict in verdicts] == [(0, True), (300, False)]


def test_the_table_has_the_articles_columns() -> None:
    rows = [row("https: ours", 200, 10)]
    lines = front_page.table(rows, [summarise("https: ours", "text", rows)]).splitlines()
    assert lines[1].split() == [
        "https:",
        "ours",
        "12,000",
        "0",
        ">",
        "0",
        ">",
        "1",
        *["0", "20", "50%"],
    ]

"""loadtest/svg.py: charts are well-formed, to scale, and say what they show."""

import re
from xml.etree import ElementTree

import pytest

from loadtest.report import svg
from loadtest.report.svg import Bar, Line

NAME = "{http://www.w3.org/2000/svg}"


def texts(picture: str) -> list[str]:
    return [text.text or "" for text in ElementTree.fromstring(picture).iter(f"{NAME}text")]


def widths(picture: str) -> list[float]:
    return [
        float(bar.get("width") or 0) for bar in ElementTree.fromstring(picture).iter(f"{NAME}rect")
    ]


def test_bars_are_as_long_as_their_values_say() -> None:
    rows = [Bar("a & b", 100, "100/s", ours=True), Bar("c", 50, "50/s"), Bar("none", 0, "0/s")]
    picture = svg.bars("Title <1>", "per second", "2026", rows)
    first, second, last = widths(picture)
    assert first == pytest.approx(2 * second, abs=0.2)
    assert last == 0
    assert {"Title <1>", "per second", "2026", "a & b", "100/s"} <= set(texts(picture))


def test_on_a_logarithmic_scale_each_power_is_as_long_as_the_next_one() -> None:
    rows = [Bar("a", 1_000, ""), Bar("b", 100, ""), Bar("c", 10, "")]
    first, second, last = widths(svg.bars("t", "s", "f", rows, steps=True))
    assert first - second == pytest.approx(second - last, abs=0.2)


def test_lines_keep_their_names_apart() -> None:
    rows = [Line("count", [(10, 6), (1_000, 7)]), Line("list", [(10, 6), (1_000, 7.01)])]
    picture = svg.lines("t", "s", "f", rows)
    heights = [
        float(text.get("y") or 0)
        for text in ElementTree.fromstring(picture).iter(f"{NAME}text")
        if text.text in {"count", "list"}
    ]
    assert abs(heights[0] - heights[1]) >= 15
    assert {"10", "1,000", "1"} <= set(texts(picture))


def test_a_chart_has_colours_for_both_schemes() -> None:
    picture = svg.bars("t", "s", "f", [Bar("a", 1, "")])
    assert re.search(r"@media \(prefers-color-scheme: dark\)", picture)

"""Charts of results: `loadtest/chart RESULT.json...` draws them again, each beside its result."""

from collections.abc import Callable
from pathlib import Path

import click

from loadtest.harness.result import Result
from loadtest.report import svg
from loadtest.report.svg import Bar, Line
from loadtest.report.table import number

ONE_REQUEST = "batch"


def article(result: Result) -> str:
    """Page views over HTTPS behind the same proxy."""
    found = [one for one in result.summaries if not one.name.startswith("direct")]
    rows = []
    for one in sorted(found, key=lambda one: -one.medians["views"]):
        way, _, name = one.name.partition(": ")
        label = name + ", one request" * (way == ONE_REQUEST)
        text = f"{one.medians['views']:,.0f}/s, mean {_ms(one.medians['mean'])}"
        rows.append(Bar(label, one.medians["views"], text, name == "ours"))
    subtitle = "views of a front page with ten counts, each second; mean time of a request"
    title = "250 clients over HTTPS, the same nginx in front of each server"
    return svg.bars(title, subtitle, source(result), rows)


def growth(result: Result) -> str:
    """What a request of each kind costs at each size."""
    curves: dict[str, list[tuple[float, float]]] = {}
    for one in result.summaries:
        name, _, size = one.name.partition(" at ")
        if name != "start":
            curves.setdefault(name, []).append((float(size), one.medians["cpu_ns"] / 1_000))
    rows = [Line(name, sorted(points)) for name, points in curves.items()]
    title = "What a request costs while the comments grow"
    subtitle = "CPU time of the server for one request, in µs, by the number of stored comments"
    return svg.lines(title, subtitle, source(result), rows)


def japronto(result: Result) -> str:
    """What a pipelined request costs each server."""
    found = sorted(result.summaries, key=lambda one: one.medians["cpu_ns"])
    rows = []
    for one in found:
        name, cost = one.name.partition(": ")[2], one.medians["cpu_ns"]
        text = f"{number(cost)} ns, {one.medians['rate']:,.0f}/s"
        rows.append(Bar(name, cost, text, name == "ours"))
    subtitle = "CPU time of the server for a request and an answer of 240 bytes, ns, logarithmic"
    title = "100 connections, 24 requests deep, one core"
    return svg.bars(title, subtitle, source(result), rows, steps=True)


def small(result: Result) -> str:
    """ab's rates by method."""
    rows = [
        Bar(one.name, one.medians["rate"], f"{one.medians['rate']:,.0f}/s", ours=True)
        for one in result.summaries
    ]
    rows.append(Bar("the small server, GET, 2010", 1_163.64, "1,164/s"))
    subtitle = (
        "requests per second, by method; count is the whole service, the others a trivial handler"
    )
    return svg.bars("ab -c 5 -n 10000", subtitle, source(result), rows)


def talk(result: Result) -> str:
    """The highest rates that hold, ours and the talk's."""
    rows = []
    for one in result.summaries:
        mix, _, rate = one.name.partition(": ")
        if rate == "highest":
            wanted = one.medians["wanted"]
            text = f"{wanted:,.0f}/s, p95 {_ms(one.medians['p95'])}"
            label = "ours" if mix == "whole" else f"ours, {mix} alone"
            rows.append(Bar(label, wanted, text, ours=True))
    rows += [
        Bar("the talk, larger machine", 1_000, "1,000/s"),
        Bar("the talk, concurrent writes", 550, "550/s"),
        Bar("the talk, at first", 50, "50/s"),
    ]
    subtitle = (
        "requests per second of its mix, no failure, 95th percentile under 2 s; clients included"
    )
    return svg.bars(
        "The talk's protocol: the highest rate that holds", subtitle, source(result), rows
    )


DRAWN: dict[str, Callable[[Result], str]] = {
    "article": article,
    "growth": growth,
    "japronto": japronto,
    "small": small,
    "talk": talk,
}


def source(result: Result) -> str:
    """Where the figures are from."""
    about = result.about
    machine = about["machine"]
    return (
        f"{about['date'][:10]}, commit {about['commit'][:10]}, {machine['cores']} cores"
        f" of {machine['processor']}"
    )


def _ms(microseconds: float) -> str:
    return f"{number(microseconds / 1_000)} ms"


def draw(result: Result, path: Path) -> Path:
    """Draw the chart of the result at `path` beside it. Raises KeyError where it has none."""
    drawn = path.with_suffix(".svg")
    drawn.write_text(DRAWN[result.about["test"]](result))
    return drawn


@click.command
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
def main(paths: tuple[Path, ...]) -> None:
    """Draw the charts of stored results."""
    for path in paths:
        try:
            click.echo(draw(Result.read(path), path))
        except KeyError as error:
            raise click.ClickException(f"{path.name} has no chart") from error

"""Charts of results, drawn as SVG by matplotlib, which is imported only when one is drawn."""

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from loadtest.harness.result import Result, Summary
from loadtest.report.table import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

OURS: Final = "ours"
STYLE: Final[dict[Any, Any]] = {  # Any: as matplotlib declares them
    "font.family": "sans-serif",
    "font.size": 10,
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "loadtest",  # the same chart is the same file
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#8c959f",
    "text.color": "#1f2328",
    "axes.labelcolor": "#1f2328",
    "xtick.color": "#57606a",
    "ytick.color": "#1f2328",
}
ACCENT, GREY, FAINT = "#0969da", "#b6bec7", "#57606a"
PALETTE: Final = ("#0969da", "#bf3989", "#1a7f37", "#bc4c00", "#8250df", "#57606a")
DARK: Final = "#1f2328"
WIDTH: Final = 8.5  # inches
HEAD: Final = 0.55  # inches for title and subtitle
LEFT: Final = 0.012  # of the width


@dataclass(frozen=True, slots=True)
class Bar:
    """A row of a bar chart: its length, and what is written at its end."""

    label: str
    value: float
    text: str
    accent: bool = False


def bars(result: Result, title: str, subtitle: str, rows: Sequence[Bar], *, log: bool) -> str:
    """Return horizontal bars, the first one at the top."""
    figure, axes = _figure(title, subtitle, result, HEAD + 0.5 + 0.32 * len(rows))
    places = range(len(rows))
    colours = [ACCENT if row.accent else GREY for row in rows]
    drawn = axes.barh(places, [row.value for row in rows], color=colours, height=0.66)
    axes.bar_label(drawn, [row.text for row in rows], padding=5, fontsize=9)
    axes.set_yticks(places, [row.label for row in rows])
    axes.invert_yaxis()
    axes.tick_params(length=0)
    axes.xaxis.set_visible(False)
    axes.spines["bottom"].set_visible(False)
    greatest, least = (pick(row.value for row in rows) for pick in (max, min))
    if log:
        axes.set_xscale("log")
        left = least / 3
        axes.set_xlim(left, greatest * (greatest / left) ** 0.5)
    else:
        axes.set_xlim(0, greatest * 1.4)
    return _svg(figure)


def curves(
    result: Result, title: str, subtitle: str, rows: Mapping[str, Sequence[tuple[float, float]]]
) -> str:
    """Return curves with both axes logarithmic, each named at its right end."""
    figure, axes = _figure(title, subtitle, result, 4.8)
    axes.set(xscale="log", yscale="log")
    ends = _apart({name: points[-1][1] for name, points in rows.items()})
    for colour, (name, points) in zip(PALETTE, rows.items(), strict=False):
        xs, ys = zip(*points, strict=True)
        axes.plot(xs, ys, color=colour, marker="o", markersize=4, linewidth=2)
        text = f"{name}  {number(points[-1][1])}"
        axes.annotate(
            text, (points[-1][0], ends[name]), xytext=(8, 0), textcoords="offset points",
            color=colour, verticalalignment="center", annotation_clip=False, fontsize=9,
        )  # fmt: skip
    every = sorted({x for points in rows.values() for x, _ in points})
    axes.set_xticks(every, [f"{x:,.0f}" for x in every])
    axes.minorticks_off()
    axes.yaxis.set_major_formatter(lambda value, _: number(value))
    axes.grid(axis="y", color="#eaeef2")
    axes.margins(x=0.04)
    return _svg(figure)


def _apart(ends: Mapping[str, float]) -> dict[str, float]:
    """Return where the labels go on a logarithmic axis so that none is above another one."""
    placed: dict[str, float] = {}
    lowest = 0.0
    for name, value in sorted(ends.items(), key=lambda one: one[1]):
        placed[name] = lowest = max(value, lowest * 1.3)
    return placed


def _figure(title: str, subtitle: str, result: Result, height: float) -> "tuple[Figure, Axes]":
    """Return an empty chart with its head and its source."""
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    with mpl.rc_context(STYLE):
        layout = ConstrainedLayoutEngine(rect=(0, 0, 1, 1 - HEAD / height))
        figure = Figure(figsize=(WIDTH, height), layout=layout)
        axes = figure.add_subplot()
    for y, text, size, colour, weight in (
        (0.1, title, 13, DARK, "bold"),
        (0.36, subtitle, 9.5, FAINT, "normal"),
    ):
        figure.text(
            LEFT, 1 - y / height, text, verticalalignment="top", fontsize=size, color=colour,
            fontweight=weight,
        )  # fmt: skip
    figure.supxlabel(source(result), x=LEFT, horizontalalignment="left", fontsize=8, color=FAINT)
    return figure, axes


def _svg(figure: "Figure") -> str:
    import matplotlib as mpl

    file = io.StringIO()
    with mpl.rc_context(STYLE):
        figure.savefig(file, format="svg", metadata={"Date": None})
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"


def source(result: Result) -> str:
    """Return where the figures are from."""
    about = result.about
    machine = about["machine"]
    return (
        f"{about['date'][:10]}, commit {about['commit'][:10]}, {machine['cores']} cores"
        f" of {machine['processor']}"
    )


def front_page(result: Result) -> str:
    """Draw page views over HTTPS behind the same proxy."""
    found = [one for one in result.summaries if not one.name.startswith("direct")]
    rows = []
    for one in sorted(found, key=lambda one: -one.medians["views"]):
        way, _, name = one.name.partition(": ")
        label = name + ", one request" * (way == "batch")
        text = f"{one.medians['views']:,.0f}/s, mean {_ms(one.medians['mean'])}"
        rows.append(Bar(label, one.medians["views"], text, name == OURS))
    title = "250 clients over HTTPS, the same nginx in front of each server"
    subtitle = "views of a front page with ten counts, per second; mean time of a request"
    return bars(result, title, subtitle, rows, log=False)


def scaling(result: Result) -> str:
    """Draw what a request of each kind costs at each size."""
    rows: dict[str, list[tuple[float, float]]] = {}
    for one in result.summaries:
        name, _, size = one.name.partition(" at ")
        if name != "start":
            rows.setdefault(name, []).append((float(size), one.medians["cpu_ns"] / 1_000))
    title = "What a request costs while the number of comments grows"
    subtitle = "server CPU per request, µs, by stored comments; both axes logarithmic"
    return curves(result, title, subtitle, {name: sorted(points) for name, points in rows.items()})


def frameworks(result: Result) -> str:
    """Draw what a pipelined request costs each server."""
    rows = []
    for one in sorted(result.summaries, key=lambda one: one.medians["cpu_ns"]):
        name, cost = one.name.partition(": ")[2], one.medians["cpu_ns"]
        text = f"{number(cost)} ns, {one.medians['rate']:,.0f}/s"
        rows.append(Bar(name, cost, text, name == OURS))
    title = "100 connections, 24 requests deep, one core"
    subtitle = "server CPU per request with an answer of 240 bytes, ns, logarithmic"
    return bars(result, title, subtitle, rows, log=True)


def methods(result: Result) -> str:
    """Draw ab's rates by method."""
    rows = [_rate(one.name, one, "rate") for one in result.summaries]
    rows.append(Bar("the server of 2010, GET", 1_163.64, "1,164/s"))
    subtitle = "requests per second; count is the whole service, the others a trivial handler"
    return bars(result, "ab -c 5 -n 10000, by method", subtitle, rows, log=False)


def mixed(result: Result) -> str:
    """Draw the highest rates that hold, ours and those of the talk."""
    rows = []
    for one in result.summaries:
        mix, _, rate = one.name.partition(": ")
        if rate == "highest":
            label = OURS if mix == "whole" else f"{OURS}, {mix} alone"
            rows.append(_rate(label, one, "wanted", f", p95 {_ms(one.medians['p95'])}"))
    rows += [
        Bar("the talk, larger machine", 1_000, "1,000/s"),
        Bar("the talk, concurrent writes", 550, "550/s"),
        Bar("the talk, at first", 50, "50/s"),
    ]
    title = "A mix of reads and writes: the highest rate that holds"
    subtitle = "requests per second, no failure, 95th percentile under 2 s, clients included"
    return bars(result, title, subtitle, rows, log=False)


def _rate(label: str, summary: Summary, figure: str, more: str = "") -> Bar:
    value = summary.medians[figure]
    return Bar(label, value, f"{value:,.0f}/s{more}", accent=True)


def _ms(microseconds: float) -> str:
    return f"{number(microseconds / 1_000)} ms"


CHARTS: dict[str, Callable[[Result], str]] = {
    "front-page": front_page,
    "scaling": scaling,
    "frameworks": frameworks,
    "methods": methods,
    "mixed": mixed,
}


def draw(result: Result, path: Path) -> Path:
    """Write the chart of a result to `path`. Raise KeyError if it has none."""
    path.write_text(CHARTS[result.about["kind"]](result))
    return path


@click.command
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
def main(paths: tuple[Path, ...]) -> None:
    """Draw the chart of a result again, beside its file."""
    for path in paths:
        try:
            click.echo(draw(Result.read(path), path.with_suffix(".svg")))
        except KeyError as error:
            raise click.ClickException(f"{path.name} has no chart") from error

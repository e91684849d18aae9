"""Tables for people: results and goals."""

from collections.abc import Iterable, Mapping, Sequence

import click

from loadtest.harness.measurement import Row
from loadtest.harness.result import Summary, Verdict

FULL = 0.95  # share of its core from which on a client may be the limit
UNITS = {
    "cpu_ns": "CPU-ns per request",
    "rate": "requests/s",
    "rss_mib": "MiB",
    "times": "times",
    "errors": "errors",
    "ms": "ms",
}


def align(rows: Sequence[Sequence[str]]) -> str:
    """Return rows in columns, the first to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if column else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def number(value: float) -> str:
    """Return a figure for people: 1,234,567 or 12.3."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def cells(figures: Mapping[str, float], names: Iterable[str]) -> list[str]:
    """Return the figures of these names for people, a dash for each that is missing."""
    return [number(figures[name]) if name in figures else "–" for name in names]


def milliseconds(microseconds: float) -> str:
    """Return a latency in ms, a dash if it is not known."""
    return f"{microseconds / 1_000:.2f}" if microseconds else "–"


def line(row: Row) -> str:
    """Return one measurement as a line for the terminal."""
    line = f"round {row['round']}  {row['scenario']:<28}{number(row['rate']):>10}/s"
    if "cpu_ns" in row:
        line += f" {number(row['cpu_ns']):>9} CPU-ns"
    line += f"  p99 {milliseconds(row['p99'])} ms"
    if row.get("errors"):
        line += f"  {row['errors']} errors"
    if row["disturbed"]:
        line += f"  disturbed: others used {row['disturbance']:.0%} of a core"
    return line


def show(row: Row) -> None:
    """Print `line`."""
    click.echo(line(row))


def requests(summaries: Sequence[Summary]) -> str:
    """Return the figures of requests; "full" marks a client that may be the limit itself."""
    head = ("requests", "per second", "CPU-ns", "p50 ms", "p90 ms", "p99 ms", "max ms", "client")
    return align([head, *map(_figures, summaries)])


def goals(verdicts: Sequence[Verdict]) -> str:
    """Return the goals and whether they hold."""
    words = {True: "holds", False: "MISSED", None: "no quiet round"}
    rows = [("goal", "wanted", "reached", "")]
    for verdict in verdicts:
        goal = verdict.goal
        wanted = f"at {goal.sense} {number(goal.bound)} {UNITS[goal.figure]}"
        reached = number(verdict.value)
        if verdict.spread:
            reached += f" ({number(verdict.spread[0])} to {number(verdict.spread[1])})"
        rows.append((verdict.name, wanted, reached, words[verdict.holds]))
    return align(rows)


def _figures(summary: Summary) -> tuple[str, ...]:
    medians = summary.medians
    times = [milliseconds(medians[name]) for name in ("p50", "p90", "p99", "max")]
    client = f"{medians['client_share']:.0%}" + (" full" * (medians["client_share"] > FULL))
    name = summary.name + " (disturbed)" * summary.disturbed
    return (name, number(medians["rate"]), number(medians["cpu_ns"]), *times, client)

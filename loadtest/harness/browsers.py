"""The patient clients (native/browsers): what they measured, and what it cost the server.

They are for comparisons with published figures: they count errors, where the generator would stop.
"""

import json
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from loadtest.harness import client, programs
from loadtest.harness.client import ClientError, Outcome
from loadtest.harness.measurement import Measurement, Reading, Row
from loadtest.harness.result import Verdict
from loadtest.harness.scenario import Goal


@dataclass(frozen=True, slots=True)
class Seen:
    """The clients' measurements in µs; `late` answers took over 10 s, `failed` ones never came."""

    outcome: Outcome
    min: float
    mean: float
    p95: float
    late: int
    statuses: dict[str, int]

    @property
    def errors(self) -> int:
        """Return the number of errors as in the article, and wrong answers."""
        return self.late + self.outcome.failed + self.outcome.wrong


def browse(
    port: int,
    plan: Path,
    clients: int,
    seconds: float,
    core: str,
    *,
    rate: float = 0,
    first: int = 0,
    trusted: Path | None = None,
) -> Seen:
    """Let the browsers play the `plan` (see client.pack); over TLS if there are `trusted`.

    They send requests as fast as they are answered, or at a `rate`. Raise ClientError or
    ProgramError.
    """
    numbers = [str(port), str(clients), str(seconds), str(rate), str(first)]
    words = [str(programs.browsers()), *numbers, str(plan)]
    said, _ = client.run([*words, str(trusted)] if trusted else words, core)
    return parse(said)


def parse(said: str) -> Seen:
    """Return the measurements in the browsers' output."""
    figures = json.loads(said)
    latency = figures["latency"]
    counts = (
        figures["answered"] - figures["wrong"],
        figures["seconds"],
        figures["wrong"],
        figures["failed"],
    )
    p50, p90, p99, most = (latency[name] for name in ("p50", "p90", "p99", "max"))
    outcome = Outcome(*counts, p50, p90, p99, most, figures["cpu"] / figures["seconds"])
    others = (latency["min"], latency["mean"], latency["p95"])
    return Seen(outcome, *others, figures["late"], figures["statuses"])


def row(name: str, number: int, seen: Seen, used: Reading, rss: float, **more: float) -> Row:
    """Return a row of figures. Raise ClientError if nothing was answered."""
    if not seen.outcome.answered:
        raise ClientError(f"{name}: no right answer at all, {seen.errors} errors: {seen.statuses}")
    measurement = Measurement.of(name, number, seen.outcome, used, rss)
    figures = {"min": seen.min, "mean": seen.mean, "p95": seen.p95, "errors": seen.errors}
    return measurement.row() | figures | more


def names(rows: Sequence[Row]) -> list[str]:
    """Return the names of what was measured, in the order of the first round."""
    return list(dict.fromkeys(one["scenario"] for one in rows))


def ratio(
    rows: Sequence[Row], above: str, below: Sequence[str], goal: Goal, figure: str
) -> Verdict:
    """Judge the ratio of `figure` of `above` to the greatest one of `below`, taken in each round.

    Rounds that do not have both are left out.

    Raise KeyError where no round has both.
    """
    rounds: dict[int, dict[str, Row]] = {}
    for one in rows:
        rounds.setdefault(one["round"], {})[one["scenario"]] = one
    both = [one for one in rounds.values() if above in one and any(name in one for name in below)]
    if not both:
        raise KeyError(above)
    pairs = [(one[above], [one[name] for name in below if name in one]) for one in both]
    quiet = [pair for pair in pairs if not any(one["disturbed"] for one in (pair[0], *pair[1]))]
    # At least 1: a short run may have taken less CPU time than the kernel's clock can tell.
    values = [
        first[figure] / max(1, *(one[figure] for one in rest)) for first, rest in quiet or pairs
    ]
    value = statistics.median(values)
    name = f"{above}, {figure} by the best of {', '.join(below)}"
    return Verdict(name, goal, value, goal.holds(value), (min(values), max(values)))


def worst(rows: Sequence[Row], name: str, goal: Goal, figure: str, unit: float = 1) -> Verdict:
    """Return the greatest `figure` of a name in any round, divided by `unit`; judged."""
    values = [one[figure] / unit for one in rows if one["scenario"] == name]
    value = max(values)
    return Verdict(f"{name}, {figure}", goal, value, goal.holds(value), (min(values), value))

"""Results: all rounds of a run as a file in build/, and the summary of it that is committed.

A run stores every figure of every round in build/loadtest/rounds, which git ignores. `publish`
writes the medians and their spread, one line for each entry, to loadtest/results.
"""

import json
import statistics
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

from loadtest.harness.measurement import Row
from loadtest.harness.programs import BUILD, ROOT
from loadtest.harness.scenario import Goal

ROUNDS = BUILD / "rounds"
RESULTS = ROOT / "loadtest" / "results"
FORMAT = 2  # increased when readers of older files would fail
SUMMARY = "summary"  # the format of what is published
DIGITS = 4  # significant, in the files
LINES = 40  # of a summary, at most
# What identifies or qualifies a measurement, and is not its result.
UNPUBLISHED = {
    *("round", "number", "seconds", "answered", "comments", "clients", "client_ns", "p90", "min"),
    *("disturbance", "server_share", "others_share", "stolen_share", "client_others_share"),
}


@dataclass(frozen=True, slots=True)
class Summary:
    """The medians of an entry over its rounds; `disturbed` if no quiet round was left.

    `spread` has the least and the greatest value of each figure.
    """

    name: str
    text: str
    medians: dict[str, float]
    disturbed: bool
    spread: dict[str, tuple[float, float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Verdict:
    """A goal, the value, and whether it is enough; None if no quiet round was left.

    `spread` is the least and the greatest value of a round, if rounds are judged separately.
    """

    name: str
    goal: Goal
    value: float
    holds: bool | None
    spread: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """A whole run. `about` has commit, date, machine, command and the run's own numbers."""

    about: dict[str, Any]  # Any: it is shown, never computed with
    summaries: tuple[Summary, ...]
    verdicts: tuple[Verdict, ...]
    rounds: tuple[dict[str, Any], ...]  # Any: every figure of every round

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read what `write` wrote. Raise ValueError for anything else."""
        stored = json.loads(path.read_text())
        if not isinstance(stored, dict) or stored.get("format") != FORMAT:
            raise ValueError(f"{path.name} does not have the rounds of a load test")
        return cls(
            stored["about"],
            tuple(_summary(summary) for summary in stored["summaries"]),
            tuple(
                Verdict(**{**verdict, "goal": Goal(**verdict["goal"])})
                for verdict in stored["verdicts"]
            ),
            tuple(stored["rounds"]),
        )

    def store(self, kind: str) -> Path:
        """Write all rounds to build/, named by kind, date and commit. Return the path."""
        date = self.about["date"].replace(":", "").removesuffix("Z")
        dirty = "-dirty" * self.about["dirty"]
        path = ROUNDS / f"{kind}-{date}-{self.about['commit'][:10]}{dirty}.json"
        self.about["kind"] = kind
        self.about["command"] = " ".join(["python -m loadtest", *sys.argv[1:]])
        self.write(path)
        return path

    def write(self, path: Path) -> None:
        """Write all rounds to `path`."""
        path.parent.mkdir(parents=True, exist_ok=True)
        stored = {"format": FORMAT, **asdict(self)}
        path.write_text(json.dumps(_rounded(stored), indent=1) + "\n")

    def publish(self, path: Path) -> None:
        """Write the summary to `path`: a line for each entry, at most LINES in all."""
        goals = {one.name: _as_json(one) for one in self.verdicts}
        room = LINES - len(goals) - (8 if goals else 7)  # of the braces and heads below
        shown = self.summaries[:room]
        about = dict(self.about)
        if left_out := len(self.summaries) - len(shown):
            about["entries_left_out"] = left_out
        entries = {one.name: _figures(one) for one in shown}
        path.write_text(
            f'{{\n"format": "{SUMMARY}",\n"about": {_line(about)},\n'
            f'"entries": {_lines(entries)},\n"goals": {_lines(goals)}\n}}\n'
        )


def summarise(name: str, text: str, rows: Sequence[Row]) -> Summary:
    """Return the medians of the quiet rows of this name, or of all if none was quiet."""
    mine = [one for one in rows if one["scenario"] == name]
    quiet = [one for one in mine if not one["disturbed"]]
    used = quiet or mine
    figures = [
        key
        for key, value in mine[0].items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    ]
    values = {figure: [one[figure] for one in used] for figure in figures}
    medians = {figure: statistics.median(found) for figure, found in values.items()}
    spread = {figure: (min(found), max(found)) for figure, found in values.items()}
    return Summary(name, text, medians, disturbed=not quiet, spread=spread)


def _summary(stored: dict[str, Any]) -> Summary:  # Any: JSON
    spread = {name: (least, most) for name, (least, most) in stored["spread"].items()}
    return Summary(**{**stored, "spread": spread})


def _as_json(verdict: Verdict) -> dict[str, Any]:  # Any: it becomes JSON
    goal = verdict.goal
    values = {"wanted": f"at {goal.sense} {goal.bound:g}", "reached": verdict.value}
    spread = {"spread": verdict.spread} if verdict.spread else {}
    return {**values, **spread, "holds": verdict.holds}


def _figures(summary: Summary) -> dict[str, Any]:  # Any: it becomes JSON
    """Return each figure as [median, least, greatest], or alone if all rounds agree."""
    found: dict[str, Any] = {"disturbed": True} if summary.disturbed else {}
    for name, median in summary.medians.items():
        if name not in UNPUBLISHED:
            least, greatest = summary.spread.get(name, (median, median))
            found[name] = median if least == greatest else [median, least, greatest]
    return found


def _line(value: Any) -> str:  # Any: JSON
    return json.dumps(_rounded(value), ensure_ascii=False)


def _lines(values: dict[str, Any]) -> str:  # Any: JSON
    if not values:
        return "{}"
    lines = (f" {json.dumps(name, ensure_ascii=False)}: {_line(v)}" for name, v in values.items())
    return "{\n" + ",\n".join(lines) + "\n}"


def _rounded(value: Any) -> Any:  # Any: it is JSON
    """Return the value with figures rounded to DIGITS digits."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(item) for item in value]
    return value

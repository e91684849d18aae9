"""A result: what a run measured, with all that is needed to judge it, as one JSON file."""

import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from loadtest.harness.measurement import Measurement
from loadtest.harness.programs import ROOT
from loadtest.harness.rounds import Round
from loadtest.harness.scenario import MEMORY, Goal, Scenario

RESULTS = ROOT / "loadtest" / "results"
FORMAT = 1  # raised when a reader of older files would go wrong
FIGURES = (
    "rate",
    "cpu_ns",
    "p50",
    "p90",
    "p99",
    "max",
    "server_share",
    "client_share",
    "client_ns",
)
DIGITS = 4  # significant, in the file


@dataclass(frozen=True, slots=True)
class Summary:
    """The medians of a scenario over its rounds; `disturbed` when no quiet one was left."""

    name: str
    text: str
    medians: dict[str, float]
    disturbed: bool


@dataclass(frozen=True, slots=True)
class Verdict:
    """A goal, what was reached, and whether that is enough; None where nothing quiet was left.

    `spread` is the least and the greatest value of a round, where the rounds are judged singly.
    """

    name: str
    goal: Goal
    value: float
    holds: bool | None
    spread: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """A whole run. `about` holds commit, date, machine, file system and the run's own numbers."""

    about: dict[str, Any]  # Any: it is shown, never computed with
    summaries: tuple[Summary, ...]
    verdicts: tuple[Verdict, ...]
    rounds: tuple[dict[str, Any], ...]  # Any: every figure of every round, for later questions

    @classmethod
    def of(
        cls, about: dict[str, Any], scenarios: Sequence[Scenario], rounds: Sequence[Round]
    ) -> Self:
        """Sum up what was measured."""
        made = [measurement for one in rounds for measurement in one.measurements]
        summaries = tuple(summarise(scenario.name, scenario.text, made) for scenario in scenarios)
        memory = statistics.median(one.rss_end_mib for one in rounds)
        verdicts = [
            Verdict(s.name, goal, value, None if s.disturbed else goal.holds(value))
            for scenario, s in zip(scenarios, summaries, strict=True)
            for goal in scenario.goals
            for value in (s.medians[goal.figure],)
        ]
        verdicts.append(Verdict("memory", MEMORY, memory, MEMORY.holds(memory)))
        return cls(about, summaries, tuple(verdicts), tuple(asdict(one) for one in rounds))

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a file that `write` wrote. Raises ValueError for anything else."""
        stored = json.loads(path.read_text())
        if not isinstance(stored, dict) or stored.get("format") != FORMAT:
            raise ValueError(f"{path.name} is no result of this load test")
        return cls(
            stored["about"],
            tuple(Summary(**summary) for summary in stored["summaries"]),
            tuple(
                Verdict(**{**verdict, "goal": Goal(**verdict["goal"])})
                for verdict in stored["verdicts"]
            ),
            tuple(stored["rounds"]),
        )

    def store(self, kind: str = "") -> Path:
        """Write it to the results, named by its kind, date and commit; the path."""
        date = self.about["date"].replace(":", "").removesuffix("Z")
        dirty = "-dirty" * self.about["dirty"]
        path = RESULTS / f"{kind and f'{kind}-'}{date}-{self.about['commit'][:10]}{dirty}.json"
        self.write(path)
        return path

    def write(self, path: Path) -> None:
        """Store it; figures are cut to what they are worth."""
        path.parent.mkdir(parents=True, exist_ok=True)
        stored = {"format": FORMAT, **asdict(self)}
        path.write_text(json.dumps(_rounded(stored), indent=1) + "\n")


def summarise(name: str, text: str, made: Sequence[Measurement]) -> Summary:
    """The medians of the quiet measurements of this name, of all where none was quiet."""
    mine = [measurement for measurement in made if measurement.scenario == name]
    quiet = [measurement for measurement in mine if not measurement.disturbed]
    medians = {
        figure: statistics.median(getattr(measurement, figure) for measurement in quiet or mine)
        for figure in FIGURES
    }
    return Summary(name, text, medians, disturbed=not quiet)


def _rounded(value: Any) -> Any:  # Any: it is JSON
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(item) for item in value]
    return value

"""Rounds: each measures everything once, so that slow changes of the machine affect all alike."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from loadtest.harness.measurement import Row

Entry = TypeVar("Entry")


@dataclass(frozen=True, slots=True)
class Extent:
    """How much is measured: rounds, seconds of each measurement, and tries for a quiet one."""

    rounds: int = 3
    seconds: float = 6  # at least 5, since that of cores is counted in ticks of 10 ms
    tries: int = 4


def play(extent: Extent, play_round: Callable[[int], Iterable[Row]]) -> list[Row]:
    """Return what is measured in all rounds, which are numbered from 1."""
    return [row for number in range(1, extent.rounds + 1) for row in play_round(number)]


def quiet(extent: Extent, measure: Callable[[], Row]) -> Row:
    """Measure until nothing disturbs it, a few times at most; return the least disturbed row."""
    made: list[Row] = []
    while not made or (made[-1]["disturbed"] and len(made) < extent.tries):
        made.append(measure())
    return min(made, key=lambda row: float(row["disturbance"]))


def rotated(entries: Sequence[Entry], number: int) -> list[Entry]:
    """Return the entries, beginning with another one in each round."""
    begin = number % len(entries)
    return [*entries[begin:], *entries[:begin]]

"""Rounds: each plays every scenario once, on a fresh server with a fresh copy of the database.

Rounds are interleaved, so that slow changes of the machine affect all scenarios. Submissions are
the last in a round, since they change the counts that the others check. A disturbed measurement is
repeated, `tries` times in all; if none is quiet, the least disturbed one is kept and marked.
"""

import os
import shutil
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from commentsvc.db import integrity
from commentsvc.db.sqlite import Reader
from commentsvc.settings import data_dir
from loadtest.data.blog import COMMENTS, Page
from loadtest.harness.bench import Bench
from loadtest.harness.measurement import Measurement
from loadtest.harness.scenario import Scenario
from loadtest.harness.service import Service, ServiceError


@dataclass(frozen=True, slots=True)
class Extent:
    """How much is measured: rounds, seconds of each measurement, and tries for a quiet one."""

    rounds: int = 3
    seconds: float = 6  # at least 5, since that of cores is counted in ticks of 10 ms
    tries: int = 4


@dataclass(frozen=True, slots=True)
class Round:
    """One round: memory in MiB, the start in ms, and how many measurements were dropped."""

    number: int
    start_ms: float
    rss_start_mib: float
    rss_end_mib: float
    thrown_away: int
    measurements: tuple[Measurement, ...]


class Rounds:
    """Plays rounds of `scenarios` in `folder`, which holds the seeded `data`."""

    def __init__(
        self,
        scenarios: Sequence[Scenario],
        pages: Sequence[Page],
        folder: Path,
        extent: Extent,
        cores: tuple[int, int],
        report: Callable[[Measurement], None],
    ) -> None:
        """Take the common parts of rounds; `report` gets each measurement as it is made."""
        self._scenarios = sorted(scenarios, key=lambda scenario: scenario.submits)
        self._pages = pages
        self._folder = folder
        self._extent = extent
        self._cores = cores
        self._report = report

    def play(self, number: int) -> Round:
        """Play one round. Raise ServiceError or ClientError for what is not right."""
        data = self._folder / "round"
        shutil.rmtree(data, ignore_errors=True)
        shutil.copytree(self._folder / "data", data)
        os.sync()  # so that the copy is not written while submissions wait for the disk
        with Service(data, self._cores[:1]) as service:
            start = service.rss()
            bench = Bench(service, self._pages, self._folder)
            made = [self._measure(bench, scenario, number) for scenario in self._scenarios]
            end = service.rss()
        verify(data / data_dir.DATABASE, COMMENTS + bench.submitted)
        kept = tuple(min(tries, key=lambda one: one.disturbance) for tries in made)
        thrown_away = sum(len(tries) - 1 for tries in made)
        return Round(number, service.start_ms, start, end, thrown_away, kept)

    def _measure(self, bench: Bench, scenario: Scenario, number: int) -> list[Measurement]:
        """Return all measurements until one was quiet, a few at most."""
        made: list[Measurement] = []
        while not made or (made[-1].disturbed and len(made) < self._extent.tries):
            made.append(bench.measure(scenario, number, self._extent.seconds, self._cores))
            self._report(made[-1])
        return made


def verify(path: Path, rows: int) -> None:
    """Raise ServiceError unless the database is undamaged and has `rows` comments."""
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute("SELECT count(*) FROM comment").fetchone()[0]
        faults = integrity.check(Reader(connection))
    if found != rows:
        faults.append(f"{rows} comments were acknowledged, {found} are stored")
    if faults:
        raise ServiceError(f"the database is wrong: {'; '.join(faults[:5])}")

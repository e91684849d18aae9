"""Scenarios of the real server: counts, lists and submissions, each with its goal.

Each round has a fresh server with a fresh copy of the database. Submissions are the last in a
round, since they change the counts that the others check.
"""

import os
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Final

import click

from commentsvc.backup import integrity
from commentsvc.db.connection import Snapshot
from commentsvc.settings import data_dir
from loadtest.data.blog import COMMENTS
from loadtest.harness import client, machine, programs
from loadtest.harness.bench import Bench
from loadtest.harness.client import ClientError
from loadtest.harness.environment import Environment, prepare, sum_up
from loadtest.harness.measurement import Row
from loadtest.harness.programs import BUILD
from loadtest.harness.result import Result, Verdict, summarise
from loadtest.harness.rounds import Extent, play, quiet
from loadtest.harness.scenario import MEMORY, SCENARIOS, Scenario, named
from loadtest.harness.service import Service, ServiceError
from loadtest.report import table
from loadtest.report.command import extent_of, finish, rounds, short

PROCESS: Final = "process"  # the row with the start and the memory of a round


@click.command
@click.argument(
    "names", metavar="[SCENARIO]...", nargs=-1, type=click.Choice([one.name for one in SCENARIOS])
)
@click.option("--list", "listed", is_flag=True, help="List the scenarios.")
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=BUILD,
    help="Where the databases are made, on the disk that is to be measured. Default: build/.",
)
@rounds()
@short
def main(names: tuple[str, ...], listed: bool, folder: Path, rounds: int, short: bool) -> None:
    """Counts, lists and submissions of the real server."""
    if listed:
        click.echo("\n".join(f"{one.name:<16} {one.text}" for one in SCENARIOS))
        return
    default = Extent()
    extent = extent_of(short, rounds, default.seconds, default.tries)
    result = run(named(names), folder, extent)
    finish(result, "scenarios", show(result), short=short)


def run(scenarios: Sequence[Scenario], folder: Path, extent: Extent) -> Result:
    """Seed, play all rounds, sum up. Raise ServiceError, ClientError or ProgramError."""
    client.find_wrk()
    programs.generator()
    folder.mkdir(parents=True, exist_ok=True)
    kind = machine.filesystem(folder)
    if kind in machine.MEMORY_ONLY:
        raise ClientError(f"{folder} is on {kind}, where nothing is durable: give another --folder")
    with prepare(extent, parent=folder) as environment:
        ordered = sorted(scenarios, key=lambda scenario: scenario.submits)
        rows = play(extent, partial(play_round, environment, ordered))
    about = environment.about | {"filesystem": kind, "fsync_us": machine.fsync_us(folder)}
    texts = {scenario.name: scenario.text for scenario in scenarios}
    return sum_up(about, texts, rows, partial(judge, scenarios))


def play_round(
    environment: Environment, scenarios: Sequence[Scenario], number: int
) -> Iterator[Row]:
    """Play one round. Raise ServiceError or ClientError for what is not right."""
    data = environment.folder / "round"
    shutil.rmtree(data, ignore_errors=True)
    shutil.copytree(environment.folder / "data", data)
    os.sync()  # so that the copy is not written while submissions wait for the disk
    with Service(data, environment.cores[:1]) as service:
        start = service.rss()
        bench = Bench(service, environment.pages, environment.folder)

        def measure(scenario: Scenario) -> Row:
            made = bench.measure(scenario, number, environment.extent.seconds, environment.cores)
            table.show(made)
            return made

        for scenario in scenarios:
            yield quiet(environment.extent, partial(measure, scenario))
        figures = {"start_ms": service.start_ms, "rss_start_mib": start, "rss_mib": service.rss()}
    verify(data / data_dir.DATABASE, COMMENTS + bench.submitted)
    yield {"scenario": PROCESS, "round": number, "disturbed": False, **figures}


def verify(path: Path, rows: int) -> None:
    """Raise ServiceError unless the database is undamaged and has `rows` comments."""
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute("SELECT count(*) FROM comment").fetchone()[0]
        faults = integrity.check(Snapshot(connection))
    if found != rows:
        faults.append(f"{rows} comments were acknowledged, {found} are stored")
    if faults:
        raise ServiceError(f"the database is wrong: {'; '.join(faults[:5])}")


def judge(scenarios: Sequence[Scenario], rows: Sequence[Row]) -> list[Verdict]:
    """Return the verdicts for the goals of scenarios, and for the memory."""
    found = []
    for name, goals in [*((one.name, one.goals) for one in scenarios), (PROCESS, (MEMORY,))]:
        summary = summarise(name, "", rows)
        for goal in goals:
            value = summary.medians[goal.figure]
            holds = None if summary.disturbed else goal.holds(value)
            found.append(Verdict(name, goal, value, holds))
    return found


def show(result: Result) -> str:
    """Return the figures of the scenarios, and the start and the memory of the process."""
    *scenarios, process = result.summaries
    start, first, last = (
        table.number(process.medians[name]) for name in ("start_ms", "rss_start_mib", "rss_mib")
    )
    memory = f"start {start} ms, memory {first} MiB, at the end {last} MiB"
    return f"{table.requests(scenarios)}\n\n{memory}"

"""The command line of the load test: `loadtest/run`."""

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from loadtest.data import blog
from loadtest.data.seed import seed
from loadtest.harness import client, machine, programs
from loadtest.harness.client import ClientError
from loadtest.harness.measurement import Measurement
from loadtest.harness.programs import BUILD, ROOT
from loadtest.harness.progress import progress
from loadtest.harness.result import Result
from loadtest.harness.rounds import Extent, Rounds
from loadtest.harness.scenario import SCENARIOS, Scenario, named
from loadtest.report import table

FULL, SHORT = Extent(), Extent(rounds=1, seconds=1, tries=1)


@click.command
@click.argument("names", metavar="[SCENARIO]...", nargs=-1)
@click.option("--short", is_flag=True, help="One round of 1 s each, to try it out; not stored.")
@click.option(
    "--rounds",
    type=click.IntRange(1, 100),
    default=FULL.rounds,
    show_default=True,
    help="How many; the medians count.",
)
@click.option("--list", "show", is_flag=True, help="List the scenarios.")
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=BUILD,
    help="Where the databases are made, on the disk that is to be measured. Default: build/.",
)
def main(names: tuple[str, ...], short: bool, rounds: int, show: bool, folder: Path) -> None:
    """Measure the real server on one core, with its clients on another."""
    if show:
        for scenario in SCENARIOS:
            click.echo(f"{scenario.name:<16} {scenario.text}")
        return
    try:
        scenarios = named(names)
        result = run(scenarios, folder, SHORT if short else Extent(rounds))
    except KeyError as error:
        raise click.UsageError(f"there is no scenario {error}; --list names them") from error
    click.echo(f"\n{table.result(result)}\n")
    if not short:
        path = result.store()
        click.echo(f"stored as {path.relative_to(ROOT)}")


def run(scenarios: Sequence[Scenario], folder: Path, extent: Extent) -> Result:
    """Seed, play all rounds, sum up. Raises ServiceError, ClientError or ProgramError."""
    cores = machine.choose_cores()
    client.find_wrk()
    programs.generator()
    folder.mkdir(parents=True, exist_ok=True)
    kind = machine.filesystem(folder)
    if kind in machine.MEMORY_ONLY:
        raise ClientError(f"{folder} is on {kind}, where nothing is durable: give another --folder")
    about: dict[str, Any] = {  # Any: as in Result
        **machine.commit(),
        "date": machine.now(),
        "machine": machine.describe(),
        "filesystem": kind,
        "fsync_us": machine.fsync_us(folder),
        **asdict(extent),
        "pages": blog.PAGES,
        "comments": blog.COMMENTS,
    }
    place = Path(tempfile.mkdtemp(dir=folder))
    try:
        pages = blog.pages()
        seed(place / "data", pages, progress())
        rounds = Rounds(scenarios, pages, place, extent, cores, _report)
        played = [rounds.play(number) for number in range(1, extent.rounds + 1)]
    finally:
        shutil.rmtree(place)
    return Result.of(about, scenarios, played)


def _report(measurement: Measurement) -> None:
    click.echo(table.line(measurement))

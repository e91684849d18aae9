"""Scenarios of the real server: counts, lists and submissions, each with its goal."""

from collections.abc import Sequence
from pathlib import Path

import click

from loadtest.harness import client, machine, programs
from loadtest.harness.client import ClientError
from loadtest.harness.environment import prepare
from loadtest.harness.programs import BUILD
from loadtest.harness.result import Result
from loadtest.harness.rounds import Extent, Rounds
from loadtest.harness.scenario import SCENARIOS, Scenario, named
from loadtest.report import table
from loadtest.report.command import finish, short


@click.command
@click.argument("names", metavar="[SCENARIO]...", nargs=-1)
@click.option("--list", "listed", is_flag=True, help="List the scenarios.")
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=BUILD,
    help="Where the databases are made, on the disk that is to be measured. Default: build/.",
)
@click.option("--rounds", type=click.IntRange(1, 100), default=Extent().rounds, show_default=True)
@short
def main(names: tuple[str, ...], listed: bool, folder: Path, rounds: int, short: bool) -> None:
    """Counts, lists and submissions of the real server."""
    if listed:
        for scenario in SCENARIOS:
            click.echo(f"{scenario.name:<16} {scenario.text}")
        return
    try:
        scenarios = named(names)
    except KeyError as error:
        raise click.UsageError(f"there is no scenario {error}; --list names them") from error
    result = run(scenarios, folder, Extent(1, 1, 1) if short else Extent(rounds))
    finish(result, "scenarios", table.result(result), short=short)


def run(scenarios: Sequence[Scenario], folder: Path, extent: Extent) -> Result:
    """Seed, play all rounds, sum up. Raise ServiceError, ClientError or ProgramError."""
    client.find_wrk()
    programs.generator()
    folder.mkdir(parents=True, exist_ok=True)
    kind = machine.filesystem(folder)
    if kind in machine.MEMORY_ONLY:
        raise ClientError(f"{folder} is on {kind}, where nothing is durable: give another --folder")
    with prepare(extent, parent=folder) as place:
        rounds = Rounds(
            scenarios,
            place.pages,
            place.folder,
            extent,
            place.cores,
            lambda one: table.show(one.row()),
        )
        played = [rounds.play(number) for number in range(1, extent.rounds + 1)]
    about = place.about | {"filesystem": kind, "fsync_us": machine.fsync_us(folder)}
    return Result.of(about, scenarios, played)

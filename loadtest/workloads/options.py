"""Playing: what the commands of the ancestors' tests and of growth have in common."""

from collections.abc import Callable
from pathlib import Path

import click

from loadtest.harness.programs import ROOT
from loadtest.harness.result import Result
from loadtest.harness.rounds import Extent
from loadtest.report import chart
from loadtest.report.table import goals

TRIES = 2
Command = Callable[..., None]


def options(seconds: int) -> Callable[[Command], Command]:
    """What all tests understand; a measurement takes so many seconds unless one says otherwise."""
    add = click.Path(path_type=Path, exists=True, dir_okay=False)

    def decorate(command: Command) -> Command:
        for option in (
            click.option("--add", type=add, help="A stored result that these rounds go on with."),
            click.option(
                "--seconds", type=click.IntRange(1, 600), default=seconds, show_default=True
            ),
            click.option("--rounds", type=click.IntRange(1, 100), default=3, show_default=True),
            click.option("--short", is_flag=True, help="One round of 1 s each; not stored."),
        ):
            command = option(command)
        return command

    return decorate


def extent_of(short: bool, rounds: int, seconds: int) -> Extent:
    """How much is measured."""
    return Extent(1, 1, 1) if short else Extent(rounds, seconds, TRIES)


def finish(result: Result, kind: str, table: str, short: bool, add: Path | None) -> None:
    """Print, and store it in the place of the one that it goes on with, if any; with its chart."""
    click.echo(f"\n{table}\n\n{goals(result.verdicts)}\n")
    for name, reason in result.about.get("absent", {}).items():
        click.echo(f"{name} is absent: {reason}\n")
    if short:
        return
    result.about["test"] = kind
    if add:
        result.write(add)
    path = add.resolve() if add else result.store(kind)
    drawn = chart.draw(result, path)
    click.echo(f"stored as {path.relative_to(ROOT)}, drawn as {drawn.name}")

"""Common parts of commands: their options, and what is done with a result."""

from collections.abc import Callable
from pathlib import Path

import click

from loadtest.harness.programs import ROOT
from loadtest.harness.result import Result
from loadtest.harness.rounds import Extent
from loadtest.report.table import goals

TRIES = 2
Command = Callable[..., None]


def options(seconds: int, rounds: int = 3) -> Callable[[Command], Command]:
    """Add --short, --rounds, --seconds and --add to a command, with these defaults."""
    add = click.Path(path_type=Path, exists=True, dir_okay=False)

    def decorate(command: Command) -> Command:
        for option in (
            click.option("--add", type=add, help="Continue the stored rounds of this file."),
            click.option(
                "--seconds",
                type=click.IntRange(1, 600),
                default=seconds,
                show_default=True,
                help="Of each measurement.",
            ),
            click.option(
                "--rounds",
                type=click.IntRange(1, 100),
                default=rounds,
                show_default=True,
                help="The medians over the rounds are shown.",
            ),
            short,
        ):
            command = option(command)
        return command

    return decorate


short = click.option("--short", is_flag=True, help="One round of 1 s each; nothing is stored.")


def extent_of(short: bool, rounds: int, seconds: float) -> Extent:
    """Return how much is measured."""
    return Extent(1, 1, 1) if short else Extent(rounds, seconds, TRIES)


def finish(
    result: Result, kind: str, table: str, *, short: bool = False, add: Path | None = None
) -> None:
    """Print the table and the goals. Store all rounds, in `add` if that was continued."""
    click.echo(f"\n{table}\n")
    if result.verdicts:
        click.echo(f"{goals(result.verdicts)}\n")
    for name, reason in result.about.get("absent", {}).items():
        click.echo(f"{name} is absent: {reason}\n")
    if short:
        return
    if add:
        result.write(add)
    path = add.resolve() if add else result.store(kind)
    shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    click.echo(f"All rounds: {shown}\nPublish the summary: python -m loadtest publish {shown}")

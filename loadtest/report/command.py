"""Common parts of commands: their options, and what is done with a result."""

from collections.abc import Callable

import click

from loadtest.harness.programs import ROOT
from loadtest.harness.result import Result
from loadtest.harness.rounds import Extent
from loadtest.report.table import goals

TRIES = 2
SHORT = 0.3  # seconds of each measurement of a short run
Command = Callable[..., None]

short = click.option("--short", is_flag=True, help="Little of everything; nothing is stored.")


def rounds(default: int = 3) -> Callable[[Command], Command]:
    """Add --rounds to a command."""
    return click.option(
        "--rounds",
        type=click.IntRange(1, 100),
        default=default,
        show_default=True,
        help="The medians over the rounds are shown.",
    )


def number(least: int) -> Callable[[Command], Command]:
    """Add --number, a million by default, to a command."""
    kind = click.IntRange(least, 10_000_000)
    return click.option(
        "--number", type=kind, default=1_000_000, show_default=True, help="Of comments."
    )


def options(seconds: int, default: int = 3) -> Callable[[Command], Command]:
    """Add --rounds, --seconds and --short to a command, with these defaults."""
    kind = click.IntRange(1, 600)
    of_each = click.option(
        "--seconds", type=kind, default=seconds, show_default=True, help="Of each measurement."
    )
    return lambda command: short(rounds(default)(of_each(command)))


def head_and_bound(bound: float) -> Callable[[Command], Command]:
    """Add --head and --bound to a command that compares two versions, with this bound."""
    head = click.option(
        "--head", default="", help="As --base; without it, the files as they are now."
    )
    of_ratio = click.option(
        "--bound",
        default=bound,
        show_default=True,
        help="Exit with 1 if a ratio of head to base is above.",
    )
    return lambda command: head(of_ratio(command))


def extent_of(short: bool, rounds: int, seconds: float, tries: int = TRIES) -> Extent:
    """Return how much is measured; a short run only shows that everything works."""
    return Extent(1, SHORT, 1) if short else Extent(rounds, seconds, tries)


def finish(result: Result, kind: str, table: str, *, short: bool = False) -> None:
    """Print the table and the goals, and store all rounds."""
    click.echo(f"\n{table}\n")
    if result.verdicts:
        click.echo(f"{goals(result.verdicts)}\n")
    for name, reason in result.about.get("absent", {}).items():
        click.echo(f"{name} is absent: {reason}\n")
    if short:
        return
    path = result.store(kind)
    shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    click.echo(f"All rounds: {shown}\nPublish the summary: python -m loadtest publish {shown}")

"""The command line of the ancestors' load tests: `loadtest/ancestors`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from loadtest import article
from loadtest.client import ClientError
from loadtest.peer import AbsentError
from loadtest.programs import ProgramError
from loadtest.result import Result
from loadtest.rivals import OURS, RIVALS
from loadtest.rounds import Extent
from loadtest.service import ServiceError
from loadtest.stage import first_round, keep, stage, sum_up, told
from loadtest.table import goals

TRIES = 2
ERRORS = (AbsentError, ClientError, ProgramError, ServiceError, ValueError)
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
    """Print and store."""
    click.echo(f"\n{table}\n\n{goals(result.verdicts)}\n")
    for name, reason in result.about.get("absent", {}).items():
        click.echo(f"{name} is absent: {reason}\n")
    if not short:
        keep(result, kind, add)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Repeat the load tests that the ancestors of this project left figures of."""


@main.command("article")
@options(seconds=12)
@click.option("--way", "ways", multiple=True, type=click.Choice(tuple(article.WAYS)))
@click.option("--only", multiple=True, type=click.Choice((OURS, *(r.name for r in RIVALS))))
def play_article(
    add: Path | None, seconds: int, rounds: int, short: bool, ways: Any, only: Any
) -> None:
    """250 clients ask for the counts of front pages, over HTTPS and without; once for 60 s."""
    before = Result.read(add) if add else None
    chosen = article.turns(ways or article.WAYS, only)
    with stage(extent_of(short, rounds, seconds)) as place:
        played = article.Article(place, told)
        begin = first_round(before)
        rows = [
            row
            for number in range(begin, begin + place.extent.rounds)
            for row in played.play(chosen, number)
        ]
    place.about["absent"] = played.absent
    texts = {turn.name: turn.text for turn in chosen}
    result = sum_up(place.about, texts, rows, article.judge, before)
    table = article.table(result.rounds, result.summaries)
    finish(result, "article", table, short, add)


def run() -> None:
    """The command, whose failures are lines for people."""
    try:
        main(standalone_mode=False)
    except ERRORS as error:
        raise SystemExit(f"Error: {error}") from error
    except click.ClickException as error:
        error.show()
        raise SystemExit(error.exit_code) from error


if __name__ == "__main__":
    run()

"""Publishing: from the rounds of a run to the summary, and the chart, that are committed."""

from pathlib import Path

import click

from loadtest.harness.programs import ROOT
from loadtest.harness.result import RESULTS, Result
from loadtest.report import chart


@click.command
@click.argument("rounds", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.argument("name", required=False)
def main(rounds: Path, name: str | None) -> None:
    """Write the summary to commit, with its chart.

    It is written to loadtest/results/NAME.json. NAME is the command that measured it, by default.
    """
    result = Result.read(rounds)
    if not result.rounds:
        raise click.UsageError(f"{rounds.name} is a summary already")
    path = RESULTS / f"{name or result.about['kind']}.json"
    result.publish(path)
    click.echo(path.relative_to(ROOT))
    if result.about["kind"] in chart.CHARTS:
        click.echo(chart.draw(result, path.with_suffix(".svg")).relative_to(ROOT))

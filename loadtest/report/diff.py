"""Two results side by side."""

from pathlib import Path

import click

from loadtest.harness.result import Result
from loadtest.report import table

_file = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.command
@click.argument("before", type=_file)
@click.argument("after", type=_file)
def main(before: Path, after: Path) -> None:
    """Two results side by side."""
    try:
        first, second = Result.read(before), Result.read(after)
    except (ValueError, KeyError, TypeError) as error:
        raise click.ClickException(str(error)) from error
    for name, result in (("before", first), ("after", second)):
        about = result.about
        dirty = " with changes" if about["dirty"] else ""
        click.echo(f"{name}: {about['date']}, commit {about['commit'][:10]}{dirty}")
    if first.about["machine"] != second.about["machine"]:
        click.echo("The machines or programs differ: only ratios within one run can be compared.")
    click.echo(f"\n{table.comparison(first, second)}")

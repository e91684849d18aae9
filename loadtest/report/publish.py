"""Publishing: from the rounds of a run to the summary that is committed."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import click

from loadtest.harness.programs import ROOT
from loadtest.harness.result import RESULTS, Result, Summary
from loadtest.report.table import cells

PAGE: Final = ROOT / "docs" / "performance.md"


@click.command
@click.argument("rounds", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.argument("name", required=False)
def main(rounds: Path, name: str | None) -> None:
    """Write the summary to commit.

    It is written to loadtest/results/NAME.json. NAME is the command that measured it, by default.
    If the result says which `columns` docs/performance.md shows, its table is written there.
    """
    result = Result.read(rounds)
    path = RESULTS / f"{name or result.about['kind']}.json"
    result.publish(path)
    click.echo(path.relative_to(ROOT))
    if columns := result.about.get("columns"):
        PAGE.write_text(with_table(PAGE.read_text(), columns, result.summaries))
        click.echo(PAGE.relative_to(ROOT))


def with_table(text: str, columns: Mapping[str, str], summaries: Sequence[Summary]) -> str:
    """Return a Markdown document with these medians in its table of `columns`, heads by figure.

    Raise ValueError if it has no table with these heads.
    """
    head = f"| page | {' | '.join(columns.values())} |\n"
    rows = [f"| {one.text} | {' | '.join(cells(one.medians, columns))} |\n" for one in summaries]
    table = head + "| --- |" + " ---: |" * len(columns) + "\n" + "".join(rows)
    changed, found = re.subn(re.escape(head) + r"(?:\|.*\n)+", lambda _: table, text)
    if not found:
        raise ValueError(f"no table has the head {head}")
    return changed

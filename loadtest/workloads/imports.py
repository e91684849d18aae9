"""The command `import`: what taking over a million comments costs, beside Isso's importer.

The same file of Disqus is imported into an empty folder by us, by us again, where all is there
already, and by `isso import`: the time until the program ends, its CPU time, and the most memory
that it held.
"""

import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

import click

from loadtest.data import bulk
from loadtest.harness.environment import prepare_empty, sum_up
from loadtest.harness.install import PROGRAM
from loadtest.harness.measurement import Row
from loadtest.harness.rounds import Extent
from loadtest.report.command import finish
from loadtest.servers.competitors import ISSO
from loadtest.servers.peer import environment
from loadtest.workloads import exports
from loadtest.workloads.exports import Cost

# What must not be exceeded for a million comments: seconds, and MiB of the process.
SECONDS: Final = 60.0
MEMORY: Final = 200.0
OURS: Final = ("commentsvc", "commentsvc, again")
ISSO_IMPORT: Final = "isso"


def make(folder: Path, number: int) -> Path:
    """Make a file of Disqus with so many comments of one site, but for those that are not shown."""
    data, file = folder / "source", folder / "disqus.xml"
    exports.make(data, number)
    exports.export(data, str(file), "--format", "disqus", "--site", bulk.SITES[0])
    return file


def import_with_isso(folder: Path, file: Path) -> Cost:
    """Run Isso's importer on an empty database. Raises ProgramError and MissingError."""
    python = environment("isso", sys.executable, ISSO, alone=False)
    settings = folder / "isso.cfg"
    settings.write_text(f"[general]\ndbpath = {folder.resolve() / 'isso.db'}\n")
    words = ["-c", str(settings), "import", "--empty-id", "-t", "disqus", str(file)]
    return exports.run([str(python.with_name("isso")), *words])


def measure(folder: Path, number: int, rounds: int, *, beside_isso: bool) -> list[Row]:
    """Import the same file in each way, in each round into new folders."""
    file = make(folder, number)
    rows: list[Row] = []
    for current in range(1, rounds + 1):
        place = folder / f"round {current}"
        (place / "data").mkdir(parents=True)
        words = [str(PROGRAM), "import", "disqus", str(file), "--data", str(place / "data")]
        costs = {name: exports.run(words) for name in OURS}
        if beside_isso:
            costs[ISSO_IMPORT] = import_with_isso(place, file)
        rows += [
            {"scenario": name, "round": current, "disturbed": False, **asdict(cost)}
            for name, cost in costs.items()
        ]
    return rows


def too_much(rows: Sequence[Row]) -> list[str]:
    """Return what exceeds its bound, in words."""
    found = []
    for row in rows:
        if row["scenario"] not in OURS:
            continue
        if row["seconds"] > SECONDS:
            found.append(f"{row['scenario']}: {row['seconds']:.1f} s, over {SECONDS:.0f} s")
        if row["rss_mib"] > MEMORY:
            found.append(f"{row['scenario']}: {row['rss_mib']:.0f} MiB, over {MEMORY:.0f} MiB")
    return found


@click.command
@click.option(
    "--number", type=click.IntRange(5_000, 10_000_000), default=1_000_000, help="Of comments."
)
@click.option("--rounds", type=click.IntRange(1, 100), default=3, show_default=True)
@click.option("--isso/--no-isso", "beside_isso", default=True, help="Isso's importer, too.")
def main(number: int, rounds: int, beside_isso: bool) -> None:
    """Imports of a file of Disqus with a million comments, beside Isso's own importer.

    Exits with 1 if ours takes over 60 s or 200 MiB.
    """
    with prepare_empty(Extent(rounds)) as place:
        os.sched_setaffinity(0, set(place.cores))
        rows = measure(place.folder, number, rounds, beside_isso=beside_isso)
        about = place.about | {"comments": number}
    result = sum_up(about, {}, rows, lambda _: [])
    lines = [
        f"{one.name:<18} {one.medians['seconds']:6.1f} s, {one.medians['cpu_seconds']:6.1f} s CPU,"
        f" {one.medians['rss_mib']:6.1f} MiB"
        for one in result.summaries
    ]
    finish(result, "import", "\n".join(lines))
    if exceeded := too_much(rows):
        raise click.ClickException("; ".join(exceeded))

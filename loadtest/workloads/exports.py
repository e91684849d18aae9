"""The command `export`: the cost of exporting a million comments, in each format.

The program is run as an operator runs it, on one core and without a server: the time until it ends,
its CPU time, and its greatest memory.
"""

import os
import re
import subprocess
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import click

from commentsvc.settings import data_dir
from loadtest.data import bulk
from loadtest.harness.environment import prepare_empty, sum_up
from loadtest.harness.install import PROGRAM
from loadtest.harness.measurement import Row
from loadtest.harness.programs import ProgramError
from loadtest.harness.result import Summary
from loadtest.report.command import extent_of, finish, number, rounds, short

WORDS: Final = 20  # of a comment
FORMATS: Final = ("commentsvc", "wordpress", "disqus")
HUGO_PAGES: Final = 5_000
INTERVAL: Final = 0.2  # seconds between two reads of the memory
# Limits: seconds for a million comments in our own format, and for all pages of a Hugo blog; MiB of
# the process.
SECONDS: Final = 30.0
HUGO_SECONDS: Final = 10.0
MEMORY: Final = 200.0
QUIET: Final = 0.8  # share of the time for which the program had a core; below, others disturbed it


@dataclass(frozen=True, slots=True)
class Cost:
    """The costs of one run of the program and its processes: seconds, CPU seconds, MiB.

    Memory that processes share is counted once.
    """

    seconds: float
    cpu_seconds: float
    rss_mib: float

    @property
    def disturbed(self) -> bool:
        """Return whether the program waited for others, so that its seconds are useless."""
        return self.cpu_seconds < QUIET * self.seconds


def export(data: Path, *words: str) -> Cost:
    """Run the command. Raise ProgramError if it fails."""
    return run([str(PROGRAM), "export", "--data", str(data), *words])


def run(words: Sequence[str]) -> Cost:
    """Run a program to its end. Raise ProgramError if it fails."""
    begin = time.perf_counter()
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    # The memory of rusage includes that of the process that started it: our own.
    rss_mib = 0.0
    while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        rss_mib = max(rss_mib, memory(process.pid))
        time.sleep(INTERVAL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise ProgramError(f"{' '.join(words)} failed")
    return Cost(seconds, usage.ru_utime + usage.ru_stime, rss_mib)


def memory(pid: int) -> float:
    """Return the memory of a process and of those that it started in MiB; 0 for ended ones."""
    process = Path(f"/proc/{pid}")
    try:
        text = (process / "smaps_rollup").read_text()
        children = (process / f"task/{pid}/children").read_text().split()
    except OSError:  # it has ended meanwhile
        return 0.0
    found = re.search(r"^Pss:\s+(\d+) kB$", text, re.MULTILINE)
    return (int(found[1]) / 1024 if found else 0.0) + sum(memory(int(each)) for each in children)


def make(data: Path, number: int) -> None:
    """Make a data folder with so many comments of one site or two."""
    data_dir.prepare(data)
    click.echo(f"making {number} comments")
    bulk.make(data / data_dir.DATABASE, number, WORDS, indexed=False)
    sites = (
        f'[[site]]\nname = "{name}"\norigins = ["https://{name}.example"]' for name in bulk.SITES
    )
    (data / data_dir.SETTINGS).write_text("\n".join(sites))


def measure(folder: Path, number: int, pages: int, rounds: int) -> list[Row]:
    """Export everything in each format, and as data files: all, and again without a change."""
    many, some = folder / "many", folder / "some"
    make(many, number)
    make(some, pages * bulk.PAGES)
    rows: list[Row] = []
    for current in range(1, rounds + 1):
        costs = {
            name: export(many, str(folder / "file"), "--force", "--format", name)
            for name in FORMATS
        }
        files = folder / f"files {current}"
        for name in ("hugo", "hugo, unchanged"):
            costs[name] = export(some, "--hugo", str(files), "--site", bulk.SITES[0])
        rows += [
            {"scenario": name, "round": current, "disturbed": cost.disturbed, **asdict(cost)}
            for name, cost in costs.items()
        ]
    return rows


def line(one: Summary) -> str:
    """Return what a run of the program cost as a line for the terminal."""
    return (
        f"{one.name:<18} {one.medians['seconds']:6.1f} s, {one.medians['cpu_seconds']:6.1f} s CPU,"
        f" {one.medians['rss_mib']:6.1f} MiB{'  (disturbed)' * one.disturbed}"
    )


def too_much(rows: Sequence[Row]) -> list[str]:
    """Return what exceeds its limit, in words; by the CPU time if disturbed."""
    found = []
    for row in rows:
        bound = HUGO_SECONDS if row["scenario"].startswith("hugo") else SECONDS
        seconds = row["cpu_seconds"] if row["disturbed"] else row["seconds"]
        if row["scenario"] in ("commentsvc", "hugo") and seconds > bound:
            found.append(f"{row['scenario']}: {seconds:.1f} s, over {bound:.0f} s")
        if row["rss_mib"] > MEMORY:
            found.append(f"{row['scenario']}: {row['rss_mib']:.0f} MiB, over {MEMORY:.0f} MiB")
    return found


@click.command
@number(1_000)
@click.option("--pages", type=click.IntRange(20, 100_000), default=HUGO_PAGES, help="For Hugo.")
@rounds()
@short
def main(number: int, pages: int, rounds: int, short: bool) -> None:
    """Exports of a million comments, and the data files of a Hugo blog with 5,000 pages.

    Exits with 1 if our own format takes over 30 s, Hugo's files over 10 s, or any of them 200 MiB.
    """
    if short:
        number, pages = 1_000, 20
    with prepare_empty(extent_of(short, rounds, 1)) as environment:
        os.sched_setaffinity(0, set(environment.cores[:1]))  # the program inherits it
        rows = measure(environment.folder, number, pages, environment.extent.rounds)
        about = environment.about | {"comments": number, "pages": pages}
    result = sum_up(about, {}, rows)
    finish(result, "export", "\n".join(map(line, result.summaries)), short=short)
    if exceeded := too_much(rows):
        raise click.ClickException("; ".join(exceeded))

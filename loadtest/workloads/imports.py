"""The command `import`: the cost of importing a million comments, compared with Isso's importer.

The same Disqus file is imported into an empty folder by us, by us again, when everything is there
already, and by `isso import`: the time until the program ends, its CPU time, and its greatest
memory. Then a part of it is imported while a server runs and readers request the counts of its
pages: what they see before, and meanwhile.
"""

import itertools
import math
import os
import sqlite3
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Final

import click

from commentsvc.settings import data_dir
from loadtest.data import bulk
from loadtest.data.blog import draw, texts
from loadtest.harness import client
from loadtest.harness.bench import submission
from loadtest.harness.client import Request
from loadtest.harness.environment import Environment, prepare_empty, sum_up
from loadtest.harness.install import PROGRAM
from loadtest.harness.measurement import Row
from loadtest.harness.result import Summary
from loadtest.harness.scenario import MARK
from loadtest.harness.service import Service, ServiceError
from loadtest.report.command import extent_of, finish, number, rounds, short
from loadtest.report.table import milliseconds
from loadtest.servers.competitors import ISSO
from loadtest.servers.peer import environment
from loadtest.workloads import exports
from loadtest.workloads.exports import Cost

# Limits for a million comments: seconds, and MiB of the process.
SECONDS: Final = 180.0
MEMORY: Final = 200.0
OURS: Final = ("commentsvc", "commentsvc, again")
ISSO_IMPORT: Final = "isso"
BEFORE, BESIDE = "readers before", "readers beside an import"
SUBMITS_BEFORE, SUBMITS_BESIDE = "submissions before", "submissions beside an import"
SLOWER: Final = 2.0  # times the p99 before the import
SHOWN: Final = 0.8 * 0.99  # share of the generated comments that are approved, on the first site
PART: Final = 10  # one of so many comments is imported beside readers
READERS: Final = 4
WINDOWS: Final = 5  # before, and meanwhile
WINDOW: Final = 2  # seconds
SEQUENCE: Final = 12_000  # requests of readers, before they repeat


def make(folder: Path, number: int) -> Path:
    """Make a Disqus export of some `number` visible comments and return its path."""
    data, file = folder / "source", folder / "disqus.xml"
    exports.make(data, math.ceil(number / SHOWN))
    exports.export(data, str(file), "--format", "disqus", "--site", bulk.SITES[0])
    return file


def import_with_isso(folder: Path, file: Path) -> Cost:
    """Run Isso's importer on an empty database. Raise ProgramError and MissingError."""
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
        own = folder / f"round {current}"
        (own / "data").mkdir(parents=True)
        words = [str(PROGRAM), "import", "disqus", str(file), "--data", str(own / "data")]
        costs = {name: exports.run(words) for name in OURS}
        if beside_isso:
            costs[ISSO_IMPORT] = import_with_isso(own, file)
        rows += [
            {"scenario": name, "round": current, "disturbed": cost.disturbed, **asdict(cost)}
            for name, cost in costs.items()
        ]
    return rows


def beside_readers(environment: Environment, file: Path, number: int) -> list[Row]:
    """Measure counts and submissions before an import and during it, in the round `number`.

    Raise ServiceError if the import ends too early.
    """
    data, core = environment.folder / f"beside {number}", str(environment.cores[1])
    pages = [f"/{2000 + page % 25}/post-{page}/" for page in range(1, 200)]
    requests = [
        Request(
            f"GET /api/comments/count?url={url} HTTP/1.1\r\nHost: h\r\n\r\n".encode(), 200, None
        )
        for url in pages
    ]
    plan = environment.folder / "readers"
    plan.write_bytes(client.pack(requests, draw(SEQUENCE, len(requests), seed=4)))
    with Service(data, environment.cores[:1]) as service:

        def submissions() -> Iterator[Request]:
            drawn = zip(pages, texts(seed=6), strict=False)
            for url, text in drawn:
                yield submission(url, text, f"load-{MARK}", service.port)

        submits = environment.folder / "submissions"
        submits.write_bytes(client.pack([*submissions()], range(len(pages))))
        windows = itertools.count()

        def ask() -> tuple[float, float]:
            """Read and submit for a window each; return the two p99."""
            found = []
            for name, played, clients in (("readers", plan, READERS), ("submissions", submits, 1)):
                first = next(windows) * SEQUENCE  # so that each submission has a key of its own
                extent = (clients, 1, environment.extent.seconds, first)
                seen = client.generate(service.port, played, *extent, core)
                client.demand(name, seen)
                found.append(seen.p99)
            return found[0], found[1]

        before = [ask() for _ in range(WINDOWS)]
        words = [str(PROGRAM), "import", "disqus", str(file), "--data", str(data)]
        words = ["taskset", "-c", core, "nice", *words]  # the readers are on that core too
        importing = subprocess.Popen(words, stdout=subprocess.DEVNULL)
        try:
            while importing.poll() is None and not _is_storing(data):
                time.sleep(0.1)
            meanwhile = [ask() for _ in range(WINDOWS) if importing.poll() is None]
        finally:
            importing.kill()
            importing.wait()
    if not meanwhile:
        raise ServiceError("the import had ended before readers began")
    return [
        {"scenario": name, "round": number, "disturbed": False, "p99": statistics.median(p99)}
        for names, seen in (
            ((BEFORE, SUBMITS_BEFORE), before),
            ((BESIDE, SUBMITS_BESIDE), meanwhile),
        )
        for name, p99 in zip(names, zip(*seen, strict=True), strict=True)
    ]


def _is_storing(data: Path) -> bool:
    with closing(sqlite3.connect(data / data_dir.DATABASE)) as database:
        return database.execute("SELECT 1 FROM imported_comment LIMIT 1").fetchone() is not None


def too_slow(rows: Sequence[Row]) -> list[str]:
    """Return in words by how much the limit for readers during an import is exceeded."""
    seen = {
        name: statistics.median(row["p99"] for row in rows if row["scenario"] == name)
        for name in (BEFORE, BESIDE)
    }
    ratio = seen[BESIDE] / seen[BEFORE]
    return [f"readers' p99 is {ratio:.1f} times that before"] if ratio > SLOWER else []


def too_much(rows: Sequence[Row]) -> list[str]:
    """Return what exceeds its limit, in words; by the CPU time if disturbed."""
    found = []
    for row in rows:
        if row["scenario"] not in OURS:
            continue
        seconds = row["cpu_seconds" if row["disturbed"] else "seconds"]
        if seconds > SECONDS:
            found.append(f"{row['scenario']}: {seconds:.1f} s, over {SECONDS:.0f} s")
        if row["rss_mib"] > MEMORY:
            found.append(f"{row['scenario']}: {row['rss_mib']:.0f} MiB, over {MEMORY:.0f} MiB")
    return found


@click.command
@number(5_000)
@rounds()
@short
@click.option("--isso/--no-isso", "beside_isso", default=True, help="Isso's importer, too.")
def main(number: int, rounds: int, short: bool, beside_isso: bool) -> None:
    """Imports of a file of Disqus with a million comments, beside Isso's own importer.

    Exits with 1 if ours takes over 180 s or 200 MiB, or if readers wait more than twice as long.
    """
    if short:
        number, beside_isso = 5_000, False
    with prepare_empty(extent_of(short, rounds, WINDOW)) as environment:
        os.sched_setaffinity(0, set(environment.cores))
        count = environment.extent.rounds
        rows = measure(environment.folder, number, count, beside_isso=beside_isso)
        (environment.folder / "part").mkdir()
        part = make(environment.folder / "part", number // PART)
        seen = [row for one in range(count) for row in beside_readers(environment, part, one + 1)]
        about = environment.about | {"comments": number}
    result = sum_up(about, {}, [*rows, *seen])
    finish(result, "import", "\n".join(map(line, result.summaries)), short=short)
    if not short and (exceeded := [*too_much(rows), *too_slow(seen)]):
        raise click.ClickException("; ".join(exceeded))


def line(one: Summary) -> str:
    """Return a line for the terminal: what an import cost, or what readers saw."""
    if "p99" in one.medians:
        return f"{one.name:<30} p99 {milliseconds(one.medians['p99'])} ms"
    return exports.line(one)

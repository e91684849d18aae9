"""Instances: submissions to one and three instances on one PostgreSQL, their memory, and a hit.

PostgreSQL waits for the disk, as in production. Server, database and clients share all cores. On a
machine that is too busy, submissions wait for more than three seconds, and are refused. The
cost of the lease for a hit is counted in instructions by callgrind, since a clock is too coarse.
"""

import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from itertools import product
from pathlib import Path
from typing import Final

import click

from loadtest.data import blog
from loadtest.harness import client
from loadtest.harness.bench import submissions
from loadtest.harness.browsers import ratio
from loadtest.harness.environment import Environment, prepare_empty, rotated, sum_up
from loadtest.harness.measurement import Row
from loadtest.harness.postgresql import PostgresServer, running
from loadtest.harness.programs import MissingError
from loadtest.harness.result import Result, Verdict
from loadtest.harness.running import free_port
from loadtest.harness.scenario import Goal
from loadtest.harness.service import Service, ServiceError, Visitor
from loadtest.report.command import extent_of, finish
from loadtest.report.table import align

INSTANCES: Final = (1, 3)
CLIENTS: Final = (1, 64, 256)
COHERENCE: Final = ("strict", "bounded")
PAGES: Final = 1_000
SETTLED: Final = 2.5  # seconds until new instances know each other: a lease, and a beat
HITS: Final = (200, 1_200)

MANY: Final = Goal("rate", "least", 10_000, "from 256 clients, on a quiet disk")
ALONE: Final = Goal("rate", "least", 120, "from one client")
MEMORY: Final = Goal("rss_mib", "most", 80, "of each instance")
LEASE: Final = Goal("times", "most", 1.02, "of a hit without a lease, in instructions")


def name_of(instances: int, clients: int, coherence: str) -> str:
    """Return the name of a measurement."""
    return f"{instances} instances, {clients} clients, {coherence}"


class Submissions:
    """Measures submissions to instances that share an empty database."""

    def __init__(self, play: Environment, server: PostgresServer) -> None:
        """Take the environment, and a server that runs."""
        self._play = play
        self._server = server
        self._pages = blog.pages(PAGES)
        self._databases = 0
        self._serial = 0

    def measure(self, instances: int, coherence: str, round_number: int) -> Iterator[Row]:
        """Give the figures of each number of clients. Raise ClientError or ServiceError."""
        with self._serving(instances, coherence) as services:
            self._generate(services, max(CLIENTS), 0.5)  # all queries are prepared then
            for clients in CLIENTS:
                before = sum(service.cpu() for service in services)
                outcomes = self._generate(services, clients, self._play.extent.seconds)
                used = sum(service.cpu() for service in services) - before
                answered = sum(one.answered for one in outcomes)
                yield {
                    "scenario": name_of(instances, clients, coherence),
                    "round": round_number,
                    "disturbed": False,
                    "rate": sum(one.answered / one.seconds for one in outcomes),
                    "refused": sum(one.wrong for one in outcomes),
                    "cpu_us": used / answered / 1_000,
                    "p50": max(one.p50 for one in outcomes),
                    "p99": max(one.p99 for one in outcomes),
                    "rss_mib": max(service.rss() for service in services),
                }

    @contextmanager
    def _serving(self, instances: int, coherence: str) -> Iterator[list[Service]]:
        """Start instances on a new database; they end with the block."""
        self._databases += 1
        name = f"submissions{self._databases}"
        self._server.ask(f"CREATE DATABASE {name}")
        settings = {
            "COMMENTSVC_DATABASE_URL": self._server.url(name),
            "COMMENTSVC_DATABASE_COHERENCE": coherence,
            "COMMENTSVC_AUTH_SECRET_KEY": "k" * 32,
        }
        with ExitStack() as stack:
            services = [
                stack.enter_context(
                    Service(
                        self._play.folder / f"{name}-{number}",
                        self._play.cores,
                        settings=settings,
                    )
                )
                for number in range(instances)
            ]
            time.sleep(SETTLED)
            yield services
        self._server.ask(f"DROP DATABASE {name} WITH (FORCE)")

    def _generate(
        self, services: Sequence[Service], clients: int, seconds: float
    ) -> list[client.Outcome]:
        """Let the clients of each instance submit at the same time."""
        chosen = services[:clients]
        with ThreadPoolExecutor(len(chosen)) as pool:
            jobs = [
                pool.submit(self._submit, service, clients // len(chosen), seconds)
                for service in chosen
            ]
            return [job.result() for job in jobs]

    def _submit(self, service: Service, clients: int, seconds: float) -> client.Outcome:
        self._serial += 10_000_000
        requests = submissions(self._pages, service.port)
        plan = self._play.folder / f"plan-{service.port}"
        plan.write_bytes(client.pack(requests, range(len(requests))))
        cores = ",".join(map(str, self._play.cores))
        outcome = client.generate(service.port, plan, clients, 1, seconds, self._serial, cores)
        if not outcome.answered:
            raise ServiceError(f"no submission of {clients} clients is acknowledged")
        return outcome


def hit(folder: Path, leased: str) -> float:
    """Return the instructions of a hit, with or without a lease. Raise MissingError."""
    few, many = (_instructions(folder, leased, number) for number in HITS)
    return (many - few) / (HITS[1] - HITS[0])


def _instructions(folder: Path, leased: str, hits: int) -> int:
    """Return the instructions of a core that answers so many hits, all in all."""
    port, said = free_port(), folder / "callgrind"
    words = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder / 'profile'}"]
    words.append("--toggle-collect=run")  # only the core's worker
    words += [sys.executable, "-m", "loadtest.servers.implementations.leased", str(port), leased]
    try:
        with said.open("wb") as log:
            process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=log)
    except FileNotFoundError as error:
        raise MissingError("valgrind is missing. Run: apt-get install -y valgrind") from error
    assert process.stdout is not None
    with process.stdout:
        process.stdout.readline()
        visitor = Visitor(port)
        for _ in range(hits):
            visitor.get("/stored")
        visitor.close()
        process.terminate()
        process.wait()
    found = re.search(r"Collected : (\d+)", said.read_text())
    if not found:
        raise ServiceError(f"callgrind counted nothing: {said.read_text()[-500:]}")
    return int(found[1])


def judge(rows: Sequence[Row]) -> list[Verdict]:
    """Return which goals are reached."""
    by_name: dict[str, list[Row]] = {}
    for row in rows:
        by_name.setdefault(str(row["scenario"]), []).append(row)
    found = []
    for clients, goal in ((max(CLIENTS), MANY), (1, ALONE)):
        name = name_of(max(INSTANCES), clients, "strict")
        rates = [float(row["rate"]) for row in by_name.get(name, ())]
        if rates:
            best = max(rates)
            found.append(Verdict(name, goal, best, goal.holds(best), (min(rates), best)))
    sizes = [float(row["rss_mib"]) for row in rows if "rss_mib" in row]
    if sizes:
        most = max(sizes)
        found.append(Verdict("memory", MEMORY, most, MEMORY.holds(most), (min(sizes), most)))
    if "hit, with a lease" in by_name:
        found.append(ratio(rows, "hit, with a lease", ["hit, without"], LEASE, "instructions"))
    return found


def table(result: Result) -> str:
    """Return the medians."""
    rows: list[tuple[str, ...]] = [
        ("what", "submissions/s", "refused", "CPU-µs", "p50 ms", "p99 ms", "MiB")
    ]
    hits = []
    for one in result.summaries:
        m = one.medians
        if "instructions" in m:
            hits.append(f"{one.name}: {m['instructions']:.0f} instructions")
            continue
        times = (f"{m['p50'] / 1_000:.1f}", f"{m['p99'] / 1_000:.1f}")
        counts = (f"{m[figure]:.0f}" for figure in ("rate", "refused", "cpu_us"))
        rows.append((one.name, *counts, *times, f"{m['rss_mib']:.0f}"))
    return "\n\n".join([*([align(rows)] if rows[1:] else []), *(["\n".join(hits)] if hits else [])])


PARTS: Final = ("submissions", "hit")


@click.command
@click.argument("parts", metavar="[PART]...", nargs=-1, type=click.Choice(PARTS))
@click.option("--rounds", type=click.IntRange(1, 100), default=3, show_default=True)
@click.option("--seconds", type=click.IntRange(1, 600), default=5, show_default=True)
@click.option("--short", is_flag=True, help="One round of 1 s each; nothing is stored.")
def main(parts: Sequence[str], rounds: int, seconds: int, short: bool) -> None:
    """Submissions to one and three instances on PostgreSQL, and a hit with a lease."""
    rows: list[Row] = []
    with prepare_empty(extent_of(short, rounds, seconds)) as play:
        if not parts or "submissions" in parts:
            with running(play.folder / "postgresql", {"max_connections": "100"}) as server:
                measured = Submissions(play, server)
                for number in range(1, play.extent.rounds + 1):
                    for instances, coherence in rotated([*product(INSTANCES, COHERENCE)], number):
                        for row in measured.measure(instances, coherence, number):
                            rows.append(row)
                            click.echo(f"round {number}  {row['scenario']}: {row['rate']:.0f}/s")
        if not parts or "hit" in parts:
            for name, leased in (("hit, without", "no"), ("hit, with a lease", "yes")):
                instructions = hit(play.folder, leased)
                about: Row = {"scenario": name, "round": 1, "disturbed": False}
                rows.append(about | {"instructions": instructions})
                click.echo(f"{name}: {instructions:.0f} instructions")
        result = sum_up(play.about, {}, rows, judge)
    finish(result, "instances", table(result), short=short)

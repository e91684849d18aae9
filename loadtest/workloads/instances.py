"""Instances: submissions to one and three instances on one PostgreSQL, their memory, and a hit.

Waline is measured beside them, on the same PostgreSQL: one process, as its manual starts it.

PostgreSQL waits for the disk, as in production. Server, database and clients share all cores. On a
machine that is too busy, submissions wait for more than three seconds, and are refused. The
cost of the lease for a hit is counted in instructions by callgrind, since a clock is too coarse.
"""

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Final

import click

from loadtest.data import blog
from loadtest.harness import client
from loadtest.harness.bench import submissions
from loadtest.harness.browsers import browse, ratio
from loadtest.harness.client import Request
from loadtest.harness.environment import Environment, prepare_empty, sum_up
from loadtest.harness.measurement import Row
from loadtest.harness.postgresql import PostgresServer, running
from loadtest.harness.programs import MissingError
from loadtest.harness.result import Result, Verdict
from loadtest.harness.rounds import rotated
from loadtest.harness.running import Running, free_port
from loadtest.harness.scenario import Goal
from loadtest.harness.service import Service, ServiceError, Visitor
from loadtest.report.command import extent_of, finish, options
from loadtest.report.table import align
from loadtest.servers import waline

INSTANCES: Final = (1, 3)
CLIENTS: Final = (1, 64, 256)
COHERENCE: Final = ("strict", "bounded")
PAGES: Final = 1_000
SETTLED: Final = 2.5  # seconds until new instances know each other: a lease, and a beat
HITS: Final = (200, 1_200)

MANY: Final = Goal("rate", "least", 3_500, "from 64 clients to one instance, on a quiet disk")
ALONE: Final = Goal("rate", "least", 120, "from one client to three")
MEMORY: Final = Goal("rss_mib", "most", 80, "of each instance")
LEASE: Final = Goal("times", "most", 1.02, "of a hit without a lease, in instructions")


# Lets so many clients submit to a port for some seconds; numbers their submissions from the last
# argument on.
Submit = Callable[[int, int, float, int], client.Outcome]


def name_of(instances: int, clients: int, coherence: str) -> str:
    """Return the name of a measurement."""
    return f"{instances} instances, {clients} clients, {coherence}"


class Submitters:
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
                _, row = self._measure_clients(services, clients)
                about: Row = {"scenario": name_of(instances, clients, coherence)}
                yield about | row | {"round": round_number}

    def measure_waline(self, round_number: int) -> Iterator[Row]:
        """Give Waline's figures of each number of clients.

        Raise ClientError, MissingError or ServiceError.
        """
        log = self._play.folder / "waline.log"
        with waline.serving(self._server, log, self._play.cores) as service:
            self._generate([service], 1, 0.5, self._submit_patiently)
            for clients in CLIENTS:
                before = waline.stored(self._server)
                answered, row = self._measure_clients([service], clients, self._submit_patiently)
                refused = answered - (waline.stored(self._server) - before)
                if refused > 0:
                    raise ServiceError(f"Waline refuses {refused} of {answered} submissions")
                about: Row = {"scenario": f"{waline.VERSION}, {clients} clients"}
                yield about | row | {"round": round_number}

    def _measure_clients(
        self,
        services: Sequence[Service | Running],
        clients: int,
        submit: Submit | None = None,
    ) -> tuple[int, Row]:
        """Return the number of acknowledged submissions, and the figures."""
        before = sum(service.cpu() for service in services)
        outcomes = self._generate(services, clients, self._play.extent.seconds, submit)
        used = sum(service.cpu() for service in services) - before
        answered = sum(one.answered for one in outcomes)
        return answered, {
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
        self,
        services: Sequence[Service | Running],
        clients: int,
        seconds: float,
        submit: Submit | None = None,
    ) -> list[client.Outcome]:
        """Let the clients of each instance submit at the same time."""
        chosen = services[:clients]
        share = clients // len(chosen)
        jobs = []
        with ThreadPoolExecutor(len(chosen)) as pool:
            for service in chosen:
                self._serial += 10_000_000  # no two instances get the same submissions
                arguments = (service.port, share, seconds, self._serial)
                jobs.append(pool.submit(submit or self._submit, *arguments))
            return [job.result() for job in jobs]

    def _submit(self, port: int, clients: int, seconds: float, first: int) -> client.Outcome:
        plan, cores = self._plan(port, submissions(self._pages, port))
        outcome = client.generate(port, plan, clients, 1, seconds, first, cores)
        if not outcome.answered:
            raise ServiceError(f"no submission of {clients} clients is acknowledged")
        return outcome

    def _submit_patiently(
        self, port: int, clients: int, seconds: float, first: int
    ) -> client.Outcome:
        """Submit to Waline, which closes connections that it cannot answer within 10 s."""
        plan, cores = self._plan(port, waline.submissions(self._pages, port))
        seen = browse(port, plan, clients, seconds, cores, first=first)
        if not seen.outcome.answered:
            raise ServiceError(f"Waline acknowledges no submission of {clients} clients")
        return replace(seen.outcome, wrong=seen.errors)

    def _plan(self, port: int, requests: Sequence[Request]) -> tuple[Path, str]:
        """Return the file that says what the clients send, and their cores."""
        plan = self._play.folder / f"plan-{port}"
        plan.write_bytes(client.pack(requests, range(len(requests))))
        return plan, ",".join(map(str, self._play.cores))


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
    for number, clients, goal in ((1, 64, MANY), (3, 1, ALONE)):
        name = name_of(number, clients, "strict")
        rates = [float(row["rate"]) for row in by_name.get(name, ())]
        if rates:
            best = max(rates)
            found.append(Verdict(name, goal, best, goal.holds(best), (min(rates), best)))
    ours = (row for row in rows if "instances" in row["scenario"])
    sizes = [float(row["rss_mib"]) for row in ours]
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


PARTS: Final = ("submissions", "waline", "hit")


def _submissions(play: Environment, parts: Sequence[str]) -> Iterator[Row]:
    """Give the figures of ours and of Waline. Raise ClientError or ServiceError."""
    with running(play.folder / "postgresql", {"max_connections": "100"}) as server:
        measured = Submitters(play, server)
        for number in range(1, play.extent.rounds + 1):
            if "submissions" in parts:
                for instances, coherence in rotated([*product(INSTANCES, COHERENCE)], number):
                    yield from measured.measure(instances, coherence, number)
            if "waline" in parts and "absent" not in play.about:
                try:
                    yield from measured.measure_waline(number)
                except (MissingError, ServiceError) as reason:  # ours are worth the run alone
                    play.about["absent"] = {waline.VERSION: str(reason)}


@click.command
@click.argument("parts", metavar="[PART]...", nargs=-1, type=click.Choice(PARTS))
@options(5)
def main(parts: Sequence[str], rounds: int, seconds: int, short: bool) -> None:
    """Submissions to one and three instances on PostgreSQL, and to Waline; a hit with a lease."""
    rows: list[Row] = []
    with prepare_empty(extent_of(short, rounds, seconds)) as play:
        if not parts or {"submissions", "waline"} & {*parts}:
            for row in _submissions(play, parts or PARTS):
                rows.append(row)
                click.echo(f"round {row['round']}  {row['scenario']}: {row['rate']:.0f}/s")
        if not parts or "hit" in parts:
            for name, leased in (("hit, without", "no"), ("hit, with a lease", "yes")):
                instructions = hit(play.folder, leased)
                about: Row = {"scenario": name, "round": 1, "disturbed": False}
                rows.append(about | {"instructions": instructions})
                click.echo(f"{name}: {instructions:.0f} instructions")
        result = sum_up(play.about, {}, rows, judge)
    finish(result, "instances", table(result), short=short)

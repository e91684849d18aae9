"""Instances on one PostgreSQL under load, while one part after the other fails.

Three instances reach a primary with a synchronous standby through relays of ours, as through a
network. Writers repeat each submission until it is acknowledged; readers and writers look for
answers without what was acknowledged (`harness.coherence`). Meanwhile faults follow each other.
At the end every acknowledged comment must be stored exactly once.
"""

import asyncio
import contextlib
import random
import shutil
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import click
import psycopg

from commentsvc.db import peers
from loadtest.harness.coherence import PAGE, USUAL, CoherenceChecker, Stale
from loadtest.harness.environment import prepare_empty, sum_up
from loadtest.harness.measurement import Row
from loadtest.harness.postgresql import PostgresServer, temporary_folder
from loadtest.harness.relay import Relay
from loadtest.harness.result import Result, Verdict
from loadtest.harness.rounds import Extent
from loadtest.harness.scenario import Goal
from loadtest.harness.service import Service, ServiceError, Visitor
from loadtest.report.command import finish
from loadtest.report.table import align

INSTANCES: Final = 3
WRITERS: Final = 4
BATCH: Final = 16  # questions that a reader asks at once, in the long form
DATABASE: Final = "cluster"
LOCKED: Final = f"SELECT pg_advisory_lock({peers.LOCK})"
STORED: Final = "SELECT source, count(*) FROM commentsvc.comment GROUP BY source"
FAILOVERS: Final = 20
CHECKS: Final = 1_000_000

# What is judged: the figure, its goal in the long form, and why.
GOALS: Final = (
    ("checks", Goal("times", "least", CHECKS, "of counts, while something fails")),
    ("failovers", Goal("times", "least", FAILOVERS, "to the synchronous standby")),
    ("stale", Goal("times", "most", 0, "answers older than coherence allows")),
    ("lost", Goal("times", "most", 0, "acknowledged comments")),
    ("doubled", Goal("times", "most", 0, "comments")),
    ("unusual", Goal("times", "most", 0, "answers other than 200, 201 and 503")),
)


class Cluster:
    """Instances, their relays, and two servers, of which one is the primary."""

    def __init__(self, folder: Path, disk: Path, coherence: str) -> None:
        """Take a folder for the instances, one for the servers, and `database.coherence`."""
        self.instances: list[Service] = []
        self.relays: list[Relay] = []
        self.primary = PostgresServer(disk / "one")
        self.standby = PostgresServer(disk / "two")
        self._folder = folder
        self._coherence = coherence
        self._started = 0

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Start everything; end it after the block. Raise ServiceError."""
        try:
            await asyncio.to_thread(self._start_servers)
            for number in range(INSTANCES):
                self.relays.append(Relay(self._socket))
                await self.relays[number].start()
                self.instances.append(await asyncio.to_thread(self.begin, number))
            yield
        finally:
            for instance in self.instances:
                instance.kill()
            for relay in self.relays:
                await relay.close()
            for server in (self.primary, self.standby):
                server.stop()

    def begin(self, number: int) -> Service:
        """Start a new instance in the place of one that has ended."""
        self._started += 1
        url = f"postgresql://postgres@127.0.0.1:{self.relays[number].port}/{DATABASE}"
        settings = {
            "COMMENTSVC_DATABASE_URL": url,
            "COMMENTSVC_DATABASE_COHERENCE": self._coherence,
            "COMMENTSVC_AUTH_SECRET_KEY": "k" * 32,
        }
        return Service(self._folder / f"instance{self._started}", range(2), settings=settings)

    def _socket(self) -> Path:
        return self.primary.folder / ".s.PGSQL.5432"

    def _start_servers(self) -> None:
        self.primary.make()
        self.primary.start()
        self.primary.ask(f"CREATE DATABASE {DATABASE}")
        self.primary.ask("ALTER SYSTEM SET max_wal_size = '64MB'")
        self.primary.ask("ALTER SYSTEM SET synchronous_standby_names = '*'")
        self.attach()
        self.primary.ask("SELECT pg_reload_conf()")

    def attach(self) -> None:
        """Make the standby anew."""
        self.standby.stop()
        self.standby.copy(self.primary)
        self.standby.start()

    def promote(self) -> None:
        """Let the primary end at once, and the standby take its place."""
        self.primary.stop()
        self.primary, self.standby = self.standby, self.primary
        self.primary.ask("SELECT pg_promote()")


class Faults:
    """The faults; each method lets something fail, and waits until all goes on."""

    def __init__(self, cluster: Cluster, checker: CoherenceChecker, chance: random.Random) -> None:
        self._cluster = cluster
        self._checker = checker
        self._chance = chance
        self.back = 0.0  # seconds from PostgreSQL's return until all instances gave counts

    def _anyone(self) -> int:
        return self._chance.randrange(INSTANCES)

    async def kill(self) -> None:
        """SIGKILL for an instance; another one is started."""
        number = self._anyone()
        self._cluster.instances[number].kill()
        await self._checker.more(WRITERS)
        self._cluster.instances[number] = await asyncio.to_thread(self._cluster.begin, number)
        self._checker.ports[number] = self._cluster.instances[number].port

    async def freeze(self) -> None:
        """SIGSTOP for an instance, and SIGCONT within three seconds."""
        one = self._cluster.instances[self._anyone()]
        one.send(signal.SIGSTOP)
        await asyncio.sleep(self._chance.uniform(0.3, 3.0))
        one.send(signal.SIGCONT)

    async def cut(self) -> None:
        """End the notification channels of all instances."""
        for relay in self._cluster.relays:
            relay.cut(listening=True)

    async def delay(self) -> None:
        """Delay the notifications for an instance by up to twice its lease."""
        relay = self._cluster.relays[self._anyone()]
        relay.channel_latency = self._chance.uniform(0.1, 2.0)
        await self._checker.more(WRITERS)
        relay.channel_latency = 0.0

    async def slow(self) -> None:
        """Delay everything that PostgreSQL says."""
        for relay in self._cluster.relays:
            relay.latency = 0.05
        await self._checker.more(WRITERS)
        for relay in self._cluster.relays:
            relay.latency = 0.0

    async def lock(self) -> None:
        """Let nobody write for up to four seconds, longer than writers wait."""
        url = self._cluster.primary.url(DATABASE)
        async with await psycopg.AsyncConnection.connect(url, autocommit=True) as other:
            await other.execute(LOCKED)
            await asyncio.sleep(self._chance.uniform(0.5, 4.0))

    async def crowd(self) -> None:
        """Use up all connections, and close those of an instance, which then gets no new ones."""
        taken: list[psycopg.AsyncConnection] = []
        url = self._cluster.primary.url(DATABASE)
        self._cluster.relays[self._anyone()].cut()
        end = time.monotonic() + 2.0
        while time.monotonic() < end:
            try:
                taken.append(await psycopg.AsyncConnection.connect(url))
            except psycopg.OperationalError:
                await asyncio.sleep(0.02)
        for each in taken:
            await each.close()

    async def fill(self) -> None:
        """Fill the disk, until nothing is stored or PostgreSQL ends; then make room."""
        server = self._cluster.primary
        ballast = server.folder / "ballast"
        free = shutil.disk_usage(server.folder).free
        with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            for size in (free - 4096, *[1024] * 1024):
                file.write(b"x" * size)
        await self._checker.refusal()
        ballast.unlink()
        for each in (server, self._cluster.standby):
            if each.has_ended():
                await self._back(each)

    async def restart(self) -> None:
        """Stop PostgreSQL gracefully, and start it again."""
        await self._end(signal.SIGINT)

    async def end(self) -> None:
        """Stop PostgreSQL at once, and start it again, sometimes before the leases have ended."""
        await self._end(signal.SIGQUIT)

    async def failover(self) -> None:
        """Stop the primary at once; the standby takes its place, and gets a standby of its own."""
        await asyncio.to_thread(self._cluster.promote)
        for relay in self._cluster.relays:
            relay.cut()
        await asyncio.to_thread(self._cluster.attach)

    async def _end(self, how: signal.Signals) -> None:
        server = self._cluster.primary
        await asyncio.to_thread(server.stop, how)
        if self._chance.random() < 0.5:
            await self._checker.all_refuse()
        await self._back(server)

    async def _back(self, server: PostgresServer) -> None:
        server.stop()
        await asyncio.to_thread(server.start)
        self.back = await self._checker.all_answer()


FAULTS: Final[dict[str, Callable[[Faults], Awaitable[None]]]] = {
    "instance killed": Faults.kill,
    "instance stopped and continued": Faults.freeze,
    "notifications lost": Faults.cut,
    "notifications delayed": Faults.delay,
    "slow database": Faults.slow,
    "database locked": Faults.lock,
    "too many connections": Faults.crowd,
    "full disk": Faults.fill,
    "database restarted": Faults.restart,
    "database ended at once": Faults.end,
    "failover": Faults.failover,
}
NEEDS_DISK: Final = "full disk"
# What is played in the short form.
SHORT: Final = (
    "instance stopped and continued",
    "notifications lost",
    "instance killed",
    "database ended at once",
    "failover",
)


class Run:
    """Faults under load until there were enough checks and failovers."""

    def __init__(self, coherence: str, names: Sequence[str], chance: random.Random) -> None:
        self.rows: list[Row] = []
        self.totals: Counter[str] = Counter()
        self.stale: list[Stale] = []
        self._coherence = coherence
        self._names = names
        self._chance = chance

    async def play(self, cluster: Cluster, checks: int, failovers: int) -> None:
        """Let each fault occur, and again in another order, until the numbers are reached.

        Raise ServiceError.
        """
        async with cluster.running():
            allowance, ports = self._allowance(), [each.port for each in cluster.instances]
            checker = CoherenceChecker(ports, allowance, BATCH if checks else 1)
            faults = Faults(cluster, checker, self._chance)
            async with checker.running(WRITERS):
                number = 0
                while not number or checker.checks < checks or self.totals["failovers"] < failovers:
                    number += 1
                    for name in self._chance.sample(self._names, len(self._names)):
                        await self._let_fail(name, number, faults, checker)
            await self._compare(cluster, checker)

    def _allowance(self) -> float:
        return 0.0 if self._coherence == "strict" else 1.0

    async def _let_fail(
        self, name: str, number: int, faults: Faults, checker: CoherenceChecker
    ) -> None:
        before, acknowledged, begin = checker.checks, len(checker.messages), time.monotonic()
        stale = len(checker.stale)
        faults.back = 0.0
        await FAULTS[name](faults)
        await checker.more(2 * WRITERS)
        self.totals["failovers"] += name == "failover"
        row: Row = {"scenario": name, "round": number, "disturbed": False}
        row |= {
            "checks": checker.checks - before,
            "acknowledged": len(checker.messages) - acknowledged,
            "stale": len(checker.stale) - stale,
            "took_s": time.monotonic() - begin,
        }
        if faults.back:
            row["back_s"] = faults.back
        self.rows.append(row)
        click.echo(
            f"round {number}  {name}: {row['checks']} checks, {row['stale']} stale,"
            f" {row['took_s']:.1f} s"
        )

    async def _compare(self, cluster: Cluster, checker: CoherenceChecker) -> None:
        """Compare what was acknowledged with what is stored and shown. Raise ServiceError."""
        stored = dict(cluster.primary.ask(STORED, DATABASE))
        for port in checker.ports:
            visitor = Visitor(port)
            shown = visitor.get(f"/api/comments/count?url={PAGE}")
            visitor.close()
            if shown != b'{"count":%d}' % sum(stored.values()):
                raise ServiceError(f"{shown.decode()} are shown, {sum(stored.values())} stored")
        self.stale = checker.stale
        self.totals |= {
            "checks": checker.checks,
            "acknowledged": len(checker.messages),
            "stale": len(checker.stale),
            "lost": sum(message not in stored for message in checker.messages),
            "doubled": sum(number > 1 for number in stored.values()),
            "unusual": sum(n for status, n in checker.statuses.items() if status not in USUAL),
            "slowest_ms": round(checker.slowest * 1_000),
        }


def judge(totals: dict[str, int], *, long: bool) -> list[Verdict]:
    """Return whether the goals are reached; the numbers of checks and failovers in a long run."""
    return [
        Verdict(figure, goal, totals[figure], goal.holds(totals[figure]))
        for figure, goal in GOALS
        if long or goal.sense == "most"
    ]


def table(result: Result) -> str:
    """Return what each fault did."""
    rows: list[tuple[str, ...]] = [("fault", "checks", "acknowledged", "s", "back after s")]
    for one in result.summaries:
        figures = one.medians
        back = f"{figures['back_s']:.2f}" if "back_s" in figures else ""
        numbers = (figures["checks"], figures["acknowledged"])
        rows.append((one.name, *(f"{n:.0f}" for n in numbers), f"{figures['took_s']:.1f}", back))
    return align(rows)


@click.command
@click.option(
    "--coherence", type=click.Choice(["strict", "bounded"]), default="strict", show_default=True
)
@click.option("--only", type=click.Choice([*FAULTS]), multiple=True, help="Only these faults.")
@click.option("--long", is_flag=True, help=f"{CHECKS:,} checks, {FAILOVERS} failovers; is stored.")
@click.option("--seed", type=int, default=0, help="Of the order of the faults, and their lengths.")
def main(coherence: str, only: Sequence[str], long: bool, seed: int) -> None:
    """Several instances on PostgreSQL while everything fails: nothing stale, nothing lost.

    Without --long, five faults occur once.
    """
    extent = Extent(1, 1, 1)
    with prepare_empty(extent) as play, temporary_folder() as (disk, is_small):
        names = [*(only or (FAULTS if long else SHORT))]
        if not is_small and NEEDS_DISK in names:
            names.remove(NEEDS_DISK)
        run = Run(coherence, names, random.Random(seed))
        cluster = Cluster(play.folder, disk, coherence)
        asyncio.run(run.play(cluster, CHECKS * long, FAILOVERS * long))
        absent = {} if is_small else {NEEDS_DISK: "only root may mount a small disk"}
        about = {**play.about, "coherence": coherence, "totals": dict(run.totals), "absent": absent}
        verdicts = judge(run.totals, long=long)
        result = sum_up(about, {}, run.rows, lambda _: verdicts)
    finish(result, "cluster", table(result), short=not long)
    if not all(verdict.holds for verdict in verdicts):
        raise ServiceError(f"a goal is not reached: {dict(run.totals)}; stale: {run.stale[:5]}")

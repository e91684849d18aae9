"""Processes: what one process answers with PostgreSQL, and what several do (--processes).

The load is counts that are not cached, and then the whole mix of `mixed`, as fast as it is
answered. Server, PostgreSQL and clients share all cores. So the rate of several processes is
limited by what is left for them: one process leaves the other core to PostgreSQL and the clients.
The CPU time for an answer, of all three, tells what the cores allow, and what processes cost.
"""

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import click

from commentsvc.settings import data_dir
from loadtest.harness import client
from loadtest.harness.browsers import browse, ratio
from loadtest.harness.client import Request
from loadtest.harness.environment import Environment, prepare, sum_up
from loadtest.harness.install import PROGRAM
from loadtest.harness.measurement import Row
from loadtest.harness.postgresql import PostgresServer, running
from loadtest.harness.result import Result, Verdict
from loadtest.harness.rounds import rotated
from loadtest.harness.running import Running, free_port
from loadtest.harness.scenario import CLIENTS, MARK, Goal, named, order
from loadtest.harness.service import ENVIRONMENT, PATIENCE, ServiceError, Visitor, copy
from loadtest.report.command import extent_of, finish, options
from loadtest.report.table import align
from loadtest.workloads import mixed
from loadtest.workloads.mixed import Script

NUMBERS: Final = (1, 2)
ON: Final = "of one process, on two cores without other work"
MISSES: Final = Goal("times", "least", 1.8, ON)
MIX: Final = Goal("times", "least", 1.6, ON)
COST: Final = Goal("times", "most", 1.1, "of one process, in CPU time of the service")
# Requests of the mix that are prepared for each second; each signs in or out, or approves, once.
PREPARED: Final = 8_000


class Processes:
    """Measures servers with so many processes, one after the other."""

    def __init__(
        self, play: Environment, postgresql: PostgresServer, url: str, script: Script
    ) -> None:
        """Take the environment, the server and URL of the database, and the whole mix."""
        self._play = play
        self._postgresql = postgresql
        self._url = url
        self._script = script
        self._played = 0
        self._serial = 0

    def measure(self, number: int, round_number: int) -> Iterator[Row]:
        """Give the rate and the CPU time of `number` processes, for each load.

        Raise ClientError or ServiceError.
        """
        port, cores = free_port(), self._play.cores
        words = [str(PROGRAM), "serve", f"--data={self._play.folder / 'served'}"]
        words += [f"--listen=127.0.0.1:{port}", f"--processes={number}"]
        environ = {**ENVIRONMENT, "COMMENTSVC_DATABASE_URL": self._url}
        log = self._play.folder / f"{number}.log"
        with Running(words, port, log, cores, environ) as server:
            _wait_until_ready(log)
            plan = self._plan(port)
            self._generate(port, plan, 1.0)  # so that all processes have prepared their queries
            load = partial(self._generate, port, plan, self._play.extent.seconds)
            yield self._measure(server, misses(number), round_number, load)
            self._play_mix(port)  # so that each process has cached what is asked often
            yield self._measure(server, mix(number), round_number, partial(self._play_mix, port))

    def _measure(
        self, server: Running, name: str, round_number: int, load: Callable[[], client.Outcome]
    ) -> Row:
        before = (server.cpu(), self._postgresql.cpu())
        outcome = load()
        after = (server.cpu(), self._postgresql.cpu())
        return _row(name, round_number, outcome, before, after)

    def _play_mix(self, port: int) -> client.Outcome:
        """Let the clients play the next part of the mix. Raise ServiceError if it is too short."""
        script, seconds = self._script, self._play.extent.seconds
        part = script.order[self._played : self._played + int(PREPARED * seconds)]
        self._played += len(part)
        plan = self._play.folder / "mix"
        plan.write_bytes(client.pack(script.requests, part))
        self._serial += 10_000_000
        everywhere = ",".join(map(str, self._play.cores))
        seen = browse(port, plan, mixed.USERS, seconds, everywhere, first=self._serial)
        if seen.errors or seen.outcome.answered > len(part):
            raise ServiceError(
                f"{seen.errors} errors among {seen.outcome.answered} of {len(part)} requests:"
                f" {seen.statuses}"
            )
        return seen.outcome

    def _generate(self, port: int, plan: Path, seconds: float) -> client.Outcome:
        self._serial += 10_000_000
        everywhere = ",".join(map(str, self._play.cores))
        return client.generate(port, plan, CLIENTS, 1, seconds, self._serial, everywhere)

    def _plan(self, port: int) -> Path:
        """Write what the generator asks for, with the answers that the first process gives."""
        [scenario] = named(["count-miss"])
        visitor, requests = Visitor(port), []
        for question in scenario.ask(self._play.pages):
            self._serial += 1
            body = visitor.get(question.target.replace(MARK, f"{self._serial:010}"))
            if not self._played and not question.is_right(body):  # the mix adds comments
                raise ServiceError(f"{question.target} answers wrongly: {body[:200]!r}")
            text = f"GET {question.target} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n"
            requests.append(Request(text.encode(), 200, body))
        visitor.close()
        plan = self._play.folder / "plan"
        plan.write_bytes(client.pack(requests, order(len(requests))))
        return plan


def misses(number: int) -> str:
    """Return the name of a measurement of counts that are not cached."""
    return f"{number} processes"


def mix(number: int) -> str:
    """Return the name of a measurement of the mix."""
    return f"{number} processes, mix"


def _row(
    name: str,
    round_number: int,
    outcome: client.Outcome,
    before: tuple[int, int],
    after: tuple[int, int],
) -> Row:
    """Return a row of figures; CPU times in ns are of the service and PostgreSQL.

    Raise ClientError.
    """
    client.demand(name, outcome)
    used, asked = (now - then for now, then in zip(after, before, strict=True))
    return {
        "scenario": name,
        "round": round_number,
        "disturbed": False,
        "rate": outcome.answered / outcome.seconds,
        "cpu_us": used / outcome.answered / 1_000,
        "postgresql_us": asked / outcome.answered / 1_000,
        "client_us": outcome.client_share * outcome.seconds / outcome.answered * 1e6,
        "server_share": used / outcome.seconds / 1e9,
        "p50": outcome.p50,
        "p99": outcome.p99,
    }


def _wait_until_ready(log: Path) -> None:
    """Wait until all processes are ready; the sockets are open before. Raise ServiceError."""
    end = time.monotonic() + PATIENCE
    while "listens on" not in log.read_text():
        if time.monotonic() > end:
            raise ServiceError(f"the processes are not ready: {log.read_text()[-500:]}")
        time.sleep(0.05)


def judge(rows: Sequence[Row]) -> list[Verdict]:
    """Return whether two processes are fast enough, compared with one, and cost no more."""
    return [
        ratio(rows, name(2), [name(1)], goal, figure)
        for name, speed in ((misses, MISSES), (mix, MIX))
        for goal, figure in ((speed, "rate"), (COST, "cpu_us"))
    ]


def table(result: Result) -> str:
    """Return the medians."""
    rows = [
        ("server", "requests/s", "CPU µs", "PostgreSQL's", "clients'", "of a core", "p50 ms", "p99")
    ]
    for one in result.summaries:
        m = one.medians
        rows.append(
            (
                one.name,
                f"{m['rate']:.0f}",
                f"{m['cpu_us']:.0f}",
                f"{m['postgresql_us']:.0f}",
                f"{m['client_us']:.0f}",
                f"{m['server_share']:.2f}",
                f"{m['p50'] / 1_000:.1f}",
                f"{m['p99'] / 1_000:.1f}",
            )
        )
    return align(rows)


@click.command
@options(5)
def main(rounds: int, seconds: int, short: bool) -> None:
    """One process and two on PostgreSQL: misses, and the whole mix of `mixed`."""
    extent = extent_of(short, rounds, seconds)
    with prepare(extent) as play, running(play.folder / "postgresql") as server:
        data, served = play.folder / "data", play.folder / "served"
        # The mix is played twice by each: to fill the caches, and to be measured.
        wanted = 2 * int(PREPARED * extent.seconds) * extent.rounds * len(NUMBERS)
        script = mixed.write(data, play.pages, mixed.WHOLE, wanted)
        server.ask("CREATE DATABASE comments")
        url = server.url("comments")
        copy(data, url)
        served.mkdir(0o700)
        shutil.copy(
            data / data_dir.SECRET_KEY, served
        )  # the sessions of the mix are signed with it
        processes, rows = Processes(play, server, url, script), list[Row]()
        for round_number in range(1, extent.rounds + 1):
            for number in rotated(NUMBERS, round_number):
                rows += processes.measure(number, round_number)
                click.echo(f"round {round_number}  {number} processes")
        result = sum_up(play.about, {}, rows, judge)
    finish(result, "processes", table(result), short=short)

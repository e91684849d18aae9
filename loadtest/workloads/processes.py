"""Processes: counts that Python and PostgreSQL answer, by one process and by several (--processes).

Server, PostgreSQL and clients share all cores. So the rate of several processes is limited by what
is left for them; the CPU time for an answer tells what they cost.
"""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from loadtest.harness import client
from loadtest.harness.browsers import ratio
from loadtest.harness.client import Request
from loadtest.harness.environment import Environment, prepare, rotated, sum_up
from loadtest.harness.install import PROGRAM
from loadtest.harness.measurement import Row
from loadtest.harness.result import Result, Verdict
from loadtest.harness.running import Running, free_port
from loadtest.harness.scenario import CLIENTS, MARK, Goal, named, order
from loadtest.harness.service import ENVIRONMENT, PATIENCE, ServiceError, Visitor, copy
from loadtest.report.command import extent_of, finish
from loadtest.report.table import align

NUMBERS: Final = (1, 2)
GOAL: Final = Goal("times", "least", 1.8, "of one process, on two cores without other work")


class Processes:
    """Measures servers with so many processes, one after the other."""

    def __init__(self, play: Environment, url: str) -> None:
        """Take the environment, and the URL of the database with its comments."""
        self._play = play
        self._url = url
        self._serial = 0

    def measure(self, number: int, round_number: int) -> Row:
        """Return the rate and the CPU time of `number` processes. Raise ClientError."""
        port, cores = free_port(), self._play.cores
        words = [str(PROGRAM), "serve", f"--data={self._play.folder / 'served'}"]
        words += [f"--listen=127.0.0.1:{port}", f"--processes={number}"]
        environ = {**ENVIRONMENT, "COMMENTSVC_DATABASE_URL": self._url}
        log = self._play.folder / f"{number}.log"
        (self._play.folder / "served").mkdir(exist_ok=True)
        with Running(words, port, log, cores, environ) as server:
            _wait_until_ready(log)
            plan = self._plan(port)
            self._generate(port, plan, 1.0)  # so that all processes have prepared their queries
            before = server.cpu()
            outcome = self._generate(port, plan, self._play.extent.seconds)
            used = server.cpu() - before
        client.demand(f"{number} processes", outcome)
        return {
            "scenario": f"{number} processes",
            "round": round_number,
            "disturbed": False,
            "rate": outcome.answered / outcome.seconds,
            "cpu_us": used / outcome.answered / 1_000,
            "server_share": used / outcome.seconds / 1e9,
            "p50": outcome.p50,
            "p99": outcome.p99,
        }

    def _generate(self, port: int, plan: Path, seconds: float) -> client.Outcome:
        self._serial += 10_000_000
        everywhere = ",".join(map(str, self._play.cores))
        return client.generate(port, plan, CLIENTS, 1, seconds, self._serial, everywhere)

    def _plan(self, port: int) -> Path:
        """Write what the generator asks for, with the answers that the first process gives."""
        [misses] = named(["count-miss"])
        visitor, requests = Visitor(port), []
        for question in misses.ask(self._play.pages):
            self._serial += 1
            body = visitor.get(question.target.replace(MARK, f"{self._serial:010}"))
            if not question.is_right(body):
                raise ServiceError(f"{question.target} answers wrongly: {body[:200]!r}")
            text = f"GET {question.target} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n"
            requests.append(Request(text.encode(), 200, body))
        visitor.close()
        plan = self._play.folder / "plan"
        plan.write_bytes(client.pack(requests, order(len(requests))))
        return plan


def _wait_until_ready(log: Path) -> None:
    """Wait until all processes are ready; the sockets are open before. Raise ServiceError."""
    end = time.monotonic() + PATIENCE
    while "listens on" not in log.read_text():
        if time.monotonic() > end:
            raise ServiceError(f"the processes are not ready: {log.read_text()[-500:]}")
        time.sleep(0.05)


def judge(rows: Sequence[Row]) -> list[Verdict]:
    """Return whether two processes are fast enough, compared with one."""
    return [ratio(rows, "2 processes", ["1 processes"], GOAL, "rate")]


def table(result: Result) -> str:
    """Return the medians."""
    rows = [("server", "misses/s", "CPU µs each", "of a core", "p50 ms", "p99 ms")]
    for one in result.summaries:
        m = one.medians
        rows.append(
            (
                one.name,
                f"{m['rate']:.0f}",
                f"{m['cpu_us']:.0f}",
                f"{m['server_share']:.2f}",
                f"{m['p50'] / 1_000:.1f}",
                f"{m['p99'] / 1_000:.1f}",
            )
        )
    return align(rows)


@click.command
@click.argument("url", metavar="postgresql://…")
@click.option("--rounds", type=click.IntRange(1, 100), default=5, show_default=True)
@click.option("--seconds", type=click.IntRange(1, 600), default=5, show_default=True)
@click.option("--short", is_flag=True, help="One round of 1 s each; nothing is stored.")
def main(url: str, rounds: int, seconds: int, short: bool) -> None:
    """One process and two on an empty PostgreSQL database of this machine."""
    with prepare(extent_of(short, rounds, seconds)) as play:
        copy(play.folder / "data", url)
        processes, rows = Processes(play, url), list[Row]()
        for round_number in range(1, play.extent.rounds + 1):
            for number in rotated(NUMBERS, round_number):
                rows.append(processes.measure(number, round_number))
                click.echo(f"round {round_number}  {number} processes")
        result = sum_up(play.about, {}, rows, judge)
    finish(result, "processes", table(result), short=short)

"""The command `methods`: `ab -c 5 -n 10000` with each method, with and without keep-alive.

This repeats the figures of a small asynchronous server of 2010. The requests go to a trivial
handler on our HTTP bridge, like that server's; counts also to the whole service. ab is on the
clients' core, and soon becomes the limit itself.
"""

import re
import shutil
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

import click

from loadtest.harness import client
from loadtest.harness.browsers import names
from loadtest.harness.client import ClientError, Outcome
from loadtest.harness.environment import Environment, prepare, sum_up
from loadtest.harness.measurement import Measurement, Reading, Row
from loadtest.harness.result import Summary, Verdict
from loadtest.harness.rounds import play
from loadtest.harness.running import Running, free_port
from loadtest.harness.scenario import Goal
from loadtest.harness.service import Service
from loadtest.report.command import extent_of, finish, rounds, short
from loadtest.report.table import align, milliseconds, number, show
from loadtest.servers.peer import Answer, bridge

CLIENTS: Final = 5
REQUESTS: Final = 10_000
SHORT_REQUESTS: Final = 500
METHODS: Final = ("GET", "POST", "PUT", "DELETE")
COUNT: Final = "count"
RATE: Final = Goal("rate", "least", 1_163.64, "what the small server reached, with GET alone")
NONE: Final = Goal("errors", "most", 0, "as there")
BODY: Final = b'{"message": "A few words, as a reader writes them."}'
ANSWER: Final = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" + b'{"count":1}'


def find_ab() -> str:
    """Return the path of ab. Raise ClientError with the line that installs it."""
    path = shutil.which("ab")
    if path is None:
        raise ClientError("ab is missing. Run: apt-get install -y apache2-utils")
    return path


class MethodLoad:
    """ab against our Bridge and our service."""

    def __init__(self, stage: Environment, requests: int) -> None:
        """Take the environment, and the number of requests of a measurement."""
        self._stage = stage
        self._requests = requests
        self._body = stage.folder / "body"
        self._body.write_bytes(BODY)

    def play(self, round_number: int) -> list[Row]:
        """Play each method, with and without keep-alive. Raise ClientError, ServiceError."""
        rows = []
        for method in (*METHODS, COUNT):
            with self._start(method) as server:
                for keep in (False, True):
                    rows.append(self._measure(method, keep, server, round_number))
                    show(rows[-1])
        return rows

    def _start(self, method: str) -> AbstractContextManager[Service | Running]:
        folder, server_cores = self._stage.folder, self._stage.cores[:1]
        if method == COUNT:
            return Service(folder / "data", server_cores)
        port = free_port()
        words = bridge(port, Answer.write(ANSWER, folder))
        return Running(words, port, folder / "bridge.log", server_cores)

    def _measure(
        self, method: str, keep: bool, server: Service | Running, round_number: int
    ) -> Row:
        core, other = self._stage.cores
        words = [find_ab(), "-q", "-c", str(CLIENTS), "-n", str(self._requests), *["-k"] * keep]
        words += asking(method, self._body)
        target = f"http://127.0.0.1:{server.port}/api/comments/count?url=/post/1/"
        begin = Reading.take(server.cpu(), {core}, other)
        said, share = client.run([*words, target], str(other))
        used = Reading.take(server.cpu(), {core}, other).since(begin)
        outcome = parse(said, share)
        name = f"{method}, keep-alive" if keep else method
        made = Measurement.of(name, round_number, outcome, used, server.rss())
        return made.row() | {"errors": outcome.wrong + outcome.failed}


def asking(method: str, body: Path) -> list[str]:
    """Return ab's options for a method."""
    kind = ["-T", "application/json"]
    if method == "POST":
        return ["-p", str(body), *kind]
    if method == "PUT":
        return ["-u", str(body), *kind]
    return ["-m", method] if method == "DELETE" else []


def parse(said: str, share: float) -> Outcome:
    """Return the result in ab's output; its times are whole ms. Raise ClientError without one."""

    def figure(pattern: str, default: str | None = None) -> float:
        found = re.search(pattern, said, re.MULTILINE)
        if found is None and default is None:
            raise ClientError(f"ab says nothing of {pattern!r}: {said[-300:]}")
        return float(found[1] if found else default or 0)

    complete = int(figure(r"^Complete requests:\s+(\d+)"))
    failed = int(figure(r"^Failed requests:\s+(\d+)"))
    wrong = int(figure(r"^Non-2xx responses:\s+(\d+)", "0"))
    seconds = figure(r"^Time taken for tests:\s+([\d.]+)")
    times = [figure(rf"^\s+{part}%\s+(\d+)") * 1_000 for part in (50, 90, 99, 100)]
    p50, p90, p99, most = times
    return Outcome(complete - failed - wrong, seconds, wrong, failed, p50, p90, p99, most, share)


def judge(rows: Sequence[Row]) -> list[Verdict]:
    """Return the slowest round of each, and whether anything failed."""
    found = []
    for name in names(rows):
        rates = [one["rate"] for one in rows if one["scenario"] == name]
        spread = (min(rates), max(rates))
        found.append(Verdict(f"{name}: rate", RATE, min(rates), RATE.holds(min(rates)), spread))
    errors = sum(one["errors"] for one in rows)
    return [*found, Verdict("errors of all", NONE, errors, NONE.holds(errors))]


def table(summaries: Sequence[Summary]) -> str:
    """Return ab's own figures, and the server's CPU time."""
    lines: list[tuple[str, ...]] = [
        ("ab -c 5", "requests/s", "p50 ms", "p99 ms", "max ms", "CPU-µs", "ab's core")
    ]
    for one in summaries:
        figures = one.medians
        times = (milliseconds(figures[name]) for name in ("p50", "p99", "max"))
        used = number(figures["cpu_ns"] / 1_000)
        lines.append(
            (one.name, number(figures["rate"]), *times, used, f"{figures['client_share']:.0%}")
        )
    return align(lines)


@click.command
@rounds()
@short
def main(rounds: int, short: bool) -> None:
    """ab -c 5 -n 10000 by each method, with and without keep-alive."""
    with prepare(extent_of(short, rounds, 1)) as environment:
        measured = MethodLoad(environment, SHORT_REQUESTS if short else REQUESTS)
        rows = play(environment.extent, measured.play)
    result = sum_up(environment.about, {}, rows, judge)
    finish(result, "methods", table(result.summaries), short=short)

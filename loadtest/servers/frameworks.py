"""The command `frameworks`: pipelined counts, by ours, the frameworks and a minimal C server.

Every measurement has a fresh server, so that an unlucky memory layout affects one run only. First
every distinct request is sent until the cache answers all of them. The generator compares every
answer byte by byte. Our own server's counters must agree that the cache answered. Absolute figures
change with the time and the machine, so the goals are ratios within a round.
"""

import socket
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Final

import click

from loadtest.data.blog import Page, draw
from loadtest.harness import client, programs
from loadtest.harness.bench import SLACK, hits, warm
from loadtest.harness.browsers import names, ratio
from loadtest.harness.client import ClientError, Request
from loadtest.harness.environment import Environment, prepare, sum_up
from loadtest.harness.measurement import Measurement, Reading, Row
from loadtest.harness.programs import MissingError
from loadtest.harness.result import Verdict
from loadtest.harness.rounds import play, quiet, rotated
from loadtest.harness.running import Running, free_port
from loadtest.harness.scenario import CLIENTS, DEPTH, Goal
from loadtest.harness.service import PATIENCE, Service, ServiceError
from loadtest.report.command import extent_of, finish, options
from loadtest.report.table import requests, show
from loadtest.servers.peer import PEER, Answer

PAGES: Final = 10_000
SEQUENCE: Final = DEPTH * 5_000  # requests before the sequence repeats
OURS: Final = "ours"
NAMES: Final = (OURS, "baseline", "japronto", "hyper", "fasthttp", "robyn")
REST: Final = "Host: 127.0.0.1:8080\r\n\r\n"  # what wrk sends behind the first line
GOALS: Final = {
    "baseline": Goal("times", "most", 1.4, "what a real hit needs"),
    "japronto": Goal("times", "most", 0.36, "with an answer of the same size"),
    "hyper": Goal("times", "most", 1.0, "below hyper"),
    "fasthttp": Goal("times", "most", 1.0, "below fasthttp"),
    "robyn": Goal("times", "most", 1.0, "below Robyn"),
}


class Frameworks:
    """Servers on the first core, clients on the second."""

    def __init__(self, environment: Environment, chosen: Sequence[str]) -> None:
        """Take the environment with its seeded blog, and the names of the servers."""
        self._environment = environment
        self._chosen = chosen
        self._bodies = right_bodies(environment.pages)
        self._order = draw(SEQUENCE, len(environment.pages), seed=3)
        self._answer = self._ours()
        self._absent: dict[str, str] = {}

    def about(self) -> dict[str, Any]:  # Any: as in Result
        """Return the size of the common answer, and which servers were absent, and why."""
        return {"answer_bytes": len(self._answer.text), "absent": self._absent}

    def play(self, number: int) -> Iterator[Row]:
        """Measure each server once, in another order each round.

        A server that is missing, or gives a wrong answer, is reported instead. Raise ServiceError
        or ClientError if that is ours.
        """
        for name in rotated(self._chosen, number):
            try:
                yield quiet(self._environment.extent, partial(self._measure, name, number))
            except MissingError as reason:
                self._absent[name] = str(reason)
            except (ClientError, ServiceError) as reason:
                if name == OURS:
                    raise
                self._absent[name] = f"it does not answer as it must: {reason}"

    def _measure(self, name: str, number: int) -> Row:
        server_core, core = self._environment.cores[:1], str(self._environment.cores[1])
        bodies = self._bodies
        if name != OURS:
            bodies = [self._answer.body.encode()] * len(bodies)
        asked = [
            Request(f"GET {target(page)} HTTP/1.1\r\n{REST}".encode(), 200, body)
            for page, body in zip(self._environment.pages, bodies, strict=True)
        ]
        warming, plan = self._environment.folder / "warming", self._environment.folder / "plan"
        warming.write_bytes(client.pack(asked, range(len(asked))))
        plan.write_bytes(client.pack(asked, self._order))
        with self._start(name) as server:
            warm(server, warming, len(asked), CLIENTS, DEPTH, core)
            before = hits(server) if name == OURS else 0
            begin = Reading.take(server.cpu(), server_core, self._environment.cores[1])
            numbers = (CLIENTS, DEPTH, self._environment.extent.seconds, 0)
            outcome = client.generate(server.port, plan, *numbers, core, awake=True)
            used = Reading.take(server.cpu(), server_core, self._environment.cores[1]).since(begin)
            client.demand(name, outcome)
            stored = hits(server) - before if name == OURS else outcome.answered
            if stored < (1 - SLACK) * outcome.answered:
                raise ServiceError(f"{stored} of {outcome.answered} came out of the store")
            row = Measurement.of(name, number, outcome, used, server.rss()).row()
        show(row)
        return row

    def _start(self, name: str) -> AbstractContextManager[Service | Running]:
        folder, cores = self._environment.folder, self._environment.cores[:1]
        if name == OURS:
            return Service(folder / "data", cores)
        port = free_port()
        return Running(PEER[name](port, self._answer), port, folder / f"{name}.log", cores)

    def _ours(self) -> Answer:
        """Return our server's answer for the first page, which all others give too."""
        text = f"GET {target(self._environment.pages[0])} HTTP/1.1\r\nHost: h\r\n\r\n".encode()
        with (
            Service(self._environment.folder / "data", self._environment.cores[:1]) as service,
            socket.create_connection(("127.0.0.1", service.port), PATIENCE) as connection,
        ):
            connection.sendall(text)
            got = connection.recv(65536)
        if not got.startswith(b"HTTP/1.1 200 ") or not got.endswith(self._bodies[0]):
            raise ServiceError(f"our own answer is wrong: {got[:300]!r}")
        return Answer.write(got, self._environment.folder)


def target(page: Page) -> str:
    """Return the target for the count of a page."""
    return f"/api/comments/count?url={page.url}"


def right_bodies(pages: Sequence[Page]) -> list[bytes]:
    """Return our server's answers for the count of each page."""
    return [b'{"count":%d}' % page.count for page in pages]


def judge(rows: Sequence[Row]) -> list[Verdict]:
    """Return the ratio of our CPU time to that of each other server."""
    measured = names(rows)
    if OURS not in measured:
        return []
    return [
        ratio(rows, OURS, [name], goal, "cpu_ns")
        for name, goal in GOALS.items()
        if name in measured
    ]


@click.command
@click.option("--only", multiple=True, type=click.Choice(NAMES))
@options(seconds=3)
def main(seconds: int, rounds: int, short: bool, only: Collection[str]) -> None:
    """Pipelined counts: ours, four frameworks, a C server."""
    programs.generator()
    with prepare(extent_of(short, rounds, seconds), PAGES) as environment:
        measured = Frameworks(environment, [name for name in NAMES if not only or name in only])
        rows = play(environment.extent, measured.play)
        result = sum_up(environment.about | measured.about(), {}, rows, judge)
    finish(result, "frameworks", requests(result.summaries), short=short)

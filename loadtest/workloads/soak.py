"""Soak: the cost of many clients that are idle, slow, or never read; and the cost of purges."""

import json
import resource
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from http.client import HTTPConnection
from socket import socket
from threading import Event, Thread
from typing import Final

import click

from loadtest.data.blog import draw
from loadtest.harness import client
from loadtest.harness.browsers import ratio
from loadtest.harness.client import Request
from loadtest.harness.environment import Environment, prepare, sum_up
from loadtest.harness.measurement import Measurement, Reading, Row
from loadtest.harness.result import Result, Verdict
from loadtest.harness.running import Running, free_port
from loadtest.harness.scenario import Goal
from loadtest.harness.service import PATIENCE, Service, ServiceError, Visitor
from loadtest.report.command import extent_of, finish, options
from loadtest.report.table import align, milliseconds, number
from loadtest.workloads import hostile

READERS: Final = 4  # connections
IDLE: Final = 10_000
STREAMS: Final = 5_000
AT_ONCE: Final = 500  # streams opened at once; the server refuses requests that wait for too long
EACH: Final = 1_000  # clients of each slow kind
ANSWERS: Final = 10_000  # under the tag that is purged
OTHERS: Final = 1_000  # beside it
PURGE_EACH: Final = 0.1  # seconds
CONNECTIONS: Final = "core_connections"
COUNT: Final = "/api/comments/count?url={0}"

MIB = {"idle": 40.0, "streams": 60.0}
SLOW = Goal("times", "most", 2.0, "slow and silent clients hold no reader up")
STALL = Goal("times", "most", 1.2, "a purge is one store into a table, and no hit waits for it")
PURGE = Goal("ms", "most", 5.0, "however many answers carry the tag")
DELIVERY = Goal("ms", "most", 1_000.0, "with what it takes one client to read them all")


def _text(target: str) -> bytes:
    return f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


class Soak:
    """The tests, each of which returns the rows of one round."""

    def __init__(self, play: Environment) -> None:
        """Take the environment with its seeded blog."""
        self._play = play
        self._urls = [page.url for page in play.pages]
        self._plan = play.folder / "plan"

    def idle(self, round_number: int) -> list[Row]:
        """Measure connections that were answered once, and are idle."""
        with self._serve() as service:
            Visitor(service.port).get(COUNT.format(self._urls[0]))
            before = service.rss()
            said = _text(COUNT.format(self._urls[0]))
            with hostile.connect_many(service.port, IDLE, said) as clients:
                hostile.wait_for_text(clients, b'{"count"')
                grown = service.rss() - before
        return [_row("idle", round_number, clients=IDLE, mib=grown)]

    def streams(self, round_number: int) -> list[Row]:
        """Measure open pages, one of which gets a comment that all are told about."""
        url = self._urls[0]
        with self._serve() as service:
            visitor = Visitor(service.port)
            visitor.get(COUNT.format(url))
            before = service.rss()
            said = _text(f"/api/comments/stream?url={url}")
            with ExitStack() as stack:
                clients: list[socket] = []
                for _ in range(STREAMS // AT_ONCE):
                    few = hostile.connect_many(service.port, AT_ONCE, said)
                    clients += stack.enter_context(few)
                    hostile.wait_for_text(clients[-AT_ONCE:], b'{"count"')
                grown, used = service.rss() - before, service.cpu()
                fields = {"url": url, "author": "Ann", "message": f"To all {round_number}"}
                begin = time.monotonic()
                visitor.post("/api/comments", json.dumps(fields).encode())
                took = (hostile.wait_for_text(clients, b'{"count"') - begin) * 1e3
                cost = (service.cpu() - used) / STREAMS
                after = service.rss() - before
            visitor.close()
        figures = {"mib": grown, "mib_told": after, "told_ms": took, "cpu_ns": cost}
        return [_row("streams", round_number, clients=STREAMS, **figures)]

    def slow(self, round_number: int) -> list[Row]:
        """Measure readers alone, and beside slow heads, slow bodies and clients that never read."""
        requests = []
        with self._serve() as service:
            visitor = Visitor(service.port)
            for url in self._urls:
                body = visitor.get(COUNT.format(url))
                requests.append(Request(_text(COUNT.format(url)), 200, body))
            self._plan.write_bytes(client.pack(requests, draw(12_000, len(requests), seed=5)))
            port, seen = service.port, (service.cpu, service.rss)
            rows = [self._read("calm", round_number, port, *seen)]
            with hostile.slow(port, EACH, requests[0].text):
                _await_all(visitor, 3 * EACH)
                rows.append(self._read("slow", round_number, port, *seen))
            visitor.close()
        return rows

    def purge(self, round_number: int) -> list[Row]:
        """Measure readers of other answers while the tag of ten thousand is purged repeatedly."""
        port = free_port()
        words = [sys.executable, "-m", "loadtest.servers.implementations.purging", str(port)]
        log = self._play.folder / "purging.log"
        with Running(words, port, log, self._play.cores[:1]) as server:
            _keep(port, "kept", ANSWERS)
            _keep(port, "other", OTHERS)
            others = [f"/other/{i}" for i in range(OTHERS)]
            requests = [Request(_text(target), 200, target.encode()) for target in others]
            self._plan.write_bytes(client.pack(requests, draw(12_000, OTHERS, seed=6)))
            rows = [self._read("unpurged", round_number, port, server.cpu, server.rss)]
            ending, took = Event(), list[float]()
            purging = Thread(target=_purge_often, args=(port, ending, took))
            purging.start()
            rows.append(self._read("purged", round_number, port, server.cpu, server.rss))
            ending.set()
            purging.join()
        return [*rows[:1], rows[1] | {"purges": len(took), "purge_ms": max(took) / 1e3}]

    def _serve(self) -> Service:
        return Service(self._play.folder / "data", self._play.cores[:1])

    def _read(
        self, name: str, number: int, port: int, cpu: Callable[[], int], rss: Callable[[], float]
    ) -> Row:
        """Measure what a few readers see."""
        server, other = self._play.cores
        begin = Reading.take(cpu(), {server}, other)
        seconds = self._play.extent.seconds
        outcome = client.generate(port, self._plan, READERS, 1, seconds, 0, str(other))
        client.demand(name, outcome)
        used = Reading.take(cpu(), {server}, other).since(begin)
        return Measurement.of(name, number, outcome, used, rss()).row()


def _await_all(visitor: Visitor, clients: int) -> None:
    """Wait until so many are accepted, so that readers do not wait in a queue behind them."""
    end = time.monotonic() + PATIENCE
    while visitor.counters([CONNECTIONS])[CONNECTIONS] < clients:
        if time.monotonic() > end:
            raise TimeoutError(f"{clients} clients were not let in")
        time.sleep(0.05)


def _keep(port: int, tag: str, count: int) -> None:
    """Cache so many answers under a tag."""
    visitor = Visitor(port)
    for index in range(count):
        visitor.get(f"/{tag}/{index}")
    visitor.close()


def _purge_often(port: int, ending: Event, took: list[float]) -> None:
    connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    while not ending.wait(PURGE_EACH):
        connection.request("POST", "/purge")
        took.append(float(connection.getresponse().read()))
    connection.close()


def _row(name: str, round_number: int, **figures: float) -> Row:
    return {"scenario": name, "round": round_number, "disturbed": False, **figures}


def judge(rows: Sequence[Row]) -> list[Verdict]:
    """Return the verdicts for each test that was played."""
    found = []
    for name, most in MIB.items():
        goal = Goal("rss_mib", "most", most, "the kernel's part apart")
        found += _most(rows, name, "mib_told" if name == "streams" else "mib", goal)
    found += _most(rows, "streams", "told_ms", DELIVERY)
    found += _most(rows, "purged", "purge_ms", PURGE)
    for name, calm, figure, goal in (
        ("slow", "calm", "p99", SLOW),
        ("purged", "unpurged", "p99", STALL),
    ):
        if any(one["scenario"] == name for one in rows):
            found.append(ratio(rows, name, [calm], goal, figure))
    return found


def _most(rows: Sequence[Row], name: str, figure: str, goal: Goal) -> list[Verdict]:
    """Return the greatest value of all rounds, judged; [] if the test was not played."""
    values = [float(one[figure]) for one in rows if one["scenario"] == name]
    if not values:
        return []
    label, most = f"{name}: {figure}", max(values)
    return [Verdict(label, goal, most, goal.holds(most), (min(values), most))]


def table(result: Result) -> str:
    """Return what was measured, each test as it is."""
    rows: list[tuple[str, ...]] = [("test", "figures")]
    for one in result.summaries:
        shown = {
            figure: milliseconds(value) if figure in TIMES else number(value)
            for figure, value in one.medians.items()
            if figure in SHOWN
        }
        line = ", ".join(f"{figure} {value}" for figure, value in shown.items())
        rows.append((one.name + " (disturbed)" * one.disturbed, line))
    return align(rows)


TIMES: Final = ("p50", "p99", "max")  # shown in ms
SHOWN: Final = ("clients", "mib", "mib_told", "told_ms", "rate", "purges", "purge_ms", *TIMES)
TESTS: Final = ("idle", "streams", "slow", "purge")


@click.command
@click.argument("tests", metavar="[TEST]...", nargs=-1, type=click.Choice(TESTS))
@options(seconds=3)
def main(tests: Sequence[str], seconds: int, rounds: int, short: bool) -> None:
    """Idle and slow clients, open streams, and purges."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < IDLE + 100:
        raise ServiceError(f"the limit of open files is {hard}: ulimit -Hn {IDLE + 500}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with prepare(extent_of(short, rounds, seconds)) as play:
        soak, rows = Soak(play), list[Row]()
        for round_number in range(1, play.extent.rounds + 1):
            for name in tests or TESTS:
                rows += getattr(soak, name)(round_number)
                click.echo(f"round {round_number}  {name}")
        result = sum_up(play.about, {}, rows, judge)
    finish(result, "soak", table(result), short=short)

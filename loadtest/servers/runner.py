"""Runs contests: measures their entries one after the other.

Every measurement has a fresh server, so that an unlucky memory layout affects one run only. First
every distinct request is sent until the cache answers all of them. The generator compares every
answer byte by byte. Our own server's counters must agree that the cache answered.
"""

import socket
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from loadtest.data.blog import Page
from loadtest.harness import client
from loadtest.harness.bench import HITS, SLACK
from loadtest.harness.client import ClientError, Outcome
from loadtest.harness.environment import rotated
from loadtest.harness.measurement import Measurement, Reading
from loadtest.harness.programs import MissingError
from loadtest.harness.rounds import Extent
from loadtest.harness.running import Running, free_port
from loadtest.harness.scenario import CLIENTS
from loadtest.harness.service import PATIENCE, Service, ServiceError, Visitor
from loadtest.servers.contest import OURS, Contest, Entry, order
from loadtest.servers.peer import PEER, Answer

WARMING = 0.5  # seconds of one warm-up
WARMINGS = 40  # after which misses are an error


class ContestRunner:
    """Servers on the first core, clients on the second, in `folder` with the seeded `data`."""

    def __init__(
        self,
        folder: Path,
        pages: Sequence[Page],
        extent: Extent,
        cores: tuple[int, int],
        report: Callable[[Measurement], None],
    ) -> None:
        """Take the `pages` of `data`; `report` gets each measurement as it is made."""
        self._folder = folder
        self._urls = [page.url for page in pages]
        self._bodies = right_bodies(pages)
        self._extent = extent
        self._cores = cores
        self._report = report
        self._order = order(len(pages))
        self._answer = self._ours()
        self._absent: dict[str, str] = {}
        self._thrown_away = 0

    def about(self) -> dict[str, Any]:  # Any: as in Result
        """Return the size of the common answer, and which servers were absent, and why."""
        return {
            "answer_bytes": len(self._answer.text),
            "thrown_away": self._thrown_away,
            "absent": self._absent,
        }

    def play(self, contest: Contest, number: int) -> list[Measurement]:
        """Measure each entry once, in another order each round. Raise as Bench.measure does.

        A peer that is missing, or gives a wrong answer, is reported instead.
        """
        made = []
        for entry in rotated(contest.entries, number):
            try:
                made.append(self._quiet(contest, entry, number))
            except MissingError as reason:
                self._absent[entry.server] = str(reason)
            except (ClientError, ServiceError) as reason:
                if entry.server == OURS:
                    raise
                self._absent[entry.server] = f"it does not answer as it must: {reason}"
        return made

    def _quiet(self, contest: Contest, entry: Entry, number: int) -> Measurement:
        """Measure until it is undisturbed, a few times at most; return the best measurement."""
        tries = [self._measure(contest, entry, number)]
        while tries[-1].disturbed and len(tries) < self._extent.tries:
            tries.append(self._measure(contest, entry, number))
        self._thrown_away += len(tries) - 1
        return min(tries, key=lambda one: one.disturbance)

    def _measure(self, contest: Contest, entry: Entry, number: int) -> Measurement:
        ours = entry.server == OURS
        bodies = self._bodies if ours else [self._answer.body.encode()] * len(self._urls)
        requests = contest.requests(self._urls, bodies)
        warming, plan = self._folder / "warming", self._folder / "plan"
        warming.write_bytes(client.pack(requests, range(len(requests))))
        plan.write_bytes(client.pack(requests, self._order))
        spread = entry.workers > 1
        places = self._cores if spread else self._cores[:1]
        with self._start(entry, places) as server:
            core = self._clients_core(spread)
            warm(server, warming, len(requests), CLIENTS, contest.depth, core)
            before = hits(server) if ours else 0
            begin = Reading.take(server.cpu(), places, self._cores[1])
            if entry.client == "wrk":
                outcome = self._ask(contest, server.port)
            else:
                numbers = (CLIENTS, contest.depth, self._extent.seconds, 0)
                awake = contest.awake
                outcome = client.generate(server.port, plan, *numbers, core, awake=awake)
            used = Reading.take(server.cpu(), places, self._cores[1]).since(begin)
            client.demand(f"{contest.name}: {entry.name}", outcome)
            stored = hits(server) - before if ours else outcome.answered
            if stored < (1 - SLACK) * outcome.answered:
                raise ServiceError(
                    f"{contest.name}: {stored} of {outcome.answered} came out of the store"
                )
            rss = server.rss()
        name = f"{contest.name}: {entry.name}"
        measurement = Measurement.of(name, number, outcome, used, rss)
        self._report(measurement)
        return measurement

    def _start(
        self, entry: Entry, places: Sequence[int]
    ) -> AbstractContextManager[Service | Running]:
        if entry.server == OURS:
            return Service(self._folder / "data", places, entry.workers)
        port = free_port()
        words = PEER[entry.server](port, self._answer)
        return Running(words, port, self._folder / f"{entry.server}.log", places)

    def _clients_core(self, spread: bool) -> str:
        return ",".join(map(str, self._cores)) if spread else str(self._cores[1])

    def _ask(self, contest: Contest, port: int) -> Outcome:
        targets = contest.targets(self._urls)
        file = self._folder / "targets"
        file.write_text("\n".join(targets[index] for index in self._order) + "\n")
        seconds, core = max(1, self._extent.seconds), str(self._cores[1])
        return client.ask(port, file, CLIENTS, contest.depth, seconds, core)

    def _ours(self) -> Answer:
        """Return our server's answer for the first page, which all others give too."""
        text = f"GET /api/comments/count?url={self._urls[0]} HTTP/1.1\r\nHost: h\r\n\r\n".encode()
        with (
            Service(self._folder / "data", self._cores[:1]) as service,
            socket.create_connection(("127.0.0.1", service.port), PATIENCE) as connection,
        ):
            connection.sendall(text)
            got = connection.recv(65536)
        if not got.startswith(b"HTTP/1.1 200 ") or not got.endswith(self._bodies[0]):
            raise ServiceError(f"our own answer is wrong: {got[:300]!r}")
        return Answer.write(got, self._folder)


def right_bodies(pages: Sequence[Page]) -> list[bytes]:
    """Return our server's answers for the count of each page."""
    return [b'{"count":%d}' % page.count for page in pages]


def warm(
    server: Service | Running, plan: Path, count: int, clients: int, depth: int, core: str
) -> None:
    """Play `plan`; on our own server until all its `count` answers come from the cache."""
    ours = isinstance(server, Service)
    for _ in range(WARMINGS):
        before = hits(server) if ours else 0
        outcome = client.generate(server.port, plan, clients, depth, WARMING, 0, core)
        client.demand("warming up", outcome)
        if not ours or hits(server) - before == outcome.answered >= count:
            return
    raise ServiceError("the store does not keep the answers of all pages")


def hits(server: Service | Running) -> int:
    """Return the number of our server's cache hits so far."""
    visitor = Visitor(server.port)
    hits = visitor.counters((HITS,))[HITS]
    visitor.close()
    return hits

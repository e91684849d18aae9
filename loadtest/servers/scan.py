"""The scan: readers request pages while an attacker requests a million others once each.

No answer for the attacker comes from the cache, since it never repeats a request; so all hits are
the readers'. Both send requests as fast as they are answered, in slices, until the attacker has
sent enough.

The memory of the cache is what a server gains, less what a server with a smaller cache gains:
interpreter and database grow by some MiB too when they begin to work.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from loadtest.data.blog import Page
from loadtest.harness import client
from loadtest.harness.client import Outcome, Request
from loadtest.harness.result import Verdict
from loadtest.harness.scenario import MARK, Goal
from loadtest.harness.service import Service
from loadtest.servers.contest import PLAIN, WRK, order
from loadtest.servers.runner import hits, right_bodies, warm

NAME = "scan"
TEXT = "what a million targets, each asked for once, do to the readers' hits and to the memory"
READERS, ATTACKERS = 20, 50  # connections
STORE_MIB = 16  # the readers' pages fit, with little to spare
ASKED = 1_000_000
POINTS = Goal("points", "most", 1.0, "a scan must pass through the store and leave it as it was")
BASE_MIB, BASE_ASKED = 1, 100_000  # a scan with a small store tells what the rest of us gains
GROWTH = Goal("rss_mib", "most", STORE_MIB - BASE_MIB, "what the store's bounds differ by")


@dataclass(frozen=True, slots=True)
class Scan:
    """The result. Shares are of the readers' requests, memory is MiB of the whole server."""

    undisturbed_hits: float
    attacked_hits: float
    asked: int  # by the attacker
    seconds: float
    readers_rate: float
    rss_start: float  # before the first request
    rss_warm: float  # with all pages in the store
    rss_end: float
    base_gain: float  # of a server with a small store

    def verdicts(self) -> list[Verdict]:
        """Return the verdicts; a short scan is judged too, though it says less."""
        lost = (self.undisturbed_hits - self.attacked_hits) * 100
        growth = self.rss_end - self.rss_start - self.base_gain
        return [
            Verdict(f"{NAME}: hits that readers lose", POINTS, lost, POINTS.holds(lost)),
            Verdict(
                f"{NAME}: memory of {STORE_MIB - BASE_MIB} MiB more store",
                GROWTH,
                growth,
                GROWTH.holds(growth),
            ),
        ]


class ScanRunner:
    """Readers and an attacker on a server of their own."""

    def __init__(self, folder: Path, pages: Sequence[Page], cores: tuple[int, int]) -> None:
        """Take the `folder` that has the `data` with `pages`."""
        self._folder = folder
        self._core = str(cores[1])
        self._server_core = cores[:1]
        self._pages = len(pages)
        self._readers, self._warming = folder / "readers", folder / "warming"
        requests = PLAIN.requests([page.url for page in pages], right_bodies(pages))
        self._readers.write_bytes(client.pack(requests, order(len(pages))))
        self._warming.write_bytes(client.pack(requests, range(len(requests))))
        self._scan = folder / "scan"
        text = f"GET /api/comments/count?url=/scan/{MARK}/ HTTP/1.1\r\n{WRK}".encode()
        self._scan.write_bytes(client.pack([Request(text, 200, b'{"count":0}')], [0]))

    def play(self, seconds: float, wanted: int = ASKED) -> Scan:
        """Request `wanted` or a few more targets, in slices of `seconds`.

        Raise ServiceError, ClientError or ProgramError.
        """
        base_gain = self._base(seconds, min(wanted, BASE_ASKED))
        with self._serve(STORE_MIB) as server:
            start = server.rss()
            warm(server, self._warming, self._pages, READERS, 1, self._core)
            full = server.rss()
            before = hits(server)
            calm = self._read(server.port, seconds)
            undisturbed = (hits(server) - before) / calm.answered
            before = hits(server)
            slices = self._attack(server.port, seconds, wanted)
            attacked = hits(server) - before
            end = server.rss()
        read = sum(reading.answered for reading, _ in slices)
        took = sum(reading.seconds for reading, _ in slices)
        asked = sum(scan.answered for _, scan in slices)
        rate = read / took
        return Scan(undisturbed, attacked / read, asked, took, rate, start, full, end, base_gain)

    def _base(self, seconds: float, wanted: int) -> float:
        with self._serve(BASE_MIB) as server:
            start = server.rss()
            self._attack(server.port, seconds, wanted)
            return server.rss() - start

    def _serve(self, cache_mib: int) -> Service:
        settings = {"COMMENTSVC_SERVER_CACHE_MIB": str(cache_mib)}
        return Service(self._folder / "data", self._server_core, settings=settings)

    def _attack(self, port: int, seconds: float, wanted: int) -> list[tuple[Outcome, Outcome]]:
        slices: list[tuple[Outcome, Outcome]] = []
        asked = 0
        with ThreadPoolExecutor(1) as other:
            while asked < wanted:
                reading = other.submit(self._read, port, seconds)
                scan = client.generate(port, self._scan, ATTACKERS, 1, seconds, asked, self._core)
                client.demand(NAME, scan)
                slices.append((reading.result(), scan))
                asked += scan.answered
        return slices

    def _read(self, port: int, seconds: float) -> Outcome:
        outcome = client.generate(port, self._readers, READERS, 1, seconds, 0, self._core)
        client.demand(NAME, outcome)
        return outcome

"""Scaling: the cost of each kind of request while the number of comments grows.

The databases are made once (data/bulk.py) and kept in build/. Each round measures all of them in
turn, each with a server of its own. A curve is the CPU time of a request at each size, or the rate
if the disk is the limit. It is judged within rounds, against the smallest size.

With --postgresql, each database is copied into a PostgreSQL of our own, which is kept, too.

The requested pages are spread evenly over all pages, so that they have the same number of comments
at every size.
"""

import json
import os
import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, Literal

import click

from commentsvc.db.migrations import upgrade
from commentsvc.settings import data_dir
from loadtest.data import accounts, bulk
from loadtest.data.blog import Page, draw
from loadtest.data.seed import SITE
from loadtest.harness import client
from loadtest.harness.bench import SLACK, hits, submissions, warm
from loadtest.harness.browsers import ratio
from loadtest.harness.client import Outcome, Request
from loadtest.harness.environment import prepare_empty, sum_up
from loadtest.harness.measurement import Measurement, Reading, Row
from loadtest.harness.postgresql import PostgresServer, running
from loadtest.harness.programs import BUILD
from loadtest.harness.result import Result, Verdict
from loadtest.harness.rounds import Extent, play, quiet, rotated
from loadtest.harness.scenario import CLIENTS, ELSEWHERE, MARK, WRITERS, Goal
from loadtest.harness.service import Service, ServiceError, Visitor, copy
from loadtest.report.command import extent_of, finish, options
from loadtest.report.table import align, milliseconds, number, show

SIZES: Final = (10_000, 1_000_000, 5_000_000)
SHORT_SIZES: Final = (5_000, 10_000)
WORDS: Final = 10  # of a comment
ASKED: Final = 2_000  # pages, at most
STORED: Final = 200  # of these, for hits: as many at every size, since more need more of the cache
SEQUENCE: Final = 12_000
LIST: Final = 20  # comments of a first page
# The cache must hold all requested answers: the growth of the database is measured.
SETTINGS: Final = {"COMMENTSVC_SERVER_CACHE_MIB": "64"}
FLAT: Final = Goal("times", "most", 1.2, "a stored answer knows nothing of other comments")
NEARLY: Final = Goal("times", "most", 2.0, "a few more levels of the trees")
WRITES: Final = Goal("times", "least", 0.5, "the same, and as many fsyncs")
STARTING: Final = Goal("ms", "most", 1_000.0, "nothing is read that grows")


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of request: its target for a page, who answers, and its goal."""

    name: str
    target: str  # {url} and MARK are filled in
    answered_by: Literal["store", "python"]
    goal: Goal
    clients: int = CLIENTS


COUNT, FIRST_PAGE = "/api/comments/count?url={url}", f"/api/comments?url={{url}}&limit={LIST}"
KINDS: Final = (
    Kind("count", COUNT, "store", FLAT),
    Kind("list", FIRST_PAGE, "store", FLAT),
    Kind("count-miss", COUNT + ELSEWHERE, "python", NEARLY),
    Kind("list-miss", FIRST_PAGE.replace("{url}", "{url}" + ELSEWHERE), "python", NEARLY),
    Kind("queue", "/moderation/queue", "python", NEARLY, clients=10),
    Kind("submit", "", "python", WRITES, clients=WRITERS),
)
START: Final = "start"
MADE_BY: Final = "made-by"  # a file that tells how the data was made
UNFINISHED: Final = "unfinished"  # the database that is being copied
NEWEST: Final = "SELECT max(id) FROM commentsvc.comment"


def data_of(size: int) -> Path:
    """Return the data folder with so many comments; make it if it does not exist."""
    folder = BUILD / "growth" / str(size)
    wanted = f"{zlib.crc32(Path(bulk.__file__).read_bytes())} {WORDS}"
    stamp, path = folder / MADE_BY, folder / data_dir.DATABASE
    if stamp.exists() and stamp.read_text() == wanted:
        upgrade.upgrade(path)  # it may be from an older version
        return folder
    data_dir.prepare(folder)
    stamp.unlink(missing_ok=True)
    for old in folder.glob(f"{data_dir.DATABASE}*"):
        old.unlink()
    with click.progressbar(length=2 * size, label=f"{size:,} comments", show_pos=False) as bar:
        bulk.make(path, size, WORDS, lambda done: bar.update(done - bar.pos), (SITE, "notes"))
    stamp.write_text(wanted)
    return folder


def pages_of(data: Path, size: int) -> list[Page]:
    """Return pages that are spread evenly over all of them, with their numbers of comments."""
    last = size // bulk.PAGES
    asked = min(ASKED, last)
    ids = {1 + (2 * index + 1) * last // (2 * asked) for index in range(asked)}
    with closing(sqlite3.connect(data / data_dir.DATABASE)) as connection:
        rows = connection.execute("SELECT id, url, count FROM thread WHERE site_id = 1").fetchall()
    return [Page(url, count) for page_id, url, count in rows if page_id in ids]


class SizedDatabase:
    """A data folder of one size, for kinds of requests."""

    def __init__(
        self, size: int, extent: Extent, cores: tuple[int, int], server: PostgresServer | None
    ) -> None:
        """Take the size; make the data if it is missing, and copy it to a `server`."""
        self._size = size
        self._server = server
        self._data = data_of(size)
        self._pages = pages_of(self._data, size)
        self._extent = extent
        self._cores = cores
        self._plan = BUILD / "growth" / "plan"
        self._asked = 0
        self._settings = SETTINGS
        url = server.url(self._name) if server else ""
        if server:
            self._settings = SETTINGS | {"COMMENTSVC_DATABASE_URL": url}
            self._copy_to(server)
        [browser] = accounts.sign_in(self._data, url=url)
        self._cookie = browser.cookie

    @property
    def _name(self) -> str:
        """The name of the database in PostgreSQL, another one for data made in another way."""
        made_by = (self._data / MADE_BY).read_bytes()
        return f"comments{self._size}_{zlib.crc32(made_by):08x}"

    def _copy_to(self, server: PostgresServer) -> None:
        """Copy the data to a server, unless an earlier run has. Raise ServiceError."""
        if server.ask(f"SELECT 1 FROM pg_database WHERE datname = '{self._name}'"):
            return
        server.ask(f"DROP DATABASE IF EXISTS {UNFINISHED}")
        server.ask(f"CREATE DATABASE {UNFINISHED}")
        click.echo(f"{self._size:,} comments are copied to PostgreSQL")
        copy(self._data, server.url(UNFINISHED))
        server.ask("VACUUM ANALYZE", UNFINISHED)
        server.ask(f"ALTER DATABASE {UNFINISHED} RENAME TO {self._name}")

    def play(self, round_number: int) -> list[Row]:
        """Play one round: a start, and each kind. Raise ServiceError or ClientError."""
        rows = []
        os.sync()
        with Service(self._data, self._cores[:1], settings=self._settings) as service:
            rows.append(self._row(START, round_number, service))
            for kind in KINDS:
                measure = partial(self._measure, kind, round_number, service)
                rows.append(quiet(self._extent, measure))
                show(rows[-1])
            rows[0]["rss_end_mib"] = service.rss()
        return rows

    def _row(self, kind: str, round_number: int, service: Service) -> Row:
        about = {"scenario": f"{kind} at {self._size}", "round": round_number}
        figures = {"start_ms": service.start_ms, "rss_mib": service.rss(), "comments": self._size}
        return {**about, **figures, "disturbed": False, "disturbance": 0.0}

    def _measure(self, kind: Kind, round_number: int, service: Service) -> Row:
        requests = self._requests(kind, service.port)
        order = range(len(requests)) if not kind.target else draw(SEQUENCE, len(requests), seed=3)
        self._plan.write_bytes(client.pack(requests, order))
        server, other = self._cores
        if kind.answered_by == "store":
            warm(service, self._plan, len(requests), kind.clients, 1, str(other))
        before = hits(service)
        reading = Reading.take(service.cpu(), {server}, other)
        outcome = self._ask(kind, service.port, self._extent.seconds)
        used = Reading.take(service.cpu(), {server}, other).since(reading)
        client.demand(kind.name, outcome)
        stored = (hits(service) - before) / outcome.answered
        if stored < 1 - SLACK if kind.answered_by == "store" else stored > SLACK:
            raise ServiceError(f"{kind.name}: {stored:.0%} came out of the store")
        name = f"{kind.name} at {self._size}"
        made = Measurement.of(name, round_number, outcome, used, service.rss())
        return made.row() | {"comments": self._size}

    def _ask(self, kind: Kind, port: int, seconds: float) -> Outcome:
        """Send requests that were never sent before, if that matters."""
        first, core = self._asked if kind.target else self._serial(), str(self._cores[1])
        outcome = client.generate(port, self._plan, kind.clients, 1, seconds, first, core)
        self._asked += outcome.answered
        return outcome

    def _serial(self) -> int:
        """Return a serial number above those of all submissions to this data: each took an id."""
        if self._server:
            return int(self._server.ask(NEWEST, self._name)[0][0])
        with closing(sqlite3.connect(self._data / data_dir.DATABASE)) as connection:
            return int(connection.execute("SELECT max(id) FROM comment").fetchone()[0])

    def _requests(self, kind: Kind, port: int) -> list[Request]:
        """Return the distinct requests; those for pages are sent once and checked."""
        if not kind.target:
            return submissions(self._pages, port)
        visitor, made = Visitor(port), []
        asked = self._pages if "{url}" in kind.target else self._pages[:1]
        if kind.answered_by == "store":
            asked = asked[:: max(1, round(len(asked) / STORED))]
        for page in asked:
            target = kind.target.format(url=page.url)
            body, fields = None, f"Cookie: {self._cookie}\r\n"
            if "{url}" in kind.target:
                body, fields = visitor.get(target.replace(MARK, "x")), ""
                if json.loads(body)["count"] < page.count:
                    raise ServiceError(f"{target} counts wrongly: {body[:200]!r}")
            text = f"GET {target} HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n"
            made.append(Request(text.encode(), 200, body))
        visitor.close()
        return made


def judge(rows: Sequence[Row]) -> list[Verdict]:
    """Judge the largest size by the smallest one, and the start at the largest."""
    sizes = sorted({one["comments"] for one in rows})
    found = [
        ratio(
            rows,
            f"{kind.name} at {size}",
            [f"{kind.name} at {sizes[0]}"],
            kind.goal,
            "rate" if kind.clients == WRITERS else "cpu_ns",
        )
        for kind in KINDS
        for size in sizes[-1:]
    ]
    starts = [one["start_ms"] for one in rows if one["scenario"] == f"{START} at {sizes[-1]}"]
    name = f"{START} at {sizes[-1]:,} comments"
    most = max(starts)
    return [*found, Verdict(name, STARTING, most, STARTING.holds(most), (min(starts), most))]


def table(result: Result) -> str:
    """Return each kind at each size, and the time of a start."""
    rows: list[tuple[str, ...]] = [("kind at comments", "requests/s", "CPU-µs", "p50 ms", "p99 ms")]
    starts: list[tuple[str, ...]] = [
        ("start at comments", "ms", "MiB at the start", "MiB at the end")
    ]
    for one in result.summaries:
        name, _, size = one.name.partition(" at ")
        figures = one.medians
        label = f"{name} at {int(size):,}" + " (disturbed)" * one.disturbed
        if name == START:
            cells = (figures["start_ms"], figures["rss_mib"], figures["rss_end_mib"])
            starts.append((label, *map(number, cells)))
        else:
            times = (milliseconds(figures["p50"]), milliseconds(figures["p99"]))
            rows.append((label, number(figures["rate"]), number(figures["cpu_ns"] / 1e3), *times))
    return f"{align(rows)}\n\n{align(starts)}"


@click.command
@options(seconds=5)
@click.option("--largest", type=int, default=SIZES[-1], show_default=True, help="Of the sizes.")
@click.option("--postgresql", is_flag=True, help="With PostgreSQL in place of SQLite.")
def main(seconds: int, rounds: int, short: bool, largest: int, postgresql: bool) -> None:
    """Each kind of request at up to 5 million comments."""
    extent = extent_of(short, rounds, seconds)
    sizes = SHORT_SIZES if short else [size for size in SIZES if size <= largest]
    with prepare_empty(extent) as environment, ExitStack() as stack:
        folder = (environment.folder if short else BUILD / "growth") / "postgresql"
        server = stack.enter_context(running(folder)) if postgresql else None
        databases = [SizedDatabase(size, extent, environment.cores, server) for size in sizes]

        def play_round(number: int) -> Iterator[Row]:
            for one in rotated(databases, number):
                yield from one.play(number)

        rows = play(extent, play_round)
    result = sum_up(environment.about, {}, rows, judge)
    kind = "scaling-postgresql" if postgresql else "scaling"
    finish(result, kind, table(result), short=short)

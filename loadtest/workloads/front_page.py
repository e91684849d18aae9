"""The command `front-page`: readers who reload the front page of a blog.

This repeats the load test of the article that Stacosys' author wrote in 2017. 250 clients request
counts as fast as they are answered: 25 readers of a page with ten articles, each with one count. An
answer after more than 10 s is an error. Each round has every way (over HTTPS behind the proxy, and
directly) to every server, so that a ratio can be computed within it. Server and proxy share the
first core, the clients have the second one.

Each distinct request is sent once before, and its counts compared with the seeded comments. The
clients require these bodies from then on.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from functools import partial
from http.client import HTTPConnection
from typing import Final

import click

from loadtest.data.blog import draw
from loadtest.harness import client
from loadtest.harness.browsers import browse, names, ratio, row, worst
from loadtest.harness.client import Request
from loadtest.harness.environment import Environment, prepare, sum_up
from loadtest.harness.measurement import Reading, Row
from loadtest.harness.programs import MissingError
from loadtest.harness.result import Summary, Verdict
from loadtest.harness.rounds import play, quiet, rotated
from loadtest.harness.running import Running, free_port
from loadtest.harness.scenario import BATCH, Goal
from loadtest.harness.service import PATIENCE, Service, ServiceError
from loadtest.proxies.nginx import HttpsNginx
from loadtest.report.command import extent_of, finish, options
from loadtest.report.table import align, show
from loadtest.servers.competitors import (
    COMPETITORS,
    OURS,
    Competitor,
    Question,
    isso_count,
    our_batch,
    stacosys_count,
)

CLIENTS: Final = 250
ASKED: Final = 100  # the most read pages: ten front pages
SEQUENCE: Final = 12_000
SIX = Goal("times", "least", 6.0, "requests, against the article's best")
TWO = Goal("times", "least", 2.0, "behind the same proxy, which is the bound")
TWENTY = Goal("times", "least", 20.0, "requests, against Isso")
TEN = Goal("times", "least", 10.0, "page views by one request, against ten requests")
NONE = Goal("errors", "most", 0, "the article's best had 171")
QUICK = Goal("ms", "most", 250.0, "the article's best took up to 18,869 ms")
BEST: Final = "sanic"  # the article's best
ANSWERS_ISSO: Final = {"COMMENTSVC_SITE_ISSO": "true"}
ROUTES: Final = {
    "https": "behind the proxy, over HTTPS",
    "direct": "without a proxy, over HTTP",
    "batch": "behind the proxy, over HTTPS, one request for the ten counts of a page view",
    "direct-batch": "without a proxy, over HTTP, one request for the ten counts of a page view",
    "isso": "behind the proxy, over HTTPS, as Isso's own client asks for the count of a page",
}


@dataclass(frozen=True, slots=True)
class Turn:
    """A server and the way to it."""

    route: str
    competitor: Competitor | None  # None: it is ours

    @property
    def name(self) -> str:
        """Return the name of its figures."""
        return f"{self.route}: {self.competitor.name if self.competitor else OURS}"

    @property
    def text(self) -> str:
        """Return its description for people."""
        return (
            f"{self.competitor.text if self.competitor else 'this project'}, {ROUTES[self.route]}"
        )

    @property
    def per_view(self) -> int:
        """Return the number of requests for one page view."""
        return 1 if "batch" in self.route else BATCH


def turns(routes: Iterable[str], only: Sequence[str]) -> list[Turn]:
    """Return the measurements of a round; of `only` these servers, or of all."""
    chosen: list[Competitor | None] = [None, *COMPETITORS]
    return [
        Turn(route, competitor)
        for route in ROUTES
        for competitor in chosen
        if route in routes
        and (not only or (competitor.name if competitor else OURS) in only)
        and ("batch" not in route or competitor is None or competitor.batch)
        and (route != "isso" or competitor is None or competitor.name == "isso")
    ]


class FrontPage:
    """Rounds of turns."""

    def __init__(self, stage: Environment, chosen: Sequence[Turn]) -> None:
        """Take the environment, and what is measured in each round."""
        self._folder = stage.folder
        self._pages = stage.pages
        self._extent = stage.extent
        self._cores = stage.cores
        self._chosen = chosen
        self.absent: dict[str, str] = {}

    def play(self, number: int) -> Iterator[Row]:
        """Play one round, which begins with another server each time."""
        for turn in rotated(self._chosen, number):
            try:
                yield quiet(self._extent, partial(self._measure, turn, number))
            except MissingError as reason:
                self.absent[turn.name.partition(": ")[2]] = str(reason)

    def _measure(self, turn: Turn, number: int) -> Row:
        server_cores, core = self._cores[:1], str(self._cores[1])
        with ExitStack() as stack:
            server = stack.enter_context(self._start(turn.competitor))
            requests = self._requests(turn, server.port)
            plan = self._folder / "visits"
            plan.write_bytes(client.pack(requests, draw(SEQUENCE, len(requests), seed=3)))
            front, port, trusted = None, server.port, None
            if not turn.route.startswith("direct"):
                front = HttpsNginx(self._folder, f"127.0.0.1:{server.port}", server_cores)
                stack.enter_context(front)
                port, trusted = front.port, front.trusted
            proxy = front.cpu() if front else 0
            begin = Reading.take(server.cpu() + proxy, server_cores, self._cores[1])
            seen = browse(port, plan, CLIENTS, self._extent.seconds, core, trusted=trusted)
            proxied = (front.cpu() if front else 0) - proxy
            used = Reading.take(server.cpu() + proxy + proxied, server_cores, self._cores[1]).since(
                begin
            )
            more = {
                "proxy_share": proxied / used.clock,
                "views": seen.outcome.answered / seen.outcome.seconds / turn.per_view,
            }
            made = row(turn.name, number, seen, used, server.rss(), **more)
            show(made)
            return made

    def _start(self, competitor: Competitor | None) -> AbstractContextManager[Service | Running]:
        if competitor is None:
            return Service(self._folder / "data", self._cores[:1], settings=ANSWERS_ISSO)
        folder = self._folder / "competitors"
        folder.mkdir(exist_ok=True)
        port = free_port()
        start = competitor.start(folder, self._pages, port)
        log = self._folder / f"{competitor.name}.log"
        return Running(start.words, port, log, self._cores[:1], start.environment)

    def _requests(self, turn: Turn, port: int) -> list[Request]:
        """Return the distinct requests with the bodies of their right answers."""
        pages = self._pages[:ASKED]
        step = BATCH if "batch" in turn.route else 1
        groups = [pages[begin : begin + step] for begin in range(0, len(pages), step)]
        connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        made = []
        for group in groups:
            question = _question(turn, [page.url for page in group])
            body = _ask(connection, question)
            if question.read(body) != [page.count for page in group]:
                raise ServiceError(f"{turn.name} counts wrongly: {question.target}: {body[:200]!r}")
            made.append(Request(question.text("localhost"), 200, body))
        connection.close()
        return made


def _question(turn: Turn, urls: Sequence[str]) -> Question:
    if "batch" in turn.route:
        batch = turn.competitor.batch if turn.competitor else our_batch
        assert batch is not None
        return batch(urls)
    if turn.competitor:
        return turn.competitor.count(urls[0])
    return isso_count(urls, "/isso") if turn.route == "isso" else stacosys_count(urls[0])


def _ask(connection: HTTPConnection, question: Question) -> bytes:
    headers = {"Content-Type": "application/json"} if question.body else {}
    connection.request(question.method, question.target, question.body or None, headers)
    response = connection.getresponse()
    body = response.read()
    if response.status != 200:
        raise ServiceError(f"{question.target} answers {response.status}: {body[:200]!r}")
    return body


def judge(rows: Sequence[Row]) -> list[Verdict]:
    """Return the verdicts for what was measured."""
    found, measured = [], names(rows)
    for route, goal, figure, base in (
        ("https", TWO, "rate", "https"),
        ("direct", SIX, "rate", "direct"),
        ("batch", TEN, "views", "https"),
        ("direct-batch", TEN, "views", "direct"),
    ):
        ours, best = f"{route}: {OURS}", f"{base}: {BEST}"
        if ours not in measured:
            continue
        if best in measured:
            found.append(ratio(rows, ours, [best], goal, figure))
        found += [worst(rows, ours, NONE, "errors"), worst(rows, ours, QUICK, "max", 1_000)]
    if f"isso: {OURS}" in measured and "isso: isso" in measured:
        found.append(ratio(rows, f"isso: {OURS}", ["isso: isso"], TWENTY, "rate"))
    return found


def table(rows: Sequence[Row], summaries: Sequence[Summary]) -> str:
    """Return the article's table: one line for each server and way."""
    head = ("server", "requests/min", "min > mean > max ms", "errors", "views/s", "proxy's CPU")
    lines = [head]
    for one in summaries:
        figures, mine = one.medians, [row for row in rows if row["scenario"] == one.name]
        times = (f"{figures[name] / 1_000:,.0f}" for name in ("min", "mean"))
        most = max(row["max"] for row in mine) / 1_000
        lines.append(
            (
                one.name + " (disturbed)" * one.disturbed,
                f"{figures['rate'] * 60:,.0f}",
                f"{' > '.join(times)} > {most:,.0f}",
                f"{sum(row['errors'] for row in mine):,}",
                f"{figures['views']:,.0f}",
                f"{figures['proxy_share']:.0%}",
            )
        )
    return align(lines)


@click.command
@options(seconds=12)
@click.option("--way", "routes", multiple=True, type=click.Choice(tuple(ROUTES)))
@click.option("--only", multiple=True, type=click.Choice((OURS, *(r.name for r in COMPETITORS))))
def main(
    seconds: int, rounds: int, short: bool, routes: tuple[str, ...], only: tuple[str, ...]
) -> None:
    """250 clients on a front page, over HTTPS and without."""
    chosen = turns(routes or ROUTES, only)
    with prepare(extent_of(short, rounds, seconds)) as environment:
        measured = FrontPage(environment, chosen)
        rows = play(environment.extent, measured.play)
    environment.about["absent"] = measured.absent
    result = sum_up(environment.about, {turn.name: turn.text for turn in chosen}, rows, judge)
    finish(result, "front-page", table(result.rounds, result.summaries), short=short)

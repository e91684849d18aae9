"""The command `mixed`: the highest sustained rate of a mix of reads and writes.

The mix is that of the talk "Scaling Python to 1K QPS": register 1, log in and out 2, list 200,
write 20, list all users 5, follow and unfollow 5; no failure, and the 95th percentile under 2 s.
Ours are: a reader's first comment with notification, a moderator who signs in or out, a page's
list, a comment, the moderation queue, and an approval.

A rate is that of all users together. Latency counts from the time when a request was due, so a
stalled server looks no better. All requests are prepared before:
nobody signs out twice, nothing is approved twice. Acknowledged writes are compared with the
database.

Server and clients share both cores, as on the talk's one machine.
"""

import random
import shutil
import sqlite3
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Final
from urllib.parse import urlencode

import click

from commentsvc.settings import data_dir
from loadtest.data import accounts
from loadtest.data.accounts import Browser
from loadtest.data.blog import Page, Text, draw, texts
from loadtest.data.seed import add_waiting
from loadtest.harness import client
from loadtest.harness.bench import submission, submissions
from loadtest.harness.browsers import browse, row
from loadtest.harness.client import Request
from loadtest.harness.environment import Environment, prepare, sum_up
from loadtest.harness.measurement import Reading, Row
from loadtest.harness.result import Summary, Verdict
from loadtest.harness.rounds import play
from loadtest.harness.scenario import Goal
from loadtest.harness.service import Service, ServiceError
from loadtest.report.command import extent_of, finish, options
from loadtest.report.table import align, milliseconds, number, show

USERS: Final = 200  # connections
PORT: Final = 8080  # in Host and Origin of the requests, which only have to agree
LIST: Final = 20  # comments of a page
SEQUENCE: Final = 12_000  # lists, before they repeat
LIMIT_US: Final = 2e6  # of the 95th percentile, for a sustained rate
REACHED: Final = 0.98  # of the wanted rate
FIRST_RATE: Final = 500.0  # doubled until one fails
LOW: Final = 100.0  # of a short run
HALVINGS: Final = 3  # of the gap between the last success and the first failure
RATE: Final = Goal("rate", "least", 20_000.0, "the talk reached 1,000 on a larger machine")
QUICK: Final = Goal("ms", "most", 50.0, "the talk allowed 2,000 ms")

Mix = dict[str, int]
WHOLE: Final[Mix] = {
    "register": 1,
    "sign in": 1,
    "sign out": 1,
    "list": 200,
    "write": 20,
    "queue": 5,
    "approve": 5,
}
MIXES: Final[dict[str, Mix]] = {
    "whole": WHOLE,
    # Without moderators: a blog has few, and their number does not grow with its readers.
    "readers": {name: WHOLE[name] for name in ("register", "list", "write")},
}


@dataclass(frozen=True, slots=True)
class Script:
    """The distinct requests, their order, and the kind of each in that order."""

    requests: Sequence[Request]
    order: Sequence[int]
    kinds: Sequence[str]


def write(data: Path, pages: Sequence[Page], mix: Mix, number: int) -> Script:
    """Draw a `number` of requests, and make the moderators and comments for them in `data`."""
    source = random.Random(7)
    kinds = source.choices(list(mix), list(mix.values()), k=number)
    counts = Counter(kinds)
    waiting = add_waiting(data, pages, counts["approve"])
    [moderator] = accounts.sign_in(data)
    lists = [get(f"/api/comments?url={page.url}&limit={LIST}") for page in pages]
    makers: dict[str, Iterator[Request]] = {
        "register": registrations(pages),
        "sign in": map(sign_in, accounts.sign_out(data, counts["sign in"])),
        "sign out": map(sign_out, accounts.sign_in(data, counts["sign out"])),
        "list": (lists[index] for index in cycle(draw(SEQUENCE, len(pages), seed=3))),
        "write": cycle(submissions(pages, PORT)),
        "queue": cycle([get("/moderation/queue", moderator)]),
        "approve": (approve(moderator, comment_id) for comment_id in waiting),
    }
    return _order(kinds, makers)


def _order(kinds: Sequence[str], makers: dict[str, Iterator[Request]]) -> Script:
    requests: list[Request] = []
    known: dict[bytes, int] = {}
    order = []
    for kind in kinds:
        request = next(makers[kind])
        if request.text not in known:
            known[request.text] = len(requests)
            requests.append(request)
        order.append(known[request.text])
    return Script(requests, order, kinds)


def registrations(pages: Sequence[Page]) -> Iterator[Request]:
    """Yield first comments of readers who want mails about replies."""
    for index, (page, text) in enumerate(zip(cycle(pages), texts(seed=9), strict=False)):
        reader = Text(text.author, f"reader{index}@mail.example", text.message)
        yield submission(page.url, reader, f"register-{index}", PORT, notify=True)


def get(target: str, browser: Browser | None = None) -> Request:
    """Return the request for a page with changing content."""
    fields = f"Cookie: {browser.cookie}\r\n" if browser else ""
    return Request(f"GET {target} HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n".encode(), 200, None)


def post(page: str, browser: Browser, **fields: str) -> Request:
    """Return a form of the moderation pages, which is answered by a redirect."""
    body = urlencode({"csrf_token": browser.csrf_token, **fields})
    head = (
        f"POST /moderation/{page} HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: same-origin\r\n"
        f"Cookie: {browser.cookie}\r\nContent-Type: application/x-www-form-urlencoded\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return Request((head + body).encode(), 303, None)


def sign_in(browser: Browser) -> Request:
    """Return a sign-in in a browser that has signed in before; the password is checked."""
    return post("sign-in", browser, name=browser.name, password=accounts.PASSWORD)


def sign_out(browser: Browser) -> Request:
    """Return the request that ends a session."""
    return post("sign-out", browser)


def approve(browser: Browser, comment_id: int) -> Request:
    """Return the click on a button of the queue."""
    return post("decide", browser, one=f"approve.{comment_id}", back="queue")


class MixedLoad:
    """Rates of a mix, each on a fresh copy of the stage's data."""

    def __init__(self, stage: Environment) -> None:
        """Take the environment."""
        self._stage = stage

    def climb(self, mix: str, number: int) -> list[Row]:
        """Return the rows of all tried rates, the highest sustained rate last."""
        rows, held, rate = [], 0.0, FIRST_RATE
        while True:
            rows.append(self.play(mix, rate, number))
            if not holds(rows[-1]):
                break
            held, rate = rate, rate * 2
        for _ in range(HALVINGS if held else 0):
            rows.append(self.play(mix, (held + rate) / 2, number))
            held, rate = (
                (rows[-1]["wanted"], rate) if holds(rows[-1]) else (held, rows[-1]["wanted"])
            )
        best = max((one for one in rows if holds(one)), key=lambda one: float(one["wanted"]))
        rows.append({**best, "scenario": f"{mix}: highest"})
        return rows

    def play(self, mix: str, rate: float, number: int) -> Row:
        """Play one rate. Raise ServiceError if the database differs from what was acknowledged."""
        folder, cores = self._stage.folder, self._stage.cores
        data, plan, seconds = folder / "talk", folder / "plan", self._stage.extent.seconds
        shutil.rmtree(data, ignore_errors=True)
        shutil.copytree(folder / "data", data)
        script = write(data, self._stage.pages, MIXES[mix], int(rate * (seconds + 1)) + 1)
        plan.write_bytes(client.pack(script.requests, script.order))
        before, both = tally(data), ",".join(map(str, cores))
        with Service(data, cores) as service:
            begin = Reading.take(service.cpu(), cores, cores[1])
            seen = browse(service.port, plan, USERS, seconds, both, rate=rate)
            used = Reading.take(service.cpu(), cores, cores[1]).since(begin)
            made = row(f"{mix}: {rate:,.0f}", number, seen, used, service.rss(), wanted=rate)
        show(made)
        if not made["errors"]:
            demand_stored(before, tally(data), Counter(script.kinds[: seen.outcome.answered]))
        return made


def holds(one: Row) -> bool:
    """Return whether the rate of a row was reached under the talk's conditions."""
    reached = one["rate"] >= REACHED * one["wanted"]
    return bool(reached and not one["errors"] and one["p95"] <= LIMIT_US)


def tally(data: Path) -> Counter[str]:
    """Return the counts in the database that the mix changes."""
    queries = {
        "comments": "SELECT count(*) FROM comment",
        "waiting": "SELECT count(*) FROM comment WHERE status = 'pending'",
        "sessions": "SELECT count(*) FROM session",
    }
    with closing(sqlite3.connect(data / data_dir.DATABASE)) as connection:
        return Counter({name: connection.execute(q).fetchone()[0] for name, q in queries.items()})


def demand_stored(before: Counter[str], after: Counter[str], asked: Counter[str]) -> None:
    """Raise ServiceError unless the database has exactly what was acknowledged."""
    wanted = {
        "comments": before["comments"] + asked["register"] + asked["write"],
        "waiting": before["waiting"] - asked["approve"],
        "sessions": before["sessions"] + asked["sign in"] - asked["sign out"],
    }
    if dict(after) != wanted:
        raise ServiceError(f"acknowledged were {wanted}, the database has {dict(after)}")


def judge(rows: Sequence[Row]) -> list[Verdict]:
    """Return the highest rate of each mix, and how quick it was."""
    found = []
    for mix in MIXES:
        best = [one for one in rows if one["scenario"] == f"{mix}: highest"]
        if best:
            rate = statistics.median(one["wanted"] for one in best)
            p95 = statistics.median(one["p95"] for one in best) / 1_000
            found.append(Verdict(f"{mix}: highest rate", RATE, rate, RATE.holds(rate)))
            found.append(Verdict(f"{mix}: p95 at this rate", QUICK, p95, QUICK.holds(p95)))
    return found


def table(summaries: Sequence[Summary]) -> str:
    """Return each rate that was tried."""
    lines: list[tuple[str, ...]] = [
        ("mix: rate", "reached/s", "errors", "p50 ms", "p95 ms", "max ms", "server's cores")
    ]
    for one in summaries:
        figures = one.medians
        times = (milliseconds(figures[name]) for name in ("p50", "p95", "max"))
        cells = (number(figures["rate"]), f"{figures['errors']:,.0f}", *times)
        lines.append((one.name, *cells, f"{figures['server_share']:.2f}"))
    return align(lines)


@click.command
@options(seconds=6)
@click.option("--part", "parts", multiple=True, type=click.Choice(tuple(MIXES)))
def main(seconds: int, rounds: int, short: bool, parts: tuple[str, ...]) -> None:
    """The highest rate of a mix of reads and writes; a short run tries a low rate only."""
    with prepare(extent_of(short, rounds, seconds)) as environment:
        load = MixedLoad(environment)

        def play_round(number: int) -> Iterator[Row]:
            for mix in parts or MIXES:
                yield from [load.play(mix, LOW, number)] if short else load.climb(mix, number)

        rows = play(environment.extent, play_round)
    result = sum_up(environment.about, {}, rows, judge)
    finish(result, "mixed", table(result.summaries), short=short)

"""The command `admin-pages`: the times of moderation pages with a million comments.

Every query of a page is run in this process, on one core, with usual and with the worst parameters.
Then a browser requests the whole pages from the real server (admin_requests.py).
"""

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

import click

from commentsvc.comments import popular, queries, search
from commentsvc.db.connection import Snapshot
from commentsvc.db.database import Database
from commentsvc.moderation import changes, history, lists, threads, undo
from commentsvc.settings import data_dir
from commentsvc.settings.schema import DatabaseSettings
from commentsvc.spam import bans
from commentsvc.util.timestamps import DAY_MS
from loadtest.data import bulk
from loadtest.harness.environment import prepare_empty, sum_up
from loadtest.harness.result import Result
from loadtest.harness.rounds import Extent
from loadtest.report.command import finish, number, short
from loadtest.workloads import admin_requests
from loadtest.workloads.admin_requests import PageTime

GOAL: Final = 100.0  # milliseconds for the slowest of all
PAGE_SIZE: Final = 50  # comments on a page
ROUNDS: Final = 20
SHORT: Final = 10_000  # comments of a short run; with fewer there would be no second site
WORDS: Final = 20  # of a comment

Ask = Callable[[Snapshot], object]


def questions(number: int) -> dict[str, Ask]:
    """Return the queries for a database of so many comments, by name."""
    return _lists(number) | _searches(number)


def _lists(number: int) -> dict[str, Ask]:
    sheet = partial(lists.list_page, sites=None, limit=PAGE_SIZE, after=None)
    pages = partial(threads.listing, limit=PAGE_SIZE, before=None)
    moment = bulk.FIRST + number // 2 * bulk.STEP
    return {
        "queue": partial(sheet, status="pending"),
        "queue, far down": partial(sheet, status="pending", after=f"0.{number // 2}"),
        "queue of a small site": partial(sheet, status="pending", sites=["notes"]),
        "queue of a small site, its end": partial(
            sheet, status="pending", sites=["notes"], after=f"0.{number // 50}"
        ),
        "spam": partial(sheet, status="spam"),
        "approved": partial(sheet, status="approved"),
        "approved, far down": partial(sheet, status="approved", after=f"{moment}.{number // 2}"),
        "deleted of a small site": partial(sheet, status="deleted", sites=["notes"]),
        "numbers in the heading": lists.numbers,
        "a comment": partial(queries.find, comment_id=number // 2),
        "its history": partial(history.entries, comment_id=number // 2),
        "the last act": partial(undo.last_decision, who="Mo"),
        "the last act of somebody new": partial(undo.last_decision, who="Nobody"),
        "pages": partial(pages, containing=""),
        "pages with a text": partial(
            threads.listing, containing="post-17", limit=PAGE_SIZE, before=None
        ),
        "pages with a text that none has": partial(
            threads.listing, containing="nowhere", limit=PAGE_SIZE, before=None
        ),
        "days of three years": partial(search.days, sites=None, since=moment // DAY_MS - 1_000),
        "pages that were discussed in a year": partial(
            popular.popular, site="blog", period="year", now=moment, most=10
        ),
        "bans": bans.listing,
    }


def _searches(number: int) -> dict[str, Ask]:
    find = partial(search.find, status="", sites=None, limit=PAGE_SIZE, before=None)
    return {
        "search: a common word": partial(find, query="w0"),
        "search: a rare word": partial(find, query="w29876"),
        "search: two common words": partial(find, query="w0 w1"),
        "search: common and rare": partial(find, query="w0 w29876"),
        "search: a word of every comment": partial(find, query="reader"),
        "search: two words of every comment": partial(find, query="reader page:post"),
        "search: one word of all, one of none": partial(find, query="reader author:w0"),
        "search: one of all, of a rare status": partial(find, query="reader", status="deleted"),
        "search: a phrase": partial(find, query='"w0 w1 w2"'),
        "search: an e-mail address": partial(find, query="reader42@mail42.example"),
        "search: a domain": partial(find, query="@mail42.example"),
        "search: an author": partial(find, query="author:Reader author:4242"),
        "search: a page": partial(find, query="/2001/post-1/"),
        "search: part of a page": partial(find, query="page:post-17"),
        "search: common, of a status": partial(find, query="w0", status="pending"),
        "search: common, far down": partial(find, query="w0", before=number // 100),
        "search: common, of a small site": partial(find, query="w0", sites=["notes"]),
    }


def measure(database: Database, asks: dict[str, Ask]) -> Iterator[tuple[str, float, float]]:
    """Yield the name, the median and the greatest time of each query, in milliseconds."""
    for name, ask in asks.items():
        times = []
        for _ in range(ROUNDS):
            start = time.perf_counter()
            database.read_now(ask)
            times.append((time.perf_counter() - start) * 1_000)
        yield name, statistics.median(times), max(times)


def decide(database: Database, number: int) -> Iterator[tuple[str, float]]:
    """Yield how long decisions take the writer, in milliseconds; they change the database."""
    now = bulk.FIRST + number * bulk.STEP
    queue = partial(lists.list_page, status="pending", sites=None, limit=100, after=None)
    some = [entry.comment.id for entry in database.read_now(queue).items]
    steps: dict[str, Callable[..., Any]] = {  # Any: what each one gives
        "approve one": lambda tx: changes.change(tx, some[:1], "approved", "Mo", now),
        "approve 99": lambda tx: changes.change(tx, some[1:], "approved", "Mo", now),
        "undo these": lambda tx: undo.decision(tx, undo.last_decision(tx, "Mo"), "Mo", now),
        "edit one": lambda tx: changes.edit(tx, some[0], "Better", "Mo", now),
        "close a page": lambda tx: threads.set_state(tx, "blog", "/2001/post-1/", "closed"),
        "move the largest page": lambda tx: threads.move(tx, "blog", "/2001/post-1/", "/moved/"),
        "merge the two largest": lambda tx: threads.merge(
            tx, "blog", "/2002/post-2/", "/moved/", "Mo", now
        ),
    }
    for name, step in steps.items():
        start = time.perf_counter()
        database.write_now(step)
        yield name, (time.perf_counter() - start) * 1_000


@click.command
@number(SHORT)
@short
def main(number: int, short: bool) -> None:
    """The moderators' pages with a million comments.

    Exits with 1 if anything takes over 100 ms.
    """
    number = SHORT if short else number
    with prepare_empty(Extent(ROUNDS)) as environment:
        data = environment.folder / "data"
        data_dir.prepare(data)
        path = data / data_dir.DATABASE
        click.echo(f"making {number} comments")
        bulk.make(path, number, WORDS)
        database = Database(path, DatabaseSettings(synchronous="normal"), purge=lambda tags: None)
        database.open()
        try:
            reads = list(measure(database, questions(number)))
            admin_requests.add_account(database)
            writes = list(decide(database, number))
        finally:
            database.close_now()
        pages = admin_requests.measure(data, number, environment.cores[:1])
    lines = [f"{name:<46} {median:8.2f} ms, at most {most:8.2f}" for name, median, most in reads]
    lines += [f"{name:<46} {once:8.2f} ms of the writer, once" for name, once in writes]
    lines += [
        f"page: {name:<40} {one.median:8.2f} ms, at most {one.longest:8.2f}, {one.cpu:6.2f} ms CPU"
        for name, one in pages.items()
    ]
    result = _result(environment.about | {"comments": number}, reads, writes, pages)
    finish(result, "admin-pages", "\n".join(lines), short=short)
    slow = [name for name, median, _ in reads if median > GOAL]
    if slow := slow + [name for name, sheet in pages.items() if sheet.median > GOAL]:
        raise click.ClickException(f"over {GOAL:.0f} ms: {', '.join(slow)}")


def _result(
    about: dict[str, Any],  # Any: as in Result
    reads: Sequence[tuple[str, float, float]],
    writes: Sequence[tuple[str, float]],
    pages: Mapping[str, PageTime],
) -> Result:
    """Return all times, in ms, as entries of a result: pages first, the slowest ones first."""
    found = [(f"page: {name}", one._asdict()) for name, one in pages.items()]
    found += [(f"query: {name}", {"median": m, "longest": most}) for name, m, most in reads]
    found += [(f"change: {name}", {"median": once}) for name, once in writes]
    found.sort(key=lambda one: -one[1]["median"])
    rows = [{"scenario": name, "disturbed": False, **figures} for name, figures in found]
    return sum_up(about, {}, rows)

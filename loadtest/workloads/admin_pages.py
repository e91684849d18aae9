"""Moderators: how long what their pages ask takes, with a million comments: `loadtest/moderators`.

Every reading function behind a page is called in this process, on one core, with what is asked
usually and with what takes longest. Then the real server is asked for the whole pages (`sheets`).
"""

import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import click

from commentsvc.comments import queries, search, threads
from commentsvc.db.database import Database
from commentsvc.db.sqlite import Reader
from commentsvc.moderation import actions, lists
from commentsvc.settings import data_dir
from commentsvc.spam import bans
from commentsvc.util.timestamps import DAY
from loadtest.data import bulk
from loadtest.harness import machine
from loadtest.harness.programs import BUILD
from loadtest.harness.result import RESULTS
from loadtest.workloads import admin_requests
from loadtest.workloads.admin_requests import Sheet

GOAL: Final = 100.0  # milliseconds for the slowest of all
SHEET: Final = 50  # comments on a page
ROUNDS: Final = 20
WORDS: Final = 20  # of a comment

Ask = Callable[[Reader], object]


def questions(number: int) -> dict[str, Ask]:
    """What is asked of a database of so many comments, by name."""
    return _lists(number) | _searches(number)


def _lists(number: int) -> dict[str, Ask]:
    sheet = partial(lists.sheet, site="", limit=SHEET, after=None)
    pages = partial(threads.listing, limit=SHEET, before=None)
    moment = bulk.FIRST + number // 2 * bulk.STEP
    return {
        "queue": partial(sheet, status="pending"),
        "queue, far down": partial(sheet, status="pending", after=f"0.{number // 2}"),
        "queue of a small site": partial(sheet, status="pending", site="notes"),
        "queue of a small site, its end": partial(
            sheet, status="pending", site="notes", after=f"0.{number // 50}"
        ),
        "spam": partial(sheet, status="spam"),
        "approved": partial(sheet, status="approved"),
        "approved, far down": partial(sheet, status="approved", after=f"{moment}.{number // 2}"),
        "deleted of a small site": partial(sheet, status="deleted", site="notes"),
        "numbers in the heading": lists.numbers,
        "a comment": partial(queries.find, comment_id=number // 2),
        "its history": partial(actions.history, comment_id=number // 2),
        "the last act": partial(actions.last_act, who="Mo"),
        "the last act of somebody new": partial(actions.last_act, who="Nobody"),
        "pages": partial(pages, containing=""),
        "pages with a text": partial(
            threads.listing, containing="post-17", limit=SHEET, before=None
        ),
        "pages with a text that none has": partial(
            threads.listing, containing="nowhere", limit=SHEET, before=None
        ),
        "days of three years": partial(search.days, site="", since=moment // DAY - 1_000),
        "bans": bans.listing,
    }


def _searches(number: int) -> dict[str, Ask]:
    find = partial(search.find, status="", site="", limit=SHEET, before=None)
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
        "search: common, of a small site": partial(find, query="w0", site="notes"),
    }


def measure(database: Database, asks: dict[str, Ask]) -> Iterator[tuple[str, float, float]]:
    """The median and the greatest time of each, in milliseconds."""
    for name, ask in asks.items():
        times = []
        for _ in range(ROUNDS):
            start = time.perf_counter()
            database.read_now(ask)
            times.append((time.perf_counter() - start) * 1_000)
        yield name, statistics.median(times), max(times)


def decide(database: Database, number: int) -> Iterator[tuple[str, float]]:
    """How long decisions take the writer, in milliseconds; they change the database."""
    now = bulk.FIRST + number * bulk.STEP
    queue = partial(lists.sheet, status="pending", site="", limit=100, after=None)
    some = [entry.comment.id for entry in database.read_now(queue).items]
    steps: dict[str, Callable[..., Any]] = {  # Any: what each one gives
        "approve one": lambda tx: actions.change(tx, some[:1], "approved", "Mo", now),
        "approve 99": lambda tx: actions.change(tx, some[1:], "approved", "Mo", now),
        "undo these": lambda tx: actions.undo(tx, actions.last_act(tx, "Mo"), "Mo", now),
        "edit one": lambda tx: actions.edit(tx, some[0], "Better", "Mo", now),
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
@click.option(
    "--number", type=click.IntRange(1_000, 10_000_000), default=1_000_000, help="Of comments."
)
@click.option("--keep", is_flag=True, help="Store the result in loadtest/results.")
def main(number: int, keep: bool) -> None:
    """Measure what moderators' pages ask. Exits with 1 where anything takes over 100 ms."""
    folder = BUILD / "moderators"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as place:
        data = Path(place) / "data"
        data_dir.prepare(data)
        path = data / data_dir.DATABASE
        click.echo(f"making {number} comments")
        bulk.make(path, number, WORDS)
        database = Database(path, synchronous="normal", purge=lambda tags: None)
        database.open()
        try:
            reads = list(measure(database, questions(number)))
            admin_requests.employ(database)
            writes = list(decide(database, number))
        finally:
            database.close_now()
        pages = admin_requests.measure(data, number)
    for name, median, greatest in reads:
        click.echo(f"{name:<46} {median:8.2f} ms, at most {greatest:8.2f}")
    for name, once in writes:
        click.echo(f"{name:<46} {once:8.2f} ms of the writer, once")
    for name, sheet in pages.items():
        click.echo(
            f"page: {name:<40} {sheet.median:8.2f} ms, at most {sheet.longest:8.2f},"
            f" {sheet.cpu:6.2f} ms of CPU"
        )
    if keep:
        click.echo(f"stored in {_store(number, reads, writes, pages)}")
    slow = [name for name, median, _ in reads if median > GOAL]
    if slow := slow + [name for name, sheet in pages.items() if sheet.median > GOAL]:
        raise click.ClickException(f"over {GOAL:.0f} ms: {', '.join(slow)}")


def _store(
    number: int,
    reads: list[tuple[str, float, float]],
    writes: list[tuple[str, float]],
    pages: dict[str, Sheet],
) -> Path:
    about = machine.commit() | {"date": machine.now(), "machine": machine.describe()}
    date = str(about["date"]).replace(":", "").removesuffix("Z")
    path = RESULTS / f"moderators-{date}-{str(about['commit'])[:10]}.json"
    result = {
        "about": about,
        "comments": number,
        "read_ms": {
            name: {"median": round(median, 3), "max": round(greatest, 3)}
            for name, median, greatest in reads
        },
        "write_ms": {name: round(once, 3) for name, once in writes},
        "page_ms": {
            name: {figure: round(value, 3) for figure, value in sheet._asdict().items()}
            for name, sheet in pages.items()
        },
    }
    path.write_text(json.dumps(result, indent=1) + "\n")
    return path

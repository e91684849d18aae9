"""The times of whole moderation pages over HTTP, from the request to the last byte.

A signed-in browser requests each page several times from the real server, on a core of its own; the
CPU time of the server's process is divided by the number of requests.
"""

import statistics
import time
from collections.abc import Collection
from pathlib import Path
from typing import Final, NamedTuple

from commentsvc.auth import accounts, passwords
from commentsvc.db.database import Database
from loadtest.data import bulk
from loadtest.harness.service import Service, ServiceError
from loadtest.workloads.admin_browser import AdminBrowser

NAME, PASSWORD = "ann", "correct horse battery"
ROUNDS: Final = 20


class PageTime(NamedTuple):
    """Milliseconds for a page: the median, the longest, and the server's CPU for each."""

    median: float
    longest: float
    cpu: float


def pages(number: int) -> dict[str, str]:
    """Return the requested pages for a database of so many comments, by name."""
    moment = bulk.FIRST + number // 2 * bulk.STEP
    return {
        "queue": "queue",
        "queue, far down": f"queue?after=0.{number // 2}",
        "queue of a small site": "queue?site=notes",
        "published": "comments?status=approved",
        "published, far down": f"comments?status=approved&after={moment}.{number // 2}",
        "spam": "comments?status=spam",
        "deleted, of a small site": "comments?status=deleted&site=notes",
        "search: a common word": "comments?q=w0",
        "search: a word of all comments": "comments?q=reader",
        "search: one of all, one of none": "comments?q=reader+author%3Aw0",
        "search: an e-mail address": "comments?q=reader42%40mail42.example",
        "search: a page": "comments?q=%2F2001%2Fpost-1%2F",
        "a comment": f"comment?id={number // 2}",
        "pages": "threads",
        "pages with a text": "threads?q=post-17",
        "a page": "thread?id=1",
        "bans": "bans",
        "outbox": "outbox",
        "dashboard, 90 days": "dashboard?days=90",
        "dashboard of a small site": "dashboard?site=notes",
        "settings": "settings",
        "account": "account",
        "codes of an app": "factor",
    }


def add_account(database: Database) -> None:
    """Make the account of the browser."""
    password = passwords.hash_password(PASSWORD)
    database.write_now(accounts.add, NAME, password, bulk.FIRST)


def measure(folder: Path, number: int, cores: Collection[int]) -> dict[str, PageTime]:
    """Request all pages with the database in `folder`. Raise ServiceError unless it is 200.

    The server runs on `cores`.
    """
    found = {}
    # The database is old, so its spam would be removed meanwhile.
    with Service(folder, cores, settings={"COMMENTSVC_SPAM_KEEP_SPAM_DAYS": "0"}) as service:
        browser = AdminBrowser(service.port)
        browser.sign_in(NAME, PASSWORD)
        for name, page in pages(number).items():
            _ask(browser, page)  # templates are compiled, the file's pages are in memory
            before, times = service.cpu(), [_ask(browser, page) for _ in range(ROUNDS)]
            cpu = (service.cpu() - before) / ROUNDS / 1e6
            found[name] = PageTime(statistics.median(times), max(times), cpu)
        browser.close()
    return found


def _ask(browser: AdminBrowser, page: str) -> float:
    start = time.perf_counter()
    shown = browser.get(page)
    if shown.status != 200:
        raise ServiceError(f"/moderation/{page} answers {shown.status}")
    return (time.perf_counter() - start) * 1_000

"""Seeding: writes the database for the beginning of rounds with the program's own modules."""

import hashlib
import itertools
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from commentsvc.comments import create, site_rows
from commentsvc.comments.create import NewComment
from commentsvc.comments.submission import avatar
from commentsvc.db.connection import Transaction
from commentsvc.db.database import Database
from commentsvc.db.migrations import upgrade
from commentsvc.markup.markdown import render
from commentsvc.model import APPROVED, PENDING
from commentsvc.settings import data_dir
from commentsvc.settings.schema import DatabaseSettings, Site
from loadtest.data.blog import COMMENTS, Page, Text, texts, visits

BATCH = 500  # comments per transaction
FIRST = 1_700_000_000_000  # Unix milliseconds of the first comment
STEP = 600_000  # milliseconds between two comments
SITE = Site().name


def seed(data: Path, ranked: Sequence[Page], progress: Callable[[int], None]) -> None:
    """Make the data folder `data` with all comments of `ranked`; `progress` gets their number."""
    data_dir.prepare(data)
    path = data / data_dir.DATABASE
    upgrade.upgrade(path)
    database = Database(path, DatabaseSettings(synchronous="normal"), purge=lambda tags: None)
    database.open()
    try:
        database.write_now(site_rows.sync, [SITE])
        everything = enumerate(zip(visits(ranked), texts(seed=2), strict=False))
        done = 0
        while batch := list(itertools.islice(everything, BATCH)):
            news = [_comment(number, page, text) for number, (page, text) in batch]
            database.write_now(_add, news)
            done += len(batch)
            progress(done)
    finally:
        database.close_now()


def add_waiting(data: Path, ranked: Sequence[Page], number: int) -> list[int]:
    """Add a `number` of pending comments to the data folder; return their ids."""
    written = zip(itertools.cycle(ranked), texts(seed=8), range(number), strict=False)
    made = (_comment(COMMENTS + index, page, text) for page, text, index in written)
    news = [(msgspec.structs.replace(new, status=PENDING), now) for new, now in made]
    settings = DatabaseSettings(synchronous="normal")
    database = Database(data / data_dir.DATABASE, settings, purge=lambda tags: None)
    database.open()
    try:
        return database.write_now(lambda tx: [create.add(tx, *new).comment.id for new in news])
    finally:
        database.close_now()


def _add(tx: Transaction, news: Sequence[tuple[NewComment, int]]) -> None:
    for new, now in news:
        create.add(tx, new, now)


def _comment(number: int, page: Page, text: Text) -> tuple[NewComment, int]:
    """Return a comment and the time at which it is written."""
    now = FIRST + number * STEP
    new = NewComment(
        site=SITE,
        url=page.url,
        title="",
        author=text.author,
        email=text.email,
        avatar=avatar(text.email),
        author_site="",
        source=text.message,
        html=render(text.message),
        parent=None,
        status=APPROVED,
        key=f"seeded-{number}",
        derived=False,
        token_hash=hashlib.sha256(b"%d" % number).digest(),
        token_expires_at=now,
    )
    return new, now

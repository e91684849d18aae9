"""Bulk databases: many comments of every status, made by SQL in a minute per million.

They are for measurements in which the number of comments matters, and not their content. Words and
pages are drawn by arithmetic that gives few common and many rare ones.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from commentsvc.comments import search, site_rows
from commentsvc.db.connection import Transaction
from commentsvc.db.database import Database
from commentsvc.db.migrations import upgrade
from commentsvc.settings.schema import DatabaseSettings

SITES: Final = ("blog", "notes")  # the second has a hundredth of the comments
PAGES: Final = 50  # comments have one page among them
FIRST: Final = 1_700_000_000_000  # Unix milliseconds of the first comment
STEP: Final = 60_000  # milliseconds between two comments
PIECE: Final = 100_000  # comments added in one transaction
FEED: Final = 20_000  # comments indexed in one transaction

# For the comment i: a pseudo-random number below 65,536; and one below {1} in which small values
# are more frequent. No product exceeds the 63 bits of SQLite's integers.
_DRAWN: Final = "((i * 2654435761 + {0} * 104729) % 4294967291 * 48271 % 2147483647 / 32768)"
_SKEWED: Final = f"({_DRAWN} * {_DRAWN.replace('{0}', '{0}7')} * {{1}} / 4294967296)"
_STATUS: Final = (
    "CASE WHEN i % 20 < 16 THEN 'approved' WHEN i % 20 < 18 THEN 'spam' WHEN i % 20 = 18"
    " THEN 'deleted' ELSE 'pending' END"
)


def make(
    path: Path,
    number: int,
    words: int,
    progress: Callable[[int], None] = lambda done: None,
    sites: Sequence[str] = SITES,
    *,
    indexed: bool = True,
) -> None:
    """Make the database at `path` with a `number` of comments of so many `words`, and index it.

    `progress` gets how many comments are made and indexed, up to twice the number. There must be
    two `sites`. With `indexed` False, they are not indexed for the search.
    """
    upgrade.upgrade(path)
    database = Database(path, DatabaseSettings(synchronous="normal"), purge=lambda tags: None)
    database.open()
    try:
        database.write_now(site_rows.sync, sites)
        database.write_now(_add_pages, number // PAGES)
        for done in range(0, number, PIECE):
            last = min(done + PIECE, number)
            database.write_now(_add_comments, done + 1, last, number // PAGES, words)
            progress(last)
        database.write_now(_count)
        fed = 0
        while indexed and database.write_now(search.index_pending, FEED):
            fed = min(fed + FEED, number)
            progress(number + fed)
        progress(2 * number)
    finally:
        database.close_now()


def _add_pages(tx: Transaction, pages: int) -> None:
    site = "CASE WHEN i % 100 = 0 THEN 2 ELSE 1 END"
    tx.execute(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)"
        " INSERT INTO thread (id, site_id, url, title)"
        f" SELECT i, {site}, '/' || (2000 + i % 25) || '/post-' || i || '/', 'Post ' || i FROM n",
        (pages,),
    )


def _add_comments(tx: Transaction, first: int, last: int, pages: int, words: int) -> None:
    text = " || ' ' || ".join(f"'w' || {_SKEWED.format(n, 30_000)}" for n in range(words))
    tx.execute(
        "WITH RECURSIVE n (i) AS (SELECT ? UNION ALL SELECT i + 1 FROM n WHERE i < ?),"
        f" m AS MATERIALIZED (SELECT i, 1 + {_SKEWED.format(91, pages)} AS page,"
        f" {_STATUS} AS status, {text} AS text, CASE WHEN i % 3 = 0"
        " THEN 'reader' || (i % 9973) || '@mail' || (i % 97) || '.example' ELSE '' END AS email"
        " FROM n)"
        " INSERT INTO comment (site_id, thread_id, status, author, email, avatar, author_site,"
        " source, html, created_at, published_at, token_hash, token_expires_at, email_key)"
        " SELECT t.site_id, t.id, m.status, 'Reader ' || (i % 9973), email, '', '', text,"
        f" '<p>' || text || '</p>' || char(10), {FIRST} + i * {STEP},"
        f" CASE WHEN m.status = 'approved' THEN {FIRST} + i * {STEP} + 5000 END, x'00', 0, email"
        " FROM m JOIN thread AS t ON t.id = m.page"
        " ORDER BY i",
        (first, last),
    )
    tx.execute(
        "INSERT INTO change (decision_id, comment_id, field, old, new, created_at, actor)"
        " SELECT id, id, 'status', 'pending', status, created_at, 'Mo' FROM comment"
        " WHERE status <> 'pending' AND id BETWEEN ? AND ?",
        (first, last),
    )


def _count(tx: Transaction) -> None:
    tx.execute(
        "UPDATE thread SET count = (SELECT count(*) FROM comment AS c"
        " WHERE c.thread_id = thread.id AND c.status = 'approved')"
    )
    tx.execute(
        "UPDATE site SET count ="
        " (SELECT coalesce(sum(count), 0) FROM thread WHERE site_id = site.id)"
    )

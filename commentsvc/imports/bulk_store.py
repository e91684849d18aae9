"""Stores the staged comments of a large import by SQL alone, in a file of SQLite without a server.

No comment becomes a Python object on its way from one file to the other, which takes half the time
of `store`. That module stores the same comments in the same way (the tests compare them) in
PostgreSQL, in a running server, and from our own export, whose comments have further parts.
"""

# ruff: noqa: S608 - the SQL is built from constants only

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from commentsvc.comments.create import ThreadRef, add_to_counts
from commentsvc.db import sqlite
from commentsvc.db.sqlite import Transaction
from commentsvc.imports import store
from commentsvc.imports.staging_reader import COLUMNS, ReadyPage
from commentsvc.imports.store import ThreadFinder
from commentsvc.settings.schema import DatabaseSettings

PATIENCE: Final = 3.0  # seconds to wait for another program's lock
CACHE: Final = 65_536  # KiB: the indexes, of which each transaction changes all parts
CHECKPOINT: Final = 64_000  # pages of the log, after which they are copied into the file

_PLACE: Final = "CREATE TEMP TABLE place (page INTEGER PRIMARY KEY, site_id, thread_id)"
_NEW_PAGES: Final = (
    "SELECT p.id, p.site, p.url, p.title, p.closed FROM (SELECT page, min(number) AS first FROM"
    " staging.ready WHERE number BETWEEN ? AND ? GROUP BY page) AS r"
    " CROSS JOIN staging.page AS p ON p.id = r.page"
    " WHERE p.id NOT IN (SELECT page FROM place) ORDER BY r.first"
)
# The parent: a comment of this import, or one that an earlier import has stored on the same page.
_PARENT: Final = (
    "CASE WHEN r.up IS NOT NULL THEN coalesce((SELECT ?1 + u.number FROM staging.ready AS u"
    " WHERE u.n = r.up), (SELECT c.id FROM staging.item AS o JOIN imported_comment AS m"
    " ON m.key = o.key JOIN comment AS c ON c.id = m.comment_id WHERE o.n = r.up"
    " AND c.thread_id = p.thread_id)) END"
)
_PAST: Final = {name: f"min(b.{name}, ?4)" for name in ("created_at", "published_at")}
_COMMENTS: Final = (
    "INSERT INTO comment (id, site_id, thread_id, parent_id, token_hash, token_expires_at, status,"
    f" {', '.join(COLUMNS)}) SELECT ?1 + r.number, p.site_id, p.thread_id, {_PARENT}, x'', 0,"
    f" i.status, {', '.join(_PAST.get(name, f'b.{name}') for name in COLUMNS)}"
    " FROM staging.ready AS r CROSS JOIN place AS p ON p.page = r.page CROSS JOIN staging.item AS i"
    " ON i.n = r.n CROSS JOIN staging.body AS b ON b.n = r.n WHERE r.number BETWEEN ?2 AND ?3"
    " ORDER BY r.number"
)
_IMPORTED: Final = (
    "INSERT INTO imported_comment (comment_id, import_id, key, anchor, is_html)"
    " SELECT ?1 + r.number, ?4, i.key, i.anchor, i.is_html FROM staging.ready AS r"
    " CROSS JOIN staging.item AS i ON i.n = r.n WHERE r.number BETWEEN ?2 AND ?3"
    " ORDER BY i.key"  # neighbours in the index are inserted faster
)
_SHOWN: Final = (
    "SELECT page, count(*) FROM staging.ready WHERE number BETWEEN ? AND ? AND shown GROUP BY page"
)
_LINKED: Final = (
    "SELECT DISTINCT p.thread_id FROM staging.ready AS r JOIN place AS p ON p.page = r.page"
    " WHERE r.number BETWEEN ? AND ? AND r.linked"
)
# As in `moderation.pins`: a comment of the first level that is published.
_PINNED: Final = (
    "SELECT ? + r.number, p.thread_id FROM staging.ready AS r JOIN place AS p ON p.page = r.page"
    " WHERE r.number BETWEEN ? AND ? AND r.pinned AND r.shown AND r.up IS NULL ORDER BY r.number"
)


class BulkStore:
    """Stores the staged comments of the import `import_id`."""

    def __init__(self, connection: sqlite3.Connection, import_id: int, now: int) -> None:
        """Take a connection to the database to which the staging database is attached.

        `now` is in Unix milliseconds: see `store.add`.
        """
        self._tx = Transaction(connection, [])
        self._import_id = import_id
        self._now = now
        self._base = self._tx.last_id("comment")
        self._threads = ThreadFinder(self._tx, import_id)

    def add(self, first: int, last: int) -> None:
        """Store the comments from number `first` to `last` in one transaction.

        Raise DatabaseError and UnknownSite.
        """
        try:
            self._tx.whole(lambda _: self._add(first, last))
        except sqlite3.Error as error:
            raise sqlite.fault(error) or error from error

    def _add(self, first: int, last: int) -> None:
        tx = self._tx
        for row in tx.execute(_NEW_PAGES, (first, last)).fetchall():
            page = ReadyPage(*row)
            ref = self._threads.find(page)
            tx.execute("INSERT INTO place VALUES (?, ?, ?)", (page.id, ref.site_id, ref.thread_id))
        tx.execute(_COMMENTS, (self._base, first, last, self._now))
        tx.execute(_IMPORTED, (self._base, first, last, self._import_id))
        tx.change_each(store.pin, tx.execute(_PINNED, (self._base, first, last)).fetchall())
        tx.change_each(store.mark_imported, tx.execute(_LINKED, (first, last)).fetchall())
        shown: Counter[ThreadRef] = Counter()
        for page_id, number in tx.execute(_SHOWN, (first, last)):
            shown[self._threads.known[page_id]] += number
        add_to_counts(tx, shown)


@contextmanager
def opened(database: Path, staging: Path, import_id: int, now: int) -> Iterator[BulkStore]:
    """Open the database of the service and the staging database at these paths.

    The caller holds the lock of the service, so nobody else writes. Rows refer to each other as
    `staging` has decided, so foreign keys are not checked for each. Raise sqlite3.Error.
    """
    sqlite.register_adapters()
    pragmas = (
        "journal_mode=WAL",
        f"synchronous={DatabaseSettings().synchronous}",
        f"wal_autocheckpoint={CHECKPOINT}",
        f"cache_size=-{CACHE}",
    )
    with closing(sqlite.connect(database, PATIENCE, *pragmas)) as connection:
        place = f"{staging.absolute().as_uri()}?mode=ro"
        connection.execute("ATTACH ? AS staging", (place,))
        connection.execute(_PLACE)
        yield BulkStore(connection, import_id, now)

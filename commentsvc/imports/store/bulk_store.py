"""Stores the staged comments of a large import by SQL alone, in a file of SQLite without a server.

No comment becomes a Python object on its way from one file to the other, which takes half the time
of `store`. That module stores the same comments in the same way (the tests compare them) in
PostgreSQL, in a running server, and from our own export, whose comments have further parts.
"""

# ruff: noqa: S608 - the SQL is built from constants only

import os
import sqlite3
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Final

from commentsvc.db.connection import Transaction
from commentsvc.db.sqlite import connection as sqlite
from commentsvc.imports.staging.reading import COLUMNS, ReadyPage
from commentsvc.imports.store import store
from commentsvc.imports.store.store import ThreadFinder
from commentsvc.model import APPROVED

PATIENCE: Final = 3.0  # seconds to wait for another program's lock
CACHE: Final = 65_536  # KiB: the indexes, of which each transaction changes all parts
STAGING_CACHE: Final = 8_192  # KiB: the inner pages of its table of texts, which is read at random
CHECKPOINT: Final = 64_000  # pages of the log, after which they are copied into the file

_TABLES: Final = (
    "CREATE TEMP TABLE place (page INTEGER PRIMARY KEY, site_id, thread_id)",
    "CREATE TEMP TABLE stored_parent (n INTEGER PRIMARY KEY, comment_id)",
)
_NEW_PAGES: Final = (
    "SELECT p.id, p.site, p.url, p.title, p.closed FROM (SELECT page, min(number) AS first FROM"
    " staging.ready WHERE number BETWEEN ? AND ? GROUP BY page) AS r"
    " CROSS JOIN staging.page AS p ON p.id = r.page"
    " WHERE p.id NOT IN (SELECT page FROM place) ORDER BY r.first"
)
# The parents that an earlier import has stored on the same page.
_STORED_PARENTS: Final = (
    "INSERT INTO stored_parent SELECT r.n, c.id FROM staging.ready AS r"
    " CROSS JOIN staging.item AS o ON o.n = r.up CROSS JOIN imported_comment AS m ON m.key = o.key"
    " CROSS JOIN comment AS c ON c.id = m.comment_id CROSS JOIN place AS p ON p.page = r.page"
    " WHERE r.number BETWEEN ? AND ? AND o.outcome IS NOT NULL AND c.thread_id = p.thread_id"
)
_PARENT: Final = (
    "CASE WHEN r.up IS NOT NULL THEN coalesce((SELECT ?1 + u.number FROM staging.ready AS u"
    " WHERE u.n = r.up), (SELECT comment_id FROM stored_parent AS s WHERE s.n = r.n)) END"
)
_PAST: Final = {
    name: f"CASE WHEN b.{name} > ?4 THEN ?4 ELSE b.{name} END"
    for name in ("created_at", "published_at")
}
# If this read the table of comments, SQLite would copy all rows before it stores the first. With OR
# ROLLBACK, and without functions, it does not keep the pages as they were before the statement.
_COMMENTS: Final = (
    "INSERT OR ROLLBACK INTO comment (id, site_id, thread_id, parent_id, token_hash,"
    f" token_expires_at, status, {', '.join(COLUMNS)}) SELECT ?1 + r.number, p.site_id,"
    f" p.thread_id, {_PARENT}, x'', 0, r.status,"
    f" {', '.join(_PAST.get(name, f'b.{name}') for name in COLUMNS)}"
    " FROM staging.ready AS r CROSS JOIN place AS p ON p.page = r.page"
    " CROSS JOIN staging.body AS b ON b.n = r.n WHERE r.number BETWEEN ?2 AND ?3 ORDER BY r.number"
)
_IMPORTED: Final = (
    "INSERT OR ROLLBACK INTO imported_comment (comment_id, import_id, key, anchor, is_html)"
    " SELECT ?1 + number, ?4, key, anchor, is_html FROM staging.ready"
    " WHERE number BETWEEN ?2 AND ?3 ORDER BY key"  # neighbours in the index are inserted faster
)
# As statements.RAISE_THREAD and RAISE_SITE, with the numbers of published comments; nobody has
# cached anything that would have to be purged.
_SHOWN: Final = (
    "SELECT p.{column} AS id, count(*) AS number FROM staging.ready AS r JOIN place AS p"
    f" ON p.page = r.page WHERE r.number BETWEEN ? AND ? AND r.status = '{APPROVED}' GROUP BY 1"
)
_RAISE_THREADS: Final = (
    "UPDATE thread SET count = count + s.number, version = version + 1"
    f" FROM ({_SHOWN.format(column='thread_id')}) AS s WHERE thread.id = s.id"
)
_RAISE_SITES: Final = (
    "UPDATE site SET count = count + s.number"
    f" FROM ({_SHOWN.format(column='site_id')}) AS s WHERE site.id = s.id"
)
_LINKED: Final = (
    "UPDATE thread SET imported = 1 WHERE imported = 0 AND id IN (SELECT p.thread_id FROM"
    " staging.ready AS r JOIN place AS p ON p.page = r.page WHERE r.number BETWEEN ? AND ?"
    " AND r.anchor <> '')"
)
# As in `moderation.pins`: a comment of the first level that is published.
_PINNED: Final = (
    "SELECT ? + r.number, p.thread_id FROM staging.ready AS r JOIN place AS p ON p.page = r.page"
    f" WHERE r.number BETWEEN ? AND ? AND r.pinned AND r.status = '{APPROVED}' AND r.up IS NULL"
    " ORDER BY r.number"
)


class LogSync:
    """Writes the log to the disk while the next transaction runs.

    A checkpoint has to wait for that otherwise. It does not matter when it happens: after a power
    failure the last transactions may be missing, and the next import stores their comments. What
    finishes an import is committed as every write of the service, so all of the log is on the disk
    before the report.
    """

    def __init__(self, log: Path, stack: ExitStack) -> None:
        """Open the file `log` until `stack` ends. Raise OSError."""
        self._file = os.open(log, os.O_RDONLY)
        stack.callback(os.close, self._file)
        self._thread = stack.enter_context(ThreadPoolExecutor(1))
        self._last: Future[None] | None = None

    def begin(self) -> None:
        """Begin to write what is in the log, unless that is going on."""
        if self._last is None or self._last.done():
            self._last = self._thread.submit(os.fdatasync, self._file)


class BulkStore:
    """Stores the staged comments of the import `import_id`."""

    def __init__(
        self, connection: sqlite3.Connection, import_id: int, now: int, sync: LogSync
    ) -> None:
        """Take a connection to the database to which the staging database is attached.

        `now` is in Unix milliseconds: see `store.add`.
        """
        self._sync = sync
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
        self._sync.begin()

    def _add(self, first: int, last: int) -> None:
        tx = self._tx
        for row in tx.execute(_NEW_PAGES, (first, last)).fetchall():
            page = ReadyPage(*row)
            ref = self._threads.find(page)
            tx.execute("INSERT INTO place VALUES (?, ?, ?)", (page.id, ref.site_id, ref.thread_id))
        tx.execute(_STORED_PARENTS, (first, last))
        tx.execute(_COMMENTS, (self._base, first, last, self._now))
        tx.execute(_IMPORTED, (self._base, first, last, self._import_id))
        tx.change_each(store.pin, tx.execute(_PINNED, (self._base, first, last)).fetchall())
        tx.execute(_LINKED, (first, last))
        tx.execute(_RAISE_THREADS, (first, last))
        tx.execute(_RAISE_SITES, (first, last))


@contextmanager
def opened(database: Path, staging: Path, import_id: int, now: int) -> Iterator[BulkStore]:
    """Open the database of the service and the staging database at these paths.

    The caller holds the lock of the service, so nobody else writes. Rows refer to each other as
    `staging` has decided, so foreign keys are not checked for each.

    Raise sqlite3.Error and OSError.
    """
    sqlite.register_adapters()
    pragmas = (
        "journal_mode=WAL",
        "synchronous=NORMAL",
        f"wal_autocheckpoint={CHECKPOINT}",
        f"cache_size=-{CACHE}",
    )
    with ExitStack() as stack:
        connection = stack.enter_context(closing(sqlite.connect(database, PATIENCE, *pragmas)))
        place = f"{staging.absolute().as_uri()}?mode=ro"
        connection.execute("ATTACH ? AS staging", (place,))
        connection.execute(f"PRAGMA staging.cache_size=-{STAGING_CACHE}")
        for table in _TABLES:
            connection.execute(table)
        log = LogSync(database.with_name(f"{database.name}-wal"), stack)
        yield BulkStore(connection, import_id, now, log)

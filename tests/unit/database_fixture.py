"""Helpers to open a database in a temporary folder and to make submissions for it."""

import contextlib
import functools
import shutil
import sqlite3
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import psycopg
from msgspec.structs import replace

from commentsvc.comments import create, site_rows
from commentsvc.comments.create import NewComment
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.database import DEFAULTS, Database
from commentsvc.db.migrations import upgrade
from commentsvc.db.postgresql.connection import PostgresqlConnection
from commentsvc.db.query import Query, bound
from commentsvc.model import Comment
from commentsvc.moderation import changes
from commentsvc.settings.schema import DatabaseSettings
from tests.e2e.program import BESIDE_SERVICE
from tests.postgresql_server import Server

HOUR = 3_600_000
NOW = 1_795_000_000_000  # milliseconds; a moment in 2026

_PLAIN = NewComment(
    site="blog",
    url="/post/",
    title="",
    author="Ann",
    email="",
    avatar="",
    author_site="",
    source="Hello *you*",
    html="<p>Hello <em>you</em></p>",
    parent=None,
    status="approved",
    key="",
    derived=False,
    token_hash=b"first token",
    token_expires_at=NOW + HOUR,
)
COMMENT = Comment(
    id=7,
    thread_id=1,
    parent_id=None,
    status="approved",
    author="Ann",
    email="ann@blog.example",
    avatar="",
    site="",
    source="Hi",
    html="<p>Hi</p>\n",
    created_at=1_500_000_000_000,
    published_at=1_500_000_060_000,
    edited_at=None,
    votes=0,
)
_keys = iter(range(10**9))


def new(**changes: Any) -> NewComment:  # Any: a field of NewComment
    """Return an approved submission with a key that no other has; `changes` replace its fields."""
    return replace(_PLAIN, **({"key": f"key {next(_keys)}"} | changes))


# The server that holds the databases; with none, they are SQLite files.
in_use: list[Server] = []


def location(folder: Path) -> Path | str:
    """Return the location of a test's database; its tables exist."""
    if in_use:
        return in_use[0].location(folder)
    path = folder / "comments.sqlite3"
    if not path.exists():
        shutil.copy(_empty(), path)
    return path


def environ(folder: Path) -> dict[str, str]:
    """Return the variables by which commands find the database of a data folder."""
    return {"COMMENTSVC_DATABASE_URL": str(location(folder))} if in_use else {}


def forget() -> None:
    """Empty the databases that are closed, for the next example of the same test."""
    for server in in_use:
        server.recycle()


def connected(folder: Path) -> Any:  # Any: sqlite3's connection, or one with its methods
    """Open another connection to a test's database; it commits each statement."""
    path = location(folder)
    if isinstance(path, str):
        return PostgresqlConnection(path)
    made = sqlite3.connect(path, isolation_level=None)
    made.execute(BESIDE_SERVICE)
    return made


# From the tables of today to those before addresses had keys, with a mailbox that was typed twice.
BEFORE_KEYS = (
    "DROP INDEX comment_by_email_key",
    "DROP INDEX subscriber_email_key_site_id",
    "DROP INDEX follower_email_key_site_id_thread_id",
    "ALTER TABLE comment DROP COLUMN email_key",
    "ALTER TABLE comment DROP COLUMN lang",
    "ALTER TABLE comment DROP COLUMN reactions",
    "ALTER TABLE vote DROP COLUMN emoji",
    "ALTER TABLE subscriber DROP COLUMN email_key",
    "ALTER TABLE follower DROP COLUMN email_key",
    "ALTER TABLE reader DROP COLUMN email_key",
    "ALTER TABLE sign_in_link DROP COLUMN email_key",
    "CREATE UNIQUE INDEX subscriber_email_site_id ON subscriber (email, site_id)",
    "INSERT INTO site (id, name) VALUES (1, 'blog')",
    "INSERT INTO thread (id, site_id, url, title) VALUES (1, 1, '/p/', '')",
    *(
        "INSERT INTO comment (id, site_id, thread_id, status, created_at, author, email, avatar,"
        " author_site, source, html, token_hash, token_expires_at) VALUES"
        f" ({number}, 1, 1, 'approved', 1, 'Zoe', '{email}', '', '', 'Hi', '', '\\x', 0)"
        for number, email in enumerate(
            ("Zoe@Bücher.example", "zoe@bücher.example", "bob@home.example"), 1
        )
    ),
    *(
        "INSERT INTO subscriber (id, site_id, email, consent, asked_at) VALUES"
        f" ({number}, 1, '{email}', '{consent}', 1)"
        for number, (email, consent) in enumerate(
            (
                ("Zoe@Bücher.example", "asked"),
                ("zoe@xn--bcher-kva.example", "confirmed"),
                ("bob@home.example", "confirmed"),
                ("Bob@home.example", "stopped"),
                ("ann@home.example", "asked"),
            ),
            1,
        )
    ),
    "INSERT INTO subscription (comment_id, subscriber_id) VALUES (1, 1), (2, 2), (3, 3)",
    *(
        "INSERT INTO follower (id, site_id, thread_id, email, consent, asked_at, since_at,"
        f" until_at, mailed_at) VALUES ({number}, 1, {thread}, 'Zoe@Home.example', '{consent}',"
        f" {times})"
        for number, (thread, consent, times) in enumerate(
            (
                ("1", "asked", "9, 0, 0, 0"),
                ("NULL", "asked", "1, 0, 0, 0"),
                ("1", "confirmed", "1, 5, 6, 6"),
                ("NULL", "stopped", "1, 0, 0, 0"),
                ("1", "confirmed", "2, 4, 7, 7"),
            ),
            1,
        )
    ),
    *(
        "INSERT INTO reader (id, site_id, issuer, subject, name, email, created_at) VALUES"
        f" ({number}, 1, '{issuer}', '{subject}', '{name}', '{email}', 1)"
        for number, (issuer, subject, name, email) in enumerate(
            (
                ("mail", "max@müller.example", "", "Max@Müller.example"),
                ("mail", "max@xn--mller-kva.example", "Max", "max@xn--mller-kva.example"),
                ("mail", "max@MÜLLER.example", "Mäx", "max@MÜLLER.example"),
                ("blog", "max@müller.example", "M", "max@müller.example"),
                ("mail", "eva@müller.example", "Eva", "eva@müller.example"),
            ),
            1,
        )
    ),
    "INSERT INTO reader_look (site_id, look, reader_id)"
    " VALUES (1, 'max', 2), (1, 'max', 3), (1, 'm', 3), (1, 'eva', 5)",
    "INSERT INTO reader_session (id, digest, reader_id, expires_at)"
    " VALUES (1, '\\x01', 1, 1), (2, '\\x02', 3, 1), (3, '\\x03', 5, 1)",
    "UPDATE comment SET reader_id = id",
)
KEYED = {
    "SELECT email_key FROM comment ORDER BY id": [
        ("zoe@xn--bcher-kva.example",),
        ("zoe@xn--bcher-kva.example",),
        ("bob@home.example",),
    ],
    "SELECT id, email, consent FROM subscriber ORDER BY id": [
        (2, "zoe@xn--bcher-kva.example", "confirmed"),
        (4, "Bob@home.example", "stopped"),
        (5, "ann@home.example", "asked"),
    ],
    "SELECT comment_id, subscriber_id FROM subscription ORDER BY 1": [(1, 2), (2, 2)],
    "SELECT id, consent, asked_at, since_at, until_at, mailed_at FROM follower ORDER BY id": [
        (3, "confirmed", 9, 5, 7, 7),
        (4, "stopped", 1, 0, 0, 0),
    ],
    "SELECT kind, former, kept FROM former_id ORDER BY 1, 2": [
        *(("follower", former, stays) for former, stays in ((1, 3), (2, 4), (5, 3))),
        *(("subscriber", former, stays) for former, stays in ((1, 2), (3, 4))),
    ],
    "SELECT id, issuer, subject, name FROM reader ORDER BY id": [
        (2, "mail", "max@xn--mller-kva.example", "Max"),
        (4, "blog", "max@müller.example", "M"),
        (5, "mail", "eva@xn--mller-kva.example", "Eva"),
    ],
    "SELECT look, reader_id FROM reader_look ORDER BY 1": [("eva", 5), ("m", 2), ("max", 2)],
    "SELECT id, reader_id FROM reader_session ORDER BY 1": [(1, 2), (2, 2), (3, 5)],
    "SELECT id, reader_id FROM comment ORDER BY 1": [(1, 2), (2, 2), (3, 2)],
}

# What the engines raise when a row breaks a rule of its table.
BROKEN_RULE = (sqlite3.IntegrityError, psycopg.IntegrityError)


@functools.cache
def _empty() -> Path:
    """Return a database without rows, which is copied in a tenth of the time of making one."""
    path = Path(tempfile.mkdtemp()) / "comments.sqlite3"
    upgrade.upgrade(path)
    return path


@contextlib.contextmanager
def opened(
    folder: Path,
    purge: Callable[[Sequence[str]], None] = lambda _tags: None,
    settings: DatabaseSettings = DEFAULTS,
    **others: Any,  # Any: a parameter of Database
) -> Iterator[Database]:
    """Open a database in `folder`, with the site "blog"."""
    database = Database(location(folder), settings, purge=purge, **others)
    database.open()
    try:
        database.write_now(site_rows.sync, ["blog"])
        yield database
    finally:
        database.close_now()


def add(
    database: Database, now: int = NOW, **changes: Any
) -> create.InsertResult:  # Any: as in new
    """Insert a submission and wait until it is acknowledged."""
    submission = new(**changes)
    return database.write_now(create.add, submission, now)


def decide(
    database: Database, to: str, *ids: int, who: str = "Mo", now: int = NOW
) -> changes.ChangeResult:
    """Have the moderator `who` give comments the status `to`."""
    return database.write_now(changes.change, ids, to, who, now)


def site(name: str, *tags: str) -> Callable[[Transaction], str]:
    """Store a site of that name, invalidate `tags` and return the name; to be run by the writer."""

    def work(tx: Transaction) -> str:
        tx.execute("INSERT INTO site (name) VALUES (?)", (name,))
        tx.purge(*tags)
        return name

    return work


def sites(snapshot: Snapshot) -> list[str]:
    return [name for (name,) in snapshot.execute("SELECT name FROM site ORDER BY id")]


def plan(database: Database, query: Query, *values: object) -> list[str]:
    """Return the steps of SQLite's plan for a query; such a test is marked `sqlite_only`."""
    sql, params = bound(query, values)
    return database.read_now(
        lambda snapshot: [row[3] for row in snapshot.execute(f"EXPLAIN QUERY PLAN {sql}", params)]
    )


def held(database: Database) -> threading.Event:
    """Keep the writer busy, and return the event that releases it."""
    begun, go_on = threading.Event(), threading.Event()

    def work(_: Transaction) -> None:
        begun.set()
        assert go_on.wait(120)

    threading.Thread(target=lambda: database.write_now(work)).start()
    assert begun.wait(120)
    return go_on

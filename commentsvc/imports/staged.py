"""Reads the staging database, to store its comments.

This is separate from `stage`, which fills it: every command and the server can store, but only an
import needs the parsers and processes for filling it.
"""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

READY: Final = (
    "SELECT r.number, i.key, u.key, p.site, p.url, p.title, p.closed,"
    " i.status, b.created, b.published, b.edited, b.votes, b.author, b.email,"
    " b.avatar, b.author_site, b.role, b.moderator, b.reasons, b.source,"
    " b.html, b.is_html, b.anchor, b.pinned, b.ours, b.permalink, i.source_id"
    " FROM ready AS r JOIN item AS i ON i.n = r.n"
    " JOIN body AS b ON b.n = r.n JOIN page AS p ON p.id = i.page LEFT JOIN item AS u ON u.n = i.up"
    " WHERE r.number BETWEEN ? AND ? ORDER BY r.number"
)


class ReadyComment(NamedTuple):
    """A comment of the staging database, for `store`; the fields are those of READY."""

    number: int
    key: bytes
    parent_key: bytes | None
    site: str
    url: str
    title: str
    closed: int
    status: str
    created: int
    published: int | None
    edited: int | None
    votes: int
    author: str
    email: str
    avatar: str
    author_site: str
    role: str
    moderator_id: int | None
    reasons: str
    source: str
    html: str
    is_html: int
    anchor: str
    pinned: int
    ours: bytes
    permalink: str
    source_id: str


def other_lines(path: Path, first: int, last: int) -> list[bytes]:
    """Return the lines of our own export that are not comments, from `first` to `last`."""
    with closing(_reading(path)) as connection:
        rows = connection.execute(
            "SELECT line FROM other WHERE number BETWEEN ? AND ? ORDER BY number", (first, last)
        )
        return [line for (line,) in rows]


def ready(path: Path, first: int, last: int) -> list[ReadyComment]:
    """Return the comments to store, from number `first` to `last`."""
    with closing(_reading(path)) as connection:
        return [ReadyComment(*row) for row in connection.execute(READY, (first, last))]


def _reading(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)

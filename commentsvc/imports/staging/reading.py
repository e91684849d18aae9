"""Reads the staging database, to store its comments.

This is separate from `staging`, which prepares it: the server stores too, and needs no parsers.
"""

# ruff: noqa: S608 - the SQL is built from constants only

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final, NamedTuple

PIECE: Final = 1_000  # comments that are read at once
# The values that a comment is stored with, besides its status: a column of `body` for each.
COLUMNS: Final = (
    "created_at",
    "published_at",
    "edited_at",
    "votes",
    "role",
    "moderator_id",
    "author",
    "email",
    "avatar",
    "author_site",
    "source",
    "html",
    "reasons",
    "permalink",
    "lang",
    "reactions",
)
_BEFORE_ROW: Final = 4
_AFTER_ROW: Final = _BEFORE_ROW + 1 + len(COLUMNS)
_READY: Final = (
    f"SELECT r.key, u.key, i.source_id, r.page, r.status, {', '.join(f'b.{c}' for c in COLUMNS)},"
    " r.anchor, r.is_html, r.pinned, b.ours FROM ready AS r JOIN item AS i ON i.n = r.n"
    " JOIN body AS b ON b.n = r.n LEFT JOIN item AS u ON u.n = r.up"
    " WHERE r.number BETWEEN ? AND ? ORDER BY r.number"
)
_PAGES: Final = (
    "SELECT id, site, url, title, closed FROM page"
    " WHERE id IN (SELECT page FROM ready WHERE number BETWEEN ? AND ?)"
)


class ReadyPage(NamedTuple):
    """A page of comments to store."""

    id: int
    site: str
    url: str
    title: str
    closed: int


class ReadyComment(NamedTuple):
    """A comment to store, with the key of its parent and the id of its page.

    `source_id` is its id in the source; `row` has its status and the values of `COLUMNS`; `ours` is
    its line in our own export.
    """

    key: bytes
    parent_key: bytes | None
    source_id: str
    page: int
    row: tuple[Any, ...]  # Any: as the values of a row
    anchor: str
    is_html: int
    pinned: int
    ours: bytes


class ReadyPiece(NamedTuple):
    """Some comments to store, in their order, and their pages."""

    pages: list[ReadyPage]
    comments: list[ReadyComment]


def other_lines(path: Path, first: int, last: int) -> list[bytes]:
    """Return the lines of our own export that are not comments, from `first` to `last`."""
    with closing(_reading(path)) as connection:
        rows = connection.execute(
            "SELECT line FROM other WHERE number BETWEEN ? AND ? ORDER BY number", (first, last)
        )
        return [line for (line,) in rows]


def ready(path: Path, first: int, last: int, size: int = PIECE) -> Iterator[ReadyPiece]:
    """Yield the comments to store, from number `first` to `last`, `size` at once."""
    with closing(_reading(path)) as connection:
        for begin in range(first, last + 1, size):
            numbers = begin, min(begin + size - 1, last)
            comments = [
                ReadyComment._make(
                    (*row[:_BEFORE_ROW], row[_BEFORE_ROW:_AFTER_ROW], *row[_AFTER_ROW:])
                )
                for row in connection.execute(_READY, numbers)
            ]
            pages = [ReadyPage(*row) for row in connection.execute(_PAGES, numbers)]
            yield ReadyPiece(pages, comments)


def _reading(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)

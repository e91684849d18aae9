"""Reads the staging database, to store its comments.

This is separate from `stage`, which fills it: every command and the server can store, but only an
import needs the parsers and processes for filling it.
"""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

READY: Final = (
    "SELECT r.number, i.key, u.key, p.site, p.url, p.title, p.closed, i.status, i.source_id,"
    " b.created, b.content FROM ready AS r JOIN item AS i ON i.n = r.n"
    " JOIN body AS b ON b.n = r.n JOIN page AS p ON p.id = i.page LEFT JOIN item AS u ON u.n = i.up"
    " WHERE r.number BETWEEN ? AND ? ORDER BY r.number"
)


class CommentContent(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The text, the author and the dates of a comment; the staging database has it as MessagePack.

    One value is faster than a column per field, which took a tenth of the time of an import.
    """

    published: int | None = None
    edited: int | None = None
    votes: int = 0
    author: str = ""
    email: str = ""
    avatar: str = ""
    author_site: str = ""
    role: str = ""
    moderator_id: int | None = None
    reasons: str = ""
    source: str = ""
    html: str = ""
    is_html: bool = False
    anchor: str = ""
    pinned: bool = False
    ours: bytes = b""
    permalink: str = ""


encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(CommentContent).decode


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
    source_id: str
    created: int
    content: CommentContent


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
        rows = connection.execute(READY, (first, last))
        return [ReadyComment._make((*row[:-1], _decode(row[-1]))) for row in rows]


def _reading(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)

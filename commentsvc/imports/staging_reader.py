"""Reads the staging database, to store its comments.

This is separate from `staging`, which prepares it: every command and the server can store, but only
an import needs the parsers and processes for preparing it.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

PIECE: Final = 1_000  # comments that are read at once
READY: Final = (
    "SELECT i.key, u.key, i.source_id, t.page, b.content FROM ready AS r JOIN item AS i"
    " ON i.n = r.n JOIN body AS b ON b.n = r.n JOIN thread AS t ON t.id = i.thread"
    " LEFT JOIN item AS u ON u.n = i.up WHERE r.number BETWEEN ? AND ? ORDER BY r.number"
)
_PAGES: Final = "SELECT id, site, url, title, closed FROM page"


class CommentContent(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The content of a comment; the staging database has it as MessagePack.

    `row` has the values of the comment's columns from its status on, in the order in which `store`
    inserts them; the first three are the status, and when it was created and published. One value
    is faster than a column per field, which took a tenth of the time of an import.
    """

    row: tuple[Any, ...]  # Any: as the values of a row
    anchor: str = ""
    is_html: bool = False
    pinned: bool = False
    ours: bytes = b""


class ReadyPage(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A page of comments to store."""

    id: int
    site: str
    url: str
    title: str
    closed: int


class ReadyComment(NamedTuple):
    """A comment to store, with the key of its parent and the id of its page.

    `source_id` is its id in the source; `row` and what follows are those of its CommentContent.
    """

    key: bytes
    parent_key: bytes | None
    source_id: str
    page: int
    row: tuple[Any, ...]  # Any: as above
    anchor: str
    is_html: bool
    pinned: bool
    ours: bytes


class ReadyPiece(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Some comments to store, in their order, and their pages."""

    pages: list[ReadyPage]
    comments: list[ReadyComment]


encode: Final = msgspec.msgpack.Encoder().encode
_decode_content: Final = msgspec.msgpack.Decoder(CommentContent).decode
decode_piece: Final = msgspec.msgpack.Decoder(ReadyPiece).decode


def other_lines(path: Path, first: int, last: int) -> list[bytes]:
    """Return the lines of our own export that are not comments, from `first` to `last`."""
    with closing(_reading(path)) as connection:
        rows = connection.execute(
            "SELECT line FROM other WHERE number BETWEEN ? AND ? ORDER BY number", (first, last)
        )
        return [line for (line,) in rows]


def ready(path: Path, first: int, last: int, size: int = PIECE) -> Iterator[ReadyPiece]:
    """Yield the comments to store, from number `first` to `last`, `size` at once."""
    for begin in range(first, last + 1, size):
        yield decode_piece(encoded(path, begin, min(begin + size - 1, last)))


def encoded(path: Path, first: int, last: int) -> bytes:
    """Return the comments to store, from number `first` to `last`, as an encoded ReadyPiece."""
    with closing(_reading(path)) as connection:
        rows = connection.execute(READY, (first, last))
        comments = [(*rest, *_content(content)) for *rest, content in rows]
        used = {comment[3] for comment in comments}
        pages = [page for page in connection.execute(_PAGES) if page[0] in used]
    return encode((pages, comments))


def _content(encoded_content: bytes) -> tuple[object, ...]:
    return msgspec.structs.astuple(_decode_content(encoded_content))


def _reading(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)

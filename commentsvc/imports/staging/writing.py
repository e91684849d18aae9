"""Fills the staging database with what the parsers read, after converting it."""

# ruff: noqa: S608 - the SQL is built from constants only

import sqlite3
from pathlib import Path
from typing import Final

import msgspec

from commentsvc.comments.submission import page_title
from commentsvc.db.sqlite_files import register_adapters
from commentsvc.imports.records import ImportedComment, ImportedPage, OtherRecord, Record
from commentsvc.imports.staging.convert import Converter
from commentsvc.imports.staging.reading import COLUMNS

_ITEM: Final = "INSERT INTO item VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, NULL, NULL)"
_BODY: Final = f"INSERT INTO body VALUES ({', '.join('?' * (len(COLUMNS) + 2))})"
_THREAD: Final = (
    "INSERT INTO thread (id, file, position, url, title, closed, site, reactions)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
)

_encode: Final = msgspec.msgpack.Encoder().encode
decode_reactions: Final = msgspec.msgpack.Decoder(dict[str, int]).decode


def connect(path: Path) -> sqlite3.Connection:
    """Open the staging database, which nobody needs after a crash."""
    register_adapters()
    database = sqlite3.connect(path, isolation_level=None, uri=True)
    for pragma in ("journal_mode=OFF", "synchronous=OFF", "temp_store=FILE"):
        database.execute(f"PRAGMA {pragma}").fetchall()
    return database


class StagingWriter:
    """Converts what the parsers read, and inserts it, in the order of the files."""

    def __init__(self, database: sqlite3.Connection, converter: Converter) -> None:
        self._run = database.execute
        self._convert = converter.convert
        self._file = 0
        self._modified = 0
        self._threads: dict[tuple[int, str], int] = {}
        self._last_moment = 0
        self.comments = 0  # so far, and the number of the last one

    def begin_file(self, name: str, modified: int) -> None:
        """Begin the file `name`, last changed at `modified` (Unix milliseconds)."""
        self._file += 1
        self._modified, self._last_moment = modified, 0
        self._run("INSERT INTO file VALUES (?, ?)", (self._file, name))

    def add(self, record: Record) -> None:
        """Insert a record."""
        if isinstance(record, ImportedComment):
            self._add_comment(record)
        elif isinstance(record, ImportedPage):
            self._add_page(record)
        else:
            self._add_other(record)

    def skipped(self, position: str, problem: str) -> None:
        """Note a part of the file that cannot be read."""
        self._run("INSERT INTO skipped VALUES (?, ?, ?)", (self._file, position, problem))

    def _add_page(self, page: ImportedPage) -> None:
        row = (
            self._thread(page.key),
            self._file,
            page.position,
            page.url.strip(),
            page_title(page.title),
            page.closed,
            page.site,
            _encode(page.reactions) if page.reactions else None,
        )
        self._run(_THREAD, row)

    def _add_other(self, record: OtherRecord) -> None:
        row = (self._file, record.line, record.site)
        self._run("INSERT INTO other (file, line, site) VALUES (?, ?, ?)", row)

    def _thread(self, key: str) -> int:
        file = 0 if key.startswith("//") else self._file
        return self._threads.setdefault((file, key), len(self._threads) + 1)

    def _add_comment(self, comment: ImportedComment) -> None:
        self.comments += 1
        created = comment.created
        if created is None:
            created = self._last_moment or self._modified
            whose = "comment before it" if self._last_moment else "file"
            self._note(f"its date cannot be read: it has that of the {whose}")
        self._last_moment = created
        converted = self._convert(comment, created)
        item = (
            self.comments,
            self._file,
            comment.position,
            comment.id,
            comment.parent,
            self._thread(comment.page),
            int(comment.id) if comment.ours else created,
            converted.status,
            converted.dropped or None,
            converted.key,
            comment.anchor,
            converted.is_html,
            comment.is_pinned,
        )
        self._run(_ITEM, item)
        self._run(_BODY, (self.comments, comment.ours, *converted.row))
        for note in converted.notes:
            self._note(note)

    def _note(self, text: str) -> None:
        """Store a note for the report about the current comment."""
        self._run("INSERT INTO note VALUES (?, ?)", (self.comments, text))

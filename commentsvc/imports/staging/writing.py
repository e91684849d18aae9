"""Fills the staging database with what the parsers read.

Converting and inserting takes longer than parsing, so a large import does it in another process,
and converts some comments in this one when the other is behind. A small import does not, since a
process takes half a second to start.
"""

# ruff: noqa: S608 - the SQL is built from constants only

import os
import signal
import sqlite3
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import connection, get_context, parent_process
from pathlib import Path
from typing import Final, TypeAlias

import msgspec

from commentsvc.comments.submission import page_title
from commentsvc.db.sqlite.connection import register_adapters
from commentsvc.imports.records import ImportedComment, ImportedPage, OtherRecord
from commentsvc.imports.staging.convert import ConvertedComment, Converter
from commentsvc.imports.staging.reading import COLUMNS, ReadyPiece, decode_piece, encoded, ready

AHEAD: Final = 4  # tasks of the other process that wait
ENDED: Final = 1  # the exit code of a process whose parent has ended

_ITEM: Final = "INSERT INTO item VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, NULL, NULL)"
_BODY: Final = f"INSERT INTO body VALUES ({', '.join('?' * (len(COLUMNS) + 2))})"
_THREAD: Final = (
    "INSERT INTO thread (id, file, position, url, title, closed, site, reactions)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
)


class FileBegin(msgspec.Struct, frozen=True, gc=False, tag=True, array_like=True):
    """The begin of the next file, with the time of its last change in Unix milliseconds."""

    name: str
    modified: int


class SkippedPart(msgspec.Struct, frozen=True, gc=False, tag=True, array_like=True):
    """A part of the file that cannot be read."""

    position: str
    problem: str


class ConvertedPart(msgspec.Struct, frozen=True, gc=False, tag=True, array_like=True):
    """A comment of another system that is converted already, with what else an item has."""

    position: str
    page: str
    id: str
    parent: str
    created: int
    anchor: str
    is_pinned: bool
    kept: ConvertedComment


Part: TypeAlias = (
    ImportedPage | ImportedComment | ConvertedPart | OtherRecord | FileBegin | SkippedPart
)
_encode: Final = msgspec.msgpack.Encoder().encode
decode_reactions: Final = msgspec.msgpack.Decoder(dict[str, int]).decode
_decode: Final = msgspec.msgpack.Decoder(list[Part]).decode


def connect(path: Path) -> sqlite3.Connection:
    """Open the staging database, which nobody needs after a crash."""
    register_adapters()
    database = sqlite3.connect(path, isolation_level=None, uri=True)
    for pragma in (
        "journal_mode=OFF",
        "synchronous=OFF",
        "temp_store=FILE",
    ):
        database.execute(f"PRAGMA {pragma}").fetchall()
    return database


class StagingWriter:
    """Converts what the parsers read, and inserts it."""

    def __init__(self, path: Path, converter: Converter) -> None:
        self._path = path
        self._db = connect(path)
        self._db.execute("BEGIN")
        self._convert = converter.convert
        self._file = 0
        self._modified = 0
        self._threads: dict[tuple[int, str], int] = {}
        self._last_moment = 0
        self._number = 0  # the number of the last comment

    def add(self, parts: Sequence[Part]) -> None:
        """Insert the next parts, in the order of the file."""
        comments: list[ImportedComment | ConvertedPart] = []
        for part in parts:
            if isinstance(part, ImportedComment | ConvertedPart):
                comments.append(part)
            elif isinstance(part, FileBegin):
                self._insert(comments)  # which belong to the file before
                comments.clear()
                self._file += 1
                self._modified, self._last_moment = part.modified, 0
                self._db.execute("INSERT INTO file VALUES (?, ?)", (self._file, part.name))
            else:
                self._insert_other(part)
        self._insert(comments)

    def _insert_other(self, part: ImportedPage | OtherRecord | SkippedPart) -> None:
        if isinstance(part, ImportedPage):
            self._db.execute(
                _THREAD,
                (
                    self._thread(part.key),
                    self._file,
                    part.position,
                    part.url.strip(),
                    page_title(part.title),
                    part.closed,
                    part.site,
                    _encode(part.reactions) if part.reactions else None,
                ),
            )
        elif isinstance(part, OtherRecord):
            self._db.execute(
                "INSERT INTO other (file, line, site) VALUES (?, ?, ?)",
                (self._file, part.line, part.site),
            )
        else:
            row = (self._file, part.position, part.problem)
            self._db.execute("INSERT INTO skipped VALUES (?, ?, ?)", row)

    def _thread(self, key: str) -> int:
        return self._threads.setdefault((self._file, key), len(self._threads) + 1)

    def _insert(self, comments: Sequence[ImportedComment | ConvertedPart]) -> None:
        items, bodies = [], []
        for comment in comments:
            self._number += 1
            created = comment.created
            if created is None:
                created = self._last_moment or self._modified
                whose = "comment before it" if self._last_moment else "file"
                self._note(f"its date cannot be read: it has that of the {whose}")
            self._last_moment = created
            if isinstance(comment, ConvertedPart):
                kept, rank, ours = comment.kept, created, b""
            else:
                kept = self._convert(comment, created)
                rank, ours = int(comment.id) if comment.ours else created, comment.ours
            items.append(
                (
                    self._number,
                    self._file,
                    comment.position,
                    comment.id,
                    comment.parent,
                    self._thread(comment.page),
                    rank,
                    kept.status,
                    kept.dropped or None,
                    kept.key,
                    comment.anchor,
                    kept.is_html,
                    comment.is_pinned,
                )
            )
            bodies.append((self._number, ours, *kept.row))
            for note in kept.notes:
                self._note(note)
        self._db.executemany(_ITEM, items)
        self._db.executemany(_BODY, bodies)

    def _note(self, text: str) -> None:
        """Store a note for the report about the current comment."""
        self._db.execute("INSERT INTO note VALUES (?, ?)", (self._number, text))

    def close(self) -> None:
        """Commit, and close the file."""
        self._db.execute("COMMIT")
        self._db.close()

    def ready(self, number: int, size: int) -> Iterator[ReadyPiece]:
        """Yield the comments 1 to `number` that are to be stored, `size` at once."""
        return ready(self._path, 1, number, size)

    def end(self) -> None:
        """Close the file."""
        self._db.close()


_filler: StagingWriter | None = None  # of the other process


def _begin(path: Path, converter: Converter) -> None:
    """Begin to fill in this process, which ends when the process of the command ends."""
    global _filler
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command ends, and so do we
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _filler = StagingWriter(path, converter)


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None, "a pool has started this process"
    connection.wait([parent.sentinel])
    os._exit(ENDED)


def _fill(data: bytes) -> None:
    assert _filler is not None, "it has begun"
    _filler.add(_decode(data))


def _finish() -> None:
    assert _filler is not None, "it has begun"
    _filler.close()


class StagingWriterProcess:
    """A StagingWriter in another process, which afterwards reads what is to be stored."""

    def __init__(self, path: Path, converter: Converter) -> None:
        self._path = path
        self._convert = converter.convert
        self._pool = ProcessPoolExecutor(1, get_context("spawn"), _begin, (path, converter))
        self._waiting: deque[Future[None]] = deque()

    def add(self, parts: Sequence[Part]) -> None:
        """Do as `StagingWriter.add`, later. Raise what an earlier call has raised."""
        if sum(not each.done() for each in self._waiting) >= AHEAD:
            parts = [*map(self._converted, parts)]  # rather than wait for the other process
        self._waiting.append(self._pool.submit(_fill, _encode(parts)))
        while len(self._waiting) > AHEAD:
            self._waiting.popleft().result()

    def _converted(self, part: Part) -> Part:
        """Return a comment of another system with a date as it is stored; else `part`."""
        if not isinstance(part, ImportedComment) or part.created is None or part.ours:
            return part
        return ConvertedPart(
            part.position,
            part.page,
            part.id,
            part.parent,
            part.created,
            part.anchor,
            part.is_pinned,
            self._convert(part, part.created),
        )

    def close(self) -> None:
        """Wait until everything is inserted; then commit, and close the file."""
        self._waiting.append(self._pool.submit(_finish))
        while self._waiting:
            self._waiting.popleft().result()

    def ready(self, number: int, size: int) -> Iterator[ReadyPiece]:
        """Do as `StagingWriter.ready`; the next ones are read ahead."""
        waiting: deque[Future[bytes]] = deque()
        for first in range(1, number + 1, size):
            last = min(first + size - 1, number)
            waiting.append(self._pool.submit(encoded, self._path, first, last))
            if len(waiting) > AHEAD:
                yield decode_piece(waiting.popleft().result())
        for future in waiting:
            yield decode_piece(future.result())

    def end(self) -> None:
        """End the process; unfinished work is dropped."""
        self._pool.shutdown(cancel_futures=True)

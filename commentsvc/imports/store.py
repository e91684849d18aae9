"""Storing what a stage has prepared, and taking it back: functions for `Database.write`.

Each call does a piece in one transaction, which is whole or not there. Which comments are stored is
known by their keys (`imported_comment`), so doing a piece again changes nothing.
"""

from collections import Counter
from pathlib import Path
from typing import Final

import msgspec

from commentsvc.comments import statements
from commentsvc.comments.create import ThreadRef, add_to_counts
from commentsvc.comments.errors import CommentsError, UnknownSite
from commentsvc.db.sqlite import Reader, Transaction
from commentsvc.imports import native_store, staged
from commentsvc.imports.staged import ReadyComment
from commentsvc.model import AGING, APPROVED, CLOSED, site_tag, thread_tag
from commentsvc.spam import bans, training

_FIND_KEY: Final = (
    "SELECT c.id, c.thread_id FROM imported_comment AS i JOIN comment AS c ON c.id = i.comment_id"
    " WHERE i.key = ?"
)
_HAS_KEY: Final = "SELECT 1 FROM imported_comment WHERE key = ?"
_LAST_ID: Final = "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'comment'), 0)"
_INSERT: Final = (
    "INSERT INTO comment (id, site_id, thread_id, parent_id, status, created_at, published_at,"
    " edited_at, votes, token_hash, token_expires_at, author, email, avatar, author_site, role,"
    " moderator_id, reasons, source, html)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, x'', 0, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_INSERT_IMPORTED: Final = (
    "INSERT INTO imported_comment (comment_id, import_id, key, anchor, is_html)"
    " VALUES (?, ?, ?, ?, ?)"
)
_NOTE_THREAD: Final = (
    "INSERT INTO imported_thread (import_id, thread_id, is_new) VALUES (?, ?, ?)"
    " ON CONFLICT DO NOTHING"
)
_RUNS: Final = (
    "SELECT r.id, r.source, r.files, r.started_at, r.finished_at, r.undone_at,"
    " (SELECT count(*) FROM imported_comment AS i WHERE i.import_id = r.id) FROM import_run AS r"
    " ORDER BY r.id DESC"
)
_UNDO: Final = (
    "SELECT i.comment_id, c.status, s.name, t.url, c.site_id, c.thread_id,"
    " EXISTS (SELECT 1 FROM comment AS a WHERE a.parent_id = c.id)"
    " FROM imported_comment AS i LEFT JOIN comment AS c ON c.id = i.comment_id"
    " LEFT JOIN thread AS t ON t.id = c.thread_id LEFT JOIN site AS s ON s.id = c.site_id"
    " WHERE i.import_id = ? AND i.comment_id < ? ORDER BY i.comment_id DESC LIMIT ?"
)
_EMPTY: Final = (
    "UPDATE comment SET status = 'deleted', published_at = NULL, author = '', email = '',"
    " avatar = '', author_site = '', source = '', html = '' WHERE id = ?"
)
# Those that an import has made, and whether they are in use.
_THREADS: Final = (
    "SELECT t.id, s.name, t.url, t.state, t.id IN (SELECT thread_id FROM comment)"
    " OR EXISTS (SELECT 1 FROM thread AS a WHERE a.alias_id = t.id)"
    " FROM imported_thread AS h JOIN thread AS t ON t.id = h.thread_id"
    " JOIN site AS s ON s.id = t.site_id WHERE h.import_id = ? AND h.is_new"
)


class UnknownImport(CommentsError):
    """No import has this number, or it was taken back before."""


class ImportRun(msgspec.Struct, frozen=True):
    """An import that was begun. Moments are Unix milliseconds; `comments` is what is left of it."""

    id: int
    source: str
    files: str
    started_at: int
    finished_at: int | None
    undone_at: int | None
    comments: int


def runs(reader: Reader) -> list[ImportRun]:
    """Return all imports, the newest first."""
    return [ImportRun(*row) for row in reader.execute(_RUNS).fetchall()]


def is_done(reader: Reader, source: str, digest: bytes) -> bool:
    """Return whether an import of files with that digest is complete, and was not taken back."""
    return bool(
        reader.execute(
            "SELECT 1 FROM import_run WHERE source = ? AND digest = ?"
            " AND finished_at IS NOT NULL AND undone_at IS NULL",
            (source, digest),
        ).fetchone()
    )


def begin(tx: Transaction, source: str, files: str, digest: bytes, now: int) -> int:
    """Return the id of the import of these files: of one that was not finished, or a new one.

    `source` is the name of the format, `digest` is of the contents, `now` is in Unix milliseconds.
    """
    row = tx.execute(
        "SELECT id FROM import_run WHERE source = ? AND digest = ? AND finished_at IS NULL"
        " AND undone_at IS NULL ORDER BY id DESC LIMIT 1",
        (source, digest),
    ).fetchone()
    if row:
        return int(row[0])
    [(last,)] = tx.execute(_LAST_ID).fetchall()
    number = tx.execute(
        "INSERT INTO import_run (source, files, digest, keeps_ids, started_at)"
        " VALUES (?, ?, ?, ?, ?)",
        (source, files, digest, last == 0, now),
    ).lastrowid
    assert number is not None, "an INSERT gives an id"
    return number


def finish(tx: Transaction, import_id: int, now: int) -> None:
    """Note that an import is complete."""
    tx.execute("UPDATE import_run SET finished_at = ? WHERE id = ?", (now, import_id))


def add(tx: Transaction, import_id: int, path: Path, first: int, last: int, now: int) -> int:
    """Store a piece of the stage at `path`; return how many comments were new.

    What another system dates later than `now` (Unix milliseconds) gets that date: it would stay
    the newest.
    Raises UnknownSite.
    """
    rows = [
        row
        for row in staged.ready(path, first, last)
        if not tx.execute(_HAS_KEY, (row.key,)).fetchone()
    ]
    pages = _Pages(tx, import_id)
    numbers = _Numbers(tx, keeps_ids=_keeps_ids(tx, import_id))
    ids: dict[bytes, tuple[int, int]] = {}  # the comment and its thread, by key
    comments, imported, details = [], [], []
    shown: Counter[ThreadRef] = Counter()
    for row in rows:
        number = numbers.next(row)
        ref = pages.find(row)
        ids[row.key] = (number, ref.thread_id)
        approved = row.status == APPROVED
        if approved:
            shown[ref] += 1
        parent = row.parent_key and (ids.get(row.parent_key) or _find(tx, row.parent_key))
        created, published = _dates(row, now)
        comments.append(
            (
                number,
                ref.site_id,
                ref.thread_id,
                parent[0] if parent and parent[1] == ref.thread_id else None,
                row.status,
                created,
                published,
                row.edited,
                row.votes,
                *(row.author, row.email, row.avatar, row.author_site),
                *(row.role, row.moderator_id, row.reasons, row.source, row.html),
            )
        )
        imported.append((number, import_id, row.key, row.anchor, row.is_html))
        if row.ours:
            details.append((row.ours, number, ref))
    tx.execute_many(_INSERT, comments)
    tx.execute_many(_INSERT_IMPORTED, imported)
    tx.execute_many(
        "UPDATE thread SET pinned_id = ? WHERE id = ? AND pinned_id IS NULL",
        [ids[row.key] for row in rows if row.pinned and (row.ours or _may_pin(row))],
    )
    tx.execute_many(
        "UPDATE thread SET imported = 1 WHERE id = ? AND NOT imported",
        [(thread,) for thread in {ids[row.key][1] for row in rows if row.anchor}],
    )
    for line, comment_id, ref in details:
        native_store.add_details(tx, line, comment_id, ref, keeps_ids=numbers.keeps_ids)
    add_to_counts(tx, shown)
    return len(rows)


def add_others(
    tx: Transaction, import_id: int, path: Path, first: int, last: int, site: str
) -> None:
    """Store a piece of what our own export has besides comments: into `site`, or "" its own."""
    keeps_ids = _keeps_ids(tx, import_id)
    for line in staged.other_lines(path, first, last):
        native_store.add_other(tx, line, site, keeps_ids=keeps_ids)
    tx.purge(bans.TAG)


def _keeps_ids(tx: Transaction, import_id: int) -> bool:
    row = tx.execute("SELECT keeps_ids FROM import_run WHERE id = ?", (import_id,)).fetchone()
    return bool(row and row[0])


def _dates(row: ReadyComment, now: int) -> tuple[int, int | None]:
    """Return when a comment was created, and published."""
    if row.ours:
        return row.created, row.published
    if row.status != APPROVED:
        return min(row.created, now), None
    published = row.created if row.published is None else row.published
    return min(row.created, now), min(published, now)


def _may_pin(row: ReadyComment) -> bool:
    """As in `moderation.pins`; our own export may know a pinned comment that is not shown."""
    return row.status == APPROVED and row.parent_key is None


class _Numbers:
    """Gives comments their ids: those of our own export, where it may keep them, or the next."""

    def __init__(self, tx: Transaction, *, keeps_ids: bool) -> None:
        self.keeps_ids = keeps_ids
        self._tx = tx
        self._last = int(tx.execute(_LAST_ID).fetchone()[0])
        self._given: set[int] = set()

    def next(self, row: ReadyComment) -> int:
        number = self._last + 1
        if row.ours and self.keeps_ids:
            wanted = int(row.source_id)
            if wanted not in self._given and native_store.is_free(self._tx, wanted):
                number = wanted
            self._given.add(number)
        self._last = max(self._last, number)
        return number


def _find(tx: Transaction, key: bytes) -> tuple[int, int] | None:
    row = tx.execute(_FIND_KEY, (key,)).fetchone()
    return (row[0], row[1]) if row else None


class _Pages:
    """Finds, or makes, the threads of comments."""

    def __init__(self, tx: Transaction, import_id: int) -> None:
        self._tx = tx
        self._import_id = import_id
        self._known: dict[tuple[str, str], ThreadRef] = {}

    def find(self, comment: ReadyComment) -> ThreadRef:
        place = (comment.site, comment.url)
        if place not in self._known:
            self._known[place] = self._look(comment)
        return self._known[place]

    def _look(self, comment: ReadyComment) -> ThreadRef:
        run = self._tx.execute
        row = run(statements.FIND_THREAD, (comment.url, comment.site)).fetchone()
        if row is None:
            raise UnknownSite(f"no site is named {comment.site}")
        if row[5] is not None:
            row = run(statements.FIND_ALIASED, (row[5],)).fetchone()
        site_id, url, thread_id, title, state, _ = row
        is_new = thread_id is None
        if is_new:
            url, title, state = comment.url, "", AGING
            thread_id = run(statements.INSERT_THREAD, (site_id, url)).lastrowid
        becomes = CLOSED if comment.closed and is_new else state
        noted = run(_NOTE_THREAD, (self._import_id, thread_id, is_new))
        if noted.rowcount:
            run(
                "UPDATE thread SET title = ?, state = ? WHERE id = ?",
                (title or comment.title, becomes, thread_id),
            )
            self._tx.purge(thread_tag(comment.site, url))
        return ThreadRef(comment.site, url, site_id, thread_id)


def learn(tx: Transaction, import_id: int, label: str) -> int:
    """Let the newest comments of an import with that status teach the spam filter; how many."""
    rows = tx.execute(
        "SELECT c.id FROM imported_comment AS i JOIN comment AS c ON c.id = i.comment_id"
        " WHERE i.import_id = ? AND c.status = ? ORDER BY c.id DESC LIMIT ?",
        (import_id, label, training.LEARNED),
    )
    return training.learn(tx, label, [number for (number,) in rows.fetchall()])


def remove(tx: Transaction, import_id: int, before: int, most: int, now: int) -> tuple[int, int]:
    """Take back at most `most` comments of an import, of those with an id below `before`.

    Return how many were taken back, and before which id to go on: 0 at the end. A comment that
    others have answered since becomes an empty, deleted one. Raises UnknownImport.
    """
    rows = tx.execute(_UNDO, (import_id, before, most)).fetchall()
    if not rows:
        _remove_run(tx, import_id, now)
        return 0, 0
    training.update(tx, [row[0] for row in rows if row[1] is not None])
    shown: Counter[ThreadRef] = Counter()
    for number, status, site, url, site_id, thread_id, answered in rows:
        if status == APPROVED:
            shown[ThreadRef(site, url, site_id, thread_id)] -= 1
        # One after the other: an answer that goes first leaves its parent unanswered.
        if (
            answered
            and tx.execute(
                "SELECT 1 FROM comment WHERE parent_id = ? LIMIT 1", (number,)
            ).fetchone()
        ):
            tx.execute(_EMPTY, (number,))
        elif status is not None:
            tx.execute("DELETE FROM comment WHERE id = ?", (number,))
    tx.execute_many(
        "DELETE FROM imported_comment WHERE comment_id = ?", [(row[0],) for row in rows]
    )
    add_to_counts(tx, shown)
    return len(rows), rows[-1][0]


def _remove_run(tx: Transaction, import_id: int, now: int) -> None:
    """Take back what an import made of threads, and note that it is undone."""
    done = tx.execute(
        "UPDATE import_run SET undone_at = ? WHERE id = ? AND undone_at IS NULL", (now, import_id)
    )
    if not done.rowcount:
        raise UnknownImport(f"there is no import {import_id} that could be undone")
    for thread_id, site, url, state, in_use in tx.execute(_THREADS, (import_id,)).fetchall():
        if not in_use:
            tx.execute("DELETE FROM thread WHERE id = ?", (thread_id,))
        elif state == CLOSED:
            tx.execute("UPDATE thread SET state = ? WHERE id = ?", (AGING, thread_id))
        tx.purge(thread_tag(site, url), site_tag(site))
    tx.execute("DELETE FROM imported_thread WHERE import_id = ?", (import_id,))

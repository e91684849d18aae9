"""Stores staged comments, and undoes an import: functions for `Database.write`.

Each call stores a batch in one transaction, completely or not at all. The keys of stored comments
(`imported_comment`) are known, so storing a batch again changes nothing.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Final

import msgspec
from peewee import JOIN, fn

from commentsvc.comments import images
from commentsvc.comments.create import (
    ThreadRef,
    add_to_counts,
    changed,
    find_aliased,
    find_thread,
    insert_thread,
)
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.query import Param, Prepared, Select, insertion, prepared
from commentsvc.db.schema.comments import CommentTable, ReactionCountTable, SiteTable, ThreadTable
from commentsvc.db.schema.imports import ImportedCommentTable, ImportedThreadTable, ImportTable
from commentsvc.db.schema.moderation import (
    ChangeTable,
    InternalNoteTable,
    StatementOfReasonsTable,
)
from commentsvc.db.schema.outbox import FollowerTable, FollowWishTable, SubscriptionTable
from commentsvc.errors import CommentsError, UnknownSite
from commentsvc.imports.staging import reading
from commentsvc.imports.staging.reading import ReadyComment, ReadyPage, ReadyPiece
from commentsvc.imports.store import imported_records, native_store
from commentsvc.model import AGING, APPROVED, CLOSED, DELETED, site_tag
from commentsvc.spam import bans, training
from commentsvc.util.origin import address_key

KEYS: Final = 250  # keys per query


@prepared
def _find_key(key: Param) -> Select:
    return (
        ImportedCommentTable.select(CommentTable.id, CommentTable.thread)
        .join(CommentTable, on=CommentTable.id == ImportedCommentTable.comment_id)
        .where(ImportedCommentTable.key == key)
    )


def _have_keys(*keys: Param) -> Select:
    return ImportedCommentTable.select(ImportedCommentTable.key).where(
        ImportedCommentTable.key.in_(keys)
    )


_HAVE_KEYS: Final = Prepared(_have_keys, KEYS)
_EMAIL: Final = 1 + reading.COLUMNS.index("email")  # behind the status
_INSERT: Final = insertion(
    CommentTable.id,
    CommentTable.site,
    CommentTable.thread,
    CommentTable.parent,
    CommentTable.token_hash,
    CommentTable.token_expires_at,
    CommentTable.status,
    CommentTable.created_at,
    CommentTable.published_at,
    CommentTable.edited_at,
    CommentTable.votes,
    CommentTable.role,
    CommentTable.moderator,
    CommentTable.author,
    CommentTable.email,
    CommentTable.avatar,
    CommentTable.author_site,
    CommentTable.source,
    CommentTable.html,
    CommentTable.reasons,
    CommentTable.permalink,
    CommentTable.lang,
    CommentTable.reactions,
    CommentTable.email_key,
)
_INSERT_IMPORTED: Final = insertion(
    ImportedCommentTable.comment_id,
    ImportedCommentTable.import_id,
    ImportedCommentTable.key,
    ImportedCommentTable.anchor,
    ImportedCommentTable.is_html,
)


@prepared
def pin(comment_id: Param, thread_id: Param) -> Select:
    return ThreadTable.update(pinned_id=comment_id).where(
        ThreadTable.id == thread_id, ThreadTable.pinned_id.is_null()
    )


@prepared
def _describe_thread(thread_id: Param, title: Param, state: Param) -> Select:
    described = ThreadTable.update(title=title, state=state)
    return described.where(ThreadTable.id == thread_id)


@prepared
def mark_imported(thread_id: Param) -> Select:
    return ThreadTable.update(imported=1).where(
        ThreadTable.id == thread_id, ThreadTable.imported == 0
    )


def _placed_before(import_id: int, before: int, most: int) -> Select:
    """Return the query for the last comments of an import with an id below `before`."""
    answers = CommentTable.alias("answers")
    answered = answers.select(answers.id).where(answers.parent == CommentTable.id)
    return (
        ImportedCommentTable.select(
            ImportedCommentTable.comment_id,
            CommentTable.status,
            SiteTable.name,
            ThreadTable.url,
            CommentTable.site,
            CommentTable.thread,
            fn.EXISTS(answered),
        )
        .join(
            CommentTable,
            JOIN.LEFT_OUTER,
            on=CommentTable.id == ImportedCommentTable.comment_id,
        )
        .join(ThreadTable, JOIN.LEFT_OUTER, on=ThreadTable.id == CommentTable.thread)
        .join(SiteTable, JOIN.LEFT_OUTER, on=SiteTable.id == ThreadTable.site)
        .where(
            ImportedCommentTable.import_id == import_id,
            ImportedCommentTable.comment_id < before,
        )
        .order_by(ImportedCommentTable.comment_id.desc())
        .limit(most)
    )


@prepared
def _has_answer(comment_id: Param) -> Select:
    return CommentTable.select(CommentTable.id).where(CommentTable.parent == comment_id).limit(1)


@prepared
def _empty(comment_id: Param) -> Select:
    columns = ("author", "email", "email_key", "avatar", "author_site", "source", "html")
    nothing = dict.fromkeys(columns, "")
    emptied = CommentTable.update(status=DELETED, published_at=None, reader_id=None, **nothing)
    return emptied.where(CommentTable.id == comment_id)


@prepared
def _delete(comment_id: Param) -> Select:
    return CommentTable.delete().where(CommentTable.id == comment_id)


@prepared
def _drop_history(comment_id: Param) -> Select:
    return ChangeTable.delete().where(ChangeTable.comment == comment_id)


@prepared
def _forget_key(comment_id: Param) -> Select:
    return ImportedCommentTable.delete().where(ImportedCommentTable.comment_id == comment_id)


def _used_threads(import_id: int) -> Select:
    """Return the query for threads of an import, whether it made them, and they are in use."""
    alias = ThreadTable.alias("alias")
    aliases = alias.select(alias.id).where(alias.aliased == ThreadTable.id)
    has_comments = ThreadTable.id.in_(CommentTable.select(CommentTable.thread))
    has_reactions = ThreadTable.id.in_(ReactionCountTable.select(ReactionCountTable.thread))
    of_pages = FollowerTable.thread.is_null(False)
    has_followers = ThreadTable.id.in_(FollowerTable.select(FollowerTable.thread).where(of_pages))
    return (
        ImportedThreadTable.select(
            ThreadTable.id,
            SiteTable.name,
            ThreadTable.url,
            ThreadTable.state,
            ImportedThreadTable.is_new,
            has_comments | has_reactions | has_followers | fn.EXISTS(aliases),
            ThreadTable.site,
        )
        .join(ThreadTable)
        .join(SiteTable)
        .where(ImportedThreadTable.import_id == import_id)
    )


class UnknownImport(CommentsError):
    """No import has this id, or it was undone before."""


class ImportRun(msgspec.Struct, frozen=True):
    """An import. Times are Unix milliseconds; `comments` is how many of them still exist."""

    id: int
    source: str
    files: str
    started_at: int
    finished_at: int | None
    undone_at: int | None
    comments: int


def runs(snapshot: Snapshot) -> list[ImportRun]:
    """Return all imports, the newest first."""
    left = ImportedCommentTable.select(fn.COUNT(ImportedCommentTable.comment_id)).where(
        ImportedCommentTable.import_id == ImportTable.id
    )
    query = ImportTable.select(
        ImportTable.id,
        ImportTable.source,
        ImportTable.files,
        ImportTable.started_at,
        ImportTable.finished_at,
        ImportTable.undone_at,
        left,
    )
    return [ImportRun(*row) for row in snapshot.query(query.order_by(ImportTable.id.desc()))]


def is_done(snapshot: Snapshot, source: str, digest: bytes) -> bool:
    """Return whether an import of files with that digest is complete, and not undone."""
    complete = _of_files(source, digest).where(ImportTable.finished_at.is_null(False))
    return snapshot.first(complete) is not None


def _of_files(source: str, digest: bytes) -> Select:
    return ImportTable.select(ImportTable.id).where(
        ImportTable.source == source,
        ImportTable.digest == digest,
        ImportTable.undone_at.is_null(),
    )


def begin(tx: Transaction, source: str, files: str, digest: bytes, now: int) -> int:
    """Return the id of the import of these files: of an unfinished one, or of a new one.

    `source` is the name of the format, `digest` that of the contents, `now` is in Unix
    milliseconds.
    """
    begun = _of_files(source, digest).where(ImportTable.finished_at.is_null())
    row = tx.first(begun.order_by(ImportTable.id.desc()))
    if row is None:
        new = ImportTable.insert(
            source=source,
            files=files,
            digest=digest,
            keeps_ids=int(tx.last_id("comment") == 0),
            started_at=now,
        )
        [row] = tx.query(new.returning(ImportTable.id))
    return int(row[0])


def finish(tx: Transaction, import_id: int, now: int) -> None:
    """Note that an import is complete."""
    tx.change(ImportTable.update(finished_at=now).where(ImportTable.id == import_id))


def add(tx: Transaction, import_id: int, pieces: Iterable[ReadyPiece], now: int) -> int:
    """Store a batch of staged comments; return how many were new.

    A comment of another system with a date after `now` (Unix milliseconds) gets that time, since it
    would stay the newest one. Raise UnknownSite.
    """
    batch = _Batch(tx, import_id, now)
    for piece in pieces:
        batch.add(piece)
    batch.finish()
    return batch.number


class _Batch:
    """Stores the pieces of a batch."""

    def __init__(self, tx: Transaction, import_id: int, now: int) -> None:
        self.number = 0  # of new comments
        self._tx = tx
        self._import_id = import_id
        self._now = now
        self._threads = ThreadFinder(tx, import_id)
        self._numbers = _Numbers(tx, keeps_ids=_keeps_ids(tx, import_id))
        self._ids: dict[bytes, tuple[int, int]] = {}  # the comment and its thread, by key
        self._shown: Counter[ThreadRef] = Counter()

    def add(self, piece: ReadyPiece) -> None:
        """Store the comments of a piece that are not stored yet."""
        comments, imported, pinned, details = [], [], [], []
        linked: set[int] = set()
        pages = {page.id: page for page in piece.pages}
        ids, refs, now = self._ids, self._threads.known, self._now
        rows = _missing(self._tx, piece.comments)
        for ready in rows:
            key, parent_key, source_id, page, row, anchor, is_html, is_pinned, ours = ready
            number = self._numbers.next(source_id if ours else "")
            ref = refs.get(page) or self._threads.find(pages[page])
            thread_id = ref.thread_id
            ids[key] = stored = (number, thread_id)
            is_approved = row[0] == APPROVED
            if is_approved:
                self._shown[ref] += 1
            parent = None
            if parent_key:
                found = ids.get(parent_key) or _find(self._tx, parent_key)
                parent = found[0] if found and found[1] == thread_id else None
            if not ours and (row[1] > now or (row[2] or 0) > now):
                row = (row[0], *_past(row[1:3], now), *row[3:])
            email_key = address_key(row[_EMAIL])
            comments.append((number, ref.site_id, thread_id, parent, b"", 0, *row, email_key))
            imported.append((number, self._import_id, key, anchor, int(is_html)))
            if anchor:
                linked.add(thread_id)
            # As in `moderation.pins`; in our own export, a pinned comment may be unpublished.
            if is_pinned and (ours or (is_approved and parent_key is None)):
                pinned.append(stored)
            if ours:
                details.append((ours, number, ref))
        imported.sort(key=itemgetter(2))  # neighbours in the index of keys are inserted faster
        self._tx.change_each(_INSERT, comments)
        self._tx.change_each(_INSERT_IMPORTED, imported)
        self._tx.change_each(pin, pinned)
        self._tx.change_each(mark_imported, [(thread_id,) for thread_id in linked])
        for line, number, ref in details:
            keeps_ids = self._numbers.keeps_ids
            details_of = (line, number, ref, self._import_id)
            native_store.add_details(self._tx, *details_of, keeps_ids=keeps_ids)
        self.number += len(rows)

    def finish(self) -> None:
        """Add the published comments to the counts, and go on with ids after the last one."""
        self._tx.advance_ids("comment", self._numbers.last)
        add_to_counts(self._tx, self._shown)


def _missing(tx: Transaction, rows: Sequence[ReadyComment]) -> Sequence[ReadyComment]:
    """Return the `rows` that are not stored yet."""
    stored: set[bytes] = set()
    for first in range(0, len(rows), KEYS):
        keys = [row.key for row in rows[first : first + KEYS]]
        keys += [b""] * (KEYS - len(keys))
        stored.update(key for (key,) in tx.query(_HAVE_KEYS, *keys))
    return [row for row in rows if row.key not in stored] if stored else rows


def _past(moments: Sequence[int | None], now: int) -> list[int | None]:
    return [None if moment is None else min(moment, now) for moment in moments]


def add_others(
    tx: Transaction, import_id: int, path: Path, first: int, last: int, site: str
) -> None:
    """Store a batch of our own export's other records in `site`, or for "" in their own."""
    keeps_ids = _keeps_ids(tx, import_id)
    for line in reading.other_lines(path, first, last):
        native_store.add_other(tx, line, site, import_id, keeps_ids=keeps_ids)
    tx.purge(bans.TAG)


def _keeps_ids(tx: Transaction, import_id: int) -> bool:
    row = tx.first(ImportTable.select(ImportTable.keeps_ids).where(ImportTable.id == import_id))
    return bool(row and row[0])


class _Numbers:
    """Assigns ids to comments: those of our own export if they are free, or the next ones."""

    def __init__(self, tx: Transaction, *, keeps_ids: bool) -> None:
        self.keeps_ids = keeps_ids
        self._tx = tx
        self.last = tx.last_id("comment")
        self._given: set[int] = set()

    def next(self, own: str) -> int:
        """Return the id of the next comment; `own` is its id in our own export, else ""."""
        number = self.last + 1
        if own and self.keeps_ids:
            wanted = int(own)
            if wanted not in self._given and native_store.is_free(self._tx, wanted):
                number = wanted
            self._given.add(number)
        if number > self.last:
            self.last = number
        return number


def _find(tx: Transaction, key: bytes) -> tuple[int, int] | None:
    row = tx.first(_find_key, key)
    return (row[0], row[1]) if row else None


class ThreadFinder:
    """Finds, or makes, the threads of comments."""

    def __init__(self, tx: Transaction, import_id: int) -> None:
        self._tx = tx
        self._import_id = import_id
        self.known: dict[int, ThreadRef] = {}  # by the id of the page

    def find(self, page: ReadyPage) -> ThreadRef:
        """Return the thread of a page; those in `known` need no call."""
        if page.id not in self.known:
            self.known[page.id] = self._find(page)
        return self.known[page.id]

    def _find(self, page: ReadyPage) -> ThreadRef:
        row = self._tx.first(find_thread, page.url, page.site)
        if row is None:
            raise UnknownSite(f"no site is named {page.site}")
        if row[5] is not None:
            row = self._tx.first(find_aliased, row[5])
            assert row is not None, "an alias stands for a thread"
        site_id, url, thread_id, title, state, *_ = row
        is_new = thread_id is None
        if is_new:
            url, title, state = page.url, "", AGING
            thread_id = self._tx.insert(insert_thread, (site_id, url))
        becomes = CLOSED if page.closed and is_new else state
        if self._tx.change(imported_records.note_thread, self._import_id, thread_id, int(is_new)):
            self._tx.change(_describe_thread, thread_id, title or page.title, becomes)
            if page.title and not title:
                noted = (self._import_id, imported_records.TITLE, thread_id, page.title)
                imported_records.note(self._tx, *noted)
            changed(self._tx, ThreadRef(page.site, url, site_id, thread_id))
        return ThreadRef(page.site, url, site_id, thread_id)


def learn(tx: Transaction, import_id: int, label: str) -> int:
    """Train the spam filter with the newest comments of an import; return how many."""
    newest = (
        ImportedCommentTable.select(CommentTable.id)
        .join(CommentTable, on=CommentTable.id == ImportedCommentTable.comment_id)
        .where(ImportedCommentTable.import_id == import_id, CommentTable.status == label)
        .order_by(CommentTable.id.desc())
        .limit(training.LEARNED)
    )
    return training.learn(tx, label, [number for (number,) in tx.query(newest)])


def remove(tx: Transaction, import_id: int, before: int, most: int, now: int) -> tuple[int, int]:
    """Delete at most `most` comments of an import, of those with an id below `before`.

    Return how many were deleted, and the next value of `before`, 0 at the end. A comment with
    replies of others becomes an empty, deleted one. Raise UnknownImport.
    """
    rows = tx.query(_placed_before(import_id, before, most))
    if not rows:
        _remove_run(tx, import_id, now)
        return 0, 0
    ids = [row[0] for row in rows if row[1] is not None]
    tx.change_each(_drop_history, [(comment_id,) for comment_id in ids])
    training.update(tx, ids)  # nobody has decided on them any more
    shown: Counter[ThreadRef] = Counter()
    for number, status, site, url, site_id, thread_id, answered in rows:
        if status == APPROVED:
            shown[ThreadRef(site, url, site_id, thread_id)] -= 1
        # One after the other: deleting a reply may leave its parent without replies.
        if answered and tx.first(_has_answer, number):
            images.remove(tx, number)
            about = (SubscriptionTable, FollowWishTable, StatementOfReasonsTable, InternalNoteTable)
            for table in about:
                tx.change(table.delete().where(table.comment == number))
            tx.change(_empty, number)
        elif status is not None:
            tx.change(_delete, number)
    tx.change_each(_forget_key, [(row[0],) for row in rows])
    add_to_counts(tx, shown)
    return len(rows), rows[-1][0]


def _remove_run(tx: Transaction, import_id: int, now: int) -> None:
    """Delete what else an import added, and the threads that it made; mark it as undone."""
    run = ImportTable.select(ImportTable.started_at)
    row = tx.first(run.where(ImportTable.id == import_id, ImportTable.undone_at.is_null()))
    if row is None:
        raise UnknownImport(f"there is no import {import_id} that could be undone")
    tx.change(ImportTable.update(undone_at=now).where(ImportTable.id == import_id))
    imported_records.take_back(tx, import_id, row[0])
    query = _used_threads(import_id)
    for thread_id, site, url, state, is_new, in_use, site_id in tx.query(query):
        if is_new and not in_use:
            tx.change(ThreadTable.delete().where(ThreadTable.id == thread_id))
        elif is_new and state == CLOSED:
            tx.change(ThreadTable.update(state=AGING).where(ThreadTable.id == thread_id))
        changed(tx, ThreadRef(site, url, site_id, thread_id))
        tx.purge(site_tag(site))
    tx.change(ImportedThreadTable.delete().where(ImportedThreadTable.import_id == import_id))

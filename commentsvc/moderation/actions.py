"""Moderation actions: change the status or text of comments, record it, and undo it.

Only this module changes a comment's status, and its text for a moderator. `model.MOVES` lists the
allowed changes of status; a comment for which a change is not allowed, or changes nothing, is left
alone and reported. Every change is a row of the table `change` in the same transaction. All rows of
one decision have the same `decision_id`, so that a decision on a hundred comments is undone as one.
A row is never deleted: undoing marks it. What a decision teaches the spam filter is stored, and
taken back, with it.

A change can be undone only while it is the comment's last, so that nobody overrules a later
decision by accident. A comment that was visible before comes back to its old place in the thread.

    CommentsError
      UnknownComment   no comments have these ids
      NothingToUndo    there is no such decision or change, or it was undone before
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final, NamedTuple

import msgspec

from commentsvc.comments import images, titles
from commentsvc.comments.create import ThreadRef, add_to_counts, last_published
from commentsvc.comments.rendering import render
from commentsvc.db import statements
from commentsvc.db.connection import Reader, Row, Transaction
from commentsvc.db.query import Param, Select, prepared
from commentsvc.db.schema.comments import CommentTable
from commentsvc.db.schema.moderation import ChangeTable
from commentsvc.errors import NothingToUndo, UnknownComment
from commentsvc.feedback import reports
from commentsvc.model import APPROVED, CLASSIFIER, MOVES, STATUS, TEXT
from commentsvc.outbox import outbox
from commentsvc.readers import follows, subscriptions
from commentsvc.spam import training
from commentsvc.util.i18n import gettext as _

# Changes of a comment in an answer. Each edit by its author is one, and has the text twice.
SHOWN: Final = 50
EVERYTHING: Final = 2**31 - 1


class ChangeResult(msgspec.Struct, frozen=True, gc=False):
    """The result of a decision: its id (0 if it changed nothing), and the changed comments.

    `unchanged` are the ids of the comments that it left alone, with their status.
    """

    decision_id: int
    changed: tuple[int, ...]
    unchanged: dict[int, str]


class Signature(NamedTuple):
    """The name and the web site of a comment's author."""

    author: str
    site: str


class HistoryEntry(msgspec.Struct, frozen=True, gc=False):
    """An entry of a comment's history. Times are Unix milliseconds; see db.schema.moderation."""

    id: int
    decision_id: int
    comment_id: int
    field: str
    old: str
    new: str
    created_at: int
    actor: str
    undone_at: int | None
    undone_by: str | None


def change(tx: Transaction, ids: Iterable[int], to: str, who: str, now: int) -> ChangeResult:
    """Set the status of the comments `ids` to `to` at the time `now` (Unix milliseconds).

    `who` is a moderator's name or a constant such as AUTHOR. Comments that may not become `to` (see
    MOVES) stay unchanged. The reports on all of them are deleted. Raise UnknownComment with all
    unknown ids; then nothing is changed.
    """
    [(act,)] = tx.execute(statements.NEXT_ACT).fetchall()
    changed, unchanged, shown = [], {}, Counter[ThreadRef]()
    waited = []
    found = _find(tx, ids)
    reports.delete(tx, (comment_id for comment_id, *_rest in found))
    for comment_id, ref, status, published in found:
        if status not in MOVES[to]:
            unchanged[comment_id] = status
            continue
        row = (act, comment_id, STATUS, status, to, published, now, who)
        tx.execute(statements.INSERT_CHANGE, row)
        if to == APPROVED and published is None:
            published = max(now, last_published(tx, ref.site_id))
            waited.append(comment_id)
        tx.execute(statements.SET_STATUS, (to, published, comment_id))
        _count_change(shown, ref, status, to)
        changed.append(comment_id)
    titles.refresh(tx, changed)
    add_to_counts(tx, shown)
    for comment_id in changed if to == APPROVED else ():
        subscriptions.published(tx, comment_id, comment_id, now)
        follows.published(tx, comment_id, comment_id, now)
    for comment_id in waited if who != CLASSIFIER else ():  # its answer takes a second
        subscriptions.approved(tx, comment_id, now)
    training.update(tx, changed)
    outbox.changed(tx, changed, now)
    return ChangeResult(act if changed else 0, tuple(changed), unchanged)


def edit(tx: Transaction, comment_id: int, source: str, who: str, now: int) -> ChangeResult:
    """Replace the text of a comment, Markdown of an allowed length, at the time `now`.

    The old text stays in the history. Raise UnknownComment.
    """
    [(_, ref, status, _)] = _find(tx, [comment_id])
    [(was, edited)] = tx.execute(statements.TEXT_OF, (comment_id,)).fetchall()
    if was == source:
        return ChangeResult(0, (), {comment_id: status})
    [(act,)] = tx.execute(statements.NEXT_ACT).fetchall()
    row = (act, comment_id, TEXT, was, source, edited, now, who)
    tx.execute(statements.INSERT_CHANGE, row)
    html = render(tx, ref.thread_id, source, comment_id)
    tx.execute(statements.SET_TEXT, (source, html, now, comment_id))
    images.link(tx, comment_id, source)
    if status == APPROVED:
        add_to_counts(tx, {ref: 0})
    outbox.changed(tx, [comment_id], now)
    return ChangeResult(act, (comment_id,), {})


def sign(tx: Transaction, comment_id: int, signature: Signature, now: int) -> bool:
    """Change the name and web site of a comment at the time `now`; return whether they differed.

    The old ones are in no history. Raise UnknownComment.
    """
    [(_, ref, status, _)] = _find(tx, [comment_id])
    author, site = signature
    differs = (CommentTable.author != author) | (CommentTable.author_site != site)
    changed = CommentTable.update(author=author, author_site=site, edited_at=now)
    if not tx.change(changed.where(CommentTable.id == comment_id, differs)):
        return False
    if status == APPROVED:
        add_to_counts(tx, {ref: 0})
    outbox.changed(tx, [comment_id], now)
    return True


def undo(tx: Transaction, act: int, who: str, now: int) -> ChangeResult:
    """Take back the changes of the decision `act` at the time `now` (Unix milliseconds).

    Comments that were changed again since then stay unchanged. Raise NothingToUndo.
    """
    rows = tx.execute(statements.CHANGES_OF_ACT, (act,)).fetchall()
    if not rows:
        raise NothingToUndo(_("decision %(number)s does not exist, or has been undone", number=act))
    return _undo(tx, rows, who, now)


def undo_last(tx: Transaction, ids: Iterable[int], who: str, now: int) -> ChangeResult:
    """Take back the last change of each of the comments `ids` at the time `now`.

    Raise UnknownComment, and NothingToUndo for the first that was never changed.
    """
    rows = []
    for comment_id, *_rest in _find(tx, ids):
        row = tx.execute(statements.LAST_CHANGE, (comment_id,)).fetchone()
        if row is None:
            raise NothingToUndo(
                _("comment %(number)s has no change that could be undone", number=comment_id)
            )
        rows.append(row)
    return _undo(tx, rows, who, now)


@prepared
def newest_act(who: Param) -> Select:
    """Return the query for the newest decision of `who` that is not undone.

    It asks for a range of actors: to find one actor's, PostgreSQL may read all newer changes.
    """
    return (
        ChangeTable.select(ChangeTable.decision_id)
        .where(
            ChangeTable.actor.between(who, who),
            ChangeTable.undone_at.is_null(),
            ChangeTable.field != "thread",
        )
        .order_by(ChangeTable.actor.desc(), ChangeTable.id.desc())
        .limit(1)
    )


def last_act(reader: Reader, who: str) -> int:
    """Return the newest decision of `who` that is not undone; 0 if there is none."""
    row = reader.first(newest_act, who)
    return row[0] if row else 0


def history(reader: Reader, comment_id: int, most: int = EVERYTHING) -> list[HistoryEntry]:
    """Return the history of a comment, the newest entry first; [] for an unknown comment.

    There are `most` entries at most.
    """
    rows = reader.execute(statements.HISTORY, (comment_id, most))
    return [HistoryEntry(*row) for row in rows.fetchall()]


def last_changes(reader: Reader, comment_id: int, field: str) -> list[HistoryEntry]:
    """Return the last SHOWN changes of a comment's `field`, the newest first."""
    rows = reader.execute(statements.HISTORY_OF_FIELD, (comment_id, field, SHOWN))
    return [HistoryEntry(*row) for row in rows.fetchall()]


def _find(tx: Transaction, ids: Iterable[int]) -> list[tuple[int, ThreadRef, str, int | None]]:
    """Return id, thread, status and publication time of each comment, each once."""
    found, unknown = [], []
    for comment_id in dict.fromkeys(ids):
        row = tx.execute(statements.FIND_COMMENT, (comment_id,)).fetchone()
        if row is None:
            unknown.append(comment_id)
        else:
            found.append((comment_id, ThreadRef(*row[:4]), *row[4:]))
    if unknown:
        raise UnknownComment(unknown)
    return found


def _undo(tx: Transaction, rows: Iterable[Row], who: str, now: int) -> ChangeResult:
    """Take back the changes in `rows`, which come from CHANGES_OF_ACT or LAST_CHANGE."""
    changed, unchanged, shown = [], {}, Counter[ThreadRef]()
    for *ref, comment_id, status, change_id, what, was, moment, changed_again in rows:
        if changed_again:
            unchanged[comment_id] = status
            continue
        if what == TEXT:
            html = render(tx, ThreadRef(*ref).thread_id, was, comment_id)
            tx.execute(statements.SET_TEXT, (was, html, moment, comment_id))
            images.link(tx, comment_id, was)
            if status == APPROVED:
                shown[ThreadRef(*ref)] += 0  # only to purge
        else:
            tx.execute(statements.SET_STATUS, (was, moment, comment_id))
            _count_change(shown, ThreadRef(*ref), status, was)
        tx.execute(statements.MARK_UNDONE, (now, who, change_id))
        changed.append(comment_id)
    titles.refresh(tx, changed)
    add_to_counts(tx, shown)
    training.update(tx, changed)
    outbox.changed(tx, changed, now)
    return ChangeResult(0, tuple(changed), unchanged)


def _count_change(shown: Counter[ThreadRef], ref: ThreadRef, was: str, becomes: str) -> None:
    """Add to `shown` how the number of visible comments changes from `was` to `becomes`."""
    if APPROVED in (was, becomes):
        shown[ref] += 1 if becomes == APPROVED else -1

"""Undo: take back a whole decision, or the last change of comments.

Undoing marks a row of the history, deletes none, and takes back what the decision taught the spam
filter. A change can be undone only while it is the comment's last, so that nobody overrules a
later decision by accident. A comment that was visible before comes back to its old position in the
thread.
"""

from collections import Counter
from collections.abc import Iterable

from peewee import fn

from commentsvc import outbox
from commentsvc.comments import images, titles
from commentsvc.comments.create import ThreadRef, add_to_counts
from commentsvc.comments.rendering import render
from commentsvc.db.connection import Row, Snapshot, Transaction
from commentsvc.db.query import Param, Select, prepared
from commentsvc.db.schema.comments import CommentTable, SiteTable, ThreadTable
from commentsvc.db.schema.moderation import ChangeTable
from commentsvc.errors import NothingToUndo
from commentsvc.feedback import reports
from commentsvc.model import APPROVED, LANGUAGE, STATUS, TEXT
from commentsvc.moderation import changes, decision_counts, notices, statements
from commentsvc.moderation.changes import ChangeResult
from commentsvc.spam import training
from commentsvc.util.i18n import gettext as _


def _undoable(condition: object) -> Select:
    """Return the query for changes with their thread, and whether there is a later one."""
    later = ChangeTable.alias()
    again = later.select(1).where(
        later.comment == ChangeTable.comment,
        later.id > ChangeTable.id,
        later.field == ChangeTable.field,
        later.undone_at.is_null(),
    )
    return (
        ChangeTable.select(
            SiteTable.name,
            ThreadTable.url,
            CommentTable.site,
            CommentTable.thread,
            ChangeTable.comment,
            CommentTable.status,
            ChangeTable.id,
            ChangeTable.field,
            ChangeTable.old,
            ChangeTable.old_at,
            ChangeTable.created_at,
            fn.EXISTS(again),
        )
        .join(CommentTable, on=CommentTable.id == ChangeTable.comment)
        .join(ThreadTable, on=ThreadTable.id == CommentTable.thread)
        .join(SiteTable, on=SiteTable.id == CommentTable.site)
        .where(ChangeTable.undone_at.is_null(), ChangeTable.field != "thread", condition)
    )


@prepared
def _changes_of_decision(decision_id: Param) -> Select:
    return _undoable(ChangeTable.decision_id == decision_id).order_by(ChangeTable.id)


@prepared
def _last_change(comment_id: Param) -> Select:
    found = _undoable(ChangeTable.comment == comment_id)
    return found.order_by(ChangeTable.id.desc()).limit(1)


@prepared
def _mark_undone(undone_at: Param, undone_by: Param, change_id: Param) -> Select:
    marked = ChangeTable.update(undone_at=undone_at, undone_by=undone_by)
    return marked.where(ChangeTable.id == change_id)


def decision(tx: Transaction, decision_id: int, who: str, now: int) -> ChangeResult:
    """Take back the changes of the decision `decision_id` at the time `now` (Unix milliseconds).

    Comments that were changed again since then stay unchanged. Raise NothingToUndo.
    """
    rows = tx.query(_changes_of_decision, decision_id)
    if not rows:
        raise NothingToUndo(
            _("decision %(number)s does not exist, or has been undone", number=decision_id)
        )
    statements.withdraw_kept(tx, decision_id)
    return _undo(tx, rows, who, now)


def last(tx: Transaction, ids: Iterable[int], who: str, now: int) -> ChangeResult:
    """Take back the last change of each of the comments `ids` at the time `now`.

    Raise UnknownComment, and NothingToUndo for the first that was never changed.
    """
    rows = []
    for comment_id, *_rest in changes.find(tx, ids):
        row = tx.first(_last_change, comment_id)
        if row is None:
            raise NothingToUndo(
                _("comment %(number)s has no change that could be undone", number=comment_id)
            )
        rows.append(row)
    return _undo(tx, rows, who, now)


@prepared
def newest_decision(who: Param) -> Select:
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


def last_decision(snapshot: Snapshot, who: str) -> int:
    """Return the newest decision of `who` that is not undone; 0 if there is none."""
    row = snapshot.first(newest_decision, who)
    return row[0] if row else 0


def _undo(tx: Transaction, rows: Iterable[Row], who: str, now: int) -> ChangeResult:
    """Take back the changes in `rows`, which come from `_undoable`."""
    changed, restored, unchanged, shown = [], [], {}, Counter[ThreadRef]()
    decided = []
    for *ref, comment_id, status, change_id, what, was, moment, made, changed_again in rows:
        if changed_again:
            unchanged[comment_id] = status
            continue
        if what == TEXT:
            html = render(tx, ThreadRef(*ref).thread_id, was, comment_id)
            tx.change(changes.set_text, was, html, moment, comment_id)
            images.link(tx, comment_id, was)
        elif what == LANGUAGE:
            tx.change(changes.set_language, was, comment_id)
        else:
            tx.change(changes.set_status, was, moment, comment_id)
            changes.count_change(shown, ThreadRef(*ref), status, was)
            restored += [comment_id] * (was == APPROVED)
            decided.append((comment_id, made, ThreadRef(*ref).site_id))
        if what != STATUS and status == APPROVED:
            shown[ThreadRef(*ref)] += 0  # only to purge
        tx.change(_mark_undone, now, who, change_id)
        changed.append(comment_id)
    statements.withdraw(tx, [each[:2] for each in decided])
    titles.refresh(tx, changed)
    add_to_counts(tx, shown)
    training.update(tx, changed)
    outbox.changed(tx, changed, now)
    waiting = decision_counts.open_reports(tx, restored)
    decision_counts.count_undone(tx, [each[2] for each in decided], waiting, who, now)
    notices.decided(tx, reports.take(tx, restored), (), APPROVED, who, now)
    return ChangeResult(0, tuple(changed), unchanged)

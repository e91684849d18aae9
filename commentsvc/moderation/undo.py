"""Undo: take back a whole decision, or the last change of comments.

A row of the history is never deleted: undoing marks it, and takes back what the decision taught the
spam filter. A change can be undone only while it is the comment's last, so that nobody overrules a
later decision by accident. A comment that was visible before comes back to its old place in the
thread.
"""

from collections import Counter
from collections.abc import Iterable

from commentsvc.comments import images, titles
from commentsvc.comments.create import ThreadRef, add_to_counts
from commentsvc.comments.rendering import render
from commentsvc.db import statements
from commentsvc.db.connection import Reader, Row, Transaction
from commentsvc.db.query import Param, Select, prepared
from commentsvc.db.schema.moderation import ChangeTable
from commentsvc.errors import NothingToUndo
from commentsvc.model import APPROVED, TEXT
from commentsvc.moderation import changes
from commentsvc.moderation.changes import ChangeResult
from commentsvc.outbox import outbox
from commentsvc.spam import training
from commentsvc.util.i18n import gettext as _


def decision(tx: Transaction, act: int, who: str, now: int) -> ChangeResult:
    """Take back the changes of the decision `act` at the time `now` (Unix milliseconds).

    Comments that were changed again since then stay unchanged. Raise NothingToUndo.
    """
    rows = tx.execute(statements.CHANGES_OF_ACT, (act,)).fetchall()
    if not rows:
        raise NothingToUndo(_("decision %(number)s does not exist, or has been undone", number=act))
    return _undo(tx, rows, who, now)


def last(tx: Transaction, ids: Iterable[int], who: str, now: int) -> ChangeResult:
    """Take back the last change of each of the comments `ids` at the time `now`.

    Raise UnknownComment, and NothingToUndo for the first that was never changed.
    """
    rows = []
    for comment_id, *_rest in changes.find(tx, ids):
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
            changes.count_change(shown, ThreadRef(*ref), status, was)
        tx.execute(statements.MARK_UNDONE, (now, who, change_id))
        changed.append(comment_id)
    titles.refresh(tx, changed)
    add_to_counts(tx, shown)
    training.update(tx, changed)
    outbox.changed(tx, changed, now)
    return ChangeResult(0, tuple(changed), unchanged)

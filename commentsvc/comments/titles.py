"""Titles of pages, which come from approved comments or from moderators.

A submission contains the title of its page, and anybody can send any text. So the title waits with
the comment, in `proposed_title`, as long as the thread has none. It becomes the page's title when
the comment is approved, and is removed when the comment is. A title set by a moderator stays.
"""

from collections.abc import Iterable, Sequence

from peewee import Case, fn

from commentsvc.db.connection import Transaction
from commentsvc.db.query import Param, Select, literal, prepared
from commentsvc.db.schema.comments import CommentTable, ProposedTitleTable, ThreadTable
from commentsvc.model import APPROVED


@prepared
def _propose(comment_id: Param, title: Param) -> Select:
    return ProposedTitleTable.insert(comment=comment_id, title=title)


@prepared
def _refresh(comment_id: Param) -> Select:
    """Return the query that sets a thread's title after the status of a comment has changed.

    It changes threads that have no title, or the one proposed by this comment, which may be spam
    now. The new title is that of the approved comment with a title that was published first.
    """
    own, changed = ProposedTitleTable.alias("own"), CommentTable.alias("changed")
    first = (
        ProposedTitleTable.select(ProposedTitleTable.title)
        .join(CommentTable)
        .where(
            CommentTable.thread == ThreadTable.id,
            CommentTable.status == literal(APPROVED),
        )
        .order_by(CommentTable.published_at, CommentTable.id)
        .limit(1)
    )
    is_shown = changed.status == APPROVED
    return (
        ThreadTable.update(title=fn.COALESCE(first, ""))
        .from_(own, changed)
        .where(
            own.comment == comment_id,
            changed.id == own.comment,
            ThreadTable.id == changed.thread,
            ThreadTable.title == Case(None, [(is_shown, "")], own.title),
        )
    )


def propose(tx: Transaction, proposals: Sequence[tuple[int, str]]) -> None:
    """Store the titles that comments were sent with; each proposal is an id and a title."""
    tx.change_each(_propose, proposals)


def refresh(tx: Transaction, comment_ids: Iterable[int]) -> None:
    """Update the titles of pages after the status of comments changed; the caller purges."""
    for comment_id in comment_ids:
        tx.change(_refresh, comment_id)

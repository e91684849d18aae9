"""Titles of pages, which come from approved comments or from moderators.

A submission says what its page is called, and anybody can say anything. So what it says waits with
it, in `proposed_title`, as long as the thread has no title: it names the page when the comment is
approved, and names it no longer when the comment is withdrawn. What a moderator writes stays.
"""

from collections.abc import Iterable, Sequence

from peewee import Case, fn

from commentsvc.db.query import Param, Select, literal, prepared
from commentsvc.db.schema.comments import CommentTable, ProposedTitleTable, ThreadTable
from commentsvc.db.sqlite import Transaction
from commentsvc.model import APPROVED


@prepared
def _propose(comment_id: Param, title: Param) -> Select:
    return ProposedTitleTable.insert(comment=comment_id, title=title)


@prepared
def _refresh(comment_id: Param) -> Select:
    """Return the thread has no title yet, or has that of this comment, which may have become spam.

    Its title is then that of the approved comment that was published first and came with one.
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
    """Keep the titles that comments, named by their ids, came with."""
    tx.change_each(_propose, proposals)


def refresh(tx: Transaction, comment_ids: Iterable[int]) -> None:
    """Name the pages of comments whose status has changed; who calls purges their tags."""
    for comment_id in comment_ids:
        tx.change(_refresh, comment_id)

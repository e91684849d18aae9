"""Pins: a page can have one pinned comment, which is shown first in every order."""

from commentsvc.comments import queries
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.schema.comments import CommentTable, ThreadTable
from commentsvc.errors import NotPinnable
from commentsvc.model import APPROVED, Entry, thread_tag
from commentsvc.util.i18n import gettext as _


def pin(tx: Transaction, comment_id: int) -> None:
    """Pin a comment, in place of the one that is pinned on its page.

    Raise UnknownComment, and NotPinnable for a reply and for a comment that is not published.
    """
    entry = queries.get(tx, comment_id)
    if entry.comment.status != APPROVED or entry.comment.parent_id is not None:
        raise NotPinnable(_("comment %(id)s is a reply, or is not published", id=comment_id))
    _set(tx, entry, comment_id)


def unpin(tx: Transaction, comment_id: int) -> None:
    """Unpin a comment, if it is pinned. Raise UnknownComment."""
    entry = queries.get(tx, comment_id)
    if is_pinned(tx, comment_id):
        _set(tx, entry, None)


def is_pinned(snapshot: Snapshot, comment_id: int) -> bool:
    """Return whether a comment is pinned."""
    pinned = CommentTable.select(CommentTable.id).join(ThreadTable)
    return (
        snapshot.first(
            pinned.where(CommentTable.id == comment_id, ThreadTable.pinned_id == CommentTable.id)
        )
        is not None
    )


def _set(tx: Transaction, entry: Entry, comment_id: int | None) -> None:
    pinned = ThreadTable.update(pinned_id=comment_id, version=ThreadTable.version + 1)
    tx.change(pinned.where(ThreadTable.id == entry.comment.thread_id))
    tx.purge(thread_tag(entry.site, entry.url))

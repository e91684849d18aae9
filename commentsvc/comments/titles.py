"""Titles of pages, which come from approved comments or from moderators.

A submission says what its page is called, and anybody can say anything. So what it says waits with
it, in `proposed_title`, as long as the thread has no title: it names the page when the comment is
approved, and names it no longer when the comment is withdrawn. What a moderator writes stays.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from commentsvc.db.sqlite import Transaction

_INSERT: Final = "INSERT INTO proposed_title (comment_id, title) VALUES (?, ?)"
# (comment): the thread has no title yet, or has that of this comment, which may have become spam.
# Its title is then that of the approved comment that was published first and came with one.
_REFRESH: Final = (
    "UPDATE thread SET title = coalesce((SELECT p.title FROM comment AS c"
    " JOIN proposed_title AS p ON p.comment_id = c.id"
    " WHERE c.thread_id = thread.id AND c.status = 'approved' ORDER BY c.published_at, c.id"
    " LIMIT 1),"
    " '') FROM proposed_title AS own JOIN comment AS changed ON changed.id = own.comment_id"
    " WHERE own.comment_id = ? AND thread.id = changed.thread_id"
    " AND thread.title = iif(changed.status = 'approved', '', own.title)"
)


def propose(tx: Transaction, proposals: Sequence[tuple[int, str]]) -> None:
    """Keep the titles that comments, named by their ids, came with."""
    tx.execute_many(_INSERT, proposals)


def refresh(tx: Transaction, comment_ids: Iterable[int]) -> None:
    """Name the pages of comments whose status has changed; who calls purges their tags."""
    for comment_id in comment_ids:
        tx.execute(_REFRESH, (comment_id,))

"""Edits by authors: what an author does with a comment later, by the token that came with it.

A new text is judged as a submission is, lest an approved comment be turned into spam once
it is shown: where it would have had to wait, the comment waits again. Nothing that an author does
shows a comment that was not shown before. All of it stands in the comment's history, where a
moderator finds the old text; the filter learns nothing from it (see `spam.training`).
"""

from typing import Final

import msgspec

from commentsvc.comments import statements
from commentsvc.comments.errors import UnknownComment
from commentsvc.db import outbox
from commentsvc.db.schema.comments import CommentTable
from commentsvc.db.sqlite import Reader, Transaction
from commentsvc.model import APPROVED, AUTHOR, DELETED, PENDING, SPAM, Comment
from commentsvc.moderation import actions
from commentsvc.spam import opinion
from commentsvc.spam.score import Verdict

# What becomes of a comment that is in the status by the verdict on its new text.
BECOMES: Final = {
    (APPROVED, "hold"): PENDING,
    (APPROVED, "spam"): SPAM,
    (PENDING, "spam"): SPAM,
}


class EditCredentials(msgspec.Struct, frozen=True, gc=False):
    """By what an author is known: the hash of the edit token, and until when it is good (ms)."""

    token_hash: bytes
    token_expires_at: int


def authorize(reader: Reader, comment_id: int) -> EditCredentials | None:
    """Return what the token of a comment must fit; None for one we never heard of."""
    row = reader.first(
        CommentTable.select(CommentTable.token_hash, CommentTable.token_expires_at).where(
            CommentTable.id == comment_id
        )
    )
    return EditCredentials(*row) if row else None


def edit(tx: Transaction, comment_id: int, source: str, verdict: Verdict, now: int) -> Comment:
    """Replace the text of a comment, which was judged by `verdict`, at `now` (Unix ms).

    Returns it as it is then. Raise UnknownComment, for a deleted one too.
    """
    known = CommentTable.select(CommentTable.status, CommentTable.reasons)
    row = tx.first(known.where(CommentTable.id == comment_id))
    if row is None or row[0] == DELETED:
        raise UnknownComment([comment_id])
    status, stored = row
    if actions.edit(tx, comment_id, source, AUTHOR, now).changed:
        lines = verdict.reasons
        if status != APPROVED and not opinion.waits(stored.splitlines()):
            lines = opinion.without_waiting(lines)  # it waits for more than that
        judged = CommentTable.update(score=verdict.score, reasons="\n".join(lines))
        tx.change(judged.where(CommentTable.id == comment_id))
        becomes = BECOMES.get((status, verdict.decision))
        if becomes:
            actions.change(tx, [comment_id], becomes, AUTHOR, now)
        if becomes == PENDING:
            outbox.submitted(tx, comment_id, comment_id, now)
    [found] = tx.execute(statements.ENTRY_BY_ID, (comment_id,)).fetchall()
    *columns, _site, _url, _title = found
    return Comment(*columns)


def delete(tx: Transaction, comment_id: int, now: int) -> None:
    """Delete a comment at the moment `now` (Unix milliseconds), if it is not; answers to it stay.

    Raise UnknownComment.
    """
    actions.change(tx, [comment_id], DELETED, AUTHOR, now)

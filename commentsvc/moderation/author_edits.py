"""Edits by authors, who are identified by the edit token that came with the comment.

A new text is judged like a submission, so that nobody can turn an approved comment into spam: if a
submission with that text would wait, the comment waits again. No edit by an author publishes a
comment. All new texts are in the comment's history, where a moderator finds the old one; the filter
learns nothing from them (see `spam.training`). The history has no names.
"""

from typing import Final

import msgspec

from commentsvc import outbox
from commentsvc.comments import queries
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.schema.comments import CommentTable
from commentsvc.errors import UnknownComment
from commentsvc.model import APPROVED, AUTHOR, DELETED, PENDING, SPAM, Comment
from commentsvc.moderation import changes
from commentsvc.moderation.changes import Signature
from commentsvc.spam import opinion
from commentsvc.spam.score import Verdict

# The new status of a comment by its old one and the verdict on its new text.
BECOMES: Final = {
    (APPROVED, "hold"): PENDING,
    (APPROVED, "spam"): SPAM,
    (PENDING, "spam"): SPAM,
}


class EditCredentials(msgspec.Struct, frozen=True, gc=False):
    """The hash of a comment's edit token, and the time when it expires, in Unix milliseconds."""

    token_hash: bytes
    token_expires_at: int


def authorize(snapshot: Snapshot, comment_id: int) -> EditCredentials | None:
    """Return the credentials for editing a comment; None for an unknown comment."""
    row = snapshot.first(
        CommentTable.select(CommentTable.token_hash, CommentTable.token_expires_at).where(
            CommentTable.id == comment_id
        )
    )
    return EditCredentials(*row) if row else None


def edit(
    tx: Transaction,
    comment_id: int,
    source: str,
    verdict: Verdict,
    now: int,
    signature: Signature | None = None,
) -> Comment:
    """Replace the text of a comment, and its signature if one is given, at `now` (Unix ms).

    `verdict` is that on both. Return the new state. Raise UnknownComment, also for a deleted
    comment.
    """
    known = CommentTable.select(CommentTable.status, CommentTable.reasons)
    row = tx.first(known.where(CommentTable.id == comment_id))
    if row is None or row[0] == DELETED:
        raise UnknownComment([comment_id])
    status, stored = row
    revised = bool(changes.edit(tx, comment_id, source, AUTHOR, now).changed)
    if signature is not None:
        revised |= changes.sign(tx, comment_id, signature, now)
    if revised:
        lines = verdict.reasons
        if status != APPROVED and not opinion.waits(stored.splitlines()):
            lines = opinion.without_waiting(lines)  # it was held for other reasons
        judged = CommentTable.update(score=verdict.score, reasons="\n".join(lines))
        tx.change(judged.where(CommentTable.id == comment_id))
        becomes = BECOMES.get((status, verdict.decision))
        if becomes:
            changes.change(tx, [comment_id], becomes, AUTHOR, now)
        if becomes == PENDING:
            outbox.submitted(tx, comment_id, comment_id, now)
    return queries.get(tx, comment_id).comment


def delete(tx: Transaction, comment_id: int, now: int) -> None:
    """Delete a comment, unless it is deleted already, at `now` (Unix milliseconds).

    Replies to it stay. Raise UnknownComment.
    """
    changes.change(tx, [comment_id], DELETED, AUTHOR, now)

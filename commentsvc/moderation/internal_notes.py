"""Internal notes: what moderators write about a comment for each other.

No public answer, mail or webhook contains them. The author gets them with all other personal data,
without the moderator's name; they go when the comment is deleted for good, or its author's data.
"""

from collections.abc import Sequence
from typing import Final

import msgspec
from peewee import fn

from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.query import Param, Select, prepared
from commentsvc.db.schema.comments import CommentTable, SiteTable
from commentsvc.db.schema.moderation import InternalNoteTable
from commentsvc.errors import NoteRefused
from commentsvc.model import Comment
from commentsvc.moderation import permissions
from commentsvc.moderation.permissions import Actor
from commentsvc.util.i18n import gettext as _

LENGTH: Final = 2_000  # characters of a note
MOST: Final = 20  # notes on a comment, and of those on others of its author that are shown


class InternalNote(msgspec.Struct, frozen=True):
    """A note by the moderator `actor` on the comment `comment`; times are Unix milliseconds."""

    id: int
    comment: int
    actor: str
    message: str
    created_at: int


_COLUMNS: Final = [getattr(InternalNoteTable, name) for name in InternalNote.__struct_fields__]


def add(tx: Transaction, who: Actor, comment_id: int, message: str, now: int) -> None:
    """Add a note to a comment. Raise UnknownComment, NoteRefused."""
    permissions.confine(tx, who, [comment_id])
    text = message.strip()
    if not 0 < len(text) <= LENGTH:
        raise NoteRefused(_("A note has 1 to %(most)s characters.", most=LENGTH))
    number = InternalNoteTable.select(fn.COUNT(InternalNoteTable.id))
    [(known,)] = tx.query(number.where(InternalNoteTable.comment == comment_id))
    if known >= MOST:
        raise NoteRefused(
            _("This comment has %(number)s notes already: delete one first.", number=known)
        )
    row = {"comment": comment_id, "actor": who.name, "message": text, "created_at": now}
    tx.change(InternalNoteTable.insert(row))


def remove(tx: Transaction, who: Actor, comment_id: int, note_id: int) -> None:
    """Delete a note of a comment, if it is there. Raise UnknownComment."""
    permissions.confine(tx, who, [comment_id])
    is_it = (InternalNoteTable.id == note_id) & (InternalNoteTable.comment == comment_id)
    tx.change(InternalNoteTable.delete().where(is_it))


@prepared
def _of_comment(comment_id: Param) -> Select:
    found = InternalNoteTable.select(*_COLUMNS).where(InternalNoteTable.comment == comment_id)
    return found.order_by(InternalNoteTable.id)


def of_comment(snapshot: Snapshot, comment_id: int) -> list[InternalNote]:
    """Return the notes on a comment, the oldest first."""
    return [InternalNote(*row) for row in snapshot.query(_of_comment, comment_id)]


def of_author(
    snapshot: Snapshot, comment: Comment, email_key: str, sites: Sequence[str] | None
) -> list[InternalNote]:
    """Return the newest notes on other comments with the author's address, or by that reader.

    Only those on `sites` are returned, all for None.
    """
    if not email_key and comment.reader_id is None:
        return []
    is_by = (CommentTable.email_key == email_key) & (CommentTable.email_key != "")
    if comment.reader_id is not None:
        is_by |= CommentTable.reader_id == comment.reader_id
    found = InternalNoteTable.select(*_COLUMNS).join(CommentTable)
    found = found.where(is_by, InternalNoteTable.comment != comment.id)
    if sites is not None:
        known = SiteTable.select(SiteTable.id).where(SiteTable.name.in_([*sites]))
        found = found.where(CommentTable.site.in_(known))
    newest = found.order_by(InternalNoteTable.id.desc()).limit(MOST)
    return [InternalNote(*row) for row in snapshot.query(newest)]

"""Saved replies: texts that moderators put into their answers. They belong to no single site."""

from typing import Final

import msgspec
from peewee import fn

from commentsvc.comments.submission import SubmissionError, message_from_text
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.schema.moderation import SavedReplyTable
from commentsvc.settings.schema import CommentsSettings
from commentsvc.util.i18n import gettext as _
from commentsvc.util.text import one_line

MOST: Final = 50  # replies
TITLE_LENGTH: Final = 80  # characters


class SavedReply(msgspec.Struct, frozen=True):
    """A text in Markdown, and the title by which moderators choose it."""

    id: int
    title: str
    message: str


def save(
    tx: Transaction, title: str, text: str, who: str, now: int, bounds: CommentsSettings
) -> None:
    """Save a reply, in place of one with that title. Raise SubmissionError."""
    name, message = one_line(title), message_from_text(text, bounds)
    if not 0 < len(name) <= TITLE_LENGTH:
        wrong = _("A title has 1 to %(most)s characters.", most=TITLE_LENGTH)
        raise SubmissionError({"title": wrong})
    others = SavedReplyTable.select(fn.COUNT(SavedReplyTable.id))
    [(known,)] = tx.query(others.where(SavedReplyTable.title != name))
    if known >= MOST:
        full = _("There are %(number)s saved replies already: delete one first.", number=known)
        raise SubmissionError({"title": full})
    row = {"title": name, "message": message, "actor": who, "changed_at": now}
    tx.change(
        SavedReplyTable.insert(row).on_conflict(
            conflict_target=[SavedReplyTable.title],
            preserve=[SavedReplyTable.message, SavedReplyTable.actor, SavedReplyTable.changed_at],
        )
    )


def remove(tx: Transaction, reply_id: int) -> None:
    """Delete a saved reply, if it is there."""
    tx.change(SavedReplyTable.delete().where(SavedReplyTable.id == reply_id))


def listing(snapshot: Snapshot) -> list[SavedReply]:
    """Return all saved replies, by title."""
    columns = [getattr(SavedReplyTable, name) for name in SavedReply.__struct_fields__]
    found = SavedReplyTable.select(*columns).order_by(SavedReplyTable.title)
    return [SavedReply(*row) for row in snapshot.query(found)]

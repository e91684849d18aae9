"""The history of a comment: each change of its status or text, and whether it was undone."""

from typing import Final

import msgspec

from commentsvc.db import statements
from commentsvc.db.connection import Reader

# Changes of a comment in an answer. Each edit by its author is one, and has the text twice.
SHOWN: Final = 50
EVERYTHING: Final = 2**31 - 1


class HistoryEntry(msgspec.Struct, frozen=True, gc=False):
    """An entry of a comment's history. Times are Unix milliseconds; see db.schema.moderation."""

    id: int
    decision_id: int
    comment_id: int
    field: str
    old: str
    new: str
    created_at: int
    actor: str
    undone_at: int | None
    undone_by: str | None


def entries(reader: Reader, comment_id: int, most: int = EVERYTHING) -> list[HistoryEntry]:
    """Return the history of a comment, the newest entry first; [] for an unknown comment.

    There are `most` entries at most.
    """
    rows = reader.execute(statements.HISTORY, (comment_id, most))
    return [HistoryEntry(*row) for row in rows.fetchall()]


def last_changes(reader: Reader, comment_id: int, field: str) -> list[HistoryEntry]:
    """Return the last SHOWN changes of a comment's `field`, the newest first."""
    rows = reader.execute(statements.HISTORY_OF_FIELD, (comment_id, field, SHOWN))
    return [HistoryEntry(*row) for row in rows.fetchall()]

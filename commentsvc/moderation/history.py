"""The history of a comment: its changes, and whether they were undone."""

from collections.abc import Iterable
from typing import Final

import msgspec

from commentsvc.comments import queries
from commentsvc.db.connection import Snapshot
from commentsvc.db.query import Param, Select, prepared
from commentsvc.db.schema.moderation import ChangeTable
from commentsvc.moderation.permissions import Actor

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


class LastChange(msgspec.Struct, frozen=True, gc=False):
    """The last `change` of a comment by `author`, which has a `status` now; None for no change."""

    author: str
    status: str
    change: HistoryEntry | None


def _history(condition: object, most: Param) -> Select:
    columns = [getattr(ChangeTable, name) for name in HistoryEntry.__struct_fields__]
    found = ChangeTable.select(*columns).where(condition)
    return found.order_by(ChangeTable.id.desc()).limit(most)


@prepared
def _history_of(comment_id: Param, most: Param) -> Select:
    return _history(ChangeTable.comment == comment_id, most)


@prepared
def _history_of_field(comment_id: Param, field: Param, most: Param) -> Select:
    is_asked = (ChangeTable.comment == comment_id) & (ChangeTable.field == field)
    return _history(is_asked, most)


def entries(snapshot: Snapshot, comment_id: int, most: int = EVERYTHING) -> list[HistoryEntry]:
    """Return the history of a comment, the newest entry first; [] for an unknown comment.

    There are `most` entries at most.
    """
    return [HistoryEntry(*row) for row in snapshot.query(_history_of, comment_id, most)]


def last_changes(snapshot: Snapshot, comment_id: int, field: str) -> list[HistoryEntry]:
    """Return the last SHOWN changes of a comment's `field`, the newest first."""
    rows = snapshot.query(_history_of_field, comment_id, field, SHOWN)
    return [HistoryEntry(*row) for row in rows]


def last_of_each(snapshot: Snapshot, who: Actor, ids: Iterable[int]) -> list[LastChange]:
    """Return the last change of each of a few comments, of those that are on sites of `who`."""
    found = []
    for comment_id in ids:
        entry = queries.find(snapshot, comment_id)
        if entry is None or not who.sees(entry.site):
            continue
        made = (each for each in entries(snapshot, comment_id, SHOWN) if each.undone_at is None)
        found.append(LastChange(entry.comment.author, entry.comment.status, next(made, None)))
    return found

"""Which columns hold the fields of a record: one list for the export and the import.

A field of the type `Moment` is a column with Unix milliseconds, one of the type `Digest` a column
with bytes; the others are as in their column.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, TypeVar, get_args, get_type_hints

import msgspec
import peewee

from commentsvc.db.schema.comments import ReactionTable, ReportTable, VoteTable
from commentsvc.db.schema.moderation import (
    BanTable,
    ChangeTable,
    InternalNoteTable,
    SavedReplyTable,
    StatementOfReasonsTable,
)
from commentsvc.exports.records import (
    BanRecord,
    Digest,
    HistoryRecord,
    InternalNoteRecord,
    Moment,
    ReactionRecord,
    ReportRecord,
    SavedReplyRecord,
    StatementRecord,
    VoteRecord,
)
from commentsvc.util import timestamps

R = TypeVar("R", bound=msgspec.Struct)
# The functions from the value of a column to that of a field, and back. Any: such values.
Coding = tuple[Callable[[Any], Any], Callable[[Any], Any]]
_CODINGS: Final[dict[object, Coding]] = {
    Moment: (timestamps.rfc3339_ms, timestamps.read),
    Digest: (bytes.hex, bytes.fromhex),
}


def _coding(kind: object) -> Coding | None:
    """Return the coding of fields of a type, which may be optional."""
    return next((_CODINGS[each] for each in (kind, *get_args(kind)) if each in _CODINGS), None)


class Columns(Generic[R]):
    """The columns of the fields of `record`, in the order of the fields."""

    def __init__(self, record: type[R], *columns: peewee.Field) -> None:
        self.columns = columns
        self._record = record
        hints = get_type_hints(record, include_extras=True)
        self._codings = [_coding(hints[name]) for name in record.__struct_fields__]
        assert len(columns) == len(self._codings), "each field has a column"

    def record(self, row: Sequence[Any]) -> R:  # Any: the values of a row
        """Return the record of a row with `columns`."""
        pairs = zip(row, self._codings, strict=True)
        return self._record(*(c[0](v) if c and v is not None else v for v, c in pairs))

    def row(self, record: R) -> list[Any]:  # Any: as above
        """Return the values of `columns` for a record."""
        pairs = zip(msgspec.structs.astuple(record), self._codings, strict=True)
        return [c[1](v) if c and v is not None else v for v, c in pairs]


REACTION: Final = Columns(
    ReactionRecord,
    ReactionTable.emoji,
    ReactionTable.reader,
    ReactionTable.created_at,
    ReactionTable.network,
)
HISTORY: Final = Columns(
    HistoryRecord,
    ChangeTable.id,
    ChangeTable.decision_id,
    ChangeTable.field,
    ChangeTable.old,
    ChangeTable.new,
    ChangeTable.created_at,
    ChangeTable.actor,
    ChangeTable.old_at,
    ChangeTable.undone_at,
    ChangeTable.undone_by,
)
VOTE: Final = Columns(
    VoteRecord,
    VoteTable.voter,
    VoteTable.value,
    VoteTable.created_at,
    VoteTable.network,
    VoteTable.emoji,
)
REPORT: Final = Columns(
    ReportRecord,
    ReportTable.reporter,
    ReportTable.created_at,
    ReportTable.reason,
    ReportTable.explanation,
    ReportTable.name,
    ReportTable.email,
    ReportTable.language,
    ReportTable.in_good_faith,
    ReportTable.objects,
)
STATEMENT: Final = Columns(
    StatementRecord,
    StatementOfReasonsTable.decided_at,
    StatementOfReasonsTable.actor,
    StatementOfReasonsTable.ground,
    StatementOfReasonsTable.message,
)
INTERNAL_NOTE: Final = Columns(
    InternalNoteRecord,
    InternalNoteTable.actor,
    InternalNoteTable.message,
    InternalNoteTable.created_at,
)
SAVED_REPLY: Final = Columns(
    SavedReplyRecord,
    SavedReplyTable.title,
    SavedReplyTable.message,
    SavedReplyTable.actor,
    SavedReplyTable.changed_at,
)
BAN: Final = Columns(
    BanRecord,
    BanTable.kind,
    BanTable.value,
    BanTable.created_at,
    BanTable.actor,
    BanTable.expires_at,
)

# Columns of private notes that are exported as they are.
NOTE_COLUMNS: Final = (
    *("url", "author", "message", "state", "title", "email", "quote", "language", "actor"),
    "answer",
)

"""Verdicts: what the defence against spam said of stored comments, for moderators."""

from collections.abc import Sequence
from typing import Final

import msgspec

from commentsvc.db.sqlite import Reader

_FIND: Final = (
    "SELECT c.id, c.score, c.reasons FROM json_each(?) AS f"
    " CROSS JOIN comment AS c ON c.id = f.value WHERE c.reasons <> ''"
)


class StoredVerdict(msgspec.Struct, frozen=True):
    """The points of a comment, and a few words for each reason."""

    score: int
    reasons: tuple[str, ...]


def find(reader: Reader, ids: Sequence[int]) -> dict[int, StoredVerdict]:
    """The verdicts on those of the comments `ids` that had reasons."""
    rows = reader.execute(_FIND, (msgspec.json.encode(ids).decode(),)).fetchall()
    return {
        number: StoredVerdict(score, tuple(reasons.split("\n"))) for number, score, reasons in rows
    }

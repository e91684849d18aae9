"""An export as NDJSON: each record is one line of JSON, in UTF-8."""

from collections.abc import Callable, Iterable
from typing import BinaryIO, Final

import msgspec

from commentsvc.exports.records import CommentRecord, Record

# Written at once, in bytes: a system call costs as much as a comment.
BATCH: Final = 1 << 18


def write(
    records: Iterable[Record], file: BinaryIO, advance: Callable[[int], object] = lambda _: None
) -> int:
    """Write the records to `file`; return how many comments were among them.

    `advance` is told now and then how many comments were written since it was last told.
    """
    encode_into = msgspec.json.Encoder().encode_into
    buffer = bytearray()
    total = told = 0
    for record in records:
        encode_into(record, buffer, -1)
        buffer += b"\n"
        total += isinstance(record, CommentRecord)
        if len(buffer) >= BATCH:
            file.write(buffer)
            buffer.clear()
            advance(total - told)
            told = total
    file.write(buffer)
    advance(total - told)
    return total

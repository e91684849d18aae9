"""An export as NDJSON: each record is one line of JSON, in UTF-8."""

from collections.abc import Iterable

import msgspec

from commentsvc.exports.output import Output
from commentsvc.exports.records import CommentRecord, Record


def write(records: Iterable[Record], output: Output) -> None:
    """Write the records."""
    encode = msgspec.json.Encoder().encode
    for record in records:
        put = output.put_comment if isinstance(record, CommentRecord) else output.put
        put(encode(record) + b"\n")

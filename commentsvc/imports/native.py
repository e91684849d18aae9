"""commentsvc: our own export, NDJSON, as docs/export-format.md describes it."""

from typing import Final

import msgspec

from commentsvc.comments.submission import is_site
from commentsvc.exports import records as exported
from commentsvc.exports.records import CommentRecord, EndRecord, HeaderRecord, ThreadRecord
from commentsvc.imports import dates, json_source
from commentsvc.imports.files import SourceFile
from commentsvc.imports.records import (
    ImportedComment,
    ImportedPage,
    ImportFailed,
    InvalidInput,
    OtherRecord,
    ParseOptions,
    Records,
)
from commentsvc.model import APPROVED

NAME: Final = "commentsvc"

_decode = msgspec.json.Decoder(exported.Record).decode


def recognises(_source: SourceFile, head: bytes) -> str:
    """Return what shows that the file is our export; "" if it is not."""
    line = head.partition(b"\n")[0]
    is_ours = b'"type":"header"' in line and b'"format":"commentsvc"' in line
    return "its first line" if is_ours else ""


def parse(source: SourceFile, options: ParseOptions) -> Records:
    """Return the records of `source`: pages, comments and others. Raise ImportFailed."""
    number, ended = 0, False
    for number, line in json_source.raw_lines(source, options.skip):
        try:
            record = _decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            _refuse_newer(source, line)
            options.skip(InvalidInput(f"line {number}", f"this is no record of ours ({error})"))
            continue
        position = f"line {number}"
        if isinstance(record, CommentRecord):
            yield _comment(record, position, line)
        elif isinstance(record, ThreadRecord):
            yield ImportedPage(
                f"{record.site} {record.url}", record.url, position, record.title, site=record.site
            )
            yield OtherRecord(line)
        elif not isinstance(record, HeaderRecord | EndRecord):
            yield OtherRecord(line)
        ended = isinstance(record, EndRecord)
    if not ended:
        options.skip(InvalidInput(f"line {number}", "the file is cut off behind this line"))


def _refuse_newer(source: SourceFile, line: bytes) -> None:
    """Raise ImportFailed if `line` is the header of a newer version."""
    try:
        header = msgspec.json.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return
    if isinstance(header, dict) and header.get("type") == "header":
        raise ImportFailed(
            f"{source.name} is of version {header.get('version')} of the format; this program knows"
            f" version {exported.VERSION}."
        )


def _comment(record: CommentRecord, position: str, line: bytes) -> ImportedComment:
    return ImportedComment(
        position=position,
        page=f"{record.site} {record.url}",
        id=str(record.id),
        parent=str(record.parent or ""),
        identity=f"{record.id} {record.created}",
        created=dates.moment(record.created),
        text=record.message,
        markup="html" if record.markup == "html" else "markdown",
        author=record.author,
        email=record.email,
        avatar=record.avatar,
        site=record.author_site,
        status=record.status,
        published=dates.moment(record.published) if record.published else None,
        edited=dates.moment(record.edited) if record.edited else None,
        votes=record.votes,
        anchor=record.anchor,
        is_pinned=record.pinned,
        html=record.html,
        ours=line,
        role=record.role,
        permalink=record.permalink if is_site(record.permalink) else "",
        reasons=record.reasons,
        is_decided=any(
            each.field == "status" and each.new == APPROVED and each.undone is None
            for each in record.history
        ),
        reader=(record.reader.issuer, record.reader.subject) if record.reader else None,
    )

"""commentsvc: our own export, NDJSON, as docs/export-format.md describes it."""

import re
from collections import Counter
from typing import Final, get_args

import msgspec

from commentsvc.comments.submission import is_site
from commentsvc.exports import records as exported
from commentsvc.exports.records import CommentRecord, EndRecord, HeaderRecord, ThreadRecord
from commentsvc.imports import dates
from commentsvc.imports.records import (
    ImportedComment,
    ImportedPage,
    ImportFailed,
    InvalidInput,
    OtherRecord,
    ParseOptions,
    Records,
)
from commentsvc.imports.sources import json_files
from commentsvc.imports.sources.files import SourceFile
from commentsvc.model import APPROVED

_decode = msgspec.json.Decoder(exported.Record).decode
_TYPES: Final = frozenset(each.__struct_config__.tag for each in get_args(exported.Record))
_NUL: Final = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")
_MOMENTS: Final = re.compile(
    rb'"(?:created|published|edited|old_at|undone|asked|expires)"\s*:\s*"([^"]*)"'
)


def recognises(_source: SourceFile, head: bytes) -> str:
    line = head.lstrip().partition(b"\n")[0].replace(b" ", b"")
    is_ours = b'"type":"header"' in line and b'"format":"commentsvc"' in line
    return "its first line" if is_ours else ""


def parse(source: SourceFile, options: ParseOptions) -> Records:
    """Return the records of `source`: pages, comments and others. Raise ImportFailed."""
    position, ended = "line 0", False
    known = 0  # comments so far, and lines that may have been one
    for number, line in json_files.raw_lines(source, options.skip):
        position = f"line {number}"
        record = _record(source, line, position, options)
        ended = isinstance(record, EndRecord)
        known += record is None or isinstance(record, CommentRecord)
        if isinstance(record, CommentRecord):
            yield _comment(record, position, line)
        elif isinstance(record, ThreadRecord):
            yield ImportedPage(
                f"{record.site} {record.url}", record.url, position, record.title, site=record.site
            )
            yield OtherRecord(line, record.site)
        elif isinstance(record, EndRecord):
            if (missing := record.comments - known) > 0:
                note = f"{missing} comments of the export are missing before this line"
                options.ignore(InvalidInput(position, note))
            known = 0
        elif record is not None and not isinstance(record, HeaderRecord):
            yield OtherRecord(line, getattr(record, "site", ""))
    if not ended:
        options.skip(InvalidInput(position, "the file is cut off behind this line"))


def _record(
    source: SourceFile, line: bytes, position: str, options: ParseOptions
) -> exported.Record | None:
    """Return the record in `line`, None if it cannot be read."""
    try:
        record: exported.Record = _decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        problem = InvalidInput(position, f"this is no record of ours ({error})")
        (options.ignore if _is_newer(source, line) else options.skip)(problem)
        return None
    if _NUL.search(line):
        options.skip(InvalidInput(position, "it has the character NUL, which no database stores"))
        return None
    if None in [dates.moment(found.decode()) for found in _MOMENTS.findall(line)]:
        options.skip(InvalidInput(position, "it has a date that does not exist"))
        return None
    return record


def _is_newer(source: SourceFile, line: bytes) -> bool:
    """Return whether a record has a type that only later versions of this program know.

    Raise ImportFailed if `line` is the header of a newer version.
    """
    try:
        record = msgspec.json.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    kind = record.get("type") if isinstance(record, dict) else None
    if kind == "header":
        raise ImportFailed(
            f"{source.name} is of version {record.get('version')} of the format; this program knows"
            f" version {exported.VERSION}."
        )
    return isinstance(kind, str) and kind not in _TYPES


def _reactions(record: CommentRecord) -> dict[str, int]:
    """Return the number of readers by emoji: at least as many as are known."""
    known = {vote.voter: vote.emoji for vote in record.voters}
    return Counter(record.reactions) | Counter(known.values())


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
        reactions=_reactions(record),
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
        lang=record.lang,
    )

"""Movable Type: its text file of entries, which TypePad and many Japanese blogs write, too.

Five hyphens end a part of an entry, eight the entry. The text of a comment follows its fields. The
format is at https://movabletype.org/documentation/appendices/import-export-format.html.
"""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Final

from commentsvc.imports import dates
from commentsvc.imports.records import (
    ImportedComment,
    ImportedPage,
    ImportFailed,
    ParseOptions,
    Records,
)
from commentsvc.imports.sources import json_files
from commentsvc.imports.sources.encodings import is_wide
from commentsvc.imports.sources.files import MARKS, SourceFile

LIMIT: Final = 1_000_000  # bytes of a part that are kept
_PART_END: Final = b"-----"
_ENTRY_END: Final = b"--------"
_NAME: Final = re.compile(r"([A-Z][A-Z0-9 ]{1,30}): ?(.*)", re.DOTALL).fullmatch
_OF_COMMENT: Final = ("AUTHOR", "TITLE", "EMAIL", "IP", "URL", "SECRET", "PASS", "DATE")
_PARTS: Final = ("BODY", "EXTENDED BODY", "EXCERPT", "KEYWORDS", "COMMENT", "PING")
_ENTRY: Final = re.compile(rb"\s*(?:AUTHOR|TITLE|BASENAME|STATUS|DATE|UNIQUE URL): ?\S").match
_BODY: Final = re.compile(rb"^-----[ \t]*\r?\n(?:BODY|EXCERPT|COMMENT):", re.MULTILINE).search
_CLOSED: Final = ("0", "2")  # values of ALLOW COMMENTS
_FORMS: Final = ("%m/%d/%Y %I:%M:%S %p", "%m/%d/%Y %H:%M:%S", "%m/%d/%Y %I:%M %p", "%m/%d/%Y %H:%M")
_BETWEEN: Final = re.compile(r"[\W_]+")
_SEEN: Final = 16  # bytes that are not ASCII, before a file is called Japanese
_HIGH: Final = re.compile(rb"[\x80-\xff]").findall


def recognises(_source: SourceFile, head: bytes) -> str:
    return "the fields of its entries" if _ENTRY(head) and _BODY(head) else ""


def parse(source: SourceFile, options: ParseOptions) -> Records:
    if _is_japanese(source):
        raise ImportFailed(
            f"{source.name} is not in UTF-8. Convert it first, for example:"
            " iconv -f EUC-JP -t UTF-8 (or -f SHIFT_JIS)."
        )
    page = ""
    for number, name, lines in _parts(source, options):
        if not name:
            page = f"line {number}"
            yield _page(page, _fields(lines, ())[0], options)
        elif name == "COMMENT":
            yield _comment(page, f"line {number}", lines, options)


def _is_japanese(source: SourceFile) -> bool:
    """Return whether lines are in an encoding with two bytes for most characters, not in UTF-8.

    A third of the bytes in such lines is not ASCII; in Latin scripts it is a tenth.
    """
    high, size, rest = 0, 0, b""
    with source.open() as stream:
        while data := stream.read(json_files.PIECE):
            if size == 0 and (data.startswith(MARKS) or is_wide(data)):
                return False
            *lines, rest = (rest[:LIMIT] + data).split(b"\n")
            for line in lines:
                if not line.isascii() and not _is_utf8(line):
                    high += len(_HIGH(line))
                    size += len(line)
    return high > _SEEN and high * 3 > size


def _is_utf8(line: bytes) -> bool:
    try:
        return bool(line.decode())
    except UnicodeDecodeError:
        return False


def _parts(source: SourceFile, options: ParseOptions) -> Iterator[tuple[int, str, list[str]]]:
    """Yield the line, the name and the lines of each part; "" is the name of an entry's fields.

    Hyphens that a comment has itself are followed by no part.
    """
    first, name, lines, size, ended = 1, "", list[str](), 0, b""
    for number, raw in json_files.raw_lines(source, options.skip, blank=True):
        line = raw.rstrip()
        text = raw.decode().rstrip("\r")
        if ended:
            found = _NAME(text)
            begins = found[1] if found else ""
            is_part = begins in _PARTS and not text.partition(":")[2].strip()
            is_entry = ended == _ENTRY_END and bool(found)
            if is_part or is_entry:
                yield first, name, lines
                first, name, lines, size = number, begins if is_part else "", [], 0
                ended = b""
                if is_part:
                    continue
            elif line not in (b"", _PART_END, _ENTRY_END):
                lines.append(ended.decode())
                ended = b""
        if line in (_PART_END, _ENTRY_END):
            ended = line
        elif not ended and size < LIMIT:
            lines.append(text)
            size += len(raw) + 1
    yield first, name, lines


def _fields(lines: list[str], names: tuple[str, ...]) -> tuple[dict[str, str], str]:
    """Return the fields at the beginning of a part, and the text behind them.

    With `names`, other names begin the text, and so does one that is there for the second time.
    """
    fields: dict[str, str] = {}
    for number, line in enumerate(lines):
        found = _NAME(line)
        if names and (not found or found[1] not in names or found[1] in fields):
            return fields, "\n".join(lines[number:])
        if found:
            fields.setdefault(found[1], found[2].strip())
    return fields, ""


def _moment(text: str, options: ParseOptions) -> int | None:
    for form in _FORMS:
        try:
            found = datetime.strptime(text.strip(), form).replace(tzinfo=options.zone)
            return int(found.timestamp()) * 1_000
        except (ValueError, OverflowError):
            continue
    return dates.moment(text, options.zone)


def _page(position: str, fields: dict[str, str], options: ParseOptions) -> ImportedPage:
    title = fields.get("TITLE", "")
    closed = fields.get("ALLOW COMMENTS", "") in _CLOSED
    url = fields.get("UNIQUE URL") or fields.get("PERMALINK") or _path(fields, title, options)
    return ImportedPage(position, url, position, title, closed)


def _path(fields: dict[str, str], title: str, options: ParseOptions) -> str:
    """Return the path that Movable Type gives an entry by default: year, month and basename."""
    name = fields.get("BASENAME") or _BETWEEN.sub("_", title.lower())[:30].strip("_")
    if not name or "/" in name:
        return f"/{name}" if name else ""
    written = _moment(fields.get("DATE", ""), options)
    if written is None:
        return f"/{name}.html"
    day = datetime.fromtimestamp(written / 1_000, options.zone)
    return f"/{day:%Y/%m}/{name}.html"


def _comment(page: str, position: str, lines: list[str], options: ParseOptions) -> ImportedComment:
    fields, text = _fields(lines, _OF_COMMENT)
    date, title = fields.get("DATE", ""), fields.get("TITLE", "")
    return ImportedComment(
        position=position,
        page=page,
        id="",
        parent="",
        identity=date,
        created=_moment(date, options),
        text=f"<strong>{title}</strong>\n\n{text}" if title else text,
        markup="html_lines",
        author=fields.get("AUTHOR", ""),
        email=fields.get("EMAIL", ""),
        site=fields.get("URL", ""),
        status="pending" if fields.get("SECRET", "0") not in ("", "0") else "approved",
    )

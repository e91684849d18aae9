"""Blogger: the Atom file of "Back up content", and that of Google Takeout.

Each `entry` is a post, a page or a comment. The older file says so with a category, and links to
the page; that of Takeout has an element of its own for each, and the path of the page. The public
feed of comments has nothing but comments, with the address of the page in each.
"""

import re
from typing import Final

from commentsvc.imports import dates
from commentsvc.imports.records import (
    ImportedComment,
    ImportedPage,
    ImportStatus,
    InvalidInput,
    ParseOptions,
    Record,
    Records,
)
from commentsvc.imports.sources import xml_records
from commentsvc.imports.sources.files import SourceFile
from commentsvc.imports.sources.xml_records import XmlRecord

_NESTING: Final = {
    "": frozenset({"entry"}),
    "entry": frozenset({"link", "category", "extendedProperty"}),
}
_MARKS: Final = (
    b"schemas.google.com/blogger/",
    b"www.blogger.com/atom/ns",
    b"tag:blogger.com,1999:",
)
# The other files of Takeout, which has them beside that with the comments.
_BESIDE: Final = re.compile(
    r"(?:^|/)(?:Blogger/(?:Comments|Profile)/|(?:Blogs|Albums)/[^/]+/|archive_browser\.html$)"
).search
_PARTS: Final = [
    re.compile(rb"<openSearch:" + name + rb">([0-9]{1,9})<").search
    for name in (b"totalResults", b"startIndex", b"itemsPerPage")
]
_KIND: Final = re.compile(r"kind#(\w+)$").search
_NUMBER: Final = re.compile(r"[0-9]+$").search
_STATUSES: Final[dict[str, ImportStatus]] = {
    "": "approved",
    "LIVE": "approved",
    "PENDING": "pending",
    "SPAM": "spam",
    "EMPTIED": "deleted",
    "DELETED": "deleted",
    "SOFT_TRASHED": "deleted",
}
_NO_EMAIL: Final = "noreply@blogger.com"  # of everybody


def recognises(source: SourceFile, head: bytes) -> str:
    if _is_feed(head):
        return "its namespace"
    return "its folder of Takeout" if _BESIDE(source.relative) else ""


def _is_feed(head: bytes) -> bool:
    return b"<feed" in head and any(mark in head for mark in _MARKS)


def parse(source: SourceFile, options: ParseOptions) -> Records:
    if not _is_feed(source.head()):
        return
    parts: list[XmlRecord] = []
    known: set[str] = set()
    for record in xml_records.read(source, _NESTING, options.skip):
        if record.name != "entry":
            parts.append(record)
            continue
        kind = record.text("type").lower() or _kind(parts)
        answered = record.text("in-reply-to@href") if not kind else ""
        if answered and answered not in known:  # only the public feed has comments of no kind
            known.add(answered)
            yield _page_of(record, answered)
        if kind == "comment" or answered:
            yield _comment(record, parts)
        elif kind in ("post", "page"):
            yield _page(record, parts)
        parts = []
    _tell_the_rest(source.head(), options)


def _tell_the_rest(head: bytes, options: ParseOptions) -> None:
    """Tell for the report if the public feed, which comes in parts, has another one."""
    total, first, size = (int(found[1]) if (found := each(head)) else 0 for each in _PARTS)
    if first and size and first + size <= total:
        note = f"the feed has more of its {total} comments at start-index={first + size}"
        options.ignore(InvalidInput("the end", note))


def _page_of(comment: XmlRecord, url: str) -> ImportedPage:
    """Return the page that a comment of the public feed names."""
    return ImportedPage(_number(comment.text("in-reply-to@ref")), url, comment.position)


def _kind(parts: list[XmlRecord]) -> str:
    """Return what an entry of the older file is; its other categories are labels."""
    found = (_KIND(part.text("@term")) for part in parts if part.name == "category")
    return next((match[1] for match in found if match), "")


def _link(parts: list[XmlRecord], relation: str) -> str:
    links = (part.text("@href") for part in parts if part.text("@rel") == relation)
    return next(filter(None, links), "")


def _number(identifier: str) -> str:
    """Return the number at the end of an identifier or address; "" if there is none."""
    match = _NUMBER(identifier)
    return match[0] if match else ""


def _page(record: XmlRecord, parts: list[XmlRecord]) -> ImportedPage:
    return ImportedPage(
        key=_number(record.text("id")),
        url=_link(parts, "alternate") or record.text("filename"),
        position=record.position,
        title=record.text("title"),
    )


def _comment(record: XmlRecord, parts: list[XmlRecord]) -> Record:
    number, date = _number(record.text("id")), record.text("published")
    status = _STATUSES.get(record.text("status"), "pending")
    removed = "blogger.contentRemoved"
    if record.text("trashed") or any(part.text("@name") == removed for part in parts):
        status = "deleted"
    email = record.text("author/email")
    return ImportedComment(
        position=record.position,
        page=_number(record.text("in-reply-to@ref") or record.text("parent")),
        id=number,
        parent=_number(_link(parts, "related") or record.text("inReplyTo")),
        identity=f"{number} {date}",
        created=dates.moment(date),
        text=record.fields.get("content", ""),
        markup="html",
        author=record.text("author/name"),
        email="" if email == _NO_EMAIL else email,
        site=record.text("author/uri"),
        status=status,
        drop="it was deleted at Blogger" if status == "deleted" else "",
        anchor=f"c{number}",
        account=record.text("author/uri"),
    )

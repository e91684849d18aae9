"""Disqus: the XML file of its "Export comments".

The elements ``thread`` (a page) and ``post`` (a comment) refer to each other by ``dsq:id``. A page
may have several threads, and a reply may precede its parent.
"""

import re
from html import escape
from typing import Final
from urllib.parse import unquote

from commentsvc.imports import dates
from commentsvc.imports.records import (
    ImportedComment,
    ImportedPage,
    ImportStatus,
    ParseOptions,
    Record,
    Records,
)
from commentsvc.imports.sources import xml_records
from commentsvc.imports.sources.files import SourceFile
from commentsvc.imports.sources.xml_records import XmlRecord

_ROOT: Final = re.compile(rb"<(?:\w+:)?disqus\b").search
_NESTING: Final = {"": frozenset({"thread", "post"})}
# Disqus writes the links of its readers by way of its own server, with a digest behind the address,
# and mentions with its name.
_LINK: Final = re.compile(r"(?<=[\"'])https?://disq\.us/(?:url)?\?url=([^\"'&<>]{1,4096})[^\"'<>]*")
_DIGEST: Final = re.compile(r":[\w-]{27}$")
_MENTION: Final = re.compile(r"(?<!\w)@([\w.-]{1,64}):disqus\b")


def recognises(source: SourceFile, head: bytes) -> str:
    return "its XML namespace" if b"http://disqus.com" in head and _ROOT(head) else ""


def parse(source: SourceFile, options: ParseOptions) -> Records:
    deleted: set[str] = set()
    for record in xml_records.read(source, _NESTING, options.skip):
        if record.name == "thread":
            if record.flag("isDeleted"):
                deleted.add(record.text("@id"))
            yield _page(record)
        else:
            yield _comment(record, deleted)


def _page(record: XmlRecord) -> Record:
    own = record.text("id")  # what the blog called the page: often its address
    url = record.text("link") or (own if own.startswith(("/", "http://", "https://")) else "")
    return ImportedPage(
        key=record.text("@id"),
        url=url,
        position=record.position,
        title=record.text("title"),
        closed=bool(record.flag("isClosed")),
    )


def _comment(record: XmlRecord, deleted: set[str]) -> Record:
    number, date = record.text("@id"), record.text("createdAt")
    page = record.text("thread@id")
    drop = "the page's thread was deleted at Disqus" if page in deleted else ""
    status: ImportStatus = "approved"
    if record.flag("isSpam"):
        status = "spam"
    elif record.flag("isApproved") is False:
        status = "pending"
    if record.flag("isDeleted"):
        status, drop = "deleted", drop or "it was deleted at Disqus"
    return ImportedComment(
        position=record.position,
        page=page,
        id=number,
        parent=record.text("parent@id"),
        identity=f"{number} {date}",
        created=dates.moment(date),
        text=_text(record.fields.get("message", "")),
        markup="html",
        author=record.text("author/name") or record.text("author/username"),
        email=record.text("author/email"),
        site=record.text("author/link"),
        status=status,
        drop=drop,
        anchor=f"comment-{number}",
        account=record.text("author/username"),
    )


def _text(message: str) -> str:
    """Return a message as readers saw it: with the addresses that they wrote."""
    return _MENTION.sub(r"@\1", _LINK.sub(_target, message))


def _target(link: re.Match[str]) -> str:
    target = _DIGEST.sub("", unquote(link[1]))
    return escape(target) if target.startswith(("http://", "https://")) else link[0]

"""WordPress: the WXR file (RSS with comments) of Tools → Export, in versions 1.0 to 1.2.

Comments are in the ``item`` of their post, with their parents. WordPress stores texts as typed:
HTML with plain line breaks, and blank lines between paragraphs.
"""

from collections.abc import Mapping
from html import unescape
from typing import Final

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

_NESTING: Final = {"": frozenset({"author", "item"}), "item": frozenset({"comment"})}
_STATUSES: Final[dict[str, ImportStatus]] = {
    "1": "approved",
    "approve": "approved",
    "approved": "approved",
    "0": "pending",
    "hold": "pending",
    "spam": "spam",
    "trash": "deleted",
    "post-trashed": "deleted",
}
_COMMENTS: Final = ("", "comment", "review")  # programs make the other types
_NO_DATE: Final = "0000-00-00"


def recognises(source: SourceFile, head: bytes) -> str:
    is_wxr = b"<rss" in head and (b"wordpress.org/export/" in head or b"<wp:" in head)
    return "its XML namespace wp" if is_wxr else ""


def parse(source: SourceFile, options: ParseOptions) -> Records:
    logins: dict[str, str] = {}  # the authors of the blog, by their ids
    for record in xml_records.read(source, _NESTING, options.skip):
        if record.name == "author":
            logins[record.text("author_id")] = record.text("author_login")
        elif record.name == "comment":
            yield _comment(record, logins, options)
        elif url := _url(record):
            yield ImportedPage(
                key=str(record.number),
                url=url,
                position=record.position,
                title=unescape(record.text("title")),
                closed=record.text("comment_status") == "closed",
            )


def _url(page: XmlRecord) -> str:
    """Return the URL of a page; WordPress finds one without a link, such as a draft, by its id."""
    number = page.text("post_id")
    return page.text("link") or page.text("guid") or (f"/?p={number}" if number else "")


def _comment(record: XmlRecord, logins: Mapping[str, str], options: ParseOptions) -> Record:
    number, parent = record.text("comment_id"), record.text("comment_parent")
    utc, local = record.text("comment_date_gmt"), record.text("comment_date")
    known = utc and not utc.startswith(_NO_DATE)
    kind, user = record.text("comment_type"), record.text("comment_user_id")
    approved = record.text("comment_approved")
    status = _STATUSES.get(approved, "pending")
    drop = ""
    if kind not in _COMMENTS:
        drop = f"its type is {kind}: it is no comment of a reader"
    elif status == "deleted":
        drop = "it is in the trash of WordPress"
    return ImportedComment(
        position=record.position,
        page=str(record.outer),
        id=number,
        parent="" if parent == "0" else parent,
        identity=f"{number} {utc if known else local}",
        created=dates.moment(utc) if known else dates.moment(local, options.zone),
        text=record.fields.get("comment_content", ""),
        markup="html_lines",
        author=unescape(record.text("comment_author")),
        email=record.text("comment_author_email"),
        site=record.text("comment_author_url"),
        status=status,
        drop=drop,
        anchor=f"comment-{number}",
        account=logins.get(user, ""),
        is_admin=user in logins,
    )

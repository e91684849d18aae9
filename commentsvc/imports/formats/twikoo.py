"""Twikoo: the JSON of "Export" in its administration, or what its database has.

That is an array, one object per line, or the database of its own server, a JSON file. Comments are
HTML, their dates in milliseconds. A comment that waits for its owner is spam for Twikoo.
"""

import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote

from commentsvc.imports import dates
from commentsvc.imports.records import ImportedComment, ImportedPage, ParseOptions, Records
from commentsvc.imports.sources import json_files
from commentsvc.imports.sources.files import SourceFile
from commentsvc.imports.sources.json_files import Value

_OURS: Final = (b'"nick"', b'"comment"', b'"url"', b'"created"')
_COLLECTIONS: Final = b'"collections"'  # of the database of its own server


def recognises(_source: SourceFile, head: bytes) -> str:
    is_ours = all(name in head for name in _OURS) and (b'"mailMd5"' in head or b'"isSpam"' in head)
    return "its comments with created" if is_ours and head.lstrip()[:1] in (b"{", b"[") else ""


def parse(source: SourceFile, options: ParseOptions) -> Records:
    known: set[str] = set()
    for number, comment in enumerate(_comments(source, options), 1):
        key = comment.text("url")
        if key not in known:
            known.add(key)
            yield ImportedPage(key, _url(comment), f"comment {number}")
        yield _comment(comment, key, f"comment {number}", options)


def _comments(source: SourceFile, options: ParseOptions) -> Iterator[Value]:
    head = source.head().lstrip()
    if _COLLECTIONS in head and head.startswith(b"{"):
        rows = json_files.items(source, "collections.item.data.item", options.skip)
        return (row for row in rows if row.text("nick"))
    if head.startswith(b"[") or b'"results"' in head[:200]:
        prefix = "item" if head.startswith(b"[") else "results.item"
        return json_files.items(source, prefix, options.skip)
    return (comment for _, comment in json_files.lines(source, options.skip))


def _url(comment: Value) -> str:
    """Return the address of the page: with its host, if the comment was written there.

    Twikoo distinguishes pages by their path, or by a name that the theme chose.
    """
    path, address = comment.text("url"), comment.text("href")
    if not path.startswith("/"):
        return address or path
    address = re.split("[?#]", address)[0]
    return address if unquote(address).endswith(unquote(path)) else path


def _comment(comment: Value, page: str, position: str, options: ParseOptions) -> ImportedComment:
    number, date = comment.wrapped("_id", "id"), comment.wrapped("created")
    email, digest = comment.text("mail"), comment.text("mailMd5").lower()
    likes = comment.fields.get("like")
    return ImportedComment(
        position=position,
        page=page,
        id=number,
        parent=comment.wrapped("pid", "rid"),
        identity=f"{number} {date}",
        created=dates.moment(date, options.zone),
        text=comment.text("comment"),
        markup="html",
        author=comment.text("nick"),
        email=email,
        avatar=digest if dates.is_digest(digest) and not email else "",
        site=comment.text("link"),
        status="spam" if comment.flag("isSpam") else "approved",
        votes=len(likes) if isinstance(likes, list) else comment.number("like"),
        anchor=number,
        is_admin=comment.flag("master"),
        is_pinned=comment.flag("top"),
    )

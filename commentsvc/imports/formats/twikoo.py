"""Twikoo: the JSON of "Export" in its administration, or what its database has.

That is an array, one object per line, the database of its own server, a JSON file, or a table as
text, such as CloudBase writes. Comments are HTML, their dates in milliseconds. A comment that waits
for its owner is spam for Twikoo.
"""

import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote

from commentsvc.imports import dates
from commentsvc.imports.records import ImportedComment, ImportedPage, ParseOptions, Records
from commentsvc.imports.sources import json_files, tables
from commentsvc.imports.sources.files import SourceFile
from commentsvc.imports.sources.json_files import Value

_OURS: Final = ("nick", "comment", "url", "created")
_EITHER: Final = ("mailMd5", "isSpam")
_COLLECTIONS: Final = b'"collections"'  # of the database of its own server


def recognises(_source: SourceFile, head: bytes) -> str:
    is_json = head.lstrip()[:1] in (b"{", b"[")
    names = _names(head) if is_json else tables.names(head)
    is_ours = names.issuperset(_OURS) and not names.isdisjoint(_EITHER)
    return "its comments with created" if is_ours else ""


def _names(head: bytes) -> set[str]:
    """Return those of our names that the fields of JSON have."""
    return {name for name in (*_OURS, *_EITHER) if f'"{name}"'.encode() in head}


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
    is_array, has_results = head.startswith(b"["), b'"results"' in head[:200]
    if is_array or has_results:
        # Cloudflare's D1 answers with an array of results.
        levels = ["item"] * is_array + ["results", "item"] * has_results
        return json_files.items(source, ".".join(levels), options.skip)
    if not head.startswith(b"{"):
        return tables.rows(source, options.skip)
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

"""Remark42: its backup, NDJSON, or what it gives a user; both usually compressed with gzip.

The first line has users and pages, each further one a comment; the newest pages come first, so a
reply may precede its parent. `orig` is Markdown and may be empty, `text` is HTML.

A user's file is one object, with the user and, in an array, the user's comments. So was the backup
of the first versions, with the users and pages behind the comments.
"""

import re
from collections.abc import Iterator
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
from commentsvc.imports.sources.files import SourceFile
from commentsvc.imports.sources.json_files import Value

VERSION: Final = 1
# The beginning of a file that is one object.
_ONE: Final = re.compile(rb'\s*\{\s*"(?:info"\s*:|version"\s*:\s*\d+\s*,\s*"comments"\s*:)').match


def recognises(_source: SourceFile, head: bytes) -> str:
    """Return what shows that the file is from Remark42; "" if it is not."""
    line = head if json_files.is_indented(head) else head.partition(b"\n")[0]
    is_meta = line.startswith(b"{") and b'"users"' in line and b'"posts"' in line
    is_comment = b'"locator"' in line and b'"user"' in line
    if is_meta or is_comment:
        return "its first line with users and posts"
    return "its array of comments with locators" if _ONE(head) and b'"locator"' in head else ""


def parse(source: SourceFile, options: ParseOptions) -> Records:
    """Return the pages and comments of `source`. Raise ImportFailed."""
    closed: set[str] = set()
    known: set[str] = set()
    for position, line in _objects(source, options):
        if "locator" not in line.fields:
            if line.number("version") > VERSION:
                raise ImportFailed(
                    f"{source.name} is of a newer Remark42 (version {line.number('version')} of"
                    f" the backup; known is {VERSION})."
                )
            closed |= {post.text("url") for post in line.objects("posts") if post.flag("read_only")}
            continue
        url = line.object("locator").text("url")
        if url not in known:
            known.add(url)
            yield ImportedPage(url, url, position, line.text("title"), url in closed)
        yield _comment(line, url, position)


def _objects(source: SourceFile, options: ParseOptions) -> Iterator[tuple[str, Value]]:
    """Yield the objects of a file, with their positions."""
    if _ONE(source.head()):
        yield from (("meta", each) for each in json_files.items(source, "meta", json_files.ignore))
        comments = json_files.items(source, "comments.item", options.skip)
        yield from ((f"comment {number}", each) for number, each in enumerate(comments, 1))
    else:
        yield from json_files.lines(source, options.skip)


def _comment(comment: Value, url: str, position: str) -> ImportedComment:
    number, date, orig = comment.text("id"), comment.text("time"), comment.text("orig")
    edited = comment.object("edit").text("time")
    deleted, user = comment.flag("delete"), comment.object("user")
    return ImportedComment(
        position=position,
        page=url,
        id=number,
        parent=comment.text("pid"),
        identity=f"{number} {date}",
        created=dates.moment(date),
        text=orig or comment.text("text"),
        markup="markdown" if orig else "html",
        author=user.text("name"),
        status="deleted" if deleted else "approved",
        edited=dates.moment(edited) if edited else None,
        votes=comment.number("score"),
        drop="it was deleted in Remark42" if deleted else "",
        anchor=f"comment-{number}",
        account=user.text("id"),
        is_admin=user.flag("admin"),
        is_pinned=comment.flag("pin"),
    )

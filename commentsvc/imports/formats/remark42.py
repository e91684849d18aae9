"""Remark42: its backup, NDJSON, what it gives a user, or its answer to a request for a page.

The first two are usually compressed with gzip. Its database is not read: a backup has the same.

The first line has users and pages, each further one a comment; the newest pages come first, so a
reply may precede its parent. `orig` is Markdown and may be empty, `text` is HTML.

A user's file is one object, with the user and, in an array, the user's comments. So was the backup
of the first versions, with the users and pages behind the comments. An answer is such an object
too, with the comments in an array, or as a tree: each with its replies.
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
_ONE: Final = re.compile(
    rb'\s*\{\s*"(?:info"\s*:|(?:version"\s*:\s*\d+\s*,\s*")?comments"\s*:)'
).match
_MAGIC: Final = slice(16, 20), b"\xed\xda\x0c\xed"  # of Bolt, Remark42's database


def recognises(_source: SourceFile, head: bytes) -> str:
    if _is_database(head):
        return "its database"
    line = head if json_files.is_indented(head) else head.partition(b"\n")[0]
    is_meta = line.startswith(b"{") and b'"users"' in line and b'"posts"' in line
    is_comment = b'"locator"' in line and b'"user"' in line
    if _ONE(head) and b'"locator"' in head:
        return "its array of comments with locators"
    return "its first line with users and posts" if is_meta or is_comment else ""


def parse(source: SourceFile, options: ParseOptions) -> Records:
    if _is_database(source.head()):
        raise ImportFailed(
            f"{source.name} is the database of Remark42. Import its newest backup:"
            " backup/backup-SITE-DATE.gz beside it, or what `remark42 backup` writes."
        )
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
        nodes = (node for each in comments for node in _nodes(each))
        yield from ((f"comment {number}", each) for number, each in enumerate(nodes, 1))
    else:
        yield from json_files.lines(source, options.skip)


def _nodes(node: Value) -> Iterator[Value]:
    """Yield the comments of a tree, or the one comment."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node.object("comment") if "comment" in node.fields else node
        waiting += reversed(node.objects("replies"))


def _is_database(head: bytes) -> bool:
    where, magic = _MAGIC
    return head[where] == magic


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

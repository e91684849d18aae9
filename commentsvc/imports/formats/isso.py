"""Isso: its SQLite database, or the generic JSON that its own importer reads.

Authors and web sites are stored HTML-escaped. The text is Markdown that may contain HTML.
"""

from html import unescape
from typing import Final

from commentsvc.imports import dates
from commentsvc.imports.records import (
    ImportedComment,
    ImportedPage,
    ImportFailed,
    ImportStatus,
    ParseOptions,
    Records,
)
from commentsvc.imports.sources import json_files, sqlite_files
from commentsvc.imports.sources.files import SourceFile
from commentsvc.imports.sources.json_files import Value
from commentsvc.imports.sources.sqlite_files import Columns, text

_STATUSES: Final[dict[int, ImportStatus]] = {1: "approved", 2: "pending", 4: "deleted"}
NEWEST: Final = 5  # the user_version of Isso 0.14


def recognises(source: SourceFile, head: bytes) -> str:
    if head.startswith(sqlite_files.MAGIC):
        with sqlite_files.opened(source) as database:
            is_ours = {"uri", "title"} <= database.columns("threads")
            is_ours = is_ours and {"tid", "mode", "remote_addr"} <= database.columns("comments")
        return "its tables threads and comments" if is_ours else ""
    is_generic = head.lstrip()[:1] == b"[" and b'"comments"' in head and b'"remote_addr"' in head
    return "its pages with comments and remote_addr" if is_generic else ""


def parse(source: SourceFile, options: ParseOptions) -> Records:
    if source.head().startswith(sqlite_files.MAGIC):
        return _database(source, options)
    return _generic(source, options)


def _database(source: SourceFile, options: ParseOptions) -> Records:
    with sqlite_files.opened(source) as database:
        if database.version > NEWEST:
            raise ImportFailed(
                f"{source.name} is of a newer Isso (version {database.version} of its tables;"
                f" known are those up to {NEWEST})."
            )
        for row in database.rows("SELECT id, uri, title FROM threads ORDER BY id"):
            yield ImportedPage(
                key=str(row["id"]),
                url=text(row, "uri"),
                position=f"row {row['id']} of threads",
                title=unescape(text(row, "title")),
            )
        yield from map(_comment, database.rows("SELECT * FROM comments ORDER BY id"))


def _comment(row: Columns) -> ImportedComment:
    number = row["id"]
    status = _STATUSES.get(row["mode"], "pending")
    return ImportedComment(
        position=f"row {number} of comments",
        page=str(row["tid"]),
        id=str(number),
        parent=str(row["parent"] or ""),
        identity=f"{number} {row['created']}",
        created=dates.from_seconds(row["created"]),
        text=text(row, "text"),
        markup="markdown",
        author=unescape(text(row, "author")),
        email=text(row, "email"),
        site=unescape(text(row, "website")),
        status=status,
        edited=dates.from_seconds(row["modified"]),
        votes=Value(row).number("likes") - Value(row).number("dislikes"),
        drop="it was deleted in Isso" if status == "deleted" else "",
        anchor=f"isso-{number}",
    )


def _generic(source: SourceFile, options: ParseOptions) -> Records:
    for number, page in enumerate(json_files.items(source, "item", options.skip), 1):
        url = page.text("id")
        yield ImportedPage(
            key=url,
            url=url,
            position=f"page {number}",
            title=unescape(page.text("title")),
        )
        comments = page.objects("comments", options.skip, f"page {number}")
        for position, comment in enumerate(comments, 1):
            yield _generic_comment(comment, url, f"page {number}, comment {position}", options)


def _generic_comment(
    comment: Value, page: str, position: str, options: ParseOptions
) -> ImportedComment:
    date, author = comment.text("created"), comment.text("author")
    return ImportedComment(
        position=position,
        page=page,
        id="",  # often 0 for all comments
        parent="",
        identity=f"{page} {author} {date} {comment.text('text')}",
        created=dates.moment(date, options.zone),
        text=comment.text("text"),
        markup="markdown",
        author=author,
        email=comment.text("email"),
        site=comment.text("website"),
    )

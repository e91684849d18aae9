"""Cusdis: its SQLite database, or the rows of its tables `pages` and `comments` as JSON."""

from collections.abc import Callable, Iterator

from commentsvc.imports import dates
from commentsvc.imports.records import (
    ImportedComment,
    ImportedPage,
    InvalidInput,
    ParseOptions,
    Records,
)
from commentsvc.imports.sources import json_files, sqlite_files
from commentsvc.imports.sources.files import SourceFile
from commentsvc.imports.sources.json_files import Value


def recognises(source: SourceFile, head: bytes) -> str:
    if head.startswith(sqlite_files.MAGIC):
        with sqlite_files.opened(source) as database:
            return "its table comments" if "by_nickname" in database.columns("comments") else ""
    if head.lstrip()[:1] != b"{":
        return ""
    if all(name in head for name in (b'"pages"', b'"slug"', b'"projectId"')):
        return "its pages with a slug"
    is_ours = b'"by_nickname"' in head and b'"pageId"' in head
    return "its comments with by_nickname" if is_ours else ""


def parse(source: SourceFile, options: ParseOptions) -> Records:
    for number, page in enumerate(_rows(source, "pages", json_files.ignore), 1):
        yield ImportedPage(
            page.text("id"), page.text("url", "slug"), f"page {number}", page.text("title")
        )
    for number, comment in enumerate(_rows(source, "comments", options.skip), 1):
        yield _comment(comment, f"comment {number}", options)


def _rows(source: SourceFile, table: str, skip: Callable[[InvalidInput], None]) -> Iterator[Value]:
    if source.head().startswith(sqlite_files.MAGIC):
        with sqlite_files.opened(source) as database:
            query = f"SELECT * FROM {table}"  # noqa: S608 - a constant name
            yield from map(Value, database.rows(query))
    else:
        yield from json_files.items(source, f"{table}.item", skip)


def _comment(comment: Value, position: str, options: ParseOptions) -> ImportedComment:
    number = comment.text("id")
    date = comment.text("created_at", "createdAt")
    deleted = bool(comment.text("deletedAt", "deletedat", "deleted_at"))
    approved = comment.flag("approved")
    return ImportedComment(
        position=position,
        page=comment.text("pageId", "pageid", "page_id"),
        id=number,
        parent=comment.text("parentId", "parentid", "parent_id"),
        identity=f"{number} {date}",
        created=dates.moment(date, options.zone),
        text=comment.text("content"),
        markup="markdown",
        author=comment.text("by_nickname", "byNickname"),
        email=comment.text("by_email", "byEmail"),
        status="deleted" if deleted else "approved" if approved else "pending",
        drop="it was deleted in Cusdis" if deleted else "",
        is_admin=bool(comment.text("moderatorId", "moderatorid", "moderator_id")),
    )

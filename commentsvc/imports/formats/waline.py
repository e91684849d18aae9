"""Waline: the JSON of "Export" in its administration, or its SQLite database.

Ids are numbers or, with LeanCloud and MongoDB, texts. `pid` is the parent of a comment, `rid` the
first comment of the conversation.

Other storages: their table of comments as JSON, as one object per line, or with the columns' names
in the first line and commas, semicolons or tabs between the values.
"""

import re
from collections.abc import Callable, Iterator
from typing import Final

from commentsvc.imports import dates
from commentsvc.imports.records import (
    ImportedComment,
    ImportedPage,
    ImportFailed,
    ImportStatus,
    InvalidInput,
    ParseOptions,
    Records,
)
from commentsvc.imports.sources import json_files, sqlite_files, tables
from commentsvc.imports.sources.files import SourceFile
from commentsvc.imports.sources.json_files import Value
from commentsvc.imports.sources.sqlite_files import SourceDatabase

VERSION: Final = 1
_STATUSES: Final[dict[str, ImportStatus]] = {
    "": "approved",
    "approved": "approved",
    "waiting": "pending",
    "spam": "spam",
}
_COMMENTS: Final = "Comment"  # the table
_OURS: Final = ("comment", "nick", "url", "insertedat")
_TABLE: Final = re.compile(rb'"Comment"\s*:').search  # in an export; others may name the class
_STREAM: Final = b"#filetype:JSON-streaming"  # the first line of LeanCloud's files
_ADMIN: Final = "administrator"  # the type of a user


def recognises(source: SourceFile, head: bytes) -> str:
    if head.startswith(sqlite_files.MAGIC):
        with sqlite_files.opened(source) as database:
            table = _table(database, _COMMENTS)
            return f"its table {table}" if table else ""
    if has_type(head):
        return "its type"
    lower = head.lower()  # as the names in PostgreSQL are
    is_json = head.lstrip()[:1] in (b"{", b"[", b"#") and all(
        f'"{name}"'.encode() in lower for name in (*_OURS, "status")
    )
    is_table = {*_OURS} <= tables.names(lower)
    return "the names of its fields" if is_json or is_table else ""


def has_type(head: bytes) -> bool:
    """Return whether a file says that it is an export of Waline."""
    return b'"type":"waline"' in head.lstrip()[:500].replace(b" ", b"")


def _table(database: SourceDatabase, name: str) -> str:
    """Return the name of a table with its prefix, which a setting of Waline gives; "" for none."""
    for table in database.tables():
        if table.lower().endswith(_COMMENTS.lower()) and database.columns(table) >= {*_OURS}:
            wanted = table[: -len(_COMMENTS)] + name
            return wanted if database.columns(wanted) else ""
    return ""


def parse(source: SourceFile, options: ParseOptions) -> Records:
    known: set[str] = set()
    version = json_files.first_number(source, "version") if has_type(source.head()) else 0
    if version > VERSION:
        raise ImportFailed(
            f"{source.name} is of a newer Waline (version {version} of the export; known is"
            f" {VERSION})."
        )
    admins = {
        user.text("objectId", "objectid", "id", "_id")
        for user in _rows(source, "Users", json_files.ignore)
        if user.text("type") == _ADMIN
    }
    for number, comment in enumerate(_rows(source, _COMMENTS, options.skip), 1):
        url = comment.text("url")
        if url not in known:
            known.add(url)
            yield ImportedPage(url, url, f"comment {number}")
        is_admin = comment.text("user_id") in admins
        yield _comment(comment, url, f"comment {number}", options, is_admin=is_admin)


def _rows(source: SourceFile, table: str, skip: Callable[[InvalidInput], None]) -> Iterator[Value]:
    if source.head().startswith(sqlite_files.MAGIC):
        with sqlite_files.opened(source) as database:
            if name := _table(database, table).replace('"', '""'):
                query = f'SELECT * FROM "{name}" ORDER BY id'  # noqa: S608 - a quoted name
                yield from map(Value, database.rows(query))
        return
    head = source.head().lstrip()
    if head.startswith((b"{", b"[")) and not _is_lines(head):
        yield from _documents(source, head, table, skip)
    elif table == _COMMENTS:
        yield from _lines(source, head, skip)


def _is_lines(head: bytes) -> bool:
    is_one = _TABLE(head) or b'"results"' in head[:200]
    return head.startswith(_STREAM) or (head.startswith(b"{") and not is_one)


def _documents(
    source: SourceFile, head: bytes, table: str, skip: Callable[[InvalidInput], None]
) -> Iterator[Value]:
    """Yield the rows of a table: of an export, of the API's answer, or of a plain array."""
    if head.startswith(b"[") or b'"results"' in head[:200]:
        if table == _COMMENTS:
            prefix = "item" if head.startswith(b"[") else "results.item"
            yield from json_files.items(source, prefix, skip)
        return
    prefix = f"data.{table}.item"
    if not any(True for _ in json_files.items(source, prefix, json_files.ignore)):
        prefix = f"data.{prefix}"  # the unchanged answer of the API
    yield from json_files.items(source, prefix, skip)


def _lines(
    source: SourceFile, head: bytes, skip: Callable[[InvalidInput], None]
) -> Iterator[Value]:
    """Yield the comments of a table as text, or of a file with one object per line."""
    if head.startswith((b"{", _STREAM)):
        yield from (value for _, value in json_files.lines(source, skip))
        return
    yield from tables.rows(source, skip)


def _comment(
    comment: Value, url: str, position: str, options: ParseOptions, *, is_admin: bool
) -> ImportedComment:
    number = comment.wrapped("objectId", "objectid", "id", "_id")
    date = comment.wrapped("insertedAt", "insertedat", "createdAt", "createdat")
    parent = comment.wrapped("pid", "rid")
    is_spam = comment.flag("isSpam")  # in comments that Valine has stored
    return ImportedComment(
        position=position,
        page=url,
        id=number,
        parent="" if parent == "0" else parent,
        identity=f"{number} {date}",
        created=dates.moment(date, options.zone),
        text=comment.text("comment"),
        markup="markdown" if "status" in comment.fields else "html",
        author=comment.text("nick"),
        email=comment.text("mail"),
        site=comment.text("link"),
        status="spam" if is_spam else _STATUSES.get(comment.text("status"), "pending"),
        votes=comment.number("like"),
        anchor=number,
        is_admin=is_admin,
        is_pinned=comment.flag("sticky"),
    )

"""Waline: the JSON of "Export" in its administration, or its SQLite database.

Ids are numbers or, with LeanCloud and MongoDB, texts. `pid` is the parent of a comment, `rid` the
first comment of the conversation.

Other storages: their table of comments as JSON, as one object per line, or with the columns' names
in the first line and commas, semicolons or tabs between the values.
"""

import csv
import re
from collections.abc import Callable, Iterator
from typing import Final, Literal

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
from commentsvc.imports.sources import json_files, sqlite_files
from commentsvc.imports.sources.files import SourceFile
from commentsvc.imports.sources.json_files import Value
from commentsvc.imports.sources.sqlite_files import SourceDatabase

VERSION: Final = 1
COLUMNS: Final = 1_000  # of a table as text: each row takes time for all of them
_STATUSES: Final[dict[str, ImportStatus]] = {
    "": "approved",
    "approved": "approved",
    "waiting": "pending",
    "spam": "spam",
}
_COMMENTS: Final = "Comment"  # the table
_OURS: Final = ("comment", "nick", "url", "insertedat")
_STREAM: Final = b"#filetype:JSON-streaming"  # the first line of LeanCloud's files
_ADMIN: Final = "administrator"  # the type of a user
_NULLS: Final = ("NULL", "\\N")  # as programs of MySQL write them between commas or tabs
_ESCAPES: Final = {"\\n": "\n", "\\t": "\t", "\\0": "\0", "\\\\": "\\"}  # between tabs
_ESCAPED: Final = re.compile(r"\\[nt0\\]")


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
    names = lower.partition(b"\n")[0].decode("utf-8-sig", "replace")
    is_table = {*_OURS} <= {name.strip('" ') for name in names.strip().split(_delimiter(names))}
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


def _delimiter(names: str) -> str:
    """Return the character between the names in the first line of a table."""
    return max(",;\t", key=names.count)


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
    is_one = b'"Comment"' in head or b'"results"' in head[:200]
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
    raw = json_files.raw_lines(source, skip, blank=True)
    between = _delimiter(head.partition(b"\n")[0].decode(errors="replace"))
    has_escapes = between == "\t"
    quoting: Literal[0, 3] = csv.QUOTE_NONE if has_escapes else csv.QUOTE_MINIMAL
    lines = (line.decode() + "\n" for _, line in raw)
    rows = csv.DictReader(lines, delimiter=between, quoting=quoting, strict=True)
    if len(rows.fieldnames or ()) > COLUMNS:
        raise ImportFailed(f"Its first line names more than {COLUMNS} columns, as no table does.")
    while True:
        try:
            yield Value({name: _cell(text, has_escapes) for name, text in next(rows).items()})
        except StopIteration:
            return
        except csv.Error as error:  # the reader goes on with the next line
            skip(InvalidInput(f"line {rows.line_num + 1}", f"the CSV is invalid ({error})"))


def _cell(text: object, has_escapes: bool) -> object:
    """Return a value of a table as text; csv gives None for a missing one."""
    if text in _NULLS or not isinstance(text, str):
        return None
    return _ESCAPED.sub(lambda match: _ESCAPES[match[0]], text) if has_escapes else text


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

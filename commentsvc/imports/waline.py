"""Waline: the JSON of "Export" in its administration, or its SQLite database.

Ids are numbers or, with LeanCloud and MongoDB, texts. `pid` is the parent of a comment, `rid` the
first comment of the conversation.
"""

from collections.abc import Callable, Iterator
from typing import Final

from commentsvc.imports import dates, json_source, sqlite_source
from commentsvc.imports.files import SourceFile
from commentsvc.imports.json_source import Value
from commentsvc.imports.records import (
    Fate,
    ImportedComment,
    ImportedPage,
    InvalidInput,
    ParseOptions,
    Records,
)

NAME: Final = "waline"
_STATUSES: Final[dict[str, Fate]] = {
    "": "approved",
    "approved": "approved",
    "waiting": "pending",
    "spam": "spam",
}
_ADMIN: Final = "administrator"  # the type of a user


def recognises(source: SourceFile, head: bytes) -> str:
    """Return what shows that the file is from Waline; "" if it is not."""
    if head.startswith(sqlite_source.MAGIC):
        with sqlite_source.opened(source) as database:
            return "its table wl_Comment" if database.columns("wl_Comment") else ""
    start = head.lstrip()[:500].replace(b" ", b"")
    return "its type" if b'"type":"waline"' in start else ""


def parse(source: SourceFile, options: ParseOptions) -> Records:
    """Return the pages and comments of `source`. Raise ImportFailed."""
    known: set[str] = set()
    admins = {
        user.text("objectId", "objectid", "id", "_id")
        for user in _rows(source, "Users", json_source.ignore)
        if user.text("type") == _ADMIN
    }
    for number, comment in enumerate(_rows(source, "Comment", options.skip), 1):
        url = comment.text("url")
        if url not in known:
            known.add(url)
            yield ImportedPage(url, url, f"comment {number}")
        is_admin = comment.text("user_id") in admins
        yield _comment(comment, url, f"comment {number}", options, is_admin=is_admin)


def _rows(source: SourceFile, table: str, skip: Callable[[InvalidInput], None]) -> Iterator[Value]:
    if source.head().startswith(sqlite_source.MAGIC):
        with sqlite_source.opened(source) as database:
            if database.columns(f"wl_{table}"):
                query = f"SELECT * FROM wl_{table} ORDER BY id"  # noqa: S608 - a constant name
                yield from map(Value, database.rows(query))
        return
    prefix = f"data.{table}.item"
    if not any(True for _ in json_source.items(source, prefix, json_source.ignore)):
        prefix = f"data.{prefix}"  # the unchanged answer of the API
    yield from json_source.items(source, prefix, skip)


def _comment(
    comment: Value, url: str, position: str, options: ParseOptions, *, is_admin: bool
) -> ImportedComment:
    number = comment.text("objectId", "objectid", "id", "_id")
    date = _date(comment, "insertedAt", "insertedat", "createdAt", "createdat")
    root = comment.text("rid")
    return ImportedComment(
        position=position,
        page=url,
        id=number,
        parent=comment.text("pid") or root,
        identity=f"{number} {date}",
        created=dates.moment(date, options.zone),
        text=comment.text("comment"),
        markup="markdown",
        author=comment.text("nick"),
        email=comment.text("mail"),
        site=comment.text("link"),
        status=_STATUSES.get(comment.text("status"), "pending"),
        votes=comment.number("like"),
        anchor=number,
        is_admin=is_admin,
        is_pinned=comment.flag("sticky"),
    )


def _date(comment: Value, *names: str) -> str:
    """Return a date, which is a text or LeanCloud's object."""
    for name in names:
        if text := comment.text(name) or comment.object(name).text("iso", "$date"):
            return text
    return ""

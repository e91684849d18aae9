"""Waline: the JSON of "Export" in its administration, or its SQLite database.

Ids are numbers or, with LeanCloud and MongoDB, texts. `pid` is what a comment answers, `rid` the
first comment of the conversation.
"""

from collections.abc import Iterator
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
_ROWS: Final = "SELECT * FROM wl_Comment ORDER BY id"


def recognises(source: SourceFile, head: bytes) -> str:
    """Return by what the file is seen to be one of Waline; "" where it is none."""
    if head.startswith(sqlite_source.MAGIC):
        with sqlite_source.opened(source) as database:
            return "its table wl_Comment" if database.columns("wl_Comment") else ""
    start = head.lstrip()[:500].replace(b" ", b"")
    return "its type" if b'"type":"waline"' in start else ""


def parse(source: SourceFile, options: ParseOptions) -> Records:
    """Give the pages and comments of `source`. Raises ImportFailed."""
    known: set[str] = set()
    for number, comment in enumerate(_comments(source, options), 1):
        url = comment.text("url")
        if url not in known:
            known.add(url)
            yield ImportedPage(url, url, f"comment {number}")
        yield _comment(comment, url, f"comment {number}", options)


def _comments(source: SourceFile, options: ParseOptions) -> Iterator[Value]:
    if source.head().startswith(sqlite_source.MAGIC):
        with sqlite_source.opened(source) as database:
            yield from map(Value, database.rows(_ROWS))
        return

    def ignore(_problem: InvalidInput) -> None:
        """Told below."""

    prefix = "data.Comment.item"
    if not any(True for _ in json_source.items(source, prefix, ignore)):
        prefix = "data.data.Comment.item"  # the answer of the interface, as it came
    yield from json_source.items(source, prefix, options.skip)


def _comment(comment: Value, url: str, position: str, options: ParseOptions) -> ImportedComment:
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
    )


def _date(comment: Value, *names: str) -> str:
    """Return a date: a text, or LeanCloud's object."""
    for name in names:
        if text := comment.text(name) or comment.object(name).text("iso", "$date"):
            return text
    return ""

"""Schnack: its SQLite database. Dates are in UTC; the theme chose the names of the pages.

It does not show the comments of users whom a moderator has blocked, even approved ones.
"""

from typing import Final

from commentsvc.imports import dates
from commentsvc.imports.records import (
    ImportedComment,
    ImportedPage,
    ImportStatus,
    ParseOptions,
    Records,
)
from commentsvc.imports.sources import sqlite_files
from commentsvc.imports.sources.files import SourceFile
from commentsvc.imports.sources.sqlite_files import Columns, text

_OURS: Final = frozenset({"user_id", "slug", "comment", "rejected", "approved"})
# The columns of users that are read; some versions lack some of them.
_USER: Final = ("name", "display_name", "blocked", "trusted", "url")
_ROWS: Final = "SELECT * FROM comment ORDER BY id"
_ROWS_AND_USERS: Final = (
    "SELECT c.*{user} FROM comment AS c LEFT JOIN user AS u ON u.id = c.user_id ORDER BY c.id"
)


def recognises(source: SourceFile, head: bytes) -> str:
    if not head.startswith(sqlite_files.MAGIC):
        return ""
    with sqlite_files.opened(source) as database:
        return "its table comment" if database.columns("comment") >= _OURS else ""


def parse(source: SourceFile, _options: ParseOptions) -> Records:
    known: set[str] = set()
    with sqlite_files.opened(source) as database:
        columns = database.columns("user")
        known_columns = "".join(f", u.{name}" for name in _USER if name in columns)
        query = _ROWS_AND_USERS.format(user=known_columns) if known_columns else _ROWS
        for row in database.rows(query):
            slug = text(row, "slug")
            if slug not in known:
                known.add(slug)
                yield ImportedPage(slug, slug, f"row {row['id']}")
            yield _comment(row, slug)


def _comment(row: Columns, slug: str) -> ImportedComment:
    number = row["id"]
    status: ImportStatus = "approved" if row["approved"] or row.get("trusted") else "pending"
    return ImportedComment(
        position=f"row {number}",
        page=slug,
        id=str(number),
        parent=str(row.get("reply_to") or ""),
        identity=f"{number} {row['created_at']}",
        created=dates.moment(str(row["created_at"])),
        text=text(row, "comment"),
        markup="markdown",
        author=text(row, "display_name") or text(row, "name"),
        site=text(row, "url"),
        status="spam" if row["rejected"] or row.get("blocked") else status,
        anchor=f"comment-{number}",
        account=text(row, "name"),
    )

"""Stacosys: its SQLite database, of any version.

Dates are in the server's local time. An author's address is not stored, only its MD5 digest for the
avatar. Up to 1.1 a row names its site, whose url is the beginning of the page's.
"""

from typing import Final

from commentsvc.imports import dates
from commentsvc.imports.records import ImportedComment, ImportedPage, ParseOptions, Records
from commentsvc.imports.sources import sqlite_files
from commentsvc.imports.sources.files import SourceFile
from commentsvc.imports.sources.sqlite_files import Columns, text

_OURS: Final = frozenset({"url", "published", "author_name", "author_site", "content"})
_SITES: Final = (
    "SELECT c.*, s.url AS site_url FROM comment AS c LEFT JOIN site AS s ON s.id = c.site_id"
)


def recognises(source: SourceFile, head: bytes) -> str:
    if not head.startswith(sqlite_files.MAGIC):
        return ""
    with sqlite_files.opened(source) as database:
        return "its table comment" if database.columns("comment") >= _OURS else ""


def parse(source: SourceFile, options: ParseOptions) -> Records:
    known: set[str] = set()
    with sqlite_files.opened(source) as database:
        has_sites = "site_id" in database.columns("comment") and database.columns("site")
        query = _SITES if has_sites else "SELECT * FROM comment"
        for row in database.rows(f"{query} ORDER BY 1"):
            url = text(row, "url")
            if url.startswith("/"):
                url = text(row, "site_url").rstrip("/") + url
            if url not in known:
                known.add(url)
                yield ImportedPage(url, url, f"row {row['id']}")
            yield _comment(row, url, options)


def _comment(row: Columns, page: str, options: ParseOptions) -> ImportedComment:
    number, published = row["id"], str(row["published"] or "")
    gravatar = text(row, "author_gravatar").lower()
    return ImportedComment(
        position=f"row {number}",
        page=page,
        id=str(number),
        parent="",
        identity=f"{number} {row['created']}",
        created=dates.moment(str(row["created"]), options.zone),
        text=text(row, "content"),
        markup="markdown",
        author=text(row, "author_name"),
        email=text(row, "author_email"),
        avatar=gravatar if dates.is_digest(gravatar) else "",
        site=text(row, "author_site"),
        status="approved" if published else "pending",
        published=dates.moment(published, options.zone) if published else None,
    )

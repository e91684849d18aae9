"""Data files for Hugo: one JSON file for each page with comments.

The files depend on the comments alone, so a version control system shows a change only if readers
see one. A file without changes is not written, and the file of a page without comments is removed.
The templates in static/hugo render the files; they find that of a page by `file_name`.
"""

import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
from peewee import JOIN, fn

from commentsvc.comments import queries
from commentsvc.comments.page_urls import UnknownSiteError
from commentsvc.comments.queries import DeletedComment
from commentsvc.comments.tree import Branch, build_tree
from commentsvc.db.query import Param, Select, literal, prepared
from commentsvc.db.schema.comments import CommentTable, SiteTable, ThreadTable
from commentsvc.db.schema.imports import ImportedCommentTable
from commentsvc.db.sqlite import Reader
from commentsvc.model import APPROVED, CLOSED
from commentsvc.util.timestamps import rfc3339

# The beginning of each file; other files are not ours and never removed.
MARK: Final = b'{\n  "commentsvc": 1'
ALIASES: Final = "aliases.json"  # the aliases of all pages, with the urls they lead to
SLUG_LENGTH: Final = 60  # characters of a url in its file's name
PART: Final = ".part"  # the end of the name of an unfinished file, which Hugo ignores


def _pages(site: str) -> Select:
    return (
        ThreadTable.select(
            ThreadTable.id,
            ThreadTable.url,
            ThreadTable.title,
            ThreadTable.count,
            ThreadTable.state,
            ThreadTable.pinned_id,
        )
        .join(SiteTable)
        .where(SiteTable.name == site, ThreadTable.count > 0)
        .order_by(ThreadTable.url)
    )


@prepared
def _comments(thread_id: Param) -> Select:
    return (
        CommentTable.select(
            CommentTable.id,
            CommentTable.parent,
            CommentTable.author,
            CommentTable.author_site,
            CommentTable.role,
            CommentTable.reader_id,
            CommentTable.permalink,
            CommentTable.published_at,
            CommentTable.edited_at,
            CommentTable.html,
            fn.COALESCE(ImportedCommentTable.anchor, ""),
        )
        .join(
            ImportedCommentTable,
            JOIN.LEFT_OUTER,
            on=ImportedCommentTable.comment_id == CommentTable.id,
        )
        .where(CommentTable.thread == thread_id, CommentTable.status == literal(APPROVED))
        .order_by(CommentTable.published_at, CommentTable.id)
    )


def _aliases(site: str) -> Select:
    alias = ThreadTable.alias("alias")
    return (
        alias.select(alias.url, ThreadTable.url)
        .join(ThreadTable, on=ThreadTable.id == alias.aliased)
        .join(SiteTable, on=SiteTable.id == ThreadTable.site)
        .where(SiteTable.name == site, ThreadTable.count > 0)
        .order_by(alias.url)
    )


class DataFilesError(Exception):
    """The files cannot be written; the text says why and what to do."""


class DataFilesResult(msgspec.Struct, frozen=True, gc=False):
    """How many files were written, were unchanged, and were removed."""

    written: int
    unchanged: int
    removed: int


class _PageComment(NamedTuple):
    """A published comment. Times are Unix milliseconds."""

    id: int
    parent: int | None
    author: str
    site: str
    role: str
    reader_id: int | None
    permalink: str
    published_at: int
    edited_at: int | None
    html: str
    anchor: str


def file_name(url: str) -> str:
    """Return the file name for a canonical `url`: readable, and different for each url."""
    slug = re.sub("[^a-z0-9]+", "-", url.lower()).strip("-")[:SLUG_LENGTH]
    return f"{slug}-{hashlib.sha256(url.encode()).hexdigest()[:8]}.json"


def write(
    reader: Reader,
    site: str,
    folder: Path,
    advance: Callable[[int], object] = lambda _comments: None,
) -> DataFilesResult:
    """Update the files in `folder` from the comments of a site.

    `site` may be "" if only one has comments. `advance` is called with how many comments were
    written. Raise DataFilesError, UnknownSiteError and OSError.
    """
    site = _site(reader, site)
    folder.mkdir(parents=True, exist_ok=True)
    files = _Files(folder)
    for thread_id, url, title, count, state, pinned in reader.each(_pages(site)):
        shown = [_PageComment(*row) for row in reader.each(_comments, thread_id)]
        shown.sort(key=lambda comment: comment.id != pinned)  # the pinned comment is the first
        deleted = queries.deleted_above(reader, {each.id: each.parent for each in shown})
        files.put(
            file_name(url),
            {
                "url": url,
                "title": title,
                "count": count,
                "closed": state == CLOSED,
                "comments": _tree(build_tree(shown, deleted), pinned),
            },
        )
        advance(count)
    if aliases := dict[str, str](reader.query(_aliases(site))):
        files.put(ALIASES, {"aliases": aliases})
    return files.finish()


def comment_count(reader: Reader, site: str) -> int:
    """Return how many comments will be written. Raise as `write` does."""
    name = _site(reader, site)
    [(count,)] = reader.query(SiteTable.select(SiteTable.count).where(SiteTable.name == name))
    return int(count)


def _site(reader: Reader, name: str) -> str:
    sites = reader.query(SiteTable.select(SiteTable.name, SiteTable.count).order_by(SiteTable.name))
    known = [site for site, _ in sites]
    if name:
        if name not in known:
            raise UnknownSiteError(
                f"There is no site with this name; the sites are: {', '.join(known)}."
            )
        return name
    used = [site for site, count in sites if count] or known
    if len(used) != 1:
        raise DataFilesError(
            f"Name the site of this blog with --site; the sites are: {', '.join(known)}."
        )
    return str(used[0])


def _tree(branches: list[Branch[_PageComment]], pinned: int | None) -> list[dict[str, object]]:
    return [_comment(comment, _tree(replies, pinned), pinned) for comment, replies in branches]


def _comment(
    comment: _PageComment | DeletedComment,
    replies: list[dict[str, object]],
    pinned: int | None,
) -> dict[str, object]:
    """Return the JSON of a comment without empty fields."""
    if isinstance(comment, DeletedComment):
        return {"id": comment.id, "deleted": True, "replies": replies}
    fields = {
        "id": comment.id,
        "anchor": comment.anchor,
        "author": comment.author,
        "site": comment.site,
        "role": comment.role,
        "verified": comment.reader_id is not None,
        "permalink": comment.permalink,
        "pinned": comment.id == pinned,
        "date": rfc3339(comment.published_at),
        "edited": rfc3339(comment.edited_at) if comment.edited_at else "",
        "html": comment.html,
        "replies": replies,
    }
    return {name: value for name, value in fields.items() if value}


class _Files:
    """Our files in a folder, and the counts of changes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._left = {path.name for path in folder.glob("*.json") if _is_ours(path)}
        self._written = self._unchanged = 0

    def put(self, name: str, content: dict[str, object]) -> None:
        """Write `content` to the file `name`, unless it has that content already."""
        path = self._folder / name
        json = msgspec.json.encode({"commentsvc": 1, **content})
        data = msgspec.json.format(json, indent=2) + b"\n"
        if name in self._left:
            self._left.discard(name)
            if path.read_bytes() == data:
                self._unchanged += 1
                return
        elif path.exists():
            raise DataFilesError(
                f"{path} is not a file of commentsvc: move it away, or name another folder."
            )
        part = path.with_name(name + PART)
        part.write_bytes(data)
        part.replace(path)
        self._written += 1

    def finish(self) -> DataFilesResult:
        """Remove our files that were not put."""
        for name in self._left:
            (self._folder / name).unlink()
        return DataFilesResult(self._written, self._unchanged, len(self._left))


def _is_ours(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(MARK)) == MARK

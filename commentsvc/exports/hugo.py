"""Data files for Hugo: one JSON file for each page with comments.

The files depend on the comments alone, so a version control system shows a change only if readers
see one. A file without changes is not written, and the file of a page without comments is removed.
The templates in static/hugo render the files; they find that of a page by `file_name`, or by the
shorter name of earlier versions. A page whose file cannot be written keeps its earlier one.
"""

import contextlib
import hashlib
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
from peewee import JOIN, fn

from commentsvc.comments import queries
from commentsvc.comments.page_urls import UnknownSiteError
from commentsvc.comments.queries import DeletedComment
from commentsvc.comments.tree import Branch, build_tree
from commentsvc.db.connection import Snapshot
from commentsvc.db.query import Param, Select, literal, prepared
from commentsvc.db.schema.comments import CommentTable, SiteTable, ThreadTable
from commentsvc.db.schema.imports import ImportedCommentTable
from commentsvc.model import APPROVED, CLOSED
from commentsvc.util.suggestions import no_such
from commentsvc.util.text import hue
from commentsvc.util.timestamps import rfc3339

# The beginning of each file; other files are not ours and never removed.
MARK: Final = b'{\n  "commentsvc": 1'
ALIASES: Final = "aliases.json"  # the aliases of all pages, with the urls they lead to
SLUG_LENGTH: Final = 60  # characters of a url in its file's name
DIGEST: Final = 32  # hexadecimal digits: nobody finds two urls with the same 128 bits
FORMER_DIGEST: Final = 8  # of development versions; 32 bits, which two urls soon have in common
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
            ThreadTable.likes,
            ThreadTable.reposts,
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
            CommentTable.lang,
            CommentTable.votes,
            CommentTable.reactions,
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
    """How many files were written, were unchanged, and were removed.

    `failures` says for each page without a current file why it has none, and begins with its url;
    or with the name of a file that cannot be removed.
    """

    written: int
    unchanged: int
    removed: int
    failures: tuple[str, ...] = ()


class PublicThread(NamedTuple):
    """A page with visible comments; `pinned` is the id of the comment that comes first."""

    id: int
    url: str
    title: str
    comments: int
    state: str
    pinned: int | None
    likes: int
    reposts: int


class PublicComment(NamedTuple):
    """A published comment, without anything private. Times are Unix milliseconds.

    The files have neither `votes` nor `reactions`: they would change with each of them.
    """

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
    lang: str
    votes: int
    reactions: str


def file_name(url: str, digest: int = DIGEST) -> str:
    """Return the file name for a canonical `url`: readable, and different for each url."""
    slug = re.sub("[^a-z0-9]+", "-", url.lower()).strip("-")[:SLUG_LENGTH]
    return f"{slug}-{hashlib.sha256(url.encode()).hexdigest()[:digest]}.json"


def write(
    snapshot: Snapshot,
    site: str,
    folder: Path,
    advance: Callable[[int], object] = lambda _comments: None,
) -> DataFilesResult:
    """Update the files in `folder` from the comments of a site.

    A page whose file cannot be written is one of the result's `failures`; the others are written.
    `site` may be "" if only one has comments. `advance` is called with how many comments were
    read. Raise DataFilesError, UnknownSiteError and OSError.
    """
    site = _site(snapshot, site)
    folder.mkdir(parents=True, exist_ok=True)
    files = _Files(folder)
    for thread in public_threads(snapshot, site):
        name, former = file_name(thread.url), file_name(thread.url, FORMER_DIGEST)
        with files.failure_noted(thread.url, name, former):
            files.put(name, encoded(thread, tree(snapshot, thread)))
        advance(thread.comments)
    if moved := aliases(snapshot, site):
        with files.failure_noted(ALIASES, ALIASES):
            files.put(ALIASES, encoded_aliases(moved))
    return files.finish()


def public_threads(snapshot: Snapshot, site: str) -> Iterator[PublicThread]:
    """Yield the pages of a site with visible comments, by their urls."""
    yield from (PublicThread(*row) for row in snapshot.each(_pages(site)))


def aliases(snapshot: Snapshot, site: str) -> dict[str, str]:
    """Return the urls of pages with visible comments by their aliases."""
    return dict(snapshot.query(_aliases(site)))


def tree(snapshot: Snapshot, thread: PublicThread) -> list[Branch[PublicComment]]:
    """Return the visible comments of a page; the pinned one comes first."""
    shown = [PublicComment(*row) for row in snapshot.each(_comments, thread.id)]
    shown.sort(key=lambda comment: comment.id != thread.pinned)
    deleted = queries.deleted_above(snapshot, {each.id: each.parent for each in shown})
    return build_tree(shown, deleted)


def encoded(thread: PublicThread, branches: list[Branch[PublicComment]]) -> bytes:
    """Return the JSON of a page."""
    return _encoded(
        {
            "url": thread.url,
            "title": thread.title,
            "count": thread.comments,
            "closed": thread.state == CLOSED,
            "comments": _tree(branches, thread.pinned),
        }
    )


def encoded_aliases(moved: dict[str, str]) -> bytes:
    """Return the JSON of `aliases`."""
    return _encoded({"aliases": moved})


def _encoded(content: dict[str, object]) -> bytes:
    json = msgspec.json.encode({"commentsvc": 1, **content})
    return msgspec.json.format(json, indent=2) + b"\n"


def comment_count(snapshot: Snapshot, site: str) -> int:
    """Return how many comments will be written. Raise as `write` does."""
    name = _site(snapshot, site)
    [(count,)] = snapshot.query(SiteTable.select(SiteTable.count).where(SiteTable.name == name))
    return int(count)


def _site(snapshot: Snapshot, name: str) -> str:
    sites = snapshot.query(
        SiteTable.select(SiteTable.name, SiteTable.count).order_by(SiteTable.name)
    )
    known = [site for site, _ in sites]
    if name:
        if name not in known:
            raise UnknownSiteError(no_such("site", name, known))
        return name
    used = [site for site, count in sites if count] or known
    if len(used) != 1:
        raise DataFilesError(
            f"Name the site of this blog with --site; the sites are: {', '.join(known)}."
        )
    return str(used[0])


def _tree(branches: list[Branch[PublicComment]], pinned: int | None) -> list[dict[str, object]]:
    return [_comment(comment, _tree(replies, pinned), pinned) for comment, replies in branches]


def _comment(
    comment: PublicComment | DeletedComment,
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
        "hue": hue(comment.author),
        "site": comment.site,
        "role": comment.role,
        "verified": comment.reader_id is not None,
        "permalink": comment.permalink,
        "pinned": comment.id == pinned,
        "date": rfc3339(comment.published_at),
        "edited": rfc3339(comment.edited_at) if comment.edited_at else "",
        "lang": comment.lang,
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
        self._failures: list[str] = []

    @contextlib.contextmanager
    def failure_noted(self, what: str, *names: str) -> Iterator[None]:
        """Note if the block fails; then `what` keeps those files that it has of the `names`."""
        try:
            yield
        except (DataFilesError, OSError, ValueError, OverflowError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            self._failures.append(f"{what}: {reason}")
            self._left.difference_update(names)

    def put(self, name: str, data: bytes) -> None:
        """Write `data` to the file `name`, unless it has that content already."""
        path = self._folder / name
        if name not in self._left and os.path.lexists(path):
            raise DataFilesError(
                f"{path} is not a file of commentsvc: move it away, or name another folder."
            )
        if name in self._left and path.read_bytes() == data:
            self._unchanged += 1
        else:
            part = path.with_name(name + PART)
            part.write_bytes(data)
            part.replace(path)
            self._written += 1
        self._left.discard(name)

    def finish(self) -> DataFilesResult:
        """Remove our files that were not put."""
        removed = 0
        for name in sorted(self._left):
            with self.failure_noted(name):
                (self._folder / name).unlink(missing_ok=True)
                removed += 1
        return DataFilesResult(self._written, self._unchanged, removed, tuple(self._failures))


def _is_ours(path: Path) -> bool:
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return file.read(len(MARK)) == MARK
    except OSError:
        return False  # such as a file that only others may read

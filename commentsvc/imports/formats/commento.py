"""Commento and Comentario: the JSON of "Export data", usually compressed with gzip.

Version 1 is that of Commento and of Comentario up to 2, which add `host` and `path`; version 3 is
that of Comentario since 3. Authors follow the comments in the file, so it is read twice.
"""

from typing import Final, NamedTuple

from commentsvc.imports import dates
from commentsvc.imports.records import (
    ImportedComment,
    ImportedPage,
    ImportFailed,
    ImportStatus,
    ParseOptions,
    Records,
)
from commentsvc.imports.sources import json_files
from commentsvc.imports.sources.files import SourceFile

_STATES: Final[dict[str, ImportStatus]] = {
    "approved": "approved",
    "unapproved": "pending",
    "flagged": "spam",
}
_GONE: Final = "[deleted]"
_NO_LINK: Final = "undefined"
_NAMES: Final = (b'"commentHex"', b'"commenterHex"', b'"commenters"', b'"createdTime"')


class _Author(NamedTuple):
    name: str
    email: str
    site: str
    is_admin: bool


_NOBODY: Final = _Author("", "", "", is_admin=False)


def recognises(_source: SourceFile, head: bytes) -> str:
    is_ours = head.lstrip().startswith(b"{") and any(name in head for name in _NAMES)
    return "the names of its fields" if is_ours else ""


def parse(source: SourceFile, options: ParseOptions) -> Records:
    version = json_files.first_number(source, "version")
    if not version:
        raise ImportFailed(f"{source.name} is no export of Commento or Comentario: no version.")
    if version not in (1, 3):
        raise ImportFailed(
            f"{source.name} is of version {version} of the export; known are 1 and 3."
        )
    read = _first_version if version == 1 else _third_version
    return read(source, options)


def _authors(source: SourceFile, *names: str) -> dict[str, _Author]:
    """Return the authors by the first field of `names`; the second has their web sites."""
    key, site = names
    authors: dict[str, _Author] = {}
    for each in json_files.items(source, "commenters.item", json_files.ignore):
        link = each.text(site, "link", "websiteUrl")
        authors.setdefault(
            each.text(key),
            _Author(
                each.text("name"),
                each.text("email"),
                "" if link == _NO_LINK else link,
                each.flag("isModerator") or each.flag("isOwner"),
            ),
        )
    return authors


def _first_version(source: SourceFile, options: ParseOptions) -> Records:
    authors, known = _authors(source, "commenterHex", "link"), set[str]()
    comments = json_files.items(source, "comments.item", options.skip)
    for number, comment in enumerate(comments, 1):
        host = comment.text("domain", "host").rstrip("/")
        path = comment.text("path", "url")
        url = path if "://" in path or not host else f"{_absolute(host)}/{path.lstrip('/')}"
        if url not in known:
            known.add(url)
            yield ImportedPage(url, url, f"comment {number}")
        author = authors.get(comment.text("commenterHex"), _NOBODY)
        text = comment.text("markdown", "html")
        deleted = comment.flag("deleted") or text == _GONE
        name, date = comment.text("commentHex"), comment.text("creationDate")
        yield ImportedComment(
            position=f"comment {number}",
            page=url,
            id=name,
            parent=_parent(comment.text("parentHex")),
            identity=f"{name} {date}",
            created=dates.moment(date),
            text=text,
            markup="markdown" if comment.text("markdown") else "html",
            author=author.name,
            email=author.email,
            site=author.site,
            status="deleted" if deleted else _STATES.get(comment.text("state"), "pending"),
            votes=comment.number("score"),
            drop="it was deleted in Commento" if deleted else "",
            anchor=f"commento-{name}",
            is_admin=author.is_admin,
        )


def _parent(name: str) -> str:
    """Return the id of a parent, "" for one that stands for none."""
    return name if name != "root" and name.strip("0-") else ""


def _absolute(host: str) -> str:
    return host if "://" in host else f"https://{host}"


def _third_version(source: SourceFile, options: ParseOptions) -> Records:
    authors = _authors(source, "id", "websiteUrl")
    for page in json_files.items(source, "pages.item", json_files.ignore):
        yield ImportedPage(
            page.text("id"),
            page.text("path"),
            f"page {page.text('path')}",
            page.text("title"),
            page.flag("isReadonly"),
        )
    comments = json_files.items(source, "comments.item", options.skip)
    for number, comment in enumerate(comments, 1):
        author = authors.get(comment.text("userCreated"), _NOBODY)
        name, date = comment.text("id"), comment.text("createdTime")
        edited = comment.text("editedTime")
        status: ImportStatus = "approved" if comment.flag("isApproved") else "spam"
        if comment.flag("isPending"):
            status = "pending"
        deleted = comment.flag("isDeleted")
        yield ImportedComment(
            position=f"comment {number}",
            page=comment.text("pageId"),
            id=name,
            parent=_parent(comment.text("parentId")),
            identity=f"{name} {date}",
            created=dates.moment(date),
            text=comment.text("markdown", "html"),
            markup="markdown" if comment.text("markdown") else "html",
            author=comment.text("authorName") or author.name,
            email=author.email,
            site=author.site,
            status="deleted" if deleted else status,
            edited=dates.moment(edited) if edited else None,
            votes=comment.number("score"),
            drop="it was deleted in Comentario" if deleted else "",
            anchor=f"comentario-{name}",
            is_admin=author.is_admin,
            is_pinned=comment.flag("isSticky"),
        )

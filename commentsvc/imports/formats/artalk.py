"""Artalk: its "Artrans" export, a JSON array of comments with texts as values, or one per line."""

from collections.abc import Iterator

from commentsvc.imports import dates
from commentsvc.imports.records import ImportedComment, ImportedPage, ParseOptions, Records
from commentsvc.imports.sources import json_files
from commentsvc.imports.sources.files import SourceFile
from commentsvc.imports.sources.json_files import Value


def recognises(_source: SourceFile, head: bytes) -> str:
    is_ours = head.lstrip()[:1] in (b"[", b"{") and b'"rid"' in head and b'"page_key"' in head
    return "its comments with rid and page_key" if is_ours else ""


def parse(source: SourceFile, options: ParseOptions) -> Records:
    known: set[str] = set()
    for number, comment in enumerate(_comments(source, options), 1):
        url = _url(comment)
        if url not in known:
            known.add(url)
            yield ImportedPage(
                url,
                url,
                f"comment {number}",
                comment.text("page_title"),
                comment.flag("page_admin_only"),
            )
        yield _comment(comment, url, f"comment {number}", options)


def _comments(source: SourceFile, options: ParseOptions) -> Iterator[Value]:
    if source.head().lstrip().startswith(b"["):
        return json_files.items(source, "item", options.skip)
    return (comment for _, comment in json_files.lines(source, options.skip))


def _url(comment: Value) -> str:
    """Return the page's URL; a path gets the first address of its site."""
    key, site = comment.text("page_key"), comment.text("site_urls").split(",")[0].strip()
    return f"{site.rstrip('/')}{key}" if key.startswith("/") and "://" in site else key


def _date(comment: Value) -> str:
    return comment.text("created_at", "date")  # version 1 called it so


def _comment(comment: Value, url: str, position: str, options: ParseOptions) -> ImportedComment:
    number, date, parent = comment.text("id"), _date(comment), comment.text("rid")
    return ImportedComment(
        position=position,
        page=url,
        id=number,
        parent="" if parent == "0" else parent,
        identity=f"{number} {date}",
        created=dates.moment(date, options.zone),
        text=comment.text("content"),
        markup="markdown",
        author=comment.text("nick"),
        email=comment.text("email"),
        site=comment.text("link"),
        status="pending" if comment.flag("is_pending") else "approved",
        votes=comment.number("vote_up") - comment.number("vote_down"),
        anchor=f"atk-comment-{number}",
        is_admin=bool(comment.text("badge_name")),
        is_pinned=comment.flag("is_pinned"),
    )

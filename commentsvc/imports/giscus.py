"""giscus: the discussions of a GitHub repository, from GitHub's GraphQL API.

The file is the output of `gh api graphql`: one answer, several one after the other, or a list of
discussions. Objects around the discussions do not matter. giscus ends the text of a discussion with
a link to the page; if there is none, the title is the page's address or path.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

from commentsvc.imports import dates, json_source
from commentsvc.imports.files import SourceFile
from commentsvc.imports.json_source import Value
from commentsvc.imports.records import (
    ImportedComment,
    ImportedPage,
    ImportStatus,
    ParseOptions,
    Records,
)

NAME: Final = "giscus"
_LINK: Final = re.compile(r"https?://[^\s<>()\[\]\"']+")
_DEPTH: Final = 20  # levels of objects around the discussions
_HIDDEN: Final[dict[str, ImportStatus]] = {"spam": "spam", "abuse": "spam", "off_topic": "pending"}


def recognises(_source: SourceFile, head: bytes) -> str:
    """Return what shows that the file has discussions; "" if it has none."""
    is_ours = b'"discussions"' in head or (b'"upvoteCount"' in head and b'"replies"' in head)
    return "its discussions" if is_ours and head.lstrip()[:1] in (b"{", b"[") else ""


def parse(source: SourceFile, options: ParseOptions) -> Records:
    """Return the pages and comments of `source`. Raise ImportFailed."""
    number = 0
    for answer in json_source.documents(source, options.skip):
        for discussion in _discussions(answer, 0):
            number += 1
            position = f"discussion {discussion.text('number') or number}"
            key = discussion.text("id", "number") or str(number)
            yield ImportedPage(
                key,
                _url(discussion),
                position,
                discussion.text("title"),
                discussion.flag("locked") or discussion.flag("closed"),
            )
            for comment in _nodes(discussion, "comments"):
                yield _comment(comment, key, "", position)
                for reply in _nodes(comment, "replies"):
                    yield _comment(reply, key, _id(comment), position)


def _discussions(value: Any, depth: int) -> Iterator[Value]:  # Any: JSON
    """Yield the objects with comments in `value`."""
    if depth > _DEPTH:
        return
    if isinstance(value, list):
        for each in value:
            yield from _discussions(each, depth + 1)
    elif isinstance(value, dict):
        if "comments" in value and "title" in value:
            yield Value(value)
        else:
            for each in value.values():
                yield from _discussions(each, depth + 1)


def _nodes(value: Value, name: str) -> list[Value]:
    """Return the objects of a GraphQL connection: its nodes, its edges' nodes, or an array."""
    connection = value.object(name)
    edges = [edge.object("node") for edge in connection.objects("edges")]
    return connection.objects("nodes") or edges or value.objects(name)


def _url(discussion: Value) -> str:
    """Return the URL of the page that giscus made the discussion for."""
    links = _LINK.findall(discussion.text("body"))
    return links[-1].rstrip(".") if links else discussion.text("title")


def _id(comment: Value) -> str:
    return comment.text("id", "databaseId", "url")


def _comment(comment: Value, page: str, parent: str, position: str) -> ImportedComment:
    number, date = _id(comment), comment.text("createdAt")
    author, edited = comment.object("author"), comment.text("lastEditedAt")
    deleted = bool(comment.text("deletedAt"))
    is_hidden = comment.flag("isMinimized")
    reason = comment.text("minimizedReason").lower().replace("-", "_")  # the API writes both
    body = comment.text("body")
    anchor = comment.text("databaseId")
    return ImportedComment(
        position=f"{position}, comment {anchor or number}",
        page=page,
        id=number,
        parent=parent,
        identity=f"{number} {date}",
        created=dates.moment(date),
        text=body or comment.text("bodyHTML"),
        markup="markdown" if body else "html",
        author=author.text("login", "name"),
        site=author.text("url"),
        status="deleted"
        if deleted
        else _HIDDEN.get(reason, "approved")
        if is_hidden
        else "approved",
        edited=dates.moment(edited) if edited else None,
        votes=comment.number("upvoteCount"),
        drop="it was deleted at GitHub" if deleted else "",
        anchor=f"discussioncomment-{anchor}" if anchor else "",
        account=author.text("login"),
        is_admin=comment.text("authorAssociation") == "OWNER",
        is_pinned=comment.flag("isAnswer"),
    )

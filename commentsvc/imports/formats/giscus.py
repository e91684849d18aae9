"""giscus: the discussions of a GitHub repository, from GitHub's GraphQL API.

The file is the output of `gh api graphql`: one answer, several one after the other, or a list of
discussions. Objects around the discussions do not matter. GitHub gives a hundred comments of a
discussion at once, so a discussion may be in several answers. Further replies to a comment are in
an object of that comment, which names the discussion.

giscus ends the text of a discussion with a link to the page; if there is none, the title is the
page's address or path.
"""

import re
from collections.abc import Generator, Iterator
from typing import Any, Final

from commentsvc.imports import dates
from commentsvc.imports.records import (
    ImportedComment,
    ImportedPage,
    ImportStatus,
    InvalidInput,
    ParseOptions,
    Records,
)
from commentsvc.imports.sources import json_files
from commentsvc.imports.sources.files import SourceFile
from commentsvc.imports.sources.json_files import Value
from commentsvc.model import AGAINST

_LINK: Final = re.compile(r"https?://[^\s<>()\[\]\"']+")
_ANCHOR: Final = re.compile(r"#(\w+comment-\d+)$").search
_DEPTH: Final = 20  # levels of objects around the discussions
_FOR = "\N{THUMBS UP SIGN}"
_EMOJI: Final = {
    "THUMBS_UP": _FOR,
    "THUMBS_DOWN": AGAINST,
    "LAUGH": "\N{SMILING FACE WITH OPEN MOUTH AND SMILING EYES}",
    "HOORAY": "\N{PARTY POPPER}",
    "CONFUSED": "\N{CONFUSED FACE}",
    "HEART": "\N{HEAVY BLACK HEART}\N{VARIATION SELECTOR-16}",
    "ROCKET": "\N{ROCKET}",
    "EYES": "\N{EYES}",
}
_REST: Final = {"THUMBS_UP": "+1", "THUMBS_DOWN": "-1"}  # names in the other interface of GitHub
_HIDDEN: Final[dict[str, ImportStatus]] = {"spam": "spam", "abuse": "spam", "off_topic": "pending"}


def recognises(_source: SourceFile, head: bytes) -> str:
    """Return what shows that the file has discussions; "" if it has none."""
    is_ours = b'"discussion' in head or (b'"upvoteCount"' in head and b'"comments"' in head)
    return "its discussions" if is_ours and head.lstrip()[:1] in (b"{", b"[") else ""


def parse(source: SourceFile, options: ParseOptions) -> Records:
    parser = DiscussionParser(options)
    for answer in json_files.documents(source, options.skip):
        for found in _found(answer, 0):
            yield from parser.replies(found) if "discussion" in found.fields else parser.page(found)
    parser.close()


def _found(value: Any, depth: int) -> Iterator[Value]:  # Any: JSON
    """Yield the discussions with comments in `value`, and the comments with their discussion."""
    if depth > _DEPTH:
        return
    if isinstance(value, list):
        for each in value:
            yield from _found(each, depth + 1)
    elif isinstance(value, dict):
        is_comment = "replies" in value and isinstance(value.get("discussion"), dict)
        if is_comment or ("comments" in value and "title" in value):
            yield Value(value)
        else:
            for each in value.values():
                yield from _found(each, depth + 1)


class _Connection:
    """What the file has of a GraphQL connection of `owner`, in one or several answers."""

    def __init__(self, owner: str, position: str) -> None:
        self.owner = owner
        self.position = position
        self.ids: set[str] = set()
        self.total = 0
        self.has_next = False

    @property
    def is_whole(self) -> bool:
        """Whether the file has all."""
        return self.total <= len(self.ids) and not self.has_next


class DiscussionParser:
    """Makes records of discussions and comments, in the names of either interface of GitHub."""

    noun = "discussion"
    anchor = "discussioncomment-"

    def __init__(self, options: ParseOptions) -> None:
        self.options = options
        self._number = 0
        self._connections: dict[tuple[str, str], _Connection] = {}  # by owner and name

    def page(self, discussion: Value) -> Records:
        """Yield the page and the comments of a discussion."""
        key, position = yield from self._page(discussion)
        for comment in self._nodes(discussion, "comments", position):
            yield self.comment(comment, key, "", position)
            yield from self._replies(comment, key, position)

    def replies(self, comment: Value) -> Records:
        """Yield the page of a comment and the replies to it; the comment itself is elsewhere."""
        key, position = yield from self._page(comment.object("discussion"))
        yield from self._replies(comment, key, position)

    def _page(self, discussion: Value) -> Generator[ImportedPage, None, tuple[str, str]]:
        """Yield the page of a discussion; return its key and position."""
        self._number += 1
        position = f"{self.noun} {discussion.text('number') or self._number}"
        key = self.key(discussion) or str(self._number)
        yield ImportedPage(
            key,
            self.address(discussion),
            position,
            discussion.text("title"),
            self.is_closed(discussion),
            reactions=_reactions(discussion),
        )
        return key, position

    def key(self, discussion: Value) -> str:
        """Return what identifies a discussion in the file."""
        return discussion.text("id", "number")

    def address(self, discussion: Value) -> str:
        """Return the URL of the page that giscus made the discussion for."""
        links = _LINK.findall(discussion.text("body"))
        return links[-1].rstrip(".") if links else discussion.text("title")

    def is_closed(self, discussion: Value) -> bool:
        """Return whether nobody can comment there any more."""
        return discussion.flag("locked") or discussion.flag("closed")

    def _replies(self, comment: Value, key: str, position: str) -> Records:
        for reply in self._nodes(comment, "replies", _position(comment, position)):
            yield self.comment(reply, key, _id(comment), position)

    def _nodes(self, value: Value, name: str, position: str) -> list[Value]:
        """Return the objects of a connection: its nodes, its edges' nodes, or an array."""
        connection, skip = value.object(name), self.options.skip
        edges = [edge.object("node") for edge in connection.objects("edges", skip, position)]
        found = connection.objects("nodes", skip, position) or edges or value.objects(name)
        total = connection.number("totalCount")
        has_next = connection.object("pageInfo").flag("hasNextPage")
        owner = _id(value)
        key = owner or position, name
        if not (found or total or has_next or key in self._connections):
            return found  # most comments have no replies, so there is nothing to remember
        seen = self._connections.setdefault(key, _Connection(owner, position))
        seen.ids.update(_id(each) or str(number) for number, each in enumerate(found))
        seen.total, seen.has_next = total, has_next
        return found

    def comment(self, comment: Value, page: str, parent: str, position: str) -> ImportedComment:
        """Return a comment of the discussion `page`."""
        number, date = _id(comment), comment.text("createdAt", "created_at")
        author = Value(comment.object("author").fields or comment.object("user").fields)
        edited, changed = comment.text("lastEditedAt"), comment.text("updated_at")
        if changed != date:
            edited = edited or changed
        deleted = bool(comment.text("deletedAt"))
        is_hidden = comment.flag("isMinimized")
        reason = comment.text("minimizedReason").lower().replace("-", "_")  # the API writes both
        body = comment.text("body")
        anchor, reactions = comment.text("databaseId", "id"), _reactions(comment)
        link = _ANCHOR(comment.text("html_url", "url"))
        return ImportedComment(
            position=_position(comment, position),
            page=page,
            id=number,
            parent=parent,
            identity=f"{number} {date}",
            created=dates.moment(date),
            text=body or comment.text("bodyHTML"),
            markup="markdown" if body else "html",
            author=author.text("login", "name"),
            site=author.text("html_url", "url"),
            status="deleted"
            if deleted
            else _HIDDEN.get(reason, "approved")
            if is_hidden
            else "approved",
            edited=dates.moment(edited) if edited else None,
            votes=max(
                comment.number("upvoteCount"), reactions.get(_FOR, 0)
            )  # often the same readers
            - reactions.get(AGAINST, 0),
            drop="it was deleted at GitHub" if deleted else "",
            anchor=link[1] if link else f"{self.anchor}{anchor}" if anchor.isdecimal() else "",
            account=author.text("login"),
            is_admin=comment.text("authorAssociation", "author_association") == "OWNER",
            is_pinned=comment.flag("isAnswer"),
            reactions=reactions,
        )

    def close(self) -> None:
        """Tell for the report of what GitHub has more than the file."""
        for (_, name), seen in self._connections.items():
            if not seen.is_whole:
                note = f"GitHub has more {name} than the {len(seen.ids)} in the file"
                if name == "replies":
                    note += f"; the comment's id there is {seen.owner}"
                self.options.ignore(InvalidInput(seen.position, note))


def _reactions(value: Value) -> dict[str, int]:
    """Return the numbers of reactions to a discussion or a comment by emoji."""
    found = {}
    for group in value.objects("reactionGroups"):
        readers = group.object("reactors").fields or group.object("users").fields
        emoji = _EMOJI.get(group.text("content"), "")
        if emoji and (number := Value(readers).number("totalCount")) > 0:
            found[emoji] = number
    counts = value.object("reactions")
    for name, emoji in _EMOJI.items() if counts.fields else ():
        if (number := counts.number(_REST.get(name, name.lower()))) > 0:
            found[emoji] = number
    return found


def _id(comment: Value) -> str:
    return comment.text("id", "databaseId", "url")


def _position(comment: Value, position: str) -> str:
    return f"{position}, comment {comment.text('databaseId') or _id(comment)}"

"""Items: a comment as our JSON answers show it."""

import re
from collections.abc import Iterable
from typing import Final

import msgspec

from commentsvc.model import APPROVED, Comment
from commentsvc.util.timestamps import local, rfc3339

# An MD5 digest; Stacosys' clients may have sent anything in its place.
is_digest: Final = re.compile(r"[0-9a-f]{32}").fullmatch


class Item(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A comment in an answer. The e-mail address is not in it, and never may be.

    The keys of Stacosys: author, avatar, content (Markdown), date (the server's local time) and
    site, which is absent where it is empty. Ours: id, parent, html, published and edited (RFC
    3339, UTC), votes, and picture, an address from that of the service on, where the site has some.
    """

    id: int
    parent: int | None
    author: str
    avatar: str
    content: str
    html: str
    date: str
    published: str | None
    votes: int
    site: str = ""
    edited: str | None = None
    picture: str = ""


class Receipt(msgspec.Struct, frozen=True, gc=False):
    """The answer to a submission: what became of it, and the token to edit it with, or null."""

    status: str
    comment: Item
    token: str | None
    token_expires: str | None


class Revised(msgspec.Struct, frozen=True, gc=False):
    """The answer to an edit: what became of the comment."""

    status: str
    comment: Item


def item(comment: Comment, pictures: str = "") -> Item:
    """Show a comment. One that is not yet published has the date of its creation.

    `pictures` is the address of an author's picture, with ``*`` for the digest; "" without any.
    """
    shown = comment.created if comment.published is None else comment.published
    return Item(
        comment.id,
        comment.parent_id,
        comment.author,
        comment.avatar,
        comment.source,
        comment.html,
        local(shown),
        None if comment.published is None else rfc3339(comment.published),
        comment.votes,
        comment.site,
        None if comment.edited is None else rfc3339(comment.edited),
        pictures.replace("*", comment.avatar) if pictures and is_digest(comment.avatar) else "",
    )


def items(comments: Iterable[Comment], pictures: str) -> list[Item]:
    """Show the comments of a list; `pictures` as for `item`."""
    return [item(comment, pictures) for comment in comments]


def status(comment: Comment) -> str:
    """Tell an author what became of a comment: a moderator's no looks like no answer yet."""
    return APPROVED if comment.status == APPROVED else "pending"

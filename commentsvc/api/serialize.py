"""What our JSON answers hold, a comment above all."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import replace

from commentsvc.comments.queries import DeletedComment
from commentsvc.comments.urls import Sites
from commentsvc.model import APPROVED, PENDING, Comment
from commentsvc.util.timestamps import local, rfc3339

# An MD5 digest; Stacosys' clients may have sent anything in its place.
is_digest: Final = re.compile(r"[0-9a-f]{32}").fullmatch
DIGEST_BYTES: Final = 16  # of a keyed digest: as long as MD5, for clients that draw pictures of it
NO_ANCHORS: Final[Mapping[int, str]] = MappingProxyType({})
AUTHORS: Final = 4_096  # whose digests need not be computed again


Moment = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
Number = Annotated[int, Meta(ge=0)]


class Answer(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A JSON object; no other members than its fields are in it."""


class Item(Answer, frozen=True, gc=False):
    """A comment in an answer. The e-mail address is not in it, and never may be.

    The keys of Stacosys: author, avatar (a digest, see CommentSerializer), content (Markdown), date
    (the server's local time) and site, which is absent where it is empty. Ours: id, parent, html,
    published and edited (RFC 3339, UTC), votes, picture, an address from that of the service on,
    where the site has some, anchor, what the comment's element is called where it was imported:
    links to the old system then lead to it (links of ours say "commentsvc-" and the id), role,
    where a moderator wrote it, and pinned, where it stands first on its page.
    """

    id: int
    parent: int | None
    author: str
    avatar: str
    content: str
    html: str
    date: str
    published: Moment | None
    votes: int
    site: str = ""
    edited: Moment | None = None
    picture: str = ""
    role: Literal["", "owner", "moderator"] = ""
    anchor: str = ""
    pinned: bool = False


class Receipt(Answer, frozen=True, gc=False):
    """The answer to a submission: what became of it, and the token to edit it with, or null."""

    status: Literal["approved", "pending"]
    comment: Item
    token: str | None
    token_expires: Moment | None


class Revised(Answer, frozen=True, gc=False):
    """The answer to an edit: what became of the comment."""

    status: Literal["approved", "pending"]
    comment: Item


class Count(Answer, frozen=True, gc=False):
    """How many approved comments there are."""

    count: Number


class Counts(Answer, frozen=True, gc=False):
    """How many approved comments each page has, by its url as it was sent."""

    counts: dict[str, Number]


class ListedComments(Answer, frozen=True):
    """Comments of a page.

    `count` is that of all approved comments, `next` goes on as `after`, from `closes` on the page
    takes no more comments, `voting` says which votes are possible. Where the changes since a
    moment were asked for, `votes` has those of all comments by id. `deleted` are the comments
    above those in `data` that are shown no more.
    """

    data: list[Item]
    count: Number
    next: str | UnsetType = UNSET
    closes: Moment | UnsetType = UNSET
    voting: Literal["up", "both"] | UnsetType = UNSET
    votes: dict[int, int] | UnsetType = UNSET
    deleted: list[DeletedComment] | UnsetType = UNSET


class Preview(Answer, frozen=True, gc=False):
    """A message as it would be shown."""

    html: str


class Votes(Answer, frozen=True, gc=False):
    """The sum of all votes for a comment, and the voter's own."""

    votes: int
    vote: Literal[-1, 0, 1]


class Challenge(Answer, frozen=True):
    """A challenge in ALTCHA's format, version 2 (PBKDF2/SHA-256).

    See https://altcha.org/docs/v2/proof-of-work-v2/. Any: its format is not ours.
    """

    parameters: dict[str, Any]
    signature: str


class Invitation(Answer, frozen=True):
    """What a form needs.

    `form_token` and a solution of the `proof_of_work` are sent with the comment; `length` is that
    of the longest message, `notify` whether replies can be mailed.
    """

    form_token: str
    length: Annotated[int, Meta(ge=1)]
    notify: bool
    proof_of_work: Challenge | UnsetType = UNSET


class State(Answer, frozen=True, gc=False):
    """How the service fares."""

    status: Literal["alive", "ready"]


class Client(Answer, frozen=True, gc=False):
    """Who asks, as the service sees it, and its time."""

    address: str
    host: str
    time: Moment


class CommentSerializer:
    """Shows comments as the settings of their site allow.

    The MD5 digest of an e-mail address can be guessed, a million addresses a second. So it is shown
    only where the site has `avatar_url`, which need it. Elsewhere a digest with a secret key tells
    authors apart. It is made of the address: a digest that a client sent proves nothing.
    """

    def __init__(self, sites: Sites, secret: bytes) -> None:
        """Take the sites, and the secret of this service that digests are keyed with."""
        self._sites = sites
        key = hashlib.blake2b(secret, person=b"avatar key").digest()

        @lru_cache(AUTHORS)
        def keyed(email: str) -> str:
            text = email.strip().lower().encode()
            return hashlib.blake2b(text, key=key, digest_size=DIGEST_BYTES).hexdigest()

        self._keyed = keyed

    def item(self, comment: Comment, site: str) -> Item:
        """Show a comment of the site of that name."""
        return self.items((comment,), site)[0]

    def items(
        self,
        comments: Iterable[Comment],
        site: str,
        anchors: Mapping[int, str] = NO_ANCHORS,
        pinned: int | None = None,
    ) -> list[Item]:
        """Show the comments of a list of the site of that name; `anchors` are those by id.

        `pinned` is the id of the one that is pinned.
        """
        shown = self._items(comments, site)
        if pinned:
            shown = [replace(item, pinned=item.id == pinned) for item in shown]
        if anchors:
            return [replace(item, anchor=anchors.get(item.id, "")) for item in shown]
        return shown

    def _items(self, comments: Iterable[Comment], site: str) -> list[Item]:
        pictures, keyed = self._sites.pictures(site), self._keyed
        if pictures:
            return [_item(comment, comment.avatar, pictures) for comment in comments]
        return [_item(each, keyed(each.email) if each.email else "", "") for each in comments]


def _item(comment: Comment, avatar: str, pictures: str) -> Item:
    """Show a comment with the digest `avatar`. One not yet published has the date of its creation.

    `avatar_url` is the address of an author's picture, with ``*`` for the digest; "" without any.
    """
    shown = comment.created_at if comment.published_at is None else comment.published_at
    return Item(
        comment.id,
        comment.parent_id,
        comment.author,
        avatar,
        comment.source,
        comment.html,
        local(shown),
        None if comment.published_at is None else rfc3339(comment.published_at),
        comment.votes,
        comment.site,
        None if comment.edited_at is None else rfc3339(comment.edited_at),
        pictures.replace("*", avatar) if pictures and is_digest(avatar) else "",
        comment.role,  # type: ignore[arg-type]  # the table's CHECK says that it is one of them
    )


def status(comment: Comment) -> Literal["approved", "pending"]:
    """Tell an author what became of a comment: a moderator's no looks like no answer yet."""
    return APPROVED if comment.status == APPROVED else PENDING

"""The JSON answers of the API, above all comments."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, TypeVar

import msgspec
from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import replace

from commentsvc.comments.page_urls import Sites
from commentsvc.comments.popular import Period
from commentsvc.comments.queries import DeletedComment
from commentsvc.model import APPROVED, PENDING, Comment, reaction_counts
from commentsvc.settings.types import AskedField
from commentsvc.util.origin import address_key
from commentsvc.util.text import initial
from commentsvc.util.timestamps import local, rfc3339

# An MD5 digest; Stacosys' clients may have sent anything in its place.
is_digest: Final = re.compile(r"[0-9a-f]{32}").fullmatch
DIGEST_BYTES: Final = 16  # of a keyed digest: as long as MD5, for clients that draw pictures of it
NO_ANCHORS: Final[Mapping[int, str]] = MappingProxyType({})
AUTHORS: Final = 4_096  # authors whose digests are cached


Moment = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
Number = Annotated[int, Meta(ge=0)]


class Answer(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A JSON object with no members except its fields."""


A = TypeVar("A", bound=Answer)


def answer_of(kind: type[A], row: object, **others: object) -> A:
    """Return an answer with the values of a `row` of the database, and the `others`.

    Its field `created` is the moment `created_at`, null for 0 and None; `comment` may be the number
    `comment_id`. Sites are lines of a text.
    """
    for name in kind.__struct_fields__:
        if name in others:
            continue
        if hasattr(row, f"{name}_at"):
            moment = getattr(row, f"{name}_at")
            others[name] = rfc3339(moment) if moment else None
        else:
            value = getattr(row, f"{name}_id" if hasattr(row, f"{name}_id") else name)
            others[name] = [*filter(None, value.split("\n"))] if name == "sites" else value
    return kind(**others)


class Item(Answer, frozen=True, gc=False):
    """A comment in an answer. It never contains the email address.

    The keys of Stacosys: author, avatar (a digest), content (Markdown), date (the server's local
    time) and site, which is absent if it is empty. Our own keys: id, parent, html, published and
    edited (RFC 3339, UTC), votes; picture, an address relative to the service's, if the site shows
    pictures; anchor, the id that an imported comment had in its old system, so that old links still
    lead to it (new links use "commentsvc-" and the id); role, if a moderator wrote it; pinned, if
    it is the first on its page; permalink, the address of a reply on another site; verified, if
    the author had signed in; initial, the first character of the author's name if it is made of
    several code points, such as a flag; lang, the tag of its language, if that is known; and
    reactions, how many readers chose each emoji of the site, if some did.
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
    permalink: str = ""
    verified: bool = False
    initial: str = ""
    lang: str = ""
    reactions: dict[str, Number] = msgspec.field(default_factory=dict)


class Receipt(Answer, frozen=True, gc=False):
    """The answer to a submission: its status, and the edit token, or null.

    `replies_feed` is the address of an Atom feed of the replies, relative to the service's. It
    cannot be guessed, so only the author knows which feeds belong to one person.
    """

    status: Literal["approved", "pending"]
    comment: Item
    token: str | None
    token_expires: Moment | None
    replies_feed: str


class Revised(Answer, frozen=True, gc=False):
    """The answer to an edit: the new status of the comment."""

    status: Literal["approved", "pending"]
    comment: Item


class Count(Answer, frozen=True, gc=False):
    """The number of approved comments."""

    count: Number


class LatestComment(Answer, frozen=True, gc=False):
    """One of a site's newest comments, or one that was found, with a part of its text.

    `link` leads to it; `title` is the title of its page, or the page's path.
    """

    id: int
    author: str
    excerpt: str
    link: str
    title: str
    published: Moment


class FoundComments(Answer, frozen=True, gc=False):
    """Comments that a search found, newest first. For further ones, send `next` as `before`."""

    data: list[LatestComment]
    next: int | UnsetType = UNSET


class PopularPage(Answer, frozen=True, gc=False):
    """A page and the number of its comments. `title` is the page's path if it has no title."""

    link: str
    title: str
    count: Number


class ViewedPage(Answer, frozen=True, gc=False):
    """A page and how often it was viewed. `title` is the page's path if it has no title."""

    link: str
    title: str
    views: Number


class Counts(Answer, frozen=True, gc=False):
    """The number of approved comments of each page, by the URL as it was sent, or null.

    If the request asks for them: `reactions`, the number of each emoji on each page, the site's
    `latest` comments, the most `popular` pages in each period, the `views` of each page whose site
    counts them, and the most `viewed` pages of the site.
    """

    counts: dict[str, Number | None]
    reactions: dict[str, dict[str, Number] | None] | UnsetType = UNSET
    latest: list[LatestComment] | UnsetType = UNSET
    popular: dict[Period, list[PopularPage]] | UnsetType = UNSET
    views: dict[str, Number | None] | UnsetType = UNSET
    viewed: list[ViewedPage] | UnsetType = UNSET


class UploadedImage(Answer, frozen=True, gc=False):
    """An image: its address in the Markdown of a comment, and its URL once that is approved."""

    image: str
    url: str


class Reactions(Answer, frozen=True, gc=False):
    """How many reactions with each emoji of the site a page has."""

    reactions: dict[str, Number]


class CommentReactions(Answer, frozen=True, gc=False):
    """How many readers chose each emoji of the site for a comment, and the reader's own, or ""."""

    reactions: dict[str, Number]
    emoji: str


class ListedComments(Answer, frozen=True):
    """Comments of a page.

    `count` is the number of all approved comments. For more comments, send `next` as `after`. From
    `closes` on, the page accepts no more comments. `voting` says which votes are possible:
    `reactions` are one of `emoji` for each reader. If `since` was given, `votes` and `reactions`
    are those of all comments by id, unless there are too many, and `deleted` the ancestors of
    comments in `data` that are no longer shown. `likes` and `reposts` are those on other sites;
    `posts` are posts about the page to which accounts on Mastodon can reply. `notices` says whether
    reports may have a contact.
    """

    data: list[Item]
    count: Number
    next: str | UnsetType = UNSET
    closes: Moment | UnsetType = UNSET
    voting: Literal["up", "both", "reactions"] | UnsetType = UNSET
    emoji: list[str] = msgspec.field(default_factory=list)
    votes: dict[int, int] | UnsetType = UNSET
    reactions: dict[int, dict[str, Number]] | UnsetType = UNSET
    deleted: list[DeletedComment] | UnsetType = UNSET
    likes: Number = 0
    reposts: Number = 0
    posts: list[str] = msgspec.field(default_factory=list)
    notices: bool = False


class Preview(Answer, frozen=True, gc=False):
    """A message as HTML, as it would be shown."""

    html: str


class Votes(Answer, frozen=True, gc=False):
    """The sum of all votes for a comment, and the voter's own vote."""

    votes: int
    vote: Literal[-1, 0, 1]


class Challenge(Answer, frozen=True):
    """A challenge in ALTCHA's format, version 2 (PBKDF2/SHA-256).

    See https://altcha.org/docs/v2/proof-of-work-v2/.
    """

    parameters: dict[str, Any]  # Any: ALTCHA defines the format
    signature: str


class AskedOptions(Answer, frozen=True):
    """What a form asks for, if it is not the usual.

    `author`, `email` and `site` are fields; the box with the text `agreement` has to be ticked, and
    `agreed` sent. `guidelines` are HTML to show above the form. With `members_only`, only readers
    who have signed in can write, and the fields stay away.
    """

    author: AskedField = "required"
    email: AskedField = "optional"
    site: AskedField = "optional"
    agreement: str = ""
    guidelines: str = ""
    members_only: bool = False


class FormOptions(Answer, frozen=True):
    """What a form needs.

    `form_token` and a solution of the `proof_of_work` are sent with the comment; `length` is that
    of the longest message; `notify` says whether replies can be mailed, `sign_in` whether readers
    may sign in, and `images` how many bytes a picture in a comment may have, 0 without pictures;
    `notes` says whether private notes are accepted, `by_mail` whether comments are taken by mail,
    from the page `/mail/write`.
    """

    form_token: str
    length: Annotated[int, Meta(ge=1)]
    notify: bool
    proof_of_work: Challenge | UnsetType = UNSET
    sign_in: bool = False
    images: Annotated[int, Meta(ge=0)] = 0
    asks: AskedOptions | UnsetType = UNSET
    by_mail: bool = False
    notes: bool = False


class NoteReceipt(Answer, frozen=True, gc=False):
    """The answer to a private note; it is the same whatever becomes of the note."""

    status: Literal["received"]


class OwnComment(Answer, frozen=True, gc=False):
    """A comment by a reader who signed in, who may change it until `token_expires`."""

    status: Literal["approved", "pending"]
    comment: Item
    token_expires: Moment


class ReaderState(Answer, frozen=True, gc=False):
    """The reader who signed in, and the comments that this reader wrote on a page."""

    name: str
    comments: list[OwnComment]


class State(Answer, frozen=True, gc=False):
    """The state of the service."""

    status: Literal["alive"]


class Client(Answer, frozen=True, gc=False):
    """The client as the service sees it, and the service's time."""

    address: str
    host: str
    time: Moment


class CommentSerializer:
    """Makes the JSON of comments, as the settings of their site allow.

    The MD5 digest of an email address can be guessed, at a million addresses a second. So it is
    shown only if the site has an `avatar_url`, which needs it. Other sites show a digest with a
    secret key, which distinguishes authors. It is computed from the address; a digest sent by a
    client is ignored.
    """

    def __init__(self, sites: Sites, secret: bytes) -> None:
        """Take the sites, and the secret key of this service for the keyed digests."""
        self._sites = sites
        key = hashlib.blake2b(secret, person=b"avatar key").digest()

        @lru_cache(AUTHORS)
        def keyed(email: str) -> str:
            text = address_key(email).encode()
            return hashlib.blake2b(text, key=key, digest_size=DIGEST_BYTES).hexdigest()

        self._keyed = keyed

    def item(self, comment: Comment, site: str) -> Item:
        """Return the JSON object of a comment on the site of that name."""
        return self._item(comment, site)

    def items(
        self,
        comments: Iterable[Comment],
        site: str,
        anchors: Mapping[int, str] = NO_ANCHORS,
        pinned: int | None = None,
    ) -> list[Item]:
        """Return the JSON objects of a list; `anchors` are by the comments' ids.

        `pinned` is the id of the pinned comment.
        """
        shown = [self._item(comment, site) for comment in comments]
        if pinned:
            shown = [replace(item, pinned=item.id == pinned) for item in shown]
        if anchors:
            return [replace(item, anchor=anchors.get(item.id, "")) for item in shown]
        return shown

    def reactions(self, stored: str, site: str) -> dict[str, int]:
        """Return how many readers chose each emoji of the site for a comment, if some did."""
        if not stored:
            return {}
        offered = self._sites.reactions(site, reaction_counts(stored))
        return {emoji: number for emoji, number in offered.items() if number}

    def _item(self, comment: Comment, site: str) -> Item:
        """Return the JSON object of a comment; a pending one has the date of its creation."""
        email, pictures = comment.email, self._sites.options[site].pictures
        avatar = comment.avatar if pictures else self._keyed(email) if email else ""
        shown = comment.shown_at
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
            permalink=comment.permalink,
            verified=comment.reader_id is not None,
            initial="" if len(first := initial(comment.author)) == 1 else first,
            lang=comment.lang,
            reactions=self.reactions(comment.reactions, site),
        )


def status(comment: Comment) -> Literal["approved", "pending"]:
    """Return a comment's status for its author: a refused comment looks like a pending one."""
    return APPROVED if comment.status == APPROVED else PENDING

"""The JSON of Isso's clients: what they send, and what they get.

They insert `author` and `website` into their pages without escaping, so both are escaped here;
`text` is our sanitized HTML.

Pictures are drawn from `hash`, or are those of `api.avatars` if the site shows them. Isso computes
the hash from the author's e-mail address or network with a salt that everybody knows. Ours uses a
secret key of the service: nobody can check a guessed address with it.
"""

import hashlib
import html
import re
from typing import Annotated, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType

from commentsvc.api.avatars import NOBODY
from commentsvc.api.serialize import is_digest
from commentsvc.comments.submission import (
    BIGGEST_ID,
    EMAIL_LENGTH,
    AskedFields,
    Email,
    ParentId,
    SubmissionFields,
    Title,
    is_email,
    is_site,
    with_plain_scheme,
)
from commentsvc.compat.common import WEBSITE_LENGTH, read_json, with_scheme
from commentsvc.compat.two_levels import Level, Shown, TwoLevels
from commentsvc.http.messages import HttpError
from commentsvc.model import APPROVED, Comment, Entry
from commentsvc.settings.types import HIDDEN, REQUIRED
from commentsvc.util.origin import address_key
from commentsvc.util.text import one_line

HASH_BYTES: Final = 6  # as in Isso, whose pictures have 12 hex digits
COUNTED: Final = 1_000  # pages of one request: an archive page may link them all
SHOWN, WAITING, EMPTIED = 1, 2, 4  # Isso's modes of a comment

_VISIBLE_END = r"[^\s\x00-\x1f\x7f]"

IssoText = Annotated[
    str,
    Meta(
        description="The text in Markdown, at least 3 characters without the spaces at its end.",
        extra_json_schema={"pattern": rf"^[\s\S]{{2,}}{_VISIBLE_END}", "x-setting": "message"},
    ),
]
_is_long_enough = re.compile(rf"[\s\S]{{2,}}{_VISIBLE_END}").match


IssoAuthor = Annotated[str, Meta(description="The author's name, which is cut if it is too long.")]


IssoWebsite = Annotated[
    str, Meta(description="The author's web site, which is left out if it is none that we take.")
]


class IssoSubmission(msgspec.Struct, frozen=True, gc=False):
    """A comment as Isso's clients send it. Other keys are ignored."""

    text: IssoText
    author: IssoAuthor | None = None
    email: Email | None = None
    website: IssoWebsite | None = None
    parent: ParentId | None = None
    title: Title | None = None
    notification: bool | int | None = None


class IssoEdit(msgspec.Struct, frozen=True, gc=False):
    """A new text for a comment, and a new name or web site if they are there.

    An empty name changes nothing. Other keys are ignored.
    """

    text: IssoText
    author: IssoAuthor | None = None
    website: IssoWebsite | UnsetType | None = UNSET


class IssoPreview(msgspec.Struct, frozen=True, gc=False):
    """A text in Markdown to be shown as HTML."""

    text: Annotated[str, Meta(extra_json_schema={"pattern": _VISIBLE_END, "x-setting": "message"})]


class IssoHtml(msgspec.Struct, frozen=True, gc=False):
    """A text as it would be shown."""

    text: str


IssoPages = Annotated[
    list[str], Meta(description="Addresses of pages, as their links have them.", max_length=COUNTED)
]


class IssoConfig(msgspec.Struct, frozen=True, rename="kebab"):
    """The server's settings for Isso's clients."""

    reply_to_self: bool
    require_email: bool
    require_author: bool
    reply_notifications: bool
    gravatar: bool
    feed: bool
    avatar: bool | UnsetType = UNSET


class IssoSettings(msgspec.Struct, frozen=True):
    """The answer to a request for the settings."""

    config: IssoConfig


class IssoComment(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A comment for Isso's clients.

    `created` and `modified` are seconds of Unix time. `mode` is 1 for a comment that is shown, 2
    for one that waits for approval, 4 for one that was deleted but has replies. Only top-level
    comments of a list have `replies`; only the latest comments have `uri` and `title`.
    """

    id: int
    parent: int | None
    text: str
    author: str | None
    website: str | None
    mode: int
    created: float
    modified: float | None
    likes: int
    dislikes: int
    hash: str
    notification: int
    gravatar_image: str | UnsetType = UNSET
    verified: bool = False
    total_replies: int | UnsetType = UNSET
    hidden_replies: int | UnsetType = UNSET
    replies: "list[IssoComment] | UnsetType" = UNSET
    uri: str | UnsetType = UNSET
    title: str | UnsetType = UNSET


class IssoThread(msgspec.Struct, frozen=True):
    """A part of a thread. `id` is the comment whose replies are listed, null for the page."""

    id: int | None
    total_replies: int
    hidden_replies: int
    replies: list[IssoComment]
    config: IssoConfig


class IssoVotes(msgspec.Struct, frozen=True, omit_defaults=True):
    """The votes for a comment and against it; `message` says why a vote was refused."""

    likes: int
    dislikes: int
    message: str | UnsetType = UNSET


_submission = msgspec.json.Decoder(IssoSubmission).decode
_edit = msgspec.json.Decoder(IssoEdit).decode
_preview = msgspec.json.Decoder(IssoPreview).decode
_pages = msgspec.json.Decoder(IssoPages).decode


def submission_fields(
    body: bytes, uri: str, author_length: int, *, needs_author: bool
) -> SubmissionFields:
    """Read a comment for the page `uri`. Raise MalformedError or HttpError.

    Isso's client shows no error. So a name is cut to `author_length` characters, and an address
    or web site that Isso takes and we do not is left out.
    """
    sent = read_json(_submission, body)
    _check_length(sent.text)
    if needs_author and not sent.author:
        raise HttpError(403, "invalid", "Please enter a name.")
    email = (sent.email or "").strip()
    if len(email) > EMAIL_LENGTH:
        raise HttpError(400, "invalid", f"The address has more than {EMAIL_LENGTH} characters.")
    if not is_email(email):
        email = ""
    return SubmissionFields(
        uri,
        one_line(sent.author or "")[:author_length],
        sent.text,
        email=email,
        site=_address(sent.website),
        parent=sent.parent if sent.parent and 0 < sent.parent <= BIGGEST_ID else None,
        title=sent.title,
        notify=bool(sent.notification) and bool(email),
    )


def edited_fields(
    body: bytes, known: Comment, url: str, author_length: int, asks: AskedFields
) -> SubmissionFields:
    """Read the new text, name and web site of a comment on the page `url`.

    A name is cut as in `submission_fields`. A reader who has signed in keeps the name and the web
    site, as everybody does where the site does not ask for them. Raise MalformedError or HttpError.
    """
    sent = read_json(_edit, body)
    _check_length(sent.text)
    author, site = known.author, known.site
    if known.reader_id is None and not known.role:
        if asks.author != HIDDEN:
            author = one_line(sent.author or "")[:author_length] or author
        if asks.site != HIDDEN and sent.website is not UNSET:
            site = _address(sent.website) or (site if asks.site == REQUIRED else "")
    return SubmissionFields(url, author, sent.text, site=site)


def preview_text(body: bytes) -> str:
    """Read a text for a preview. Raise MalformedError."""
    return read_json(_preview, body).text


def pages(body: bytes) -> list[str]:
    """Read the addresses of pages to count. Raise MalformedError."""
    return read_json(_pages, body)


def _address(website: str | None) -> str:
    website = (website or "").strip()
    if len(website) > WEBSITE_LENGTH:
        message = f"The web site has more than {WEBSITE_LENGTH} characters."
        raise HttpError(400, "invalid", message)
    site = with_plain_scheme(with_scheme(website))
    scheme, _, rest = site.partition("://")
    return "" if scheme in ("http", "https") and rest and not is_site(site) else site


def _check_length(text: str) -> None:
    if not _is_long_enough(text):
        raise HttpError(400, "invalid", "The text is too short: it has at least 3 characters.")


# Hashes that the client would read as a number in `data-isso-page-author-hashes`, and then fail.
_is_number: Final = re.compile(r"[0-9]+(?:e[0-9]+)?").fullmatch


class IssoSerializer:
    """Makes the JSON of comments for Isso's clients."""

    def __init__(self, secret: bytes, pictures: str) -> None:
        """Take the secret key of this service for the hashes, and the address of pictures.

        It has ``*`` for the digest of an author's email address; "" is for no pictures.
        """
        self._key = hashlib.blake2b(secret, person=b"isso hash key").digest()
        self._pictures = pictures

    def thread(
        self, part: TwoLevels, parent: int | None, config: IssoConfig, *, plain: bool
    ) -> IssoThread:
        """Return a part of a thread: the replies to `parent`, or all if that is None."""
        shown = [self._shown(each, plain) for each in part.level.comments]
        if parent is None:
            shown = [self._with_replies(each, part.below[each.id], plain) for each in shown]
        return IssoThread(parent, part.total, part.level.hidden, shown, config)

    def comment(self, comment: Comment, dislikes: int = 0, *, plain: bool = False) -> IssoComment:
        """Return the JSON of a comment, whose `parent_id` is that of its top-level comment.

        A comment that readers do not see looks pending, whatever its status is.
        """
        votes = tally(comment.votes, dislikes)
        return IssoComment(
            id=comment.id,
            parent=comment.parent_id,
            text=comment.source if plain else comment.html,
            author=html.escape(comment.author, quote=False),
            website=html.escape(comment.site) or None,
            mode=SHOWN if comment.status == APPROVED else WAITING,
            created=comment.shown_at / 1_000,
            modified=None if comment.edited_at is None else comment.edited_at / 1_000,
            likes=votes.likes,
            dislikes=votes.dislikes,
            hash=self._hash(comment),
            notification=0,
            gravatar_image=self._picture(comment.avatar),
            verified=comment.reader_id is not None,
        )

    def latest(self, entry: Entry, dislikes: int) -> IssoComment:
        """Return the JSON of a comment with its page."""
        shown = self.comment(entry.comment, dislikes)
        return msgspec.structs.replace(shown, uri=entry.url, title=entry.title)

    def emptied(self, comment_id: int, created: float, votes: IssoVotes) -> IssoComment:
        """Return the JSON of a deleted top-level comment with replies, which keeps its votes."""
        return IssoComment(
            id=comment_id,
            parent=None,
            text="",
            author=None,
            website=None,
            mode=EMPTIED,
            created=created,
            modified=None,
            likes=votes.likes,
            dislikes=votes.dislikes,
            hash="0" * 2 * HASH_BYTES,
            notification=0,
            gravatar_image=self._picture(""),
        )

    def _shown(self, each: Shown, plain: bool) -> IssoComment:
        created = each.position.created / 1_000_000
        if each.comment is None:
            return self.emptied(
                each.position.id, created, tally(each.position.votes, each.dislikes)
            )
        shown = self.comment(each.comment, each.dislikes, plain=plain)
        return msgspec.structs.replace(shown, created=created)

    def _with_replies(self, top: IssoComment, level: Level, plain: bool) -> IssoComment:
        return msgspec.structs.replace(
            top,
            total_replies=level.total,
            hidden_replies=level.hidden,
            replies=[self._shown(each, plain) for each in level.comments],
        )

    def _picture(self, avatar: str) -> str | UnsetType:
        """Return the address of a picture: a neutral one if there is no digest."""
        digest = avatar if is_digest(avatar) else NOBODY
        return self._pictures.replace("*", digest) if self._pictures else UNSET

    def _hash(self, comment: Comment) -> str:
        """Return the hash of an author's address, or of the name if there is no address."""
        email = address_key(comment.email)
        known = f"email {email}" if email else f"name {comment.author}"
        digest = hashlib.blake2b(known.encode(), key=self._key, digest_size=HASH_BYTES).hexdigest()
        return f"f{digest[1:]}" if _is_number(digest) else digest


def tally(votes: int, dislikes: int) -> IssoVotes:
    """Return the votes for and against a comment; `votes` is their sum.

    Imported comments have a sum without single votes, which may be negative.
    """
    likes = votes + dislikes
    return IssoVotes(likes, dislikes) if likes >= 0 else IssoVotes(0, dislikes - likes)

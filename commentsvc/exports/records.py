"""The records of an export: one JSON object per line, as docs/export-format.md describes them.

These classes define the format. An export is encoded from them, an import decodes `Record`, and the
JSON Schema is generated from them. A field with its default value is not written, so a reader uses
the default for an absent field. Times are RFC 3339 in UTC with milliseconds, digests are
hexadecimal.

A change that old readers would misunderstand increases `VERSION`; a new field does not.
"""

import inspect
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct

from commentsvc.settings.types import EMOJI_LENGTH
from commentsvc.util.i18n import TAG

FORMAT: Final = "commentsvc"
VERSION: Final = 1

Moment = Annotated[
    str,
    Meta(
        pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$",
        extra_json_schema={"format": "date-time"},
    ),
]
Digest = Annotated[str, Meta(pattern="^([0-9a-f]{2})+$")]
MOST: Final = 2**53 - 1  # that all readers of JSON understand (RFC 8259, section 6)
Id = Annotated[int, Meta(ge=1, le=MOST)]
Number = Annotated[int, Meta(ge=0, le=MOST)]
Sum = Annotated[int, Meta(ge=-MOST, le=MOST)]
Token = Annotated[int, Meta(ge=0, le=2**32 - 1)]
Emoji = Annotated[str, Meta(max_length=EMOJI_LENGTH)]
MOST_EMOJI: Final = 100  # of one comment: more than a site can offer at any time


class HeaderRecord(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="header"):
    """The first line: the format, and the `site` and `since` that were asked for."""

    format: Literal["commentsvc"]
    version: Literal[1]
    site: str = ""
    since: Moment | None = None
    anonymous: bool = False


class ReactionRecord(Struct, frozen=True, omit_defaults=True, gc=False):
    """One reaction. `reader` is a digest of the random word that the reader's browser keeps.

    `network` is a digest with the service's secret key, like that of a comment.
    """

    emoji: str
    reader: Digest
    created: Moment
    network: Digest | None = None


class ThreadRecord(Struct, frozen=True, omit_defaults=True, gc=False, tag="thread"):
    """The comment thread of a page. `url` and `aliases` are canonical: a path, with its query.

    An alias is another address of the page; it has no thread of its own. `state` says whether the
    thread takes comments: "aging" closes by its age and the settings, "open" always, "closed"
    never. `reactions` is the number of reactions with each emoji; `reacted` lists those whose
    readers are known.
    """

    site: str
    url: str
    title: str = ""
    state: Literal["aging", "open", "closed"] = "aging"
    aliases: tuple[str, ...] = ()
    reactions: dict[str, Id] = {}
    reacted: tuple[ReactionRecord, ...] = ()


class HistoryRecord(Struct, frozen=True, omit_defaults=True, gc=False):
    """A change of a comment. All changes of one decision have the same `decision`.

    `old` and `new` are statuses, texts, urls of threads or tags of languages, as `field` says. For
    a change of the status, `old_at` is the previous `published`; for one of the text, the previous
    `edited`.
    """

    id: Id
    decision: Number
    field: Literal["status", "text", "thread", "lang"]
    old: str
    new: str
    created: Moment
    actor: str = ""
    old_at: Moment | None = None
    undone: Moment | None = None
    undone_by: str | None = None


class VoteRecord(Struct, frozen=True, omit_defaults=True, gc=False):
    """A vote. `voter` is a digest of a random word in the reader's browser.

    `network` is a digest with the service's secret key, like that of a comment. A reaction has an
    `emoji`.
    """

    voter: Digest
    value: Literal[-1, 1]
    created: Moment
    network: Digest | None = None
    emoji: Emoji = ""


class ReportRecord(Struct, frozen=True, omit_defaults=True, gc=False):
    """A reader's report of a comment, on which no moderator has decided yet.

    `reporter` is a digest of a random word in the reader's browser.
    """

    reporter: Digest
    created: Moment
    reason: Literal["", "illegal", "abuse", "spam", "other"] = ""
    explanation: Annotated[str, Meta(max_length=500)] = ""
    name: Annotated[str, Meta(max_length=100)] = ""
    email: Annotated[str, Meta(max_length=254)] = ""
    language: Annotated[str, Meta(max_length=35)] = ""
    in_good_faith: Literal[0, 1] = 0
    objects: Literal[0, 1] = 0


class StatementRecord(Struct, frozen=True, omit_defaults=True, gc=False):
    """Why a moderator decided so about a comment: what its author and reporters are told."""

    decided: Moment
    actor: str
    ground: Literal["", "law", "rules"] = ""
    message: Annotated[str, Meta(max_length=1_000)] = ""


class InternalNoteRecord(Struct, frozen=True, omit_defaults=True, gc=False):
    """A note on a comment by a moderator, which only moderators see."""

    actor: str
    message: Annotated[str, Meta(max_length=2_000)]
    created: Moment


class TrainingRecord(Struct, frozen=True, omit_defaults=True, gc=False):
    """What a comment taught the spam filter: the CRC-32 of each of its words, and the label."""

    label: Literal["spam", "approved"]
    tokens: tuple[Token, ...] = ()


class IdentityRecord(Struct, frozen=True, gc=False):
    """Who signed in: the `subject` at an `issuer`, which is "mail", "blog" or a provider's URL."""

    issuer: str
    subject: str


class ImageRecord(Struct, frozen=True, gc=False):
    """An image that a comment names in its text as `image:NAME`; `content` is a WebP file."""

    name: str
    content: bytes


class CommentRecord(Struct, frozen=True, omit_defaults=True, gc=False, tag="comment"):
    """A comment and everything that belongs to it. `parent` is the id of the comment it replies to.

    `message` is what the author wrote, `html` how it is shown. With the `markup` "html", the
    comment was imported, and its HTML is that of the other system, not made from the message.
    `anchor` is the fragment of links to it in that system, without "#". `permalink` is the address
    of a reply from elsewhere. `role` is set if a moderator wrote it. A `pinned` comment is the
    first on its page. `votes` is the sum of all votes; `voters` are the known single votes.
    `reactions` is the number of votes with each emoji, which may exceed the known ones.
    `proposed_title` is the page title that the comment was sent with. `score` and `reasons` (a line
    each, see `spam.reasons`) are its verdict. `network` is a digest with the service's secret key.
    `subscribed` says that replies are mailed to the author, `follows` that the author is asked to
    follow the page when the comment is published, and `language` in which language (a tag).
    `reader` is set if the author had signed in. `lang` is the tag of the comment's language.
    """

    id: Id
    site: str
    url: str
    status: Literal["pending", "approved", "spam", "deleted"]
    created: Moment
    message: str
    html: str
    markup: Literal["markdown", "html"] = "markdown"
    parent: Id | None = None
    published: Moment | None = None
    edited: Moment | None = None
    author: str = ""
    email: str = ""
    avatar: str = ""
    author_site: str = ""
    permalink: str = ""
    role: Literal["", "owner", "moderator"] = ""
    pinned: bool = False
    votes: Sum = 0
    proposed_title: str = ""
    score: Sum = 0
    reasons: str = ""
    network: Digest | None = None
    anchor: str = ""
    subscribed: bool = False
    training: TrainingRecord | None = None
    history: tuple[HistoryRecord, ...] = ()
    voters: tuple[VoteRecord, ...] = ()
    reader: IdentityRecord | None = None
    images: tuple[ImageRecord, ...] = ()
    follows: bool = False
    language: str = ""
    reports: Annotated[tuple[ReportRecord, ...], Meta(max_length=20)] = ()
    lang: Annotated[str, Meta(pattern=f"^(?:{TAG})?$")] = ""
    internal_notes: Annotated[tuple[InternalNoteRecord, ...], Meta(max_length=20)] = ()
    statements: tuple[StatementRecord, ...] = ()
    reactions: Annotated[dict[Emoji, Id], Meta(max_length=MOST_EMOJI)] = {}


class ViewsRecord(Struct, frozen=True, omit_defaults=True, gc=False, tag="views"):
    """How often the page `url` of a site was viewed. It may have no thread."""

    site: str
    url: str
    views: Id


class BanRecord(Struct, frozen=True, omit_defaults=True, gc=False, tag="ban"):
    """A ban on all sites of the service. `expires` is absent for a ban without end."""

    kind: Literal["author", "network", "word", "domain"]
    value: str
    created: Moment
    actor: str = ""
    expires: Moment | None = None


class SubscriberRecord(Struct, frozen=True, omit_defaults=True, gc=False, tag="subscriber"):
    """Whether the owner of an address agreed to mails about replies, and when they were asked."""

    site: str
    email: str
    consent: Literal["asked", "confirmed", "stopped"]
    asked: Moment | None = None


class FollowerRecord(Struct, frozen=True, omit_defaults=True, gc=False, tag="follower"):
    """Whether the owner of an address agreed to mails about new comments of a page or a site.

    Without `url` it is the whole site. `asked` is when the owner was last asked, or has declined;
    `language` is the tag of the language of the mails.
    """

    site: str
    email: str
    consent: Literal["asked", "confirmed", "stopped"]
    asked: Moment
    url: str = ""
    language: str = ""


class ReaderRecord(Struct, frozen=True, omit_defaults=True, gc=False, tag="reader"):
    """A reader who signed in on a site, and the name that nobody else can use there.

    `email` is an address that the issuer has verified. `trusted_by` is the moderator who trusts
    the reader, since the time `trusted`.
    """

    site: str
    issuer: str
    subject: str
    name: str
    email: str = ""
    trusted_by: str = ""
    trusted: Moment | None = None


class NoteRecord(Struct, frozen=True, omit_defaults=True, gc=False, tag="note"):
    """A private note about a page, which is never public, and the `answer` that was mailed.

    `quote` are the words of the page that it is about; `may_thank` says whether its author may be
    thanked by name. `decided` is when `actor` last dealt with it.
    """

    site: str
    url: str
    author: str
    message: str
    created: Moment
    state: Literal["new", "done", "spam"] = "new"
    title: str = ""
    email: str = ""
    quote: str = ""
    language: str = ""
    may_thank: bool = False
    decided: Moment | None = None
    actor: str = ""
    answer: str = ""


class SavedReplyRecord(Struct, frozen=True, omit_defaults=True, gc=False, tag="saved_reply"):
    """A text in Markdown that moderators put into answers, and the moderator who changed it."""

    title: Annotated[str, Meta(max_length=80)]
    message: str
    actor: str
    changed: Moment


class SettingRecord(Struct, frozen=True, omit_defaults=True, gc=False, tag="setting"):
    """A setting that was changed in the browser, such as "spam.max_links", and its value.

    It belongs to `site`, or to the whole service without one. `actor` changed it last.
    """

    key: Annotated[str, Meta(max_length=80)]
    value: bool | int | str | list[str]
    actor: str
    changed: Moment
    site: str = ""


class TrainingTotalRecord(Struct, frozen=True, omit_defaults=True, gc=False, tag="training_total"):
    """How many comments of each kind the spam filter has learned from."""

    spam: Number = 0
    good: Number = 0


class TrainingTokenRecord(Struct, frozen=True, omit_defaults=True, gc=False, tag="training_token"):
    """In how many of these comments a word occurs; `hash` is its CRC-32."""

    hash: Token
    spam: Number = 0
    good: Number = 0


class EndRecord(Struct, frozen=True, omit_defaults=True, gc=False, tag="end"):
    """The last line: how many records of each type are before it. A file without it is cut off."""

    threads: Number = 0
    comments: Number = 0
    bans: Number = 0
    subscribers: Number = 0
    followers: Number = 0
    readers: Number = 0
    notes: Number = 0
    saved_replies: Number = 0
    settings: Number = 0
    training_totals: Number = 0
    training_tokens: Number = 0
    views: Number = 0


# In the order of a file.
Record = (
    HeaderRecord
    | ThreadRecord
    | CommentRecord
    | BanRecord
    | SubscriberRecord
    | FollowerRecord
    | ReaderRecord
    | NoteRecord
    | SavedReplyRecord
    | SettingRecord
    | TrainingTotalRecord
    | TrainingTokenRecord
    | ViewsRecord
    | EndRecord
)

SCHEMA_ID: Final = f"https://commentsvc.example/export-format-{VERSION}.schema.json"


def schema() -> bytes:
    """Return the JSON Schema (2020-12) of one line, as docs/export-format.schema.json has it."""
    written = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_ID,
        "title": "One line of an export of commentsvc",
        **_unindented(msgspec.json.schema(Record)),
    }
    return msgspec.json.format(msgspec.json.encode(written), indent=2) + b"\n"


def _unindented(node: Any) -> Any:
    """Unindent the descriptions, which are docstrings: Python does so itself from 3.13 on."""
    if isinstance(node, list):
        return [_unindented(each) for each in node]
    if not isinstance(node, dict):
        return node
    made = {key: _unindented(value) for key, value in node.items()}
    if isinstance(text := made.get("description"), str):
        made["description"] = inspect.cleandoc(text)
    return made

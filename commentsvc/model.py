"""The model: a comment, and the constants for its states, roles and changes.

These are values only: the module imports nothing from the package, and knows no database.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

PENDING: Final = "pending"
APPROVED: Final = "approved"
SPAM: Final = "spam"
DELETED: Final = "deleted"
STATUSES: Final = (PENDING, APPROVED, SPAM, DELETED)
# Whether a thread takes comments: until it is too old for the site's settings, always, or never.
AGING: Final = "aging"
OPEN: Final = "open"
CLOSED: Final = "closed"
STATES: Final = (AGING, OPEN, CLOSED)
AGAINST: Final = "👎"  # a reaction with it, in any skin tone, is a vote against a comment
# What a change of a comment can be about.
STATUS: Final = "status"
TEXT: Final = "text"
THREAD: Final = "thread"
LANGUAGE: Final = "lang"
CHANGES: Final = (STATUS, TEXT, THREAD, LANGUAGE)
# What became of a page with comments that the blog's sitemap does not list. The blog answers that
# it is elsewhere, gone, or there; a moderator lets its comments follow it, or stay.
MOVED: Final = "moved"
GONE: Final = "gone"
THERE: Final = "there"
FOLLOWED: Final = "followed"
STAYED: Final = "stayed"
UNLISTED: Final = (MOVED, GONE, THERE, FOLLOWED, STAYED)
# The states of a private note: a moderator has dealt with it, or it is spam.
NEW: Final = "new"
DONE: Final = "done"
NOTE_STATES: Final = (NEW, DONE, SPAM)
# The roles of accounts, the most powerful first; see `moderation.permissions`.
OWNER: Final = "owner"
MODERATOR: Final = "moderator"
VIEWER: Final = "viewer"
ROLES: Final = (OWNER, MODERATOR, VIEWER)
# The scopes of API tokens.
SCOPES: Final = ("read", "decide", "administer")
# The roles that are shown as a badge with an account's comments; a reader's role is "".
BADGES: Final = (OWNER, MODERATOR)
# Why a reader reports a comment.
REPORT_REASONS: Final = ("illegal", "abuse", "spam", "other")
# What is counted about moderation, see `moderation.decision_counts`.
REPORTS_COUNTED: Final = "report"
OBJECTIONS_COUNTED: Final = "objection"
BY_MODERATORS: Final = "moderator"
BY_PROGRAMS: Final = "program"
UNDONE_COUNTED: Final = "undone"
COUNTED: Final = (
    REPORTS_COUNTED,
    OBJECTIONS_COUNTED,
    BY_MODERATORS,
    BY_PROGRAMS,
    UNDONE_COUNTED,
)
# What a moderator's decision against a comment rests on: the law, or the rules of the blog.
GROUNDS: Final = ("law", "rules")
# The kinds of bans.
BANS: Final = ("author", "network", "word", "domain")
# The actor of a change by the comment's author; no moderator can have this name.
AUTHOR: Final = "its author"
# The statuses from which a comment may change to each status. Only an edit by its author leads back
# to pending; only undoing leads away from deleted.
MOVES: Final = {
    PENDING: (APPROVED,),
    APPROVED: (PENDING, SPAM),
    SPAM: (PENDING, APPROVED),
    DELETED: (PENDING, APPROVED, SPAM),
}


class Comment(msgspec.Struct, frozen=True, gc=False):
    """A comment as stored. `site` is the author's own web site, "" if there is none.

    Times are Unix milliseconds; `published_at` is None until the comment is approved, `edited_at`
    until it is edited. `email` must never be part of an answer. `role` is the author's, see BADGES.
    `permalink` is the address of a reply from elsewhere, "" for what was written here. `reader_id`
    is the author's, if a reader who had signed in. `lang` is the tag of its language, "" if that is
    not known. `reactions` is for `reaction_counts`.
    """

    id: int
    thread_id: int
    parent_id: int | None
    status: str
    author: str
    email: str
    avatar: str
    site: str
    source: str
    html: str
    created_at: int
    published_at: int | None
    edited_at: int | None
    votes: int
    role: str = ""
    permalink: str = ""
    reader_id: int | None = None
    lang: str = ""
    reactions: str = ""

    @property
    def shown_at(self) -> int:
        """The time that readers see: of publication, or else of creation."""
        return self.created_at if self.published_at is None else self.published_at


def stored_counts(numbers: Mapping[str, int]) -> str:
    """Return the text to store with a comment for the number of readers by emoji; "" is none."""
    some = {emoji: number for emoji, number in numbers.items() if emoji and number > 0}
    return msgspec.json.encode(some).decode() if some else ""


def reaction_counts(stored: str) -> dict[str, int]:
    """Return the number of readers by emoji for what `stored_counts` returned.

    Raise msgspec.MsgspecError for other texts.
    """
    return _decode_counts(stored) if stored else {}


_decode_counts: Final = msgspec.json.Decoder(dict[str, int]).decode


class Entry(msgspec.Struct, frozen=True):
    """A comment together with its page: for feeds and lists of moderators."""

    comment: Comment
    site: str
    url: str
    title: str


def thread_tag(site: str, url: str) -> str:
    """Return the surrogate key of all answers that show the thread of canonical `url`."""
    return f"thread:{site}:{url}"


def thread_of(tag: str) -> tuple[str, str] | None:
    """Return the site and url whose `thread_tag` is `tag`; None for other tags."""
    kind, _, rest = tag.partition(":")
    site, _, url = rest.partition(":")
    return (site, url) if kind == "thread" else None


def site_tag(site: str) -> str:
    """Return the surrogate key of all answers that show something about a whole site."""
    return f"site:{site}"


def views_tag(site: str) -> str:
    """Return the surrogate key of all answers that show how often pages of a site were viewed."""
    return f"views:{site}"


# Stands for all tags: somebody else changed something, and it is not known what.
EVERY_TAG: Final = "*"


def is_purged(tag: str, tags: Sequence[str]) -> bool:
    """Return whether a purge of `tags` means `tag`."""
    return tag in tags or EVERY_TAG in tags


# The fragment of our links to a comment, before its id. No other system uses it.
ANCHOR: Final = "commentsvc-"


def fragment(comment_id: int) -> str:
    """Return the fragment of a link to a comment."""
    return f"#{ANCHOR}{comment_id}"


MODERATORS_TAG: Final = "moderators"  # purged after changes of moderators' names, which are cached
SETTINGS_TAG: Final = "settings"  # purged after changes of stored settings, with all answers
# The actors of decisions by programs: see `delivery.akismet` and `delivery.classifier`.
AKISMET: Final = "Akismet"
CLASSIFIER: Final = "the classifier"

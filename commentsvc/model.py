"""What a comment is, and the words that stand for it everywhere.

Values only: nothing is imported from the package, and nothing here knows a database.
"""

from typing import Final

import msgspec

PENDING: Final = "pending"
APPROVED: Final = "approved"
SPAM: Final = "spam"
DELETED: Final = "deleted"
STATUSES: Final = (PENDING, APPROVED, SPAM, DELETED)
# Whether a thread takes comments: as its age and the site's settings say, always, or no more.
AGING: Final = "aging"
OPEN: Final = "open"
CLOSED: Final = "closed"
STATES: Final = (AGING, OPEN, CLOSED)
# What of a comment a moderator may change.
STATUS: Final = "status"
TEXT: Final = "text"
THREAD: Final = "thread"
CHANGES: Final = (STATUS, TEXT, THREAD)
# What an account may do, from the most to the least; see `moderation.permissions`.
OWNER: Final = "owner"
MODERATOR: Final = "moderator"
VIEWER: Final = "viewer"
ROLES: Final = (OWNER, MODERATOR, VIEWER)
# What a token of an account may do at most.
SCOPES: Final = ("read", "decide", "administer")
# What may stand over a comment that an account wrote; "" over one of a reader.
BADGES: Final = (OWNER, MODERATOR)
# What may be banned.
BANS: Final = ("author", "network", "word", "domain")
# Who changed a comment where no moderator did; no moderator can have this name.
AUTHOR: Final = "its author"
# Which statuses a comment may be in when it is moved to the one named first. Back to pending leads
# an edit by its author; out of deleted, undoing alone.
MOVES: Final = {
    PENDING: (APPROVED,),
    APPROVED: (PENDING, SPAM),
    SPAM: (PENDING, APPROVED),
    DELETED: (PENDING, APPROVED, SPAM),
}


class Comment(msgspec.Struct, frozen=True, gc=False):
    """A comment as stored. `site` is the author's own web site, "" where there is none.

    Moments are Unix milliseconds; `published_at` is None until the comment is approved, `edited_at`
    until its author changes it. `email` must never stand in an answer. `role` is the author's, see
    BADGES.
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


class Entry(msgspec.Struct, frozen=True):
    """A comment together with the page it stands under: for feeds and the moderator's list."""

    comment: Comment
    site: str
    url: str
    title: str


def thread_tag(site: str, url: str) -> str:
    """Return the surrogate key of all answers that show the thread of canonical `url`."""
    return f"thread:{site}:{url}"


def thread_of(tag: str) -> tuple[str, str] | None:
    """Return the site and the url of which `tag` is the `thread_tag`; None for other tags."""
    kind, _, rest = tag.partition(":")
    site, _, url = rest.partition(":")
    return (site, url) if kind == "thread" else None


def site_tag(site: str) -> str:
    """Return the surrogate key of every answer that shows something of all of `site`."""
    return f"site:{site}"


# Our links to a comment end so, and its id. No comment of another system is called so.
ANCHOR: Final = "commentsvc-"


def fragment(comment_id: int) -> str:
    """Return the end of a link to a comment."""
    return f"#{ANCHOR}{comment_id}"


MODERATORS_TAG: Final = "moderators"  # of what is kept of moderators' names in memory
# Who decided, where no moderator did: see `delivery.akismet` and `delivery.classifier`.
AKISMET: Final = "Akismet"
CLASSIFIER: Final = "the classifier"

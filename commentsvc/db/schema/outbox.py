"""The tables of messages to be sent, with the values of their rows.

The conventions of `schema.comments` hold here too. A row of the outbox says what a message is
about. Its text is written when it is sent, from the state of the comment at that time. So nothing
is mailed that was deleted meanwhile, and a submission writes only a small row.
"""

from typing import Final

import msgspec
import peewee

from commentsvc.db.schema.comments import (
    CommentTable,
    SiteTable,
    Table,
    ThreadTable,
    add_index,
    one_of,
)
from commentsvc.db.schema.notes import NoteTable

WEBMENTIONS: Final = "webmentions"  # the channel of those that are sent
MAIL: Final = "mail"  # the channel of all mails; each webhook is a channel of its own

# The states of a row of the outbox. An open one is a digest that still collects comments.
OPEN: Final = "open"
QUEUED: Final = "queued"
SENT: Final = "sent"
FAILED: Final = "failed"
STATES: Final = (OPEN, QUEUED, SENT, FAILED)


# Whether the owner of an address has agreed to mails about answers.
ASKED: Final = "asked"
CONFIRMED: Final = "confirmed"
STOPPED: Final = "stopped"
CONSENTS: Final = (ASKED, CONFIRMED, STOPPED)


class TargetTable(Table):
    """A recipient of messages about new comments, from the settings.

    A digest collects comments for `digest_ms`; 0 sends a message for each, `delay_ms` after the
    comment. `changes` is 1 if later changes of a comment are sent too.
    """

    id = peewee.AutoField()
    channel = peewee.TextField()
    recipient = peewee.TextField()
    digest_ms = peewee.IntegerField()
    changes = peewee.IntegerField()
    delay_ms = peewee.IntegerField()

    class Meta:
        indexes = ((("channel", "recipient"), True),)


class OutboxTable(Table):
    """A message about something to a recipient through a `channel`, and its state.

    It is about a `comment`, a `note`, or neither. `recipient` is empty if the comment's row has the
    address, `language` if another row has the tag. `last_comment_id` is the last comment of a
    digest. No attempt is made after `expires_at`.
    """

    id = peewee.AutoField(constraints=[peewee.SQL("AUTOINCREMENT")])
    channel = peewee.TextField()
    kind = peewee.TextField()
    recipient = peewee.TextField()
    comment = peewee.ForeignKeyField(CommentTable, null=True, on_delete="CASCADE", index=False)
    last_comment_id = peewee.IntegerField(null=True)
    state = peewee.TextField(constraints=[one_of("state", STATES)])
    created_at = peewee.IntegerField()
    due_at = peewee.IntegerField()
    expires_at = peewee.IntegerField()
    attempts = peewee.IntegerField(constraints=[peewee.SQL("DEFAULT 0")])
    error = peewee.TextField(constraints=[peewee.SQL("DEFAULT ''")])
    language = peewee.TextField(constraints=[peewee.SQL("DEFAULT ''")])
    note = peewee.ForeignKeyField(NoteTable, null=True, on_delete="CASCADE", index=False)

    class Meta:
        indexes = ((("comment_id",), False),)


_queued, _done = "state = 'queued'", "state IN ('sent', 'failed')"
add_index(OutboxTable, "outbox_by_due", "state", "channel", "due_at", "created_at", where=_queued)
add_index(OutboxTable, "outbox_open", "channel", "recipient", unique=True, where="state = 'open'")
add_index(OutboxTable, "outbox_by_note", "note", where="note_id IS NOT NULL")
add_index(OutboxTable, "outbox_done", "state", "due_at", "channel", where=_done)


class UsedLinkTable(Table):
    """A link of a mail that was used, since each works once. `expires_at` is the link's."""

    digest = peewee.BlobField(primary_key=True)
    expires_at = peewee.IntegerField()


class SubscriberTable(Table):
    """An address whose owner may be mailed replies to comments on one site.

    `asked_at` is when the owner was last asked to confirm it, 0 for never.
    """

    id = peewee.AutoField(constraints=[peewee.SQL("AUTOINCREMENT")])
    site = peewee.ForeignKeyField(SiteTable, index=False)
    email = peewee.TextField()
    consent = peewee.TextField(constraints=[one_of("consent", CONSENTS)])
    asked_at = peewee.IntegerField()
    email_key = peewee.TextField(constraints=[peewee.SQL("DEFAULT ''")])

    class Meta:
        indexes = ((("email_key", "site_id"), True),)


class SubscriptionTable(Table):
    """A comment whose author wants mails about replies, in the `language` of that tag."""

    comment = peewee.ForeignKeyField(CommentTable, primary_key=True, on_delete="CASCADE")
    subscriber = peewee.ForeignKeyField(SubscriberTable, on_delete="CASCADE")
    language = peewee.TextField(constraints=[peewee.SQL("DEFAULT ''")])


class FollowerTable(Table):
    """An address whose owner may be mailed the new comments of a page, or of a site.

    `thread` is null for a whole site. `asked_at` is when the owner was last asked, or declined. The
    last mail, put into the outbox at `mailed_at`, is about comments published after `since_at` and
    not after `until_at`.
    """

    id = peewee.AutoField(constraints=[peewee.SQL("AUTOINCREMENT")])
    site = peewee.ForeignKeyField(SiteTable, index=False)
    thread = peewee.ForeignKeyField(ThreadTable, null=True, index=False)
    email = peewee.TextField()
    consent = peewee.TextField(constraints=[one_of("consent", CONSENTS)])
    asked_at = peewee.IntegerField()
    language = peewee.TextField(constraints=[peewee.SQL("DEFAULT ''")])
    since_at = peewee.IntegerField(constraints=[peewee.SQL("DEFAULT 0")])
    until_at = peewee.IntegerField(constraints=[peewee.SQL("DEFAULT 0")])
    mailed_at = peewee.IntegerField(constraints=[peewee.SQL("DEFAULT 0")])
    email_key = peewee.TextField(constraints=[peewee.SQL("DEFAULT ''")])

    class Meta:
        indexes = ((("email_key", "site_id", "thread_id"), True),)


class FollowWishTable(Table):
    """A comment whose author wants to follow its page, and is asked when it is published."""

    comment = peewee.ForeignKeyField(CommentTable, primary_key=True, on_delete="CASCADE")
    language = peewee.TextField(constraints=[peewee.SQL("DEFAULT ''")])


class FormerIdTable(Table):
    """The id of a subscriber or follower that became one with the row `kept`: mails name it.

    `kind` is the name of its table.
    """

    kind = peewee.TextField()
    former = peewee.IntegerField()
    kept = peewee.IntegerField()

    class Meta:
        primary_key = peewee.CompositeKey("kind", "former")


TABLES: Final = (
    TargetTable,
    OutboxTable,
    UsedLinkTable,
    SubscriberTable,
    SubscriptionTable,
    FollowerTable,
    FollowWishTable,
    FormerIdTable,
)


class Target(msgspec.Struct, frozen=True, gc=False):
    """A recipient of messages about new comments: see TargetTable."""

    channel: str
    recipient: str
    digest_ms: int = 0
    changes: bool = False
    delay_ms: int = 0


class OutboxRow(msgspec.Struct, frozen=True, gc=False):
    """A row of the outbox: see OutboxTable. Times are Unix milliseconds."""

    id: int
    channel: str
    kind: str
    recipient: str
    comment_id: int | None
    last_comment_id: int | None
    state: str
    created_at: int
    due_at: int
    expires_at: int
    attempts: int
    error: str
    language: str = ""
    note_id: int | None = None

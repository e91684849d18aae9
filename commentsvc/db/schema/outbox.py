"""What goes out of the service: the tables of it, and the values that leave them.

The rules of `schema.comments` hold here too. A row of the outbox says what is to be told, not in
which words: those are made when it is sent, from what the comment is by then. So nothing that was
erased is mailed, and writing a row costs a submission next to nothing.
"""

from typing import Final

import msgspec
import peewee

from commentsvc.db.schema.comments import CommentTable, SiteTable, Table, ThreadTable, one_of

MAIL: Final = "mail"  # the channel of all mail; each hook is a channel of its own

# The states of a row of the outbox. An open one is a digest that still collects.
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
    """Who is told of every new comment, as the settings say.

    A digest collects comments for `digest_ms`; 0 sends each by itself. `changes` is whether later
    changes of a comment are sent too.
    """

    id = peewee.AutoField()
    channel = peewee.TextField()
    recipient = peewee.TextField()
    digest_ms = peewee.IntegerField()
    changes = peewee.IntegerField()

    class Meta:
        table_name = "target"
        indexes = ((("channel", "recipient"), True),)


class OutboxTable(Table):
    """What is to be told to whom, by which `channel`, and what became of it.

    `recipient` is empty where the comment's row has the address, `language` where another row has
    the tag of it. `last_comment_id` is the last
    comment of a digest. After `expires_at` no further attempt is made.
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

    class Meta:
        table_name = "outbox"
        indexes = ((("comment_id",), False),)


_done = peewee.SQL("state IN ('sent', 'failed')")
OutboxTable.add_index(
    OutboxTable.index(
        OutboxTable.state,
        OutboxTable.channel,
        OutboxTable.due_at,
        OutboxTable.created_at,
        where=peewee.SQL("state = 'queued'"),
        name="outbox_by_due",
    )
)
OutboxTable.add_index(
    OutboxTable.index(
        OutboxTable.channel,
        OutboxTable.recipient,
        unique=True,
        where=peewee.SQL("state = 'open'"),
        name="outbox_open",
    )
)
OutboxTable.add_index(
    OutboxTable.index(
        OutboxTable.state,
        OutboxTable.due_at,
        OutboxTable.channel,
        where=_done,
        name="outbox_done",
    )
)


class UsedLinkTable(Table):
    """A link in a mail that was used: each works once. `expires` is the link's."""

    digest = peewee.BlobField(primary_key=True)
    expires_at = peewee.IntegerField()

    class Meta:
        table_name = "used_link"


class SubscriberTable(Table):
    """An address whose owner may be mailed answers to comments on one site.

    `asked_at` is when the owner was last asked to confirm that, 0 for never.
    """

    id = peewee.AutoField(constraints=[peewee.SQL("AUTOINCREMENT")])
    site = peewee.ForeignKeyField(SiteTable, index=False)
    email = peewee.TextField()
    consent = peewee.TextField(constraints=[one_of("consent", CONSENTS)])
    asked_at = peewee.IntegerField()

    class Meta:
        table_name = "subscriber"
        indexes = ((("email", "site_id"), True),)


class SubscriptionTable(Table):
    """A comment whose author wants to be told of answers, in the `language` of that tag."""

    comment = peewee.ForeignKeyField(CommentTable, primary_key=True, on_delete="CASCADE")
    subscriber = peewee.ForeignKeyField(SubscriberTable, on_delete="CASCADE")
    language = peewee.TextField(constraints=[peewee.SQL("DEFAULT ''")])

    class Meta:
        table_name = "subscription"


class FollowerTable(Table):
    """An address whose owner may be mailed the new comments of a page, or of a site.

    `thread` is null for a whole site. `asked_at` is when the owner was asked or said no. The last
    mail, put into the outbox at `mailed_at`, tells of what was published after `since_at` until
    `until_at`.
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

    class Meta:
        table_name = "follower"
        indexes = ((("email", "site_id", "thread_id"), True),)


TABLES: Final = (
    TargetTable,
    OutboxTable,
    UsedLinkTable,
    SubscriberTable,
    SubscriptionTable,
    FollowerTable,
)


class Target(msgspec.Struct, frozen=True, gc=False):
    """Who is told of every new comment: see TargetTable."""

    channel: str
    recipient: str
    digest_ms: int = 0
    changes: bool = False


class OutboxRow(msgspec.Struct, frozen=True, gc=False):
    """A row of the outbox: see OutboxTable. Moments are Unix milliseconds."""

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

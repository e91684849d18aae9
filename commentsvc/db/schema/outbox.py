"""What goes out of the service: the tables of it, and the values that leave them.

The rules of `schema.comments` hold here too. A row of the outbox says what is to be told, not in
which words: those are made when it is sent, from what the comment is by then. So nothing that was
erased is mailed, and writing a row costs a submission next to nothing.
"""

from typing import Final

import msgspec
import peewee

from commentsvc.db.schema.comments import CommentTable, SiteTable, Table, one_of

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
    """Who is told of every new comment, as the settings say. Both moments are lengths of time.

    `period` is what one digest collects, 0 where each comment is told by itself; `changes` says
    whether later changes of a comment are told too.
    """

    id = peewee.AutoField()
    channel = peewee.TextField()
    recipient = peewee.TextField()
    period = peewee.IntegerField()
    changes = peewee.IntegerField()

    class Meta:
        table_name = "target"
        indexes = ((("channel", "recipient"), True),)


class OutboxTable(Table):
    """What is to be told to whom, by which `channel`, and what became of it.

    `recipient` is empty where the comment's row has the address. `until` is the last comment that a
    digest tells of, `deadline` the moment after which no further attempt is made.
    """

    id = peewee.AutoField(constraints=[peewee.SQL("AUTOINCREMENT")])
    channel = peewee.TextField()
    kind = peewee.TextField()
    recipient = peewee.TextField()
    comment = peewee.ForeignKeyField(CommentTable, null=True, on_delete="CASCADE", index=False)
    until = peewee.IntegerField(null=True)
    state = peewee.TextField(constraints=[one_of("state", STATES)])
    created = peewee.IntegerField()
    due = peewee.IntegerField()
    deadline = peewee.IntegerField()
    tries = peewee.IntegerField(constraints=[peewee.SQL("DEFAULT 0")])
    error = peewee.TextField(constraints=[peewee.SQL("DEFAULT ''")])

    class Meta:
        table_name = "outbox"
        indexes = ((("comment_id",), False),)


_done = peewee.SQL("state IN ('sent', 'failed')")
OutboxTable.add_index(
    OutboxTable.index(
        OutboxTable.state,
        OutboxTable.channel,
        OutboxTable.due,
        OutboxTable.created,
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
        OutboxTable.due,
        OutboxTable.channel,
        where=_done,
        name="outbox_done",
    )
)


class UsedLinkTable(Table):
    """A link in a mail that was used: each works once. `expires` is the link's."""

    digest = peewee.BlobField(primary_key=True)
    expires = peewee.IntegerField()

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
    """A comment whose author wants to be told of answers."""

    comment = peewee.ForeignKeyField(CommentTable, primary_key=True, on_delete="CASCADE")
    subscriber = peewee.ForeignKeyField(SubscriberTable, on_delete="CASCADE")

    class Meta:
        table_name = "subscription"


TABLES: Final = (TargetTable, OutboxTable, UsedLinkTable, SubscriberTable, SubscriptionTable)


class Target(msgspec.Struct, frozen=True, gc=False):
    """Who is told of every new comment: see TargetTable. `period` is in milliseconds."""

    channel: str
    recipient: str
    period: int = 0
    changes: bool = False


class OutboxRow(msgspec.Struct, frozen=True, gc=False):
    """A row of the outbox: see OutboxTable. Moments are Unix milliseconds."""

    id: int
    channel: str
    kind: str
    recipient: str
    comment_id: int | None
    until: int | None
    state: str
    created: int
    due: int
    deadline: int
    tries: int
    error: str

"""The tables of received mails, and the values of their rows."""

from typing import Final

import msgspec
import peewee

from commentsvc.db.schema.comments import SiteTable, Table, add_index, one_of

QUOTING: Final = "quoting"  # what it quotes may be among its words
UNCERTAIN: Final = "uncertain"  # it may be automatic, or its letters are wrong
UNREADABLE: Final = "unreadable"  # its words are not known
DOUBTS: Final = ("", QUOTING, UNCERTAIN, UNREADABLE)


class ReceivedMailTable(Table):
    """A reply to one of our mails, as `auth.reply_addresses` and `inbox.message` read it.

    `digest` identifies the mail, so that none is acted on twice. `done_at` is null until it was
    acted on; `words`, the text of the reply, is deleted then. `doubt` is one of DOUBTS, "" if the
    words are certainly the sender's. There is no foreign key, since the comment may have been
    deleted.
    """

    id = peewee.AutoField(constraints=[peewee.SQL("AUTOINCREMENT")])
    digest = peewee.BlobField(unique=True)
    purpose = peewee.IntegerField()
    comment_id = peewee.IntegerField()
    outbox_id = peewee.IntegerField(column_name="post_id")
    expires_day = peewee.IntegerField()
    recipient = peewee.BlobField()
    words = peewee.TextField()
    received_at = peewee.IntegerField()
    done_at = peewee.IntegerField(null=True)
    doubt = peewee.TextField(constraints=[peewee.SQL("DEFAULT ''"), one_of("doubt", DOUBTS)])

    class Meta:
        indexes = ((("recipient", "received_at"), False),)


add_index(ReceivedMailTable, "received_mail_waiting", "id", where="done_at IS NULL")


class MailboxTable(Table):
    """How far an IMAP folder was read: all mails up to `uid` were, while `validity` holds.

    `name` has the account and the folder. `read_at` is in Unix milliseconds.
    """

    name = peewee.TextField(primary_key=True, column_name="place")
    validity = peewee.IntegerField()
    uid = peewee.IntegerField()
    read_at = peewee.IntegerField()


class MailedCommentTable(Table):
    """A comment that came by mail: see `readers.mailed_comments`.

    `digest` identifies the mail, `sender` is that of the address. All texts are deleted when the
    comment was sent (then `sent_at` is set), or after a time. `url` is "" if the mail named no page
    that its address is for, `words` if it cannot be read.
    """

    id = peewee.AutoField(constraints=[peewee.SQL("AUTOINCREMENT")])
    digest = peewee.BlobField(unique=True)
    sender = peewee.BlobField()
    site = peewee.ForeignKeyField(SiteTable, index=False)
    url = peewee.TextField()
    email = peewee.TextField()
    author = peewee.TextField()
    words = peewee.TextField()
    received_at = peewee.IntegerField()
    sent_at = peewee.IntegerField(null=True)

    class Meta:
        indexes = ((("sender", "received_at"), False), (("received_at",), False))


TABLES: Final = (ReceivedMailTable, MailboxTable, MailedCommentTable)


class ReceivedMail(msgspec.Struct, frozen=True):
    """A received mail: see ReceivedMailTable. `words` is "" for a reply without text."""

    digest: bytes
    purpose: int
    comment_id: int
    outbox_id: int
    expires_day: int
    recipient: bytes
    words: str
    doubt: str = ""


class MailboxProgress(msgspec.Struct, frozen=True):
    """How far a mailbox was read: see MailboxTable."""

    validity: int
    uid: int
    read_at: int


class MailedComment(msgspec.Struct, frozen=True):
    """A comment that came by mail: see MailedCommentTable. `language` is that of our mails.

    `is_authenticated` says that the mail server knows its sender's domain to be right.
    """

    digest: bytes
    site: str
    url: str
    email: str
    author: str
    words: str
    language: str
    is_authenticated: bool = False

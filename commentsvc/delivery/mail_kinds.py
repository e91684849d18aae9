"""The kinds of mails: for each its template, subject and recipient, and what it shows.

A kind is the value of `kind` in a row of the outbox. The templates are in `templates/mail`; each
writes a mail as text and as HTML.
"""

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Final, NamedTuple

from commentsvc.auth import account_mails
from commentsvc.db.connection import Snapshot
from commentsvc.db.schema.outbox import OutboxRow
from commentsvc.delivery.mail_contents import OUTCOMES, MailContent, MailContents
from commentsvc.model import APPROVED, PENDING
from commentsvc.moderation import private_notes
from commentsvc.outbox import (
    NOTE,
    NOTE_ANSWER,
    NOTE_REFUSED,
    NOTES,
    NOTICES,
    OBJECTION_DECIDED,
    REPORT_DECIDED,
    REPORTED,
)
from commentsvc.readers import mailed_comments
from commentsvc.util.i18n import Message, ngettext
from commentsvc.util.i18n import gettext as _


class Recipient(Enum):
    """Who gets a kind of mails, which decides about its language."""

    MODERATOR = "an address of the settings, in the language of the settings"
    AUTHOR = "who subscribed with a comment, in the language of that comment"
    ASKED = "an address that was entered, or that belongs to an account: the row has the language"


class MailKind(NamedTuple):
    """A kind of mails.

    The `subject` may depend on the current status of the comment. `is_bulk` are notices, of which
    many may come: answering machines leave them alone. The other mails have been asked for by their
    recipient, and must not be filed as bulk.
    """

    template: str
    subject: Message | Mapping[str, Message]
    recipient: Recipient
    content: Callable[[MailContents, Snapshot, OutboxRow], MailContent | None]
    is_bulk: bool = False


_NEW_COMMENTS: Final = ngettext("%(num)s new comment", "%(num)s new comments", 0)
# The result of an answer by mail.
_RECEIVED: Final[Mapping[str, Message | Mapping[str, Message]]] = {
    "decided": OUTCOMES,
    "answered": OUTCOMES | {APPROVED: _("Your answer is published.")},
    "replied": OUTCOMES
    | {
        PENDING: _("Your reply is waiting for approval."),
        APPROVED: _("Your reply is published."),
    },
    "held": OUTCOMES
    | {
        PENDING: _("Your answer waits for you"),
        APPROVED: _("Your answer is published."),
    },
    "refused": _("Your mail had no effect"),
}

MODERATOR, AUTHOR, ASKED = Recipient
Contents = MailContents
KINDS: Final[Mapping[str, MailKind]] = {
    "test": MailKind("test", _("Mail from commentsvc works"), MODERATOR, Contents.test),
    "submitted": MailKind(
        "submitted",
        _("%(author)s commented on “%(title)s”"),
        MODERATOR,
        Contents.submitted,
        is_bulk=True,
    ),
    "digest": MailKind("submitted", _NEW_COMMENTS, MODERATOR, Contents.digest, is_bulk=True),
    REPORTED: MailKind(
        "submitted",
        _("A reader reported the comment by %(author)s on “%(title)s”"),
        MODERATOR,
        Contents.reported,
        is_bulk=True,
    ),
    NOTE: MailKind(
        "note",
        private_notes.SUBJECT,
        MODERATOR,
        Contents.note,
        is_bulk=True,
    ),
    NOTES: MailKind(
        "notes",
        private_notes.SEVERAL,
        MODERATOR,
        Contents.notes,
        is_bulk=True,
    ),
    NOTE_ANSWER: MailKind(
        "note_answer", _("An answer to your private note"), ASKED, Contents.note_answer
    ),
    NOTE_REFUSED: MailKind("note", _("Your mail had no effect"), ASKED, Contents.note_refused),
    **{
        kind: MailKind(
            "decided",
            _("A moderator has decided")
            if kind in (REPORT_DECIDED, OBJECTION_DECIDED)
            else _("Your comment is not shown any more"),
            ASKED,
            Contents.decided,
        )
        for kind in NOTICES
    },
    "confirm": MailKind(
        "confirm", _("Do you want a mail when someone replies to you?"), AUTHOR, Contents.confirm
    ),
    "published": MailKind(
        "published",
        _("Your comment on “%(title)s” is published"),
        AUTHOR,
        Contents.published,
        is_bulk=True,
    ),
    "reply": MailKind(
        "reply", _("%(author)s replied to you on “%(title)s”"), AUTHOR, Contents.reply, is_bulk=True
    ),
    "follow": MailKind(
        "follow", _("Do you want mails about new comments?"), ASKED, Contents.follow
    ),
    "followed": MailKind("followed", _NEW_COMMENTS, ASKED, Contents.followed, is_bulk=True),
    "own": MailKind("own", _("Your comments"), ASKED, Contents.own),
    "sign-in": MailKind("sign_in", _("Sign in"), ASKED, Contents.sign_in),
    **{
        kind: MailKind("mailed", subject, ASKED, Contents.mailed)
        for kind, subject in (
            (mailed_comments.MAILED, _("Do you want to send your comment?")),
            (mailed_comments.UNREADABLE, _("Your mail had no effect")),
        )
    },
    "invitation": MailKind(
        "invitation", _("An invitation to moderate comments"), ASKED, Contents.invitation
    ),
    **{
        kind: MailKind(
            "account",
            subject,
            ASKED,
            Contents.confirm_address
            if kind == account_mails.CONFIRM_ADDRESS
            else Contents.account_changed,
        )
        for kind, subject in account_mails.SUBJECTS.items()
    },
    **{
        kind: MailKind("received", subject, ASKED, Contents.received)
        for kind, subject in _RECEIVED.items()
    },
}

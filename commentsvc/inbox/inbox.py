"""The queue of received mails: each is stored first and acted on later.

So no mail is lost between the mailbox and the service, whoever delivers it and whether or not a
server runs. A mail that was acted on is kept for a while without its text, to recognise it when it
arrives again.
"""

from typing import Final

from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.query import Param, Select, prepared
from commentsvc.db.schema.inbox import (
    MailboxProgress,
    MailboxTable,
    MailedComment,
    ReceivedMail,
    ReceivedMailTable,
)
from commentsvc.readers import mailed_comments
from commentsvc.spam import bans
from commentsvc.util.timestamps import DAY_MS, HOUR_MS

# Mails accepted from one address within an hour that answer mails which were answered before: a
# bound for programs that answer each other. The first answer to each mail of ours always counts.
HOURLY: Final = 30
# How long a mail is remembered, in milliseconds: mail servers retry for a week, and our links work
# for at most 90 days.
KEPT: Final = 100 * DAY_MS

_MAIL: Final = (
    ReceivedMailTable.digest,
    ReceivedMailTable.purpose,
    ReceivedMailTable.comment_id,
    ReceivedMailTable.outbox_id,
    ReceivedMailTable.expires_day,
    ReceivedMailTable.recipient,
    ReceivedMailTable.words,
    ReceivedMailTable.doubt,
)


@prepared
def find_waiting() -> Select:
    """Return the query for the oldest mail that was not acted on."""
    waiting = ReceivedMailTable.select(ReceivedMailTable.id, *_MAIL)
    return (
        waiting.where(ReceivedMailTable.done_at.is_null()).order_by(ReceivedMailTable.id).limit(1)
    )


@prepared
def _find_recent(recipient: Param, since: Param, most: Param) -> Select:
    recent = ReceivedMailTable.select(ReceivedMailTable.id).where(
        ReceivedMailTable.recipient == recipient, ReceivedMailTable.received_at > since
    )
    return recent.limit(most)


@prepared
def _find_answer(recipient: Param, outbox_id: Param) -> Select:
    return (
        ReceivedMailTable.select(ReceivedMailTable.id)
        .where(ReceivedMailTable.recipient == recipient, ReceivedMailTable.outbox_id == outbox_id)
        .limit(1)
    )


@prepared
def _find_progress(mailbox: Param) -> Select:
    row = (MailboxTable.validity, MailboxTable.uid, MailboxTable.read_at)
    return MailboxTable.select(*row).where(MailboxTable.name == mailbox)


def progress(snapshot: Snapshot, mailbox: str) -> MailboxProgress | None:
    """Return how far a mailbox was read; None if it never was."""
    row = snapshot.first(_find_progress, mailbox)
    return MailboxProgress(*row) if row else None


def save_progress(tx: Transaction, mailbox: str, read: MailboxProgress) -> None:
    """Note how far a mailbox was read."""
    row = {name: getattr(read, name) for name in read.__struct_fields__}
    kept = MailboxTable.insert(row | {"name": mailbox})
    tx.change(kept.on_conflict(conflict_target=[MailboxTable.name], update=row))


def add(tx: Transaction, mail: ReceivedMail, now: int) -> str:
    """Store a mail at the time `now` (Unix ms); return "", or the reason why it was refused."""
    recent = len(tx.query(_find_recent, mail.recipient, now - HOUR_MS, HOURLY))
    if recent >= HOURLY and tx.first(_find_answer, mail.recipient, mail.outbox_id):
        return f"there were {HOURLY} from its address within an hour"
    row = {name: getattr(mail, name) for name in mail.__struct_fields__} | {"received_at": now}
    stored = ReceivedMailTable.insert(row).on_conflict(
        action="NOTHING", conflict_target=[ReceivedMailTable.digest]
    )
    return "" if tx.change(stored) else "it came before"


def add_comment(tx: Transaction, mail: MailedComment, now: int) -> str:
    """Store a comment that came by mail; return "", or the reason why it was refused."""
    if bans.is_author_banned(tx, mail.email, now):
        return "its sender is banned"
    return mailed_comments.add(tx, mail, now)


def next_waiting(snapshot: Snapshot) -> tuple[int, ReceivedMail] | None:
    """Return the id and content of the oldest mail that was not acted on; None if there is none."""
    row = snapshot.first(find_waiting)
    return (row[0], ReceivedMail(*row[1:])) if row else None


def finish(tx: Transaction, mail_id: int, now: int) -> None:
    """Note that a mail was acted on, and delete those that are older than KEPT."""
    done = ReceivedMailTable.update(done_at=now, words="")
    tx.change(done.where(ReceivedMailTable.id == mail_id))
    tx.change(ReceivedMailTable.delete().where(ReceivedMailTable.done_at < now - KEPT))

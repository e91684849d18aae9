"""The outbox: messages that wait to be sent, and what became of them.

A row is written by the same transaction that stores or changes the comment it is about, so that no
crash can separate the two. The table `target` lists who is told of new comments; each start of the
server fills it from the settings. So one statement tells all targets of a whole batch of
submissions, and costs a look at an empty table if there are none. A command that works without a
server writes rows in the same way, and the server sends them after its next start.

    open ──▸ queued ──▸ sent        open: a digest that still collects, until it is due
                │  ▴
                ▾  └── retry        failed: refused for good, or still not sent at its deadline
             failed

If a moderator who wants a mail for each comment got `HOURLY` of them within an hour, later comments
are collected in a digest for an hour, so that a flood of comments does not become one of mails. In
a flood of reports, later ones are not mailed: the queue has them. Nor are notices of decisions.
Private notes are mailed to moderators only, never to webhooks; in a flood, one mail an hour says
how many came.

The pauses between the attempts for a row grow. If a server cannot be reached at all, all rows that
are due there are retried later together.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec
from peewee import JOIN, Case, fn

from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.query import Param, Select, literal, prepared
from commentsvc.db.schema.comments import CommentTable
from commentsvc.db.schema.outbox import (
    FAILED,
    MAIL,
    OPEN,
    QUEUED,
    SENT,
    OutboxRow,
    OutboxTable,
    Target,
    TargetTable,
)
from commentsvc.model import CLASSIFIER, REPORT_REASONS, SPAM
from commentsvc.util.origin import address_key
from commentsvc.util.timestamps import DAY_MS, HOUR_MS, MINUTE_MS

# How long a message is retried, in milliseconds: RFC 5321, 4.5.4.1, asks for at least 4 to 5 days,
# so that a server may be down for five.
PATIENCE: Final = 7 * DAY_MS
# The first pause in milliseconds, which doubles after each attempt. Greylisting usually accepts a
# mail after 5 minutes.
FIRST_PAUSE: Final = MINUTE_MS
LONGEST_PAUSE: Final = 6 * HOUR_MS
# The first and the longest pause for channels on which readers wait, in milliseconds.
PAUSES: Final = {CLASSIFIER: (5_000, 5 * MINUTE_MS)}
# How long rows are kept for moderators, in milliseconds; a failed one can be sent again.
SENT_KEPT: Final = 30 * DAY_MS
FAILED_KEPT: Final = 90 * DAY_MS
TIDIED: Final = 1_000  # rows deleted in one transaction
# Mails about single comments to one moderator within an hour; later ones go into a digest.
HOURLY: Final = 20
REPORTED: Final = "reported"  # the kind of mails about reports
# The kinds of mails about a private note, about several, with a moderator's answer for its reader,
# and about an answer by mail that had no effect.
NOTE: Final = "note"
NOTES: Final = "notes"
NOTE_ANSWER: Final = "note-answer"
NOTE_REFUSED: Final = "note-refused"
# The kinds of mails about decisions, see moderation.notices: for reporters, for those who objected,
# and for the author of a removed comment; the last may end with "-" and one of REPORT_REASONS.
REPORT_DECIDED: Final = "report-decided"
OBJECTION_DECIDED: Final = "objection-decided"
REMOVED: Final = "removed"
NOTICES: Final = (
    REPORT_DECIDED,
    OBJECTION_DECIDED,
    REMOVED,
    *(f"{REMOVED}-{code}" for code in REPORT_REASONS),
)
# Such mails in a day: to one address, which nobody has confirmed, and to all.
NOTICES_TO_ONE: Final = 3
NOTICES_TO_ALL: Final = 500
ABOUT_NOTES: Final = (NOTE, NOTES, NOTE_ANSWER, NOTE_REFUSED)
ERROR_LENGTH: Final = 500  # characters kept of a server's error message

_ROW: Final = [getattr(OutboxTable, name) for name in OutboxRow.__struct_fields__]
Other = OutboxTable.alias("other")
# SQLite uses a partial index only if the query has the index's condition as literals.
IS_QUEUED: Final = OutboxTable.state == literal(QUEUED)
IS_OPEN: Final = OutboxTable.state == literal(OPEN)
IS_DONE: Final = OutboxTable.state.in_([literal(SENT), literal(FAILED)])


def _insert(found: Select, row: Mapping[Any, object]) -> Select:
    """Return the query that inserts `row`, by columns of the outbox, for each row `found`."""
    return OutboxTable.insert_from(found.select(*row.values()), [*row])


@prepared
def insert_submitted(first: Param, last: Param, now: Param) -> Select:
    """Return the query that queues the messages about new comments for all targets.

    Moderators get no mail about comments of moderators, but webhooks do. The cross join keeps
    SQLite from reading the comments before it knows that there is a target. A digest begins with
    the first comment, so they come in order.
    """
    is_digest = TargetTable.digest_ms > 0
    due = now + TargetTable.digest_ms + TargetTable.delay_ms
    row = {
        OutboxTable.channel: TargetTable.channel,
        OutboxTable.kind: Case(None, [(is_digest, "digest")], "submitted"),
        OutboxTable.recipient: TargetTable.recipient,
        OutboxTable.comment: CommentTable.id,
        OutboxTable.state: Case(None, [(is_digest, OPEN)], QUEUED),
        OutboxTable.created_at: now,
        OutboxTable.due_at: due,
        OutboxTable.expires_at: due + PATIENCE,
    }
    rows = (
        TargetTable.select()
        .join(CommentTable, JOIN.CROSS)
        .where(
            CommentTable.id.between(first, last),
            CommentTable.status != SPAM,
            (CommentTable.role == "") | (TargetTable.changes == 1),
        )
        .order_by(TargetTable.id, CommentTable.id)
    )
    return _insert(rows, row).on_conflict(action="NOTHING")


@prepared
def _wants_changes() -> Select:
    return TargetTable.select(TargetTable.id).where(TargetTable.changes == 1).limit(1)


@prepared
def _tell_change(comment_id: Param, now: Param) -> Select:
    """Return the INSERT of a row about a changed comment, unless one is waiting already."""
    row = {
        OutboxTable.channel: TargetTable.channel,
        OutboxTable.kind: "changed",
        OutboxTable.recipient: TargetTable.recipient,
        OutboxTable.comment: comment_id,
        OutboxTable.state: QUEUED,
        OutboxTable.created_at: now,
        OutboxTable.due_at: now,
        OutboxTable.expires_at: now + PATIENCE,
    }
    waiting = Other.select(Other.id).where(
        Other.comment == comment_id,
        Other.channel == TargetTable.channel,
        Other.kind == "changed",
        Other.state == QUEUED,
        Other.attempts == 0,
    )
    return _insert(TargetTable.select().where(TargetTable.changes == 1, ~fn.EXISTS(waiting)), row)


@prepared
def _insert_reported(comment_id: Param, now: Param) -> Select:
    """Return the INSERT of a mail for each moderator about a comment that a reader reported."""
    row = {
        OutboxTable.channel: TargetTable.channel,
        OutboxTable.kind: REPORTED,
        OutboxTable.recipient: TargetTable.recipient,
        OutboxTable.comment: comment_id,
        OutboxTable.state: QUEUED,
        OutboxTable.created_at: now,
        OutboxTable.due_at: now,
        OutboxTable.expires_at: now + PATIENCE,
    }
    return _insert(TargetTable.select().where(TargetTable.channel == MAIL), row)


@prepared
def find_mailed(channel: Param, recipient: Param, kind: Param, since: Param, most: Param) -> Select:
    """Return at most `most` mails of a kind sent to a recipient since then."""
    sent = OutboxTable.select(OutboxTable.id).where(
        OutboxTable.state == literal(SENT),
        IS_DONE,
        OutboxTable.due_at > since,
        OutboxTable.channel == channel,
        OutboxTable.recipient == recipient,
        OutboxTable.kind == kind,
    )
    return sent.limit(most)


@prepared
def find_sent(channel: Param, since: Param, most: Param) -> Select:
    """Return at most `most` messages that a channel has sent since then."""
    sent = OutboxTable.select(OutboxTable.id).where(
        OutboxTable.state == literal(SENT),
        IS_DONE,
        OutboxTable.due_at > since,
        OutboxTable.channel == channel,
    )
    return sent.limit(most)


@prepared
def find_due(channel: Param, now: Param, most: Param) -> Select:
    """Return the query for the rows that a channel has to send by now."""
    waiting = OutboxTable.select(*_ROW).where(
        IS_QUEUED, OutboxTable.channel == channel, OutboxTable.due_at <= now
    )
    return waiting.order_by(OutboxTable.due_at).limit(most)


@prepared
def _set_state(state: Param, now: Param, error: Param, outbox_id: Param) -> Select:
    settled = OutboxTable.update(
        state=state, due_at=now, error=error, attempts=OutboxTable.attempts + 1
    )
    return settled.where(OutboxTable.id == outbox_id)


@prepared
def close_due(now: Param) -> Select:
    """Return the query that queues the digests that are due."""
    closed = OutboxTable.update(
        state=QUEUED, last_comment_id=CommentTable.select(fn.MAX(CommentTable.id))
    )
    return closed.where(IS_OPEN, OutboxTable.due_at <= now)


def done_before(state: str, moment: int) -> Select:
    """Return the query for the ids of at most TIDIED rows in `state` since before that time."""
    return (
        OutboxTable.select(OutboxTable.id)
        .where(OutboxTable.state == literal(state), IS_DONE, OutboxTable.due_at < moment)
        .limit(TIDIED)
    )


@prepared
def count_waiting() -> Select:
    """Return the query for how many rows wait on each channel, and since when."""
    queued = OutboxTable.select(
        OutboxTable.channel, fn.COUNT(OutboxTable.id), fn.MIN(OutboxTable.created_at)
    )
    return queued.where(IS_QUEUED).group_by(OutboxTable.channel)


@prepared
def count_failed() -> Select:
    """Return the query for how many rows failed on each channel."""
    failed = OutboxTable.select(OutboxTable.channel, fn.COUNT(OutboxTable.id))
    is_failed = OutboxTable.state == literal(FAILED)
    return failed.where(is_failed, IS_DONE).group_by(OutboxTable.channel)


class ChannelBacklog(msgspec.Struct, frozen=True, gc=False):
    """How many rows of a channel wait, how many failed, and since when the oldest waits.

    `oldest` is in Unix milliseconds, 0 if none waits.
    """

    queued: int = 0
    failed: int = 0
    oldest: int = 0


def sync_targets(tx: Transaction, targets: Iterable[Target]) -> None:
    """Make the table of targets equal to those of the settings.

    Messages that wait for a removed target are not sent.
    """
    wanted = {(target.channel, target.recipient): target for target in targets}
    rows = tx.query(TargetTable.select(TargetTable.channel, TargetTable.recipient))
    for channel, recipient in set(rows) - set(wanted):
        is_gone = (TargetTable.channel == channel) & (TargetTable.recipient == recipient)
        tx.change(TargetTable.delete().where(is_gone))
        tx.change(
            OutboxTable.delete().where(
                OutboxTable.state.in_([OPEN, QUEUED]),
                OutboxTable.channel == channel,
                OutboxTable.recipient == recipient,
                OutboxTable.kind.in_(["submitted", "digest", "changed", REPORTED, NOTE, NOTES]),
            )
        )
    for target in wanted.values():
        row = msgspec.structs.asdict(target) | {"changes": int(target.changes)}
        tx.change(
            TargetTable.insert(row).on_conflict(
                conflict_target=[TargetTable.channel, TargetTable.recipient],
                preserve=[TargetTable.digest_ms, TargetTable.changes, TargetTable.delay_ms],
            )
        )


def submitted(tx: Transaction, first: int, last: int, now: int) -> None:
    """Tell the targets of the new comments with the ids from `first` to `last`."""
    tx.change(insert_submitted, first, last, now)


def reported(tx: Transaction, comment_id: int, now: int) -> None:
    """Queue mails to the moderators about a comment that a reader reported."""
    tx.change(_insert_reported, comment_id, now)


def noted(tx: Transaction, note_id: int, now: int, *, floods: bool) -> None:
    """Queue a mail to each moderator about a new private note, or about all if many come."""
    mails = TargetTable.select(TargetTable.recipient, TargetTable.digest_ms)
    waiting = OutboxTable.select(OutboxTable.id).where(
        IS_QUEUED, OutboxTable.channel == MAIL, OutboxTable.kind == NOTES
    )
    for recipient, digest_ms in tx.query(mails.where(TargetTable.channel == MAIL)):
        to, pause = MailAddress(recipient), max(digest_ms, HOUR_MS * floods)
        if not pause:
            mail(tx, NOTE, to, now, lasts=PATIENCE, about=note_id)
        elif not tx.first(waiting.where(OutboxTable.recipient == recipient)):
            mail(tx, NOTES, to, now + pause, lasts=PATIENCE)


class MailAddress(NamedTuple):
    """Who gets a mail, and the tag of its language."""

    email: str
    language: str = ""


def mail(
    tx: Transaction,
    kind: str,
    to: MailAddress,
    now: int,
    *,
    lasts: int = DAY_MS,
    about: int | None = None,
) -> None:
    """Queue a mail to one person, see `delivery.mail` for the kinds: `about` a comment or a note.

    If it cannot be sent within `lasts` milliseconds, it is given up: after a day, somebody who
    waits for a mail has no use for it any more.
    """
    row = {
        OutboxTable.channel: MAIL,
        OutboxTable.kind: kind,
        OutboxTable.recipient: to.email,
        OutboxTable.note if kind in ABOUT_NOTES else OutboxTable.comment: about,
        OutboxTable.state: QUEUED,
        OutboxTable.created_at: now,
        OutboxTable.due_at: now,
        OutboxTable.expires_at: now + lasts,
        OutboxTable.language: to.language,
    }
    tx.change(OutboxTable.insert(row))


def changed(tx: Transaction, ids: Iterable[int], now: int) -> None:
    """Tell the targets that want to know of changes that the comments `ids` were changed."""
    if tx.first(_wants_changes):
        tx.change_each(_tell_change, [(number, now) for number in ids])


def request_builds(tx: Transaction, delays: Iterable[tuple[str, int]], now: int) -> None:
    """Queue a call to the build hooks of these channels, each after a delay in milliseconds.

    An open row waits until the delay has passed without a further request, but at most ten times
    the delay. A row that waits for another attempt collects requests in the same way. A row that is
    due may be on its way already, so a new one is added.
    """
    for channel, delay in delays:
        on_channel = OutboxTable.channel == channel
        scheduled = OutboxTable.select(OutboxTable.id).where(
            IS_QUEUED, on_channel, OutboxTable.due_at > now
        )
        if tx.first(scheduled):
            continue
        latest = OutboxTable.created_at + 10 * delay
        later = Case(None, [(latest < now + delay, latest)], now + delay)
        row = {
            OutboxTable.channel: channel,
            OutboxTable.kind: "build",
            OutboxTable.recipient: "",
            OutboxTable.state: OPEN,
            OutboxTable.created_at: now,
            OutboxTable.due_at: now + delay,
            OutboxTable.expires_at: now + PATIENCE,
        }
        tx.change(
            OutboxTable.insert(row).on_conflict(
                conflict_target=[OutboxTable.channel, OutboxTable.recipient],
                conflict_where=IS_OPEN,
                update={OutboxTable.due_at: later},
            )
        )


def due(snapshot: Snapshot, channel: str, now: int, limit: int) -> list[OutboxRow]:
    """Return at most `limit` rows that `channel` has to send by now, the longest due first."""
    return [OutboxRow(*row) for row in snapshot.query(find_due, channel, now, limit)]


def is_flooding(snapshot: Snapshot, row: OutboxRow, now: int) -> bool:
    """Return whether a row would exceed HOURLY mails to its recipient within this hour.

    Notices are limited by the day: see NOTICES_TO_ONE.
    """
    if row.kind in NOTICES:
        mailed = OutboxTable.select(OutboxTable.recipient).where(
            IS_DONE,
            OutboxTable.due_at > now - DAY_MS,
            OutboxTable.channel == MAIL,
            OutboxTable.kind.in_(NOTICES),
        )
        keys = [address_key(each) for (each,) in snapshot.query(mailed.limit(NOTICES_TO_ALL))]
        key = address_key(row.recipient)
        return len(keys) >= NOTICES_TO_ALL or keys.count(key) >= NOTICES_TO_ONE
    if row.kind not in ("submitted", REPORTED) or row.channel != MAIL:
        return False
    about = (row.channel, row.recipient, row.kind)
    sent = snapshot.query(find_mailed, *about, now - HOUR_MS, HOURLY)
    return len(sent) >= HOURLY


def collect(tx: Transaction, row: OutboxRow, now: int) -> None:
    """Move a row's comment, and all comments after it, into a digest that is due in an hour.

    A mail about reports, and a notice of a decision, is dropped.
    """
    if row.kind in (REPORTED, *NOTICES):
        drop(tx, row)
        return
    due = now + HOUR_MS
    is_it = (OutboxTable.id == row.id) & (OutboxTable.state == QUEUED)
    is_its_digest = (
        IS_OPEN & (OutboxTable.channel == row.channel) & (OutboxTable.recipient == row.recipient)
    )
    if tx.first(OutboxTable.select(OutboxTable.id).where(is_its_digest)):
        tx.change(OutboxTable.delete().where(is_it))
    else:
        becomes = OutboxTable.update(
            kind="digest", state=OPEN, due_at=due, expires_at=due + PATIENCE
        )
        tx.change(becomes.where(is_it))
    # The digest lists all comments from this one on.
    widened = OutboxTable.update(comment=row.comment_id)
    tx.change(widened.where(is_its_digest, OutboxTable.comment > row.comment_id))


def mark_sent(tx: Transaction, row: OutboxRow, error: str, now: int) -> None:
    """Note that a row was sent or, with an `error`, that it never will be."""
    tx.change(_set_state, FAILED if error else SENT, now, _bounded(error), row.id)


def retry_later(tx: Transaction, row: OutboxRow, error: str, now: int) -> None:
    """Retry this row after a pause, or let it fail at its deadline."""
    _retry(tx, row.channel, OutboxTable.id == row.id, error, now)


def retry_all_later(tx: Transaction, channel: str, error: str, now: int) -> None:
    """Do as `retry_later`, for all rows that are due on `channel`."""
    is_due = (OutboxTable.channel == channel) & (OutboxTable.due_at <= now)
    _retry(tx, channel, is_due, error, now)


def _retry(tx: Transaction, channel: str, condition: Select, error: str, now: int) -> None:
    """Delay queued rows that meet `condition` by growing pauses, but not past their deadline."""
    first, longest = PAUSES.get(channel, (FIRST_PAUSE, LONGEST_PAUSE))
    rows = OutboxTable.select(OutboxTable.id, OutboxTable.attempts, OutboxTable.expires_at)
    changes = []
    for outbox_id, attempts, expires_at in tx.query(rows.where(IS_QUEUED, condition)):
        pause = min(longest, first << min(attempts, 30))
        state, due = (FAILED, now) if now >= expires_at else (QUEUED, min(expires_at, now + pause))
        changes.append((state, due, _bounded(error), outbox_id))
    tx.change_each(_set_state, changes)


def drop(tx: Transaction, row: OutboxRow) -> None:
    """Delete a row that has nothing to report any more."""
    tx.change(OutboxTable.delete().where(OutboxTable.id == row.id))


def close_digests(tx: Transaction, now: int) -> None:
    """Queue the digests that are due; later comments open new ones."""
    tx.change(close_due, now)


def hold(tx: Transaction, error: str, now: int) -> int:
    """Let all waiting rows fail with `error`, until they are retried; return how many."""
    newest = CommentTable.select(fn.MAX(CommentTable.id))
    last = Case(None, [(OutboxTable.state == OPEN, newest)], OutboxTable.last_comment_id)
    held = OutboxTable.update(state=FAILED, due_at=now, error=error, last_comment_id=last)
    return tx.change(held.where(OutboxTable.state.in_([OPEN, QUEUED])))


def drop_expired(tx: Transaction, channels: Sequence[str], now: int) -> None:
    """Delete what waits past its deadline for other than these channels: nobody will send it."""
    late = OutboxTable.delete().where(IS_QUEUED, OutboxTable.expires_at < now)
    tx.change(late.where(OutboxTable.channel.not_in(channels)))


def delete_old(tx: Transaction, now: int) -> None:
    """Delete at most TIDIED rows that were sent long ago, and as many that failed long ago."""
    for state, kept in ((SENT, SENT_KEPT), (FAILED, FAILED_KEPT)):
        old = done_before(state, now - kept)
        tx.change(OutboxTable.delete().where(OutboxTable.id.in_(old)))


def backlogs(snapshot: Snapshot) -> dict[str, ChannelBacklog]:
    """Return the backlog of each channel that has waiting or failed rows."""
    failed: dict[str, int] = dict(snapshot.query(count_failed))
    waiting = {
        channel: ChannelBacklog(queued, failed.pop(channel, 0), oldest)
        for channel, queued, oldest in snapshot.query(count_waiting)
    }
    return waiting | {channel: ChannelBacklog(failed=count) for channel, count in failed.items()}


def find(snapshot: Snapshot, row_id: int) -> OutboxRow | None:
    """Return a row; None if there is none of that id."""
    row = snapshot.first(OutboxTable.select(*_ROW).where(OutboxTable.id == row_id))
    return OutboxRow(*row) if row else None


def listing(snapshot: Snapshot, state: str | None, before: int, limit: int) -> list[OutboxRow]:
    """Return the newest rows with an id below `before`, only those in `state` if it is given."""
    rows = OutboxTable.select(*_ROW).where(OutboxTable.id < before)
    if state is not None:
        rows = rows.where(OutboxTable.state == state)
    newest = rows.order_by(OutboxTable.id.desc()).limit(limit)
    return [OutboxRow(*row) for row in snapshot.query(newest)]


def retry(tx: Transaction, ids: Sequence[int], now: int) -> list[int]:
    """Send failed rows, and rows that wait for their next attempt, now; return their ids.

    Failed rows get a new deadline. Ids of other rows are ignored.
    """
    return [
        outbox_id
        for outbox_id in dict.fromkeys(ids)
        if tx.change(_send_again, outbox_id, now, now + PATIENCE)
    ]


@prepared
def _send_again(outbox_id: Param, now: Param, expires: Param) -> Select:
    queued = OutboxTable.update(state=QUEUED, due_at=now, expires_at=expires, attempts=0)
    return queued.where(OutboxTable.id == outbox_id, OutboxTable.state.in_([QUEUED, FAILED]))


def _bounded(error: str) -> str:
    """Return an error message as one line of at most ERROR_LENGTH printable characters."""
    text = "".join(c if c.isprintable() else " " for c in error[: 4 * ERROR_LENGTH])
    return " ".join(text.split())[:ERROR_LENGTH]

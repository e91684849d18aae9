"""The outbox queue: what is put into it, and what becomes of it.

A row is written by the very transaction that stores or changes what it tells of, so that
no crash comes between the two. Who is told stands in the table `target`, which a start brings in
line with the settings: one statement then does it for a whole batch of submissions, and costs a
look at an empty table where nobody wants to be told. (A command that works without a server writes
rows by the same table; the server's next start sends them.)

    open ──▸ queued ──▸ sent        open: a digest that still collects, until it is due
                │  ▴
                ▾  └── retry        failed: refused for good, or still not sent at its deadline
             failed

Where a target that is told of each comment got `HOURLY` mails within an hour, what comes then goes
into a digest of an hour by itself: who floods a blog does not flood a mailbox.

A row is put off by growing pauses. Where the other side as a whole cannot be reached, all rows that
are due there are put off together: one attempt tells of all.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from commentsvc.db.schema.outbox import FAILED, MAIL, QUEUED, SENT, OutboxRow, Target
from commentsvc.db.sqlite import Reader, Transaction
from commentsvc.util.timestamps import DAY_MS, HOUR_MS, MINUTE_MS

# RFC 5321, 4.5.4.1: give up after 4 to 5 days at the earliest. A server may be down for five.
PATIENCE: Final = 7 * DAY_MS
# Greylisting lets a mail pass after 5 minutes, mostly; later pauses double.
FIRST_PAUSE: Final = MINUTE_MS
LONGEST_PAUSE: Final = 6 * HOUR_MS
# For the moderator to look back; what failed can be sent again.
SENT_KEPT: Final = 30 * DAY_MS
FAILED_KEPT: Final = 90 * DAY_MS
TIDIED: Final = 1_000  # rows of one transaction
# Mails of single comments to one moderator within an hour; later ones go into a digest.
HOURLY: Final = 20
ERROR_LENGTH: Final = 500  # characters kept of what a server said

_COLUMNS: Final = (
    "id, channel, kind, recipient, comment_id, last_comment_id, state, created_at, due_at,"
    " expires_at, attempts, error, language"
)
# Moderators' own comments are no news to moderators, but programs hear of all.
# CROSS JOIN keeps SQLite from looking at the comments before it knows that there is a target.
TELL: Final = (
    "INSERT INTO outbox (channel, kind, recipient, comment_id, state, created_at, due_at,"
    " expires_at)"
    " SELECT t.channel, iif(t.digest_ms, 'digest', 'submitted'), t.recipient, c.id,"
    " iif(t.digest_ms, 'open', 'queued'), ?3, ?3 + t.digest_ms, ?3 + t.digest_ms + ?4"
    " FROM target AS t CROSS JOIN comment AS c"
    " WHERE c.id BETWEEN ?1 AND ?2 AND c.status <> 'spam' AND (c.role = '' OR t.changes)"
    " ON CONFLICT DO NOTHING"
)
# One row tells of several changes: it says what the comment is by the time it is sent.
TELL_CHANGE: Final = (
    "INSERT INTO outbox (channel, kind, recipient, comment_id, state, created_at, due_at,"
    " expires_at)"
    " SELECT t.channel, 'changed', t.recipient, ?1, 'queued', ?2, ?2, ?2 + ?3 FROM target AS t"
    " WHERE t.changes AND NOT EXISTS (SELECT 1 FROM outbox AS o WHERE o.comment_id = ?1"
    " AND o.channel = t.channel AND o.kind = 'changed' AND o.state = 'queued' AND o.attempts = 0)"
)
# Who asked waits for it: a day later it is of no use.
TELL_OWN: Final = (
    "INSERT INTO outbox (channel, kind, recipient, state, created_at, due_at, expires_at, language)"
    " VALUES (?, 'own', ?, ?, ?, ?, ?, ?)"
)
# (channel, delay, moment, patience): an open row collects until nothing more came for the
# delay, but ten times as long at most; so does one that waits for another attempt. One that is due
# may be on its way already.
_REQUEST_BUILD: Final = (
    "INSERT INTO outbox (channel, kind, recipient, state, created_at, due_at, expires_at)"
    " SELECT ?1, 'build', '', 'open', ?3, ?3 + ?2, ?3 + ?4 WHERE NOT EXISTS"
    " (SELECT 1 FROM outbox AS o WHERE o.state = 'queued' AND o.channel = ?1 AND o.due_at > ?3)"
    " ON CONFLICT (channel, recipient) WHERE state = 'open'"
    " DO UPDATE SET due_at = min(?3 + ?2, created_at + 10 * ?2)"
)
# (moment, channel, recipient, limit): so many were sent since then.
TOLD: Final = (
    "SELECT count(*) FROM (SELECT 1 FROM outbox WHERE state = 'sent'"
    " AND state IN ('sent', 'failed') AND due_at > ? AND channel = ? AND recipient = ?"
    " AND kind = 'submitted' LIMIT ?)"
)
# A single mail becomes a digest, unless one is open; that tells of all from the first of them on.
_COLLECT: Final = (
    "UPDATE outbox SET kind = 'digest', state = 'open', due_at = ?1, expires_at = ?2 WHERE id = ?3"
    " AND state = 'queued' AND NOT EXISTS (SELECT 1 FROM outbox AS o WHERE o.state = 'open'"
    " AND o.channel = ?4 AND o.recipient = ?5)"
)
_WIDEN: Final = (
    "UPDATE outbox SET comment_id = min(comment_id, ?)"
    " WHERE state = 'open' AND channel = ? AND recipient = ?"
)
DUE: Final = (
    f"SELECT {_COLUMNS} FROM outbox"  # noqa: S608 - a constant
    " WHERE state = 'queued' AND channel = ? AND due_at <= ? ORDER BY due_at LIMIT ?"
)
_PUT_OFF: Final = (
    "UPDATE outbox SET attempts = attempts + 1, error = ?1, state = iif(?2 >= expires_at,"
    " 'failed', state),"
    " due_at = iif(?2 >= expires_at, ?2, min(expires_at, ?2 + min(?4, ?3 << min(attempts, 30))))"
    " WHERE state = 'queued' AND "
)
PUT_OFF: Final = f"{_PUT_OFF} id = ?5"
PUT_OFF_ALL: Final = f"{_PUT_OFF} channel = ?5 AND due_at <= ?2"
SETTLE: Final = (
    "UPDATE outbox SET state = ?, due_at = ?, error = ?, attempts = attempts + 1 WHERE id = ?"
)
CLOSE: Final = (
    "UPDATE outbox SET state = 'queued', last_comment_id = (SELECT max(id) FROM comment)"
    " WHERE state = 'open' AND due_at <= ?"
)
HOLD: Final = (
    "UPDATE outbox SET state = 'failed', due_at = ?1, error = ?2,"
    " last_comment_id = iif(state = 'open', (SELECT max(id) FROM comment), last_comment_id)"
    " WHERE state IN ('open', 'queued')"
)
TIDY: Final = (
    "DELETE FROM outbox WHERE id IN"
    " (SELECT id FROM outbox WHERE state = ? AND state IN ('sent', 'failed') AND due_at < ?"
    " LIMIT ?)"
)
WAITING: Final = (
    "SELECT channel, count(*), min(created_at) FROM outbox WHERE state = 'queued' GROUP BY channel"
)
FAILURES: Final = (
    "SELECT channel, count(*) FROM outbox WHERE state = 'failed' AND state IN ('sent', 'failed')"
    " GROUP BY channel"
)


class ChannelBacklog(msgspec.Struct, frozen=True, gc=False):
    """What a channel has not sent: how many rows wait and failed, and since when the oldest waits.

    `oldest` is in Unix milliseconds, 0 where none waits.
    """

    queued: int = 0
    failed: int = 0
    oldest: int = 0


def sync_targets(tx: Transaction, targets: Iterable[Target]) -> None:
    """Bring the table of targets in line with the settings.

    What was to be sent to a target that is gone is not sent.
    """
    wanted = {(target.channel, target.recipient): target for target in targets}
    rows = tx.execute("SELECT channel, recipient FROM target").fetchall()
    for gone in set(rows) - set(wanted):
        tx.execute("DELETE FROM target WHERE channel = ? AND recipient = ?", gone)
        tx.execute(
            "DELETE FROM outbox WHERE state IN ('open', 'queued') AND channel = ?"
            " AND recipient = ? AND kind IN ('submitted', 'digest', 'changed')",
            gone,
        )
    tx.execute_many(
        "INSERT INTO target (channel, recipient, digest_ms, changes) VALUES (?, ?, ?, ?)"
        " ON CONFLICT DO UPDATE SET digest_ms = excluded.digest_ms, changes = excluded.changes",
        [msgspec.structs.astuple(target) for target in wanted.values()],
    )


def submitted(tx: Transaction, first: int, last: int, now: int) -> None:
    """Tell the targets of the new comments with the ids from `first` to `last`."""
    tx.execute(TELL, (first, last, now, PATIENCE))


def own(tx: Transaction, email: str, now: int, language: str = "") -> None:
    """Mail that address the links to all written with it, in the `language` of that tag."""
    tx.execute(TELL_OWN, (MAIL, email, QUEUED, now, now, now + DAY_MS, language))


def changed(tx: Transaction, ids: Iterable[int], now: int) -> None:
    """Tell those targets that want it of changes of the comments `ids`."""
    if tx.execute("SELECT 1 FROM target WHERE changes LIMIT 1").fetchone():
        tx.execute_many(TELL_CHANGE, [(number, now, PATIENCE) for number in ids])


def request_builds(tx: Transaction, delays: Iterable[tuple[str, int]], now: int) -> None:
    """Start the builders behind these channels, each after a pause of so many milliseconds."""
    tx.execute_many(_REQUEST_BUILD, [(*each, now, PATIENCE) for each in delays])


def due(reader: Reader, channel: str, now: int, limit: int) -> list[OutboxRow]:
    """The rows that `channel` has to send by now, at most `limit`, the longest due first."""
    return [OutboxRow(*row) for row in reader.execute(DUE, (channel, now, limit)).fetchall()]


def is_flooding(reader: Reader, post: OutboxRow, now: int) -> bool:
    """Return whether a row would be one mail too many for its recipient within this hour."""
    if post.kind != "submitted" or post.channel != MAIL:
        return False
    row = (now - HOUR_MS, post.channel, post.recipient, HOURLY)
    [(told,)] = reader.execute(TOLD, row).fetchall()
    return bool(told >= HOURLY)


def collect(tx: Transaction, post: OutboxRow, now: int) -> None:
    """Put what a row tells of, and all comments after it, into a digest that is due in an hour."""
    target = (post.channel, post.recipient)
    due = now + HOUR_MS
    tx.execute(_COLLECT, (due, due + PATIENCE, post.id, *target))
    tx.execute(_WIDEN, (post.comment_id, *target))
    tx.execute("DELETE FROM outbox WHERE id = ? AND state = 'queued'", (post.id,))


def mark_sent(tx: Transaction, post: OutboxRow, error: str, now: int) -> None:
    """Note that a row was sent, or with an `error` that it never will be."""
    tx.execute(SETTLE, (FAILED if error else SENT, now, _bounded(error), post.id))


def retry_later(tx: Transaction, post: OutboxRow, error: str, now: int) -> None:
    """Try this row again after a pause, or give it up at its deadline."""
    tx.execute(PUT_OFF, (_bounded(error), now, FIRST_PAUSE, LONGEST_PAUSE, post.id))


def retry_all_later(tx: Transaction, channel: str, error: str, now: int) -> None:
    """As `retry_later`, for all rows that are due on `channel`."""
    tx.execute(PUT_OFF_ALL, (_bounded(error), now, FIRST_PAUSE, LONGEST_PAUSE, channel))


def drop(tx: Transaction, post: OutboxRow) -> None:
    """Forget a row that has nothing to tell any more."""
    tx.execute("DELETE FROM outbox WHERE id = ?", (post.id,))


def close_digests(tx: Transaction, now: int) -> None:
    """Let the digests that are due be sent, with all comments there are; later ones open anew."""
    tx.execute(CLOSE, (now,))


def hold(tx: Transaction, error: str, now: int) -> int:
    """Send nothing of what waits, unless it is retried; how many rows. `error` says why."""
    return tx.execute(HOLD, (now, error)).rowcount


def delete_old(tx: Transaction, now: int) -> None:
    """Forget what was sent, and what failed, long ago; some of it where it is much."""
    for state, kept in ((SENT, SENT_KEPT), (FAILED, FAILED_KEPT)):
        tx.execute(TIDY, (state, now - kept, TIDIED))


def backlogs(reader: Reader) -> dict[str, ChannelBacklog]:
    """What each channel has not sent; those that have sent everything are not in it."""
    failed = dict(reader.execute(FAILURES).fetchall())
    waiting = {
        channel: ChannelBacklog(queued, failed.pop(channel, 0), oldest)
        for channel, queued, oldest in reader.execute(WAITING).fetchall()
    }
    return waiting | {channel: ChannelBacklog(failed=count) for channel, count in failed.items()}


def listing(reader: Reader, state: str | None, before: int, limit: int) -> list[OutboxRow]:
    """The newest rows with an id below `before`, those in `state` where one is given."""
    condition = "" if state is None else " AND state = ?"
    values = (before,) if state is None else (before, state)
    sql = f"SELECT {_COLUMNS} FROM outbox WHERE id < ?{condition} ORDER BY id DESC LIMIT ?"  # noqa: S608 - constants
    return [OutboxRow(*row) for row in reader.execute(sql, (*values, limit)).fetchall()]


def retry(tx: Transaction, ids: Sequence[int], now: int) -> list[int]:
    """Send rows that failed, or that wait for their next attempt, now; return their ids.

    Those that failed get their whole time again. Ids of other rows are passed over.
    """
    changed = []
    for post_id in dict.fromkeys(ids):
        values = (QUEUED, now, now + PATIENCE, post_id)
        if tx.execute(
            "UPDATE outbox SET state = ?, due_at = ?, expires_at = ?, attempts = 0"
            " WHERE id = ? AND state IN ('queued', 'failed')",
            values,
        ).rowcount:
            changed.append(post_id)
    return changed


def _bounded(error: str) -> str:
    """One line of an error; a server may say anything."""
    text = "".join(c if c.isprintable() else " " for c in error[: 4 * ERROR_LENGTH])
    return " ".join(text.split())[:ERROR_LENGTH]

"""Subscriptions: who is told of answers to their comments, and who wants to be told no more.

A wish comes with a submission; anybody can write somebody else's address there. So the
owner of the address is asked to confirm it, once for each site, and only when the comment is
published: no program can make us send mail to strangers past a moderator. Until the owner has
confirmed, nothing else is mailed there, and the question is repeated once a day at most. After
a "no" it never comes again.

    asked ──▸ confirmed ──▸ stopped
      └────────────────────────▴
"""

from typing import Final

from commentsvc.db.outbox import PATIENCE
from commentsvc.db.schema.outbox import CONFIRMED, STOPPED
from commentsvc.db.sqlite import Reader, Row, Transaction
from commentsvc.util.timestamps import DAY_MS

# A question may be repeated after this: it may have been lost; in milliseconds.
REPEAT: Final = DAY_MS

ADD_SUBSCRIBER: Final = (
    "INSERT INTO subscriber (site_id, email, consent, asked_at)"
    " SELECT site_id, email, 'asked', 0 FROM comment WHERE id = ? ON CONFLICT DO NOTHING"
)
SUBSCRIBE: Final = (
    "INSERT INTO subscription (comment_id, subscriber_id, language)"
    " SELECT c.id, s.id, ? FROM comment AS c"
    " JOIN subscriber AS s ON s.email = c.email AND s.site_id = c.site_id"
    " WHERE c.id = ? AND s.consent <> 'stopped'"
)
_ROW: Final = (
    "INSERT INTO outbox (channel, kind, recipient, comment_id, state, created_at, due_at,"
    " expires_at)"
)
# A comment is told of once, when it is published for the first time.
TELL_ANSWERS: Final = (
    f"{_ROW} SELECT 'mail', 'reply', '', c.id, 'queued', ?3, ?3, ?3 + ?4"  # noqa: S608 - constants
    " FROM comment AS c JOIN subscription AS b ON b.comment_id = c.parent_id"
    " JOIN subscriber AS s ON s.id = b.subscriber_id"
    " WHERE c.id BETWEEN ?1 AND ?2 AND c.status = 'approved' AND c.email <> s.email"
    " AND s.consent = 'confirmed'"
    " AND NOT EXISTS (SELECT 1 FROM outbox AS o WHERE o.comment_id = c.id AND o.kind = 'reply')"
)
# What was told nobody since the question was open: also the answer that a moderator gave at once.
TELL_MISSED: Final = (
    f"{_ROW} SELECT 'mail', 'reply', '', c.id, 'queued', ?2, ?2, ?2 + ?3"  # noqa: S608 - constants
    " FROM subscription AS b JOIN subscriber AS s ON s.id = b.subscriber_id"
    " JOIN comment AS c ON c.parent_id = b.comment_id"
    " WHERE s.id = ?1 AND c.status = 'approved' AND c.email <> s.email"
    " AND NOT EXISTS (SELECT 1 FROM outbox AS o WHERE o.comment_id = c.id AND o.kind = 'reply')"
)
ASK: Final = (
    f"{_ROW} SELECT 'mail', 'confirm', '', min(c.id), 'queued', ?3, ?3, ?3 + ?4"  # noqa: S608 - constants
    " FROM comment AS c JOIN subscription AS b ON b.comment_id = c.id"
    " JOIN subscriber AS s ON s.id = b.subscriber_id"
    " WHERE c.id BETWEEN ?1 AND ?2 AND c.status = 'approved' AND s.consent = 'asked'"
    " AND s.asked_at <= ?3 - ?5 GROUP BY s.id"
)
ASKED_NOW: Final = (
    "UPDATE subscriber SET asked_at = ?3 WHERE consent = 'asked' AND asked_at <= ?3 - ?4 AND id IN"
    " (SELECT b.subscriber_id FROM subscription AS b JOIN comment AS c ON c.id = b.comment_id"
    " WHERE c.id BETWEEN ?1 AND ?2 AND c.status = 'approved')"
)
OF_COMMENT: Final = (
    "SELECT s.id, s.email, s.consent FROM subscription AS b JOIN subscriber AS s ON s.id ="
    " b.subscriber_id"
    " WHERE b.comment_id = ?"
)


def subscribe(tx: Transaction, comment_id: int, language: str = "") -> None:
    """Note that the author of a comment, which has an address, wants to be told of answers.

    `language` is the tag of the language that they wrote in.
    """
    tx.execute(ADD_SUBSCRIBER, (comment_id,))
    tx.execute(SUBSCRIBE, (language, comment_id))


def published(tx: Transaction, first: int, last: int, now: int) -> None:
    """Tell of those comments from `first` to `last` that are shown, and ask their authors."""
    if not tx.execute("SELECT 1 FROM subscription LIMIT 1").fetchone():
        return
    tx.execute(TELL_ANSWERS, (first, last, now, PATIENCE))
    tx.execute(ASK, (first, last, now, PATIENCE, REPEAT))
    tx.execute(ASKED_NOW, (first, last, now, REPEAT))


def subscriber(reader: Reader, comment_id: int) -> Row | None:
    """Of who is told of answers to a comment: id, address and consent; None where nobody is."""
    row: Row | None = reader.execute(OF_COMMENT, (comment_id,)).fetchone()
    return row


def language_of(reader: Reader, comment_id: int, kind: str) -> str:
    """Return the tag of the language of who is mailed about a comment; "" where it is not known.

    A `reply` is mailed to the author of the comment above it, all else to its own.
    """
    wanted = "(SELECT parent_id FROM comment WHERE id = ?)" if kind == "reply" else "?"
    sql = f"SELECT language FROM subscription WHERE comment_id = {wanted}"  # noqa: S608 - constants
    row = reader.execute(sql, (comment_id,)).fetchone()
    return row[0] if row else ""


def site_of(reader: Reader, subscriber_id: int) -> str | None:
    """The name of the site that a subscriber is told of; None for one who is gone."""
    sql = "SELECT t.name FROM subscriber AS s JOIN site AS t ON t.id = s.site_id WHERE s.id = ?"
    row = reader.execute(sql, (subscriber_id,)).fetchone()
    return row[0] if row else None


def confirm(tx: Transaction, subscriber_id: int, now: int) -> bool:
    """Tell the subscriber of answers, also of those that are there at the moment `now`.

    Returns False where that is no question any more.
    """
    sql = "UPDATE subscriber SET consent = ? WHERE id = ? AND consent = 'asked'"
    if not tx.execute(sql, (CONFIRMED, subscriber_id)).rowcount:
        return False
    tx.execute(TELL_MISSED, (subscriber_id, now, PATIENCE))
    return True


def stop(tx: Transaction, subscriber_id: int) -> None:
    """Tell the subscriber of nothing any more, for good; what waits is not sent."""
    tx.execute("UPDATE subscriber SET consent = ? WHERE id = ?", (STOPPED, subscriber_id))
    tx.execute("DELETE FROM subscription WHERE subscriber_id = ?", (subscriber_id,))

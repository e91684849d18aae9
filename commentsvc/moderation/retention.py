"""Retention: what is forgotten by itself, and what when its author asks.

Hashes of networks, and spam that nobody has touched for long, are dropped in pieces when
nobody waits (see `runtime.maintenance`). Of the spam a number for each day is kept, and what the
filter learned of it; a comment that was answered stays.

A person is known by the e-mail address. What that person wrote is emptied rather than removed:
answers to it keep their place, and an empty, deleted comment says nothing. What only repeats it
goes too: its history, which holds texts, the wish to be told of answers, mails that wait. The
search index follows by triggers (see `db.schema.search`). Bans are kept: they are what a moderator
decided. SQLite overwrites what was erased when it needs the room.
"""

from typing import Final

from commentsvc.db.sqlite import Reader, Transaction
from commentsvc.model import DELETED
from commentsvc.moderation import actions, personal_data
from commentsvc.spam import training
from commentsvc.util.timestamps import DAY_MS

DUE: Final = "SELECT 1 FROM comment WHERE network IS NOT NULL AND created_at < ? LIMIT 1"
DROP: Final = (
    "UPDATE comment SET network = NULL WHERE id IN"
    " (SELECT id FROM comment WHERE network IS NOT NULL AND created_at < ? LIMIT ?)"
)
_EMPTY: Final = (
    "UPDATE comment SET author = '', email = '', avatar = '', author_site = '', source = '',"
    " role = '', moderator_id = NULL,"
    " html = '', key = NULL, token_hash = x'', token_expires_at = 0, score = 0, reasons = '',"
    " network = NULL WHERE id = ?"
)
_TRACES: Final = (
    "DELETE FROM change WHERE comment_id = ?",
    "DELETE FROM subscription WHERE comment_id = ?",
    "DELETE FROM outbox WHERE comment_id = ?",
)
_OWN: Final = (
    "DELETE FROM subscriber WHERE lower(email) = lower(?)",
    "DELETE FROM outbox WHERE lower(recipient) = lower(?)",
)

# Filed, or last decided on, before that moment. The second condition lets SQLite use the index.
OLD_SPAM: Final = (
    "SELECT c.id FROM comment AS c WHERE c.status = 'spam' AND c.status <> 'approved'"
    " AND c.created_at < ?1 AND NOT EXISTS (SELECT 1 FROM change AS h WHERE h.comment_id = c.id"
    " AND max(h.created_at, coalesce(h.undone_at, 0)) >= ?1)"
    " AND NOT EXISTS (SELECT 1 FROM comment AS a WHERE a.parent_id = c.id) ORDER BY c.id LIMIT ?2"
)
_COUNT: Final = (
    "INSERT INTO removed_spam (day, count) VALUES (?, ?)"
    " ON CONFLICT (day) DO UPDATE SET count = count + excluded.count"
)


def is_due(reader: Reader, before: int) -> bool:
    """Whether a comment from before that moment (Unix milliseconds) still has a network's hash."""
    return reader.execute(DUE, (before,)).fetchone() is not None


def drop_networks(tx: Transaction, before: int, most: int) -> None:
    """Drop the hashes of at most `most` comments from before that moment."""
    tx.execute(DROP, (before, most))


def old_spam(reader: Reader, before: int, most: int) -> list[int]:
    """The ids of at most `most` comments that are spam since before that moment, oldest first."""
    return [number for (number,) in reader.execute(OLD_SPAM, (before, most)).fetchall()]


def drop_spam(tx: Transaction, before: int, most: int, now: int) -> int:
    """Remove at most `most` of `old_spam` at the moment `now`, and count it; how many it were."""
    ids = old_spam(tx, before, most)
    tx.execute_many("DELETE FROM comment WHERE id = ?", [(number,) for number in ids])
    if ids:
        tx.execute(_COUNT, (now // DAY_MS, len(ids)))
    return len(ids)


def removed(reader: Reader, since: int) -> int:
    """How much spam was removed on the day `since` (of Unix time) and later."""
    sql = "SELECT coalesce(sum(count), 0) FROM removed_spam WHERE day >= ?"
    return int(reader.execute(sql, (since,)).fetchone()[0])


def forget(tx: Transaction, email: str, who: str, now: int) -> tuple[int, ...]:
    """Empty and delete all comments with that address, at the moment `now` (Unix milliseconds).

    Returns their ids. This cannot be undone. `who` decided is a name as in `actions`.
    """
    ids = tuple(personal_data.ids(tx, email))
    actions.change(tx, ids, DELETED, who, now)
    for comment_id in ids:
        for sql in (*_TRACES, _EMPTY):
            tx.execute(sql, (comment_id,))
    training.update(tx, ids)  # nobody has decided on them any more
    for sql in _OWN:
        tx.execute(sql, (email,))
    return ids

"""Privacy: what is forgotten by itself, and what when its author asks.

DESIGN. Hashes of networks are dropped in pieces when nobody waits (see `chores`). A person is known
by the e-mail address. What that person wrote is emptied rather than removed: answers to it keep
their place, and an empty, deleted comment says nothing. What only repeats it goes too: its history,
which holds texts, the wish to be told of answers, mails that wait. The search index follows by
triggers (see `derived`). Bans are kept: they are what a moderator decided. SQLite overwrites what
was erased when it needs the room.
"""

from typing import Final

from commentsvc import moderation
from commentsvc.models import DELETED
from commentsvc.sqlite import Reader, Transaction

DUE: Final = "SELECT 1 FROM comment WHERE network IS NOT NULL AND created < ? LIMIT 1"
DROP: Final = (
    "UPDATE comment SET network = NULL WHERE id IN"
    " (SELECT id FROM comment WHERE network IS NOT NULL AND created < ? LIMIT ?)"
)
_OF: Final = "SELECT id FROM comment WHERE lower(email) = lower(?) ORDER BY id"
_EMPTY: Final = (
    "UPDATE comment SET author = '', email = '', avatar = '', author_site = '', source = '',"
    " html = '', key = NULL, token_hash = x'', token_expires = 0, score = 0, reasons = '',"
    " network = NULL WHERE id = ?"
)
_TRACES: Final = (
    "DELETE FROM change WHERE comment_id = ?",
    "DELETE FROM watch WHERE comment_id = ?",
    "DELETE FROM outbox WHERE comment_id = ?",
)
_OWN: Final = (
    "DELETE FROM subscriber WHERE lower(email) = lower(?)",
    "DELETE FROM outbox WHERE lower(recipient) = lower(?)",
)


def is_due(reader: Reader, before: int) -> bool:
    """Whether a comment from before that moment (Unix milliseconds) still has a network's hash."""
    return reader.execute(DUE, (before,)).fetchone() is not None


def drop_networks(tx: Transaction, before: int, most: int) -> None:
    """Drop the hashes of at most `most` comments from before that moment."""
    tx.execute(DROP, (before, most))


def forget(tx: Transaction, email: str, who: str, now: int) -> tuple[int, ...]:
    """Empty and delete all comments with that address, at the moment `now` (Unix milliseconds).

    Returns their ids. This cannot be undone. `who` decided is a name as in `moderation`.
    """
    ids = tuple(comment_id for (comment_id,) in tx.execute(_OF, (email,)).fetchall())
    moderation.change(tx, ids, DELETED, who, now)
    for comment_id in ids:
        for sql in (*_TRACES, _EMPTY):
            tx.execute(sql, (comment_id,))
    for sql in _OWN:
        tx.execute(sql, (email,))
    return ids

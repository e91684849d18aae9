"""Votes: what readers think of comments, one vote of each reader on each.

A reader is who has the same browser: it makes a random word once, keeps it, and sends it
with its votes; we keep a digest of it. Nothing else tells readers apart without a cookie or an
address. Who makes up many words is bounded by the rate limit of a network, and by how many votes
one network has on one comment: a family or an office, not a crowd. Networks are forgotten as those
of comments are. The sum stands in the comment's row, so no list counts votes.

    CommentsError
      TooManyVotes   that network has all the votes that it may have on this comment
"""

import hashlib
from collections.abc import Sequence
from typing import Final

from commentsvc.comments import statements
from commentsvc.comments.create import ThreadRef, add_to_counts
from commentsvc.comments.errors import TooManyVotes, UnknownComment
from commentsvc.db.sqlite import Reader, Transaction
from commentsvc.model import APPROVED

CROWD: Final = 20  # votes of one network, a /24 or /56, on one comment
DIGEST: Final = 16  # bytes: no two words are taken for one

CAST: Final = "SELECT value FROM vote WHERE comment_id = ? AND voter = ?"
OF_NETWORK: Final = "SELECT count(*) FROM vote WHERE comment_id = ? AND network IN (?, ?)"
TAKE_BACK: Final = "DELETE FROM vote WHERE comment_id = ? AND voter = ?"
PUT: Final = (
    "INSERT INTO vote (comment_id, voter, value, network, created_at) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (comment_id, voter) DO UPDATE SET value = excluded.value"
)
ADD: Final = "UPDATE comment SET votes = votes + ? WHERE id = ? RETURNING votes"

DUE: Final = "SELECT 1 FROM vote WHERE network IS NOT NULL AND created_at < ? LIMIT 1"
DROP: Final = (
    "UPDATE vote SET network = NULL WHERE rowid IN"
    " (SELECT rowid FROM vote WHERE network IS NOT NULL AND created_at < ? LIMIT ?)"
)


def vote(
    tx: Transaction, comment_id: int, word: str, value: int, networks: Sequence[bytes], now: int
) -> int:
    """Let the reader with that `word` vote for (1), against (-1) or neither (0).

    `networks` are the hashes that the reader's network may have, the present one first; `now` is in
    Unix milliseconds. Returns the comment's votes. Raises UnknownComment, for one that is not shown
    too, and TooManyVotes.
    """
    row = tx.execute(statements.FIND_COMMENT, (comment_id,)).fetchone()
    if row is None or row[4] != APPROVED:
        raise UnknownComment([comment_id])
    voter = hashlib.blake2b(word.encode(), digest_size=DIGEST, person=b"voter").digest()
    cast = tx.execute(CAST, (comment_id, voter)).fetchone()
    was = cast[0] if cast else 0
    if not value:
        tx.execute(TAKE_BACK, (comment_id, voter))
    else:
        if not was and networks and _votes_of(tx, comment_id, networks) >= CROWD:
            raise TooManyVotes("your network has many votes on this comment already")
        network = networks[0] if networks else None
        tx.execute(PUT, (comment_id, voter, value, network, now))
    [(votes,)] = tx.execute(ADD, (value - was, comment_id)).fetchall()
    if value != was:
        add_to_counts(tx, {ThreadRef(*row[:4]): 0})  # for the purge alone
    return int(votes)


def is_due(reader: Reader, before: int) -> bool:
    """Whether a vote from before that moment (Unix milliseconds) still has a network's hash."""
    return reader.execute(DUE, (before,)).fetchone() is not None


def drop_networks(tx: Transaction, before: int, most: int) -> None:
    """Drop the hashes of at most `most` votes from before that moment."""
    tx.execute(DROP, (before, most))


def _votes_of(tx: Transaction, comment_id: int, networks: Sequence[bytes]) -> int:
    [(number,)] = tx.execute(OF_NETWORK, (comment_id, networks[0], networks[-1])).fetchall()
    return int(number)

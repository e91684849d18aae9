"""Votes: readers vote on comments, once each: for or against, or with an emoji (a reaction).

A reader is a browser: it makes a random word once, keeps it, and sends it with its votes; we store
a digest of it. Without cookies and addresses, nothing else tells readers apart. Somebody who makes
up many words is stopped by the rate limit of the network, and by a limit of votes from one network
on one comment: it is enough for a family or an office. The network hashes of votes are deleted
after the same time as those of comments. Isso's clients and forms without scripts send no word, so
for them each network has one vote, and is the reader (`network_word`). The sum of the votes, and
how many readers chose each emoji, are stored in the comment's row, so no list counts votes.

    CommentsError
      TooManyVotes   that network has all the votes that it may have on this comment;
                     ReactedBefore if these are reactions
"""

import secrets
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from peewee import fn

from commentsvc.comments import queries, tree
from commentsvc.comments.create import ThreadRef, add_to_counts
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.query import Param, Select, insertion, prepared
from commentsvc.db.schema.comments import CommentTable, VoteTable
from commentsvc.errors import ReactedBefore, TooManyVotes, UnknownComment
from commentsvc.model import AGAINST, APPROVED, reaction_counts, stored_counts
from commentsvc.util.digest import digest

NETWORK_VOTES: Final = 20  # votes of one network, a /24 or /56, on one comment
DIGEST: Final = 16  # bytes: two words never have the same digest


class Vote(NamedTuple):
    """A vote: for (1), against (-1) or neither (0); a reaction has an emoji."""

    value: int
    emoji: str = ""


def _reaction(emoji: str) -> Vote:
    """Return the vote with an emoji; "" takes a reaction back."""
    return Vote((-1 if emoji.startswith(AGAINST) else 1) if emoji else 0, emoji)


def _is(comment_id: Param, voter: Param) -> Any:  # Any: peewee's expressions have no type
    return (VoteTable.comment == comment_id) & (VoteTable.voter == voter)


@prepared
def find_vote(comment_id: Param, voter: Param) -> Select:
    return VoteTable.select(VoteTable.value, VoteTable.emoji).where(_is(comment_id, voter))


@prepared
def count_of_network(comment_id: Param, one: Param, other: Param) -> Select:
    return VoteTable.select(fn.COUNT(VoteTable.voter)).where(
        VoteTable.comment == comment_id, VoteTable.network.in_([one, other])
    )


@prepared
def _find_written(comment_id: Param, one: Param, other: Param) -> Select:
    return CommentTable.select(CommentTable.id).where(
        CommentTable.id == comment_id, CommentTable.network.in_([one, other])
    )


@prepared
def _take_back(comment_id: Param, voter: Param) -> Select:
    return VoteTable.delete().where(_is(comment_id, voter))


_KEY: Final = (VoteTable.comment, VoteTable.voter)
_PUT: Final = insertion(
    *_KEY,
    VoteTable.value,
    VoteTable.network,
    VoteTable.created_at,
    VoteTable.emoji,
    key=_KEY,
    change=(VoteTable.value, VoteTable.emoji),
)


@prepared
def _add(comment_id: Param, more: Param) -> Select:
    added = CommentTable.update(votes=CommentTable.votes + more)
    return added.where(CommentTable.id == comment_id).returning(CommentTable.votes)


@prepared
def find_reactions(comment_id: Param) -> Select:
    return CommentTable.select(CommentTable.reactions).where(CommentTable.id == comment_id)


@prepared
def _count(comment_id: Param, counts: Param) -> Select:
    return CommentTable.update(reactions=counts).where(CommentTable.id == comment_id)


def network_word(networks: Sequence[bytes], subject: int) -> bytes:
    """Return the word for readers without one, from the first of the `networks`.

    It is for one comment or page: nobody can tell by it what else a network did.
    """
    return b"%b %d" % (networks[0], subject) if networks else secrets.token_bytes(DIGEST)


def vote(
    tx: Transaction,
    comment_id: int,
    word: str | bytes,
    value: int,
    networks: Sequence[bytes],
    now: int,
) -> int:
    """Store the vote of the reader with that `word`: for (1), against (-1) or neither (0).

    `networks` are the hashes that the reader's network may have, the current one first; `now` is in
    Unix milliseconds. Return the sum of the comment's votes. Raise UnknownComment, also for a
    comment that is not shown, and TooManyVotes.

    The clients of other systems have a `network_word`, in bytes. They show a deleted comment that
    has replies with its votes, so it can get some from them.
    """
    return _store(tx, comment_id, word, Vote(value), networks, now)


def react(
    tx: Transaction,
    comment_id: int,
    word: str,
    emoji: str,
    networks: Sequence[bytes],
    now: int,
) -> dict[str, int]:
    """Store the reaction of a reader in place of the last one; "" takes it back.

    Return how many readers chose each emoji. Everything else is as for `vote`.
    """
    _store(tx, comment_id, word, _reaction(emoji), networks, now)
    return counts(tx, comment_id)


def _store(
    tx: Transaction,
    comment_id: int,
    word: str | bytes,
    cast: Vote,
    networks: Sequence[bytes],
    now: int,
) -> int:
    where = _thread_of(tx, comment_id, also_deleted=isinstance(word, bytes))
    voter = digest(word, b"voter", DIGEST)
    row = tx.first(find_vote, comment_id, voter)
    was = Vote(*row) if row else Vote(0)
    if not cast.value:
        tx.change(_take_back, comment_id, voter)
    else:
        if not row and networks and _votes_of(tx, comment_id, networks) >= NETWORK_VOTES:
            raise ReactedBefore if cast.emoji else TooManyVotes
        network = networks[0] if networks else None
        tx.change(_PUT, comment_id, voter, cast.value, network, now, cast.emoji)
    [(votes,)] = tx.query(_add, comment_id, cast.value - was.value)
    if cast.emoji != was.emoji:
        changed = Counter(counts(tx, comment_id))
        changed.update({cast.emoji: 1})
        changed.subtract({was.emoji: 1})
        tx.change(_count, comment_id, stored_counts(changed))
    if cast != was:
        add_to_counts(tx, {where: 0})  # only to purge
    return int(votes)


def counts(snapshot: Snapshot, comment_id: int) -> dict[str, int]:
    """Return how many readers chose each emoji for a comment, which exists."""
    [(stored,)] = snapshot.query(find_reactions, comment_id)
    return reaction_counts(stored)


def vote_once(
    tx: Transaction, comment_id: int, value: int, networks: Sequence[bytes], now: int
) -> int:
    """Store the vote of a reader without a word: one per network, none from the author's network.

    Everything else is as for `vote`.
    """
    _thread_of(tx, comment_id, also_deleted=True)  # before anything is said about its votes
    return _store_once(tx, comment_id, Vote(value), networks, now)


def react_once(
    tx: Transaction, comment_id: int, emoji: str, networks: Sequence[bytes], now: int
) -> None:
    """Store the reaction of a reader without a word in place of the last one; "" takes it back.

    There is one per network, and none from the author's network. Raise as `vote`.
    """
    _thread_of(tx, comment_id, also_deleted=False)
    withdraw_once(tx, comment_id, networks)
    if emoji:
        _store_once(tx, comment_id, _reaction(emoji), networks, now)


def reacted_once(snapshot: Snapshot, comment_id: int, networks: Sequence[bytes]) -> str:
    """Return the emoji that `react_once` stored for the network; "" for none."""
    for network in networks:
        voter = digest(network_word((network,), comment_id), b"voter", DIGEST)
        if row := snapshot.first(find_vote, comment_id, voter):
            return str(row[1])
    return ""


def _store_once(
    tx: Transaction, comment_id: int, cast: Vote, networks: Sequence[bytes], now: int
) -> int:
    if networks:
        is_own = tx.first(_find_written, comment_id, networks[0], networks[-1]) is not None
        if is_own or _votes_of(tx, comment_id, networks):
            raise ReactedBefore if cast.emoji else TooManyVotes
    word = network_word(networks, comment_id)
    return _store(tx, comment_id, word, cast, networks, now)


def withdraw_once(tx: Transaction, comment_id: int, networks: Sequence[bytes]) -> None:
    """Take back what `vote_once` stored for the network, if it did. Raise UnknownComment."""
    for network in networks:
        word = network_word((network,), comment_id)
        vote(tx, comment_id, word, 0, networks, 0)


def takes_votes(snapshot: Snapshot, comment_id: int) -> bool:
    """Return whether `vote_once` knows a comment: it is listed for readers without a word."""
    try:
        _thread_of(snapshot, comment_id, also_deleted=True)
    except UnknownComment:
        return False
    return True


def _thread_of(snapshot: Snapshot, comment_id: int, *, also_deleted: bool) -> ThreadRef:
    """Return the thread of a comment that is shown. Raise UnknownComment for any other.

    With `also_deleted`, a deleted comment that is listed for its replies is one.
    """
    row = snapshot.first(queries.find_ref, comment_id)
    if row is None or not (
        row[4] == APPROVED or (also_deleted and tree.is_listed(snapshot, comment_id, row[3]))
    ):
        raise UnknownComment([comment_id])
    return ThreadRef(*row[:4])


def _votes_of(tx: Transaction, comment_id: int, networks: Sequence[bytes]) -> int:
    [(number,)] = tx.query(count_of_network, comment_id, networks[0], networks[-1])
    return int(number)

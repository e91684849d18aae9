"""Training: the spam filter learns from moderators' decisions.

A comment whose last decision approved it, or marked it as spam, trains the filter: each of its
tokens (see `bayes.tokens`) is counted once more for good comments, or for spam. The tokens' numbers
are stored in the transaction of the decision, so that undoing or changing it subtracts exactly what
was added, even if the text has changed since. A comment without a decision teaches nothing, so the
filter never learns from its own verdicts. If a comment is deleted, its numbers are deleted with it,
but the counts stay, unless its author asked for erasure.
"""

import struct
from collections import Counter
from collections.abc import Collection, Iterable
from typing import Final

from peewee import JOIN, Case, fn

from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.query import Param, Select, prepared
from commentsvc.db.schema.comments import CommentTable
from commentsvc.db.schema.moderation import (
    ChangeTable,
    TrainingCommentTable,
    TrainingTokenTable,
    TrainingTotalTable,
)
from commentsvc.model import AKISMET, APPROVED, AUTHOR, CLASSIFIER, SPAM, STATUS
from commentsvc.spam.bayes import tokens

KINDS: Final = (SPAM, APPROVED)
WORDS: Final = 30_000  # words in the table: 1 MiB of the file, 3 MiB of memory
LEARNED: Final = 1_000  # comments of one decision that are learned; more would delay submissions
LEAST: Final = 10  # comments of each kind that the filter needs before it gives signals
DOUBT: Final = 0.1  # a word nearer to even odds is ignored


@prepared
def _decided(comment_id: Param) -> Select:
    """Return the query for a comment's texts, the last decision on it, and what it taught."""
    decision = (
        ChangeTable.select(ChangeTable.new)
        .where(
            ChangeTable.comment == CommentTable.id,
            ChangeTable.field == STATUS,
            ChangeTable.undone_at.is_null(),
            ChangeTable.actor.not_in([AKISMET, AUTHOR, CLASSIFIER]),
        )
        .order_by(ChangeTable.id.desc())
        .limit(1)
    )
    return (
        CommentTable.select(
            CommentTable.author,
            CommentTable.author_site,
            CommentTable.source,
            decision,
            TrainingCommentTable.label,
            TrainingCommentTable.tokens,
        )
        .join(TrainingCommentTable, JOIN.LEFT_OUTER)
        .where(CommentTable.id == comment_id)
    )


@prepared
def _forget(comment_id: Param) -> Select:
    return TrainingCommentTable.delete().where(TrainingCommentTable.comment == comment_id)


@prepared
def _teach(comment_id: Param, label: Param, numbers: Param) -> Select:
    return TrainingCommentTable.insert(comment=comment_id, label=label, tokens=numbers)


@prepared
def _count_token(token: Param, spam: Param, good: Param) -> Select:
    first = TrainingTokenTable.insert(hash=token, spam=_positive(spam), good=_positive(good))
    return first.on_conflict(
        conflict_target=[TrainingTokenTable.hash],
        update={
            TrainingTokenTable.spam: _positive(TrainingTokenTable.spam + spam),
            TrainingTokenTable.good: _positive(TrainingTokenTable.good + good),
        },
    )


def _positive(number: Select) -> Select:
    """Return the expression `number`, or 0 if it is negative."""
    return Case(None, [(number > 0, number)], 0)


@prepared
def _count_comments(spam: Param, good: Param) -> Select:
    first = TrainingTotalTable.insert(id=1, spam=spam, good=good, version=1)
    return first.on_conflict(
        conflict_target=[TrainingTotalTable.id],
        update={
            TrainingTotalTable.spam: TrainingTotalTable.spam + spam,
            TrainingTotalTable.good: TrainingTotalTable.good + good,
            TrainingTotalTable.version: TrainingTotalTable.version + 1,
        },
    )


@prepared
def _token_count() -> Select:
    return TrainingTokenTable.select(fn.COUNT(TrainingTokenTable.hash))


def _shrink(number: int) -> Select:
    seen = TrainingTokenTable.spam + TrainingTokenTable.good
    rarest = TrainingTokenTable.select(TrainingTokenTable.hash).order_by(seen).limit(number)
    return TrainingTokenTable.delete().where(TrainingTokenTable.hash.in_(rarest))


@prepared
def _version() -> Select:
    return TrainingTotalTable.select(TrainingTotalTable.version)


def _odds(spam: int, good: int) -> Select:
    """Return the query for the odds of each word, for so many spam and good comments.

    G. Robinson, "A Statistical Approach to the Spam Problem", Linux Journal 107 (2003): the odds
    are the share of spam among the comments with the word, as if there were equally many spam and
    good comments. One imagined comment with even odds is added, so that a word seen once has little
    weight.
    """
    seen = TrainingTokenTable.spam + TrainingTokenTable.good
    in_spam = TrainingTokenTable.spam.cast("DOUBLE PRECISION") / spam
    in_good = TrainingTokenTable.good.cast("DOUBLE PRECISION") / good
    odds = (0.5 + seen * in_spam / (in_spam + in_good)) / (1 + seen)
    return TrainingTokenTable.select(TrainingTokenTable.hash, odds).where(
        seen > 0, fn.ABS(odds - 0.5) >= DOUBT
    )


def update(tx: Transaction, ids: Iterable[int]) -> None:
    """Let each of the comments `ids` teach what the last decision on it says, and nothing else."""
    counts: dict[str, Counter[int]] = {kind: Counter() for kind in KINDS}
    taught = Counter[str]()
    learned = 0
    for comment_id in ids:
        [(author, site, source, became, kind, words)] = tx.query(_decided, comment_id)
        if became == kind:
            continue
        if kind:
            tx.change(_forget, comment_id)
            counts[kind].subtract(struct.unpack(f"<{len(words) // 4}I", words))
            taught[kind] -= 1
        if became in KINDS and learned < LEARNED:
            _remember(tx, comment_id, became, tokens(author, site, source).keys(), counts)
            taught[became] += 1
            learned += 1
    _count(tx, counts, taught)


def learn(tx: Transaction, label: str, ids: Iterable[int]) -> int:
    """Let the comments `ids`, which have no decision, teach what `label` says.

    Return how many did: at most `LEARNED`, and none that has taught before.
    """
    counts: dict[str, Counter[int]] = {kind: Counter() for kind in KINDS}
    taught = Counter[str]()
    for comment_id in ids:
        [(author, site, source, _, kind, _)] = tx.query(_decided, comment_id)
        if kind is None and taught[label] < LEARNED:
            _remember(tx, comment_id, label, tokens(author, site, source).keys(), counts)
            taught[label] += 1
    _count(tx, counts, taught)
    return taught[label]


def _remember(
    tx: Transaction,
    comment_id: int,
    label: str,
    numbers: Collection[int],
    counts: dict[str, Counter[int]],
) -> None:
    """Store the token numbers of a comment that teaches, and add them to `counts`."""
    tx.change(_teach, comment_id, label, struct.pack(f"<{len(numbers)}I", *numbers))
    counts[label].update(numbers)


def version(snapshot: Snapshot) -> int:
    """Return a number that changes whenever the training changes."""
    row = snapshot.first(_version)
    return row[0] if row else 0


def odds(snapshot: Snapshot) -> dict[int, float]:
    """Return the odds of spam, from 0 to 1, by the number of each significant word.

    Return {} if there are fewer than LEAST comments of either kind.
    """
    row = snapshot.first(
        TrainingTotalTable.select(TrainingTotalTable.spam, TrainingTotalTable.good)
    )
    if row is None or min(row) < LEAST:
        return {}
    return dict(snapshot.query(_odds(*row)))


def _count(tx: Transaction, counts: dict[str, Counter[int]], taught: Counter[str]) -> None:
    """Add the changes of all words and of the number of comments to the tables."""
    spam, good = counts[SPAM], counts[APPROVED]
    if not taught:
        return
    words = spam.keys() | good.keys()
    tx.change_each(_count_token, [(word, spam[word], good[word]) for word in words])
    tx.change(_count_comments, taught[SPAM], taught[APPROVED])
    [(number,)] = tx.query(_token_count)
    if number > WORDS:
        tx.change(_shrink(number - WORDS * 9 // 10))

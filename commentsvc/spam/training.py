"""Training: what moderators' decisions teach the filter, kept in step with them.

A comment whose last decision was to approve it, or to mark it as spam, trains the filter: of each
of its tokens (see `tokens`) one more is counted in good comments, or in spam. This is noted
with the tokens' numbers, in the decision's own transaction, so that undoing it, or deciding
otherwise, takes back just what was counted, whatever the comment says by then. What nobody has
decided on teaches nothing, so the filter never learns from its own verdicts. A comment that is
erased takes that note along, but what was learned stays, unless its author asked to be forgotten.
"""

import struct
from collections import Counter
from collections.abc import Collection, Iterable
from typing import Final

import msgspec

from commentsvc.db.sqlite import Reader, Transaction
from commentsvc.model import AKISMET, APPROVED, AUTHOR, SPAM
from commentsvc.spam.bayes import tokens

KINDS: Final = (SPAM, APPROVED)
WORDS: Final = 30_000  # that are kept: 1 MiB of the file, 3 MiB of memory
LEARNED: Final = 1_000  # comments of one act; more would hold up submissions
LEAST: Final = 10  # comments of both kinds, before which the filter says nothing
DOUBT: Final = 0.1  # a word nearer to even odds than that tells nothing

DECIDED: Final = (
    "SELECT c.author, c.author_site, c.source, (SELECT h.new FROM change AS h"  # noqa: S608 - a constant
    " WHERE h.comment_id = c.id AND h.field = 'status' AND h.undone_at IS NULL"
    f" AND h.actor NOT IN ('{AKISMET}', '{AUTHOR}') ORDER BY h.id DESC LIMIT 1), l.label, l.tokens"
    " FROM comment AS c LEFT JOIN training_comment AS l ON l.comment_id = c.id WHERE c.id = ?"
)
# Of all words with the same change of their counts: of a comment that is approved these are all.
COUNT: Final = (
    "INSERT INTO training_token (hash, spam, good) SELECT value, max(0, ?2), max(0, ?3) FROM"
    " json_each(?1)"
    " WHERE true ON CONFLICT (hash)"
    " DO UPDATE SET spam = max(0, spam + ?2), good = max(0, good + ?3)"
)
_COUNT_COMMENTS: Final = (
    "INSERT INTO training_total (id, spam, good, version) VALUES (1, ?1, ?2, 1) ON CONFLICT (id)"
    " DO UPDATE SET spam = spam + ?1, good = good + ?2, version = version + 1"
)
_SHRINK: Final = (
    "DELETE FROM training_token WHERE hash IN (SELECT hash FROM training_token ORDER BY spam +"
    " good LIMIT ?)"
)
# G. Robinson, "A Statistical Approach to the Spam Problem", Linux Journal 107 (2003): of a word the
# share of spam among what had it, as if spam and good comments were equally many, drawn to even
# odds by one imagined comment, so that a word seen once is not believed much.
ODDS: Final = (
    "SELECT hash, odds FROM (SELECT hash, (0.5 + (spam + good) * (spam / ?1)"
    " / (spam / ?1 + good / ?2)) / (1 + spam + good) AS odds FROM training_token WHERE spam +"
    " good > 0)"
    " WHERE abs(odds - 0.5) >= ?3"
)


def update(tx: Transaction, ids: Iterable[int]) -> None:
    """Let the comments `ids` teach what the last decision on each says, and nothing else."""
    counts: dict[str, Counter[int]] = {kind: Counter() for kind in KINDS}
    taught = Counter[str]()
    learned = 0
    for comment_id in ids:
        [(author, site, source, became, kind, words)] = tx.execute(
            DECIDED, (comment_id,)
        ).fetchall()
        if became == kind:
            continue
        if kind:
            tx.execute("DELETE FROM training_comment WHERE comment_id = ?", (comment_id,))
            counts[kind].subtract(struct.unpack(f"<{len(words) // 4}I", words))
            taught[kind] -= 1
        if became in KINDS and learned < LEARNED:
            _remember(tx, comment_id, became, tokens(author, site, source).keys(), counts)
            taught[became] += 1
            learned += 1
    _count(tx, counts, taught)


def learn(tx: Transaction, label: str, ids: Iterable[int]) -> int:
    """Let the comments `ids`, which nobody here decided on, teach what `label` says.

    Return how many did: at most `LEARNED`, and none that has taught before.
    """
    counts: dict[str, Counter[int]] = {kind: Counter() for kind in KINDS}
    taught = Counter[str]()
    for comment_id in ids:
        [(author, site, source, _, kind, _)] = tx.execute(DECIDED, (comment_id,)).fetchall()
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
    """Note the words of a comment that teaches, and add them to `counts`."""
    tx.execute(
        "INSERT INTO training_comment (comment_id, label, tokens) VALUES (?, ?, ?)",
        (comment_id, label, struct.pack(f"<{len(numbers)}I", *numbers)),
    )
    counts[label].update(numbers)


def version(reader: Reader) -> int:
    """A number that changes whenever something was taught or taken back."""
    row = reader.execute("SELECT version FROM training_total").fetchone()
    return row[0] if row else 0


def odds(reader: Reader) -> dict[int, float]:
    """For the number of each word that tells something: the odds of spam, from 0 to 1.

    Empty where there were fewer than LEAST comments of either kind.
    """
    row = reader.execute("SELECT spam, good FROM training_total").fetchone()
    if row is None or min(row) < LEAST:
        return {}
    return dict(reader.execute(ODDS, (float(row[0]), float(row[1]), DOUBT)).fetchall())


def _count(tx: Transaction, counts: dict[str, Counter[int]], taught: Counter[str]) -> None:
    """Write down how many comments more, or fewer, of each kind have each word."""
    spam, good = counts[SPAM], counts[APPROVED]
    if not taught:
        return
    words: dict[tuple[int, int], list[int]] = {}
    for word in spam.keys() | good.keys():
        words.setdefault((spam[word], good[word]), []).append(word)
    for change, alike in words.items():
        tx.execute(COUNT, (msgspec.json.encode(alike).decode(), *change))
    tx.execute(_COUNT_COMMENTS, (taught[SPAM], taught[APPROVED]))
    [(number,)] = tx.execute("SELECT count(*) FROM training_token").fetchall()
    if number > WORDS:
        tx.execute(_SHRINK, (number - WORDS * 9 // 10,))

"""Bayes: how much a comment resembles what moderators called spam, by its words.

DESIGN. P. Graham's filter ("A Plan for Spam", 2002) as G. Robinson mended it (see `lessons`, which
counts the words). The odds of a comment's words are combined by Fisher's method: if they had come
up by chance, minus twice the logarithm of their product would be spread as chi-square with two
degrees of freedom for each word. That is asked for spam and for its contrary, and the difference
says how sure we are. Words are not independent of each other, so it is surer than it should be, and
only next to certainty it says so.

It speaks only after moderators have taught it, and it is the one layer that may file a comment as
spam by itself: they said so of its like. It may also take doubt away, a little.

Here nothing is counted: the odds are in memory, and a comment costs a look-up for each word.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Final

from commentsvc.comments.submission import Submission
from commentsvc.spam import score
from commentsvc.spam.score import Signal
from commentsvc.spam.tokens import tokens

STRONGEST: Final = 40  # words of a comment that count, those farthest from even odds
SHOWN: Final = 5  # of these, for the moderator
CERTAIN, LIKELY, GOOD = 0.999, 0.95, 0.02


class Bayes:
    """The filter; `odds` are those of `lessons.odds`, replaced as a whole."""

    def __init__(self) -> None:
        self.odds: Mapping[int, float] = {}

    def score(self, submission: Submission) -> list[Signal]:
        """Say what the words of a submission tell, if anything."""
        odds = self.odds
        if not odds:
            return []
        words = tokens(submission.author, submission.site, submission.message)
        known = [(odds[number], word) for number, word in words.items() if number in odds]
        known.sort(key=lambda pair: -abs(pair[0] - 0.5))
        del known[STRONGEST:]
        sure = spamminess([each for each, _ in known])
        if sure >= LIKELY:
            points = score.LIKE_SPAM if sure >= CERTAIN else score.RATHER_LIKE_SPAM
            shown = ", ".join([word for each, word in known if each > 0.5][:SHOWN])
            return [Signal(points, f"like what was marked as spam: {shown}")]
        if sure <= GOOD:
            shown = ", ".join([word for each, word in known if each < 0.5][:SHOWN])
            return [Signal(score.LIKE_APPROVED, f"like what was approved: {shown}")]
        return []


def spamminess(odds: Sequence[float]) -> float:
    """Combine the odds of words: 1 is surely spam, 0 surely not.

    0.5 where they are none, or contradict each other. They are at most STRONGEST, each between
    10^-7 and 1 - 10^-7, so that no product vanishes.
    """
    spam_like = _chance(-2 * math.log(math.prod(odds)), len(odds))
    good_like = _chance(-2 * math.log(math.prod([1 - each for each in odds])), len(odds))
    return (1 + spam_like - good_like) / 2


def _chance(square: float, pairs: int) -> float:
    """The chance that chi-square with two degrees of freedom for each of `pairs` is above `square`.

    That is e^-m (1 + m + m²/2! + …) with m half of it, so many terms.
    """
    half = square / 2
    total = term = math.exp(-half)
    for number in range(1, pairs):
        term *= half / number
        total += term
    return min(total, 1.0) if pairs else 1.0

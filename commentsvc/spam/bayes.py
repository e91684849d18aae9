"""The Bayesian filter: how much a comment resembles what moderators marked as spam, by its words.

It is P. Graham's filter ("A Plan for Spam", 2002) with G. Robinson's changes; `training` counts the
words. Fisher's method combines the odds of a comment's words: if the words had come up by chance,
minus twice the logarithm of the product of their odds would follow a chi-square distribution with
two degrees of freedom for each word. This is computed for spam and for its contrary; the difference
says how sure the filter is. Words are not independent of each other, so the filter is surer than it
should be, and only speaks up close to certainty.

It says nothing before moderators have trained it, and it is the one check that may file a comment
as spam by itself: moderators said so of similar comments. It may also take away a little doubt.

A token is a word as it is read (NFKC, without case); Chinese and Japanese, which are written
without spaces, give pairs of signs. Where a word stands tells more than the word alone (P. Graham,
"Better Bayesian Filtering", 2003), so words of the name, hosts of links and their top-level domains
are counted separately. Only a number is kept of a token, so that no table is full of readers'
words; two tokens seldom share a number.

Nothing is counted here: the odds are in memory, and a comment costs one look-up for each word.
"""

import math
import re
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Final
from zlib import crc32

from commentsvc.comments.submission import Submission
from commentsvc.spam import score
from commentsvc.spam.score import Signal
from commentsvc.util.text import fold

MOST: Final = 150  # tokens of a comment that count; a usual one has 30
LONGEST: Final = 24  # signs of a word; what is longer is cut

_SIGNS = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_WORD: Final = re.compile(rf"[{_SIGNS}]{{1,2}}|[^\W_{_SIGNS}]{{2,{LONGEST}}}").findall
_ASCII_WORD: Final = re.compile(rf"[a-z0-9]{{2,{LONGEST}}}").findall
_LINK: Final = re.compile(r"https?://([^\s/?#:\"'<>()\[\]]{1,253})[^\s\"'<>()\[\]]*").findall
_LINKS: Final = re.compile(r"https?://[^\s\"'<>()\[\]]*").sub


def tokens(author: str, site: str, text: str) -> dict[int, str]:
    """Return the tokens of a comment with their 32-bit numbers, equal in all processes."""
    words = fold(text)
    found = [f"name:{word}" for word in _words(fold(author))]
    if site or "://" in words:
        for host in _LINK(f"{fold(site)} {words}")[:MOST]:
            found += (f"link:{host[-LONGEST:]}", f"link:*.{host.rpartition('.')[2][:LONGEST]}")
        words = _LINKS(" ", words)
    found += _words(words)
    few = islice(dict.fromkeys(found), MOST)
    return {crc32(token.encode(errors="replace")): token for token in few}


def _words(plain: str) -> list[str]:
    """Return the words of a plain text; the pattern that knows ASCII alone is twice as fast."""
    words: list[str] = (_ASCII_WORD if plain.isascii() else _WORD)(plain)
    return words


STRONGEST: Final = 40  # words of a comment that count, those farthest from even odds
SHOWN: Final = 5  # of these, for the moderator
CERTAIN, LIKELY, GOOD = 0.999, 0.95, 0.02


class Bayes:
    """The filter; `odds` are those of `training.odds`, replaced as a whole."""

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
            return [Signal(points, "like-spam", shown)]
        if sure <= GOOD:
            shown = ", ".join([word for each, word in known if each < 0.5][:SHOWN])
            return [Signal(score.LIKE_APPROVED, "like-approved", shown)]
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
    """Return the probability that chi-square of 2 * `pairs` degrees of freedom exceeds `square`.

    That is e^-m (1 + m + m²/2! + …) with m half of it, so many terms.
    """
    half = square / 2
    total = term = math.exp(-half)
    for number in range(1, pairs):
        term *= half / number
        total += term
    return min(total, 1.0) if pairs else 1.0

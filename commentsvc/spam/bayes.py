"""The Bayesian filter: how much the words of a comment resemble those of known spam.

It is P. Graham's filter ("A Plan for Spam", 2002) with G. Robinson's changes; `training` counts the
words. Fisher's method combines the odds of a comment's words: if the words were chosen by chance,
minus twice the logarithm of the product of their odds would follow a chi-square distribution with
two degrees of freedom for each word. This is computed for spam and for its opposite; the difference
is the certainty of the filter. Since words are not independent of each other, it is more certain
than it should be, so it gives a signal only close to certainty.

The filter says nothing before moderators have trained it. Beside bans, it is the only check that
may file a comment as spam alone, because moderators did so with similar comments. It may also
reduce a score a little.

A token is a word after normalisation (NFKC, without case). Chinese and Japanese, which have no
spaces between words, give pairs of characters. The position of a word tells more than the word
alone (P. Graham, "Better Bayesian Filtering", 2003), so words of the name, hosts of links and their
top-level domains are separate tokens. Only a number is stored for each token, so that the database
holds no list of readers' words; two tokens rarely have the same number.

This module counts nothing: the odds are in memory, and a comment costs one look-up for each word.
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

MOST: Final = 150  # tokens of a comment that are used; a usual comment has 30
LONGEST: Final = 24  # characters of a word; longer words are cut

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
    """Return the words of a text; for ASCII alone, a pattern that is twice as fast is used."""
    words: list[str] = (_ASCII_WORD if plain.isascii() else _WORD)(plain)
    return words


STRONGEST: Final = 40  # words of a comment that are used, those farthest from even odds
SHOWN: Final = 5  # of these, how many are shown to the moderator
CERTAIN, LIKELY, GOOD = 0.999, 0.95, 0.02


class Bayes:
    """The filter; `odds` are the result of `training.odds`, replaced as a whole."""

    def __init__(self) -> None:
        self.odds: Mapping[int, float] = {}

    def score(self, submission: Submission) -> list[Signal]:
        """Return the signals of a submission's words, if any."""
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
    """Combine the odds of words; return 1 for certain spam, 0 for the opposite.

    Return 0.5 if there are no words, or if they contradict each other. There are at most STRONGEST,
    each between 10^-7 and 1 - 10^-7, so that no product becomes 0.
    """
    spam_like = _chance(-2 * math.log(math.prod(odds)), len(odds))
    good_like = _chance(-2 * math.log(math.prod([1 - each for each in odds])), len(odds))
    return (1 + spam_like - good_like) / 2


def _chance(square: float, pairs: int) -> float:
    """Return the probability that chi-square of 2 * `pairs` degrees of freedom exceeds `square`.

    That is e^-m (1 + m + m²/2! + …), with m half of `square` and as many terms as `pairs`.
    """
    half = square / 2
    total = term = math.exp(-half)
    for number in range(1, pairs):
        term *= half / number
        total += term
    return min(total, 1.0) if pairs else 1.0

"""Text rules: signals from the text of a comment alone: links, words, scripts.

The rules come from the settings, and each can be off. They read the text as it was typed, in linear
time, however many words are unwanted. A word matches as a whole word, ignoring case and width
(NFKC), so that a rule against "casino" matches "ＣＡＳＩＮＯ" but not "casinos". Only the script of
a text is checked, not its language: a few words are not enough to distinguish English from Dutch,
and a wrong guess would hold comments.
"""

import re
import unicodedata
from collections import Counter
from functools import lru_cache
from itertools import pairwise

from commentsvc.comments.submission import Submission
from commentsvc.spam import score
from commentsvc.spam.score import Signal
from commentsvc.util.text import fold

SAMPLE = 500  # characters whose scripts are counted
LETTERS = 10  # fewer are ignored: they may be a name, a formula, an exclamation

_TOKENS = re.compile(r"\w+|\W")
_NO_WORD_BEFORE, _NO_WORD_AFTER = re.compile(r"(?<!\w)"), re.compile(r"(?!\w)")

# Names of scripts for which Unicode names of letters begin with another word.
_SCRIPTS = {"cjk": "han", "hiragana": "kana", "katakana": "kana"}


class TextRules:
    """The rules of the settings."""

    def __init__(self, links: int, words: tuple[str, ...], scripts: tuple[str, ...]) -> None:
        """Take the number of links without points (0: any), the words, and the readers' scripts."""
        self._links = links
        self._scripts = frozenset(scripts)
        self._words = frozenset(map(fold, words))
        # For each first token of a word: the numbers of tokens that words have after it.
        self._sizes: dict[str, frozenset[int]] = {}
        for word in self._words:
            first, *others = _TOKENS.findall(word)
            self._sizes[first] = self._sizes.get(first, frozenset()) | {1 + len(others)}

    def check(self, submission: Submission, links: int) -> list[Signal]:
        """Return the signals of a submission whose message has so many `links`."""
        signals = []
        if self._links and links > self._links:
            signals.append(Signal(score.MANY_LINKS, "links", str(links)))
        if self._words:
            texts = (submission.author, submission.site, submission.message)
            if found := self._first_word(fold("\n".join(texts))):
                signals.append(Signal(score.WORD, "word", found))
        if self._scripts and (script := self._foreign(submission.message)):
            signals.append(Signal(score.FOREIGN_SCRIPT, "script", script))
        return signals

    def _first_word(self, text: str) -> str:
        """Return the first unwanted word in a folded text, "" if there is none."""
        starts = [token.start() for token in _TOKENS.finditer(text)]
        starts.append(len(text))
        for number, (start, end) in enumerate(pairwise(starts)):
            for size in self._sizes.get(text[start:end], ()):
                last = starts[min(number + size, len(starts) - 1)]
                if (
                    (word := text[start:last]) in self._words
                    and _NO_WORD_BEFORE.match(text, start)
                    and _NO_WORD_AFTER.match(text, last)
                ):
                    return word
        return ""

    def _foreign(self, message: str) -> str:
        """Return the main script if less than half of the letters are in allowed scripts."""
        scripts = Counter(filter(None, map(_script, message[:SAMPLE])))
        if scripts.total() < LETTERS:
            return ""
        known = sum(count for script, count in scripts.items() if script in self._scripts)
        return "" if 2 * known >= scripts.total() else scripts.most_common(1)[0][0]


@lru_cache(maxsize=4_096)
def _script(letter: str) -> str:
    """Return a letter's script, `""` for other characters."""
    if not letter.isalpha():
        return ""
    first = unicodedata.name(letter, "").partition(" ")[0].lower()
    return _SCRIPTS.get(first, first)

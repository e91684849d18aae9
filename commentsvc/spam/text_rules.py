"""Text rules: signals from the text of a comment alone: links, words, scripts.

The rules come from the settings, and each can be off. They read the text as it was typed, in linear
time. A word matches as a whole word, ignoring case and width (NFKC), so that a rule against
"casino" matches "ＣＡＳＩＮＯ" but not "casinos". Only the script of a text is checked, not its
language: a few words are not enough to distinguish English from Dutch, and a wrong guess would hold
comments.
"""

import re
import unicodedata
from collections import Counter
from functools import lru_cache

from commentsvc.comments.submission import Submission
from commentsvc.spam import score
from commentsvc.spam.score import Signal
from commentsvc.util.text import fold

SAMPLE = 500  # characters whose scripts are counted
LETTERS = 10  # fewer are ignored: they may be a name, a formula, an exclamation

# Names of scripts for which Unicode names of letters begin with another word.
_SCRIPTS = {"cjk": "han", "hiragana": "kana", "katakana": "kana"}


class TextRules:
    """The rules of the settings."""

    def __init__(self, links: int, words: tuple[str, ...], scripts: tuple[str, ...]) -> None:
        """Take the number of links without points (0: any), the words, and the readers' scripts."""
        self._links = links
        self._scripts = frozenset(scripts)
        self._word = None
        if words:
            any_word = "|".join(re.escape(fold(word)) for word in words)
            self._word = re.compile(rf"(?<!\w)(?:{any_word})(?!\w)")

    def check(self, submission: Submission, links: int) -> list[Signal]:
        """Return the signals of a submission whose message has so many `links`."""
        signals = []
        if self._links and links > self._links:
            signals.append(Signal(score.MANY_LINKS, "links", str(links)))
        if self._word:
            texts = (submission.author, submission.site, submission.message)
            if found := self._word.search(fold("\n".join(texts))):
                signals.append(Signal(score.WORD, "word", found[0]))
        if self._scripts and (script := self._foreign(submission.message)):
            signals.append(Signal(score.FOREIGN_SCRIPT, "script", script))
        return signals

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

"""Text rules: what the text of a comment tells by itself: links, words, scripts.

Rules are the operator's, and each can be off. They look at text as it was typed, in
linear time. A word matches as a whole word in any case and width (NFKC), so that a rule against
"casino" meets "ＣＡＳＩＮＯ" but no "casinos". A language is told by its script alone: a few words
are too little to tell English from Dutch, and a guess would hold people.
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
LETTERS = 10  # fewer tell nothing: a name, a formula, an exclamation

# Scripts whose letters have another first word in their Unicode names.
_SCRIPTS = {"cjk": "han", "hiragana": "kana", "katakana": "kana"}


class TextRules:
    """The rules of the settings."""

    def __init__(self, links: int, words: tuple[str, ...], scripts: tuple[str, ...]) -> None:
        """Take how many links are no doubt (0: any), unwanted words, and the readers' scripts."""
        self._links = links
        self._scripts = frozenset(scripts)
        self._word = None
        if words:
            any_word = "|".join(re.escape(fold(word)) for word in words)
            self._word = re.compile(rf"(?<!\w)(?:{any_word})(?!\w)")

    def check(self, submission: Submission, links: int) -> list[Signal]:
        """Look at a submission whose message has so many `links`."""
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
        """Return the script of most letters where none of the readers' has half of them."""
        scripts = Counter(filter(None, map(_script, message[:SAMPLE])))
        if scripts.total() < LETTERS:
            return ""
        known = sum(count for script, count in scripts.items() if script in self._scripts)
        return "" if 2 * known >= scripts.total() else scripts.most_common(1)[0][0]


@lru_cache(maxsize=4_096)
def _script(letter: str) -> str:
    """Return a letter's script, `""` for all that is no letter."""
    if not letter.isalpha():
        return ""
    first = unicodedata.name(letter, "").partition(" ")[0].lower()
    return _SCRIPTS.get(first, first)

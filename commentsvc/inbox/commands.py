"""Commands: what a moderator wants who answers the mail about a comment.

The first line decides. A command there counts whatever stands below it, since that may be a
signature, or what a program quotes in a way that `reply_text` does not know. A yes or a thanks of a
few words is no answer that a page needs: it approves the comment and is not published. So nobody
reads an "ok" on the page because the program of its sender was unknown. One word that is not known
may be a yes or a no in any language, so it is held; so are "ok boss" and "not ok".
"""

import re
import unicodedata
from enum import Enum
from itertools import takewhile
from typing import Final, NamedTuple

from commentsvc.inbox.phrases import (
    AGREES,
    APPROVALS,
    BESIDE,
    NEGATIONS,
    REFUSES,
    REMOVES,
    THANKS,
)
from commentsvc.model import APPROVED, DELETED, SPAM

COMMANDS: Final = {
    "": APPROVED,
    "ok": APPROVED,
    "okay": APPROVED,
    "o k": APPROVED,
    "y": APPROVED,
    "no": DELETED,
    "delete": DELETED,
    "spam": SPAM,
    "sp": SPAM,  # in Stacosys' mails
}
THANKS_LENGTH: Final = 4  # words
_KNOWN: Final = AGREES | BESIDE | REFUSES
# Several of these words in a script that puts no spaces between them.
_WITHOUT_SPACES: Final = re.compile(
    "(?:"
    + "|".join(
        sorted(
            (
                re.escape(word)
                for word in AGREES | BESIDE
                if re.match("[\u0e00-\u0e7f\u3040-\u9fff]", word)
            ),
            key=len,
            reverse=True,
        )
    )
    + "){1,6}"
).fullmatch
# More characters than one word has in such a script.
_SENTENCE: Final = re.compile("[\u0e00-\u0e7f\u3040-\u9fff]{8,}").fullmatch
_PAUSE: Final = re.compile(r"[,;.:!?…–—،؛。！？、，](?=.*\w)").search
_JOINERS: Final = re.compile("[\u200b-\u200f\ufe0e\ufe0f\U0001f3fb-\U0001f3ff]")
_LINE_LENGTH: Final = 80  # characters of a signature's line
_LINES: Final = 8  # of a signature
_WORDS: Final = 8  # of a signature's line
_CONTACT: Final = re.compile(r"\S@\S+\.\w|\bwww\.|https?://|(?:\d[\d ()/.-]{5,}\d)").search
_ASKS: Final = re.compile(r"[?？؟][\s!?！？؟.…]*$").search
_ENDS_SENTENCE: Final = (".", "!", "?", "…", "。", "！", "？", "؟", "।", ":", "：")


class Wish(Enum):
    """What is to be done with a text besides what the command says."""

    NOTHING = "nothing"
    PUBLISH = "publish"
    HOLD = "hold"


class Meaning(NamedTuple):
    """The status that a comment gets, "" for none, and what is to be done with the text."""

    status: str
    text: Wish


def meaning(words: str) -> Meaning:
    """Return what the words of a moderator's answer mean."""
    first, _, rest = words.strip().partition("\n")
    said = _words(first)
    asks = _ASKS(first)
    command = COMMANDS.get(" ".join(said)) if len(said) <= 2 else None
    if command is not None and (said or not words.strip()):
        if asks or (command == DELETED and said == ["no"] and not _is_signature(rest)):
            return Meaning("", Wish.HOLD)  # it may be the first word of an answer
        return Meaning(command, Wish.NOTHING)
    if len(said) > THANKS_LENGTH:
        return Meaning("", Wish.PUBLISH)
    approves = bool(said) and (" ".join(said) in APPROVALS or _is_thanks(first, said))
    is_known = bool(said) and all(word in _KNOWN or _WITHOUT_SPACES(word) for word in said)
    if not (approves or is_known):
        is_word = len(said) < 2 and not any(map(_SENTENCE, said))
        is_uncertain = (is_word or _is_near_command(said)) and _is_signature(rest)
        return Meaning("", Wish.HOLD if is_uncertain or wants_removal(words) else Wish.PUBLISH)
    if asks or (not approves and not REFUSES.isdisjoint(said)):
        return Meaning("", Wish.HOLD)
    if not approves and all(word in BESIDE for word in said):
        return Meaning("", Wish.PUBLISH)
    return Meaning(APPROVED, Wish.NOTHING) if _is_signature(rest) else Meaning("", Wish.HOLD)


def _is_near_command(said: list[str]) -> bool:
    """Return whether words may be a command: one and a word beside it, or a yes and a no."""
    return (len(said) == 2 and said[0] in COMMANDS) or not (
        NEGATIONS.isdisjoint(said) or AGREES.isdisjoint(said)
    )


def wants_removal(words: str) -> bool:
    """Return whether a short text asks to remove something: "this is spam", "unsubscribe"."""
    first, _, rest = words.strip().partition("\n")
    said = _words(first)
    is_short = len(said) <= THANKS_LENGTH and not REMOVES.isdisjoint(said)
    return is_short and _is_signature(rest)


def _is_thanks(line: str, said: list[str]) -> bool:
    """Return whether a line is a thanks, with nothing but a name after a comma."""
    if said[0] not in THANKS and not (said[0] in BESIDE and [*said, ""][1] in THANKS):
        return False
    pause = _PAUSE(line)
    names = re.findall(r"\w+", line[pause.end() :]) if pause else ()
    return all(word[0].isupper() or word.casefold() in _KNOWN for word in names)


def _words(line: str) -> list[str]:
    """Return the words of a line in lower case; each symbol is one."""
    text = _JOINERS.sub("", unicodedata.normalize("NFC", line[:400])).casefold()
    spaced = (
        f" {sign} " if kind == "So" else " " if kind[0] in "PSZC" and sign not in "'’" else sign
        for sign, kind in ((each, unicodedata.category(each)) for each in text)
    )
    return "".join(spaced).split()


def _is_signature(text: str) -> bool:
    """Return whether the lines below a command look like a signature, not like sentences."""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    head = [*takewhile(is_line_of_signature, lines)]
    if len(head) > 1 and _CONTACT("\n".join(head)):  # sentences below are a disclaimer
        return True
    return len(lines) <= _LINES and all(map(is_line_of_signature, lines))


def is_line_of_signature(line: str) -> bool:
    """Return whether a line looks like one of a signature, not like a sentence."""
    words = line.split()
    if len(line) > _LINE_LENGTH or len(words) > _WORDS:
        return False
    begins_low = line[0].islower() and not re.search(r"[\d@/]|\w\.\w", line)
    return len(words) < 2 or not (begins_low or line.endswith(_ENDS_SENTENCE))

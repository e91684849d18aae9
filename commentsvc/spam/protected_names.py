"""Protected names: comments under a moderator's name, or one that looks like it, wait.

A comment with such a name or address waits for a moderator, whatever the policy; its author may
really have that name. The names are those of the accounts and of the settings. They are few and
every submission needs them, so they are kept in memory; they are updated as in `spam.bans`.

Two texts look alike if their skeletons are equal (after UTS #39, section 4): letters that look
alike become one letter; case, marks and everything except letters and digits are removed. For names
such as "Ann (owner)" and "Ann | Owner", each part is compared too.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Final

from commentsvc.comments.submission import avatar
from commentsvc.db.schema.comments import ModeratorTable
from commentsvc.db.sqlite import Reader
from commentsvc.model import MODERATORS_TAG, is_purged
from commentsvc.settings.schema import Settings
from commentsvc.spam.score import Signal
from commentsvc.util.text import one_line

REMEMBERED: Final = 1_024  # cached texts that are not ASCII; their skeletons take some microseconds

# The skeleton of ASCII: i, l, 1 and | look alike, and o and 0; other punctuation is removed.
_ASCII: Final = bytes.maketrans(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZi1|0", b"abcdefghljklmnopqrstuvwxyzlllo"
)
_SIGNS: Final = bytes(code for code in range(128) if not chr(code).isalnum() and code != ord("|"))
# What separates the parts of a name, but not within names such as Jean-Luc or O'Neil.
_SEPARATOR: Final = re.compile(r"[^\w\s'’.-]+|\s-+\s|--+")
_LETTER: Final = re.compile(
    r"(?:LATIN LETTER SMALL CAPITAL|REGIONAL INDICATOR SYMBOL LETTER"
    r"|NEGATIVE (?:CIRCLED|SQUARED) LATIN CAPITAL LETTER) ([A-Z])"
)
_LETTER_BLOCKS: Final = ((0x1D00, 0x1D80), (0x250, 0x2B0), (0xA730, 0xA7FF), (0x1F150, 0x1F200))


def looks(name: str) -> tuple[str, ...]:
    """Return the skeletons of a name and of its parts."""
    if name.replace(" ", "").isalnum() or not _SEPARATOR.search(name):
        return skeletons(name)
    parts = [part for part in _SEPARATOR.split(name) if part.strip()]
    return tuple(each for part in (name, *parts) for each in skeletons(part))


def skeletons(text: str) -> tuple[str, ...]:
    """Return the skeletons of `text`: two texts with a common skeleton look alike."""
    if text.isascii():
        return (_ascii_skeleton(text) or text,)
    return _skeletons(text)


class ProtectedNames:
    """The protected names and addresses in memory, for the check of submissions."""

    def __init__(self, settings: Settings) -> None:
        """Take the names of the settings; `load` adds those of the accounts."""
        self._given = (*settings.moderation.protected_names, *settings.mail.moderators)
        self._stale = True
        self._names: dict[str, str] = {}  # a protected text by its skeletons
        self._avatars: frozenset[str] = frozenset()

    def forget(self, tags: Sequence[str]) -> None:
        """Mark the names as stale if `tags` mean MODERATORS_TAG; any thread may call this."""
        if is_purged(MODERATORS_TAG, tags):
            self._stale = True

    def is_current(self) -> bool:
        """Return whether `load` is not needed."""
        return not self._stale

    def load(self, reader: Reader) -> None:
        """Load the names and addresses of the accounts."""
        self._stale = False  # before the read, so that a change during it makes them stale again
        rows = reader.query(
            ModeratorTable.select(
                ModeratorTable.name, ModeratorTable.public_name, ModeratorTable.email
            )
        )
        texts = [text for row in rows for text in row if text]
        texts += self._given
        self._names = {each: text for text in reversed(texts) for each in skeletons(text)}
        self._avatars = frozenset(avatar(text) for text in texts if "@" in text)

    def check(self, author: str, email: str, avatar: str) -> Signal | None:
        """Return a signal if an author is protected; `avatar` is the digest of an address."""
        names = self._names
        if not names:
            return None
        for look in looks(author):
            if look in names:
                return Signal(0, "protected-name", one_line(names[look]))
        if avatar in self._avatars or any(look in names for look in skeletons(email)):
            return Signal(0, "protected-address")
        return None


def _ascii_skeleton(text: str) -> str:
    letters = text.encode().translate(_ASCII, _SIGNS)
    return letters.replace(b"rn", b"m").replace(b"vv", b"w").decode()


@lru_cache(REMEMBERED)
def _skeletons(text: str) -> tuple[str, ...]:
    """Return the skeletons of upper and lower case, since these may look like different letters."""
    plain = unicodedata.normalize("NFKC", text)
    return tuple({_skeleton(plain.casefold()) or text, _skeleton(plain) or text})


def _skeleton(text: str) -> str:
    for _ in range(2):  # a look-alike may be in upper case
        text = unicodedata.normalize("NFD", text).translate(_prototypes()).casefold()
    text = unicodedata.normalize("NFD", text)
    return _ascii_skeleton("".join(letter for letter in text if letter.isalnum() or letter == "|"))


@cache
def _prototypes() -> dict[int, str]:
    """Return a map from each letter that is not ASCII to the letter that it looks like.

    The table has 1 MB and is rarely needed, so it is read at the first use.
    """
    from confusable_homoglyphs import confusables  # type: ignore[import-untyped]  # it has none

    found: dict[int, str] = {}
    for text, others in confusables.confusables_data.items():
        # The prototype is listed with all its look-alikes, each of these with the prototype alone.
        alike = sorted({text, *(other["c"] for other in others)}, key=_simplicity)
        for letter in alike:
            letter = letter.strip("\u200e\u200f")
            if len(letter) == 1 and not letter.isascii():
                found.setdefault(ord(letter), alike[0])
    for first, last in _LETTER_BLOCKS:
        for code in range(first, last):
            if named := _LETTER.fullmatch(unicodedata.name(chr(code), "")):
                found[code] = named[1].lower()
    return found


def _simplicity(text: str) -> tuple[bool, int, str]:
    return (not text.isascii(), len(text), text)

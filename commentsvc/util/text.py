"""Texts from others: decode, parse whole numbers, make one visible line, fold for comparison."""

import codecs
import re
import unicodedata
from html import unescape
from typing import Final


def whole_number(text: str) -> int | None:
    """Return the number in a text of at most 18 digits, which SQLite can store; otherwise None."""
    return int(text) if _WHOLE(text) else None


# Control characters, bidirectional controls, zero-width and blank characters, and tags. The joiners
# U+200C and U+200D are not among them: Persian, Indic scripts and emoji need them.
_INVISIBLE_RANGES = (
    *((0x00, 0x1F), (0x7F, 0x9F), (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160)),
    *((0x17B4, 0x17B5), (0x180E, 0x180E), (0x200B, 0x200B), (0x200E, 0x200F), (0x202A, 0x202E)),
    *((0x2060, 0x206F), (0x2800, 0x2800), (0x3164, 0x3164), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0)),
    *((0xFFF9, 0xFFFB), (0xE0000, 0xE007F)),
)
_INVISIBLE = dict.fromkeys(
    code for first, last in _INVISIBLE_RANGES for code in range(first, last + 1)
)
# Pattern of a visible character: `one_line` of a text that has one is not empty.
VISIBLE: Final = (
    r"[^\s" + "".join(f"{chr(first)}-{chr(last)}" for first, last in _INVISIBLE_RANGES) + "]"
)


def one_line(text: str) -> str:
    """Return `text` as one line, without control and invisible characters and runs of spaces."""
    if text.isascii() and text.isprintable() and "  " not in text:
        return text.strip()
    return " ".join(" ".join(text.split()).translate(_INVISIBLE).split())


def excerpt(html: str, length: int) -> str:
    """Return the beginning of HTML as one line of plain text, of at most `length` characters.

    The HTML may end anywhere, also within a tag. Only its beginning is read.
    """
    beginning = html[: length * READ_FOR_EACH]
    text = one_line(unescape(_TAG("", _END_OF_BLOCK(" ", beginning))))
    if len(text) <= length:
        return text
    return text[: length - 1].rsplit(" ", 1)[0].rstrip() + "…"


# Characters of HTML that an excerpt reads for each of its own; most of the HTML is no markup.
READ_FOR_EACH: Final = 20
_END_OF_BLOCK = re.compile(r"</(?:p|li|h[1-6]|t[dhr]|blockquote|pre|div)>|<br[^>]*>").sub
_TAG = re.compile(r"<[^>]*(?:>|$)").sub
_WHOLE = re.compile(r"[0-9]{1,18}").fullmatch


def fold(text: str) -> str:
    """Return `text` in NFKC and case-folded, for comparing texts."""
    return unicodedata.normalize("NFKC", text).casefold()


# Python decodes these in quadratic time, a minute for 1 MiB. They are for host names, not texts.
_FOR_NAMES: Final = ("punycode", "idna")


def decoded(data: bytes, charset: str, errors: str = "strict") -> str:
    """Return the text of `data` in the encoding that its sender names.

    Raise LookupError for one that is unknown or not for texts, and UnicodeError.
    """
    if codecs.lookup(charset).name in _FOR_NAMES:
        raise LookupError(charset)
    return data.decode(charset, errors)

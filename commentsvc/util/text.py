"""Texts from others: decoding, whole numbers, one line, addresses, marks, excerpts, comparison."""

import re
import unicodedata
from collections.abc import Iterable
from html import unescape
from typing import Final
from urllib.parse import unquote


def whole_number(text: str) -> int | None:
    """Return the number in a text of at most 18 digits, which SQLite can store; otherwise None."""
    return int(text) if _WHOLE(text) else None


# Control characters, bidirectional controls, zero-width and blank characters, and tags. The joiners
# U+200C and U+200D are not among them: Persian, Indic scripts and emoji need them.
_INVISIBLE_RANGES = (
    *((0x00, 0x1F), (0x7F, 0x9F), (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160)),
    *((0x17B4, 0x17B5), (0x180E, 0x180E), (0x200B, 0x200B), (0x200E, 0x200F), (0x202A, 0x202E)),
    *((0x2060, 0x206F), (0x2800, 0x2800), (0x3164, 0x3164), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0)),
    *((0xFFF9, 0xFFFB), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE007F)),
)
# A flag with tags, as those of England, Scotland and Wales (UTS 51, ED-14a); other tags.
_TAGS = re.compile("(\U0001f3f4[\U000e0030-\U000e007a]{3,6}\U000e007f)|[\U000e0000-\U000e007f]").sub
_INVISIBLE = dict.fromkeys(
    code for first, last in _INVISIBLE_RANGES[:-1] for code in range(first, last + 1)
)
# The joiners and variation selectors, which change the characters beside them, and show nothing.
_JOINING_RANGES = ((0x200C, 0x200D), (0xFE00, 0xFE0F), (0xE0100, 0xE01EF))
# Pattern of a visible character: `one_line` of a text that has one is not empty.
VISIBLE: Final = (
    r"[^\s"
    + "".join(f"{chr(low)}-{chr(high)}" for low, high in (*_INVISIBLE_RANGES, *_JOINING_RANGES))
    + "]"
)
_VISIBLE = re.compile(VISIBLE).search

# The most marks above and below one letter; Biblical Hebrew has up to five. More cover other lines.
MARKS: Final = 6
_MAY_BE_MARKS = re.compile(rf"[^\w\s!-~]{{{MARKS + 1},}}").sub
# Of Tibetan, letters below others count as marks, and stacks can be high. There is a bound for all:
# Python sorts what combines in quadratic time (UAX 15, D3, has the same number).
_TIBETAN = range(0xF00, 0x1000)
_STACK: Final = 30
_JOINERS = ("\u200c", "\u200d")  # a mark after one of these still belongs to the letter before
_ENCODED = re.compile("(?:%[89A-Fa-f][0-9A-Fa-f])+").sub  # letters outside of ASCII
_BLANK_LINES = re.compile(r"(?:[^\S\n]*\n)*").match


def readable_address(address: str, length: int) -> str:
    """Return an address for people, of at most `length` characters, with letters for their %XX.

    What could not be seen there, or would end the address, stays encoded.
    """

    def letters(found: re.Match[str]) -> str:
        text = unquote(found[0], errors="replace")
        return text if "\ufffd" not in text and one_line(f"/{text}/") == f"/{text}/" else found[0]

    return shortened(_ENCODED(letters, address), length)


def shortened(text: str, length: int) -> str:
    """Return a text of at most `length` characters, with "…" for what was cut."""
    return text if len(text) <= length else (text[: length - 1] + "…")[:length]


def is_visible(text: str) -> bool:
    """Return whether `text` has a character that can be seen."""
    return bool(_VISIBLE(text))


def one_line(text: str) -> str:
    """Return `text` as one line, without control and invisible characters and runs of spaces.

    It is "" if nothing in it can be seen, and has at most MARKS marks on a letter.
    """
    if text.isascii() and text.isprintable() and "  " not in text:
        return text.strip()
    shown = _TAGS(r"\1", " ".join(text.split())).translate(_INVISIBLE)
    line = " ".join(shown.split())
    return with_few_marks(line) if is_visible(line) else ""


def with_few_marks(text: str) -> str:
    """Return `text` with at most MARKS combining marks, which fonts stack, on a letter."""
    return text if text.isascii() else _MAY_BE_MARKS(_few_marks, text)


def _few_marks(found: re.Match[str]) -> str:
    letters = set(found[0])
    marks = {
        letter
        for letter in letters
        if unicodedata.category(letter) in ("Mn", "Me") or unicodedata.combining(letter)
    }
    if not marks:
        return found[0]
    if marks == letters and not any(ord(letter) in _TIBETAN for letter in letters):
        return found[0][:MARKS]  # what follows takes ten times as long
    kept, number = [], 0
    for letter in found[0]:
        if letter in marks:
            number += 1
        elif letter not in _JOINERS:
            number = 0
        if number <= MARKS or (number <= _STACK and ord(letter) in _TIBETAN):
            kept.append(letter)
    return "".join(kept)


def without_blank_lines(text: str) -> str:
    """Return `text`, whose lines end with LF, without the blank lines before and after it.

    The spaces before its first word stay: in Markdown they make a list or code.
    """
    beginning = _BLANK_LINES(text)
    assert beginning, "no blank line is a match, too"
    return text[beginning.end() :].rstrip()


def initial(name: str) -> str:
    """Return the first character of a name as people see it, which may be several code points.

    Those are its marks, joined emoji, and the two letters of a flag (UAX 29, roughly).
    """
    found = _INITIAL(name)
    return found[0] if found else ""


def hue(name: str) -> int:
    """Return the number of the colour for a name, from 0 to 11, as static/comments.js does."""
    degrees = 0
    for letter in name:
        degrees = (degrees * 31 + ord(letter)) % 360
    return degrees // 30


def excerpt(html: str, length: int) -> str:
    """Return the beginning of HTML as one line of plain text, of at most `length` characters.

    The HTML may end anywhere, also within a tag. Only its beginning is read, without footnotes.
    """
    return _cut(_plain(html[: length * READ_FOR_EACH]), length)


def passage(html: str, words: Iterable[str], length: int) -> str:
    """Return a part of HTML as `excerpt` does, but one in which the first of `words` occurs."""
    text = _plain(html)
    folded = text.lower()
    begin = min((at for word in words if (at := folded.find(word.lower())) >= 0), default=0)
    begin = min(begin - length // 4, len(text) - length)
    if begin > 0:
        text = "…" + (text[begin:].partition(" ")[2] or text[begin:])
    return _cut(text, length)


def _plain(html: str) -> str:
    text = _TAG("", _END_OF_BLOCK(" ", _NOTES("", html)))
    return one_line(unescape(_NO_CHARACTER("\ufffd", text)))


def _cut(text: str, length: int) -> str:
    if len(text) <= length:
        return text
    return text[: length - 1].rsplit(" ", 1)[0].rstrip() + "…"


# Characters of HTML that an excerpt reads for each of its own; most of the HTML is no markup.
READ_FOR_EACH: Final = 20
# The numbers of footnotes, and the section with the notes, which is the last one.
_NOTES = re.compile(
    '<sup><a [^>]*role="doc-noteref"[^>]*>[^<]*</a></sup>|<section role="doc-endnotes">.*',
    re.DOTALL,
).sub
_END_OF_BLOCK = re.compile(r"</(?:p|li|h[1-6]|t[dhr]|blockquote|pre|div)>|<br[^>]*>").sub
_TAG = re.compile(r"<[^>]*(?:>|$)").sub
_NO_CHARACTER = re.compile("&#[0-9]{9,};?").sub  # Python does not read such a number
_EXTENDING = "\u0300-\u036f\u200c\ufe0f\u20e3\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f"
_INITIAL = re.compile(
    f"[\U0001f1e6-\U0001f1ff]{{2}}|.[{_EXTENDING}]*(?:\u200d.[{_EXTENDING}]*)*", re.DOTALL
).match
_WHOLE = re.compile(r"[0-9]{1,18}").fullmatch


def fold(text: str) -> str:
    """Return `text` in NFKC and case-folded, with few marks on a letter, for comparing texts."""
    return unicodedata.normalize("NFKC", with_few_marks(text)).casefold()


def escaping_work(html: str) -> int:
    """Return how many bytes nh3 looks at when it escapes a text, at worst.

    For each "&", and each character from U+0080 to U+00BF, it searches the rest of the text: a
    billion bytes take about 10 ms.
    """
    data = html.encode(errors="replace")
    return (data.count(b"&") + data.count(b"\xc2")) * len(data)


def decoded(data: bytes, charset: str, errors: str = "strict") -> str:
    """Return the text of `data` in the encoding that its sender names, as in browsers.

    Python has more: some fail in other ways, take quadratic time or give half characters, and it
    keeps each name that it does not know. Raise LookupError for names that the WHATWG Encoding
    Standard does not have, and UnicodeError.
    """
    import webencodings  # type: ignore[import-untyped]  # few requests need it

    found = webencodings.lookup(charset)
    if found is None or found.name == "replacement":
        raise LookupError(charset)
    text: str = found.codec_info.decode(data, errors)[0]
    return text

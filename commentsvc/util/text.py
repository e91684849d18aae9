"""Text of clients: numbers, lines, and forms that compare."""

import re
import unicodedata


def whole_number(text: str) -> int | None:
    """Give the whole number that a text is, of those that SQLite can hold; None for all else."""
    return int(text) if _WHOLE(text) else None


# Bidirectional controls, zero-width and blank characters, tags. The joiners U+200C and U+200D stay:
# Persian, Indic scripts and emoji need them.
_INVISIBLE = dict.fromkeys(
    [
        *range(0x20),
        *range(0x7F, 0xA0),
        *(0xAD, 0x34F, 0x61C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180E, 0x200B, 0x200E, 0x200F),
        *range(0x202A, 0x202F),
        *range(0x2060, 0x2070),
        *(0x2800, 0x3164, 0xFEFF, 0xFFA0),
        *range(0xFFF9, 0xFFFC),
        *range(0xE0000, 0xE0080),
    ]
)


def one_line(text: str) -> str:
    """Give `text` as one visible line: no control or invisible characters, no runs of spaces."""
    if text.isascii() and text.isprintable() and "  " not in text:
        return text.strip()
    return " ".join(" ".join(text.split()).translate(_INVISIBLE).split())


_WHOLE = re.compile(r"[0-9]{1,18}").fullmatch


def fold(text: str) -> str:
    """Return `text` in the form in which texts are compared: NFKC, without upper case."""
    return unicodedata.normalize("NFKC", text).casefold()

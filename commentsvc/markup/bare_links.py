"""Bare links: comrak links the URLs that people type, not only those of GitHub's rules.

``Https://`` and ``Www.``, as the keyboards of phones write them, are links. A link ends at Chinese
or Japanese punctuation, which follows it without a space, and has no punctuation of any script at
its end, such as the quotation marks of phones. comrak knows none of this, so the Markdown that it
gets has marks, and its HTML gets the text back. Marks are noncharacters, which the Unicode Standard
(chapter 23.7) reserves for such purposes; a text that may contain them is not marked.
"""

import re
import unicodedata
from html import unescape
from typing import Final

import comrak

_END: Final = "\ufdd0"  # behind a "<", at which comrak ends a link
_CASES: Final = range(0xFDD1, 0xFDF0)  # one for each way to write "https" with capitals
_PUNCTUATION: Final = "\u3000-\u3003\u3008-\u3011\u3014-\u301f！（），．：；？［］｛｝\uff5f-\uff64"

# A "<" before it begins a link that ends at ">".
_URL: Final = re.compile(
    rf"(<?)(https?://|www\.)(?=\w)([^\s<{_PUNCTUATION}]*+)([{_PUNCTUATION}]?)", re.IGNORECASE
).sub
_OF_MARKS: Final = re.compile("[\ufdd0-\ufdef]|%EF%B7%", re.IGNORECASE).search
_MARKED_CASE: Final = re.compile("(https?://|www\\.)([\ufdd1-\ufdef])").sub
_MARK: Final = re.compile(f"&lt;{_END}|%3C%EF%B7%90|%EF%B7%[9A][0-9A-F]").sub


def render(source: str, extensions: comrak.ExtensionOptions, options: comrak.RenderOptions) -> str:
    """Return comrak's HTML of the Markdown `source`, with these links."""
    # Most texts have no link, and need no search by a pattern.
    has_link = "://" in source or "www." in source.lower()
    marked = _URL(_marked, source) if has_link else source
    if marked == source or _may_have_marks(source):
        return comrak.render_markdown(source, extensions, None, options)
    html = comrak.render_markdown(marked, extensions, None, options)
    return _MARK("", _MARKED_CASE(_as_typed, html))


def _may_have_marks(source: str) -> bool:
    """Return whether `source` has marks, or references and escapes that could become some."""
    return "&#" in source or bool(_OF_MARKS(unescape(source).replace("\\", "")))


def _marked(url: re.Match[str]) -> str:
    bracket, start, rest, punctuation = url.groups()
    if bracket:
        return url[0]
    capitals = sum(1 << at for at, letter in enumerate(start) if letter.isupper())
    mark = chr(_CASES[capitals - 1]) if capitals else ""
    end = _end(rest)
    behind = rest[end:] + punctuation
    return f"{start.lower()}{mark}{rest[:end]}" + (f"<{_END}{behind}" if behind else "")


def _end(rest: str) -> int:
    """Return where the punctuation at the end begins; what is ASCII alone is left to comrak."""
    end = len(rest)
    for at in range(len(rest) - 1, -1, -1):
        if not unicodedata.category(rest[at]).startswith("P"):
            break
        if not rest[at].isascii():
            end = at
    return end


def _as_typed(url: re.Match[str]) -> str:
    start, mark = url.groups()
    capitals = _CASES.index(ord(mark)) + 1
    return "".join(
        letter.upper() if capitals >> at & 1 else letter for at, letter in enumerate(start)
    )

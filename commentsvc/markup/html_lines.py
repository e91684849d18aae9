"""HTML with plain line breaks, as WordPress stores comments and shows them.

Blank lines are between paragraphs, other line ends are line breaks, and bare addresses are links:
the rules of WordPress' filters `wpautop` and `make_clickable`. They hold within quotes and lists;
preformatted text stays as it is. The result is not safe yet: it has all tags of the text, apart
from those that only begin a paragraph.
"""

import re
from functools import cache
from typing import Final

_DEPTH: Final = 20  # open elements in which the one that an end tag ends is looked for

# Elements that hold paragraphs, lines or other elements. Of all others, only the text matters.
_OF_PARAGRAPHS: Final = ("", "blockquote")
_OF_LINES: Final = frozenset(("li", "td", "th", "h1", "h2", "h3", "h4", "h5", "h6"))
_OF_ELEMENTS: Final = frozenset(("ul", "ol", "table", "thead", "tbody", "tfoot", "tr"))
_SIBLINGS: Final = frozenset(("li", "td", "th", "tr"))  # one ends the one before it
_BARRIERS: Final = (
    "p|div|section|article|aside|header|footer|nav|form|fieldset|legend|address|figure|figcaption"
    "|details|summary|dl|dt|dd|caption|menu"
)
_KEPT: Final = f"blockquote|hr|{'|'.join(sorted(_OF_LINES | _OF_ELEMENTS))}"
_BLOCK: Final = re.compile(
    rf"(<(/?)(?:({_KEPT})|{_BARRIERS})\b[^<>]*>|<pre\b[^<>]*>.*?(?:</pre\s*>|\Z))",
    re.IGNORECASE | re.DOTALL,
)
_TAG: Final = re.compile(r"(<(?!https?:)[A-Za-z/!][^<>]*>)")
_GAP: Final = re.compile(r"(?:<br\s*/?>\s*){2,}|\n\s*\n", re.IGNORECASE)
# Begins only where the white space does: otherwise each character of a long run begins a search.
_BREAK: Final = re.compile(r"(?<!\s)\s*<br\s*/?>\s*|(?<![^\S\n])[^\S\n]*\n\s*", re.IGNORECASE)
_EDGE: Final = re.compile(r"\A(?:\s*<br\s*/?>)+|(?:<br\s*/?>\s*)+\Z", re.IGNORECASE)

_UNLINKED: Final = re.compile(r"<(/?)(?:a|code|pre|script|style)\b", re.IGNORECASE).match
_ENTITY: Final = r"&(?:quot|lt|gt|nbsp|#0*3[49]|#x2[27]);"
_LETTER: Final = rf"(?:(?!{_ENTITY})[\w#%~/@\[\]*(+=&$\x80-\U0010ffff-])"
_BARE: Final = re.compile(r"&(?!#?\w+;)")


@cache
def _links() -> re.Pattern[str]:
    """Return the pattern of links. It is compiled at its first use: no start waits 20 ms for it."""
    return re.compile(
        rf"(?<![^\s(<>.,;:!?])(https?://{_LETTER}+(?:[').,;:!?]{_LETTER}+)*\)?)"
        rf"|(?<![^\s>])((?:www|ftp)\.{_LETTER}+(?:[.,;:?]{_LETTER}+)*)"
        r"|(?<![^\s>])([\w.+-]++@(?:[A-Za-z0-9-]+\.)+[A-Za-z0-9]{2,})",
        re.IGNORECASE,
    )


def has_blocks(text: str) -> bool:
    """Return whether HTML says itself where its paragraphs begin."""
    return _BLOCK.search(text) is not None


def paragraphs(text: str) -> str:
    """Return HTML with tags for line breaks, and for paragraphs between blank lines."""
    parts, opened, end = [], [""], 0
    for block in _BLOCK.finditer(text):
        parts += _run(text[end : block.start()], opened[-1])
        end = block.end()
        tag, closes, name = block[1], block[2], (block[3] or "").lower()
        if closes and name and name in opened[-_DEPTH:]:
            while opened.pop() != name:
                pass
        elif name and not closes and name != "hr":
            if name == opened[-1] and name in _SIBLINGS:
                opened.pop()
            opened.append(name)
        if name or tag[:4].lower() == "<pre":
            parts.append(tag)
    return "".join([*parts, *_run(text[end:], opened[-1])])


def _run(text: str, element: str) -> list[str]:
    """Return the HTML of a text between blocks that is directly within an `element`."""
    if "\n" in text:
        text = _TAG.sub(lambda tag: tag[0].replace("\n", " "), text)
    if element in _OF_ELEMENTS:
        return [text.strip()]
    found: list[str] = []
    for part in _GAP.split(text):
        if lines := _BREAK.sub("<br>", _EDGE.sub("", part).strip()):
            is_bare = element not in _OF_PARAGRAPHS and not found
            found.append(lines if is_bare else f"<p>{lines}</p>")
    return found


def linked(text: str) -> str:
    """Return HTML in which bare addresses are links, but not in links and code."""
    lower = text.lower()
    if not any(mark in lower for mark in ("://", "@", "www.", "ftp.")):
        return text
    parts, depth = _TAG.split(text), 0
    for number, part in enumerate(parts):
        if number % 2 == 0:
            parts[number] = part if depth else _links().sub(_link, part)
        elif tag := _UNLINKED(part):
            depth = max(depth + (-1 if tag[1] else 1), 0)
    return "".join(parts)


def _link(match: re.Match[str]) -> str:
    url, host, email = match.groups()
    if email:
        return f'<a href="mailto:{email}">{email}</a>'
    shown = _BARE.sub("&amp;", url or f"http://{host}")
    end, surplus = len(shown), shown.count(")") - shown.count("(")
    while surplus > 0:
        cut = shown.rindex(")", 0, end)
        surplus += shown.count("(", cut, end) - 1
        end = cut
    return f'<a href="{shown[:end]}">{shown[:end]}</a>{shown[end:]}'

"""People: ``@Name`` in a comment leads to the last comment of that name above it.

Only approved comments of the same page count. A name may contain spaces, so all beginnings of what
follows an "@" are looked up.
"""

import re
from collections.abc import Mapping
from html import escape
from typing import Final

from commentsvc.model import fragment

MOST: Final = 20  # mentions of a comment that are looked up
NAME: Final = 80  # characters of a name
WORDS: Final = 6  # of a name

_AT: Final = re.compile(r"(?<![\w@/.])@(?=\w)")
_WORD_END: Final = re.compile(r"(?<=\S)(?=\s|[^\w\s])|(?<=\w)\b|$")
_TAG: Final = re.compile(r"(<[^>]*>)").split
# Elements in which no text becomes a link.
_OTHER: Final = re.compile(r"<(/?)(?:a|code|pre|math)\b").match


def names(source: str) -> set[str]:
    """Return what may be names of people in the Markdown `source`."""
    found: set[str] = set()
    for _number, at in zip(range(MOST), _AT.finditer(source), strict=False):
        text = source[at.end() : at.end() + NAME].partition("\n")[0]
        ends = [
            match.start()
            for _word, match in zip(range(2 * WORDS), _WORD_END.finditer(text), strict=False)
        ]
        found.update(text[:end].rstrip() for end in ends if end)
    return found


def link(html: str, named: Mapping[str, int]) -> str:
    """Return comrak's HTML with a link for each ``@Name`` of `named` outside of links and code."""
    marks = {
        "@" + escape(name, quote=False).replace('"', "&quot;"): f'<a href="{fragment(number)}">'
        for name, number in sorted(named.items(), key=lambda item: -len(item[0]))
    }
    mention = re.compile(rf"(?<![\w@/.])(?:{'|'.join(map(re.escape, marks))})(?!\w)").sub
    parts, depth = _TAG(html), 0
    for number, part in enumerate(parts):
        if other := _OTHER(part):
            depth += -1 if other[1] else 1
        elif not depth and "@" in part:
            parts[number] = mention(lambda match: f"{marks[match[0]]}{match[0]}</a>", part)
    return "".join(parts)

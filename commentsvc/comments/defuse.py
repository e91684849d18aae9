"""Markdown for readers that turn it into HTML and insert that as it is.

The themes of Stacosys' time rendered `content` in the browser, and what an author typed as HTML
became part of the page. So whatever a Markdown renderer might let through is made harmless here: a
``<`` that begins a tag becomes an entity, and a link that would run a script leads nowhere. What
else was typed stays.

No two renderers agree on what is code. So only code that all of them see, between two single
backticks of one line, stays as typed; in other code an entity may be shown.
"""

import html
import re
from typing import Final

# What begins a tag, a comment, a declaration or an instruction (HTML standard, 13.2.5.6), but for
# automatic links, which cannot run anything.
_TAG: Final = re.compile(r"<(?=[A-Za-z/!?])(?!(?:https?://|mailto:)[^\s<>`\"']*>)").sub
# Before the address of a link or image, or of a link that is defined apart.
_LINK: Final = re.compile(r"\]\s*[(:]\s*(?=\S)").sub
_SCRIPT: Final = re.compile(r"(?:javascript|vbscript|data):", re.IGNORECASE).match
# Browsers and renderers pass over these in an address.
_IGNORED: Final = re.compile(r"[\x00-\x20\x7f-\xa0\\\u200b-\u200f\u2028-\u202f\ufeff]+").sub
LOOKED_AT: Final = 400  # characters of an address, in which a scheme may be spelt by entities


def defuse(source: str) -> str:
    """Return Markdown that becomes no script and no tag of the author's, whoever renders it."""
    linked = _LINK(_harmless_link, source)
    lines = linked.split("\n")
    if all(_has_plain_code(line) for line in lines):
        return "\n".join(_escape_outside_code(line) for line in lines)
    return _TAG("&lt;", linked)


def _harmless_link(begin: re.Match[str]) -> str:
    """Return the beginning of a link; of one that runs a script, with `./`: a path then."""
    address = html.unescape(begin.string[begin.end() : begin.end() + LOOKED_AT])
    return f"{begin[0]}./" if _SCRIPT(_IGNORED("", address)) else begin[0]


def _has_plain_code(line: str) -> bool:
    """Return whether all renderers pair the backticks of a line in the same way."""
    return "`" not in line or (line.count("`") % 2 == 0 and "``" not in line and "\\" not in line)


def _escape_outside_code(line: str) -> str:
    parts = line.split("`")
    parts[::2] = [_TAG("&lt;", part) for part in parts[::2]]
    return "`".join(parts)

"""Makes Markdown safe for clients that render it themselves without a sanitizer.

The themes of Stacosys rendered `content` in the browser, and HTML in a comment became part of the
page. So everything that a Markdown renderer might let through is made harmless here: a ``<`` that
begins a tag becomes an entity, and a link that would run a script becomes a relative path. The rest
of the text stays.

Renderers differ in what they take for code. So only code that all of them recognise, between two
single backticks on one line, stays as typed; in other code, readers may see an entity.
"""

import html
import re
from typing import Final

# The beginning of a tag, comment, declaration or processing instruction (HTML standard, 13.2.5.6),
# except of autolinks, which cannot run anything.
_TAG: Final = re.compile(r"<(?=[A-Za-z/!?])(?!(?:https?://|mailto:)[^\s<>`\"']*>)").sub
# What precedes the URL of a link, an image or a link reference definition.
_LINK: Final = re.compile(r"\]\s*[(:]\s*(?=\S)").sub
_SCRIPT: Final = re.compile(r"(?:javascript|vbscript|data):", re.IGNORECASE).match
# Browsers and renderers ignore these characters in a URL.
_IGNORED: Final = re.compile(r"[\x00-\x20\x7f-\xa0\\\u200b-\u200f\u2028-\u202f\ufeff]+").sub
LOOKED_AT: Final = 400  # characters of a URL that are searched for a scheme


def defuse(source: str) -> str:
    """Return Markdown that no renderer turns into a script or a tag of the author's."""
    linked = _LINK(_harmless_link, source)
    lines = linked.split("\n")
    if all(_has_plain_code(line) for line in lines):
        return "\n".join(_escape_outside_code(line) for line in lines)
    return _TAG("&lt;", linked)


def _harmless_link(begin: re.Match[str]) -> str:
    """Return the beginning of a link; `./` before a script's URL makes it a relative path."""
    address = html.unescape(begin.string[begin.end() : begin.end() + LOOKED_AT])
    return f"{begin[0]}./" if _SCRIPT(_IGNORED("", address)) else begin[0]


def _has_plain_code(line: str) -> bool:
    """Return whether all renderers pair the backticks of a line in the same way."""
    return "`" not in line or (line.count("`") % 2 == 0 and "``" not in line and "\\" not in line)


def _escape_outside_code(line: str) -> str:
    parts = line.split("`")
    parts[::2] = [_TAG("&lt;", part) for part in parts[::2]]
    return "`".join(parts)

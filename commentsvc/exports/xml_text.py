"""Texts in XML 1.0, which does not allow most control characters."""

import re
from typing import Final
from xml.sax.saxutils import escape

# Characters that XML 1.0 does not allow (section 2.2), not even as a reference.
_FORBIDDEN: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def element(name: str, text: str) -> str:
    """Return an element with a text, on a line of its own."""
    return f"<{name}>{escape(_allowed(text))}</{name}>\n"


def cdata(name: str, text: str) -> str:
    """Do as `element`, with a CDATA section, so that HTML stays readable."""
    return f"<{name}><![CDATA[{_allowed(text).replace(']]>', ']]]]><![CDATA[>')}]]></{name}>\n"


def _allowed(text: str) -> str:
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)

"""Texts in XML 1.0, which has no words for most control characters."""

import re
from typing import Final
from xml.sax.saxutils import escape

# What XML 1.0, 2.2 does not allow, not even as a reference.
_FORBIDDEN: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def element(name: str, text: str) -> str:
    """Return an element with a text, on a line of its own."""
    return f"<{name}>{escape(_allowed(text))}</{name}>\n"


def cdata(name: str, text: str) -> str:
    """As `element`, with a text that holds HTML and stays legible."""
    return f"<{name}><![CDATA[{_allowed(text).replace(']]>', ']]]]><![CDATA[>')}]]></{name}>\n"


def _allowed(text: str) -> str:
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)

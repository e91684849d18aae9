"""The text of an HTML mail, for mails without plain text.

Parts that a mail program marks as a quotation, a signature or its own advertisement are left out; a
quotation that is not marked as that of the whole mail gets ">" before its lines, as in plain text.
Pictures, styles and scripts are ignored. nh3 corrects the HTML first: Python's parser can take
hours for HTML that is invalid on purpose.
"""

import re
from collections import Counter
from html.parser import HTMLParser
from typing import Final, NamedTuple

import nh3

# Elements without an end tag.
_VOID: Final = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr")
)
_HEADINGS: Final = ("h1", "h2", "h3", "h4", "h5", "h6")
_BLOCKS: Final = frozenset(
    (*_HEADINGS, "address", "article", "blockquote", "dd", "div", "dl", "dt", "li", "ol", "p")
) | {"pre", "section", "table", "tr", "ul"}
_CELLS: Final = ("td", "th")
_UNSEEN: Final = {"script", "style", "title", "template"}
_KEPT: Final = {*_VOID, *_BLOCKS, *_CELLS, "a", "b", "i", "span", "body"}
_ATTRIBUTES: Final = {"*": {"class", "id", "type"}, "a": {"href"}}
# Classes and ids of mail programs for quotations, signatures and lines about themselves.
_LEFT_OUT: Final = re.compile(
    r"(?:^|\s|x_)(?:gmail_quote\S*|gmail_attr|gmail_signature\S*|yahoo_quoted|yQTDBase"
    r"|ydp\w*yahoo_quoted|moz-cite-prefix|moz-signature|protonmail_quote"
    r"|protonmail_signature_block\S*|k9mail-signature|k9mail-forward-header"
    r"|OutlookMessageHeader|mailtrack\S*|ms-outlook-mobile-signature|yahoo-signature"
    r"|ios-mail-signature)(?:\s|$)",
    re.IGNORECASE,
).search
# The beginning of a quotation of the whole mail that has no element around it.
_CUT: Final = re.compile(
    r"(?:^|\s|x_)(?:divRplyFwdMsg|appendonsend|reply-intro|mail-editor-reference-message-container"
    r"|OLK_SRC_BODY_SECTION)(?:\s|$)",
    re.IGNORECASE,
).search
_SPACES: Final = re.compile(r"[ \t\r\n\f]+")
_LINK: Final = re.compile(r"https?://[^\s<>]+", re.IGNORECASE).fullmatch


class _HtmlText(HTMLParser):
    """Collects the visible lines of a text."""

    def __init__(self) -> None:
        super().__init__()
        self.lines = [""]
        self._open: list[tuple[str, bool, bool]] = []  # tag, whether left out, whether a quotation
        self._tags: Counter[str] = Counter()  # open elements by tag
        self._link = ("", 0)  # where the open link leads, and the length of its line before it
        self._left_out = 0
        self._quotes = 0
        self._over = False
        self.leaves_out = False  # whether there is a text or picture that was left out

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = " ".join(value or "" for name, value in attrs if name in ("class", "id"))
        if _CUT(names):
            self._over = True
        if tag in ("br", "hr") or tag in _BLOCKS:
            self._break()
        self.leaves_out = self.leaves_out or tag == "img"
        if tag in _VOID:
            return
        whole = tag == "blockquote" and ("type", "cite") in attrs
        left_out = whole or bool(_LEFT_OUT(names))
        quotes = tag == "blockquote" and not left_out
        self._open.append((tag, left_out, quotes))
        self._tags[tag] += 1
        self._left_out += left_out
        self._quotes += quotes
        if tag == "p":
            self._break(blank=True)
        if tag == "li":
            self.handle_data("- ")
        if tag == "a":
            target = next((value for name, value in attrs if name == "href"), "") or ""
            self._link = (target if _LINK(target) else "", len(self.lines[-1]))

    def handle_endtag(self, tag: str) -> None:
        if not self._tags[tag]:
            return
        if tag == "a":
            self._name_target()
        while self._open:
            closed, left_out, quotes = self._open.pop()
            self._tags[closed] -= 1
            if closed in _BLOCKS:
                self._break()
            self._left_out -= left_out
            self._quotes -= quotes
            if closed == tag:
                break
        if tag == "p":
            self._break(blank=True)
        elif tag in _CELLS:
            self.handle_data(" ")

    def handle_data(self, data: str) -> None:
        if self._left_out or self._over:
            self.leaves_out = self.leaves_out or bool(data.strip())
            return
        if self._tags["pre"]:
            first, *others = data.split("\n")
            self._add(first)
            for each in others:
                self.lines.append("")
                self._add(each)
            return
        text = _SPACES.sub(" ", data)
        line = self.lines[-1]
        if not line:
            text = text.lstrip(" ")
            line = self._mark() if text else ""
        elif line.endswith(" "):
            text = text.lstrip(" ")
        self.lines[-1] = line + text

    def _add(self, text: str) -> None:
        """Append a text with its spaces."""
        self.lines[-1] = (self.lines[-1] or self._mark()) + text

    def _mark(self) -> str:
        """Return what stands before a line: one mark for quotations within quotations too."""
        return "> " if self._quotes else ""

    def _name_target(self) -> None:
        """Write where a link leads, unless its text does."""
        target, start = self._link
        self._link = ("", 0)
        shown = self.lines[-1][start:].strip()
        if shown and target and target.split("://")[1].strip("/").lower() not in shown.lower():
            self.handle_data(f" <{target}>")

    def _break(self, blank: bool = False) -> None:
        if self._left_out or self._over:
            return
        if self.lines[-1]:
            self.lines.append("")
        if blank and len(self.lines) > 1 and self.lines[-2]:
            self.lines.append("")


class SeenText(NamedTuple):
    """The visible text of an HTML mail, with its lines, and whether something was left out."""

    text: str
    leaves_out: bool


def read(html: str) -> SeenText:
    """Return the visible text of an HTML mail."""
    parser = _HtmlText()
    parser.feed(
        nh3.clean(
            html,
            tags=_KEPT,
            clean_content_tags=_UNSEEN,
            attributes=_ATTRIBUTES,
            link_rel=None,
        )
    )
    parser.close()
    text = "\n".join(line.rstrip() for line in parser.lines).strip("\n")
    return SeenText(text, parser.leaves_out)

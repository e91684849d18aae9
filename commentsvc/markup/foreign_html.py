"""HTML of pages that nobody here has written: only some of its elements, in bounded time.

Its tags are counted; then nh3, a complete HTML5 parser, removes scripts, comments and all but a few
elements. So who reads them gets well-formed HTML of limited depth, and text that only looks like a
tag (in a comment, or escaped) does not count as one.
"""

import re
from typing import Final

import nh3

from commentsvc.util.text import escaping_work

# "<" in HTML, most of which are tags.
TAGS: Final = 20_000
# Elements that nh3 makes of HTML: it needs 10 µs for each.
ELEMENTS: Final = 6_000
# Elements that are open at once: nh3 takes quadratic time for nested ones, 0.7 s for 16,000.
OPEN: Final = 500
REFERENCES: Final = 20_000  # "&" in HTML
# Bytes that nh3 looks at to escape HTML: with a million "&" or "©", it would take seconds.
ESCAPING: Final = 3_000_000_000
# Quotes, slashes and line breaks in HTML: each costs nh3 a step of its own, in tags or as a line.
SIGNS: Final = 200_000
# The same after nh3, which escapes ">", too: Python needs 0.4 s for a million.
ESCAPED: Final = 60_000
# Different words in HTML, names of attributes among them: nh3 compares each attribute of a tag with
# those before it: 15,000 take 0.06 seconds, and 120,000 eleven.
WORDS: Final = 15_000

_TAG: Final = re.compile(r"<(/?)([A-Za-z][^\s/>]*)").findall
_WITHOUT_END: Final = {
    *("area", "base", "br", "col", "dd", "dt", "embed", "hr", "img", "input", "li", "link", "meta"),
    *(
        "option",
        "p",
        "param",
        "source",
        "tbody",
        "td",
        "tfoot",
        "th",
        "thead",
        "tr",
        "track",
        "wbr",
    ),
}
# Those that HTML opens anew in each block until they end.
_FORMATTING: Final = {
    *("a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt"),
    "u",
}


class UnreadablePage(Exception):
    """The page cannot be read; the text says why."""


def sanitized(html: str, tags: set[str], attributes: dict[str, set[str]]) -> str:
    """Return HTML with these tags and attributes only. Raise UnreadablePage before it takes long.

    Characters that HTML does not allow (U+0000) and soft hyphens are left out; no-break spaces
    become spaces.
    """
    signs = sum(map(html.count, "\"'/\n\r"))
    for number, most, what in (
        (html.count("<"), TAGS, "tags"),
        (html.count("&"), REFERENCES, "character references"),
        (signs, SIGNS, "quotes, slashes and line breaks"),
    ):
        if number > most:
            raise UnreadablePage(f"its HTML has more than {most} {what}")
    if len(set(html.replace("/", " ").replace('"', " ").replace("'", " ").split())) > WORDS:
        raise UnreadablePage(f"its HTML has more than {WORDS} different words")
    # Soft hyphens cannot be seen, and a page may have one in each word.
    html = html.replace("\0", "").replace("\xa0", " ").replace("\xad", "")
    if escaping_work(html) > ESCAPING:
        raise UnreadablePage("its HTML has too many characters from U+0080 to U+00BF")
    _count_elements(html)
    text = nh3.clean(
        html,
        tags=tags,
        attributes=attributes,
        clean_content_tags={"script", "style"} - tags,
        link_rel=None,
        url_schemes={"http", "https"},
    )
    if text.count("&") > ESCAPED:
        raise UnreadablePage(f"its HTML has more than {ESCAPED} escaped characters")
    return text


def _count_elements(html: str) -> None:
    """Raise UnreadablePage if a parser makes too many elements of HTML, or nests too many."""
    opened: dict[str, int] = {}
    made = nested = formatting = 0
    for end, name in _TAG(html):
        tag = name.lower()
        if not end:
            made += 1 + formatting
            change = int(tag not in _WITHOUT_END)
        elif opened.get(tag):
            made += formatting
            change = -1
        else:  # it may make one, as </p> does
            made += 1 + formatting
            change = 0
        opened[tag] = opened.get(tag, 0) + change
        nested += change
        if tag in _FORMATTING:
            formatting += change
        if made > ELEMENTS:
            raise UnreadablePage(f"its HTML has more than {ELEMENTS} elements")
        if nested > OPEN:
            raise UnreadablePage(f"its HTML has more than {OPEN} elements that do not end")

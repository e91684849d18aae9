"""Pages of other sites: their links, and what their author says about a page of ours.

Such a page is not trusted: the code here gets what `markup.foreign_html` leaves of it, of limited
size. Microformats (parsed by mf2py, see microformats2) tell the kind of the link and its author.
The other modules of this package implement https://www.w3.org/TR/webmention/.
"""

import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from itertools import islice
from typing import Any, Final, NamedTuple
from urllib.parse import urljoin

import mf2py  # type: ignore[import-untyped]  # it has no types
import msgspec
from mf2py import backcompat, mf2_classes

from commentsvc.comments.submission import is_site
from commentsvc.db.schema.mentions import LIKE, MENTION, REPLY, REPOST
from commentsvc.markup import html_to_markdown
from commentsvc.markup.foreign_html import TAGS, UnreadablePage, sanitized
from commentsvc.markup.html_to_markdown import Markup
from commentsvc.util.http_client import Fetched
from commentsvc.util.origin import host_of
from commentsvc.util.text import decoded, one_line

# Elements that mf2py reads: it needs 25 µs for each.
ITEM_ELEMENTS: Final = 1_500
# Bytes of HTML after nh3 has cleaned it: mf2py needs a second for 256 KiB.
HTML_SIZE: Final = 262_144
DEPTH: Final = 200
# Pieces of WORK_PIECE characters that mf2py may read, each as often as it reads them: it reads an
# item once for each property that it is a value of, so nested ones double the work each time.
WORK: Final = 50_000
WORK_PIECE: Final = 64
# Elements that mf2py may copy, at 10 µs each. It copies an element inside of an item with the class
# names that preceded microformats2, and all within, once for each of the item's RULES, at most.
COPIES: Final = 6_000
RULES: Final = {"vcard": 33, "hfeed": 6, "geo": 2}
MOST_RULES: Final = 15  # of other items
# Commas and brackets in JSON: each value takes up to 72 bytes of memory.
VALUES: Final = 50_000
LINKS: Final = 10_000  # of a page without tags: to see where one leads takes 4 µs
ENTRIES: Final = 500  # microformats items of a page that are examined
# Characters: a longer text is an article that links to us; only its title is shown.
ARTICLE: Final = 1_500
CONTENT: Final = 20_000  # characters of what a page says; the title of a longer one is shown
NAME_LENGTH: Final = 80

_TAGS: Final = {
    *("a", "abbr", "area", "article", "aside", "audio", "b", "base", "blockquote", "br", "code"),
    *("data", "dd", "del", "div", "dl", "dt", "em", "figure", "footer", "h1", "h2", "h3", "h4"),
    *("h5", "h6", "header", "hr", "i", "img", "li", "link", "main", "nav", "ol", "p", "pre", "s"),
    *("section", "source", "span", "strong", "time", "title", "ul", "video"),
}
_ATTRIBUTES: Final = {
    "*": {"class"},
    "a": {"href", "rel"},
    "abbr": {"title"},
    "area": {"href", "rel"},
    "audio": {"src"},
    "base": {"href"},
    "data": {"value"},
    "img": {"src", "alt"},
    "link": {"href", "rel"},
    "source": {"src"},
    "time": {"datetime"},
    "video": {"src", "poster"},
}
# The classes of these elements describe the page, but nh3 removes them.
_ROOT: Final = re.compile(r"<(/?)(?:html|body)\b", re.IGNORECASE)
_CHARSET: Final = re.compile(r"charset=[\"']?([\w-]+)", re.IGNORECASE)
# The address in a Link header field (RFC 8288), and its parameters.
_LINK: Final = re.compile(r"<([^<>]*)>([^,<\"]*(?:\"[^\"]*\"[^,<\"]*)*)").findall
_REL: Final = re.compile(r";\s*rel\s*=\s*(?:\"([^\"]*)\"|([^\s;,\"]+))", re.IGNORECASE).search
_ADDRESS: Final = re.compile(r"https?://[^\s<>\"']+").findall
_ADDRESS_AT_START: Final = re.compile("https?://").match
_SIGNS: Final = ".,;:!?)"  # these end a sentence rather than an address
_KINDS: Final = {"like-of": LIKE, "repost-of": REPOST, "in-reply-to": REPLY}

# Returns whether an address leads to the page in question.
Leads = Callable[[str], bool]


class FoundMention(NamedTuple):
    """What a page says about one of ours; a REPLY or MENTION becomes a comment.

    `text` is Markdown; `author_site` is "" if the page does not name the author's site.
    """

    kind: str
    author: str = ""
    author_site: str = ""
    text: str = ""


class _OpenElement(NamedTuple):
    """An open element for mf2py: how often its content is parsed, and its text extracted.

    `is_old` says whether it is inside an item with the class names that preceded microformats2,
    where mf2py may take any class for a property, and `rules` how many such an item has. `copied`
    is how often the element is copied with its content.
    """

    parsed: int = 1
    extracted: int = 0
    is_item: bool = False
    is_old: bool = False
    rules: int = 0
    copied: int = 0

    def inside(self, classes: list[str]) -> "_OpenElement":
        """Return an element inside this one."""
        kinds = mf2_classes.filter_classes(classes)
        old = backcompat.root(classes)
        is_new_item = bool(kinds.pop("h"))
        is_item = is_new_item or bool(old)
        named = len(classes) if self.is_old else sum(map(len, kinds.values()))
        parsed = self.parsed * named if is_item and named and self.is_item else self.parsed
        copies = self.parsed * self.rules + (parsed if old and not is_new_item else 0)
        rules = sum(RULES.get(name, MOST_RULES) for name in old) if old else self.rules
        return _OpenElement(
            parsed,
            self.extracted + self.parsed * min(named, len(kinds)),
            self.is_item or is_item,
            self.is_old or bool(old),
            0 if is_new_item else rules,
            self.copied + copies,
        )


class _Links(HTMLParser):
    """Collects the links of a page.

    Raise UnreadablePage if elements are nested too deeply, or are too much work for mf2py.
    """

    _VOID: Final = frozenset(("area", "base", "br", "hr", "img", "link", "source"))

    def __init__(self) -> None:
        super().__init__()
        self.base = ""
        self.title = ""
        self.found: list[tuple[str, str, str]] = []  # tag, rel, address
        self.elements = 0
        self.copies = 0
        self._open = [_OpenElement()]
        self._work = 0
        self._in_title = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.elements += 1
        self._read(self.get_starttag_text() or "")
        element = self._open[-1].inside((given.get("class") or "").split())
        self.copies += element.copied
        if tag not in self._VOID:
            self._open.append(element)
            if len(self._open) > DEPTH + 1:
                raise UnreadablePage(f"its elements nest more than {DEPTH} deep")
        self._in_title = tag == "title"
        if tag == "base":
            self.base = self.base or given.get("href") or ""
            return
        for name in ("href", "src", "poster"):
            if name in given:
                self.found.append((tag, given.get("rel") or "", given[name] or ""))

    def handle_endtag(self, tag: str) -> None:
        self._open.pop()
        self._in_title = False

    def _read(self, text: str) -> None:
        around = self._open[-1]
        self._work += (around.parsed + around.extracted) * (1 + len(text) // WORK_PIECE)
        if self._work > WORK:
            raise UnreadablePage("its microformats are too much work")

    def handle_data(self, data: str) -> None:
        self._read(data)
        if self._in_title and not self.title:
            self.title = data


class _Html(NamedTuple):
    """Cleaned HTML, and its links as in `_Links.found`.

    `source` is the address of the page; `url` that from which its links start: a page may name any.
    """

    text: str
    source: str
    url: str
    title: str
    links: list[tuple[str, str, str]]
    elements: int
    copies: int


def endpoint(page: Fetched) -> str:
    """Return the page's webmention endpoint, "" if it has none. Raise UnreadablePage.

    As in section 3.1.2 of the recommendation, this is the first Link header field with the relation
    "webmention", or else the first such <link> or <a> in document order.
    """
    for address, parameters in _LINK(page.header("link")):
        given = _REL(parameters)
        if given and "webmention" in (given[1] or given[2]).lower().split():
            return _absolute(page.url, address)
    if page.type not in ("text/html", "application/xhtml+xml"):
        return ""
    html = _cleaned(page)
    for tag, rel, address in html.links:
        if tag in ("a", "link") and "webmention" in rel.lower().split():
            return _absolute(html.url, address)
    return ""


def mention(page: Fetched, leads: Leads) -> FoundMention | None:
    """Return what a page says about one of ours; `leads` returns whether an address is that page.

    Return None if the page does not link to it. Raise UnreadablePage.
    """
    if page.type in ("text/html", "application/xhtml+xml"):
        return _html_mention(_cleaned(page), leads)
    host = host_of(page.url)
    if page.type == "application/json" or page.type.endswith("+json"):
        links: Iterator[str] = filter(_ADDRESS_AT_START, _strings(page.body))
    elif page.type.startswith("text/"):
        links = (link.rstrip(_SIGNS) for link in _ADDRESS(_text(page)))
    else:
        raise UnreadablePage(f"pages of the type {page.type or 'unknown'} are not read")
    named = FoundMention(MENTION, host, "", f"<{page.url}>")
    return named if any(map(leads, islice(links, LINKS))) else None


def _text(page: Fetched) -> str:
    charset = _CHARSET.search(page.header("content-type"))
    try:
        return decoded(page.body, charset[1] if charset else "utf-8")
    except (LookupError, UnicodeError):  # other decoders take 0.2 s to replace all of a mebibyte
        return page.body.decode(errors="replace")


def _strings(body: bytes) -> Iterator[str]:
    if sum(map(body.count, (b",", b"[", b"{"))) > VALUES:
        raise UnreadablePage(f"its JSON has more than {VALUES} values")
    try:
        waiting = [msgspec.json.decode(body)]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise UnreadablePage("its JSON cannot be read") from None
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value


def _cleaned(page: Fetched) -> _Html:
    html = _text(page)
    if html.count("<") <= TAGS:  # more are refused below
        html = _ROOT.sub(r"<\1div", html)
    text = sanitized(html, _TAGS, _ATTRIBUTES)
    parser = _Links()
    parser.feed(text)
    parser.close()
    return _Html(
        text,
        page.url,
        _absolute(page.url, parser.base),
        one_line(parser.title),
        parser.found,
        parser.elements,
        parser.copies,
    )


def _absolute(url: str, address: str) -> str:
    """Return the absolute address of a link in the page at `url`; "" if it is invalid."""
    try:
        return urljoin(url, address)
    except ValueError:
        return ""


def _html_mention(html: _Html, leads: Leads) -> FoundMention | None:
    if not any(leads(_absolute(html.url, address)) for _tag, _rel, address in html.links):
        return None
    if len(html.text) > HTML_SIZE:
        raise UnreadablePage(f"its HTML has more than {HTML_SIZE} characters")
    if (
        html.elements > ITEM_ELEMENTS or html.copies > COPIES
    ):  # only its title is shown, as for a long text
        return _said(MENTION, html, {"properties": {}}, [])
    try:
        parsed = mf2py.parse(doc=html.text, url=html.url, html_parser="html.parser")
    except (ValueError, RecursionError) as error:
        raise UnreadablePage(f"its microformats cannot be read: {error}") from error
    items = list(_items(parsed["items"]))
    entries = [item for item in items if "h-entry" in item["type"]]
    for entry in entries:
        for name, kind in _KINDS.items():
            if any(leads(url) for value in _values(entry, name) for url in _urls(value)):
                return _said(kind, html, entry, items)
    return _said(MENTION, html, entries[0] if entries else {"properties": {}}, items)


def _items(found: list[Any]) -> Iterator[dict[str, Any]]:  # Any: microformats, as JSON
    """Yield the items of a page and their children, outer ones first."""
    waiting = list(found)
    for item in waiting:
        if len(waiting) < ENTRIES:
            waiting += item.get("children", ())
        yield item


def _values(item: dict[str, Any], name: str) -> list[Any]:  # Any: as above
    values: list[Any] = item["properties"].get(name, [])
    return values


def _urls(value: Any) -> Iterator[str]:  # Any: as above
    """Yield the addresses in a value: its own, and those of a quoted page."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield str(value.get("value", ""))
        yield from (url for url in value.get("properties", {}).get("url", ()) if url)


def _said(
    kind: str, html: _Html, entry: dict[str, Any], items: list[dict[str, Any]]
) -> FoundMention:
    if kind in (LIKE, REPOST):
        return FoundMention(kind)
    cards = [*_values(entry, "author"), *(item for item in items if "h-card" in item["type"])]
    name, site = _author(cards[0]) if cards else ("", "")
    host = host_of(html.source)
    if host_of(site) != host:  # a page speaks for nobody elsewhere
        name, site = "" if name == host_of(site) else name, ""
    content = next(iter(_values(entry, "content")), "")
    if isinstance(content, dict):
        text = _markdown(str(content.get("html", "")), "html")
    else:
        text = _markdown(str(content), "text")
    if not text or (kind == MENTION and len(text) > ARTICLE):
        title = one_line(_plain(_values(entry, "name"))) or html.title or host
        label = html_to_markdown.read(title[:ARTICLE], "text").source.replace("]", "\\]")
        text = f"[{label}](<{html.source}>)"
    return FoundMention(kind, (name or host)[:NAME_LENGTH], site if is_site(site) else "", text)


def _markdown(text: str, language: Markup) -> str:
    """Return a text as Markdown; "" for one that takes long and no comment is as long as."""
    return html_to_markdown.read(text, language).source if len(text) <= CONTENT else ""


def _author(card: Any) -> tuple[str, str]:  # Any: as above
    """Return the name and the web site of an author."""
    if isinstance(card, str):
        return (host_of(card), card) if is_site(card) else (one_line(card), "")
    name = _plain(card.get("properties", {}).get("name", [])) or str(card.get("value", ""))
    return one_line(name), _plain(card.get("properties", {}).get("url", []))


def _plain(values: list[Any]) -> str:  # Any: as above
    return next((value for value in values if isinstance(value, str)), "")

"""Markup: a comment's Markdown becomes HTML that any page may show.

DESIGN. Two independent gates. cmark-gfm parses GitHub's Markdown (autolinks, strikethrough, tables;
a newline is a line break, as readers expect of a comment field). Raw HTML is not lost but shown as
the text it is, so that ``List<String>`` survives; an image becomes a link to it, since loading it
would tell its host who reads the page. Headings start at h4, below those of the page. Then nh3, a
real HTML5 parser, keeps only what the allow-list names. Neither gate relies on the other.

WHY NOT cmarkgfm's own functions: release 2025.10.22 never frees the tree nor the HTML that the C
library gives it (9 KiB lost per comment, measured), and looks the extensions up for each text. So
we call the same C library by the same cffi handle, and take the functions which that handle lacks
from its shared object. Price: the signatures below have to agree with cmark-gfm.h,
which has kept them since 2017. To be reconsidered when cmarkgfm frees what it takes.

The second gate knows a short cut. Most comments are paragraphs with some emphasis, code and links,
and what may be in these is so little that one pattern says it all. HTML that it matches from end to
end is clean; a property test holds what then comes out equal to what nh3 makes of it.

Both gates take linear time; `tests/unit/test_markup.py` holds that for hostile texts.
"""

import ctypes
import re
from html import escape
from typing import Any

import nh3
from cmarkgfm import _cmark

_ffi, _lib = _cmark.ffi, _cmark.lib
_shared = ctypes.CDLL(_cmark.__file__)


def _function(name: str, signature: str, library: ctypes.CDLL = _shared) -> Any:
    """Give a C function as a cffi call. Any: cffi calls have no Python type."""
    return _ffi.cast(signature, ctypes.cast(getattr(library, name), ctypes.c_void_p).value)


_node_free = _function("cmark_node_free", "void(*)(cmark_node *)")
_html_free = _function("free", "void(*)(void *)", ctypes.CDLL(None))
_iter_new = _function("cmark_iter_new", "void *(*)(cmark_node *)")
_iter_next = _function("cmark_iter_next", "int(*)(void *)")
_iter_node = _function("cmark_iter_get_node", "cmark_node *(*)(void *)")
_iter_free = _function("cmark_iter_free", "void(*)(void *)")
_node_new = _function("cmark_node_new", "cmark_node *(*)(int)")
_append = _function("cmark_node_append_child", "int(*)(cmark_node *, cmark_node *)")
_literal = _function("cmark_node_get_literal", "const char *(*)(cmark_node *)")
_set_literal = _function("cmark_node_set_literal", "int(*)(cmark_node *, const char *)")
_url = _function("cmark_node_get_url", "const char *(*)(cmark_node *)")
_set_url = _function("cmark_node_set_url", "int(*)(cmark_node *, const char *)")
_set_type = _function("cmark_node_set_type", "int(*)(cmark_node *, int)")

# cmark_event_type and cmark_node_type of cmark-gfm.h.
_DONE, _ENTER = 1, 2
_HTML_BLOCK, _PARAGRAPH, _TEXT, _HTML_INLINE = 0x8006, 0x8008, 0xC001, 0xC005
_LINK, _IMAGE = 0xC009, 0xC00A

_OPTIONS = _lib.CMARK_OPT_HARDBREAKS
_lib.cmark_gfm_core_extensions_ensure_registered()
_EXTENSIONS = [
    _lib.cmark_find_syntax_extension(name) for name in (b"autolink", b"strikethrough", b"table")
]

# Parsers at rest, one for each OS thread that ever parsed at the same time as others: what is made
# anew for each text is a quarter of parsing. cmark_parser_finish leaves one as it was, but for its
# text. Any: cffi pointers.
_idle: list[Any] = []

# Blockquotes and lists of one comment. An HTML parser looks through all open ones at each new tag,
# so 8,000 nested ones take 120 ms and 100,000 take 20 s. A text with more is shown as it was typed.
CONTAINERS = 256
_CONTAINER = re.compile(r"<(?:blockquote|ul|ol)[ >]").findall

_HEADING = re.compile(r"<(/?)h([1-6])>").sub
_IGNORED_IN_HREF = re.compile(r"[\x00-\x20]+").sub  # WHATWG URL 4.4 strips or ends at these


def _own_host_only(url: str) -> str | None:
    """Keep a relative link that stays on the blog's host; drop ``//host`` in every spelling."""
    return None if _IGNORED_IN_HREF("", url[:64]).replace("\\", "/").startswith("//") else url


_TAGS = "a blockquote br code del em h4 h5 h6 hr li ol p pre strong table tbody td th thead tr ul"
_REL = "nofollow ugc noopener"
_CLEANER = nh3.Cleaner(
    tags=set(_TAGS.split()),
    attributes={"a": {"href", "title"}, "ol": {"start"}, "td": {"align"}, "th": {"align"}},
    url_schemes={"http", "https", "mailto"},
    url_relative=_own_host_only,
    link_rel=_REL,
)


# What needs no HTML parser: paragraphs of text, in them emphasis, code and links to plain
# addresses, none within another. No two ways through a text exist, which keeps the pattern linear.
# Hosts have no two hyphens in a row, as encoded names do, and end in letters, as no IPv4 address
# does: so nh3 can read all of them.
_LETTERS = r'[^<>&"\x00-\x09\x0b-\x1f\x7f\xa0]*'
_WORDS = f"{_LETTERS}(?:&(?:amp|lt|gt|quot);{_LETTERS})*"
_ADDRESS = r"https?://(?:[a-z0-9]+[.-])+[a-z]+(?:/[A-Za-z0-9./_~-]*)?"
_BARE = "|".join(f"{tag}>{_WORDS}</{tag}>" for tag in ("em", "strong", "code", "del"))
_INLINE = f'<(?:{_BARE}|br />|a href="{_ADDRESS}">{_WORDS}</a>)'
_is_simple = re.compile(f"(?:<p>{_WORDS}(?:{_INLINE}{_WORDS})*</p>\n)*").fullmatch


def render(source: str) -> str:
    """Give the HTML of the Markdown `source`, safe to be put into any page.

    `source` has no lone surrogates; NUL becomes U+FFFD. Never fails on any other text.
    """
    html = parse(source)
    return clean_simple(html) if is_simple(html) else clean(html)


def is_simple(html: str) -> bool:
    """Say whether `html` needs no HTML parser to be made clean."""
    return _is_simple(html) is not None


def clean_simple(html: str) -> str:
    """Give what `clean` gives for simple HTML, in a tenth of the time."""
    if '"' in html:  # which is found in links only
        html = html.replace('">', f'" rel="{_REL}">')
    return html.replace("<br />", "<br>").replace("&quot;", '"')


def clean(html: str) -> str:
    """Keep of any HTML only what the allow-list names."""
    return _CLEANER.clean(html)


def parse(source: str) -> str:
    """Give cmark's HTML of the Markdown `source`, without images and raw HTML."""
    data = source.encode()
    try:
        parser = _idle.pop()
    except IndexError:
        parser = _new_parser()
    _lib.cmark_parser_feed(parser, data, len(data))
    root = _lib.cmark_parser_finish(parser)
    _idle.append(parser)
    if "<" in source or "![" in source:
        _tame(root)
    raw = _lib.cmark_render_html(root, _OPTIONS, _ffi.NULL)
    _node_free(root)
    html: str = _ffi.string(raw).decode()
    _html_free(raw)
    if len(html) > 11 * CONTAINERS and len(_CONTAINER(html)) > CONTAINERS:
        html = "<p>" + escape(source, quote=False).replace("\n", "<br>") + "</p>"
    if "<h" in html:
        html = _HEADING(lambda match: f"<{match[1]}h{min(int(match[2]) + 3, 6)}>", html)
    return html


def _new_parser() -> Any:
    """Give a parser that knows our extensions. Any: a cffi pointer."""
    parser = _lib.cmark_parser_new(_OPTIONS)
    for extension in _EXTENSIONS:
        _lib.cmark_parser_attach_syntax_extension(parser, extension)
    return parser


def links(html: str) -> int:
    """Count the links in what `render` gave."""
    return html.count("<a ")


def _tame(root: Any) -> None:
    """Turn raw HTML into text and images into links, in the tree `root`. Any: a cffi pointer."""
    walk = _iter_new(root)
    while (event := _iter_next(walk)) != _DONE:
        node = _iter_node(walk)
        kind = _lib.cmark_node_get_type(node)
        if kind == _HTML_INLINE:
            text = _ffi.string(_literal(node))
            _set_type(node, _TEXT)
            _set_literal(node, text)
        elif kind == _HTML_BLOCK:
            text = _ffi.string(_literal(node)).strip(b"\n")
            _set_type(node, _PARAGRAPH)
            child = _node_new(_TEXT)
            _set_literal(child, text)
            _append(node, child)
        elif kind == _IMAGE and event == _ENTER:
            address = _ffi.string(_url(node))
            _set_type(node, _LINK)
            _set_url(node, address)
    _iter_free(walk)

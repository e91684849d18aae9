"""Markdown: a comment's Markdown becomes HTML that is safe on any page.

There are two independent protections. comrak parses GitHub's Markdown (autolinks, strikethrough,
tables, task lists, footnotes; a newline is a line break, as readers expect of a comment field). It
escapes raw HTML, which is thus shown as text, so that ``List<String>`` stays visible. An image of
another host becomes a link to it, since loading it would tell that host who reads the page. See
`comments.images` for our own. Headings start at h4, below those of the page. The boxes of task
lists become characters, which need no label. See `footnotes`, `formulas` and `people` for what
becomes of these.
Then nh3, a complete HTML5 parser, removes everything that is not on the allow-list. Each of the two
would be enough alone. HTML in which each "<" begins a tag of a shorter list, without attributes, or
a plain link skips nh3 (`is_plain`): it would only add `rel` to the links.

Some Markdown becomes much larger as HTML: a table fills missing cells, a reference repeats its URL
and title. `render` bounds that (`EXPANSION`, `ALLOWANCE`): a text that would exceed it, or that
nests too deeply, is shown as plain text.

docs/architecture.md says why comrak was chosen.
"""

import re
from collections.abc import Mapping
from html import escape
from types import MappingProxyType
from typing import Final

import comrak
import nh3

from commentsvc.comments import footnotes, formulas, people

# The HTML of a text has at most EXPANSION times its bytes, and ALLOWANCE bytes more.
EXPANSION: Final = 8
ALLOWANCE: Final = 4_096

# The most blockquotes and lists of one comment. An HTML parser searches all open ones at each new
# tag, so 8,000 nested ones take 120 ms and 100,000 take 20 s.
CONTAINERS: Final = 256
_CONTAINER: Final = re.compile(r"<(?:blockquote|ul|ol)[ >]").findall

# The most references to footnotes; in a text with more, footnotes stay as typed. 2,000 take 28 ms.
REFERENCES: Final = 256

_LINE: Final = re.compile(r"\r\n?|\n").split
_CELL: Final = len("<td></td>\n")


def _extensions(math: bool, notes: bool) -> comrak.ExtensionOptions:
    extensions = comrak.ExtensionOptions()
    extensions.autolink = extensions.strikethrough = extensions.table = extensions.tasklist = True
    extensions.math_dollars = extensions.math_code = math
    extensions.footnotes = notes
    return extensions


# By whether formulas and footnotes are recognised.
_EXTENSIONS: Final = {
    (math, notes): _extensions(math, notes) for math in (False, True) for notes in (False, True)
}
_OPTIONS: Final = comrak.RenderOptions()
_OPTIONS.escape = _OPTIONS.hardbreaks = _OPTIONS.tasklist_classes = True

NOBODY: Final = MappingProxyType[str, int]({})

# comrak's HTML has "<" and quotation marks in its own tags only.
_HEADING: Final = re.compile(r"<(/?)h([1-6])>").sub
_IMAGE: Final = re.compile(r'<img src="([^"]*)" alt="([^"]*)"( title="[^"]*")? />').sub
_BOX: Final = re.compile(
    r'<input type="checkbox" class="task-list-item-checkbox"( checked="")? disabled="" />'
).sub
# A block of raw HTML: text on lines of its own that no tag encloses.
_RAW_BLOCK: Final = re.compile(r"(^|(?<!<br /)>\n)([^<\n][^<]*)\n(?=<|\Z)").sub

_IGNORED_IN_HREF = re.compile(r"[\x00-\x20]+").sub  # WHATWG URL, 4.4: parsers strip these


def _own_host_only(url: str) -> str | None:
    """Return a relative link that stays on the blog's host, None for ``//host`` in any spelling."""
    return None if _IGNORED_IN_HREF("", url[:64]).replace("\\", "/").startswith("//") else url


# The values that the sanitizer keeps, by the names of attributes; others may have any value.
_VALUES: Final = {
    "class": re.compile(r"language-[A-Za-z0-9+#._-]{1,32}|contains-task-list").fullmatch,
    **footnotes.VALUES,
    **formulas.VALUES,
}


def _filter(_: str, name: str, value: str) -> str | None:
    return value if name not in _VALUES or _VALUES[name](value) else None


_REL: Final = "nofollow ugc noopener"

# Any tag except the common ones without attributes, and links to a host with a name whose text has
# no tag. Searching for one takes 1 µs, the sanitizer 12 µs, which is a tenth of a submission.
_OTHER_TAG: Final = re.compile(
    r"<(?!/?(?:p|code|em|strong|del)>|br />|/a>"
    r'|a href="https?://(?:[a-z0-9]+(?:-[a-z0-9]+)*\.)+[a-z]{2,}(?:/[\w.~/%?=&;#+-]*)?">[^<]*</a>)',
    re.ASCII,
).search

_TAGS = (
    "a blockquote br code del em h4 h5 h6 hr li ol p pre section strong sup table tbody td th thead"
    " tr ul"
)


def _cleaner(*schemes: str) -> nh3.Cleaner:
    """Return a sanitizer that keeps links with these schemes."""
    return nh3.Cleaner(
        tags={*_TAGS.split(), *formulas.TAGS},
        attributes={
            "a": {"href", "title", "id", "role"},
            "code": {"class"},
            "li": {"id"},
            "ol": {"start"},
            "section": {"role"},
            "td": {"align"},
            "th": {"align"},
            "ul": {"class"},
            **formulas.ATTRIBUTES,
        },
        attribute_filter=_filter,
        url_schemes=set(schemes),
        url_relative=_own_host_only,
        link_rel=_REL,
    )


_CLEANER: Final = _cleaner("http", "https", "mailto")
# Also keeps links to our own images, which `_show_images` replaces.
_CLEANER_WITH_IMAGES: Final = _cleaner("http", "https", "mailto", "image")
_LINKED_IMAGE: Final = re.compile(r'<a href="image:([^"]*)"[^>]*>(.*?)</a>', re.DOTALL).sub
_SIZED: Final = re.compile(r"[0-9a-f]{32}-([0-9]{1,4})x([0-9]{1,4})").fullmatch
_ANY_TAG: Final = re.compile(r"<[^>]*>").sub


def render(
    source: str, math: bool = False, named: Mapping[str, int] = NOBODY, images: str = ""
) -> str:
    """Return the HTML of the Markdown `source`, safe for any page.

    It has at most `EXPANSION` times the bytes of `source` and `ALLOWANCE` more. NUL becomes U+FFFD.
    `source` must not contain lone surrogates; every other text can be rendered. With `math`,
    formulas become MathML. ``@Name`` leads to the comment that `named` has for that name. `images`
    is the address of the service if it shows images (see `comments.images`).
    """
    most = EXPANSION * len(source.encode()) + ALLOWANCE
    if "|" not in source or _table_cells(source) * _CELL <= most:
        html = parse(source, math, named)
        if len(html.encode()) <= most and not _is_nested(html):
            if is_plain(html):
                html = clean_plain(html)
            elif 'href="image:' in html:
                html = _show_images(_CLEANER_WITH_IMAGES.clean(html), images)
            else:
                html = clean(html)
            if len(html.encode()) <= most:
                return html
    return clean("<p>" + escape(source, quote=False).replace("\n", "<br>") + "</p>")


def is_plain(html: str) -> bool:
    """Return whether comrak's `html` has only plain links and tags without attributes."""
    return "\r" not in html and not _OTHER_TAG(html)


def clean_plain(html: str) -> str:
    """Return what `clean` returns for plain HTML of comrak, in a tenth of the time."""
    if '">' in html:
        html = html.replace('">', f'" rel="{_REL}">')
    return html.replace("<br />", "<br>").replace("&quot;", '"')


def clean(html: str) -> str:
    """Return `html` with only the tags and attributes of the allow-list."""
    return _CLEANER.clean(html)


def _show_images(html: str, base: str) -> str:
    """Return cleaned HTML with an image in place of each link to one; without `base`, with text."""

    def show(match: re.Match[str]) -> str:
        sized = _SIZED(match[1])
        if not base or sized is None:
            return match[2]
        alt = _ANY_TAG("", match[2]).replace('"', "&quot;")
        return (
            f'<img src="{escape(base)}/images/{match[1]}.webp" alt="{alt}"'
            f' width="{sized[1]}" height="{sized[2]}" loading="lazy">'
        )

    return _LINKED_IMAGE(show, html)


def parse(source: str, math: bool = False, named: Mapping[str, int] = NOBODY) -> str:
    """Return comrak's HTML for the Markdown `source`, without images and raw HTML."""
    extensions = _EXTENSIONS[math, source.count("[^") <= REFERENCES]
    html = comrak.render_markdown(source, extensions, None, _OPTIONS)
    if "<h" in html:
        html = _HEADING(lambda match: f"<{match[1]}h{min(int(match[2]) + 3, 6)}>", html)
    if "<im" in html:
        html = _IMAGE(r'<a href="\1"\3>\2</a>', html)
    if "<in" in html:
        html = _BOX(lambda match: "☑" if match[1] else "☐", html)
    if "&lt;" in html:
        html = _RAW_BLOCK(lambda match: f"{match[1]}<p>{match[2].strip()}</p>\n", html)
    if "<sup" in html:
        html = footnotes.renumber(html, source)
    if math and "data-math" in html:
        room = (EXPANSION * len(source.encode()) + ALLOWANCE - len(html.encode())) // 2
        html = formulas.convert(html, room)
    return people.link(html, named) if named else html


def links(html: str) -> int:
    """Return the number of links in the HTML of `render`, without those within the page."""
    return html.count("<a ") - html.count('<a href="#')


def _table_cells(source: str) -> int:
    """Return an upper bound for the number of cells of all tables in `source`.

    Columns are counted in delimiter rows, as in ``|-|:-:|``; rows end at a blank line. Both may be
    in blockquotes and lists.
    """
    cells = columns = 0
    for line in _LINE(source):
        if not line.strip(" \t>"):
            columns = 0
        elif not line.strip(" \t\v\f>|:-"):
            columns = max(columns, line.count("|") + 1)
        cells += columns
    return cells


def _is_nested(html: str) -> bool:
    """Return whether `html` has more than `CONTAINERS` blockquotes and lists."""
    return len(html) > CONTAINERS * len("<ul></ul>") and len(_CONTAINER(html)) > CONTAINERS

"""Markdown: a comment's Markdown becomes HTML that is safe on any page.

There are two independent protections. comrak parses GitHub's Markdown (autolinks, strikethrough,
tables, task lists, footnotes; a newline is a line break, as readers expect of a comment field) with
three differences: more links (see `bare_links`), emphasis beside Chinese, Japanese and Korean, and
one "~" does not strike. It escapes raw HTML, which is thus shown as text, so that ``List<String>``
stays visible. An image of another host becomes a link to it, since loading it would tell that host
who reads the page. See `comments.images` for our own. Headings start at h4, below those of the
page. The boxes of task lists become characters, which need no label. See `footnotes`, `formulas`,
`people` and `directions` for what becomes of these.
Then nh3, a complete HTML5 parser, removes everything that is not on the allow-list. Each of the two
would be enough alone. Our pictures and formulas go in before it; what it returns is stored, and
nothing that shows a comment changes it any more. (Imported HTML of plain paragraphs alone does
without it, see `html_to_markdown`.)

The HTML has no blank line, since one would end it in a client that takes it for Markdown (Artalk).

Some Markdown becomes much larger as HTML: a table fills missing cells, a reference repeats its URL
and title. `render` bounds that (`EXPANSION`, `ALLOWANCE`): a text that would exceed it, or that
nests too deeply, is shown as plain text.

docs/architecture.md says why comrak was chosen.
"""

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache
from html import escape, unescape
from types import MappingProxyType
from typing import Final
from urllib.parse import urljoin

import comrak
import nh3

from commentsvc.markup import bare_links, directions, footnotes, formulas, image_names, people
from commentsvc.util.text import is_visible, with_few_marks

# The HTML of a text has at most EXPANSION times its bytes, and ALLOWANCE bytes more.
EXPANSION: Final = 8
ALLOWANCE: Final = 4_096

# The most blockquotes and lists of one comment. An HTML parser searches all open ones at each new
# tag, so 8,000 nested ones take 120 ms and 100,000 take 20 s.
CONTAINERS: Final = 256
_CONTAINER: Final = re.compile(r"<(?:blockquote|ul|ol)[ >]").findall

# The most references to footnotes; in a text with more, footnotes stay as typed. 2,000 take 28 ms.
REFERENCES: Final = 256

# The most links of a comment that become absolute elsewhere; 256 would take 2 ms.
LINKS: Final = 64

_LINE: Final = re.compile(r"\r\n?|\n").split
_CELL: Final = len("<td></td>\n")


def _extensions(math: bool, notes: bool) -> comrak.ExtensionOptions:
    extensions = comrak.ExtensionOptions()
    extensions.autolink = extensions.strikethrough = extensions.table = extensions.tasklist = True
    extensions.cjk_friendly_emphasis = True
    extensions.subscript = True  # what one "~" means, which `parse` then leaves as it is
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
# A link whose address the sanitizer removed.
_DEAD_LINK: Final = re.compile(r'<a(?: (?!href=)[a-z]+="[^"]*")*>(.*?)</a>', re.DOTALL).sub
_OWN_IMAGE: Final = re.compile(rf"image:({image_names.NAME})").fullmatch
_BOX: Final = re.compile(
    r'<input type="checkbox" class="task-list-item-checkbox"( checked="")? disabled="" />'
).sub
# A block of raw HTML: text on lines of its own that no tag encloses.
_RAW_BLOCK: Final = re.compile(r"(^|(?<!<br /)>\n)([^<\n][^<]*)\n(?=<|\Z)").sub

# The first line end of <pre>, or one before an empty line.
_UNSTABLE_LINE: Final = re.compile(r"<pre(?: dir=\"...\")?>\n|\n[ \t]*\n").search
_PRE_LINE: Final = re.compile(r"(<pre(?: dir=\"...\")?>)\n").sub
_EMPTY_LINE: Final = re.compile(r"\n[ \t]*(?=\n)").sub
_BEFORE_EMPTY_LINE: Final = re.compile(r"\n(?=[ \t]*\n)").sub
_TAG: Final = re.compile("<[^>]*>").sub
_PREFORMATTED: Final = re.compile("(<pre[ >].*?</pre>)", re.DOTALL).split

# How often HTML of others is sanitized until nothing changes any more; twice is usual.
PASSES: Final = 6

_IGNORED_IN_HREF = re.compile(r"[\x00-\x20]+").sub  # WHATWG URL, 4.4: parsers strip these


def _own_host_only(url: str) -> str | None:
    """Return a relative link that stays on the blog's host, None for ``//host`` in any spelling.

    An empty one is none: comrak leaves it of an address that is dangerous.
    """
    start = _IGNORED_IN_HREF("", url[:64]).replace("\\", "/")
    return url if start and not start.startswith("//") else None


# The values that the sanitizer keeps, by the names of attributes; others may have any value.
_VALUES: Final = {
    "class": re.compile(r"language-[A-Za-z0-9+#._-]{1,32}|contains-task-list").fullmatch,
    "dir": re.compile("ltr|rtl|auto").fullmatch,
    **footnotes.VALUES,
    **formulas.VALUES,
}
_OF_CODE: Final = {**_VALUES, "dir": re.compile("ltr").fullmatch}
_MAY_BE_RELATIVE: Final = re.compile('href="(?!https?://|mailto:)').search
_IMAGE_FILE: Final = re.compile(rf".*/images/({image_names.NAME}\.webp)").fullmatch
_OF_NOTE: Final = re.compile("#commentsvc-(?:note|ref)-").match
_REL: Final = "nofollow ugc noopener"
_TAGS = (
    "a blockquote br code del em h4 h5 h6 hr li ol p pre section strong sup table tbody td th thead"
    " tr ul"
)


def _attribute_filter(service: str) -> Callable[[str, str, str], str | None]:
    """Return the filter that keeps the values above, and pictures of ours at `service` alone."""
    of_image = {
        "src": re.compile(rf"{re.escape(service)}/images/{image_names.NAME}\.webp").fullmatch,
        "width": re.compile("[0-9]{1,4}").fullmatch,
        "height": re.compile("[0-9]{1,4}").fullmatch,
        "loading": re.compile("lazy").fullmatch,
    }

    def kept(tag: str, name: str, value: str) -> str | None:
        is_code = tag in ("code", "math", "pre")
        values = of_image if tag == "img" else _OF_CODE if is_code else _VALUES
        return value if name not in values or values[name](value) else None

    return kept


_ATTRIBUTES: Final[dict[str, set[str]]] = {
    "*": {"dir"},
    "a": {"href", "title", "id", "role"},
    "code": {"class"},
    "img": {"src", "alt", "width", "height", "loading"},
    "li": {"id"},
    "ol": {"start"},
    "section": {"role"},
    "td": {"align"},
    "th": {"align"},
    "ul": {"class"},
    **formulas.ATTRIBUTES,
}
_SCHEMES: Final = {"http", "https", "mailto"}


@lru_cache(16)
def _cleaner(service: str) -> nh3.Cleaner:
    """Return the sanitizer; it keeps pictures of ours if `service` is our address, not ""."""
    return _new_cleaner(_own_host_only, _attribute_filter(service), pictures=bool(service))


def _new_cleaner(
    relative: Callable[[str], str | None],
    kept: Callable[[str, str, str], str | None] | None = None,
    *,
    pictures: bool,
) -> nh3.Cleaner:
    """Return a sanitizer; `relative` gives the URL for a relative one, `kept` an attribute."""
    return nh3.Cleaner(
        tags={*_TAGS.split(), *formulas.TAGS, *(("img",) if pictures else ())},
        attributes=_ATTRIBUTES,
        attribute_filter=kept,
        url_schemes=_SCHEMES,
        url_relative=relative,
        link_rel=_REL,
    )


def render(
    source: str, math: bool = False, named: Mapping[str, int] = NOBODY, service: str = ""
) -> str:
    """Return the HTML of the Markdown `source`, safe for any page.

    It has at most `EXPANSION` times the bytes of `source` and `ALLOWANCE` more. NUL becomes U+FFFD.
    `source` must not contain lone surrogates; every other text can be rendered. With `math`,
    formulas become MathML. ``@Name`` leads to the comment that `named` has for that name. `service`
    is the address of the service if it shows images (see `comments.images`).
    """
    most = EXPANSION * len(source.encode()) + ALLOWANCE
    if "|" not in source or _table_cells(source) * _CELL <= most:
        html = parse(source, math, named, service)
        if len(html.encode()) <= most and not _is_nested(html):
            marked = directions.mark(html)
            html = _sanitized(marked if len(marked.encode()) <= most else html, service)
            if len(html.encode()) <= most:
                return html
    return _as_typed(source)


def clean(html: str) -> str:
    """Return HTML of others with only the tags and attributes of the allow-list, without pictures.

    Removing a tag can change how a browser nests the others, and thereby what the sanitizer would
    find. So it is repeated until it finds nothing; HTML for which that takes long becomes text.
    """
    for _ in range(PASSES):
        known, html = html, _sanitized(with_few_marks(html))
        if html == known:
            marked = directions.mark(html)
            return html if marked == html else _sanitized(marked)
    return _as_typed(html)


def _as_typed(text: str) -> str:
    html = "<p>" + "<br>".join(_LINE(escape(text, quote=False))) + "</p>"
    return _sanitized(directions.mark(html))


def _sanitized(html: str, service: str = "") -> str:
    """Return `html` with what is on the allow-list, and without empty lines.

    Pictures are not on it, except for ours at the address `service`, unless that is "". A link
    without an address that browsers understand becomes text. Whatever is changed is sanitized once
    more. HTML whose elements are nested as they should be would not change by another pass.
    """
    cleaner = _cleaner(service)
    html = cleaner.clean(html)
    if _is_unstable(html):
        html = cleaner.clean(_without_empty_lines(html))
    live = _DEAD_LINK(r"\1", html) if "<a" in html else html
    return html if live == html else cleaner.clean(live)


def _is_unstable(html: str) -> bool:
    """Return whether sanitized HTML has an empty line, or a parser would change it once more.

    It changes carriage returns, which "&#13;" leaves, and the first line end of <pre>. Most
    comments are one paragraph, whose only line end is behind it.
    """
    return "\r" in html or ("\n" in html[:-1] and _UNSTABLE_LINE(html) is not None)


def parse(
    source: str, math: bool = False, named: Mapping[str, int] = NOBODY, service: str = ""
) -> str:
    """Return comrak's HTML for `source`, without raw HTML and pictures of others; see `render`."""
    extensions = _EXTENSIONS[math, source.count("[^") <= REFERENCES]
    html = with_few_marks(bare_links.render(source, extensions, _OPTIONS))  # "&#769;" is one, too
    if "<sub>" in html:
        html = html.replace("<sub>", "~").replace("</sub>", "~")
    if "<h" in html:
        html = _HEADING(lambda match: f"<{match[1]}h{min(int(match[2]) + 3, 6)}>", html)
    if "<im" in html:
        html = _IMAGE(lambda match: _shown_image(match, service), html)
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


def _shown_image(image: re.Match[str], service: str) -> str:
    """Return the HTML of an image: ours, if they are shown; a link to that of another host."""
    url, alt, title = image.groups("")
    if not url.startswith("image:"):
        return f'<a href="{url}"{title}>{alt}</a>'
    own = _OWN_IMAGE(url)
    if not own or not service:
        return alt
    width, height = image_names.size(own[1])
    return (
        f'<img src="{escape(service)}/images/{own[1]}.webp" alt="{alt}"'
        f' width="{width}" height="{height}" loading="lazy">'
    )


def _without_empty_lines(html: str) -> str:
    """Return HTML that looks the same; code has an element without content in an empty line."""
    html = _PRE_LINE(r"\1<em></em>\n", html.replace("\r\n", "\n").replace("\r", "\n"))
    parts = _PREFORMATTED(_TAG(lambda match: match[0].replace("\n", " "), html))
    parts[::2] = [_EMPTY_LINE("", part) for part in parts[::2]]
    parts[1::2] = [_BEFORE_EMPTY_LINE("\n<em></em>", part) for part in parts[1::2]]
    return "".join(parts)


def absolute(html: str, page: str, keeps_notes: bool = False) -> str:
    """Return HTML of `render` or `clean` to be read elsewhere than on `page`, its page's address.

    Each link that is relative to the page becomes absolute. With `keeps_notes`, those to and from
    footnotes do not, since the notes come along. All links stay as they are without an address, if
    there are more than LINKS, or if the HTML could become twice as long and ALLOWANCE longer.
    """
    if "://" not in page or not _MAY_BE_RELATIVE(html):
        return html
    number = html.count('href="')
    if number > LINKS or number * len(page) > ALLOWANCE + len(html):
        return html

    def resolved(url: str) -> str | None:
        if keeps_notes and _OF_NOTE(url):
            return url
        with suppress(ValueError):
            return urljoin(page, url)
        return None

    return _new_cleaner(resolved, pictures=True).clean(html)


def with_images_in(html: str, folder: str) -> str:
    """Return HTML of `render` or `absolute` whose images are the files of their names in `folder`.

    `folder` is an address that ends with a slash, and may be relative.
    """
    if "<img " not in html:
        return html

    def kept(tag: str, attribute: str, value: str) -> str:
        found = _IMAGE_FILE(value) if (tag, attribute) == ("img", "src") else None
        return folder + found[1] if found else value

    return _new_cleaner(str, kept, pictures=True).clean(html)


def is_blank(html: str) -> bool:
    """Return whether HTML shows neither a character nor a picture."""
    return "<img" not in html and not is_visible(unescape(_TAG("", html)))


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

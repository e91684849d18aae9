"""Texts of other systems: makes the source and the HTML of a comment from a text of an export.

Markdown is rendered like that of our readers. HTML is sanitized and kept; its source becomes
Markdown with the same content, for later edits. Other systems allow HTML in Markdown: such a text
is rendered with the HTML, and then handled as HTML.
"""

import re
from html import escape, unescape
from typing import Final, Literal, NamedTuple, TypeAlias

import comrak

from commentsvc.markup import bare_links, directions, html_lines, markdown
from commentsvc.util.text import is_visible, with_few_marks, without_blank_lines

# The markup of a text; see `html_lines` for that of WordPress.
Markup: TypeAlias = Literal["html", "html_lines", "markdown", "text"]

# Tags of other systems, and the tags of our HTML that replace them.
_RENAMED: Final = {
    "b": "strong", "i": "em", "s": "del", "strike": "del", "tt": "code", "kbd": "code",
    "samp": "code", "h1": "h4", "h2": "h5", "h3": "h6", "div": "p", "cite": "em", "ins": "em",
}  # fmt: skip
_RENAME: Final = re.compile(rf"<(/?)({'|'.join(_RENAMED)})(?=[\s>/])", re.IGNORECASE)
_QUOTE: Final = re.compile(r"<(/?)q(?=[\s>])[^<>]{0,1000}>", re.IGNORECASE)  # shown with marks
_IMAGE: Final = re.compile(r"<img\b([^>]*)>", re.IGNORECASE)
_SRC: Final = re.compile(r"\bsrc\s*=\s*(?:\"([^\"]*)\"|'([^']*)')", re.IGNORECASE)
_ALT: Final = re.compile(r"\balt\s*=\s*(?:\"([^\"]*)\"|'([^']*)')", re.IGNORECASE)
# A tag that is probably meant as HTML in Markdown.
_HAS_TAG: Final = re.compile(
    r"</(?:p|a|b|i|u|em|strong|blockquote|pre|code|ul|ol|li|div|span|del|h[1-6]|kbd|img)>"
    r"|<(?:br|hr|img|p)\b[^<>]*>",
    re.IGNORECASE,
)
_CODE: Final = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]+`", re.DOTALL)
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")

_EXTENSIONS: Final = comrak.ExtensionOptions()
_EXTENSIONS.autolink = _EXTENSIONS.strikethrough = _EXTENSIONS.table = True
_EXTENSIONS.cjk_friendly_emphasis = True
_OPTIONS: Final = comrak.RenderOptions()
_OPTIONS.unsafe_ = _OPTIONS.hardbreaks = True

_TOKEN: Final = re.compile(r"(<[^>\"]*(?:\"[^\"]*\"[^>\"]*)*>)")
_HREF: Final = re.compile(r'href="([^"]*)"')
# Characters that are special in Markdown: anywhere, or at the beginning of a line.
_INLINE: Final = r"([\\`*\[~]|(?<![^\W_])_|_(?![^\W_])|%s(?=[A-Za-z/!?])|%s(?=#?\w+;))"
_BEGINNING: Final = r"^([ ]*+)(\#{1,6}(?=\s|$)|[+-](?=\s|$)|\d+[.)](?=\s|$)|%s|=+$|[-|: ]+$)"
_SPECIAL: Final = re.compile(f"{_INLINE % ('<', '&')}|{_BEGINNING % '>'}", re.MULTILINE)
# The same in HTML, with the tags that do not depend on the text around them.
_SIMPLE: Final = re.compile(
    r"<(/?)(p|br|a|strong|em|del)\b((?:[^>\"]|\"[^\"]*\")*)>|" + _INLINE % ("&lt;", "&amp;")
)
_DIRECTION: Final = re.compile(r"(<[a-z0-9]+\b(?:[^>\"]|\"[^\"]*\")*?) dir=\"[a-z]*\"")
_SIMPLE_TAG: Final = re.compile(r"<(/?)(p|br|a|strong|em|del)\b((?:[^>\"]|\"[^\"]*\")*)>()")
_SPECIAL_CHARACTERS: Final = ("\\", "`", "*", "[", "~", "_", "&lt;", "&amp;")
_BLOCKS: Final = re.compile(r"<(?!/?(?:p|br|a|strong|em|del)\b)")
# The plain paragraphs of most comments: the sanitizer changes nothing in them. It writes a no-break
# space as an entity.
_PARAGRAPHS: Final = re.compile(
    r"(?:<p>(?:[^<>&\xa0\n]++|<br>|&(?:amp|lt|gt);)*</p>\n?+)+"
).fullmatch
# One paragraph without anything that is special in Markdown.
_PLAIN_PARAGRAPH: Final = re.compile(r"<p>([^<>&\xa0\\`*\[~_\n]++)</p>").fullmatch
_LINE_BEGINNING: Final = re.compile(_BEGINNING % ">", re.MULTILINE)
_MAY_BE_MARKER: Final = re.compile(r"\n *[#+\-\d>=|:]")
_SPACES: Final = re.compile(r"[ \t\n]+")
_BLANK_LINES: Final = re.compile(r"\n\n+")
_LINE_END: Final = re.compile(r"\n[> ]*").fullmatch
_ENDS_PARAGRAPH: Final = frozenset(
    ("p", "table", "h4", "h5", "h6", "hr", "blockquote", "ul", "ol", "pre")
)
_MARKS: Final = {"strong": "**", "em": "*", "del": "~~"}
_BEGINS: Final = {
    "strong": "**", "em": "*", "del": "~~", "h4": "# ", "h5": "## ", "h6": "### ",
    "td": " ", "th": " ",
}  # fmt: skip


class CommentText(NamedTuple):
    """A comment's text. `kept` is True if `html` differs from the rendered `source`."""

    source: str
    html: str
    kept: bool


def read(text: str, markup: Markup) -> CommentText:
    """Return the text of a comment; its source is "" if it is empty."""
    if not text.isprintable() and _CONTROL.search(text):  # the first test is much faster
        text = _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    text = with_few_marks(without_blank_lines(text) if markup == "markdown" else text.strip())
    if not is_visible(text):
        return CommentText("", "", False)
    if markup == "text":
        return _plain(text)
    if markup == "markdown":
        if "<" not in text or not _HAS_TAG.search(_CODE.sub("", text)):
            return CommentText(text, markdown.render(text), False)
        text = bare_links.render(text, _EXTENSIONS, _OPTIONS)
    elif markup == "html_lines":
        return _html_lines(text)
    elif "<" not in text and "&" not in text:
        return _plain(text)
    elif "\n" in text and not html_lines.has_blocks(text):
        text = html_lines.paragraphs(text)
    return _html(text)


def _plain(text: str) -> CommentText:
    source = _SPECIAL.sub(_escaped, text)
    return CommentText(source, markdown.render(source), False)


def _html_lines(text: str) -> CommentText:
    linked = html_lines.linked(text)
    if "<" not in text and "&" not in text:
        plain = _plain(text)
        if _HREF.findall(plain.html) == _HREF.findall(linked):
            return plain
    return _html(html_lines.paragraphs(linked))


def _html(text: str) -> CommentText:
    # Most comments are plain paragraphs. The patterns admit nothing else, so that these do without
    # nh3, in a third of the time.
    if (plain := _PLAIN_PARAGRAPH(text)) and (source := plain[1].strip())[:1].isalpha():
        return CommentText(source, directions.mark(text), True)
    html = directions.mark(text) if _PARAGRAPHS(text) else _sanitized(text)
    if "<" not in html:
        html = markdown.clean(f"<p>{html}</p>") if html.strip() else ""
    source = to_markdown(html)
    return CommentText(source, html, True) if source else CommentText("", "", False)


def _sanitized(text: str) -> str:
    """Return HTML after the sanitizer, with tags of other systems replaced by ours."""
    if "<" in text:
        text = _RENAME.sub(lambda match: f"<{match[1]}{_RENAMED[match[2].lower()]}", text)
        text = _QUOTE.sub(lambda match: "”" if match[1] else "“", text)
        if "<im" in text or "<IM" in text:
            end = text.rfind(">")  # behind it, each "<img" would search the rest for one
            text = _IMAGE.sub(_link, text[: end + 1]) + text[end + 1 :]
    return markdown.clean(text)


def _link(image: re.Match[str]) -> str:
    """Return a link in place of an image, as in our Markdown."""
    src, alt = _SRC.search(image[1]), _ALT.search(image[1])
    if not src:
        return ""
    address = src[1] or src[2] or ""
    words = (alt and (alt[1] or alt[2])) or address
    return f'<a href="{address.replace(chr(34), "%22")}">{escape(unescape(words), quote=False)}</a>'


def _escaped(match: re.Match[str]) -> str:
    """Return a match of _SPECIAL with a backslash before the special character."""
    if match[1]:
        return "\\" + match[1]
    return match[2] + _escaped_marker(match[3])


def _escaped_marker(marker: str) -> str:
    return f"{marker[:-1]}\\{marker[-1]}" if marker[0].isdigit() else "\\" + marker


def to_markdown(html: str) -> str:
    """Return Markdown with the content of `html`, which `markdown.clean` has made."""
    html = html.replace("<em></em>", "")  # in empty lines
    if " dir=" in html:
        html = _DIRECTION.sub(r"\1", html)
    if _BLOCKS.search(html):
        return _Writer().convert(html)
    text = html.replace("\n", " ")
    is_special = any(map(text.__contains__, _SPECIAL_CHARACTERS))
    if not is_special:  # as in most comments: replacing is much faster than a pattern
        text = text.replace("<p>", "\n\n").replace("</p>", "\n\n").replace("<br>", "\n")
    if is_special or "<" in text:
        text = _with_marks(text, _SIMPLE if is_special else _SIMPLE_TAG)
    text = (unescape(text) if "&" in text else text).strip()
    if "\n" in text:
        lines = [line.strip(" ") for line in text.split("\n")]
        text = _BLANK_LINES.sub("\n\n", "\n".join(lines))
    if not _MAY_BE_MARKER.search(f"\n{text}"):
        return text
    return _LINE_BEGINNING.sub(lambda match: match[1] + _escaped_marker(match[2]), text)


def _with_marks(html: str, pattern: re.Pattern[str]) -> str:
    """Return HTML with Markdown in place of what `pattern` matches: tags and special characters."""
    links: list[str] = []

    def convert(match: re.Match[str]) -> str:
        closes, name, attributes, special = match.groups()
        if special:
            return "\\" + special
        if name in _MARKS:
            return _MARKS[name]
        if name == "a":
            if not closes:
                links.append(_address(attributes))
                return "[" if links[-1] else ""
            address = links.pop() if links else ""
            return f"](&lt;{address}&gt;)" if address else ""
        return "\n" if name == "br" else "\n\n"

    return pattern.sub(convert, html)


def _address(attributes: str) -> str:
    """Return the URL of a link, HTML-escaped, without characters that would end it in Markdown."""
    match = _HREF.search(attributes)
    return match[1].replace("&lt;", "%3C").replace("&gt;", "%3E") if match else ""


class _Writer:
    """Writes Markdown for sanitized HTML with nested blocks."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._prefix = ""  # of each line, for quotes and lists
        self._outer: list[str] = []  # the prefixes around it
        self._links: list[str] = []
        self._numbers: list[int] = []  # the number of the next item of each list; -1: no number
        self._lines = 2  # line ends after the last text
        self._raw = ""  # "pre" or "code" within one

    def convert(self, html: str) -> str:
        """Return the Markdown of `html`."""
        for part in _TOKEN.split(html):
            if part[:2] == "</":
                self._close(part[2:-1])
            elif part[:1] == "<":
                self._open(part[1:-1].split(" ", 1)[0], part)
            elif part:
                self._write(part)
        return "".join(self._parts).strip("\n")

    def _write(self, text: str) -> None:
        words = unescape(text)
        if self._raw == "pre":
            self._put(words.rstrip("\n").replace("\n", "\n" + self._prefix))
        elif self._raw:
            self._put(words)
        else:
            words = _SPACES.sub(" ", words)
            words = words.lstrip() if self._lines else words
            if words:
                self._put(_SPECIAL.sub(_escaped, words))

    def _put(self, text: str) -> None:
        self._parts.append(text)
        self._lines = 0

    def _line(self, number: int) -> None:
        """End the line; with `number` 2, add a blank line."""
        while self._lines < number:
            if self._lines:
                self._parts[-1] = self._parts[-1].rstrip(" ")
            self._parts.append("\n" + self._prefix)
            self._lines += 1

    def _open(self, name: str, tag: str) -> None:
        if name in _ENDS_PARAGRAPH and not (name in ("ul", "ol") and self._numbers):
            self._line(2)
        if name == "hr":
            self._put("---")
            self._line(2)
        elif begin := _BEGINS.get(name):
            self._put(begin)
        elif name == "code" and not self._raw:
            self._raw = name
            self._put("`")
        elif name == "a":
            self._links.append(unescape(_address(tag)))
            self._put("[" if self._links[-1] else "")
        else:
            self._open_block(name)

    def _open_block(self, name: str) -> None:
        match name:
            case "br":
                self._lines = 0
                self._line(1)
            case "tr":
                self._line(1)
            case "blockquote":
                self._indent("> ")
                self._parts.append("> ")
                self._lines = 2
            case "ul" | "ol":
                self._numbers.append(0 if name == "ol" else -1)
            case "li":
                self._item()
            case "pre":
                self._raw = name
                self._put("```\n" + self._prefix)

    def _close(self, name: str) -> None:
        match name:
            case "strong" | "em" | "del":
                self._put(_MARKS[name])
            case "code" if self._raw == name:
                self._raw = ""
                self._put("`")
            case "a" if self._links:
                if address := self._links.pop():
                    self._put(f"](<{address}>)")
            case "blockquote" | "li":
                self._outdent()
            case "ul" | "ol" if self._numbers:
                self._numbers.pop()
            case "pre":
                self._raw = ""
                self._put(f"\n{self._prefix}```")
        if name in _ENDS_PARAGRAPH and not self._numbers:
            self._line(2)

    def _item(self) -> None:
        self._line(1)
        marker = "- "
        if self._numbers and self._numbers[-1] >= 0:
            self._numbers[-1] += 1
            marker = f"{self._numbers[-1]}. "
        self._parts.append(marker)
        self._indent(" " * len(marker))
        self._lines = 2

    def _indent(self, prefix: str) -> None:
        self._outer.append(self._prefix)
        self._prefix += prefix

    def _outdent(self) -> None:
        """Return to the outer prefix, also for line ends already written."""
        if not self._outer:
            return
        while (
            self._parts and self._parts[-1].startswith("\n") and not self._parts[-1].strip("\n> ")
        ):
            self._parts.pop()
        self._prefix = self._outer.pop()
        self._lines = 0

"""markup: what Markdown gives, what no text can give, in bounded time and memory."""

import re
import time
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commentsvc.comments.markdown import (
    CONTAINERS,
    clean,
    clean_simple,
    is_simple,
    links,
    parse,
    render,
)

RENDERED = [
    ("Hello", "<p>Hello</p>\n"),
    ("a\nb", "<p>a<br>\nb</p>\n"),
    ("a\n\nb", "<p>a</p>\n<p>b</p>\n"),
    ("*a* **b** ~~c~~ `d`", "<em>a</em> <strong>b</strong> <del>c</del> <code>d</code>"),
    ("> a", "<blockquote>\n<p>a</p>\n</blockquote>\n"),
    ("- a\n- b", "<ul>\n<li>a</li>\n<li>b</li>\n</ul>\n"),
    ("3. a", '<ol start="3">\n<li>a</li>\n</ol>\n'),
    ("---", "<hr>\n"),
    ("```py\na < b\n```", "<pre><code>a &lt; b\n</code></pre>\n"),
    ("# a", "<h4>a</h4>\n"),
    ("##### a", "<h6>a</h6>\n"),
    ("|a|\n|:-:|\n|b|", '<td align="center">b</td>'),
    ("www.blog.example", '<a href="http://www.blog.example" rel="nofollow ugc noopener">'),
    ("ann@blog.example", '<a href="mailto:ann@blog.example" rel="nofollow ugc noopener">'),
    ('[a](/b/ "c")', '<a href="/b/" title="c" rel="nofollow ugc noopener">a</a>'),
    ("![a](https://i.example/b.png)", '<a href="https://i.example/b.png" rel="nofollow'),
    ("List<String> and a < b", "<p>List&lt;String&gt; and a &lt; b</p>\n"),
    ("<div>\nhi\n</div>", "<p>&lt;div&gt;\nhi\n&lt;/div&gt;</p>\n"),
    ("<!-- a -->", "<p>&lt;!-- a --&gt;</p>\n"),
    ("a\x00b", "<p>a\N{REPLACEMENT CHARACTER}b</p>\n"),
    ("", ""),
]

ATTACKS = [
    "<script>alert(1)</script>",
    "<ScRiPt src=//evil.example/x.js></sCrIpT>",
    "<img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    "<iframe srcdoc='<script>alert(1)</script>'>",
    "<a href='javascript:alert(1)'>x</a>",
    "<style>*{background:url(//evil.example)}</style>",
    "<base href=//evil.example>",
    "<form action=//evil.example><button>x",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "<p style='position:fixed'>x</p>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](java\nscript:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](javascript&colon;alert(1))",
    "[x](vbscript:x)",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](file:///etc/passwd)",
    "[x](ftp://evil.example/)",
    "[x](//evil.example/)",
    "[x](/\\evil.example/)",
    "[x](\\\\evil.example/)",
    "[x](</\t/evil.example/>)",
    "[x](<  //evil.example/>)",
    '[x](/a "onclick=alert(1)")',
    '[x](/a"onclick="alert(1))',
    "![x](javascript:alert(1))",
    '![x" onerror="alert(1)](y)',
    "[a]: javascript:alert(1)\n\n[a]",
    "<javascript:alert(1)>",
    "<https://a.example/\"onclick='alert(1)'>",
    "www.a.example/'onclick='alert(1)'",
    "```<script>alert(1)</script>\nx\n```",
    '```" onclick="alert(1)\nx\n```',
    "`<script>`",
    "|<script>|\n|-|\n|<img src=x onerror=alert(1)>|",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "&#60;script&#62;alert(1)",
    "# <script>\n\n<h1 onclick=alert(1)>x",
    "[<img src=x onerror=alert(1)>](/a)",
    "<x\x00script>alert(1)",
    "<!--[if IE]><script>alert(1)</script><![endif]-->",
    "<![CDATA[<script>alert(1)</script>]]>",
    "<?xml version='1.0'?><script>",
]

ALLOWED = {"a": ["href", "title", "rel"], "ol": ["start"], "td": ["align"], "th": ["align"]}
_NAMES = "blockquote br code del em h4 h5 h6 hr li p pre strong table tbody thead tr ul"
BARE = frozenset(_NAMES.split())


class Judge(HTMLParser):
    """An independent reader of the HTML: fails on whatever the allow-list does not name."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ALLOWED or tag in BARE
        assert {name for name, _ in attrs} <= set(ALLOWED.get(tag, ()))
        values = dict(attrs)
        if tag == "a":
            assert values["rel"] == "nofollow ugc noopener"
        href = re.sub(r"[\x00-\x20]", "", values.get("href") or "")
        assert not href.replace("\\", "/").startswith("//")
        scheme = re.match(r"([^/?#]*):", href)
        assert scheme is None or scheme[1].lower() in {"http", "https", "mailto"}

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)

    def handle_decl(self, decl: str) -> None:
        raise AssertionError(decl)

    def handle_pi(self, data: str) -> None:
        raise AssertionError(data)

    def unknown_decl(self, data: str) -> None:
        raise AssertionError(data)


def judge(html: str) -> None:
    reader = Judge()
    reader.feed(html)
    reader.close()


@pytest.mark.parametrize(("source", "expected"), RENDERED)
def test_markdown_becomes_html(source: str, expected: str) -> None:
    assert expected in render(source)


@pytest.mark.parametrize("source", ATTACKS)
def test_no_text_smuggles_in_a_script_or_a_foreign_address(source: str) -> None:
    judge(render(source))
    judge(render(f"> - {source}\n\n{source} *{source}*"))


WORDS = st.sampled_from(
    [*ATTACKS, *(source for source, _ in RENDERED), "*", "[", "](", ")", "<", ">", "`", "\n", "&"]
)
TEXTS = st.one_of(st.text(), st.lists(WORDS, max_size=8).map("".join))


@given(TEXTS.filter(lambda text: not re.search("[\ud800-\udfff]", text)))
def test_whatever_the_text_the_html_holds_only_what_is_allowed(source: str) -> None:
    judge(render(source))


def test_links_are_counted() -> None:
    assert links(render("www.a.example [b](/c) ![d](e) `<a >` <a href=x>")) == 3


SIZE = 8192
HOSTILE = {
    "quotes": ">" * SIZE,
    "spaced quotes": "> " * SIZE,
    "opening brackets": "[" * SIZE,
    "closing brackets": "]" * SIZE,
    "open links": "[a](" * SIZE,
    "images": "![x](y)" * SIZE,
    "nested images": "![" * (SIZE // 4) + "](" * (SIZE // 4),
    "stars": "*" * SIZE,
    "open emphasis": "*a " * SIZE,
    "nested emphasis": "*a **b " * (SIZE // 14) + "b** a* " * (SIZE // 14),
    "strikethrough": "~~a " * SIZE,
    "ticks": "".join("`" * n + " " for n in range(126)),
    "tags": "<a>" * SIZE,
    "open comments": "<!--" * SIZE,
    "open declarations": "<![CDATA[" * SIZE,
    "tables": "a|" * 400 + "\n" + "-|" * 400 + "\n" + "|\n" * SIZE,
    "lists": "+ " * SIZE,
    "numbered lists": "1. " * SIZE,
    "quoted lists": "> - " * SIZE,
    "indented lists": "".join(" " * n + "- a\n" for n in range(125)),
    "www": "www." * SIZE,
    "http": "http://" * SIZE,
    "addresses": "a@b." * SIZE,
    "references": "".join(f"[{n}]: x\n" for n in range(400)) + "[1]" * SIZE,
    "headings": "#\n" * SIZE,
    "ampersands": "&" * SIZE,
    "parentheses": "[a](" + "(" * SIZE,
    "nearly simple": "*a* `b` &amp; [c](https://d.example) " * (SIZE // 38) + "***a* b**",
    "nearly an address": f"[a](https://{'b-' * 2000}.)",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_text_costs_no_more_than_its_length(name: str) -> None:
    started = time.process_time()
    html = render(HOSTILE[name][:SIZE])
    assert time.process_time() - started < 0.1  # seconds; the worst takes 0.01 on a small machine
    judge(html)


def test_a_text_of_too_many_containers_is_shown_as_typed() -> None:
    html = render(">" * (CONTAINERS + 1) + " <b>\nx")
    assert html == "<p>" + "&gt;" * (CONTAINERS + 1) + " &lt;b&gt;<br>x</p>"
    assert "<blockquote>" in render("> " * 8 + "a")


def test_rendering_gives_its_memory_back() -> None:
    def resident() -> int:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * 4  # KiB

    source = "![a](b) <i>c</i> **d**\n\n> e\n\n<div>\n" * 20
    render(source)
    before = resident()
    for _ in range(2_000):
        render(source)
    assert resident() - before < 4_096  # KiB; a leak of one tree each would be over 100,000


def test_no_text_has_a_part_in_another_one() -> None:
    """Parsers are used again, by several OS threads."""
    parts = {
        "[a]: https://blog.example/ 'b'\n\n```\nc": "<pre><code>c\n</code></pre>\n",
        "[a] *b*": "<p>[a] <em>b</em></p>\n",
        "> - [a]": "<blockquote>\n<ul>\n<li>[a]</li>\n</ul>\n</blockquote>\n",
    }
    with ThreadPoolExecutor(4) as pool:
        assert [*pool.map(parse, [*parts] * 1_000)] == [*parts.values()] * 1_000


# What HTML for the short cut is made of. Paragraphs stand twice, since it must be within some.
_PARAGRAPHS = 2 * ["<p>", "</p>\n"]
_MARKS = ["<em>", "</em>", "<strong>", "</strong>", "<code>", "</code>", "<del>", "</del>", "</a>"]
_LINKS = [
    '<a href="https://a-b.example/c_d/~e.html">',
    '<a href="http://blog.example">',
    '<a href="',
]
_ADDRESSES = ["https://", "xn--a", "1.2", "0x", ".", "-", ":80", "?b", '">']
_TEXTS = ["a", "é", "&quot;", "&amp;", "&lt;", "&nbsp;", "&", '"']
_SPACES = [" ", "\n", "<br>", "<br />", "\xa0", "\t", "\0"]
PIECES = [*_PARAGRAPHS, *_MARKS, *_LINKS, *_ADDRESSES, *_TEXTS, *_SPACES]
HTML = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)
WORDY = st.text("aZ9é .,;?'\"()/-\n:@_#*w<&!\t`~", max_size=60)


@given(st.one_of(HTML, HTML.map(lambda html: f"<p>{html}</p>\n"), WORDY.map(parse)))
def test_the_short_cut_gives_what_the_second_gate_gives(html: str) -> None:
    if is_simple(html):
        assert clean_simple(html) == clean(html)


@pytest.mark.parametrize(
    "source",
    [
        "Hello you.",
        "Two lines\nof one paragraph.\n\nAnd *another* one, isn't it?",
        'She said "no" & `a < b`, **surely** ~~not~~ "yes"',
        "[the documentation](https://docs.example/a/guide.html), www.a-b.example",
        "Häufig liegt es an der Zeitzone 🙂",
        "",
    ],
)
def test_usual_comments_take_the_short_cut(source: str) -> None:
    html = parse(source)
    assert is_simple(html)
    assert render(source) == clean_simple(html) == clean(html)


@pytest.mark.parametrize(
    "html",
    [
        "a",
        "<p>a",
        "<p>a</p>",
        "<p><em>a</strong></em></p>\n",
        "<p>a\xa0b</p>\n",
        "<p>a\0b</p>\n",
        "<p>&nbsp;</p>\n",
        "<p><script>a</script></p>\n",
        '<p title="a">b</p>\n',
        '<p><em class="a">b</em></p>\n',
        '<p><a href="javascript:a">b</a></p>\n',
        '<p><a href="https://a.example" onclick="b">c</a></p>\n',
        '<p><a href="https://1.2.3.999/">b</a></p>\n',
        '<p><a href="https://xn--.example/">b</a></p>\n',
        '<p><a href="https://a.0x/">b</a></p>\n',
        '<p><a href="//evil.example">b</a></p>\n',
        '<p><a href="https://a.example/&quot;">b</a></p>\n',
    ],
)
def test_what_the_second_gate_might_change_takes_no_short_cut(html: str) -> None:
    assert not is_simple(html)

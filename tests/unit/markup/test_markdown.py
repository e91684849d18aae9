"""What Markdown becomes, what no text can become, and bounds of time and memory."""

import re
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from html import escape
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from commentsvc.markup import formulas
from commentsvc.markup.formulas import LENGTH
from commentsvc.markup.markdown import (
    ALLOWANCE,
    CONTAINERS,
    EXPANSION,
    _cleaner,
    clean,
    links,
    parse,
    render,
)
from tests.conftest import node_modules
from tests.unit.processor_time import quickest

RENDERED = [
    ("Hello", "<p>Hello</p>\n"),
    ("a\nb", "<p>a<br>\nb</p>\n"),
    ("a\n\nb", "<p>a</p>\n<p>b</p>\n"),
    ("*a* **b** ~~c~~ `d`", "<em>a</em> <strong>b</strong> <del>c</del> <code>d</code>"),
    ("> a", "<blockquote>\n<p>a</p>\n</blockquote>\n"),
    ("- a\n- b", "<ul>\n<li>a</li>\n<li>b</li>\n</ul>\n"),
    ("3. a", '<ol start="3">\n<li>a</li>\n</ol>\n'),
    ("---", "<hr>\n"),
    ("```py\na < b\n```", '<pre><code class="language-py">a &lt; b\n</code></pre>\n'),
    ("``` C++ main.cc\na\n```", '<code class="language-C++">a'),
    ("```py!hidden\na\n```", "<pre><code>a\n"),
    ("# a", "<h4>a</h4>\n"),
    ("##### a", "<h6>a</h6>\n"),
    ("|a|\n|:-:|\n|b|", '<td align="center">b</td>'),
    ("www.blog.example", '<a href="http://www.blog.example" rel="nofollow ugc noopener">'),
    ("ann@blog.example", '<a href="mailto:ann@blog.example" rel="nofollow ugc noopener">'),
    ('[a](/b/ "c")', '<a href="/b/" title="c" rel="nofollow ugc noopener">a</a>'),
    ("![a](https://i.example/b.png)", '<a href="https://i.example/b.png" rel="nofollow'),
    ("![a *b* \"c\"](/d 'e')", '<a href="/d" title="e" rel="nofollow ugc noopener">a b "c"</a>'),
    ("[![a](/b)](/c)", '<a href="/b" rel="nofollow ugc noopener">a</a>'),
    ("[a](<b c>)", '<a href="b%20c" rel="nofollow ugc noopener">a</a>'),
    ("http://a.example/(b).", '<a href="http://a.example/(b)" rel="nofollow ugc noopener">'),
    ("List<String> and a < b", "<p>List&lt;String&gt; and a &lt; b</p>\n"),
    ("<div>\nhi\n</div>", "<p>&lt;div&gt;\nhi\n&lt;/div&gt;</p>\n"),
    ("<!-- a -->", "<p>&lt;!-- a --&gt;</p>\n"),
    ("<!--\n\na\n-->\n***\n<i>", "<p>&lt;!--\na\n--&gt;</p>\n<hr>\n<p>&lt;i&gt;</p>\n"),
    ("> - <div>\n\na", "<li>\n<p>&lt;div&gt;</p>\n</li>\n</ul>\n</blockquote>\n<p>a</p>\n"),
    ("*a*\n<b>", "<p><em>a</em><br>\n&lt;b&gt;</p>\n"),
    ("```\n<a\n<b\n```", "<pre><code>&lt;a\n&lt;b\n</code></pre>\n"),
    ("`<p>\n<b>` c", "<p><code>&lt;p&gt; &lt;b&gt;</code> c</p>\n"),
    ("- [ ] a\n- [x] b", '<ul class="contains-task-list">\n<li>☐ a</li>\n<li>☑ b</li>\n</ul>'),
    ("`[ ]` [x] c", "<p><code>[ ]</code> [x] c</p>"),
    ("$5 and $6, $x^2$", "<p>$5 and $6, $x^2$</p>"),
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
    "[^1]\n\n[^1]: <script>alert(1)</script> [x](javascript:alert(1))",
    '[^" onclick="alert(1)]\n\n[^" onclick="alert(1)]: x',
    "- [x] <script>alert(1)</script>",
    "$\\text{<img src=x onerror=alert(1)>}$",
    "$\\href{javascript:alert(1)}{x}$ $\\color{red}x$ $\\hspace{-99em}x$ $\\label{x}\\ref{x}$",
    '$x" onclick="alert(1)$ $</math><script>alert(1)</script>$',
    "```math\n\\text{</mtext></math><script>alert(1)</script>}\n```",
    "@<script>alert(1)</script>",
]

# HTML that is dangerous within MathML, as an import may contain it.
MATH_ATTACKS = [
    "<math><annotation-xml encoding='text/html'><script>alert(1)</script></annotation-xml></math>",
    "<math><semantics><mi>x</mi><annotation>x</annotation></semantics></math>",
    "<math><maction actiontype='statusline' xlink:href='javascript:alert(1)'>x</maction></math>",
    "<math href='javascript:alert(1)'><mi href='javascript:alert(1)' style='color:red'>x",
    "<math><mi xlink:href='data:x,<script>alert(1)</script>'>x</mi></math>",
    "<math><mtext><table><mglyph><style><!--</style><img title='--><img src=1 onerror=alert(1)>'>",
    "<math><mtext><malignmark><p><style><img src=x onerror=alert(1)>",
    "<math><mi><mglyph><svg><mtext><textarea><path id='</textarea><img onerror=alert(1) src=1>'>",
    "<math><!--</math><img src=x onerror=alert(1)>--><mi>x</mi></math>",
    "<math><mtext></p><script>alert(1)</script></mtext></math>",
    "<math><![CDATA[<script>alert(1)</script>]]></math>",
    "<math><mspace width='9999px'/><mo lspace='-50em'>x</mo><mstyle scriptlevel='-9'>x",
    "<svg><foreignObject><math><mi><img src=x onerror=alert(1)></mi></math></foreignObject></svg>",
    "<li id='commentsvc-1'>x</li><a id='x' role='button' href='/a'>x</a><section role='alert'>x",
]

ALLOWED = {
    **{tag: sorted(names) for tag, names in formulas.ATTRIBUTES.items()},
    "a": ["href", "title", "rel", "id", "role"],
    "code": ["class"],
    "li": ["id"],
    "ol": ["start"],
    "section": ["role"],
    "ul": ["class"],
    "td": ["align"],
    "th": ["align"],
}
_NAMES = "blockquote br del em h4 h5 h6 hr p pre strong sup table tbody thead tr"
_MATHML = """
mi mn mo mtext mrow msqrt mroot mpadded mphantom msub msup msubsup mmultiscripts mprescripts mtr mtd
"""
BARE = frozenset([*_NAMES.split(), *_MATHML.split()])


TEXTS_OF = ("alttext", "class", "href", "id", "role", "title")  # attributes without a length


class Judge(HTMLParser):
    """An independent reader of HTML, which fails on everything that the allow-list leaves out."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ALLOWED or tag in BARE
        assert {name for name, _ in attrs} <= {"dir", *ALLOWED.get(tag, ())}
        values = dict(attrs)
        classes = r"(language-[\w+#.-]{1,32}|contains-task-list)?"
        assert re.fullmatch(classes, values.get("class") or "")
        assert re.fullmatch(r"(commentsvc-(note|ref)-\w{10}-[\d-]+)?", values.get("id") or "")
        for name, value in attrs:
            assert name in ("alttext", "href", "title") or len(value or "") < 50
            size = re.fullmatch(r"(-?[\d.]+)(em|px|%)", value or "")
            assert not size or name in TEXTS_OF or (size[2] == "em" and abs(float(size[1])) < 4)
        if tag == "a":
            assert values["rel"] == "nofollow ugc noopener"
        href = re.sub(r"[\x00-\x20]", "", values.get("href") or "")
        assert not href.replace("\\", "/").startswith("//")
        # As browsers read it (WHATWG URL, 4.4): for them, ":x" and "0:x" are paths.
        scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]*):", href)
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


PEOPLE = {"Ann": 1, "Ann Lee": 2, "<script>alert(1)</script>": 3}


@pytest.mark.parametrize("source", ATTACKS)
@pytest.mark.parametrize("math", [False, True])
def test_no_text_smuggles_in_a_script_or_a_foreign_address(source: str, math: bool) -> None:
    judge(render(source, math, PEOPLE))
    judge(render(f"> - {source}\n\n{source} *{source}*", math, PEOPLE))


@pytest.mark.parametrize("html", MATH_ATTACKS)
def test_no_imported_mathml_has_more_than_ours(html: str) -> None:
    judge(clean(html))
    assert clean(clean(html)) == clean(html)
    assert not re.search(r"href=.?javascript|<script|<style|<img|<annotation|style=", clean(html))


WORDS = st.sampled_from(
    [*ATTACKS, *(source for source, _ in RENDERED), "*", "[", "](", ")", "<", ">", "`", "\n", "&"]
)
TEXTS = st.one_of(st.text(), st.lists(WORDS, max_size=8).map("".join))


@given(TEXTS.filter(lambda text: not re.search("[\ud800-\udfff]", text)))
@example("[a](:x) [b](0:x) [c](java%0ascript:x)")
def test_whatever_the_text_the_html_holds_only_what_is_allowed(source: str) -> None:
    html = render(source, math=True, named=PEOPLE)
    judge(html)
    assert _cleaner("").clean(html) == html


SERVICE = "https://comments.example/blog"
PICTURE = "0123456789abcdef" * 2 + "-640x480"
IMAGE_ATTACKS = [
    '[x](image:foo "><img src=x onerror=alert(1)>")',
    f'![x](image:{PICTURE} "><img src=x onerror=alert(1)>")',
    f'![x" onerror="alert(1)](image:{PICTURE})',
    f"![&quot;><script>alert(1)</script>](image:{PICTURE})",
    f"![x](image:{PICTURE}.webp/../../evil) ![x](image:{PICTURE}#x) ![x](image:../{PICTURE})",
    f'![x][a]\n\n[a]: image:{PICTURE} "><svg onload=alert(1)>"',
    f"[![x](image:{PICTURE})](javascript:alert(1))",
    f"![x]({SERVICE}/images/{PICTURE}.webp)",
    f"![$x$](image:{PICTURE}) $\\text{{![x](image:{PICTURE})}}$",
]
LINE_ENDS = [
    "```\na\n\n\nb\n  \nc\n```",
    "```\n\n\na\n```\n\n    \n    b",
    "<!--\n\na\n\n-->",
    "a&#10;&#10;b&#13;&#13;c",
    "[a](/b 'c&#10;&#10;d')",
    f"![a&#10;&#10;b](image:{PICTURE})",
    "```math\na\n\nb\n```\n\n$$a$$",
    "a\r\rb\r\n \r\nc",
    "`a\r\nb`",
]
FOREIGN_HTML = [
    "<pre>\n\n\na</pre>",
    "<pre>\n\na\n \nb</pre><pre>&#10;&#10;c</pre>",
    "<div>\n</div>\n<div>\n</div>a",
    "a&#13;&#13;b<pre>&#13;c</pre>",
    "<a href='/b' title='c\n\nd'>e</a>",
    "<table>a<tr>b<td><a href=/c><table><tr><td><a href=/d>e",
    "<em><p>a</em>b<h4><h5>c</h4><li>d<li>e",
    "a\x0cb&#1;&#0;c",
]


@pytest.mark.parametrize("source", IMAGE_ATTACKS)
def test_no_text_smuggles_anything_in_beside_a_picture(source: str) -> None:
    shown = render(source, math=True, service=SERVICE)
    own = rf'<img src="{SERVICE}/images/{PICTURE}\.webp" alt="[^"]*" width="640" height="480"'
    judge(re.sub(own + ' loading="lazy">', "", shown))
    judge(render(source, math=True))


def sanitized_again(html: str, service: str = "") -> str:
    """Return what the sanitizer alone makes of HTML."""
    return _cleaner(service).clean(html)


@pytest.mark.locked_only("parser and sanitizer have one version")
@pytest.mark.parametrize("source", [*ATTACKS, *IMAGE_ATTACKS, *LINE_ENDS])
@pytest.mark.parametrize("service", ["", SERVICE])
def test_the_sanitizer_has_the_last_word_on_markdown(source: str, service: str) -> None:
    for text in (source, f"> - {source}\n\n{source} *{source}*", source * 300):
        html = render(text, math=True, named=PEOPLE, service=service)
        assert sanitized_again(html, service) == html


DEAD_LINK = re.compile('<a(?![^>]* href="[^"])').search


@pytest.mark.locked_only("parser and sanitizer have one version")
def test_the_sanitizer_has_the_last_word_on_the_examples_of_commonmark() -> None:
    """As Markdown, and as HTML of an import: both may be nested as no example intends."""
    spec = (node_modules("markdown") / "commonmark-spec/spec.txt").read_text()
    found = re.findall(r"^`{32} example\n(.*?)^\.\n(.*?)^`{32}$", spec, re.DOTALL | re.MULTILINE)
    assert len(found) > 600
    for markdown, html in ((a.replace("→", "\t"), b.replace("→", "\t")) for a, b in found):
        rendered = render(markdown, math=True, named=PEOPLE, service=SERVICE)
        assert sanitized_again(rendered, SERVICE) == rendered, markdown
        assert not DEAD_LINK(rendered + clean(html) + clean(markdown)), markdown
        judge(render(markdown, math=True, named=PEOPLE))
        for foreign in (html, markdown):
            assert sanitized_again(clean(foreign)) == clean(foreign), foreign


@pytest.mark.parametrize("html", [*ATTACKS, *MATH_ATTACKS, *FOREIGN_HTML])
def test_the_sanitizer_has_the_last_word_on_imported_html(html: str) -> None:
    assert sanitized_again(clean(html)) == clean(html)


@pytest.mark.parametrize("source", LINE_ENDS)
def test_rendered_html_has_no_empty_line(source: str) -> None:
    html = render(source, math=True, service=SERVICE)
    assert not re.search(r"\n[ \t]*\r?\n", html)


@pytest.mark.parametrize("html", FOREIGN_HTML)
def test_sanitized_html_has_no_empty_line(html: str) -> None:
    assert not re.search(r"\n[ \t]*\r?\n", clean(html))


def test_empty_lines_of_code_stay_in_its_text() -> None:
    html = render("```\na\n\n \nb\n```")
    assert re.sub("<[^>]*>", "", html) == "a\n\n \nb\n\n"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            f'![A "b"](image:{PICTURE} "c")',
            f'<p><img src="{SERVICE}/images/{PICTURE}.webp" alt="A &quot;b&quot;" width="640"'
            ' height="480" loading="lazy"></p>\n',
        ),
        ("![a](image:foo)", "<p>a</p>\n"),
        ("![a](/b.png)", '<p><a href="/b.png" rel="nofollow ugc noopener">a</a></p>\n'),
    ],
)
def test_a_picture_of_ours_is_shown_and_others_are_not(source: str, expected: str) -> None:
    assert render(source, service=SERVICE) == expected


def test_a_service_without_pictures_shows_their_descriptions() -> None:
    assert render(f"![a *b*](image:{PICTURE})") == "<p>a b</p>\n"


def test_links_are_counted_except_those_within_the_page() -> None:
    assert links(render("www.a.example [b](/c) ![d](e) `<a >` <a href=x>")) == 3
    assert links(render("[^1] @Ann\n\n[^1]: a", named=PEOPLE)) == 0


def test_footnotes_lead_there_and_back_and_their_ids_belong_to_one_text() -> None:
    html = render("a[^x] b[^y] c[^x]\n\n[^y]: Two\n\n[^x]: *One*")
    ids = re.findall(r' id="([^"]*)"', html)
    assert len(ids) == len(set(ids)) == 5
    assert set(re.findall(r'href="#([^"]*)"', html)) == set(ids)
    assert html.index("One") < html.index("Two")
    assert not {*re.findall(r' id="([^"]*)"', render("other[^x]\n\n[^x]: *One*"))} & {*ids}


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
    "usual words": "*a* `b` &amp; [c](https://d.example) " * (SIZE // 38) + "***a* b**",
    "nearly an address": f"[a](https://{'b-' * 2000}.)",
    "missing cells": "|a" * 210 + "|\n" + "|:-:" * 210 + "|\n" + "a\n" * SIZE,
    "missing cells in a quote": "> " + "|a" * 210 + "|\n> " + "|:-:" * 210 + "\n" + "> a\n" * SIZE,
    "missing cells in a list": "- " + "|a" * 210 + "|\n  " + "|:-:" * 210 + "\n" + "  a\n" * SIZE,
    "missing cells, no pipe outside": "a" + "|a" * 400 + "\n-" + "|-" * 400 + "\n" + "a\n" * SIZE,
    "missing cells, old line ends": "|a" * 210 + "|\r" + "|:-:" * 210 + "|\r" + "a\r" * SIZE,
    "many tables": ("|a" * 40 + "|\n" + "|-" * 40 + "|\n" + "a\n" * 60 + "\n") * 40,
    "one column": "|a|\n|:-:|\n" + "a\n" * SIZE,
    "long titles": "[a]: b '" + '"' * 1_000 + "'\n\n" + "[a]" * SIZE,
    "long addresses": "[a]: /" + "b" * 1_000 + "\n\n" + "[a]" * SIZE,
    "a title of images": "[a]: b '" + "&" * 1_000 + "'\n\n" + "![a]" * SIZE,
    "empty links": "[](b)" * SIZE,
    "raw blocks": "<!--" + "\n" * SIZE,
    "many raw blocks": "<!-->\n***\n" * SIZE,
    "emphasis": "*a*" * SIZE,
    "entities": "&nbsp;" * SIZE,
    "spaces": "\xa0" * SIZE,
    "footnotes": "[^1]: a\n" + "[^1]" * SIZE,
    "a footnote": "[^1]" * 2_000 + "\n\n[^1]: a",
    "many footnotes": "".join(f"[^{n}]" for n in range(250))
    + "".join(f"\n\n[^{n}]: a" for n in range(250)),
    "footnotes of footnotes": "[^0]\n\n" + "".join(f"[^{n}]: [^{n + 1}]\n\n" for n in range(250)),
    "long labels": f"[^{'a' * 900}]" * 5 + f"\n\n[^{'a' * 900}]: x",
    "tasks": "- [ ] \n" * SIZE,
    "dollars": "$" * SIZE,
    "formulas": "$a$" * SIZE,
    "blocks of formulas": "$$a$$ " * SIZE,
    "open formulas": "$a " * SIZE,
    "brackets": ("$" + "(" * (LENGTH - 2) + "$ ") * 16,
    "braces": ("$" + "{" * (LENGTH // 2) + "}" * (LENGTH // 2) + "$ ") * 16,
    "primes": ("$x" + "'" * (LENGTH - 1) + "$ ") * 16,
    "exponents": ("$" + "x^{" * (LENGTH // 4) + "}" * (LENGTH // 4) + "$ ") * 16,
    "cells of matrices": ("$\\begin{matrix}" + "&" * (LENGTH - 50) + "\\end{matrix}$ ") * 16,
    "macros": "$\\newcommand\\a{\\a\\a}\\a$ " * SIZE,
    "code blocks of formulas": "```math\na\n```\n" * SIZE,
    "formulas in cells": "|$a$|$b$|\n|-|-|\n" * SIZE,
    "fractions": ("$" + "\\frac{a}{" * (LENGTH // 12) + "b" + "}" * (LENGTH // 12) + "$ ") * 16,
    "formulas and footnotes": "[^a]$x$" * 250 + "$x$" * SIZE + "\n\n[^a]: $y$",
    "footnotes in cells": "|[^a]|\n|-|\n" + "|[^a]|\n" * 240 + "|a|\n" * 1_500 + "\n[^a]: x",
    "a wide table": "|a" * 1_300 + "|\n" + "|-" * 1_300 + "|\n" + "|b" * 1_300 + "|",
    "underlines": "![&quot;" + "\n|-" * SIZE,
    "runs of emphasis": "***a**b*c_d__e___" * SIZE,
    "mixed lists": "".join("  " * n + ("- a\n", "1. a\n")[n % 2] for n in range(90)) * 2,
    "mentions": "@Ann Lee, " * SIZE,
    "emphasised mentions": "*@Ann*" * SIZE,
}


def is_bounded(source: str) -> bool:
    """Return whether the HTML of `source` and the best time to render it are within the bounds."""
    html = render(source, math=True, named=PEOPLE)
    judge(html)
    size, most = len(html.encode()), EXPANSION * len(source.encode()) + ALLOWANCE
    return size <= most and is_quick(source)


def is_quick(source: str) -> bool:
    """Return whether rendering takes less than 100 ms; the slowest text that is known takes 20."""
    return quickest(partial(render, source, math=True, named=PEOPLE), 100)[0] <= 100


@pytest.mark.locked_only("parser and sanitizer have one version")
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_text_takes_bounded_time_and_space(name: str) -> None:
    assert is_bounded(HOSTILE[name][:SIZE])


BLOCKS = ["> ", "- ", "* ", "+ ", "1. ", "# ", "-", "```\n", "    ", "<div>\n", "<!--", "-->"]
INLINES = ["*", "**", "_", "~~", "`", "<", "<a>", "&", "&quot;", '"', "\\", "a"]
LINKS = ["[", "]", "](", ")", "![", "[a]", "[a](b)", "![a](b)", '[a]: b \'"""\'\n', "[^a]"]
ADDRESSES = ["www.", "http://a.b ", "a@b.c ", "Https://a。"]
CELLS = ["|", "|a", "|-", "|:-:", "a|", "\n|-|-|\n", "|:-:" * 50 + "\n", "|a" * 50 + "\n"]
SPACES = ["\n", "\n\n", "  \n", "\t", "\xa0"]
FRAGMENTS = st.sampled_from([*BLOCKS, *INLINES, *LINKS, *ADDRESSES, *CELLS, *SPACES])
REPEATED = st.tuples(st.lists(FRAGMENTS, min_size=1, max_size=3).map("".join), st.integers(1, SIZE))


@settings(deadline=None)
@given(st.lists(REPEATED, min_size=1, max_size=4))
def test_no_repetition_is_a_bomb(parts: list[tuple[str, int]]) -> None:
    assert is_bounded("".join(text * number for text, number in parts)[:SIZE])


@settings(deadline=None)
@given(
    st.sampled_from(["", "> ", "> > ", "- ", "> - "]),
    st.integers(1, SIZE // 5),
    st.sampled_from(["|-", "|:-:", "|-:"]),
    st.sampled_from(["a", "|", "|&|", "|a|b|"]),
)
def test_no_table_is_a_bomb(prefix: str, columns: int, rule: str, row: str) -> None:
    inner = prefix.replace("-", " ")
    lines = [prefix + "|a" * columns, inner + rule * columns, *(SIZE * [inner + row])]
    assert is_bounded("\n".join(lines)[:SIZE])


def test_a_text_that_would_become_too_much_is_shown_as_typed() -> None:
    table = "|a" * 100 + "|\n" + "|-" * 100 + "|\n" + "<b>\n" * 500
    assert render(table) == "<p>" + escape(table, quote=False).replace("\n", "<br>") + "</p>"


@pytest.mark.parametrize(
    "source",
    [
        ("|a|b|c|d|\n|-|-|-|-|\n" + "|1|2|3|4|\n" * 500),
        ("|a|b|\n|:-:|:-:|\n" + "|1|2|\n" * 40),
        ("|a|\n|-|\n|b|\n\n" + "Some words and more.\n" * 300),
        ("- [a](https://a.example/b) c\n" * 200),
    ],
)
def test_much_markup_that_people_write_is_no_bomb(source: str) -> None:
    html = render(source)
    assert "<td" in html or "<li>" in html


def test_a_text_of_too_many_containers_is_shown_as_typed() -> None:
    html = render(">" * (CONTAINERS + 1) + " <b>\nx")
    assert html == "<p>" + "&gt;" * (CONTAINERS + 1) + " &lt;b&gt;<br>x</p>"
    assert "<blockquote>" in render("> " * 8 + "a")


@pytest.mark.locked_only("parser and sanitizer have one version")
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
    """Several threads render at the same time."""
    parts = {
        "[a]: https://blog.example/ 'b'\n\n```\nc": "<pre><code>c</code></pre>\n",
        "[a] *b*": "<p>[a] <em>b</em></p>\n",
        "> - [a]": "<blockquote>\n<ul>\n<li>[a]</li>\n</ul>\n</blockquote>\n",
    }
    with ThreadPoolExecutor(4) as pool:
        assert [*pool.map(parse, [*parts] * 1_000)] == [*parts.values()] * 1_000

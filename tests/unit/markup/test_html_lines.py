"""The rules are WordPress': the cases are those of its tests of `wpautop` and `make_clickable`."""

import itertools
import re
from functools import partial
from html import unescape

import pytest

from commentsvc.markup.html_lines import linked, paragraphs
from commentsvc.markup.html_to_markdown import read
from tests.unit.processor_time import assert_quick

TOOLS = "http://wiki.example/PC_Tools_(Software)"


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("a\nb\n\nc <b>d</b>", "<p>a<br>b</p><p>c <b>d</b></p>"),
        ("<p>a\n\nb</p>\n", "<p>a</p><p>b</p>"),
        ("a<div>b</div>c", "<p>a</p><p>b</p><p>c</p>"),
        ("a<hr>b", "<p>a</p><hr><p>b</p>"),
        ("a<br>\nb<br/>\nc<br />\nd\ne\n", "<p>a<br>b<br>c<br>d<br>e</p>"),
        ("a<BR />\r\nb", "<p>a<br>b</p>"),
        ("a<br>\n<br/>\nb<br/>\n<br />\n", "<p>a</p><p>b</p>"),
        ("a\n<ul>\n<li>b</li>\n</ul>\nc", "<p>a</p><ul><li>b</li></ul><p>c</p>"),
        ("<ol><li>a\nb<li>c\n\nd</ol>e", "<ol><li>a<br>b<li>c<p>d</p></ol><p>e</p>"),
        ("<blockquote>a</blockquote>", "<blockquote><p>a</p></blockquote>"),
        ("<blockquote>a\nb\n\nc</blockquote>\nd",
         "<blockquote><p>a<br>b</p><p>c</p></blockquote><p>d</p>"),
        ("<blockquote>a\n<blockquote>b</blockquote>\nc</blockquote>",
         "<blockquote><p>a</p><blockquote><p>b</p></blockquote><p>c</p></blockquote>"),
        ("<blockquote><p>a</p>\n<p>b</p></blockquote>",
         "<blockquote><p>a</p><p>b</p></blockquote>"),
        ("a\n\n<pre>b<br />c\n\n\td\n</pre>\n\ne", "<p>a</p><pre>b<br />c\n\n\td\n</pre><p>e</p>"),
        ("a <a\nhref='b'>c</a>", "<p>a <a href='b'>c</a></p>"),
        ("<table>\n<tr>\n<td>a\nb</td>\n</tr>\n</table>",
         "<table><tr><td>a<br>b</td></tr></table>"),
        ("a</li></blockquote>\nb", "<p>a</p></li></blockquote><p>b</p>"),
        ("\n<br>\n", ""),
    ],
)  # fmt: skip
def test_lines_and_paragraphs_are_those_of_wordpress(text: str, html: str) -> None:
    assert paragraphs(text.replace("\r\n", "\n")) == html


def test_each_block_ends_a_paragraph_and_no_inline_element_does() -> None:
    for block in ("div", "section", "address", "h2", "li", "figure", "dl"):
        assert re.fullmatch("<p>a</p>.*b.*<p>c</p>", paragraphs(f"a<{block}>b</{block}>c"))
    for inline in ("a", "em", "small", "q", "abbr", "code", "kbd", "sub", "del", "span"):
        text = f"a <{inline}>b</{inline}> c"
        assert paragraphs(text) == f"<p>{text}</p>"


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("http://wp.example/hello.html", ["http://wp.example/hello.html"]),
        ("named http://wp.example. Alice!", ["http://wp.example"]),
        ("named http://wp.example, said", ["http://wp.example"]),
        ("named http://wp.example; said", ["http://wp.example"]),
        ("named http://wp.example:", ["http://wp.example"]),
        ("named (http://wp.example) said", ["http://wp.example"]),
        ("named (http://wp.example)x", ["http://wp.example"]),
        ("named www.wp.example. Alice!", ["http://www.wp.example"]),
        ("named www.wp.example) said", ["http://www.wp.example"]),
        ("http://www.詹姆斯.com/", ["http://www.詹姆斯.com/"]),
        ("http://bg.example/Баба", ["http://bg.example/Баба"]),
        ("http://wp.example/?a=баба&b=дядо", ["http://wp.example/?a=баба&amp;b=дядо"]),
        ("http://wp.example/?a=1&amp;b=2.", ["http://wp.example/?a=1&amp;b=2"]),
        ("&quot;http://wp.example/a&quot;", ["http://wp.example/a"]),
        (TOOLS, [TOOLS]),
        (f"({TOOLS})", [TOOLS]),
        (f"a {TOOLS}) b", [TOOLS]),
        (f"a {TOOLS}.) b", [TOOLS]),
        (f"a {TOOLS}.)moreurl b", [TOOLS]),
        ("“You” (here:\n\thttp://wp.example/~robins/You.html)\n\tRichard",
         ["http://wp.example/~robins/You.html"]),
        ("love wp.example (http://wp.example)...", ["http://wp.example"]),
        ("http://wp.example/#!/w/status/2!", ["http://wp.example/#!/w/status/2"]),
        ("in brackets <http://wp.example/>", ["http://wp.example/"]),
        ("Comma,http://wp.example/", ["http://wp.example/"]),
        ("Colon:http://wp.example/", ["http://wp.example/"]),
        ("Question?http://wp.example/", ["http://wp.example/"]),
        ("HTTPS://WP.example/", ["HTTPS://WP.example/"]),
        ("<a href='http://wp.example/'>http://wp.example/ www.wp.example</a>", []),
        ("<img src='http://wp.example/a.gif'>", []),
        ("<pre>http://wp.example</pre> <code>www.wp.example</code>", []),
        ("<pre>a <code>b</code> http://wp.example</pre>", []),
        ("<PRE>a</PRE>http://wp.example", ["http://wp.example"]),
        ("<span>http://wp.example</span>", ["http://wp.example"]),
        ("Foo.Bar@a.b.c.d.wp.example", ["mailto:Foo.Bar@a.b.c.d.wp.example"]),
        ("foo@@wp.example, @wp.example, foo@example", []),
        ("<script>http://wp.example</script>", []),
        ("at ftp.wp.example/a, noftp.wp.example", ["http://ftp.wp.example/a"]),
        ("javascript://wp.example ftp://wp.example http://", []),
    ],
)  # fmt: skip
def test_bare_addresses_are_links_as_in_wordpress(text: str, links: list[str]) -> None:
    html = linked(text)
    assert re.findall('<a href="([^"]*)">', html) == links
    if "<a href='" not in text:
        shown = re.sub("</?a[^>]*>", "", html)
        given, shown = (re.sub("http://(www|ftp)", r"\1", each) for each in (text, shown))
        assert unescape(shown) == unescape(given)


@pytest.mark.parametrize(
    "text", ["no link", "named (http://wp.example)x", "a,http://wp.example.", "www.wp.example)"]
)
def test_a_link_beside_an_entity_is_one_as_elsewhere(text: str) -> None:
    plain, beside = read(text, "html_lines").html, read(f"AT&amp;T: {text}", "html_lines").html
    assert re.findall('href="([^"]*)"', plain) == re.findall('href="([^"]*)"', beside)


REPEATED = [" ", "\t", "\r", "\n", "\n ", " \n", "x ", "\xa0", ".", "'", ")", "&", "&quot;", "<"]
REPEATED += [
    "<br>",
    "<br",
    "<br ",
    "<p \n",
    "<pre",
    "<pre>",
    "</pre ",
    "<b ",
    "<a href='",
    "<code>",
]
REPEATED += [
    "<blockquote>",
    "</li><li>",
    "http://",
    "http://a.",
    "http://a)",
    "http://a)b",
    "(http://a)",
]
REPEATED += ["http://wp.example/a/", "www.", "www.a.", "@", "a@", "a@a.", "a.a"]


@pytest.mark.parametrize("unit", REPEATED)
def test_no_text_takes_long(unit: str) -> None:
    for begin, end in itertools.product(("", "x\n", "<br>", "http://", "<b"), ("", "x", "\n")):
        text = begin + unit * (40_000 // len(unit)) + end
        assert_quick(partial(lambda text: paragraphs(linked(text)), text), 1_000)

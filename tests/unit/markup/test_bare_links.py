"""Links that people type as URLs. The judge is cmark-gfm, GitHub's own program."""

import itertools
import re

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options

from commentsvc.markup import html_to_markdown
from commentsvc.markup.markdown import _sanitized, parse, render
from tests.conftest import node_modules

_EXTENSIONS = ["autolink", "strikethrough", "table", "tasklist"]
_OPTIONS = (
    Options.CMARK_OPT_HARDBREAKS
    | Options.CMARK_OPT_UNSAFE
    | Options.CMARK_OPT_FOOTNOTES
    | Options.CMARK_OPT_STRIKETHROUGH_DOUBLE_TILDE
)

# Why an example of CommonMark looks different, by a part of its Markdown.
DIFFERENCES = {
    "&#87654321;": "CommonMark since 0.30: a number of eight digits is no character",
    "*£*bravo": "CommonMark since 0.31: currency signs count as punctuation",
    "__foo, __bar__, baz__": "GitHub drops <strong> within <strong>, which looks the same",
    "foo******bar*********baz": "as before",
    "__foo __bar__ baz__": "as before",
    "____foo__ bar__": "as before",
    "**foo **bar****": "as before",
    "****foo****": "as before",
    "____foo____": "as before",
    "******foo******": "as before",
    "_____foo_____": "as before",
}
RAW_HTML = re.compile("<[A-Za-z/!?]").search  # which we show as text


def github(source: str) -> str:
    """Return the HTML of cmark-gfm, with our headings, without pictures."""
    html = cmarkgfm.markdown_to_html_with_extensions(source, _OPTIONS, _EXTENSIONS)
    html = re.sub("<(/?)h([1-6])>", lambda tag: f"<{tag[1]}h{min(int(tag[2]) + 3, 6)}>", html)
    html = re.sub(
        r'<img src="([^"]*)" alt="([^"]*)"( title="[^"]*")? />', r'<a href="\1"\3>\2</a>', html
    )
    # A link that leads nowhere is text.
    return re.sub(
        r'<a(?: href="")?( title="[^"]*")?( rel="[^"]*")>(.*?)</a>', r"\3", _sanitized(html)
    )


def normal(html: str) -> str:
    """Return `html` without the line ends and spaces beside tags of blocks."""
    return re.sub(r"\s*(</?(?!a|em|strong|code|del)[a-z]+[^>]*>)\s*", r"\1", html).strip()


def test_the_examples_of_commonmark_look_as_on_github() -> None:
    spec = (node_modules("markdown") / "commonmark-spec/spec.txt").read_text()
    found = re.findall(r"^`{32} example\n(.*?)^\.\n", spec, re.DOTALL | re.MULTILINE)
    examples = [text.replace("→", "\t") for text in found if not RAW_HTML(text)]
    assert len(examples) > 500
    different = {text for text in examples if normal(render(text)) != normal(github(text))}
    assert {part for part in DIFFERENCES if any(part in text for text in different)} == set(
        DIFFERENCES
    )
    assert len(different) == len(DIFFERENCES)


BEFORE = ["", "a ", "a", "é", "(", "((", "*", "**", "~~", "_", '"', "[", "- ", "> ", "日本 "]
STARTS = ["https://", "http://", "www.", "ann@"]
HOSTS = ["a.example", "b-c.example", "a_b.example", "bücher.example"]
PATHS = ["", "/", "/y", "/b_(c)", "/_x_", "?q=1&r", "#top", "/a&amp;", "/~ann/", "/é", "/*z*", "/]"]
AFTER = [
    "", ".", ",", "!", "?:", ";", ")", "))", ").", "*", "**", "~~", "_", '"', "'", "&copy;", " b",
    "<b",
]  # fmt: skip


def explained(text: str) -> bool:
    """Return whether comrak is known to read this bare link in another way.

    It leaves an address behind an open bracket, and a host with "_" behind it; it links a host with
    "_" within it before a full stop. It strikes nothing that has an unlinked "/~" within.
    """
    return bool(
        re.match(r"\[ann@", text)
        or re.search(r"\.example_", text)
        or re.search(r"a_b\.example\.$", text)
        or re.match(r"~~(?:ann@|.*a_b).*/~ann/", text)
    )


@pytest.mark.parametrize("start", STARTS)
def test_bare_links_are_those_of_github(start: str) -> None:
    for parts in itertools.product(BEFORE, [start], HOSTS, PATHS, AFTER):
        if not explained(text := "".join(parts)):
            assert normal(render(text)) == normal(github(text)), text


@pytest.mark.parametrize("start", ["Https://", "HTTPS://", "hTtP://", "Www.", "WWW."])
def test_capitals_in_a_scheme_make_no_difference_but_are_shown(start: str) -> None:
    for parts in itertools.product(BEFORE, [start], HOSTS, PATHS, AFTER):
        text = "".join(parts)
        lower = render(text.replace(start, start.lower()))
        seen = re.compile("(?<!//)" + re.escape(start.lower()) + '(?![^<]*">)')
        assert render(text) == seen.sub(start, lower), text


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("`Https://a.example。`", "<p><code>Https://a.example。</code></p>"),
        ("```\nWww.a.example、b\n```", "<pre><code>Www.a.example、b\n</code></pre>"),
        ("[a](https://a.example/（b）)", '<a href="https://a.example/%EF%BC%88b%EF%BC%89"'),
        ("[a][b]\n\n[b]: Https://a.example/。", '<a href="https://a.example/%E3%80%82"'),
        ("<Https://www.a.example/。>", '<a href="Https://www.a.example/%E3%80%82"'),
        ('[a](/b "Https://a.example。")', 'title="Https://a.example。"'),
        ("Https://a.example/%EF%B7%90", "Https://a.example/%EF%B7%90"),
        ("https://a.example/\ufdd0、", "https://a.example/\ufdd0、</a>"),
    ],
)
def test_other_text_with_urls_is_as_it_was_typed(source: str, expected: str) -> None:
    assert expected in render(source)


@pytest.mark.parametrize("mark", "。、，！？：；」』）】〉》\u3000")
def test_chinese_and_japanese_punctuation_ends_a_bare_link(mark: str) -> None:
    link = '<a href="https://a.example/b" rel="nofollow ugc noopener">https://a.example/b</a>'
    text = f"「https://a.example/b{mark}**次**はhttps://a.example/b{mark}"
    for html in (render(text), html_to_markdown.read(f"{text}<br>", "markdown").html):
        assert f"「{link}{mark}<strong>次</strong>は{link}{mark}" in html


@pytest.mark.parametrize(
    "around",
    [
        "“%s”",
        "„%s“",
        "«%s»",
        "‹%s›",
        "‘%s’,",
        "(“%s”)",
        "%s…",
        "%s؟",
        "%s، ثم",
        "%s।",
        "%s։",
        "%s”.",
    ],
)
@pytest.mark.parametrize("url", ["https://a.example", "https://a.example/b", "Https://a.example/é"])
def test_punctuation_of_any_script_is_not_at_the_end_of_a_bare_link(url: str, around: str) -> None:
    html = render(around % url)
    [(address, shown)] = re.findall('<a [^>]*href="([^"]*)"[^>]*>([^<]*)</a>', html)
    assert (address, shown) == (url.replace("H", "h").replace("é", "%C3%A9"), url)


@pytest.mark.parametrize(
    "url", ["https://a.example/L’Aquila", "https://a.example/b–c", "https://a.example/a_(b)"]
)
def test_punctuation_within_a_bare_link_belongs_to_it(url: str) -> None:
    assert f">{url}</a>" in render(url)


@pytest.mark.parametrize(
    "link",
    ["[a *b*](%s)", '[a *b*](%s "t")', "[a *b*][r]\n\n[r]: %s", "![a *b*](%s)"],
)
@pytest.mark.parametrize(
    "address",
    [
        *("javascript:a", "tel:+49", "FTP://a.example/", "image:b", "", "https:", "https://", "//"),
        *("https://a.example:99999/", "//a.example:65536", "https://a.example:8x/", "https://[::1"),
        *("https://[zz]/", "https://u:p@/", "https://a%20b/", "https://1.2.3.4.5/", "https://%"),
    ],
)
def test_a_link_that_would_lead_nowhere_is_text(link: str, address: str) -> None:
    assert "<a" not in render(link % (address or "<>"))


@pytest.mark.parametrize(
    "source",
    [
        *("ftp://a.example/b", "<irc://a.example/b>", "xmpp:a@b.example", "www.a.example:99999"),
        *("https://a.example:99999/", "<https://a.example:65536>", "https://1.2.3.4.5/"),
    ],
)
def test_an_address_that_no_browser_opens_is_text(source: str) -> None:
    assert render(source) == f"<p>{source.strip('<>')}</p>\n"


# Of the readme of markdown-cjk-friendly, in other words.
@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("**強い。**文", "<strong>強い。</strong>文"),
        ("これは**「大事」**です", "これは<strong>「大事」</strong>です"),
        ("**(注)**を読む", "<strong>(注)</strong>を読む"),
        ("~~取消。~~文", "<del>取消。</del>文"),
        ("**그것(이것)**은", "<strong>그것(이것)</strong>은"),
        ("**这样！**好", "<strong>这样！</strong>好"),
    ],
)
def test_emphasis_beside_chinese_japanese_and_korean_is_as_readers_expect(
    source: str, expected: str
) -> None:
    assert render(source) == f"<p>{expected}</p>\n"


@pytest.mark.parametrize("source", ["~a~", "about ~5 to ~6 km", "H~2~O", "~~a ~b~ c~~", "a~b"])
def test_one_tilde_does_not_strike(source: str) -> None:
    struck = source.replace("~~a", "<del>a").replace("c~~", "c</del>")
    assert render(source) == f"<p>{struck}</p>\n"


@pytest.mark.parametrize(
    "forged",
    [
        "[x](java&#xFDD1;script:alert(1))",
        "[x](java&#64977;script:alert(1))",
        "[x](java\\%EF\\%B7\\%91script:alert(1))",
        "[x](java&percnt;EF&percnt;B7&percnt;91script:alert(1))",
        "[x](/&#xFDD1;/evil.example)",
        "&lt;&#xfdd0;",
    ],
)
def test_nobody_can_write_the_marks(forged: str) -> None:
    """comrak itself drops dangerous URLs; what it did not see is not added after it."""
    html = parse(f"{forged} Https://a.example")
    assert "javascript:" not in html
    assert "//evil.example" not in html
    assert ("&lt;" in html) == ("&lt;" in forged)

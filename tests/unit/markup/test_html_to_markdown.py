"""HTML is kept and gets equivalent Markdown as its source; Markdown is rendered."""

from functools import partial
from html import escape, unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commentsvc.markup.html_to_markdown import CommentText, Markup, read, to_markdown
from commentsvc.markup.markdown import clean, render
from tests.unit.processor_time import assert_quick


def words(html: str) -> str:
    """Return what a reader sees, without spaces."""
    import re

    return "".join(unescape(re.sub(r"<[^>]*>", "", html)).split())


@pytest.mark.parametrize(
    ("html", "source"),
    [
        ("<p>One</p><p>two<br>three</p>", "One\n\ntwo\nthree"),
        ("<b>a</b> <i>b</i> <s>c</s>", "**a** *b* ~~c~~"),
        ('<a href="http://a.example/?x=1&amp;y">b</a>', "[b](<http://a.example/?x=1&y>)"),
        ("a * b_c _d_ [e] `f` 1 &lt; 2 &lt;b>", "a \\* b_c \\_d\\_ \\[e] \\`f\\` 1 < 2 \\<b>"),
        ("<p>1. a</p><p># b</p><p>- c</p><p>&gt; d</p>", "1\\. a\n\n\\# b\n\n\\- c\n\n\\> d"),
        ("<ul><li>a<ol><li>b</li></ol></li><li>c</li></ul>", "- a\n  1. b\n- c"),
        ("<blockquote><p>a</p><p>b</p></blockquote><p>c</p>", "> a\n>\n> b\n\nc"),
        ("<pre><code>a  *b*\n c</code></pre>", "```\na  *b*\n c\n```"),
        ("<code>*a*</code><hr>b", "`*a*`\n\n---\n\nb"),
        ("<h1>a</h1>b", "# a\n\nb"),
        ('<img src="http://a.example/b.png" alt="c">', "[c](<http://a.example/b.png>)"),
    ],
)
def test_html_becomes_markdown_that_says_the_same(html: str, source: str) -> None:
    text = read(html, "html")
    assert text.source == source
    assert text.kept
    assert words(render(source)) == words(text.html)


@pytest.mark.parametrize("bad", ["<script>alert(1)</script>", "<p> </p>", "\x00 \n", "<style>"])
def test_what_is_not_to_be_seen_is_no_text(bad: str) -> None:
    assert read(bad, "html") == CommentText("", "", False)


def test_html_is_sanitised() -> None:
    text = read(
        '<p onclick="x()">a<a href="javascript:x()">b</a><iframe src="x"></iframe></p>', "html"
    )
    assert text.html == "<p>ab</p>"


@given(
    st.lists(st.sampled_from(["a", " ", "\n", "<br>", "&amp;", "&lt;", '"', "\xa0", "&nbsp;", "é"]))
)
def test_paragraphs_are_what_the_sanitizer_would_leave(inner: list[str]) -> None:
    html = f"<p>{''.join(inner)}</p>\n<p>b</p>"
    assert read(html, "html").html == clean(html)


def test_line_breaks_in_html_without_blocks_are_kept() -> None:
    assert read("<p>a\nb</p>", "html").html == "<p>a\nb</p>"
    assert read("a <b>c</b>\nb", "html").html == "<p>a <strong>c</strong><br>b</p>"


def test_markdown_is_rendered_as_that_of_our_readers() -> None:
    assert read("*a* `<p>`\nb", "markdown") == CommentText(
        "*a* `<p>`\nb", render("*a* `<p>`\nb"), False
    )


def test_html_in_markdown_of_other_systems_counts() -> None:
    text = read("**a** <b>b</b>\n\n<p>c</p><script>d</script>", "markdown")
    assert text.html.replace("\n", "") == "<p><strong>a</strong> <strong>b</strong></p><p>c</p>"
    assert text.source == "**a** **b**\n\nc"


@given(st.text(max_size=60))
def test_any_plain_text_survives_the_way_through_markdown(text: str) -> None:
    """Except for spaces, and for addresses, which the renderer turns into links."""
    html = clean("<p>" + escape(text, quote=False) + "</p>")
    assert words(render(to_markdown(html))) == words(html)


@given(st.recursive(
    st.text("ab *_<&>#-1.\n", max_size=8).map(escape),
    lambda inner: st.tuples(
        st.sampled_from(["p", "b", "i", "a", "ul", "li", "blockquote", "pre", "code", "br", "td"]),
        st.lists(inner, max_size=3),
    ).map(lambda part: f"<{part[0]}>{''.join(part[1])}</{part[0]}>"),
    max_leaves=12,
))  # fmt: skip
def test_any_html_becomes_safe_html_and_some_markdown(html: str) -> None:
    text = read(html, "html")
    assert clean(text.html) == text.html
    assert bool(text.source) == bool(text.html)


@pytest.mark.parametrize(
    ("unit", "markup"),
    [
        ("<h1", "html"),
        ("<hr", "html"),
        ("<pre> \n<p>", "html"),
        ("<p \n#", "html"),
        ("<img ", "html"),
        ("<img src='", "html"),
        (" ", "text"),
        ("- ", "text"),
    ],
    ids=repr,
)
def test_no_text_takes_long_to_read(unit: str, markup: Markup) -> None:
    """A pattern that takes seconds keeps the event loop waiting, also from another thread."""
    text = "a\n" + unit * (60_000 // len(unit)) + "a"
    assert_quick(partial(read, text, markup), 5_000)


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ('<p>as <q cite="x">you</q> say</p>', "<p>as “you” say</p>"),
        ("<p><Q>a<q>b</q></Q ></p>", "<p>“a“b””</p>"),
        ("<p>a <question> b</p>", "<p>a  b</p>"),
    ],
)
def test_quotes_keep_the_marks_with_which_browsers_showed_them(text: str, html: str) -> None:
    assert read(text, "html").html.strip() == html


def test_quotes_that_do_not_end_take_no_long_time() -> None:
    assert_quick(partial(read, "<q " * 20_000, "html"), 1_000)

"""Each block of a comment has its own direction; code is left to right."""

import pytest

from commentsvc.markup import html_to_markdown
from commentsvc.markup.directions import mark
from commentsvc.markup.markdown import clean, render

SHALOM, SALAM = "שלום", "سلام"


@pytest.mark.parametrize(
    ("text", "html"),
    [
        (SHALOM, f'<p dir="rtl">{SHALOM}</p>'),
        (f"# {SALAM}", f'<h4 dir="rtl">{SALAM}</h4>'),
        (f"- {SHALOM}", f'<ul dir="rtl"> <li dir="rtl">{SHALOM}</li> </ul>'),
        (f"1. {SHALOM}", f'<ol dir="rtl"> <li dir="rtl">{SHALOM}</li> </ol>'),
        (f"> {SALAM}", f'<blockquote dir="rtl"> <p dir="rtl">{SALAM}</p> </blockquote>'),
        (
            f"{SHALOM}\n\nHello {SHALOM}",
            f'<p dir="rtl">{SHALOM}</p> <p dir="ltr">Hello {SHALOM}</p>',
        ),
        (f"`x` {SHALOM}", f'<p dir="rtl"><code dir="ltr">x</code> {SHALOM}</p>'),
        (
            f"{SHALOM}\n```\nx\n```",
            f'<p dir="rtl">{SHALOM}</p> <pre dir="ltr"><code>x </code></pre>',
        ),
        (f"```\n{SHALOM}\n```", f'<pre dir="ltr"><code>{SHALOM} </code></pre>'),
        (f"@Ann {SHALOM}", f'<p dir="rtl">@Ann {SHALOM}</p>'),
        (f"<b> {SHALOM}", f'<p dir="ltr">&lt;b&gt; {SHALOM}</p>'),
        (f"< & > {SHALOM}", f'<p dir="rtl">&lt; &amp; &gt; {SHALOM}</p>'),
        (f"١٢ 12 {SALAM}", f'<p dir="rtl">١٢ 12 {SALAM}</p>'),
        (f"\u200fC++ {SHALOM}", f'<p dir="rtl">\u200fC++ {SHALOM}</p>'),
        (f"{SHALOM}\n\n👍", f'<p dir="rtl">{SHALOM}</p> <p dir="rtl">👍</p>'),
        (f"👍\n\n{SHALOM}", f'<p>👍</p> <p dir="rtl">{SHALOM}</p>'),
    ],
)
def test_a_block_has_the_direction_of_its_first_letter(text: str, html: str) -> None:
    assert " ".join(render(text).split()) == html


def test_each_cell_of_a_table_has_its_direction() -> None:
    html = render(f"|{SHALOM}|b|\n|-|-|\n|1|{SALAM}|")
    assert f'<table dir="rtl"> <thead> <tr> <th dir="rtl">{SHALOM}</th>' in " ".join(html.split())
    assert '<th dir="ltr">b</th>' in html
    assert "<td>1</td>" in html
    assert f'<td dir="rtl">{SALAM}</td>' in html


def test_a_bare_url_and_a_formula_are_left_to_right_and_decide_nothing() -> None:
    html = render(f"https://a.example/ {SHALOM} $x$", math=True)
    assert html.startswith('<p dir="rtl"><a dir="ltr" href="https://a.example/"')
    assert '<math dir="ltr"' in html


def test_text_without_right_to_left_letters_costs_no_byte() -> None:
    assert "dir" not in render("# Größe\n\n- `x` é 漢字 👍\n\n|a|\n|-|\n|b|\n\nhttps://a.example/")


def test_a_text_that_would_become_too_long_has_no_directions() -> None:
    nested = ">" * 200 + SHALOM
    html = render(nested)
    assert html.count("<blockquote>") == 200
    assert len(html.encode()) <= 8 * len(nested.encode()) + 4_096


def test_html_of_others_gets_directions_and_keeps_its_own() -> None:
    assert clean(f"<p>{SHALOM}<p>Hello <code>x</code>") == (
        f'<p dir="rtl">{SHALOM}</p><p dir="ltr">Hello <code dir="ltr">x</code></p>'
    )
    assert clean('<p class=a dir=rtl>Hello <pre dir="rtl">x</pre>') == (
        '<p dir="rtl">Hello </p><pre dir="ltr">x</pre>'
    )
    assert clean('<p dir="x">Hello') == "<p>Hello</p>"


@pytest.mark.parametrize(
    "text", [SHALOM, f"<p>{SHALOM}</p>", f"<p>{SHALOM}<br>a</p>", f"<ul><li>{SHALOM}</ul>"]
)
def test_imported_html_has_directions_and_becomes_markdown_without(text: str) -> None:
    found = html_to_markdown.read(text, "html")
    assert 'dir="rtl"' in found.html
    assert "dir" not in found.source
    assert clean(found.html) == found.html


def test_what_has_directions_stays_as_it_is() -> None:
    text = f"`x` {SHALOM}\n\n- a\n- {SHALOM}\n\n  ```\n\n  x\n  ```\n\n> {SALAM}\n\n{SHALOM}"
    html = render(text)
    assert clean(html) == html
    assert mark(html) == html

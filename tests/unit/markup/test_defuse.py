"""Nothing that a Markdown renderer lets through can run; harmless text stays unchanged."""

import html
import re

import comrak
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commentsvc.markup.defuse import defuse


@pytest.mark.parametrize(
    "text",
    [
        "*Hi*, **you** & me: 1 < 2, a<3, <3, 5 > 4",
        "> quoted\n\n- one\n- two\n\n# Heading",
        "[a](https://a.example/?b=c) and [b](/path#x) ![c](c.png)",
        "[d]: https://d.example 'title'",
        "<https://e.example/> <mailto:f@example.com>",
        "the type `List<String>` and `<div>`",
        "[todo]: the data is here",
    ],
)
def test_ordinary_markdown_stays_as_typed(text: str) -> None:
    assert defuse(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<script>alert(1)</script>", "&lt;script>alert(1)&lt;/script>"),
        ("a <img src=x onerror=alert(1)>", "a &lt;img src=x onerror=alert(1)>"),
        ("<!-- -->", "&lt;!-- -->"),
        ("<https://a.example onclick=x>", "&lt;https://a.example onclick=x>"),
        ("```\n<b>\n```", "```\n&lt;b>\n```"),
        ("``<b>``", "``&lt;b>``"),
        ("a ` b\n`<b>` c", "a ` b\n`&lt;b>` c"),
        ("\\`<b>`", "\\`&lt;b>`"),
        ("<https://`><b>`", "&lt;https://`><b>`"),
    ],
)
def test_a_tag_becomes_text(text: str, expected: str) -> None:
    assert defuse(text) == expected


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        "java&#115;cript:alert(1)",
        "javascript&colon;alert(1)",
        "&#0000000106;avascript:alert(1)",
        "java\\script:alert(1)",
        "java\tscript:alert(1)",
        " \n javascript:alert(1)",
        "vbscript:msgbox(1)",
        "data:text/html,<script>alert(1)</script>",
    ],
)
@pytest.mark.parametrize(
    "form", ["[a]({})", "![a]({})", "[a]: {}", "[a] ({})", "[b][a]\n\n[a]: {}"]
)
def test_a_link_that_would_run_leads_nowhere(form: str, address: str) -> None:
    found = defuse(form.format(address))
    assert re.search(r"\]\s*[(:]\s*\./", found), found


def test_the_address_between_angle_brackets_is_no_address() -> None:
    assert defuse("[a](<javascript:alert(1)>)") == "[a](&lt;javascript:alert(1)>)"


DANGEROUS = re.compile(
    r"<(?:script|img[^>]*onerror|svg)|href=\"\s*(?:javascript|data|vbscript):", re.IGNORECASE
)


@given(
    st.lists(
        st.sampled_from(
            ["<script>", "</script>", "<img src=x onerror=a>", "`", "``", "\n", "\n\n", "\\", "[a]",
             "(", ")", ":", " ", "javascript:a", "data:a", "&#106;avascript:a", "<", ">", "<svg>",
             "<https://", "    ", "- ", "> ", "a", "&colon;", "java"]
        ),
        max_size=20,
    ).map("".join)
)  # fmt: skip
def test_a_renderer_that_lets_everything_through_finds_nothing_to_run(text: str) -> None:
    options = comrak.RenderOptions()
    options.unsafe_ = True
    shown = comrak.render_markdown(defuse(text), render_options=options)
    assert not DANGEROUS.search(html.unescape(re.sub(r"&lt;", "", shown))), shown

"""Blogs whose styles are hard on a widget: a small root, a reset, dark without a text colour."""

from collections.abc import Callable, Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from tests.widget.browser import Answers, comment, fill, open_form, send

OpenThread = Callable[..., Page]

# A root of 10 px, a reset, and a dark scheme that colours backgrounds and cards, but not the text
# between them.
THEME = """<style>
  * { margin: 0; padding: 0; box-sizing: border-box; }
  ol, ul { list-style: none; }
  :root { font-size: 62.5%; background: #f5f5fa; }
  body { background: #f5f5fa; font: 1.6rem/1.5 sans-serif; }
  :root[data-scheme=dark], [data-scheme=dark] body { background: #303030; }
  h1 { background: #fff; color: #000; }
  [data-scheme=dark] h1 { background: #424242; color: #fff; }
</style>"""
BODY = (
    "<p>Some <code>code</code>:</p><ul><li>One</li></ul><pre><code>x = 1</code></pre>"
    "<blockquote><p>Quoted.</p></blockquote>"
)


@pytest.fixture
def context(chromium: Browser, blog: str) -> Iterator[BrowserContext]:
    """As elsewhere, but without the policy: axe adds styles of its own to the page."""
    context = chromium.new_context(base_url=blog, bypass_csp=True)
    yield context
    context.close()


@pytest.fixture
def theme(open_thread: OpenThread, answers: Answers) -> Page:
    """A thread in that theme."""
    answers.voting = "up"
    answers.comments = [comment(1, BODY, html=BODY), comment(2, "x", parent=1, author="Ida")]
    page = open_thread(more=THEME)
    page.locator("#comment-2").wait_for()
    return page


def switch(page: Page, scheme: str) -> None:
    page.evaluate("(scheme) => document.documentElement.dataset.scheme = scheme", scheme)


def pixels(locator: Locator, property_: str) -> float:
    value = locator.evaluate("(it, name) => getComputedStyle(it)[name]", property_)
    return float(value.removesuffix("px"))


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_can_be_read(theme: Page, answers: Answers, scheme: str, width: int) -> None:
    theme.set_viewport_size({"width": width, "height": 800})
    switch(theme, scheme)
    form = open_form(theme)
    fill(form)
    answers.refuse("POST", 400, {"email": "No."})
    send(form)
    expect(form.get_by_label("Email (optional)")).to_be_focused()
    results = Axe().run(theme)
    assert results.violations_count == 0, results.generate_report()


def test_colours_follow_the_switch_of_the_blog(theme: Page) -> None:
    thread = theme.locator("comment-thread")
    for scheme, colour in [("dark", "rgb(238, 238, 238)"), ("light", "rgb(0, 0, 0)")] * 2:
        switch(theme, scheme)
        expect(thread).to_have_css("color", colour)


def test_sizes_come_from_the_text_around_the_thread(theme: Page) -> None:
    form = open_form(theme)
    assert pixels(theme.locator("#comment-2 .commentsvc-body"), "fontSize") == 16
    assert pixels(theme.locator("#comment-2 .commentsvc-date"), "fontSize") > 14
    assert pixels(theme.locator("#comment-2 .commentsvc-avatar"), "width") == 40
    assert pixels(form.locator("textarea"), "fontSize") == 16
    assert pixels(form.locator("textarea"), "minHeight") >= 100


def test_a_comment_has_its_own_margins_and_lists(theme: Page) -> None:
    body = theme.locator("#comment-1 > article .commentsvc-body")
    expect(body.locator("li")).not_to_have_css("list-style-type", "none")
    assert pixels(body.locator("ul"), "paddingInlineStart") >= 20
    assert pixels(body.locator("pre"), "marginBottom") > 0
    expect(body.locator("pre")).to_have_css("overflow-x", "auto")
    expect(body.locator("pre")).to_have_css("white-space-collapse", "preserve")
    for code in (body.locator("pre"), body.locator("p > code")):
        expect(code).not_to_have_css("background-color", "rgba(0, 0, 0, 0)")


def test_two_lines_take_little_room(theme: Page) -> None:
    """Report: 171 px."""
    theme.set_viewport_size({"width": 1280, "height": 800})
    box = theme.locator("#comment-2").bounding_box()
    assert box
    assert box["height"] <= 110


def test_forced_colours_leave_borders(theme: Page) -> None:
    theme.emulate_media(forced_colors="active")
    button = open_form(theme).get_by_role("button", name="Send comment")
    expect(button).to_have_css("border-top-width", "1px")
    colour = "(it) => getComputedStyle(it).borderTopColor"
    assert button.evaluate(colour) != button.evaluate(
        "(it) => getComputedStyle(it).backgroundColor"
    )


def test_paper_has_the_comments_alone(theme: Page) -> None:
    open_form(theme)
    theme.emulate_media(media="print")
    for name in ("button", "form", "select", "summary", ".commentsvc-bar a"):
        for each in theme.locator(f".commentsvc-thread {name}").all():
            expect(each).to_be_hidden()
    expect(theme.locator("#comment-2 .commentsvc-body")).to_be_visible()

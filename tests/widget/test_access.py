"""Accessibility: axe's rules in each state of the widget, light and dark, narrow and wide."""

import json
from base64 import b64decode
from collections.abc import Callable, Iterator
from itertools import count
from typing import Literal

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.accessibility import CONTRAST, FITS, WIDTHS, assert_accessible, save_picture
from tests.widget import test_elements, test_private_notes
from tests.widget.browser import RICH, ROOT, Answers, comment, fill, open_form

Open = Callable[[], Page]
Scheme = Literal["light", "dark"]

# What the system prefers, and what the reader chose.
SCHEMES: list[tuple[Scheme, str | None]] = [
    ("light", None),
    ("dark", None),
    ("light", "dark"),
    ("dark", "light"),
]
# As the switch of the demo does it.
CHOOSE = """(chosen) => {
  if (chosen) document.documentElement.dataset.theme = chosen;
  else delete document.documentElement.dataset.theme;
}"""

PICTURES = ROOT / "build" / "pictures" / "widget"

TABLE = "<table><tr><th>Wood</th><th>So hard</th></tr><tr><td>Oak</td><td>Yes</td></tr></table>"
# Comments that could break the layout of a page or be hard to read.
AWKWARD = [
    comment(
        1,
        "A word<pre><code>cut --exactly --twice --and-then-once-more --to-be-sure</code></pre>",
    ),
    comment(2, f"Quite.</p><blockquote>A word</blockquote>{TABLE}<p>", site="https://a.example/"),
    comment(
        3,
        "So " + "long" * 40,
        parent=2,
        role="owner",
        author="Wolfeschlegelsteinhausenbergerdorff" * 2,
    ),
    comment(4, "Deep.", parent=3),
    comment(5, "Deeper.", parent=4, verified=True),
    comment(6, "Deepest.", parent=5),
    comment(7, "Rich.", html=RICH),
]


@pytest.fixture
def context(chromium: Browser, blog: str) -> Iterator[BrowserContext]:
    """As elsewhere, but without the policy: axe adds styles of its own to the page."""
    context = chromium.new_context(base_url=blog, bypass_csp=True)
    yield context
    context.close()


@pytest.fixture
def assert_fine(page: Page, request: pytest.FixtureRequest) -> Callable[[], None]:
    """Check the page in all colours: with axe, and that nothing is wider than the window.

    Pictures are saved for people to look at.
    """
    name, number = request.node.name.removeprefix("test_"), count(1)

    def assert_fine() -> None:
        state = f"{name}-{next(number)}"
        assert page.evaluate(FITS)
        for system, chosen in SCHEMES:
            page.emulate_media(color_scheme=system)
            page.evaluate(CHOOSE, chosen)
            save_picture(page, PICTURES / f"{state}-{system}-{chosen}.png")
            assert_accessible(page, None if (system, chosen) == SCHEMES[0] else CONTRAST)

    return assert_fine


@pytest.fixture
def width(page: Page, request: pytest.FixtureRequest) -> None:
    """Give the window a width."""
    page.set_viewport_size({"width": request.param, "height": 740})


at_each_width = pytest.mark.parametrize("width", WIDTHS, indirect=True)


@pytest.mark.usefixtures("width")
@at_each_width
def test_a_form_that_asks_for_more_has_no_violation(
    page: Page,
    open_post: Open,
    answers: Answers,
    assert_fine: Callable[[], None],
) -> None:
    answers.notify = answers.sign_in = True
    guidelines = '<div lang="en">\n<p>Be kind. <a href="/privacy/">Privacy</a></p></div>'
    answers.asks = {"guidelines": guidelines, "agreement": "I agree to the guidelines"}
    answers.asks |= {"author": "optional", "email": "required", "site": "hidden"}
    open_post()
    form = open_form(page)
    expect(form.get_by_label("I agree")).to_be_visible()
    fill(form, "Mine.")
    form.get_by_role("button", name="Send comment").click()
    expect(form.locator("[name=email]")).to_be_focused()
    assert_fine()
    answers.asks |= {"members_only": True}
    page.reload()
    form = open_form(page)
    expect(form.get_by_role("button", name="Sign in to comment")).to_be_visible()
    assert_fine()


@pytest.mark.usefixtures("width")
@at_each_width
def test_a_thread_in_use_has_no_violation(
    page: Page,
    open_post: Open,
    answers: Answers,
    assert_fine: Callable[[], None],
) -> None:
    answers.comments = list(AWKWARD)
    answers.notify = answers.sign_in = True
    open_post()
    assert page.evaluate(FITS)
    page.get_by_role("button", name="Reply to Ada Byron").first.click()
    reply = page.locator("#commentsvc-1 .commentsvc-form")
    reply.get_by_role("button", name="Reply").click()
    expect(page.locator("#commentsvc-1 textarea")).to_be_focused()
    form = open_form(page)
    fill(form, "Mine.")
    form.locator("textarea").press_sequentially(" @ad")
    expect(form.get_by_role("button", name="@Ada Byron")).to_be_visible()
    expect(form.get_by_role("button", name="Sign in")).to_be_visible()
    answers.refuse("POST", 500)
    form.get_by_role("button", name="Send comment").click()
    expect(form.get_by_role("alert")).not_to_be_empty()
    assert_fine()
    answers.recover()
    form.get_by_label("Email (optional)").fill("rosa@")
    form.get_by_label("Emails").select_option("Email me about replies")
    form.get_by_role("button", name="Send comment").click()
    expect(form.get_by_label("Email (optional)")).to_be_focused()
    assert_fine()
    form.get_by_label("Email (optional)").fill("rosa@example.org")
    answers.status = "pending"
    form.get_by_role("button", name="Send comment").click()
    expect(page.locator("#commentsvc-101")).to_be_focused()
    assert_fine()


@pytest.mark.usefixtures("width")
@at_each_width
def test_the_pages_of_the_demo_have_no_violation(
    page: Page, answers: Answers, assert_fine: Callable[[], None]
) -> None:
    for path in ("/", "/page/2/", "/about/"):
        page.goto(path)
        assert_fine()


def test_a_thread_that_failed_has_no_violation(
    page: Page, answers: Answers, assert_fine: Callable[[], None]
) -> None:
    answers.refuse("GET", 500)
    page.goto("/posts/offcuts/")
    page.locator("comment-thread").scroll_into_view_if_needed()
    expect(page.get_by_role("button", name="Try again")).to_be_visible()
    assert_fine()


@pytest.mark.usefixtures("width")
@pytest.mark.parametrize(
    ("width", "lang"), [(360, "de"), (768, "ar"), (1280, "en")], indirect=["width"]
)
def test_reactions_and_lists_have_no_violation(
    page: Page,
    answers: Answers,
    assert_fine: Callable[[], None],
    lang: str,
) -> None:
    test_elements.fill(answers)
    answers.reactions = dict.fromkeys("👍👎😄😮😢🎉👏🚀👀💡🦄", 1_234)
    test_elements.show(page, f"<style>{SWITCHES}</style>{test_elements.ALL}", lang)
    page.evaluate("document.dir = document.documentElement.lang == 'ar' ? 'rtl' : 'ltr'")
    button = page.locator("page-reactions button").first
    button.click()
    expect(button).to_have_attribute("aria-pressed", "true")
    answers.refuse("POST", 429)
    page.locator("page-reactions button").last.click()
    expect(page.get_by_role("alert")).not_to_be_empty()
    assert_fine()


@pytest.mark.usefixtures("width")
@at_each_width
def test_reactions_to_comments_have_no_violation(
    page: Page,
    open_post: Open,
    answers: Answers,
    assert_fine: Callable[[], None],
) -> None:
    answers.emoji = [*"👍👎😄😮😢🎉👏🚀👀💡🦄", "❤️"]
    few, many = {"👍": 2, "❤️": 1}, dict.fromkeys(answers.emoji, 1_234)
    answers.comments = [
        comment(1, "Words.", reactions=few),
        comment(2, "Words.", parent=1, reactions=many),
        comment(3, "Words.", parent=2),
    ]
    open_post()
    thumb = page.locator("#commentsvc-1 > article [value='👍']")
    thumb.click()
    expect(page.locator("#commentsvc-1 > article [aria-pressed=true]")).to_be_visible()
    assert_fine()
    page.locator("#commentsvc-3 [name=react]:not([value])").click()
    expect(page.locator(".commentsvc-menu")).to_be_visible()
    assert_fine()
    answers.refuse("POST", 429)
    page.locator(".commentsvc-menu button").last.click()
    expect(page.locator("#commentsvc-3").get_by_role("alert")).not_to_be_empty()
    assert_fine()


@pytest.mark.usefixtures("width")
@at_each_width
def test_a_private_note_and_a_correction_have_no_violation(
    page: Page,
    answers: Answers,
    assert_fine: Callable[[], None],
) -> None:
    form = test_private_notes.begin(page, answers)
    fill(form)
    form.get_by_label(test_private_notes.PRIVATE).check()
    assert_fine()
    test_private_notes.show_article(page)
    test_private_notes.select(page, "#words", 4, 11)
    near = page.locator(".commentsvc-at-words")
    expect(near).to_be_visible()
    assert_fine()
    near.click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label(test_private_notes.THANK)).to_be_visible()
    assert_fine()


# A yellow square.
PICTURE = "data:image/gif;base64,R0lGODlhAQABAIAAAP/yAAAAACwAAAAAAQABAAACAkQBADs="
SMALL = b64decode(PICTURE.partition(",")[2])


@pytest.mark.usefixtures("width")
@pytest.mark.parametrize(("width", "lang"), [(1280, "ar"), (360, "de")], indirect=["width"])
def test_a_picture_in_the_making_has_no_violation(
    page: Page,
    open_thread: Callable[..., Page],
    answers: Answers,
    assert_fine: Callable[[], None],
    lang: str,
) -> None:
    answers.images = 1 << 16
    shown = f'<p>Look.</p><p><img src="{PICTURE}" alt="A field" width="400" height="300"></p>'
    answers.comments = [comment(1, "Look.", html=shown)]
    open_thread(lang=lang, more=f"<style>{SWITCHES}</style>")
    form = open_form(page)
    form.locator("input[type=file]").set_input_files(
        {"name": "x.gif", "mimeType": "image/gif", "buffer": SMALL}
    )
    panel = form.locator(".commentsvc-attachment")
    panel.get_by_role("textbox").fill("A field")
    answers.refuse("POST", 400, {"image": "Send a complete JPEG, PNG, WebP or GIF file."})
    panel.get_by_role("textbox").press("Enter")
    expect(panel.get_by_role("alert")).to_contain_text("JPEG")
    assert_fine()
    links = form.locator(".commentsvc-editor > .commentsvc-actions > .commentsvc-link").all()
    tops = {round(box["y"]) for link in links if (box := link.bounding_box())}
    assert len(links) == 3
    assert max(tops) - min(tops) < 9, "none of them is alone in a line"


def answer_and_vote(page: Page, answers: Answers, check: Callable[[], None]) -> None:
    """Open a menu, reply with a preview, begin to edit; vote on another comment, and be refused.

    Elements are found by their classes, whatever the language.
    """
    form = page.locator("#commentsvc-1 form")
    page.locator("#commentsvc-2 > article [name=menu]").click()
    page.locator("#commentsvc-2 [name=report]").click()
    expect(page.locator("#commentsvc-2 > form [name=reason]").first).to_be_focused()
    check()
    page.keyboard.press("Escape")
    expect(page.locator("#commentsvc-2 > article [name=menu]")).to_be_focused()
    page.locator("#commentsvc-2 > article [name=menu]").click()
    expect(page.locator("#commentsvc-2 [name=report]")).to_be_visible()
    page.locator("#commentsvc-1 [name=reply]").click()
    form.locator("textarea").fill("Mine.")
    answers.refuse("POST", 200, body='{"html": "<p><em>Mine.</em></p>"}')
    form.locator(".commentsvc-editor .commentsvc-actions [type=button]").last.click()
    expect(form.locator(".commentsvc-preview em")).to_be_visible()
    check()
    answers.recover()
    form.locator("[name=author]").fill("Rosa")
    form.locator(".commentsvc-button").click()
    page.locator("#commentsvc-101 [name=edit]").click()
    expect(page.locator("#commentsvc-101 textarea")).to_be_focused()
    page.locator("#commentsvc-2 [aria-pressed]").first.click()
    expect(page.locator("#commentsvc-2 [aria-pressed=true]")).to_be_visible()
    answers.refuse("POST", 429)
    page.locator("#commentsvc-2 > article [aria-pressed]").last.click()
    expect(page.locator("#commentsvc-2 [role=alert]")).not_to_be_empty()


@pytest.mark.usefixtures("width")
@at_each_width
def test_no_state_has_a_violation_where_lines_begin_on_the_right(
    page: Page,
    open_thread: Callable[..., Page],
    answers: Answers,
    announce: Callable[[], None],
    assert_fine: Callable[[], None],
) -> None:
    """Including the states that the tests above do not reach."""

    def show(**attributes: str) -> None:
        open_thread(lang='ar" dir="rtl', more=f"<style>{SWITCHES}</style>", **attributes)

    answers.voting, answers.notices = "both", True
    answers.comments = list(AWKWARD)
    show()
    answer_and_vote(page, answers, assert_fine)
    answers.comments.append(comment(102, "New."))
    announce()
    expect(page.locator(".commentsvc-thread > .commentsvc-button")).to_be_visible()
    assert_fine()
    page.locator(".commentsvc-thread > .commentsvc-button").click()
    expect(page.locator("#commentsvc-102")).to_be_focused()
    show(closed="")
    expect(page.locator(".commentsvc-hint")).to_be_visible()
    assert_fine()
    show(load="click")
    expect(page.locator(".commentsvc-button")).to_be_visible()
    assert_fine()
    answers.notify = answers.sign_in = True
    signed_in = json.dumps({"token": "x", "name": "Eva " + "Vogt" * 15})
    page.evaluate("kept => localStorage.setItem('commentsvc:reader', kept)", signed_in)
    show()
    open_form(page)
    expect(page.locator(".commentsvc-hint", has_text="✓")).to_be_visible()
    assert_fine()


# Three ways in which themes switch to dark; otherwise the preference of the system decides.
SWITCHES = """
  :root { background: #fff; color: #222 }
  @media (prefers-color-scheme: dark) { :root { background: #1b1b1f; color: #ddd } }
  :root:is([data-theme=dark], [data-scheme=dark], .dark) { background: #1b1b1f; color: #ddd }
  :root:is([data-theme=light], [data-scheme=light], .light) { background: #fff; color: #222 }
"""


@pytest.mark.parametrize(("system", "chosen"), SCHEMES)
def test_colours_follow_the_page_whatever_switches_it(
    page: Page,
    open_thread: Callable[..., Page],
    answers: Answers,
    system: Scheme,
    chosen: str | None,
) -> None:
    answers.comments = list(AWKWARD)
    page.emulate_media(color_scheme=system)
    form = open_form(open_thread(more=f"<style>{SWITCHES}</style>"))
    button = form.get_by_role("button", name="Send comment")
    for mark in ["data-theme", "data-scheme", "class"] if chosen else ["data-other"]:
        page.evaluate(
            "([mark, chosen]) => document.documentElement.setAttribute(mark, chosen)",
            [mark, chosen],
        )
        colour = button.evaluate("(button) => getComputedStyle(button).backgroundColor")
        lightness = float(colour.removeprefix("oklch(").split()[0])
        assert (lightness > 0.6) == ((chosen or system) == "dark"), colour
        assert_accessible(page)
        page.evaluate("(mark) => document.documentElement.removeAttribute(mark)", mark)

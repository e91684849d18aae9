"""Blogs that reproduce known themes: their root font size, resets, colours and cards.

The pages are our own. They have those styles of each theme that affect a widget on its pages.
"""

import json
from collections.abc import Callable, Iterator
from typing import Final

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, Route, expect

from tests.accessibility import assert_accessible
from tests.widget.browser import (
    SERVICE,
    WIDGET,
    Answers,
    comment,
    fill,
    open_form,
    pause_clock,
    send,
)

OpenThread = Callable[..., Page]

# Like PaperMod: text in pixels, fields without border and outline, links without underline.
PAPERMOD: Final = """
  *, ::before, ::after { box-sizing: border-box }
  body { --ink: #1e1e1e; --paper: #fff }
  .dark body { --ink: #dadadb; --paper: #1d1e20 }
  body { margin: 0; background: var(--paper); font: 18px/1.6 sans-serif; word-break: break-word }
  a, button, body, h1, h2, h3 { color: var(--ink) }
  h1, h2, h3, p { margin-block: 0; line-height: 1.2 }
  ul { margin: 0; padding: 0 }
  a { text-decoration: none }
  article, header, main, section { display: block }
  button, input, textarea { padding: 0; border: 0; background: none; font: inherit }
  input, textarea { outline: 0 }
  main { max-width: 768px; margin: auto; padding: 24px }
"""
# Like Stack: a root of 10 px, and in the dark scheme a background and cards, but no text colour.
STACK: Final = """
  * { box-sizing: border-box }
  html { font-size: 62.5% }
  body { margin: 0; background: #f5f5fa; font-family: sans-serif; font-size: 1.6rem }
  .dark body { background: #303030 }
  a { color: #34495e; text-decoration: none }
  .dark a { color: #ecf0f1 }
  h1 { background: #fff; color: #000 }
  .dark h1 { background: #424242; color: rgb(255 255 255 / 90%) }
"""
# The same with the thread in a card, as Stack does for other comment systems.
STACK_CARD: Final = (
    STACK
    + """
  main { padding: 1rem }
  comment-thread { padding: 2.5rem; border-radius: 10px; background: #fff }
  .dark comment-thread { background: #424242 }
"""
)
# Like Ananke: large grey serifs on light grey, blue links, `em` in the middle of a line.
ANANKE: Final = """
  html { line-height: 1.15 }
  body { margin: 0; background: #f4f4f4; font-family: sans-serif }
  button, input, select, textarea { margin: 0; font: 100%/1.15 inherit }
  h1 { color: #333 }
  main { color: #555; font: 1.25rem/1.5 serif }
  :root a { color: #357edd; transition: color 0.15s ease-in }
  main :is(p, ul, ol) { line-height: 1.5 }
  main img { width: 100% }
  em { display: block; text-align: center }
"""
# As Tailwind begins every page: nothing has a margin, border, size or colour of its own.
_PREFLIGHT: Final = """
  *, ::before, ::after { margin: 0; padding: 0; border: 0 solid #e4e4e7; box-sizing: border-box }
  html { line-height: 1.5 }
  h1, h2, h3, small { font-size: inherit; font-weight: inherit }
  a { color: inherit; text-decoration: inherit }
  ol, ul { list-style: none }
  img, svg { display: block }
  img { max-width: 100%; height: auto }
  button, input, select, textarea { background: none; color: inherit; font: inherit }
  body { background: #fff; color: #18181b }
  .dark body { background: #27272a; color: #fff }
"""
CONGO: Final = (
    _PREFLIGHT
    + """
  body { font-size: 1.125rem; line-height: 1.75rem }
  a, button { transition: color 0.15s }
  table { display: block; overflow: auto }
"""
)
# Like Blowfish: a dark blue that the system's scheme cannot guess, and a footer around the thread.
BLOWFISH: Final = (
    _PREFLIGHT
    + """
  html { font-size: 15px }
  .dark body { background: #0f172a; color: #e2e8f0 }
  main { max-width: 65ch; margin: auto; padding: 2rem 1.5rem }
"""
)
THEMES: Final = {
    "PaperMod": (PAPERMOD, 18),
    "Stack": (STACK, 16),
    "Stack, in a card": (STACK_CARD, 16),
    "Ananke": (ANANKE, 20),
    "Congo": (CONGO, 18),
    "Blowfish": (BLOWFISH, 15),
}
BODY: Final = (
    "<table><tr><th>Wood</th></tr><tr><td>Oak</td></tr></table>"
    "<p>Some <code>code</code>, <em>stress</em> and a <a href='https://a.example/'>link</a>:</p>"
    "<ul><li>One</li></ul><pre><code>x = 1</code></pre><blockquote><p>Quoted.</p></blockquote>"
)
OWN: Final = {"url": "/posts/wet-wood/", "status": "pending", "token": "t"}


@pytest.fixture
def context(chromium: Browser, blog: str) -> Iterator[BrowserContext]:
    """As elsewhere, but without the policy: axe adds styles of its own to the page."""
    context = chromium.new_context(base_url=blog, bypass_csp=True)
    yield context
    context.close()


@pytest.fixture
def show(page: Page, open_thread: OpenThread, answers: Answers) -> Callable[[str], Page]:
    """Open a thread with everything that it can have, under a style."""

    def show(style: str) -> Page:
        answers.voting = "both"
        answers.deleted = [{"id": 3, "parent": None, "deleted": True}]
        answers.comments = [
            comment(1, BODY, html=BODY, site="https://ada.example/"),
            comment(2, "x", parent=1, author="Ida", edited="2026-11-20T09:00:00Z"),
            comment(4, "y", parent=3),
        ]
        own = {"comment": comment(5, "Mine."), "token_expires": "2026-11-21T13:00:00Z", **OWN}
        kept = json.dumps(json.dumps({5: own}))
        page.add_init_script(f"localStorage['commentsvc:own-comments'] = {kept}")
        open_thread(more=f"<style>{style}</style>")
        page.locator("#commentsvc-5").wait_for()
        return page

    return show


@pytest.fixture(params=THEMES)
def theme(request: pytest.FixtureRequest, show: Callable[[str], Page]) -> tuple[Page, int]:
    """Return a thread in each theme, and the size of the text around it in pixels."""
    style, size = THEMES[request.param]
    return show(style), size


def switch(page: Page, scheme: str) -> None:
    """Let the theme change its colours, and wait for the end of their transitions."""
    page.evaluate(
        """async (scheme) => {
          document.documentElement.className = scheme;
          await Promise.allSettled(document.getAnimations().map(({ finished }) => finished));
        }""",
        scheme,
    )


def pixels(locator: Locator, property_: str) -> float:
    value = locator.evaluate("(it, name) => getComputedStyle(it)[name]", property_)
    return float(value.removesuffix("px"))


def left(locator: Locator) -> int:
    box = locator.bounding_box()
    assert box
    return round(box["x"])


def assert_readable(page: Page) -> None:
    """Check that links in a text have the theme's colour; axe checks everything else."""
    assert_accessible(page, context={"exclude": [[".commentsvc-body a"]]})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_every_text_can_be_read_in_light_and_dark(
    theme: tuple[Page, int], answers: Answers
) -> None:
    page, _ = theme
    form = open_form(page)
    fill(form)
    answers.refuse("POST", 400, {"email": "No."})
    send(form)
    expect(form.get_by_label("Email (optional)")).to_be_focused()
    for scheme, width in (("light", 1280), ("dark", 360)):
        page.set_viewport_size({"width": width, "height": 800})
        switch(page, scheme)
        assert_readable(page)


def assert_sizes(page: Page, size: int) -> None:
    """Check that sizes follow the text around the thread, and that buttons are large enough."""
    form = open_form(page)
    first = page.locator("#commentsvc-1 > article")
    assert pixels(first.locator(".commentsvc-body"), "fontSize") == size
    assert pixels(form.locator("textarea"), "fontSize") == size
    assert pixels(first.locator(".commentsvc-avatar"), "width") == 2.5 * size
    assert pixels(first.locator("[name=reply]"), "height") < 2 * size, "icon and text on one line"
    lines = [
        pixels(first.locator(f".commentsvc-body {it}"), "lineHeight")
        for it in ("> p", "blockquote p")
    ]
    assert lines[0] == lines[1], "a quote has the same lines"
    for small in (".commentsvc-date", ".commentsvc-votes", ".commentsvc-link"):
        assert pixels(first.locator(small).first, "fontSize") == pytest.approx(0.9 * size)
    for target in page.locator(".commentsvc-thread :is(button, summary, select)").all():
        if target.is_visible():
            assert pixels(target, "height") >= 24, target
            assert pixels(target, "width") >= 24, target


def assert_aligned(page: Page, size: int) -> None:
    """Check that texts align with names, and forms with the thread."""
    article = page.locator("#commentsvc-1 > article")
    heading = page.locator(".commentsvc-heading")
    assert left(article.locator(".commentsvc-avatar")) == left(heading)
    name = left(article.locator(".commentsvc-author"))
    assert name - left(heading) == pytest.approx(3.25 * size, abs=1)
    for part in (".commentsvc-body > p", ".commentsvc-actions", ".commentsvc-body > pre"):
        assert left(article.locator(part)) == name, part
    form = open_form(page)
    assert left(form) == left(heading)
    last, editor = (
        form.get_by_label("Website").bounding_box(),
        form.locator("textarea").bounding_box(),
    )
    assert last
    assert editor
    assert last["x"] + last["width"] == pytest.approx(editor["x"] + editor["width"], abs=2)


def assert_set(page: Page, size: int) -> None:
    """Check that a comment has margins, lists, code and links of its own."""
    body = page.locator("#commentsvc-1 > article .commentsvc-body")
    expect(body.locator("li")).not_to_have_css("list-style-type", "none")
    assert pixels(body.locator("ul"), "paddingInlineStart") >= size
    for block in ("> p", "ul", "pre", "table"):
        assert pixels(body.locator(block), "marginBottom") >= size / 4
    for wide in ("pre", "table"):
        expect(body.locator(wide)).to_have_css("overflow-x", "auto")
        expect(body.locator(wide)).to_have_attribute("tabindex", "0")
    expect(body.locator("td")).to_have_css("border-top-width", "1px")
    expect(body.locator("pre")).to_have_css("white-space-collapse", "preserve")
    for code in (body.locator("pre"), body.locator("p > code")):
        expect(code).not_to_have_css("background-color", "rgba(0, 0, 0, 0)")
    expect(body.locator("a")).to_have_css("text-decoration-line", "underline")
    expect(body.locator("em")).to_have_css("display", "inline")


def assert_dense(page: Page, size: int) -> None:
    """Regression: two lines took 171 px in a text of 16 px."""
    box = page.locator("#commentsvc-2").bounding_box()
    assert box
    assert box["height"] <= 7 * size


def test_sizes_lines_and_margins_suit_the_theme(theme: tuple[Page, int]) -> None:
    page, size = theme
    page.set_viewport_size({"width": 1280, "height": 800})
    assert_dense(page, size)
    for scheme in ("light", "dark"):
        switch(page, scheme)
        assert_set(page, size)
        assert_sizes(page, size)
        assert_aligned(page, size)


def test_a_card_or_page_without_a_colour_of_text_is_followed(show: Callable[[str], Page]) -> None:
    page = show(STACK_CARD)
    thread = page.locator(".commentsvc-thread")
    for scheme, colour in [("dark", "rgb(238, 238, 238)"), ("light", "rgb(0, 0, 0)")] * 2:
        switch(page, scheme)
        expect(thread).to_have_css("color", colour)
    expect(thread).to_have_css("line-height", "24px")  # the page sets none


def test_cards_are_made_of_properties_alone(show: Callable[[str], Page]) -> None:
    page = show(PAPERMOD + (WIDGET / "themes" / "cards.css").read_text())
    article = page.locator("#commentsvc-1 > article")
    assert pixels(article, "paddingTop") >= 16
    expect(article).to_have_css("border-top-width", "1px")
    assert_readable(page)


def test_forced_colours_leave_borders(show: Callable[[str], Page]) -> None:
    page = show(PAPERMOD)
    page.emulate_media(forced_colors="active")
    button = open_form(page).get_by_role("button", name="Send comment")
    expect(button).to_have_css("border-top-width", "1px")
    colour = "(it) => getComputedStyle(it).borderTopColor"
    assert button.evaluate(colour) != button.evaluate(
        "(it) => getComputedStyle(it).backgroundColor"
    )
    page.locator("section.commentsvc-thread > form textarea").focus()
    editor = page.locator("section.commentsvc-thread > form .commentsvc-editor")
    expect(editor).to_have_css("outline-width", "2px")
    votes = page.locator("#commentsvc-1 [name=vote]")
    votes.first.click()
    expect(votes.first).to_have_css("outline-style", "solid")  # its colour says nothing
    expect(votes.last).to_have_css("outline-style", "none")
    linked = page.locator("#commentsvc-1")
    linked.focus()
    expect(linked).to_have_css("outline-width", "2px")


def test_no_field_makes_a_telephone_magnify_the_page(
    page: Page, open_thread: OpenThread, answers: Answers
) -> None:
    """Safari on iOS does so for fields with letters below 16 px; it alone has the property."""

    def answer(route: Route) -> None:
        text = (WIDGET / "rich.css").read_text()
        text = text.replace("-webkit-touch-callout:none", "display:block")
        route.fulfill(content_type="text/css", body=text)

    page.route("**/rich.css", answer)
    answers.notify = True
    answers.comments = [comment(1, "<b>x</b>", html="<pre>x</pre>"), comment(2, "y")]
    open_thread(more="<style>body { font-size: 13px }</style>")
    form = open_form(page)
    form.get_by_label("Email (optional)").fill("rosa@example.org")
    expect(form.locator("select")).to_be_visible()
    expect(form.locator("textarea")).to_have_css("font-size", "16px")  # with that stylesheet
    fields = page.locator(".commentsvc-thread :is(input:not([type=checkbox]), textarea, select)")
    sizes = [pixels(each, "fontSize") for each in fields.all() if each.is_visible()]
    assert len(sizes) >= 6
    assert set(sizes) == {16}


def test_paper_has_the_comments_alone(show: Callable[[str], Page]) -> None:
    page = show(STACK)
    open_form(page)
    page.emulate_media(media="print")
    for name in ("button", "form", "select", "summary", ".commentsvc-bar a"):
        for each in page.locator(f".commentsvc-thread {name}").all():
            expect(each).to_be_hidden()
    expect(page.locator("#commentsvc-2 .commentsvc-body")).to_be_visible()


@pytest.mark.parametrize(
    ("css", "accent", "on_accent"),
    [
        ("a { color: #b3005e }", "rgb(179, 0, 94)", "rgb(255, 255, 255)"),
        ("a { color: oklch(0.45 0.2 300); transition: color 9s }", "oklch(0.45 0.2 300)", ""),
        ("html { background: #222; color: #eee } a { color: #fa0 }", "rgb(255, 170, 0)", ""),
        (":root { color-scheme: dark } a { color: #fa0 }", "rgb(255, 170, 0)", "rgb(0, 0, 0)"),
        ("a { color: #fa0 }", "", ""),  # on white
        ("a { color: #b3005e80 }", "", ""),
        ("body { background: #111 } a { color: #fa0 }", "rgb(255, 170, 0)", ""),
        ("html { background: #222; color: #eee } a { color: #b3005e }", "", ""),
        ("a { color: inherit }", "", ""),
        ("", "", ""),
        (".commentsvc-thread { --commentsvc-accent: #070 } a { color: #b3005e }", "no", ""),
        ("comment-thread { --commentsvc-accent: #070 } a { color: #b3005e }", "no", ""),
    ],
)
def test_the_accent_is_the_colour_of_links_where_it_can_be_read(
    page: Page, open_thread: OpenThread, answers: Answers, css: str, accent: str, on_accent: str
) -> None:
    answers.comments = [comment(1, "Mine.", role="owner")]
    with page.expect_request("**/accent.js"):
        open_thread(more=f"<style>{css}</style>")
    badge = page.locator(".commentsvc-owner")
    if accent == "no":
        expect(badge).to_have_css("background-color", "rgb(0, 119, 0)")
    elif accent:
        expect(badge).to_have_css("background-color", accent)
        if on_accent:
            expect(badge).to_have_css("-webkit-text-fill-color", on_accent)
    page.wait_for_load_state("networkidle")
    own = page.locator("comment-thread").evaluate(
        "(host) => host.style.getPropertyValue('--commentsvc-accent')"
    )
    assert bool(own) == (accent not in ("", "no"))


# Background, text and links of well-known themes and palettes; the last column is whether the links
# become the accent.
PALETTES: Final = [
    ("Stack", "#fff", "#000", "#34495e", True),
    ("Stack, dark", "#424242", "#eee", "#ecf0f1", True),
    ("Ananke", "#f4f4f4", "#555", "#357edd", False),
    ("Congo, dark", "#27272a", "#fff", "#a78bfa", True),
    ("hugo-book, dark", "#343a40", "#e9ecef", "#84b2ff", True),
    ("Coder", "#fafafa", "#212121", "#1565c0", True),
    ("Mainroad", "#f7f7f7", "#000", "#e22d30", False),
    ("Gruvbox", "#fbf1c7", "#3c3836", "#076678", True),
    ("Gruvbox, dark", "#282828", "#ebdbb2", "#83a598", True),
    ("Solarized, dark", "#002b36", "#93a1a1", "#268bd2", False),
    ("Nord, dark", "#2e3440", "#d8dee9", "#88c0d0", True),
    ("Catppuccin", "#eff1f5", "#4c4f69", "#1e66f5", False),
    ("Chirpy, dark", "#1b1b1e", "#afb0b1", "#8ab4f8", True),
    ("Minima", "#fdfdfd", "#111", "#2a7ae2", False),
    ("a sepia", "#f4ecd8", "#5b4636", "#8b4513", True),
]


def test_text_in_the_accent_can_be_read_on_the_backgrounds_of_known_themes(
    page: Page, open_thread: OpenThread, answers: Answers
) -> None:
    answers.comments = [comment(1, "x", role="owner")]
    with page.expect_request("**/accent.js"):
        open_thread()
    found = page.evaluate(
        """async (palettes) => {
          const { followLinks } = await import("SERVICE/static/thread/accent.js");
          const host = document.querySelector("comment-thread");
          const style = document.head.appendChild(document.createElement("style"));
          const light = (color) => {
            style.sheet.insertRule(`i { color: color(from ${color} xyz y y y) }`);
            const probe = document.body.appendChild(document.createElement("i"));
            const [, y] = getComputedStyle(probe).color.split(" ");
            probe.remove();
            style.sheet.deleteRule(0);
            return Number(y) + 0.05;
          };
          return palettes.map(([name, background, text, link]) => {
            style.textContent =
              `html { background: ${background}; color: ${text} } a { color: ${link} }`;
            followLinks(host);
            const accent = host.style.getPropertyValue("--commentsvc-accent");
            const [a, b] = [light(background), light(accent || text)];
            return [name, Boolean(accent), Math.max(a, b) / Math.min(a, b)];
          });
        }""".replace("SERVICE", SERVICE),
        PALETTES,
    )
    assert {name: taken for name, taken, _ in found} == {each[0]: each[4] for each in PALETTES}
    assert [name for name, taken, contrast in found if taken and contrast < 4.5] == []


def test_a_form_has_the_accent_as_soon_as_it_is_there(page: Page, open_thread: OpenThread) -> None:
    """Nobody sees a button change its colour: the clock stands, so that nothing comes later."""
    pause_clock(page)
    open_thread(more="<style>html { background: #222; color: #eee } a { color: #fa0 }</style>")
    page.evaluate(
        """() => new MutationObserver(() => {
          const button = document.querySelector(".commentsvc-form .commentsvc-button");
          const box = document.querySelector(".commentsvc-form [type=checkbox]");
          if (button) window.seen ??= [button, box].map((each) => {
            const { backgroundColor, colorScheme } = getComputedStyle(each);
            return [backgroundColor, colorScheme];
          });
        }).observe(document.body, { childList: true, subtree: true })"""
    )
    open_form(page)
    [button, box] = page.evaluate("window.seen")
    assert button[0] == "rgb(255, 170, 0)"
    assert box[1] == "dark"


def test_the_accent_follows_a_switch_of_the_blogs_colours(
    page: Page, open_thread: OpenThread, answers: Answers
) -> None:
    answers.comments = [comment(1, "Mine.", role="owner")]
    css = "a { color: #b3005e } .dark { background: #222; color: #eee } .dark a { color: #fa0 }"
    open_thread(more=f"<style>{css}</style>")
    badge = page.locator(".commentsvc-owner")
    box = open_form(page).get_by_role("checkbox")
    expect(badge).to_have_css("background-color", "rgb(179, 0, 94)")
    expect(box).to_have_css("color-scheme", "light")
    page.evaluate("document.documentElement.className = 'dark'")
    expect(badge).to_have_css("background-color", "rgb(255, 170, 0)")
    expect(box).to_have_css("color-scheme", "dark")
    page.evaluate("document.documentElement.className = ''")
    expect(box).to_have_css("color-scheme", "light")


def test_the_colours_of_controls_follow_a_page_without_a_background(
    page: Page, open_thread: OpenThread, answers: Answers
) -> None:
    answers.comments = [comment(1, "Mine.", role="owner")]
    open_thread()
    thread = page.locator(".commentsvc-thread")
    for scheme in ("light", "dark", "light"):
        page.evaluate("(scheme) => document.documentElement.style.colorScheme = scheme", scheme)
        expect(thread).to_have_css("color-scheme", scheme)


# Firefox before 121 has no ":has" in selectors, Firefox before 128 no colours made from others.
OLDER = """
const refuse = (prototype, name) => {
  const real = prototype[name];
  prototype[name] = function (selector) {
    if (selector.includes(":has")) throw new SyntaxError("no :has here");
    return real.call(this, selector);
  };
};
for (const { prototype } of [Document, Element]) {
  for (const name of ["querySelector", "querySelectorAll", "matches", "closest"]) {
    if (prototype[name]) refuse(prototype, name);
  }
}
CSS.supports = () => false;
"""


def test_an_older_browser_shows_the_thread_with_the_blogs_colours(
    page: Page, open_thread: OpenThread, answers: Answers
) -> None:
    answers.comments = [comment(1, "Mine.", role="owner")]
    page.add_init_script(OLDER)
    with page.expect_request("**/accent.js"):
        open_thread(more="<style>body { background: #222 } a { color: #fa0 }</style>")
    expect(page.locator("#commentsvc-1")).to_be_visible()
    page.wait_for_load_state("networkidle")
    for element in ("comment-thread", ".commentsvc-thread"):
        assert "color" not in (page.locator(element).get_attribute("style") or "")

"""The widget in all its states under the stylesheets of others: each control can be used.

`looks.js` measures. One page with all states is opened once; then its stylesheet is exchanged.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Browser, BrowserContext, FilePayload, Page

from tests.conftest import watched_tab
from tests.widget.browser import (
    NOW,
    POST,
    RICH,
    ROOT,
    SERVICE,
    WIDGET,
    Answers,
    comment,
    fill,
    send,
)
from tests.widget.firefox import firefox
from tests.widget.stylesheets import MADE, stylesheets

SCRIPT: Final = (Path(__file__).parent / "looks.js").read_text()
SCRIPTS: Final = ("comments", "count", "reactions", "latest", "popular", "corrections", "search")
OWN: Final = {"url": POST, "status": "pending", "token": "t"}
PICTURE: Final = FilePayload(name="a.png", mimeType="image/png", buffer=b"not a picture")
# A thread with everything, one without comments, one with reactions, one that waits for a click,
# and the lists.
HTML: Final = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>A page</title>'
    + "".join(f'<script type="module" src="{SERVICE}/static/{it}.js"></script>' for it in SCRIPTS)
    + "<style>:where(html) { color: #222 }</style>"
    '<body><main><article class="content"><h1>A page</h1><p id="words">Words.</p>'
    "<comment-corrections></comment-corrections><comment-search></comment-search>"
    f'<comment-count url="{POST}"></comment-count><page-reactions url="{POST}"></page-reactions>'
    f'<p>Words.</p><comment-thread url="{POST}"></comment-thread>'
    '<p>Words.</p><comment-thread url="/empty/"></comment-thread>'
    '<p>Words.</p><comment-thread url="/reacting/"></comment-thread>'
    '<p>Words.</p><comment-thread url="/click/" load="click"></comment-thread>'
    "<latest-comments></latest-comments><popular-pages></popular-pages></article></main>"
)


@pytest.fixture(scope="module")
def context(chromium: Browser, blog: str) -> Iterator[BrowserContext]:
    """One profile for all tests here."""
    context = chromium.new_context(base_url=blog)
    yield context
    context.close()


@pytest.fixture(scope="module")
def page(context: BrowserContext) -> Iterator[Page]:
    """Open a page with the widget in all its states, ready for `wear` and `lookAt` of looks.js."""
    answers = Answers()
    context.route(lambda url: not url.startswith("http://127"), lambda route: route.abort())
    context.route(f"{SERVICE}/**", answers.answer)
    with watched_tab(context) as page:
        page.clock.set_fixed_time(NOW)
        _prepare(page, answers)
        _open_everything(page, answers)
        links = page.eval_on_selector_all(
            "head > [rel=stylesheet]", "(all) => all.map(({ href }) => href)"
        )
        texts = {link: (WIDGET / link.partition("/static/")[2]).read_text() for link in links}
        page.add_script_tag(content=SCRIPT)
        page.evaluate("(texts) => takeOver(texts)", texts)
        yield page


def _prepare(page: Page, answers: Answers) -> None:
    answers.voting = "both"
    answers.notify = answers.sign_in = True
    answers.images, answers.part = 2**23, 5
    answers.notes = []
    answers.reactions = {"👍": 3, "🎉": 0}
    link = {"link": "https://a.example/", "title": "A page"}
    answers.latest = [{**comment(1, "Words."), **link, "excerpt": "Words."}]
    answers.popular = [{**link, "count": 3}]
    answers.deleted = [{"id": 3, "parent": None, "deleted": True}]
    answers.comments = [
        comment(1, "x", html=RICH, site="https://ada.example/", role="author"),
        comment(2, "Words.", parent=1, author="Ida", edited=NOW, verified=True),
        comment(4, "Words.", parent=3),
        comment(6, "x", html="<p>A <a href='https://a.example'>link</a>.</p>", pinned=True),
        comment(7, "Words.", permalink="https://b.example/1"),
        comment(8, "Words."),
    ]
    own = {"comment": comment(5, "Mine."), "token_expires": "2026-11-21T13:00:00Z", **OWN}
    kept = json.dumps(json.dumps({5: own}))
    page.add_init_script(f"localStorage['commentsvc:own-comments'] = {kept}")
    page.add_init_script("""localStorage['commentsvc:votes'] = '{"20": "👍"}'""")
    reacted = {"voting": "reactions", "emoji": [*"👍🎉👎😄😮😢👏🚀👀💡"], "count": 2}
    reacted["data"] = [comment(20, "Words.", reactions={"👍": 12, "🎉": 1}), comment(21, "Words.")]
    page.route(
        "**/api/comments?url=%2Freacting%2F*",
        lambda route: route.fulfill(json=reacted, headers={"Access-Control-Allow-Origin": "*"}),
    )
    page.route("**/states/", lambda route: route.fulfill(content_type="text/html", body=HTML))
    page.route(
        "**/api/comments?url=%2Fempty%2F*",
        lambda route: route.fulfill(
            json={"data": [], "count": 0}, headers={"Access-Control-Allow-Origin": "*"}
        ),
    )


def _open_everything(page: Page, answers: Answers) -> None:
    page.goto("/states/")
    page.locator("#commentsvc-5").wait_for()
    for thread in page.locator("comment-thread").all():
        thread.scroll_into_view_if_needed()
    page.locator("comment-thread[load] button").wait_for()
    page.locator("comment-thread[url='/empty/'] textarea").wait_for()
    page.locator(f"comment-thread[url='{POST}'] section > .commentsvc-input").focus()
    form = page.locator("section > form").first
    form.get_by_label("Formatting").click()
    fill(form)
    form.get_by_label("Email (optional)").fill("rosa@example.org")
    form.get_by_role("button", name="Preview").click()
    form.locator(".commentsvc-preview p").wait_for()
    answers.refuse("POST", 400, {"email": "No.", "message": "Too many words."})
    send(form)
    form.locator("[aria-invalid=true]").first.wait_for()
    answers.recover()
    form.locator("input[type=file]").set_input_files(PICTURE)
    form.locator(".commentsvc-attachment input").wait_for()
    # The focus elsewhere would hide the emoji, and what is pressed elsewhere every menu
    page.evaluate(
        "document.addEventListener('pointerdown', (event) => event.stopPropagation(), true)"
    )
    stay = "(group) => group.addEventListener('focusout', (event) => event.stopPropagation(), true)"
    page.locator("#commentsvc-21 .commentsvc-emoji").evaluate(stay)
    page.locator("#commentsvc-21 [name=react]:not([value])").click()
    # Its position and width are right for the window in which it was opened
    still = (
        "(menu) => menu.style = 'position: static; translate: none; width: 8em; max-width: none'"
    )
    page.locator("#commentsvc-21 .commentsvc-menu").evaluate(still)
    page.locator("#commentsvc-4 [name=menu]").click()
    page.locator("#commentsvc-4 [name=report]").click()
    page.locator("#commentsvc-4 [name=explanation]").wait_for()
    # The next form would close this one
    keep = "(item) => item.addEventListener('reset', (event) => event.stopPropagation(), true)"
    page.locator("#commentsvc-4").evaluate(keep)
    page.locator("#commentsvc-1 [name=menu]").first.click()
    page.locator("#commentsvc-1 [name=report]").first.wait_for()
    page.locator("#commentsvc-6 [name=vote]").first.click()
    page.locator("#commentsvc-6 [aria-pressed=true]").wait_for()
    page.locator("#commentsvc-6 [name=reply]").click()
    page.locator("#commentsvc-6 form [name=email]").fill("rosa@example.org")
    page.locator("#commentsvc-6 form select").wait_for()
    page.locator("section > form [name=private]").first.wait_for()
    page.evaluate("getSelection().selectAllChildren(document.querySelector('#words'))")
    page.locator(".commentsvc-at-words").click()
    page.locator("dialog [name=thank]").wait_for()
    page.locator("dialog textarea").fill("Other words.")


def check(page: Page, css: str, scheme: str) -> list[str]:
    """Return the faults: light, wide and left to right; or dark, narrow and right to left."""
    is_light = scheme == "light"
    page.emulate_media(color_scheme="light" if is_light else "dark")
    page.set_viewport_size({"width": 1280 if is_light else 360, "height": 900})
    page.evaluate("(scheme) => setScheme(scheme)", scheme)
    page.evaluate("(css) => wear(css)", css)
    # The widget follows the blog's colours in the next frame
    page.evaluate("new Promise((seen) => requestAnimationFrame(() => requestAnimationFrame(seen)))")
    found: list[str] = page.evaluate("lookAt()")
    return list(dict.fromkeys(found))


def test_each_control_can_be_seen_and_used_under_every_stylesheet(
    page: Page, packages: Path
) -> None:
    """In each state, at rest, hovered, focused and pressed, in both schemes and directions."""
    faults = {
        f"{sheet.name}, {scheme}": found
        for sheet in stylesheets(packages)
        for scheme in ("light", "dark")
        if (found := check(page, sheet.text, scheme))
    }
    assert not faults, json.dumps(faults, indent=1, ensure_ascii=False)


def css_of(page: Page, selector: str, name: str) -> str:
    read = "([selector, name]) => getComputedStyle(document.querySelector(selector))[name]"
    value: str = page.evaluate(read, [selector, name])
    return value


def test_documented_properties_layer_and_classes_theme_the_widget_under_any_theme(
    page: Page,
) -> None:
    """The recipes of docs/embedding.md, where a theme resets everything."""
    recipes = re.findall(r"(?s)```css\n(.*?)```", (ROOT / "docs" / "embedding.md").read_text())
    [properties] = [recipe for recipe in recipes if "--commentsvc-accent: #9c4a26" in recipe]
    [layered] = [recipe for recipe in recipes if "@layer" in recipe]
    send, field = ".commentsvc-form .commentsvc-button", ".commentsvc-form input.commentsvc-input"
    for name in ("Paper", "everything at once"):
        assert not check(page, MADE[name] + properties, "light"), name
        assert css_of(page, send, "backgroundColor") == "rgb(156, 74, 38)"
        assert css_of(page, send, "webkitTextFillColor") == "rgb(255, 255, 255)"
        assert css_of(page, field, "borderTopColor") == "rgb(136, 136, 136)"
        assert css_of(page, ".commentsvc-date", "color") == "rgb(102, 102, 102)"
        assert css_of(page, ".commentsvc-error", "color") == "rgb(200, 16, 46)"
        check(page, MADE[name] + layered, "light")
        assert css_of(page, send, "backgroundColor") == "rgba(0, 0, 0, 0)"
        assert css_of(page, send, "borderTopWidth") == "1px"
        second = ".commentsvc-comment + .commentsvc-comment"
        assert css_of(page, second, "marginTop") == css_of(page, second, "fontSize")
        own = ".commentsvc-form { --commentsvc-accent: rgb(0 128 128) }"
        check(page, MADE[name] + own, "light")
        assert css_of(page, send, "backgroundColor") == "rgb(0, 128, 128)"
    check(page, MADE["Mainroad"] + layered, "light")
    assert css_of(page, send, "textTransform") == "uppercase"
    assert css_of(page, send, "borderTopLeftRadius") == "0px"


def test_our_own_themes_hide_nothing_under_any_theme(page: Page) -> None:
    for theme in (WIDGET / "themes").glob("*.css"):
        for name in ("Paper", "PaperMod", "LoveIt"):
            for scheme in ("light", "dark"):
                assert not check(page, MADE[name] + theme.read_text(), scheme), (
                    theme,
                    name,
                    scheme,
                )


def test_firefox_shows_each_control_under_the_hardest_stylesheets(
    page: Page, tmp_path: Path
) -> None:
    """The elements are those that Chromium has made, without their scripts."""
    html = page.evaluate("document.documentElement.outerHTML")
    html = re.sub(r"(?s)<script.*?</script>|<link .*?>", "", html)
    # An accent of the stylesheet before, which no script removes here
    html = re.sub(r'(<comment-thread[^>]*) style="[^"]*"', r"\1", html)
    (tmp_path / "states.html").write_text(f"<!doctype html>{html}<script>{SCRIPT}</script>")
    with firefox(tmp_path / "profile") as browser:
        browser.visit((tmp_path / "states.html").as_uri())
        for name in ("Paper", "hugo-book", "everything at once"):
            for scheme in ("light", "dark"):
                browser.run("setScheme(arguments[0])", scheme)
                browser.run("wear(arguments[0])", MADE[name])
                found = browser.run("return lookAt()")
                assert not found, (name, scheme, list(dict.fromkeys(found))[:5])

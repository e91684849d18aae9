"""The strictest Content-Security-Policy that suffices, on a page of another origin."""

from playwright.sync_api import BrowserContext, Page, expect

from tests.widget import test_elements
from tests.widget.browser import (
    NOW,
    POST,
    SERVICE,
    Answers,
    comment,
    fill,
    open_form,
    send,
    wait_in,
)

POLICY = f"default-src 'self'; script-src {SERVICE}; connect-src {SERVICE}; style-src {SERVICE}"
LISTEN = """
  window.violations = [];
  addEventListener("securitypolicyviolation", ({ effectiveDirective, blockedURI }) =>
    violations.push([effectiveDirective, blockedURI]));
"""


def show(page: Page, lang: str, part: str, policy: str = POLICY) -> None:
    """Open a page with that policy and our elements."""
    body = (
        f'<!doctype html><html lang="{lang}"><meta charset="utf-8"><title>A page</title>'
        f'<script type="module" src="{SERVICE}/static/comments.js"></script>'
        f"<main><h1>A page</h1>{part}</main>"
    )
    headers = {"Content-Security-Policy": policy}
    page.route(
        "**/strict/",
        lambda route: route.fulfill(content_type="text/html", body=body, headers=headers),
    )
    page.goto("/strict/")


def write(page: Page, answers: Answers) -> None:
    """Reply to a comment, with a preview and an error; change the reply, and delete it."""
    page.locator("#commentsvc-3").get_by_role("button", name="Reply").click()
    form = page.locator("#commentsvc-3 form")
    fill(form)
    answers.refuse("POST", 200, body='{"html": "<p><em>so</em></p>"}')
    form.get_by_role("button", name="Preview").click()
    expect(form.locator(".commentsvc-preview em")).to_be_visible()
    answers.refuse("POST", 429)
    send(form)
    expect(form.get_by_role("alert")).not_to_be_empty()
    answers.recover()
    send(form)
    mine = page.locator("#commentsvc-101")
    expect(mine).to_be_focused()
    mine.get_by_role("button", name="Edit").click()
    mine.get_by_label("Comment").fill("Changed.")
    mine.get_by_role("button", name="Save").click()
    expect(mine.locator(".commentsvc-body")).to_have_text("Changed.")
    mine.get_by_role("button", name="Delete").click()
    expect(mine).to_have_count(0)


def test_four_directives_suffice_in_every_state(context: BrowserContext, answers: Answers) -> None:
    """Counts, avatars, votes, replies, previews, edits, deletions, updates, errors, a language."""
    page = context.new_page()
    page.clock.set_fixed_time(NOW)
    page.add_init_script(LISTEN)
    page.on("dialog", lambda dialog: dialog.accept())
    answers.voting = "both"
    answers.part = 2
    answers.comments = [comment(n, "<em>x</em>", edited=NOW) for n in (1, 2, 3)]
    thread = f'<comment-thread url="{POST}"></comment-thread>'
    show(page, "en", f'<comment-count url="{POST}"></comment-count>{thread}')
    expect(page.locator("comment-count")).to_have_text("3 comments")
    expect(page.locator(".commentsvc-avatar").first).to_have_text("A")
    heading = page.locator(".commentsvc-bar")
    assert heading.evaluate("(bar) => getComputedStyle(bar).display") == "flex"
    page.get_by_role("button", name="Show more comments").click()
    page.locator("#commentsvc-3").get_by_role("button", name="I disagree").click()
    expect(page.locator("#commentsvc-3 .commentsvc-votes")).to_have_text("2")
    write(page, answers)
    is_followed = "/api/comments/stream"
    wait_in(page, lambda: any(is_followed in each for _, each in answers.requests), "live updates")
    assert page.evaluate("window.violations") == []
    answers.refuse("GET", 500)
    show(page, "ar", f"<i style='color: red'>An inline style</i>{thread}")
    expect(page.get_by_role("alert")).not_to_be_empty()
    assert page.evaluate("window.violations") == [["style-src-attr", "inline"]]  # it is in force
    assert {"/api/comments/stream", "/static/locales/ar.json"} <= {
        target.partition("?")[0] for _, target in answers.requests
    }


def test_reactions_and_lists_need_no_more(context: BrowserContext, answers: Answers) -> None:
    page = context.new_page()
    page.add_init_script(LISTEN)
    test_elements.fill(answers)
    scripts = "".join(
        f'<script type="module" src="{SERVICE}/static/{name}.js"></script>'
        for name in ("reactions", "views", "latest", "popular")
    )
    typed = "; require-trusted-types-for 'script'; trusted-types commentsvc"
    show(page, "en", scripts + test_elements.ALL, POLICY + typed)
    expect(page.locator("latest-comments li")).to_have_count(5)
    expect(page.locator("popular-pages li")).to_have_count(2)
    page.get_by_role("button", name="Thumbs up 2").click()
    pressed = page.get_by_role("button", name="Thumbs up 3", pressed=True)
    expect(pressed).to_be_visible()
    assert pressed.evaluate("(it) => getComputedStyle(it).borderRadius") != "0px"
    assert page.evaluate("window.violations") == []


def test_trusted_types_may_be_required(context: BrowserContext, answers: Answers) -> None:
    page = context.new_page()
    answers.comments = [comment(1, "<em>x</em>")]
    policy = "require-trusted-types-for 'script'; trusted-types commentsvc"
    body = (
        f'<!doctype html><script type="module" src="{SERVICE}/static/comments.js"></script>'
        f'<comment-thread url="{POST}"></comment-thread>'
    )
    headers = {"Content-Security-Policy": policy}
    page.route(
        "**/typed/",
        lambda route: route.fulfill(content_type="text/html", body=body, headers=headers),
    )
    page.goto("/typed/")
    expect(page.locator("#commentsvc-1 em")).to_be_visible()
    form = open_form(page)
    fill(form)
    send(form)
    expect(page.locator("#commentsvc-101")).to_be_focused()


def test_structured_data_in_a_built_thread_need_no_permission(
    context: BrowserContext, answers: Answers
) -> None:
    page = context.new_page()
    page.add_init_script(LISTEN)
    show(page, "en", '<script type="application/ld+json">{"@id": "/"}</script><p>After</p>')
    expect(page.get_by_text("After")).to_be_visible()
    assert page.evaluate("violations") == []

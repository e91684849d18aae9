"""Special pages: replaced without a load; with several threads; opened from a disk.

Astro's view transitions are tested in `test_generators`, since Astro has to build them.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, Playwright, Route, expect

from tests.conftest import FLAGS, visit, watched_tab, whole_chromium_program
from tests.widget.browser import POST, SERVICE, Answers, comment, fill, open_form, pause_clock, send

# Counts open streams and running timers that repeat.
WATCH = """
  window.streams = new Set();
  window.timers = new Set();
  window.EventSource = class extends EventSource {
    constructor(url) { super(url); streams.add(this); }
    close() { super.close(); streams.delete(this); }
  };
  const { setInterval, clearInterval } = window;
  window.setInterval = (...about) => {
    const timer = setInterval(...about);
    timers.add(timer);
    return timer;
  };
  window.clearInterval = (timer) => { clearInterval(timer); timers.delete(timer); };
"""

# Of each router, its script in the npm package, how a page asks for it, and the body's attributes.
ROUTERS = {
    "turbo": ("@hotwired/turbo/dist/turbo.es2017-esm.js", "module", ""),
    "htmx": ("htmx.org/dist/htmx.min.js", "text/javascript", ' hx-boost:inherited="true"'),
}
# What all routers do.
NAVIGATE = """(url) => {
  const main = document.createElement("main");
  const thread = document.createElement("comment-thread");
  thread.setAttribute("url", url);
  main.append(thread);
  document.querySelector("main").replaceWith(main);
}"""


def count(page: Page) -> list[int]:
    counted: list[int] = page.evaluate("[streams.size, timers.size]")
    return counted


@pytest.mark.parametrize("is_same_page", [False, True])
def test_ten_pages_or_changes_of_the_url_leave_one_stream_and_one_timer(
    page: Page, open_thread: Callable[..., Page], answers: Answers, *, is_same_page: bool
) -> None:
    answers.comments = [comment(1, "One.")]
    page.add_init_script(WATCH)
    stream = {"Access-Control-Allow-Origin": "*", "Content-Type": "text/event-stream"}
    page.route("**/stream?*", lambda route: route.fulfill(headers=stream, body="retry: 9999\n\n"))
    pause_clock(page)
    open_thread()
    for number in range(10):
        expect(page.locator("#commentsvc-1")).to_be_visible()
        asked = (is_same_page and number) or "wet-wood"
        with page.expect_request(f"**/stream?url=*{asked}*"):
            page.clock.fast_forward(5_000)
        assert count(page) == [1, 1], number
        if is_same_page:
            page.locator("comment-thread").evaluate(SET, ["url", f"/{number + 1}/"])
        else:
            page.evaluate(NAVIGATE, POST)
        assert count(page) == [0, 0], number


@pytest.mark.parametrize("router", ROUTERS)
def test_a_router_gives_each_page_its_own_thread_and_draft(
    page: Page, answers: Answers, packages: Path, router: str
) -> None:
    """The thread takes its URL from the page's address."""
    file, type_, attributes = ROUTERS[router]
    answers.comments = [comment(1, "One.")]
    parts = {
        "": ("count", '<comment-count url="/walk/one/"></comment-count>'),
        "one/": ("comments", "<comment-thread></comment-thread>"),
        "two/": ("comments", "<comment-thread></comment-thread>"),
    }

    def answer(route: Route) -> None:
        script, element = parts[urlsplit(route.request.url).path.removeprefix("/walk/")]
        route.fulfill(
            content_type="text/html",
            body='<!doctype html><html lang="en"><head><meta charset="utf-8"><title>A page</title>'
            f'<script type="{type_}" src="/router.js"></script></head><body{attributes}>'
            '<a href="/walk/">List</a> <a href="/walk/one/">One</a> <a href="/walk/two/">Two</a>'
            f'<script type="module" src="{SERVICE}/static/{script}.js"></script>'
            f"{element}</body></html>",
        )

    page.route("**/router.js", lambda route: route.fulfill(path=packages / file))
    page.route("**/walk/**", answer)
    page.goto("/walk/")
    expect(page.locator("comment-count")).to_have_text("No comments")
    page.evaluate("window.isSame = true")
    page.get_by_role("link", name="One").click()
    expect(page.locator("#commentsvc-1")).to_be_visible()
    fill(open_form(page), "To the first page.")
    page.get_by_role("link", name="Two").click()
    expect(page).to_have_url(re.compile("two"))
    expect(page.locator("section > textarea")).to_be_visible()
    page.go_back()
    form = page.locator("section > form")
    expect(form.locator("textarea")).to_have_value("To the first page.")
    send(form)
    expect(page.locator("#commentsvc-101")).to_be_focused()
    assert answers.submissions[0]["url"] == "/walk/one/"
    assert page.evaluate("window.isSame")


def test_a_page_from_the_back_forward_cache_goes_on(
    playwright: Playwright, blog: str, answers: Answers
) -> None:
    """The browser of the other tests, which has no window, has no such cache."""
    browser = playwright.chromium.launch(
        executable_path=whole_chromium_program(playwright),
        args=FLAGS,
        ignore_default_args=["--disable-back-forward-cache"],
    )
    with visit(browser, blog) as context, watched_tab(context) as page:
        context.route(f"{SERVICE}/**", answers.answer)
        answers.comments = [comment(1, "One.")]
        page.add_init_script(
            "addEventListener('pageshow', ({ persisted }) => { window.isRestored = persisted; });"
        )
        with page.expect_request("**/stream?*"):
            page.goto(POST)
            page.locator("comment-thread").scroll_into_view_if_needed()
            fill(open_form(page), "Not to be lost.")
        page.goto("/about/")
        answers.comments.append(comment(2, "Two."))
        with page.expect_request("**/stream?*"):
            page.evaluate("history.back()")
        expect(page.locator("section > form textarea")).to_have_value("Not to be lost.")
        assert page.evaluate("window.isRestored")
        send(page.locator("section > form"))
        expect(page.locator("#commentsvc-101")).to_be_focused()
    browser.close()


def test_a_thread_that_is_taken_out_before_it_follows_never_does(
    page: Page, open_thread: Callable[..., Page], answers: Answers
) -> None:
    answers.comments = [comment(1, "One.")]
    page.add_init_script(WATCH)
    pause_clock(page)
    open_thread()
    expect(page.locator("#commentsvc-1")).to_be_visible()
    page.evaluate("document.querySelector('comment-thread').remove()")
    page.clock.fast_forward(60_000)
    page.wait_for_load_state("networkidle")
    assert count(page) == [0, 0]


def test_a_thread_that_is_taken_out_while_it_loads_follows_once_it_is_put_back(
    page: Page, open_thread: Callable[..., Page], answers: Answers
) -> None:
    """A router may leave a page before its comments have come."""
    answers.comments = [comment(1, "One.")]
    page.add_init_script(WATCH)
    pause_clock(page)
    page.add_init_script("localStorage['commentsvc:own-comments'] = '{}'")
    held: list[Route] = []
    page.route("**/own_comments.js", lambda route: held.append(route))
    with page.expect_request("**/own_comments.js"):
        open_thread()
    page.evaluate("thread = document.querySelector('comment-thread'), thread.remove()")
    answers.answer(held[0])
    page.wait_for_function("thread.querySelector('li')")
    page.clock.fast_forward(60_000)
    page.evaluate(f"import('{SERVICE}/static/thread/live.js')")
    assert count(page) == [0, 0]
    page.evaluate("document.body.append(thread)")
    with page.expect_request("**/stream?*"):
        page.clock.fast_forward(5_000)


# What replaces more of a page than its body
REPLACED = {
    "head": "document.head.replaceWith(document.createElement('head'))",
    "root": "document.documentElement.innerHTML = '<body>' + written",
    "document": "document.write(written), document.close()",
}


@pytest.mark.parametrize("part", REPLACED)
def test_the_styles_stay_whatever_part_of_the_document_is_replaced(
    page: Page, open_thread: Callable[..., Page], answers: Answers, part: str
) -> None:
    answers.comments = [comment(1, "One.")]
    open_thread()
    bar = page.locator(".commentsvc-bar")
    expect(bar).to_have_css("display", "flex")
    page.evaluate(f"""() => {{
      const written = `<comment-thread url="{POST}"></comment-thread>`;
      {REPLACED[part]};
    }}""")
    expect(bar).to_have_css("display", "flex")
    expect(page.locator("#commentsvc-1")).to_be_visible()


def test_in_a_form_of_the_blog_readers_read_and_write(
    page: Page, open_thread: Callable[..., Page], answers: Answers
) -> None:
    """Some frameworks put the whole page into one form."""
    answers.comments = [comment(number, "A text.") for number in (1, 2, 3)]
    answers.part = 2
    open_thread()
    expect(page.locator("#commentsvc-1")).to_be_visible()
    page.evaluate(
        """() => {
          const form = document.createElement("form");
          form.onsubmit = () => document.body.append("It is submitted.");
          document.body.append(form);
          form.append(document.querySelector("main"));
        }"""
    )
    page.get_by_role("button", name="Show more comments").click()
    expect(page.locator("#commentsvc-3")).to_be_visible()
    page.locator("#commentsvc-1").get_by_role("button", name="Reply").click()
    expect(page.locator("#commentsvc-1 form textarea")).to_be_focused()
    form = open_form(page)
    fill(form)
    send(form)
    expect(page.locator("#commentsvc-101")).to_be_focused()
    expect(page.get_by_text("It is submitted.")).to_have_count(0)
    expect(page).to_have_url(re.compile("/small/$"))


def test_a_thread_that_is_put_back_goes_on(
    page: Page, open_thread: Callable[..., Page], answers: Answers
) -> None:
    answers.comments = [comment(1, "One.")]
    pause_clock(page)
    open_thread()
    expect(page.locator("#commentsvc-1")).to_be_visible()
    page.evaluate("document.body.append(document.querySelector('comment-thread'))")
    with page.expect_request("**/stream?*"):
        page.clock.fast_forward(5_000)
    assert len([target for _, target in answers.requests if "comments?" in target]) == 1


def test_threads_of_one_page_do_not_mix(
    page: Page, open_thread: Callable[..., Page], answers: Answers
) -> None:
    def answer(route: Route) -> None:
        if route.request.method == "POST":
            route.fallback()
            return
        [url] = parse_qs(urlsplit(route.request.url).query)["url"]
        number = 1 if url == POST else 2
        listed = {"data": [comment(number, f"On {url}")], "count": 1}
        headers = {"Access-Control-Allow-Origin": "*", "Content-Type": "application/json"}
        route.fulfill(body=json.dumps(listed), headers=headers)

    page.route("**/api/comments?*", answer)
    other = '<comment-thread url="/other/"></comment-thread><comment-count url="/other/">'
    open_thread(more=other)
    first, second = (page.locator(f'comment-thread[url="{url}"]') for url in (POST, "/other/"))
    for thread, number, url in ((first, 1, POST), (second, 2, "/other/")):
        expect(thread.locator("li")).to_have_count(1)
        expect(thread.locator(f"#commentsvc-{number} .commentsvc-body")).to_have_text(f"On {url}")
    second.locator("section > textarea").focus()
    form = second.locator("section > form")
    form.wait_for()
    fill(form, "To the other.")
    expect(first.locator("form")).to_have_count(0)
    send(form)
    expect(second.locator("#commentsvc-101")).to_be_focused()
    expect(first.locator("li")).to_have_count(1)
    assert answers.submissions[0]["url"] == "/other/"


def test_a_page_on_a_disk_shows_comments_and_keeps_what_cannot_be_sent(
    page: Page, answers: Answers, tmp_path: Path
) -> None:
    """Its origin is `null`, which no site allows to write."""
    answers.comments = [comment(1, "One.")]
    file = tmp_path / "page.html"
    file.write_text(
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>A page</title>'
        f'<script type="module" src="{SERVICE}/static/comments.js"></script>'
        f'<comment-thread url="{POST}"></comment-thread>'
    )
    page.goto(file.as_uri())
    expect(page.locator("#commentsvc-1")).to_be_visible()
    answers.refuse("POST", 403)
    page.locator("section > textarea").focus()
    form = page.locator("section > form")
    fill(form, "Not to be lost.")
    send(form)
    expect(form.get_by_role("alert")).to_contain_text("The service says why.")
    expect(form.get_by_label("Comment")).to_have_value("Not to be lost.")
    page.reload()
    expect(page.locator("section > form textarea")).to_have_value("Not to be lost.")


def other_page(page: Page, answers: Answers, url: str = "/other/") -> None:
    """Let the service have a comment on another page too."""

    def answer(route: Route) -> None:
        asked = parse_qs(urlsplit(route.request.url).query).get("url")
        if route.request.method != "GET" or asked != [url]:
            route.fallback()
            return
        listed = {"data": [comment(50, "On the other page.")], "count": 1}
        headers = {"Access-Control-Allow-Origin": "*", "Content-Type": "application/json"}
        route.fulfill(body=json.dumps(listed), headers=headers)

    page.route("**/api/comments?*", answer)


SET = "(element, [name, value]) => { element[name] = value; }"


def test_a_changed_url_shows_the_other_page_and_leaves_each_text_where_it_was_typed(
    page: Page, open_thread: Callable[..., Page], answers: Answers
) -> None:
    """The text of a reply too, and of a form that was never opened."""
    answers.comments = [comment(1, "One.")]
    other_page(page, answers)
    open_thread()
    thread = page.locator("comment-thread")
    fill(open_form(page), "To the first page.")
    thread.get_by_role("button", name="Reply").click()
    thread.locator("li form textarea").fill("To the first comment.")
    thread.evaluate(SET, ["url", "/other/"])
    expect(page.locator("#commentsvc-50")).to_be_visible()
    expect(page.locator("#commentsvc-1")).to_have_count(0)
    expect(page.locator("section > textarea")).to_have_value("")
    form = open_form(page)
    fill(form, "To the other page.")
    send(form)
    expect(page.locator("#commentsvc-101")).to_be_focused()
    thread.evaluate(SET, ["url", POST])
    expect(page.locator("#commentsvc-1")).to_be_visible()
    expect(page.locator("#commentsvc-50")).to_have_count(0)
    form = page.locator("section > form")
    expect(form.locator("textarea")).to_have_value("To the first page.")
    thread.get_by_role("button", name="Reply").first.click()
    expect(thread.locator("li form textarea")).to_have_value("To the first comment.")
    send(form)
    expect(page.locator("#commentsvc-102")).to_be_focused()
    assert [(it["url"], it["message"]) for it in answers.submissions] == [
        ("/other/", "To the other page."),
        (POST, "To the first page."),
    ]


def test_what_was_asked_for_one_page_is_never_shown_on_another(
    page: Page, open_thread: Callable[..., Page], answers: Answers
) -> None:
    """The answer for the first page comes when the element shows the second one."""
    answers.comments = [comment(1, "One.")]
    held: list[Route] = []
    first = f"**/api/comments?url={POST.replace('/', '%2F')}*"
    page.route(first, lambda route: held.append(route))
    other_page(page, answers)
    with page.expect_request("**/api/comments?*"):
        open_thread(more="<style>main { padding: 0 }</style>")
    thread = page.locator("comment-thread")
    thread.evaluate(SET, ["url", "/other/"])
    expect(page.locator("#commentsvc-50")).to_be_visible()
    for route in held:
        answers.answer(route)
    page.wait_for_load_state("networkidle")
    expect(thread.locator("li")).to_have_count(1)
    expect(page.locator("#commentsvc-1")).to_have_count(0)


def test_a_comment_that_is_being_sent_stays_with_its_page_and_title(
    page: Page, open_thread: Callable[..., Page], answers: Answers
) -> None:
    answers.comments = [comment(1, "One.")]
    other_page(page, answers)
    held: list[Route] = []
    page.route(
        re.compile(r"/api/comments\?lang=en$"),
        lambda route: held.append(route) if route.request.method == "POST" else route.fallback(),
    )
    open_thread()
    thread = page.locator("comment-thread")
    form = open_form(page)
    fill(form, "To the first page.")
    with page.expect_request(re.compile(r"/api/comments\?lang=en$")):
        send(form)
    page.evaluate("document.title = 'Another page'")
    thread.evaluate(SET, ["url", "/other/"])
    expect(page.locator("#commentsvc-50")).to_be_visible()
    for route in held:
        answers.answer(route)
    own = "() => JSON.parse(localStorage['commentsvc:own-comments'] ?? '{}')[101]?.url"
    page.wait_for_function(f"{own} == '{POST}'".replace("() => ", ""))
    expect(thread.locator("li")).to_have_count(1)
    [sent] = answers.submissions
    assert (sent["url"], sent["title"]) == (POST, "A page")
    thread.evaluate(SET, ["url", POST])
    expect(page.locator("#commentsvc-101")).to_be_visible()
    expect(page.locator("section > textarea")).to_have_value("")


def test_each_other_attribute_works_when_it_is_changed(
    page: Page, open_thread: Callable[..., Page], answers: Answers
) -> None:
    answers.comments = [comment(1, "One."), comment(2, "Two.", parent=1), comment(3, "Three.")]
    open_thread()
    thread = page.locator("comment-thread")
    expect(thread.locator("li li")).to_have_count(1)
    fill(open_form(page), "Not to be lost.")
    thread.evaluate(SET, ["depth", 0])
    expect(thread.locator("li")).to_have_count(3)
    expect(thread.locator("li li")).to_have_count(0)
    expect(thread.locator("section > form textarea")).to_have_value("Not to be lost.")
    thread.evaluate(SET, ["sort", "newest"])
    expect(thread.locator("li").first).to_have_id("commentsvc-3")
    thread.evaluate(SET, ["lang", "de"])
    expect(thread.get_by_role("heading")).to_have_text("3 Kommentare")
    thread.evaluate(SET, ["closed", True])
    expect(thread.locator("section form")).to_have_count(0)
    thread.evaluate(SET, ["closed", False])
    expect(thread.locator("section > form textarea")).to_have_value("Not to be lost.")
    thread.evaluate(SET, ["load", "click"])
    expect(thread.get_by_role("button")).to_have_text("Kommentare anzeigen")
    thread.evaluate("(element) => element.removeAttribute('load')")
    expect(thread.locator("li")).to_have_count(3)


def test_a_page_that_cannot_be_loaded_shows_the_fallback_and_no_comment_of_another(
    page: Page, open_thread: Callable[..., Page], answers: Answers
) -> None:
    answers.comments = [comment(1, "One.")]
    open_thread()
    thread = page.locator("comment-thread")
    expect(page.locator("#commentsvc-1")).to_be_visible()
    answers.refuse("GET", 503)
    thread.evaluate(SET, ["url", "/other/"])
    expect(thread.get_by_role("alert")).to_contain_text("cannot be loaded")
    expect(thread.locator("li, textarea")).to_have_count(0)
    answers.recover()
    thread.get_by_role("button", name="Try again").click()
    expect(page.locator("#commentsvc-1")).to_be_visible()


BUILT = """<section class="commentsvc-thread" dir="ltr"><form class="commentsvc-form">
<textarea name="message"></textarea><input name="author"><input name="email"><input name="site">
</form></section>"""


def test_a_text_in_the_form_that_a_build_made_stays_a_draft_of_its_page(
    page: Page, open_thread: Callable[..., Page], answers: Answers
) -> None:
    answers.comments = [comment(1, "One.")]
    open_thread(load="click")
    thread = page.locator("comment-thread")
    thread.get_by_role("button").wait_for()
    thread.evaluate("(element, built) => element.insertAdjacentHTML('afterbegin', built)", BUILT)
    thread.locator("textarea").fill("To the first page.")
    thread.evaluate(SET, ["url", "/other/"])
    expect(thread.locator("textarea")).to_have_count(0)
    thread.evaluate(SET, ["url", POST])
    thread.evaluate(SET, ["load", None])
    expect(page.locator("section > form textarea")).to_have_value("To the first page.")


def test_a_section_of_the_blog_in_an_element_is_fallback_as_everything_else(
    page: Page, open_thread: Callable[..., Page], answers: Answers
) -> None:
    open_thread(load="click")
    thread = page.locator("comment-thread")
    thread.get_by_role("button").wait_for()
    thread.evaluate("(element) => element.prepend(document.createElement('section'))")
    thread.evaluate("(element) => element.firstChild.append('Fallback')")
    thread.evaluate(SET, ["load", ""])
    expect(thread.locator("textarea")).to_be_visible()
    expect(thread.get_by_text("Fallback")).to_have_count(0)
    answers.refuse("GET", 503)
    thread.evaluate(SET, ["url", "/other/"])
    expect(thread.get_by_role("alert")).to_contain_text("cannot be loaded")
    expect(thread.get_by_text("Fallback")).to_be_visible()

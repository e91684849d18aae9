"""Slow connections and failures, with the real service: nothing jumps, nothing is lost."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route, expect

from loadtest.harness.running import free_port
from tests.e2e.program import Service
from tests.widget.browser import POST, TEXT, fill, open_form, send

Start = Callable[..., Service]

# What Chromium's DevTools call slow 3G: ms, bytes per second.
SLOW_3G = {
    "offline": False,
    "latency": 400,
    "downloadThroughput": 50_000,
    "uploadThroughput": 50_000,
}

SHIFTS = """
  window.shift = 0;
  new PerformanceObserver((list) => {
    for (const { hadRecentInput, value } of list.getEntries())
      if (!hadRecentInput) window.shift += value;
  }).observe({ type: "layout-shift", buffered: true });
"""


@pytest.mark.parametrize(
    ("number", "width", "end"),
    [(0, 1280, False), (0, 360, True), (3, 360, False), (30, 1280, True)],
)
def test_nothing_jumps_on_a_slow_line(
    start: Start, tab: Page, number: int, width: int, end: bool
) -> None:
    """The reader jumps to the thread or to the end of the page at once, and waits there."""
    service = start(COMMENTSVC_MODERATION_POLICY="none", COMMENTSVC_SPAM_RATE_LIMIT="off")
    for n in range(number):
        assert service.submit(POST, f"Number {n}, a few words about wood.").status == 201
    tab.set_viewport_size({"width": width, "height": 900})
    tab.add_init_script(SHIFTS)
    tab.context.new_cdp_session(tab).send("Network.emulateNetworkConditions", SLOW_3G)
    tab.goto(POST, wait_until="domcontentloaded")
    tab.locator(".bottom" if end else "comment-thread").scroll_into_view_if_needed()
    tab.locator("section.commentsvc-thread").wait_for()
    expect(tab.locator(".commentsvc-comment")).to_have_count(number)
    tab.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
    assert tab.evaluate("window.shift") == 0
    expect(tab.locator(".bottom" if end else ".commentsvc-heading").first).to_be_in_viewport()


def test_a_restart_in_the_middle_loses_and_doubles_nothing(start: Start, tab: Page) -> None:
    address = f"127.0.0.1:{free_port()}"  # nobody takes it in between
    service = start(COMMENTSVC_MODERATION_POLICY="none", listen=address)
    tab.goto(POST)
    tab.locator("comment-thread").scroll_into_view_if_needed()
    form = open_form(tab)
    fill(form)
    service.close()
    send(form)
    expect(form.get_by_role("alert")).to_contain_text("Your text is kept.")
    expect(form.get_by_label("Comment")).to_have_value(TEXT)
    again = start(COMMENTSVC_MODERATION_POLICY="none", listen=address)
    send(form)
    expect(tab.locator("#commentsvc-1")).to_be_focused()
    assert again.count(POST) == 1


def test_what_could_not_be_loaded_is_loaded_under_another_address(start: Start, tab: Page) -> None:
    """Many browsers remember that a module could not be loaded, until the page is reloaded."""
    service = start(COMMENTSVC_MODERATION_POLICY="none")
    tab.route("**/static/form/sending.js", lambda route: route.abort())
    tab.goto(POST)
    tab.locator("comment-thread").scroll_into_view_if_needed()
    form = open_form(tab)
    fill(form)
    send(form)
    expect(tab.locator("#commentsvc-1")).to_be_focused()
    assert service.count(POST) == 1


def test_on_a_slow_line_the_button_says_so_and_the_page_stays_usable(
    start: Start, tab: Page
) -> None:
    start(COMMENTSVC_MODERATION_POLICY="none")
    tab.goto(POST)
    tab.locator("comment-thread").scroll_into_view_if_needed()
    form = open_form(tab)
    fill(form)
    tab.context.new_cdp_session(tab).send("Network.emulateNetworkConditions", SLOW_3G)
    held: list[Route] = []
    tab.route("**/api/comments?lang=*", lambda route: held.append(route))
    with tab.expect_request("**/api/comments?lang=*"):
        send(form)
    sending = form.get_by_role("button", name="Sending…")
    expect(sending).to_be_visible()
    assert tab.evaluate("new Promise((done) => requestAnimationFrame(() => done(true)))")
    expect(sending).to_be_visible()
    held.pop().continue_()
    expect(tab.locator("#commentsvc-1")).to_be_focused()

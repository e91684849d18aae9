"""Pages that change without a load, as by Turbo: what an element began ends with it."""

from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.widget.browser import POST, Answers, comment

# Counts what is open or runs: streams, and timers that repeat.
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

# As Turbo does it: the body of the next page takes the place of this one's.
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


def test_ten_pages_leave_one_stream_and_one_timer(
    page: Page, open_thread: Callable[..., Page], answers: Answers
) -> None:
    answers.comments = [comment(1, "One.")]
    page.add_init_script(WATCH)
    stream = {"Access-Control-Allow-Origin": "*", "Content-Type": "text/event-stream"}
    page.route("**/stream?*", lambda route: route.fulfill(headers=stream, body="retry: 9999\n\n"))
    page.clock.install()
    open_thread()
    for number in range(10):
        expect(page.locator("#commentsvc-1")).to_be_visible()
        with page.expect_request("**/stream?*"):
            page.clock.fast_forward(5_000)
        assert count(page) == [1, 1], number
        page.evaluate(NAVIGATE, POST)
        assert count(page) == [0, 0], number


def test_a_thread_that_is_taken_out_before_it_follows_never_does(
    page: Page, open_thread: Callable[..., Page], answers: Answers
) -> None:
    answers.comments = [comment(1, "One.")]
    page.add_init_script(WATCH)
    page.clock.install()
    open_thread()
    expect(page.locator("#commentsvc-1")).to_be_visible()
    page.evaluate("document.querySelector('comment-thread').remove()")
    page.clock.fast_forward(60_000)
    page.wait_for_load_state("networkidle")
    assert count(page) == [0, 0]


def test_a_thread_that_is_put_back_goes_on(
    page: Page, open_thread: Callable[..., Page], answers: Answers
) -> None:
    answers.comments = [comment(1, "One.")]
    page.clock.install()
    open_thread()
    expect(page.locator("#commentsvc-1")).to_be_visible()
    page.evaluate("document.body.append(document.querySelector('comment-thread'))")
    with page.expect_request("**/stream?*"):
        page.clock.fast_forward(5_000)
    assert len([target for _, target in answers.requests if "comments?" in target]) == 1

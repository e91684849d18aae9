"""What a first view waits for: as few round trips as possible, and nothing twice."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route, expect

from loadtest.workloads.page_view import HINTS
from tests.widget.browser import POST, ROOT, SERVICE, Answers, comment, wait_in

# Live updates, which begin after five seconds, are no part of a first view.
pytestmark = pytest.mark.usefixtures("paused_clock")

OpenThread = Callable[..., Page]
EMBEDDING = ROOT / "docs" / "embedding.md"
COMMON = "/static/common.js"
LIST = "/api/comments?url=%2Fposts%2Fwet-wood%2F&sort={}&limit=100"
FIRST_VIEW = {
    "/static/comments.js",
    COMMON,
    "/static/comments.css",
    "/static/locales/en.json",
    LIST.format("oldest"),
}


def requested(answers: Answers) -> list[str]:
    known = [target for _, target in answers.requests]
    return sorted(target for target in known if "contrast" not in target)  # for black text


def assert_requested(page: Page, answers: Answers, wanted: set[str]) -> None:
    """Check what was requested; requests are recorded a little later than the page makes them."""
    wait_in(page, lambda: len(requested(answers)) >= len(wanted), "the requests")
    assert requested(answers) == sorted(wanted)


def hold(page: Page, answers: Answers, part: str) -> Callable[[], None]:
    """Answer requests for this part of the widget only when the returned function is called."""
    held: list[Route] = []
    page.route(f"**{part}", lambda route: held.append(route))

    def release() -> None:
        page.unroute(f"**{part}")
        for route in held:
            answers.answer(route)

    return release


@pytest.mark.parametrize("lang", ["en", "de-AT"])
@pytest.mark.parametrize("sort", ["oldest", "newest"])
def test_all_that_a_first_view_needs_is_requested_by_the_first_file_and_once(
    page: Page, open_thread: OpenThread, answers: Answers, lang: str, sort: str
) -> None:
    answers.comments = [comment(1, "Yes.")]
    release = hold(page, answers, COMMON)
    others = {"/static/comments.css", f"/static/locales/{lang}.json", LIST.format(sort)}
    with page.expect_request_finished(lambda request: ".json" in request.url):
        open_thread(lang=lang, sort=sort)
    assert_requested(page, answers, {"/static/comments.js", *others})
    release()
    expect(page.locator("#commentsvc-1")).to_be_visible()
    page.wait_for_load_state("networkidle")
    assert_requested(page, answers, {"/static/comments.js", COMMON, *others})


def test_a_reader_who_chose_an_order_waits_for_no_other(
    page: Page, open_thread: OpenThread, answers: Answers
) -> None:
    answers.comments = [comment(1, "Yes.")]
    page.add_init_script("localStorage.setItem('commentsvc:sort', '\"newest\"')")
    open_thread()
    expect(page.locator("#commentsvc-1")).to_be_visible()
    page.wait_for_load_state("networkidle")
    assert_requested(page, answers, FIRST_VIEW - {LIST.format("oldest")} | {LIST.format("newest")})


def test_a_browser_that_blocks_storage_shows_the_comments(
    page: Page, open_thread: OpenThread, answers: Answers
) -> None:
    answers.comments = [comment(1, "Yes.")]
    page.add_init_script(
        "Object.defineProperty(window, 'localStorage', { get() { throw new DOMException(); } })"
    )
    open_thread()
    expect(page.locator("#commentsvc-1")).to_be_visible()
    assert_requested(page, answers, FIRST_VIEW)


@pytest.mark.parametrize("style", ["margin-top: 5000px", "display: none"])
def test_a_thread_that_is_far_below_or_hidden_requests_no_comments_and_no_words(
    page: Page, open_thread: OpenThread, answers: Answers, style: str
) -> None:
    answers.comments = [comment(1, "Yes.")]
    open_thread(more=f"<style>main {{ {style} }}</style>")
    page.wait_for_load_state("networkidle")
    assert_requested(page, answers, {"/static/comments.css", "/static/comments.js", COMMON})
    page.evaluate("document.querySelector('style').remove()")
    expect(page.locator("#commentsvc-1")).to_be_visible()
    assert_requested(page, answers, FIRST_VIEW)


def test_with_the_documented_hints_everything_is_requested_before_a_script_runs(
    page: Page, answers: Answers
) -> None:
    answers.comments = [comment(1, "Yes.")]
    [hints] = re.findall(
        r"```html\n(<link rel=.modulepreload.+?)```", EMBEDDING.read_text(), re.DOTALL
    )
    measured = HINTS.replace("{0}", "BASE").replace("%2Fpost%2F", "%2Fposts%2Fwet-wood%2F")
    assert hints.replace("\n", "").replace("&amp;", "&") == measured
    body = (
        f'<!doctype html><html lang="en"><title>A page</title>{hints.replace("BASE", SERVICE)}'
        f'<script type="module" src="{SERVICE}/static/comments.js"></script>'
        f'<comment-thread url="{POST}"></comment-thread>'
    )
    page.route("**/small/", lambda route: route.fulfill(content_type="text/html", body=body))
    release = hold(page, answers, "/static/comments.js")
    with page.expect_request_finished(lambda request: ".json" in request.url):
        page.goto("/small/", wait_until="commit")
    assert_requested(page, answers, FIRST_VIEW - {"/static/comments.js"})
    release()
    expect(page.locator("#commentsvc-1")).to_be_visible()
    page.wait_for_load_state("networkidle")
    assert_requested(page, answers, FIRST_VIEW)


def test_a_phone_lays_out_a_thread_of_replies_once_not_for_each_reply(
    page: Page, open_thread: OpenThread, answers: Answers
) -> None:
    """On a phone, a page that asks for the width of its window is laid out at once."""
    answers.comments = [comment(n, "Yes.", parent=n - 1 if n % 4 else None) for n in range(1, 101)]
    devtools = page.context.new_cdp_session(page)
    screen = {"width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": True}
    devtools.send("Emulation.setDeviceMetricsOverride", screen)
    devtools.send("Performance.enable")
    open_thread()
    expect(page.locator("#commentsvc-100")).to_be_attached()
    metrics = devtools.send("Performance.getMetrics")["metrics"]
    [layouts] = [one["value"] for one in metrics if one["name"] == "LayoutCount"]
    assert 0 < layouts < 25

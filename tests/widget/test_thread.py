"""<comment-thread>: what a reader sees of the comments, and what a comment cannot do."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.widget.browser import POST, SERVICE, Answers, comment

Open = Callable[[], Page]


def test_comments_stand_in_order_with_author_date_and_text(
    open_post: Open, answers: Answers
) -> None:
    answers.comments = [comment(1, "First."), comment(2, "<em>Second</em>.", author="Ida")]
    page = open_post()
    expect(page.get_by_role("heading", name="2 comments")).to_be_visible()
    expect(page.locator(".commentsvc-body")).to_have_text(["First.", "Second."])
    expect(page.locator(".commentsvc-body em")).to_have_text("Second")
    expect(page.locator(".commentsvc-author")).to_have_text(["Ada Byron", "Ida"])
    expect(page.locator("#comment-1 time")).to_have_text("yesterday")
    expect(page.locator("#comment-1 time")).to_have_attribute(
        "title", "November 20, 2026 at 8:30 AM"
    )
    expect(page.locator("#comment-1 time")).to_have_attribute("datetime", "2026-11-20T08:30:00Z")


def test_replies_stand_under_what_they_answer(open_post: Open, answers: Answers) -> None:
    answers.comments = [
        comment(1, "Question?"),
        comment(2, "Another."),
        comment(3, "Answer.", parent=1),
        comment(4, "Thanks.", parent=3),
        comment(5, "Its parent is not shown.", parent=99),
    ]
    page = open_post()
    expect(page.locator("#comment-1 > .commentsvc-replies > #comment-3")).to_be_visible()
    expect(page.locator("#comment-3 > .commentsvc-replies > #comment-4")).to_be_visible()
    expect(page.locator(".commentsvc-list > li")).to_have_count(3)


def test_names_are_text_and_only_web_addresses_become_links(
    open_post: Open, answers: Answers
) -> None:
    answers.comments = [
        comment(1, "x", author="<img src=x onerror=alert(1)>", site="javascript:alert(1)"),
        comment(2, "x", author="Ida", site="https://ida.example/"),
    ]
    page = open_post()
    expect(page.locator("#comment-1 .commentsvc-author")).to_have_text(
        "<img src=x onerror=alert(1)>"
    )
    expect(page.locator(".commentsvc-thread img")).to_have_count(0)
    expect(page.locator(".commentsvc-author[href]")).to_have_count(1)
    ida = page.get_by_role("link", name="Ida")
    expect(ida).to_have_attribute("href", "https://ida.example/")
    expect(ida).to_have_attribute("rel", "nofollow ugc noopener")


def test_a_thread_far_below_waits_until_the_reader_comes_near(page: Page, answers: Answers) -> None:
    page.set_viewport_size({"width": 360, "height": 400})
    page.route("**/css/blog.css", lambda route: route.fulfill(body="article { height: 3000px }"))
    page.goto(POST)
    expect(page.locator("comment-count")).to_have_text("No comments")
    assert not [target for _, target in answers.requests if "comments?" in target]
    page.mouse.wheel(0, 2500)
    expect(page.locator("section.commentsvc-thread")).to_be_visible()


def test_a_long_thread_comes_in_parts(open_post: Open, answers: Answers) -> None:
    answers.part = 2
    answers.comments = [comment(n, f"Number {n}.") for n in range(1, 6)]
    page = open_post()
    more = page.get_by_role("button", name="Show more comments")
    more.click()
    expect(page.locator("#comment-3")).to_be_focused()
    more.click()
    expect(page.locator(".commentsvc-comment")).to_have_count(5)
    expect(more).to_be_hidden()
    expect(page.get_by_role("heading", name="5 comments")).to_be_visible()


def test_a_part_that_fails_can_be_asked_for_again(open_post: Open, answers: Answers) -> None:
    answers.part = 1
    answers.comments = [comment(1, "One."), comment(2, "Two.")]
    page = open_post()
    answers.refuse("GET", 503)
    page.get_by_role("button", name="Show more comments").click()
    expect(page.get_by_role("alert").filter(has_text="cannot be loaded")).to_be_visible()
    expect(page.locator("#comment-1")).to_be_visible()
    answers.recover()
    page.get_by_role("button", name="Try again").click()
    expect(page.locator("#comment-2")).to_be_focused()
    expect(page.get_by_role("alert").filter(has_text="cannot be loaded")).to_have_count(0)


@pytest.mark.parametrize("status", [0, 500, 503])
def test_without_an_answer_the_fallback_stays_and_the_reader_can_try_again(
    page: Page, answers: Answers, status: int
) -> None:
    answers.refuse("GET", status)
    page.goto(POST)
    thread = page.locator("comment-thread")
    thread.scroll_into_view_if_needed()
    expect(page.get_by_role("alert")).to_have_text("The comments cannot be loaded at the moment.")
    expect(thread).to_have_class("commentsvc-failed")
    expect(thread.locator("noscript")).to_have_count(1)
    answers.recover()
    page.get_by_role("button", name="Try again").click()
    expect(page.locator("section.commentsvc-thread")).to_be_visible()
    expect(page.get_by_role("heading", name="No comments")).to_be_focused()
    expect(thread).to_have_class("")


def test_a_link_to_a_comment_leads_to_it(page: Page, answers: Answers) -> None:
    answers.comments = [comment(n, f"Number {n}.") for n in range(1, 30)]
    page.goto(f"{POST}#comments")
    page.locator("#comment-29").wait_for()
    page.goto("about:blank")
    page.goto(f"{POST}#comment-20")
    page.locator("comment-thread").scroll_into_view_if_needed()
    expect(page.locator("#comment-20")).to_be_in_viewport()


def test_the_stylesheet_comes_before_the_blogs_own(open_post: Open) -> None:
    page = open_post()
    sheets = page.evaluate("[...document.styleSheets].map((sheet) => sheet.href)")
    assert sheets[0] == f"{SERVICE}/static/comments.css"
    assert sheets[1].endswith("/css/blog.css")


def test_a_thread_without_its_stylesheet_still_works(page: Page, answers: Answers) -> None:
    answers.comments = [comment(1, "Yes.")]
    page.route("**/comments.css", lambda route: route.abort())
    page.goto(POST)
    page.locator("comment-thread").scroll_into_view_if_needed()
    expect(page.locator("#comment-1")).to_be_visible()

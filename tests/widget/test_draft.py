"""No text is lost and none is posted twice: drafts and their keys."""

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, Request, expect

from tests.widget.browser import TEXT, Answers, comment, fill, open_form, send

Open = Callable[[], Page]


@pytest.fixture
def keys(page: Page) -> list[str]:
    """Return the key of each submission, answered or not."""
    keys: list[str] = []

    def note(request: Request) -> None:
        if request.method == "POST":
            keys.append((request.post_data_json or {})["key"])

    page.on("request", note)
    return keys


def test_a_draft_survives_a_reload_until_it_is_acknowledged(
    open_post: Open, form: Locator, message: Locator
) -> None:
    fill(form)
    page = open_post()
    expect(message).to_have_value(TEXT)
    expect(form.get_by_label("Name")).to_have_value("Rosa Weber")
    send(form)
    expect(page.locator("#commentsvc-101")).to_be_visible()
    expect(open_post().get_by_label("Leave a comment")).to_have_value("")
    assert page.evaluate("Object.keys(localStorage)") == ["commentsvc:own-comments"]


def test_a_draft_of_a_reply_is_kept_apart(open_post: Open, answers: Answers) -> None:
    answers.comments = [comment(1, "One.")]
    for text in ("", "A reply."):
        page = open_post()
        page.get_by_role("button", name="Reply to Ada Byron").click()
        reply = page.locator("#commentsvc-1 .commentsvc-form textarea")
        expect(reply).to_have_value(text)
        reply.fill("A reply.")
        expect(page.get_by_label("Leave a comment")).to_have_value("")


def test_a_retry_carries_the_same_key_even_after_a_reload(
    page: Page, open_post: Open, form: Locator, answers: Answers, keys: list[str]
) -> None:
    answers.refuse("POST", 0)
    fill(form)
    send(form)
    expect(form.get_by_role("alert")).not_to_be_empty()
    open_post()
    send(form)
    expect(form.get_by_role("alert")).not_to_be_empty()
    answers.recover()
    send(form)
    expect(page.locator("#commentsvc-101")).to_be_visible()
    fill(form, "Another one.")
    send(form)
    expect(page.locator("#commentsvc-102")).to_be_visible()
    first, again, last, other = keys
    assert first == again == last != other


def test_a_key_that_belongs_to_another_text_is_replaced_after_the_reader_was_told(
    page: Page, form: Locator, answers: Answers, keys: list[str]
) -> None:
    answers.refuse("POST", 409)
    fill(form)
    send(form)
    expect(form.get_by_role("alert")).to_contain_text("An earlier version of this text")
    answers.recover()
    send(form)
    expect(page.locator("#commentsvc-101")).to_be_visible()
    first, second = keys
    assert first != second


def test_what_was_written_while_the_line_was_down_is_sent_when_it_is_back(
    context: BrowserContext, open_post: Open, answers: Answers
) -> None:
    """Not even the script that sends comments had been loaded."""
    context.route("**/form.js*", lambda route: route.abort())
    page = open_post()
    box = page.get_by_label("Be the first to comment")
    box.fill(TEXT)
    expect(page.get_by_role("alert")).to_contain_text("cannot be reached")
    expect(box).to_have_value(TEXT)
    context.unroute("**/form.js*")
    page.reload()
    form = page.locator("form")
    form.get_by_label("Name").fill("Rosa Weber")
    expect(form.get_by_label("Comment")).to_have_value(TEXT)
    send(form)
    expect(page.locator("#commentsvc-101")).to_be_focused()
    assert len(answers.submissions) == 1


def test_two_presses_send_once(page: Page, form: Locator, answers: Answers) -> None:
    fill(form)
    form.get_by_role("button", name="Send comment").dblclick()
    expect(page.locator("#commentsvc-101")).to_be_visible()
    expect(page.locator(".commentsvc-comment")).to_have_count(1)
    assert len(answers.submissions) == 1


def test_where_storage_is_forbidden_comments_can_still_be_sent(page: Page, open_post: Open) -> None:
    page.add_init_script(
        """Object.defineProperty(window, "localStorage",
           { get() { throw new DOMException("Forbidden", "SecurityError"); } });"""
    )
    script = "text/javascript"
    page.route("**/js/theme.js", lambda route: route.fulfill(content_type=script, body=""))
    form = open_form(open_post())
    fill(form)
    send(form)
    expect(page.locator("#commentsvc-101")).to_be_visible()

"""<comment-form>: sending, waiting, and what a reader is told about every refusal."""

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.widget.browser import POST, TEXT, Answers, comment, fill, send

Open = Callable[[], Page]


def test_a_comment_that_is_shown_at_once_appears_with_a_word_of_thanks(
    page: Page, form: Locator, message: Locator, answers: Answers
) -> None:
    fill(form)
    form.get_by_label("E-mail").fill("rosa@example.org")
    form.get_by_label("Web site").fill("https://rosa.example/")
    send(form)
    new = page.locator("#comment-101")
    expect(new).to_be_focused()
    expect(new.locator(".commentsvc-body")).to_have_text(TEXT)
    expect(new.locator(".commentsvc-note")).to_have_text("Thank you! Your comment is published.")
    expect(page.get_by_role("status")).to_have_text("Thank you! Your comment is published.")
    expect(page.get_by_role("heading", name="1 comment")).to_be_visible()
    expect(page.locator("comment-count")).to_have_text("1 comment")
    expect(message).to_have_value("")
    expect(form.get_by_label("Name")).to_have_value("Rosa Weber")
    [sent] = answers.submissions
    key = sent.pop("key")
    assert len(key) == 36
    assert sent == {
        "url": POST,
        "title": "What wet wood knows · Slow Bench",
        "author": "Rosa Weber",
        "email": "rosa@example.org",
        "site": "https://rosa.example/",
        "message": TEXT,
        "subject": "",
        "stamp": "a stamp",
    }


def test_a_comment_that_waits_is_shown_to_its_author_and_not_counted(
    page: Page, form: Locator, answers: Answers
) -> None:
    answers.status = "pending"
    fill(form)
    send(form)
    new = page.locator("#comment-101")
    expect(new).to_be_focused()
    expect(new.locator(".commentsvc-note")).to_contain_text("waits for approval")
    expect(page.get_by_role("status")).to_contain_text("waits for approval")
    expect(new.get_by_role("button")).to_have_count(0)
    expect(page.get_by_role("heading", name="No comments")).to_be_visible()


def test_what_was_sent_is_text_until_the_service_made_html_of_it(page: Page, form: Locator) -> None:
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    fill(form, "plain & simple")
    form.get_by_label("Name").fill("<b>Rosa</b>")
    send(form)
    expect(page.locator("#comment-101 .commentsvc-author")).to_have_text("<b>Rosa</b>")


def test_a_reply_goes_under_its_comment_and_the_focus_with_it(
    open_post: Open, answers: Answers
) -> None:
    answers.comments = [comment(1, "Question?"), comment(2, "Another.", author="Ida")]
    page = open_post()
    opener = page.get_by_role("button", name="Reply to Ada Byron")
    opener.click()
    form = page.locator("#comment-1 comment-form")
    expect(form.get_by_role("heading", name="Reply to Ada Byron")).to_be_visible()
    expect(form.get_by_label("Comment")).to_be_focused()
    expect(opener).to_have_attribute("aria-expanded", "true")
    fill(form)
    send(form)
    expect(page.locator("#comment-1 > .commentsvc-replies > #comment-101")).to_be_focused()
    expect(page.locator("comment-form")).to_have_count(1)
    assert answers.submissions[0]["parent"] == 1


def test_only_one_reply_form_is_open_and_cancelling_gives_the_focus_back(
    open_post: Open, answers: Answers
) -> None:
    answers.comments = [comment(1, "One."), comment(2, "Two.", author="Ida")]
    page = open_post()
    page.get_by_role("button", name="Reply to Ada Byron").click()
    ida = page.get_by_role("button", name="Reply to Ida")
    ida.click()
    expect(page.locator("li comment-form")).to_have_count(1)
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("li comment-form")).to_have_count(0)
    expect(ida).to_be_focused()
    expect(ida).to_have_attribute("aria-expanded", "false")
    ida.click()
    ida.click()
    expect(page.locator("li comment-form")).to_have_count(0)


def test_a_comment_can_be_sent_with_the_keyboard_alone(page: Page, form: Locator) -> None:
    form.get_by_label("Comment").focus()
    page.keyboard.type(TEXT)
    page.keyboard.press("Tab")
    page.keyboard.type("Rosa")
    for _ in ("email", "site", "button"):
        page.keyboard.press("Tab")
    expect(form.get_by_role("button")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#comment-101")).to_be_focused()


REFUSALS = {
    "too many": (
        (429, None, {"Retry-After": "42"}),
        "That was a lot at once. Please wait 42 seconds. Your text is kept; please try again.",
    ),
    "too many, unknown how long": (
        (429, None, None),
        "That was a lot at once. Please wait a moment. Your text is kept; please try again.",
    ),
    "broken": (
        (500, None, None),
        "The comment service has a problem. Your text is kept; please try again.",
    ),
    "busy": (
        (503, None, {"Retry-After": "1"}),
        "The comment service has a problem. Your text is kept; please try again.",
    ),
    "unreachable": (
        (0, None, None),
        "The comment service cannot be reached, or takes no comments from this page."
        " Your text is kept; please try again.",
    ),
    "too long": ((413, None, None), "Your comment is too long. Please shorten it."),
    "not allowed": (
        (403, None, None),
        "This page may not send comments here. Please tell the blog's owner.",
    ),
    "refused": ((400, None, None), "The service says why."),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refusal_is_said_and_the_text_stays(
    page: Page, form: Locator, message: Locator, answers: Answers, name: str
) -> None:
    (status, fields, headers), said = REFUSALS[name]
    fill(form)
    answers.refuse("POST", status, fields, headers)
    send(form)
    expect(form.get_by_role("alert")).to_have_text(said)
    expect(message).to_have_value(TEXT)
    expect(form.get_by_role("button", name="Send comment")).to_be_focused()
    answers.recover()
    send(form)
    expect(page.locator("#comment-101")).to_be_visible()
    expect(form.get_by_role("alert")).to_have_text("")


def test_offline_the_reader_is_told_so(
    context: BrowserContext, form: Locator, message: Locator
) -> None:
    fill(form)
    context.set_offline(True)
    context.unroute_all()
    send(form)
    expect(form.get_by_role("alert")).to_contain_text("You are offline.")
    expect(message).to_have_value(TEXT)


def test_a_page_of_a_portal_instead_of_our_answer_acknowledges_nothing(
    form: Locator, message: Locator, answers: Answers
) -> None:
    answers.refuse("POST", 200, body="<h1>Welcome to our hotel</h1>")
    fill(form)
    send(form)
    expect(form.get_by_role("alert")).to_contain_text("cannot be reached")
    expect(message).to_have_value(TEXT)


def test_errors_of_fields_stand_below_them_and_go_when_they_are_mended(
    page: Page, form: Locator, answers: Answers
) -> None:
    answers.refuse("POST", 400, {"email": "This is not an e-mail address.", "site": "No."})
    fill(form)
    send(form)
    email = form.get_by_label("E-mail")
    expect(form.get_by_role("alert")).to_have_text("Please look at the marked fields.")
    expect(form.locator(".commentsvc-field .commentsvc-error")).to_have_text(
        ["", "", "This is not an e-mail address.", "No."]
    )
    expect(email).to_be_focused()
    expect(email).to_have_attribute("aria-invalid", "true")
    expect(form.get_by_label("Name")).to_have_attribute("aria-invalid", "false")
    email.fill("rosa@example.org")
    expect(email).to_have_attribute("aria-invalid", "false")
    answers.recover()
    send(form)
    expect(page.locator("#comment-101")).to_be_visible()
    expect(form.locator("[aria-invalid=true]")).to_have_count(0)


def test_an_error_of_a_field_that_nobody_sees_is_said_beside_the_button(
    open_post: Open, answers: Answers
) -> None:
    answers.comments = [comment(1, "Soon deleted.")]
    page = open_post()
    page.get_by_role("button", name="Reply to Ada Byron").click()
    form = page.locator("#comment-1 comment-form")
    answers.refuse("POST", 400, {"parent": "There is no such comment."})
    fill(form)
    send(form)
    expect(form.get_by_role("alert")).to_have_text("The service says why.")


def test_empty_fields_are_marked_without_asking_the_service(
    form: Locator, message: Locator, answers: Answers
) -> None:
    send(form)
    expect(message).to_be_focused()
    expect(message).to_have_attribute("aria-invalid", "true")
    expect(form.locator(".commentsvc-error").nth(1)).not_to_be_empty()
    form.get_by_label("E-mail").fill("nobody")
    send(form)
    expect(form.get_by_label("E-mail")).to_have_attribute("aria-invalid", "true")
    assert not answers.submissions


def test_the_page_hears_what_happened(page: Page, form: Locator) -> None:
    page.evaluate(
        """() => addEventListener("comment-submitted", ({ target, detail }) => {
             window.heard = [target.localName, detail.status, detail.comment.id];
           })"""
    )
    fill(form)
    send(form)
    expect(page.locator("#comment-101")).to_be_visible()
    assert page.evaluate("window.heard") == ["comment-form", "approved", 101]


def test_the_form_is_a_real_form(form: Locator) -> None:
    real = form.locator("form")
    expect(real).to_have_attribute("method", "post")
    expect(real).to_have_attribute("action", "https://comments.test/embed/thread")
    names = real.evaluate("(form) => Object.keys(Object.fromEntries(new FormData(form)))")
    assert sorted(names) == ["author", "email", "message", "parent", "site", "subject", "url"]

"""No text is lost and none is posted twice: drafts and their keys."""

import json
import re
from collections.abc import Callable
from typing import Final

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, Request, Route, expect

from tests.widget.browser import POST, TEXT, Answers, comment, fill, open_form, send

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
    expect(open_post().get_by_label("Write a comment")).to_have_value("")
    assert page.evaluate("Object.keys(localStorage)") == ["commentsvc:own-comments"]


def test_a_draft_of_a_reply_is_kept_apart(open_post: Open, answers: Answers) -> None:
    answers.comments = [comment(1, "One.")]
    for text in ("", "A reply."):
        page = open_post()
        page.get_by_role("button", name="Reply to Ada Byron").click()
        reply = page.locator("#commentsvc-1 .commentsvc-form textarea")
        expect(reply).to_have_value(text)
        reply.fill("A reply.")
        expect(page.get_by_label("Write a comment")).to_have_value("")


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


def test_a_text_in_another_tab_is_kept_when_this_tab_sends_its_own(
    page: Page, open_post: Open, form: Locator, context: BrowserContext, answers: Answers
) -> None:
    """Both tabs store their texts under one name."""
    fill(form)
    second = context.new_page()
    second.goto(POST)
    second.locator("comment-thread").scroll_into_view_if_needed()
    text = second.get_by_label("Comment", exact=True)
    expect(text).to_have_value(TEXT)
    text.fill("Written later.")
    send(form)
    expect(page.locator("#commentsvc-101")).to_be_visible()
    second.reload()
    second.locator("comment-thread").scroll_into_view_if_needed()
    expect(text).to_have_value("Written later.")


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


# Of each case: what an earlier visit left, whether the reader has signed in, what the form has now,
# the field that must be shown with its error, or what is sent.
WRITER: Final = {"author": "Eve", "email": "eve@example.org", "site": ""}
KEPT: Final = {"message": "Kept.", **WRITER}
HIDDEN: Final[list[tuple[dict[str, str], bool, str, dict[str, str]]]] = [
    ({"site": "eve.example"}, False, "", {"site": "https://eve.example"}),
    ({"site": "//eve.example/a"}, False, "", {"site": "https://eve.example/a"}),
    ({"site": "Https://eve.example"}, False, "", {"site": "Https://eve.example"}),
    ({"site": "htt"}, False, "", {"site": "https://htt"}),
    ({"site": "mailto:eve"}, False, "site", {}),
    ({"email": "eve@"}, False, "email", {}),
    ({"email": "eve"}, False, "email", {}),
    ({"email": "jörg@bücher.example"}, False, "", {}),
    ({"author": " "}, False, "author", {}),
    ({"email": "eve"}, True, "email", {}),
    ({"site": "mailto:eve"}, True, "site", {}),
    ({"message": ""}, False, "message", {}),
]


@pytest.mark.parametrize("where", ["comment", "reply"])
def test_send_sends_or_shows_which_field_is_wrong_whatever_was_hidden(
    page: Page, open_thread: Callable[..., Page], answers: Answers, where: str
) -> None:
    """The identity is folded while it is known: what was half typed there did block, in silence."""
    answers.comments = [comment(1, "One.")]

    def judge(route: Route) -> None:
        sent = json.loads(route.request.post_data or "")
        wrong = [
            name
            for name, text in (("email", "nobody"), ("site", "mailto:"), ("author", " "))
            if str(sent[name]).startswith(text)
        ]
        if not str(sent["author"]).strip():
            wrong = ["author"]
        if wrong:
            answers.refuse("POST", 400, dict.fromkeys(wrong, "This cannot be right."))
        answers.answer(route)
        answers.recover()

    page.route(re.compile(r"/api/comments\?lang"), judge)
    name = f"{POST}#" + ("1" if where == "reply" else "")
    for number, (changed, signed_in, field, expected) in enumerate(HIDDEN):
        case = f"{changed} {signed_in}"
        page.goto("/about/")
        kept = {"writer": WRITER, name: KEPT | changed}
        if signed_in:
            kept["reader"] = {"name": "Eva", "token": "t"}
        page.evaluate(
            """(kept) => {
              localStorage.clear();
              for (const [name, value] of Object.entries(kept)) {
                localStorage["commentsvc:" + name] = JSON.stringify(value);
              }
            }""",
            kept,
        )
        sent = len(answers.submissions)
        open_thread()
        thread = page.locator("comment-thread")
        if where == "reply":
            thread.get_by_role("button", name="Reply to Ada").first.click()
        form = thread.locator("li form" if where == "reply" else "section > form")
        expect(form).to_be_visible()
        send(form)
        if field:
            control = form.locator(f"[name={field}]")
            expect(control, case).to_be_focused()
            expect(control, case).to_be_visible()
            expect(control, case).to_have_attribute("aria-invalid", "true")
            described = control.get_attribute("aria-describedby")
            expect(page.locator(f"#{described}"), case).to_have_text(re.compile("."))
            assert len(answers.submissions) == sent, case
        else:
            expect(thread.locator(f"#commentsvc-{101 + sent}"), case).to_be_focused()
            assert expected.items() <= answers.submissions[-1].items(), (number, case)

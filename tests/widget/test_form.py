"""The form: sending, waiting, and what a reader is told about every error."""

import re
from collections.abc import Callable
from itertools import pairwise

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, Route, expect

from tests.widget.browser import POST, TEXT, Answers, comment, fill, open_form, send

Open = Callable[[], Page]


@pytest.mark.usefixtures("paused_clock")
def test_a_comment_that_is_shown_at_once_appears_with_a_word_of_thanks(
    page: Page, form: Locator, message: Locator, answers: Answers
) -> None:
    fill(form)
    form.get_by_label("Email (optional)").fill("rosa@example.org")
    form.get_by_label("Website").fill("https://rosa.example/")
    send(form)
    new = page.locator("#commentsvc-101")
    expect(new).to_be_focused()
    expect(new.locator(".commentsvc-body")).to_have_text(TEXT)
    expect(new.locator(".commentsvc-note")).to_have_text("Thank you! Your comment is published.")
    expect(page.locator(".commentsvc-status")).to_have_text("Thank you! Your comment is published.")
    expect(page.get_by_role("heading", name="1 comment")).to_be_visible()
    expect(page.locator("comment-count")).to_have_text("1 comment")
    expect(form).to_have_count(0)
    expect(page.locator("section > textarea")).to_have_value("")
    expect(open_form(page).get_by_text("Commenting as Rosa Weber")).to_be_visible()
    expect(message).to_have_value("")
    [sent] = answers.submissions
    key = sent.pop("key")
    assert 8 <= len(key) <= 64
    assert sent == {
        "url": POST,
        "title": "What wet wood knows · Slow Bench",
        "author": "Rosa Weber",
        "email": "rosa@example.org",
        "site": "https://rosa.example/",
        "message": TEXT,
        "subject": "",
        "form_token": "a form token",
        "proof_of_work": None,
        "notify": False,
        "follow": False,
    }


def test_a_comment_that_waits_is_shown_to_its_author_and_not_counted(
    page: Page, form: Locator, answers: Answers
) -> None:
    answers.status = "pending"
    fill(form)
    send(form)
    new = page.locator("#commentsvc-101")
    expect(new).to_be_focused()
    expect(new.locator(".commentsvc-badge")).to_have_text("Awaiting approval")
    expect(new.locator(".commentsvc-note")).to_contain_text("is waiting for approval")
    expect(page.locator(".commentsvc-status")).to_contain_text("is waiting for approval")
    expect(new.get_by_role("button", name="Edit")).to_be_visible()
    expect(new.get_by_role("button")).to_have_count(2)  # the other one deletes
    expect(page.get_by_role("heading", name="No comments")).to_be_visible()


def test_what_was_sent_is_text_until_the_service_made_html_of_it(page: Page, form: Locator) -> None:
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    fill(form, "plain & simple")
    form.get_by_label("Name").fill("<b>Rosa</b>")
    send(form)
    expect(page.locator("#commentsvc-101 .commentsvc-author")).to_have_text("<b>Rosa</b>")


def test_a_reply_goes_under_its_comment_and_the_focus_with_it(
    open_post: Open, answers: Answers
) -> None:
    answers.comments = [comment(1, "Question?"), comment(2, "Another.", author="Ida")]
    page = open_post()
    opener = page.get_by_role("button", name="Reply to Ada Byron")
    opener.click()
    form = page.locator("#commentsvc-1 .commentsvc-form")
    expect(form.get_by_label("Comment")).to_be_focused()
    expect(form.get_by_label("Comment")).to_have_attribute("placeholder", "Reply to Ada Byron")
    expect(form.get_by_role("button", name="Reply", exact=True)).to_be_visible()
    expect(opener).to_have_attribute("aria-expanded", "true")
    fill(form)
    send(form)
    expect(
        page.locator("#commentsvc-1 > details > .commentsvc-replies > #commentsvc-101")
    ).to_be_focused()
    expect(page.locator(".commentsvc-form")).to_have_count(0)
    assert answers.submissions[0]["parent"] == 1


def test_only_one_reply_form_is_open_and_cancelling_gives_the_focus_back(
    open_post: Open, answers: Answers
) -> None:
    answers.comments = [comment(1, "One."), comment(2, "Two.", author="Ida")]
    page = open_post()
    page.get_by_role("button", name="Reply to Ada Byron").click()
    expect(page.locator("li .commentsvc-form")).to_have_count(1)
    ida = page.get_by_role("button", name="Reply to Ida")
    ida.click()
    expect(ida).to_have_attribute("aria-expanded", "true")
    expect(page.locator("li .commentsvc-form")).to_have_count(1)
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("li .commentsvc-form")).to_have_count(0)
    expect(ida).to_be_focused()
    expect(ida).to_have_attribute("aria-expanded", "false")
    ida.click()
    ida.click()
    expect(page.locator("li .commentsvc-form")).to_have_count(0)


def test_a_comment_can_be_sent_with_the_keyboard_alone(page: Page, form: Locator) -> None:
    form.get_by_label("Comment").focus()
    page.keyboard.type(TEXT)
    for _ in ("formatting", "preview", "author"):
        page.keyboard.press("Tab")
    page.keyboard.type("Rosa")
    for _ in ("email", "site", "remember", "button"):
        page.keyboard.press("Tab")
    expect(form.get_by_role("button", name="Send comment")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#commentsvc-101")).to_be_focused()


REFUSALS = {
    "too many": (
        (429, None, {"Retry-After": "42"}),
        "You're going a little fast. Please wait 42 seconds.",
    ),
    "too many, unknown how long": (
        (429, None, None),
        "You're going a little fast. Please wait 60 seconds.",
    ),
    "broken": ((500, None, None), "The comment service has a problem. Please try again."),
    "busy": (
        (503, None, {"Retry-After": "1"}),
        "The comment service has a problem. Please try again.",
    ),
    "unreachable": (
        (0, None, None),
        "The comment service cannot be reached, or does not accept comments from this page.",
    ),
    "too long": ((413, None, None), "Your comment is too long. Please shorten it."),
    "not allowed": ((403, None, None), "The service says why."),
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
    expect(form.get_by_role("alert")).to_have_text(f"{said} Your text is kept.")
    expect(message).to_have_value(TEXT)
    expect(form.get_by_role("button", name="Send comment")).to_be_focused()
    answers.recover()
    send(form)
    expect(page.locator("#commentsvc-101")).to_be_visible()
    expect(form).to_have_count(0)


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


def test_what_is_wrong_with_fields_is_said_until_they_are_mended(
    page: Page, form: Locator, answers: Answers
) -> None:
    answers.refuse("POST", 400, {"email": "This is not an e-mail address.", "site": "No."})
    fill(form)
    send(form)
    email = form.get_by_label("Email (optional)")
    expect(form.get_by_role("alert")).to_have_text("")  # each field says its own
    expect(email).to_be_focused()
    expect(email).to_have_attribute("aria-invalid", "true")
    expect(email).to_have_accessible_description("This is not an e-mail address.")
    expect(form.get_by_label("Website")).to_have_accessible_description("No.")
    expect(form.get_by_label("Name")).to_have_attribute("aria-invalid", "false")
    email.fill("rosa@example.org")
    expect(email).to_have_attribute("aria-invalid", "false")
    expect(email).to_have_accessible_description("")
    answers.recover()
    send(form)
    expect(page.locator("#commentsvc-101")).to_be_visible()
    expect(form).to_have_count(0)


def test_an_error_of_a_field_that_nobody_sees_is_said_too(
    open_post: Open, answers: Answers
) -> None:
    answers.comments = [comment(1, "Soon deleted.")]
    page = open_post()
    page.get_by_role("button", name="Reply to Ada Byron").click()
    form = page.locator("#commentsvc-1 .commentsvc-form")
    answers.refuse("POST", 400, {"parent": "There is no such comment."})
    fill(form)
    send(form)
    expect(form.get_by_role("alert")).to_contain_text("There is no such comment.")


def test_faulty_fields_are_found_by_the_browser_without_asking_the_service(
    form: Locator, message: Locator, answers: Answers
) -> None:
    send(form)
    expect(message).to_be_focused()
    fill(form)
    form.get_by_label("Email (optional)").fill("nobody")
    send(form)
    expect(form.get_by_label("Email (optional)")).to_be_focused()
    assert not answers.submissions


def test_the_page_hears_what_happened(page: Page, form: Locator) -> None:
    page.evaluate(
        """() => addEventListener("comment-submitted", ({ target, detail }) => {
             window.heard = [target.className, detail.status, detail.comment.id];
           })"""
    )
    fill(form)
    send(form)
    expect(page.locator("#commentsvc-101")).to_be_visible()
    assert page.evaluate("window.heard") == ["commentsvc-form", "approved", 101]


def test_a_preview_shows_what_the_service_makes_of_the_text_and_closes(
    page: Page, form: Locator, message: Locator, answers: Answers
) -> None:
    preview = form.get_by_role("button", name="Preview")
    preview.click()
    expect(message).to_be_focused()
    message.fill("*so*")
    answers.refuse("POST", 200, body='{"html": "<p><em>so</em></p>"}')
    preview.click()
    shown = form.get_by_role("status")
    expect(shown.locator("em")).to_have_text("so")
    box, name = shown.bounding_box(), form.get_by_label("Name").bounding_box()
    assert box
    assert name
    assert box["y"] < name["y"], "it is beside the text"
    expect(preview).to_have_attribute("aria-expanded", "true")
    preview.click()
    expect(form.get_by_role("status")).to_be_empty()
    expect(preview).to_have_attribute("aria-expanded", "false")
    preview.click()
    expect(form.get_by_role("status").locator("em")).to_have_text("so")
    answers.refuse("POST", 200, body='{"html": "<p><em>so</em>!</p>"}')
    message.press("End")
    page.keyboard.type("!")
    expect(form.get_by_role("status")).to_have_text("so!")  # the preview follows the typing
    answers.refuse("POST", 500)
    page.keyboard.press("End")
    page.keyboard.type("!")
    expect(form.get_by_role("alert")).to_contain_text("has a problem")
    expect(form.get_by_role("status")).to_be_empty()
    expect(message).to_have_value("*so*!!")


def test_names_are_remembered_only_if_the_reader_wants_it(
    page: Page, open_post: Open, form: Locator
) -> None:
    box = form.get_by_label("Remember me in this browser")
    assert box.evaluate("(box) => box.nextSibling.data.startsWith(' ')")  # a gap
    for remembered in (False, True, False):
        fill(form)
        form.get_by_label("Email (optional)").fill("rosa@example.org")
        box.set_checked(remembered)
        send(form)
        expect(form).to_have_count(0)
        open_form(open_post())
        if remembered:
            form.get_by_role("button", name="Change").click()
        expect(form.get_by_label("Name")).to_have_value("Rosa Weber" if remembered else "")
        expect(box).to_be_checked(checked=remembered)


def test_characters_are_counted_near_the_limit(open_post: Open, answers: Answers) -> None:
    answers.length = 300
    form = open_form(open_post())
    message = form.get_by_label("Comment")
    message.fill("x" * 100)
    expect(form.get_by_text("characters left")).to_have_count(0)
    message.fill("x" * 280)
    expect(form.get_by_text("20 characters left")).to_be_visible()
    message.fill("x" * 310)
    expect(form.get_by_text("10 characters too many")).to_be_visible()


def test_characters_are_counted_that_were_written_before_the_limit_was_known(
    page: Page, open_post: Open, answers: Answers
) -> None:
    """Regression: on a slow connection they were counted only from the next key press."""
    answers.length = 300
    held: list[Route] = []
    page.route("**/api/form-token*", lambda route: held.append(route))
    with page.expect_request("**/api/form-token*"):
        form = open_form(open_post())
    form.get_by_label("Comment").fill("x" * 280)
    expect(form.get_by_text("characters left")).to_have_count(0)
    held.pop().fallback()
    expect(form.get_by_text("20 characters left")).to_be_visible()


def test_mails_of_answers_are_offered_where_the_service_sends_them(
    page: Page, open_post: Open, form: Locator, answers: Answers
) -> None:
    choice = form.get_by_label("Emails")
    form.get_by_label("Name").focus()
    expect(choice).to_have_count(0)
    answers.notify = True
    open_form(open_post())
    form.get_by_label("Name").focus()
    expect(choice).to_have_value("none")
    fill(form)
    expect(choice).to_be_hidden()
    form.get_by_label("Email (optional)").fill("rosa@example.org")
    choice.select_option("Email me about replies")
    send(form)
    expect(page.locator("#commentsvc-101")).to_be_visible()
    assert answers.submissions[0]["notify"] is True
    assert answers.submissions[0]["follow"] is False
    feed = page.locator("#commentsvc-101").get_by_role("link", name="Replies: Atom feed")
    expect(feed).to_have_attribute("href", re.compile(r"/feed/replies\.atom\?t=101-word$"))
    fill(form)
    choice.select_option("Email me about all comments on this page")
    send(form)
    expect(page.locator("#commentsvc-102")).to_be_visible()
    assert answers.submissions[1]["notify"] is False
    assert answers.submissions[1]["follow"] is True


def test_who_has_just_commented_needs_not_say_who_it_is(
    page: Page, form: Locator, answers: Answers
) -> None:
    answers.comments = [comment(1, "Question?")]
    fill(form)
    form.get_by_label("Email (optional)").fill("rosa@example.org")
    send(form)
    expect(page.locator("#commentsvc-101")).to_be_focused()
    page.get_by_role("button", name="Reply to Ada Byron").click()
    reply = page.locator("#commentsvc-1 form")
    expect(reply.get_by_text("Commenting as Rosa Weber")).to_be_visible()
    expect(reply.get_by_label("Name")).to_be_hidden()
    reply.locator("textarea").fill("A reply.")
    send(reply)
    expect(page.locator("#commentsvc-102")).to_be_focused()
    sent = answers.submissions[1]
    assert (sent["author"], sent["email"]) == ("Rosa Weber", "rosa@example.org")
    open_form(page).get_by_role("button", name="Change").click()
    expect(form.get_by_label("Name")).to_be_focused()
    expect(form.get_by_label("Name")).to_have_value("Rosa Weber")


def test_a_fault_of_a_hidden_field_shows_it(page: Page, form: Locator, answers: Answers) -> None:
    fill(form)
    send(form)
    expect(page.locator("#commentsvc-101")).to_be_focused()
    fill(form, "Another.")
    answers.refuse("POST", 400, {"email": "To get replies, an address is needed."})
    send(form)
    expect(form.get_by_label("Email (optional)")).to_be_focused()


def test_a_website_needs_no_scheme(page: Page, form: Locator, answers: Answers) -> None:
    site = form.get_by_label("Website")
    for typed, sent in [
        ("example.org", "https://example.org"),
        ("http://example.org/a", "http://example.org/a"),
    ]:
        fill(form)
        if not site.is_visible():
            form.get_by_role("button", name="Change").click()
        site.fill(typed)
        site.press("Enter")
        expect(form).to_have_count(0)
        assert answers.submissions[-1]["site"] == sent


def test_a_comment_that_waits_is_thanked_for_once(
    page: Page, form: Locator, answers: Answers
) -> None:
    answers.status = "pending"
    fill(form)
    send(form)
    new = page.locator("#commentsvc-101")
    expect(new.get_by_text("Thank you!")).to_be_visible()
    page.reload()
    expect(new.get_by_text("Awaiting approval")).to_be_visible()
    expect(page.get_by_text("Thank you!")).to_have_count(0)


PASTE = """(field, text) => {
  const clipboardData = new DataTransfer();
  clipboardData.setData("text/plain", text);
  const flags = { bubbles: true, cancelable: true };
  field.dispatchEvent(new ClipboardEvent("paste", { clipboardData, ...flags }));
}"""


def test_keys_buttons_and_paste_write_markdown_over_what_is_selected(
    page: Page, form: Locator, message: Locator
) -> None:
    def select(start: int, end: int) -> None:
        message.evaluate("(field, ends) => field.setSelectionRange(...ends)", [start, end])

    message.fill("dry wood")
    select(4, 8)
    for text in ("dry **wood**", "dry wood"):  # the selection stays
        page.keyboard.press("Control+b")
        expect(message).to_have_value(text)
    message.evaluate(PASTE, "https://a.example/")
    expect(message).to_have_value("dry [wood](https://a.example/)")
    page.keyboard.press("Control+z")
    expect(message).to_have_value("dry wood")
    opener = form.get_by_role("button", name="Formatting")
    opener.click()
    toolbar = form.get_by_role("toolbar", name="Formatting")
    for name, text in (("List", "- dry wood"), ("List", "dry wood"), ("Quote", "> dry wood")):
        toolbar.get_by_role("button", name=name).click()
        expect(message).to_have_value(text)
    expect(form.get_by_text("Draft saved")).to_be_visible()
    toolbar.get_by_role("button", name="Bold").focus()
    page.keyboard.press("ArrowLeft")
    expect(toolbar.get_by_role("button", name="List")).to_be_focused()
    opener.click()
    expect(toolbar).to_have_count(0)
    expect(opener).to_have_attribute("aria-expanded", "false")


def test_an_address_that_cannot_become_a_link_is_pasted_beside_the_selected_text(
    page: Page, form: Locator, message: Locator
) -> None:
    page.route("**/formatting.js*", lambda route: route.abort())
    message.fill("dry wood")
    message.evaluate("(field) => field.setSelectionRange(0, 3)")
    message.evaluate(PASTE, "https://a.example/")
    expect(message).to_have_value("dry https://a.example/ wood")
    page.reload()
    expect(page.locator("section > form textarea")).to_have_value("dry https://a.example/ wood")


def test_names_of_the_thread_complete_a_mention_by_keys_alone(
    page: Page, open_post: Open, answers: Answers
) -> None:
    answers.comments = [comment(1, "a", author="Ann Lee"), comment(2, "b", author="Anna 李")]
    form = open_form(open_post())
    message = form.get_by_label("Comment")
    offered = form.get_by_role("group").get_by_role("button")
    message.fill("Write to ann@an")
    page.keyboard.type(" ")
    expect(offered).to_have_count(0)
    page.keyboard.type("@an")
    expect(form.get_by_role("group", name="@an")).to_be_visible()
    expect(offered).to_have_text(["@Anna 李", "@Ann Lee"])
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Escape")
    expect(offered).to_have_count(0)
    expect(message).to_be_focused()
    page.keyboard.type("n")
    expect(offered).to_have_count(2)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(message).to_have_value("Write to ann@an @Ann Lee ")
    expect(message).to_be_focused()
    expect(offered).to_have_count(0)
    page.keyboard.type("and @an")
    expect(offered).to_have_count(2)
    fill(form, "Write to @an")
    send(form)
    expect(form).to_have_count(0)
    expect(offered).to_have_count(0)


# Keys with modifiers, on a computer, with a keyboard: whether they write a format.
PRESSED: list[tuple[str, dict[str, object], str]] = [
    ("Linux x86_64", {"key": "b", "code": "KeyB", "ctrlKey": True}, "**dry**"),
    ("Win32", {"key": "B", "code": "KeyB", "ctrlKey": True}, "**dry**"),  # caps lock
    ("Linux x86_64", {"key": "и", "code": "KeyB", "ctrlKey": True}, "**dry**"),  # Cyrillic
    ("Win32", {"key": "ι", "code": "KeyI", "ctrlKey": True}, "*dry*"),  # Greek
    ("Win32", {"key": "נ", "code": "KeyB", "ctrlKey": True}, "**dry**"),  # Hebrew
    ("Linux x86_64", {"key": "b", "code": "KeyN", "ctrlKey": True}, "**dry**"),  # Dvorak
    ("Linux x86_64", {"key": "x", "code": "KeyB", "ctrlKey": True}, "dry"),
    ("Win32", {"key": "e", "code": "KeyE", "ctrlKey": True, "altKey": True}, "dry"),  # AltGr
    ("Win32", {"key": "k", "code": "KeyK", "ctrlKey": True, "shiftKey": True}, "dry"),
    ("Win32", {"key": "Backspace", "code": "Backspace", "ctrlKey": True}, "dry"),
    ("Win32", {"key": " ", "code": "Space", "ctrlKey": True}, "dry"),
    ("Win32", {"key": "b", "code": "KeyB", "metaKey": True}, "dry"),
    ("MacIntel", {"key": "k", "code": "KeyK", "ctrlKey": True}, "dry"),
    ("MacIntel", {"key": "e", "code": "KeyE", "ctrlKey": True}, "dry"),
    ("MacIntel", {"key": "b", "code": "KeyB", "metaKey": True}, "**dry**"),
    ("MacIntel", {"key": "и", "code": "KeyB", "metaKey": True}, "**dry**"),
    ("iPad", {"key": "i", "code": "KeyI", "metaKey": True}, "*dry*"),
]


@pytest.mark.parametrize(("platform", "pressed", "text"), PRESSED)
def test_keys_for_formats_are_those_of_the_computer_and_its_keyboard(
    page: Page, open_post: Open, platform: str, pressed: dict[str, object], text: str
) -> None:
    page.add_init_script(f"Object.defineProperty(navigator, 'platform', {{ value: '{platform}' }})")
    field = open_form(open_post()).get_by_label("Comment")
    field.fill("dry")
    field.evaluate("field => field.select()")
    event = {**pressed, "bubbles": True, "cancelable": True}
    passed = field.evaluate(
        "(field, event) => field.dispatchEvent(new KeyboardEvent('keydown', event))", event
    )
    assert passed == (text == "dry")
    expect(field).to_have_value(text)


# Of the window, and what the whole form may need of it, in pixels.
@pytest.mark.parametrize(("width", "height"), [(1280, 340), (360, 480)])
def test_the_form_is_small_and_its_controls_have_one_height(
    page: Page, open_thread: Callable[..., Page], answers: Answers, width: int, height: int
) -> None:
    answers.notify = answers.sign_in = True
    answers.images = 1 << 20
    page.set_viewport_size({"width": width, "height": 800})
    style = "html { font: 16px/1.5 sans-serif } main { max-width: 44rem; margin: auto }"
    form = open_form(open_thread(more=f"<style>{style}</style>"))
    fill(form)
    form.get_by_label("Email (optional)").fill("rosa@example.org")
    expect(form.get_by_label("Emails")).to_be_visible()
    expect(form.get_by_role("button", name="Add a picture")).to_be_visible()
    expect(form.get_by_role("button", name="Sign in")).to_be_visible()
    assert form.evaluate("form => form.offsetHeight") <= height
    controls = "input.commentsvc-input, select, .commentsvc-button"
    heights = form.locator(controls).evaluate_all("all => all.map((it) => it.offsetHeight)")
    assert len(heights) == 5
    assert len(set(heights)) == 1
    form.get_by_label("Comment").fill("A line.\n" * 200)
    assert form.get_by_label("Comment").evaluate("field => field.offsetHeight") <= 480
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize(
    ("attributes", "is_first"),
    [
        ({}, False),
        ({"form": "top"}, True),
        ({"sort": "newest"}, True),
        ({"sort": "newest", "form": "bottom"}, False),
        ({"sort": "oldest", "form": "TOP"}, True),
        ({"form": "left"}, False),
    ],
)
def test_the_form_is_where_the_blog_wants_it_or_where_new_comments_appear(
    open_thread: Callable[..., Page],
    answers: Answers,
    attributes: dict[str, str],
    *,
    is_first: bool,
) -> None:
    answers.comments = [comment(1, "One."), comment(2, "Two.")]
    page = open_thread(**attributes)
    box, lists = page.locator("section > textarea"), page.locator(".commentsvc-list")
    above = box.evaluate("(box, list) => box.compareDocumentPosition(list)", lists.element_handle())
    assert above == (4 if is_first else 2)
    jump = page.get_by_role("button", name="Write a comment")
    expect(jump).to_have_count(0 if is_first else 1)
    if not is_first:
        order, button = page.locator("[name=sort]").bounding_box(), jump.bounding_box()
        assert order
        assert button
        assert button["x"] - order["x"] - order["width"] >= 24, "the feed is between the words"
    form = open_form(page)
    if not is_first:
        page.locator("#commentsvc-1").focus()
        jump.click()
        expect(form.get_by_label("Comment")).to_be_focused()
    fill(form)
    send(form)
    expect(page.locator("#commentsvc-101")).to_be_focused()
    expect(box).to_be_visible()
    if not is_first:
        jump.click()
        expect(form.get_by_label("Comment")).to_be_focused()
    page.evaluate("document.querySelector('comment-thread').form = 'top'")
    expect(page.locator("section > .commentsvc-bar + textarea")).to_be_visible()


def test_what_is_written_while_a_comment_is_sent_is_kept(page: Page, form: Locator) -> None:
    """The form folds when the new comment is shown; what it has then stays in the field."""
    held: list[Route] = []
    page.route("**/thread/own_comments.js", lambda route: held.append(route))
    fill(form)
    with page.expect_request("**/thread/own_comments.js"):
        send(form)
    expect(form.get_by_label("Comment")).to_have_value("")
    form.get_by_label("Comment").fill("And more.")
    held.pop().fallback()
    expect(page.locator("section > textarea")).to_have_value("And more.")


@pytest.mark.parametrize(("direction", "typed"), [("rtl", "Oil"), ("ltr", "שמן")])
def test_an_empty_text_has_the_direction_of_the_page(
    open_thread: Callable[..., Page], direction: str, typed: str
) -> None:
    page = open_thread(lang="he" if direction == "rtl" else "en")
    page.evaluate("(direction) => (document.dir = direction)", direction)
    field = open_form(page).locator("textarea")
    expect(field).to_have_css("direction", direction)
    field.fill(typed)
    expect(field).not_to_have_css("direction", direction)


def test_labels_errors_and_choices_stand_apart(
    page: Page, open_thread: Callable[..., Page], answers: Answers
) -> None:
    """On a phone, where a label stands beside its field, an error below, and choices in a list."""
    page.set_viewport_size({"width": 360, "height": 740})
    answers.comments = [comment(1, "x")]
    form = open_form(open_thread(lang="de"))
    fill(form)
    answers.refuse("POST", 400, {"message": "No.", "email": "No."})
    send(form)
    expect(form.locator(".commentsvc-error", has_text="No.")).to_have_count(2)
    gaps = form.evaluate(
        """(form) => [...form.querySelectorAll(".commentsvc-error:not(:empty)")].map((error) =>
        error.getBoundingClientRect().top
        - error.previousElementSibling.getBoundingClientRect().bottom)"""
    )
    assert all(gap >= 3 for gap in gaps), gaps
    label = form.locator("label").first
    assert label.evaluate("(it) => parseFloat(getComputedStyle(it).columnGap)") >= 6
    page.locator("#commentsvc-1 [name=menu]").click()
    page.locator("#commentsvc-1 [name=report]").click()
    boxes = [it.bounding_box() for it in page.locator("#commentsvc-1 [name=reason]").all()]
    tops = [box["y"] for box in boxes if box]
    assert all(after - before >= 27 for before, after in pairwise(tops)), tops


def test_faults_are_seen_where_colours_are_forced(
    page: Page, form: Locator, answers: Answers
) -> None:
    page.emulate_media(forced_colors="active")
    fill(form)
    answers.refuse("POST", 400, {"message": "No.", "email": "No."})
    send(form)
    expect(form.locator(".commentsvc-error", has_text="No.").first).to_have_css(
        "font-weight", "600"
    )
    expect(form.get_by_label("Email (optional)")).to_have_css("border-top-width", "3px")
    expect(form.get_by_label("Name")).to_have_css("border-top-width", "1px")
    expect(form.locator(".commentsvc-editor")).to_have_css("border-top-width", "3px")

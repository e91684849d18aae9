"""The keyboard alone: everything can be reached and done, and the focus is never lost."""

import re
from base64 import b64decode
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.widget.browser import Answers, comment, fill

OpenThread = Callable[..., Page]

GIF = b64decode("R0lGODlhAQABAIAAAP/yAAAAACwAAAAAAQABAAACAkQBADs=")

# The element with the focus, as its reader would call it.
NAME = """() => {
  const it = document.activeElement;
  return it.ariaLabel || it.labels?.[0]?.textContent.trim() || it.textContent.trim() || it.title;
}"""

# The field below the comments has become a form, and has got the focus.
IS_READY = "!document.activeElement.matches('section > textarea')"

# Counts the frames, from the first focus on, that are painted while nothing has the focus.
WATCH = """
  window.lost = 0;
  addEventListener("focusin", function watch() {
    if (document.activeElement == document.body) window.lost++;
    requestAnimationFrame(watch);
  }, { once: true });
"""


@pytest.fixture
def keys(page: Page) -> Iterator["Keys"]:
    """Return the keyboard. Something must have had the focus all the time."""
    page.add_init_script(WATCH)
    yield Keys(page)
    assert page.evaluate("window.lost") == 0


class Keys:
    """What a reader without a mouse does."""

    def __init__(self, page: Page) -> None:
        self._page = page

    def names(self, last: str) -> list[str]:
        """Press Tab until the element `last` has the focus; return all names up to it."""
        names: list[str] = []
        while last not in names[-1:]:
            self._page.keyboard.press("Tab")
            self._page.wait_for_function(IS_READY)
            names.append(self._page.evaluate(NAME))
            assert len(names) < 50, names
        return names

    def use(self, name: str, key: str = "Enter") -> None:
        """Press Tab until a button has the focus, and press `key`."""
        self.names(name)
        self._page.keyboard.press(key)

    def type(self, label: str, text: str) -> None:
        """Press Tab until a field has the focus, and write into it."""
        self.names(label)
        self._page.keyboard.type(text)


def button(page: Page, name: str) -> Locator:
    return page.get_by_role("button", name=name)


def start(page: Page) -> None:
    """Start where the blog's link to the comments leads."""
    page.locator("section.commentsvc-thread").wait_for()
    page.locator(".commentsvc-heading").focus()


def test_tab_goes_through_everything_in_the_order_of_the_page(
    open_thread: OpenThread, answers: Answers, keys: Keys
) -> None:
    answers.voting = "both"
    answers.part = 2
    answers.comments = [
        comment(1, "One.", site="https://ada.example/"),
        comment(2, "Two.", parent=1, author="Ida"),
        comment(3, "Three."),
    ]
    start(open_thread(depth="0"))
    assert keys.names("Send comment") == [
        *(
            "Order",
            "Atom feed",
            "Write a comment",
            "Ada Byron",
            "1 day ago",
            "I agree: Ada Byron",
            "I disagree: Ada Byron",
            "Reply to Ada Byron",
            "More: Ada Byron",
        ),
        *("1 day ago", "↪ Ada Byron", "I agree: Ida", "I disagree: Ida", "Reply to Ida"),
        "More: Ida",
        "Show more comments",
        *("Comment", "Formatting", "Preview"),
        *("Name", "Email (optional)", "Website (optional)"),
        *("Remember me in this browser", "Send comment"),
    ]


def test_a_comment_is_written_changed_deleted_and_kept(
    page: Page, open_thread: OpenThread, answers: Answers, keys: Keys
) -> None:
    start(open_thread())
    mine = page.locator("#commentsvc-101")
    keys.type("Comment", "Frist.")
    keys.type("Name", "Rosa")
    keys.use("Send comment")
    expect(mine).to_be_focused()
    keys.use("Edit")
    expect(mine.get_by_label("Comment")).to_be_focused()
    page.keyboard.press("Control+A")
    page.keyboard.type("First.")
    keys.use("Save")
    expect(mine.locator(".commentsvc-body")).to_have_text("First.")
    expect(mine).to_be_focused()
    keys.use("Delete")
    expect(button(page, "Undo")).to_be_focused()
    page.keyboard.press("Enter")
    expect(button(page, "Delete")).to_be_focused()


def test_an_answer_is_begun_cancelled_refused_and_sent(
    page: Page, open_thread: OpenThread, answers: Answers, keys: Keys
) -> None:
    answers.comments = [comment(1, "Question?")]
    start(open_thread())
    form = page.locator("#commentsvc-1 form")
    keys.use("Reply to Ada Byron")
    expect(form.get_by_label("Comment")).to_be_focused()
    page.keyboard.type("Answer.")
    keys.use("Cancel", "Space")
    expect(form).to_have_count(0)
    expect(button(page, "Reply to Ada Byron")).to_be_focused()
    page.keyboard.press("Space")
    expect(form.get_by_label("Comment")).to_be_focused()
    keys.use("Reply")
    expect(form.get_by_label("Name")).to_be_focused()  # it is missing
    page.keyboard.type("Rosa")
    answers.refuse("POST", 500)
    keys.use("Reply")
    expect(form.get_by_role("alert")).to_contain_text("has a problem")
    expect(form.get_by_role("button", name="Reply")).to_be_focused()
    answers.refuse("POST", 400, {"email": "No."})
    page.keyboard.press("Enter")
    expect(form.get_by_label("Email (optional)")).to_be_focused()
    answers.recover()
    page.keyboard.press("Enter")
    expect(page.locator("#commentsvc-101")).to_be_focused()
    expect(form).to_have_count(0)
    expect(button(page, "Reply to Ada Byron")).to_have_attribute("aria-expanded", "false")


def test_comments_are_voted_on_linked_and_shown_in_parts(
    page: Page, open_thread: OpenThread, answers: Answers, keys: Keys
) -> None:
    answers.voting = "up"
    answers.part = 2
    answers.comments = [comment(n, "x") for n in (1, 2, 3)]
    start(open_thread())
    keys.use("I agree: Ada Byron", "Space")
    expect(page.locator("#commentsvc-1 [aria-pressed=true]")).to_be_focused()
    keys.use("1 day ago")
    expect(page.locator("#commentsvc-2")).to_be_focused()
    keys.use("Show more comments")
    expect(page.locator("#commentsvc-3")).to_be_focused()
    page.get_by_role("combobox").focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator(".commentsvc-list > li").first).to_have_id("commentsvc-3")
    expect(page.get_by_role("combobox")).to_be_focused()


def test_a_comment_is_reported_and_one_with_a_picture_and_mails_is_sent(
    page: Page, open_thread: OpenThread, answers: Answers, keys: Keys
) -> None:
    answers.comments = [comment(1, "Buy this!")]
    answers.notify = True
    answers.images = 1 << 20
    start(open_thread())
    keys.use("More: Ada Byron")
    expect(button(page, "Copy link")).to_be_focused()
    keys.use("Report", "Space")
    expect(page.get_by_label("Illegal content")).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    page.keyboard.type("She insults me")
    keys.use("Send report")
    expect(page.locator(".commentsvc-status")).to_contain_text("A moderator will look")
    expect(button(page, "More: Ada Byron")).to_be_focused()
    [(method, number, sent, _)] = answers.acts
    assert (method, number) == ("POST", 1)
    assert (sent["reason"], sent["explanation"]) == ("abuse", "She insults me")
    keys.type("Comment", "Look: ")
    expect(button(page, "Add a picture")).to_be_visible()
    with page.expect_file_chooser() as chosen:
        keys.use("Add a picture")
    chosen.value.set_files({"name": "x.gif", "mimeType": "image/gif", "buffer": GIF})
    expect(page.get_by_label("Description of the picture")).to_be_focused()
    page.keyboard.type("A field")
    page.keyboard.press("Enter")
    message = page.get_by_label("Comment", exact=True)
    expect(message).to_have_value(re.compile(r"^Look: !\[A field\]\(image:"))
    expect(message).to_be_focused()
    keys.type("Name", "Rosa")
    keys.type("Email (optional)", "rosa@example.org")
    keys.use("Remember me in this browser", "Tab")
    expect(page.get_by_role("combobox", name="Emails")).to_be_focused()
    page.keyboard.press("ArrowDown")
    keys.use("Send comment")
    expect(page.locator("#commentsvc-101")).to_be_focused()
    assert answers.submissions[0]["notify"] is True


def test_a_thread_is_asked_for_and_asked_again(
    page: Page, open_thread: OpenThread, answers: Answers, keys: Keys
) -> None:
    answers.comments = [comment(1, "One.")]
    answers.refuse("GET", 500)
    open_thread(load="click")
    button(page, "Show comments").wait_for()
    keys.use("Show comments")
    expect(button(page, "Try again")).to_be_focused()
    answers.recover()
    page.keyboard.press("Enter")
    expect(page.locator("#commentsvc-1")).to_be_focused()


def test_news_are_announced_and_the_focus_goes_to_them(
    page: Page, open_thread: OpenThread, answers: Answers, keys: Keys, announce: Callable[[], None]
) -> None:
    answers.comments = [comment(1, "One.")]
    start(open_thread())
    answers.comments += [comment(2, "Two."), comment(3, "A reply.", parent=1)]
    announce()
    expect(page.locator(".commentsvc-status")).to_have_text("Show 2 new comments")
    keys.use("Show 2 new comments")
    expect(page.locator("#commentsvc-2")).to_be_focused()
    for number, tint in ((1, "none"), (2, "commentsvc-fade"), (3, "commentsvc-fade")):
        article = page.locator(f"#commentsvc-{number} > article")
        expect(article).to_have_css("animation-name", tint)
    expect(button(page, "Show 2 new comments")).to_have_count(0)


def test_a_reader_who_has_gone_on_is_not_called_back(
    page: Page, open_thread: OpenThread, answers: Answers, keys: Keys
) -> None:
    """The list comes some time after sending; a half-written reply must stay open."""
    answers.comments = [comment(1, "One."), comment(2, "Two.", author="Ida")]
    start(open_thread())
    held: list[Route] = []
    page.route("**/api/comments?url=*", lambda route: held.append(route))
    keys.type("Comment", "Three.")
    keys.type("Name", "Rosa")
    with page.expect_request("**/api/comments?url=*"):
        keys.use("Send comment")
    expect(page.locator("#commentsvc-101")).to_be_focused()
    button(page, "Reply to Ida").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#commentsvc-2 form").get_by_label("Comment")).to_be_focused()
    page.keyboard.type("Half")
    held.pop().fallback()
    expect(page.get_by_role("heading", name="3 comments")).to_be_visible()
    page.keyboard.type(" an answer")
    expect(page.locator("#commentsvc-2 form").get_by_label("Comment")).to_have_value(
        "Half an answer"
    )


def test_control_enter_sends_and_escape_closes_a_reply(
    page: Page, open_thread: OpenThread, answers: Answers
) -> None:
    answers.comments = [comment(1, "Question?")]
    page = open_thread()
    reply = button(page, "Reply to Ada Byron")
    reply.click()
    form = page.locator("#commentsvc-1 form")
    fill(form, "Half")
    form.locator("textarea").press("Escape")
    expect(form).to_have_count(0)
    expect(reply).to_be_focused()
    reply.click()
    expect(form.locator("textarea")).to_have_value("Half")  # nothing is lost
    form.locator("textarea").press("Control+Enter")
    expect(page.locator("#commentsvc-101")).to_be_focused()
    assert answers.submissions[0]["parent"] == 1

"""The queue in a real browser: with mouse, with keyboard, on a phone and without JavaScript."""

import itertools
import re
import time

import pytest
from playwright.sync_api import Browser, Dialog, Locator, Page, StorageState, expect

from commentsvc.admin.review_queue import MOST
from commentsvc.util.timestamps import DAY_MS
from tests.accessibility import WIDTHS, assert_fine
from tests.admin_e2e.moderator_browser import PICTURES, tab_without_policy
from tests.e2e.program import Service, change, wait_for

pytestmark = pytest.mark.both_engines

SCREENSHOTS = "it is about what a page looks like"
HOSTILE = "<script>alert(1)</script> [x](javascript:alert(2)) <img src=x onerror=alert(3)>"
LONG = "So " + "long" * 60 + "\n\n" + "\n\n".join(["Another word."] * 40)

numbers = itertools.count()


@pytest.fixture
def comments(service: Service, moderation: Page) -> list[str]:
    """Put three comments into an otherwise empty queue; return them with the newest first."""
    clear(moderation)
    names = ["Zoe", "Yan", "Xenia"]
    for name in reversed(names):
        text = f"{name} says hello {next(numbers)}"  # a duplicate text would not be stored
        service.submit(f"/{name}/", text, author=name, title=f"Page of {name}")
    moderation.goto("/moderation/queue")
    expect(moderation.locator(".comment")).to_have_count(3)
    return names


def clear(moderation: Page) -> None:
    moderation.goto("/moderation/queue")
    while moderation.locator(".comment").count():
        moderation.get_by_label("Select all").check()
        in_bulk(moderation, "Delete").click()
        expect(moderation.get_by_role("status")).to_be_visible()
        moderation.goto("/moderation/queue")


def in_bulk(moderation: Page, name: str) -> Locator:
    return moderation.get_by_role("group", name="For the selected").get_by_role("button", name=name)


def authors(moderation: Page) -> Locator:
    return moderation.locator(".comment .author")


def test_a_comment_is_approved_by_the_keyboard_and_taken_back(
    moderation: Page, service: Service, comments: list[str]
) -> None:
    moderation.keyboard.press("j")
    moderation.keyboard.press("j")
    expect(moderation.locator(".comment").nth(1)).to_be_focused()
    moderation.keyboard.press("a")
    expect(moderation.get_by_role("status")).to_have_text("1 comment approved.")
    expect(authors(moderation)).to_have_text(["Zoe", "Xenia"])
    assert service.count("/Yan/") == 1
    expect(moderation.locator(".comment").nth(1)).to_be_focused()
    moderation.keyboard.press("u")
    expect(moderation.get_by_role("status")).to_have_text("1 comment restored.")
    expect(authors(moderation)).to_have_text(comments)
    assert service.count("/Yan/") == 0
    expect(moderation.locator(".comment", has_text="Yan says")).to_be_focused()


@pytest.mark.sqlite_only("it is about keys")
def test_each_key_does_what_the_page_says(moderation: Page, comments: list[str]) -> None:
    for key in ("j", "k", "k", "j"):
        moderation.keyboard.press(key)
    moderation.keyboard.press("s")
    expect(moderation.get_by_role("status")).to_have_text("1 comment marked as spam.")
    expect(moderation.locator(".comment").nth(1)).to_be_focused()
    moderation.keyboard.press("d")
    expect(moderation.get_by_role("status")).to_have_text("1 comment deleted.")
    expect(authors(moderation)).to_have_text(["Zoe"])
    expect(moderation.locator(".comment")).to_be_focused()
    moderation.keyboard.press("x")
    expect(moderation.locator(".comment [type=checkbox]")).to_be_checked()
    moderation.keyboard.press("/")
    search = moderation.get_by_role("searchbox")
    expect(search).to_be_focused()
    moderation.keyboard.type("adsu")
    expect(search).to_have_value("adsu")
    moderation.locator(".comment").focus()
    moderation.keyboard.press("o")
    expect(moderation.get_by_role("heading", name="History")).to_be_visible()


def test_many_are_decided_at_once(moderation: Page, service: Service, comments: list[str]) -> None:
    expect(in_bulk(moderation, "Approve")).to_be_disabled()
    moderation.get_by_label("Select all").check()
    expect(moderation.locator(".chosen")).to_have_text("3 selected")
    moderation.get_by_label("Select the comment by Yan").uncheck()
    expect(moderation.locator(".chosen")).to_have_text("2 selected")
    in_bulk(moderation, "Approve").click()
    expect(moderation.get_by_role("status")).to_have_text("2 comments approved.")
    expect(authors(moderation)).to_have_text(["Yan"])
    assert (service.count("/Zoe/"), service.count("/Yan/"), service.count("/Xenia/")) == (1, 0, 1)
    moderation.get_by_role("button", name="Undo").click()
    expect(authors(moderation)).to_have_text(comments)
    assert service.count("/Zoe/") == 0


def test_select_all_takes_those_on_other_pages_too(
    moderation: Page, service: Service, comments: list[str]
) -> None:
    for number in range(MOST):
        service.submit("/many/", f"Comment {number} of many {next(numbers)}", author=f"Bo {number}")
    moderation.reload()
    expect(moderation.get_by_label("Select these 50")).not_to_be_checked()
    for _ in range(2):
        moderation.get_by_role("link", name="Select all 53").click()
        expect(moderation.locator(".chosen")).to_have_text("53 selected")
        expect(moderation.locator(".others")).to_have_text("including 3 on other pages")
        moderation.get_by_label("Select these 50").uncheck()
        expect(in_bulk(moderation, "Delete")).to_be_disabled()
        expect(moderation.locator(".others")).to_have_count(0)
    moderation.get_by_role("link", name="Select all 53").click()
    moderation.locator(".comment [type=checkbox]").first.uncheck()
    expect(moderation.locator(".chosen")).to_have_text("52 selected")
    in_bulk(moderation, "Delete").click()
    expect(moderation.get_by_role("status")).to_have_text("52 comments deleted.")
    expect(moderation.locator(".comment")).to_have_count(1)


def test_a_ban_offers_the_comments_that_are_there_already(
    moderation: Page, service: Service
) -> None:
    clear(moderation)
    for _ in range(2):
        service.submit("/ban/", f"Mona says {next(numbers)}", author="Mona")
    moderation.reload()
    moderation.get_by_role("link", name="Details").first.click()
    moderation.get_by_role("link", name="the author").click()
    moderation.get_by_role("button", name="Ban", exact=True).click()
    moderation.get_by_role("button", name="Also mark these 2 comments as spam").click()
    expect(moderation.get_by_role("status")).to_have_text("2 comments marked as spam.")
    moderation.get_by_role("link", name="Queue").click()
    expect(moderation.locator(".comment")).to_have_count(0)


def test_a_comment_is_found_by_its_words(moderation: Page, comments: list[str]) -> None:
    def found() -> bool:
        moderation.get_by_role("searchbox").fill("Yan hello")
        with moderation.expect_navigation():
            moderation.get_by_role("button", name="Search").click()
        expect(moderation.get_by_role("heading", name="Found")).to_be_visible()
        return authors(moderation).all_inner_texts()[:1] == ["Yan"] and approve.count() == 1

    first = moderation.locator(".comment").first
    approve = first.get_by_role("button", name="Approve", exact=True)  # waits for the new one
    wait_for(found, "the comment to be found")
    first.get_by_role("button", name="Spam", exact=True).click()
    expect(moderation.get_by_role("status")).to_have_text("1 comment marked as spam.")


@pytest.mark.sqlite_only(SCREENSHOTS)
def test_hostile_texts_do_nothing(moderation: Page, service: Service) -> None:
    """The `page` fixture fails if a script ran or was blocked by the policy."""
    clear(moderation)
    dialogs: list[str] = []

    def note(dialog: Dialog) -> None:
        dialogs.append(dialog.message)
        dialog.dismiss()

    moderation.on("dialog", note)
    service.submit(
        "/<b>x</b>/", HOSTILE, author="<script>alert(4)</script>", title="<svg onload=1>"
    )
    moderation.goto("/moderation/queue")
    expect(moderation.locator(".comment .author")).to_have_text("<script>alert(4)</script>")
    expect(moderation.locator(".comment :is(script, img, svg)")).to_have_count(0)
    moderation.get_by_role("link", name="Details").click()
    expect(moderation.get_by_role("textbox", name="Edit the text")).to_have_value(HOSTILE)
    assert not dialogs


def test_a_page_is_closed_by_its_form(
    moderation: Page, service: Service, comments: list[str]
) -> None:
    moderation.get_by_role("button", name="Approve").nth(1).click()
    expect(moderation.get_by_role("status")).to_have_text("1 comment approved.")
    moderation.get_by_role("link", name="Pages", exact=True).click()
    moderation.get_by_role("link", name="Page of Zoe").first.click()
    moderation.get_by_role("button", name="Closed").click()
    expect(moderation.get_by_role("status")).to_be_visible()
    assert service.submit("/Zoe/", "Too late").status == 400
    moderation.get_by_role("button", name="Default: open").click()
    expect(moderation.get_by_role("button", name="Default: open")).to_have_attribute(
        "aria-pressed", "true"
    )
    assert service.submit("/Zoe/", "In time").status == 202


def test_all_of_it_works_without_javascript(
    chromium: Browser, service: Service, cookies: StorageState, comments: list[str]
) -> None:
    context = chromium.new_context(
        base_url=service.address, java_script_enabled=False, storage_state=cookies
    )
    page = context.new_page()
    page.goto("/moderation")
    page.get_by_role("button", name="Approve").nth(1).click()
    expect(page.get_by_role("status")).to_have_text("1 comment approved.")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".comment")).to_have_count(3)
    page.get_by_role("link", name="Select all").click()
    page.get_by_label("Select the comment by Zoe").uncheck()
    in_bulk(page, "Spam").click()
    expect(page.get_by_role("status")).to_have_text("2 comments marked as spam.")
    page.get_by_role("link", name="Details").first.click()
    page.get_by_role("textbox", name="Edit the text").fill("Better words")
    page.get_by_role("button", name="Save the text").click()
    expect(page.locator(".words")).to_have_text("Better words")
    page.get_by_role("button", name="Delete").click()
    expect(page.locator("h1 + .tag")).to_have_text("deleted")
    page.get_by_role("button", name="Restore").click()
    expect(page.locator("h1 + .tag")).to_have_text("waiting")
    context.close()


@pytest.fixture
def outbox(service: Service) -> None:
    """Put rows of each state into the outbox, one of which failed with a long error."""
    now = int(time.time() * 1_000)
    for state, attempts, error in (
        ("queued", 0, ""),
        ("queued", 3, "[Errno 111] Connection refused"),
        ("sent", 1, ""),
        ("failed", 9, f"550 no such mailbox: {'x' * 200}"),
    ):
        sql = (
            "INSERT INTO outbox (channel, kind, recipient, comment_id, state, created_at,"
            " due_at, expires_at, attempts, error)"
            " VALUES ('mail', 'submitted', 'ann@blog.example', 1, ?, ?, ?, ?, ?, ?)"
        )
        change(service.data, sql, state, now, now + DAY_MS, now + DAY_MS, attempts, error)


@pytest.mark.sqlite_only(SCREENSHOTS)
@pytest.mark.usefixtures("outbox")
def test_everybody_can_use_the_pages(
    chromium: Browser, service: Service, cookies: StorageState
) -> None:
    with tab_without_policy(chromium, service.address, kept=cookies) as page:

        def check(target: str) -> None:
            page.goto(f"/moderation/{target}")
            name = target.replace("/", "-").replace("?", "-")
            assert_fine(page, PICTURES / f"use-{name}", [*WIDTHS, 1600])

        url = "/long/" + "path/" * 30
        text = f"{LONG} {next(numbers)}"
        parent = service.submit(url, text, author="Wolfeschlegelstein" * 4).json()["comment"]["id"]
        service.submit(url, f"No. {next(numbers)}", parent=parent)
        check("queue")
        page.get_by_role("button", name="Spam").nth(1).click()
        for target in (
            "queue",
            "comments?status=spam",
            "comments?q=nothing",
            "comment?id=1",
            "threads",
            "thread?id=1",
            "bans?kind=word&value=walrus",
            "outbox",
            "dashboard",
            "settings",
            "account",
            "accounts",
            "tokens",
            "factor",
            "comment?id=0",
        ):
            check(target)


def answer_field(moderation: Page, name: str) -> Locator:
    return moderation.get_by_label(f"Answer to {name}")


def test_a_typed_answer_outlives_the_network_and_other_decisions(
    moderation: Page, comments: list[str]
) -> None:
    moderation.locator(".comment").first.locator("summary").click()
    answer_field(moderation, "Zoe").fill("A long answer")
    moderation.context.set_offline(True)
    moderation.get_by_role("button", name="Approve and answer").first.click()
    expect(moderation.get_by_role("alert")).to_contain_text("could not be reached")
    moderation.context.set_offline(False)
    moderation.goto("/moderation/queue")
    expect(answer_field(moderation, "Zoe")).to_have_value("A long answer")
    moderation.locator(".comment").last.get_by_role("button", name="Approve", exact=True).click()
    expect(moderation.get_by_role("status")).to_have_text("1 comment approved.")
    expect(answer_field(moderation, "Zoe")).to_have_value("A long answer")
    moderation.get_by_role("button", name="Approve and answer").first.click()
    expect(moderation.get_by_role("status")).to_contain_text("Your answer is published.")
    moderation.goto("/moderation/comments?status=approved")
    for field in answer_field(moderation, "Zoe").all():  # also those of other tests
        expect(field).to_have_value("")


@pytest.mark.sqlite_only("it is about the script")
def test_decisions_load_no_page_and_twenty_keys_decide_on_as_many_comments(
    moderation: Page, service: Service, comments: list[str]
) -> None:
    for number in range(17):
        service.submit("/many/", f"Comment {number} of many {next(numbers)}", author=f"Bo {number}")
    moderation.goto("/moderation/queue?order=oldest")
    expect(moderation.locator(".comment")).to_have_count(20)
    moderation.evaluate("window.same = true")
    answer = moderation.locator(".comment").last.locator("summary")
    answer.click()
    field = moderation.get_by_label("Answer to Bo 16")
    field.fill("Half an answer")
    moderation.locator(".comment").nth(1).get_by_role("checkbox").check()
    moderation.keyboard.press("Escape")
    moderation.locator(".comment").first.focus()
    for left in range(19, -1, -1):
        moderation.keyboard.press("a")
        expect(moderation.locator(".comment")).to_have_count(left)
        if left:
            expect(moderation.locator(".comment").first).to_be_focused()
        if left == 19:
            expect(moderation.locator(".chosen")).to_have_text("1 selected")
            expect(field).to_have_value("Half an answer")
    waiting = moderation.locator("nav").first.get_by_role("link", name="Queue")
    expect(waiting).not_to_contain_text("1")
    moderation.keyboard.press("u")
    expect(moderation.locator(".comment")).to_be_focused()
    assert moderation.evaluate("window.same")


@pytest.mark.sqlite_only("it is about clicks")
def test_no_click_is_lost_when_the_comment_that_had_the_focus_becomes_lower(
    moderation: Page, service: Service
) -> None:
    clear(moderation)
    for _ in range(3):
        service.submit("/long/", f"{next(numbers)} {LONG}", author="Zoe")
    moderation.set_viewport_size({"width": 360, "height": 740})
    moderation.goto("/moderation/queue")
    cards = moderation.locator(".comment")
    for left in (2, 1, 0):
        cards.first.get_by_role("button", name="Approve").click()
        expect(cards).to_have_count(left)


@pytest.mark.sqlite_only("it is about the script")
def test_a_decision_without_a_network_says_so_and_can_be_repeated(
    moderation: Page, comments: list[str]
) -> None:
    moderation.context.set_offline(True)
    moderation.get_by_role("button", name="Approve", exact=True).nth(1).click()
    expect(moderation.get_by_role("alert")).to_contain_text("could not be reached")
    moderation.context.set_offline(False)
    moderation.get_by_role("button", name="Approve", exact=True).nth(1).click()
    expect(authors(moderation)).to_have_text(["Yan", "Xenia"])
    expect(moderation.get_by_role("alert")).to_have_count(0)


@pytest.mark.sqlite_only("it is about keys")
def test_a_question_mark_shows_the_keys(moderation: Page, comments: list[str]) -> None:
    moderation.keyboard.press("?")
    expect(moderation.get_by_role("dialog")).to_contain_text("Next comment")
    moderation.keyboard.press("a")
    moderation.keyboard.press("Escape")
    expect(moderation.get_by_role("dialog")).to_have_count(0)
    expect(moderation.locator(".comment")).to_have_count(3)


@pytest.mark.sqlite_only("it is about the script")
def test_an_open_queue_tells_in_each_tab_what_is_new_and_moves_nothing(
    moderation: Page, service: Service, comments: list[str]
) -> None:
    moderation.goto("/moderation/queue")
    other = moderation.context.new_page()
    other.goto("/moderation/threads")
    expect(other).to_have_title(re.compile(r"^\(3\) "))
    service.submit("/new/", f"New {next(numbers)}", author="Wanda")
    for tab in (moderation, other):
        expect(tab).to_have_title(re.compile(r"^\(4\) "))
        expect(tab.locator("nav .number").first).to_have_text("4")
    fresh = moderation.get_by_role("link", name="New: 1. Show them")
    expect(fresh).to_be_visible()
    moderation.get_by_role("button", name="Delete", exact=True).nth(2).click()
    expect(authors(moderation)).to_have_text(["Zoe", "Xenia"])
    fresh.click()
    expect(authors(moderation)).to_have_text(["Wanda", "Zoe", "Xenia"])
    expect(fresh).to_be_hidden()
    other.close()


def test_a_note_that_is_typed_stays_apart_from_the_text_of_its_comment(
    moderation: Page, comments: list[str]
) -> None:
    moderation.get_by_role("link", name="Details").first.click()
    edited = moderation.get_by_role("textbox", name="Edit the text")
    text = edited.input_value()
    note = moderation.get_by_role("textbox", name="Notes for moderators")
    note.fill("Known from elsewhere")
    moderation.reload()
    expect(note).to_have_value("Known from elsewhere")
    expect(edited).to_have_value(text)
    moderation.get_by_role("button", name="Add the note").click()
    expect(moderation.get_by_role("status")).to_have_text("Saved.")
    expect(note).to_have_value("")


@pytest.mark.sqlite_only("it is about the script")
def test_a_saved_reply_is_inserted_where_the_cursor_is(
    moderation: Page, comments: list[str]
) -> None:
    moderation.goto("/moderation/replies")
    moderation.get_by_label("Title").fill("Thanks")
    moderation.get_by_role("textbox", name="Text").fill("Thank you!")
    moderation.get_by_role("button", name="Save the text").click()
    expect(moderation.get_by_role("status")).to_have_text("Saved.")
    moderation.goto("/moderation/queue")
    moderation.get_by_role("link", name="Details").first.click()
    answer = moderation.locator("#answer textarea")
    answer.fill("Dear Zoe. ")
    moderation.get_by_text("Saved replies", exact=True).click()
    moderation.get_by_role("link", name="Thanks", exact=True).click()
    expect(answer).to_have_value("Dear Zoe. Thank you!")
    expect(answer).to_be_focused()

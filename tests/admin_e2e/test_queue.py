"""The queue in a real browser: with mouse, with keyboard, on a phone and without JavaScript."""

import itertools
import time
from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Dialog, Locator, Page, StorageState, expect

from commentsvc.admin.review_queue import MOST
from commentsvc.util.timestamps import DAY_MS
from tests.admin_e2e.moderator_browser import Scheme, looked_at, looks
from tests.e2e.program import Service, change, wait_for

pytestmark = pytest.mark.both_engines

LOOKS = "it is about what a page looks like"
HOSTILE = "<script>alert(1)</script> [x](javascript:alert(2)) <img src=x onerror=alert(3)>"
LONG = "So " + "long" * 60 + "\n\n" + "\n\n".join(["Another word."] * 40)

numbers = itertools.count()


@pytest.fixture
def comments(service: Service, desk: Page) -> list[str]:
    """Put three comments into an otherwise empty queue; return them with the newest first."""
    clear(desk)
    names = ["Zoe", "Yan", "Xenia"]
    for name in reversed(names):
        text = f"{name} says hello {next(numbers)}"  # a duplicate text would not be stored
        service.submit(f"/{name}/", text, author=name, title=f"Page of {name}")
    desk.goto("/moderation/queue")
    expect(desk.locator(".comment")).to_have_count(3)
    return names


def clear(desk: Page) -> None:
    desk.goto("/moderation/queue")
    while desk.locator(".comment").count():
        desk.get_by_label("Select all").check()
        with desk.expect_navigation():
            in_bulk(desk, "Delete").click()


def in_bulk(desk: Page, name: str) -> Locator:
    return desk.get_by_role("group", name="For the selected").get_by_role("button", name=name)


def authors(desk: Page) -> Locator:
    return desk.locator(".comment .author")


def test_a_comment_is_approved_by_the_keyboard_and_taken_back(
    desk: Page, service: Service, comments: list[str]
) -> None:
    desk.keyboard.press("j")
    desk.keyboard.press("j")
    expect(desk.locator(".comment").nth(1)).to_be_focused()
    desk.keyboard.press("a")
    expect(desk.get_by_role("status")).to_have_text("1 comment approved.")
    expect(authors(desk)).to_have_text(["Zoe", "Xenia"])
    assert service.count("/Yan/") == 1
    expect(desk.locator(".comment").nth(1)).to_be_focused()
    desk.keyboard.press("u")
    expect(desk.get_by_role("status")).to_have_text("1 comment restored.")
    expect(authors(desk)).to_have_text(comments)
    assert service.count("/Yan/") == 0
    expect(desk.locator(".comment", has_text="Yan says")).to_be_focused()


@pytest.mark.sqlite_only("it is about keys")
def test_each_key_does_what_the_page_says(desk: Page, comments: list[str]) -> None:
    for key in ("j", "k", "k", "j"):
        desk.keyboard.press(key)
    desk.keyboard.press("s")
    expect(desk.get_by_role("status")).to_have_text("1 comment marked as spam.")
    expect(desk.locator(".comment").nth(1)).to_be_focused()
    desk.keyboard.press("d")
    expect(desk.get_by_role("status")).to_have_text("1 comment deleted.")
    expect(authors(desk)).to_have_text(["Zoe"])
    expect(desk.locator(".comment")).to_be_focused()
    desk.keyboard.press("x")
    expect(desk.locator(".comment [type=checkbox]")).to_be_checked()
    desk.keyboard.press("/")
    search = desk.get_by_role("searchbox")
    expect(search).to_be_focused()
    desk.keyboard.type("adsu")
    expect(search).to_have_value("adsu")
    desk.locator(".comment").focus()
    desk.keyboard.press("o")
    expect(desk.get_by_role("heading", name="History")).to_be_visible()


def test_many_are_decided_at_once(desk: Page, service: Service, comments: list[str]) -> None:
    expect(in_bulk(desk, "Approve")).to_be_disabled()
    desk.get_by_label("Select all").check()
    expect(desk.locator(".chosen")).to_have_text("3 selected")
    desk.get_by_label("Select the comment by Yan").uncheck()
    expect(desk.locator(".chosen")).to_have_text("2 selected")
    in_bulk(desk, "Approve").click()
    expect(desk.get_by_role("status")).to_have_text("2 comments approved.")
    expect(authors(desk)).to_have_text(["Yan"])
    assert (service.count("/Zoe/"), service.count("/Yan/"), service.count("/Xenia/")) == (1, 0, 1)
    desk.get_by_role("button", name="Undo").click()
    expect(authors(desk)).to_have_text(comments)
    assert service.count("/Zoe/") == 0


def test_select_all_takes_those_on_other_pages_too(
    desk: Page, service: Service, comments: list[str]
) -> None:
    for number in range(MOST):
        service.submit("/many/", f"Comment {number} of many {next(numbers)}", author=f"Bo {number}")
    desk.reload()
    expect(desk.get_by_label("Select these 50")).not_to_be_checked()
    for _ in range(2):
        desk.get_by_role("link", name="Select all 53").click()
        expect(desk.locator(".chosen")).to_have_text("53 selected")
        expect(desk.locator(".others")).to_have_text("including 3 on other pages")
        desk.get_by_label("Select these 50").uncheck()
        expect(in_bulk(desk, "Delete")).to_be_disabled()
        expect(desk.locator(".others")).to_have_count(0)
    desk.get_by_role("link", name="Select all 53").click()
    desk.locator(".comment [type=checkbox]").first.uncheck()
    expect(desk.locator(".chosen")).to_have_text("52 selected")
    in_bulk(desk, "Delete").click()
    expect(desk.get_by_role("status")).to_have_text("52 comments deleted.")
    expect(desk.locator(".comment")).to_have_count(1)


def test_a_ban_offers_the_comments_that_are_there_already(desk: Page, service: Service) -> None:
    clear(desk)
    for _ in range(2):
        service.submit("/ban/", f"Mona says {next(numbers)}", author="Mona")
    desk.reload()
    desk.get_by_role("link", name="Details").first.click()
    desk.get_by_role("link", name="the author").click()
    desk.get_by_role("button", name="Ban", exact=True).click()
    desk.get_by_role("button", name="Also mark these 2 comments as spam").click()
    expect(desk.get_by_role("status")).to_have_text("2 comments marked as spam.")
    desk.get_by_role("link", name="Queue").click()
    expect(desk.locator(".comment")).to_have_count(0)


def test_a_comment_is_found_by_its_words(desk: Page, comments: list[str]) -> None:
    def found() -> bool:
        desk.get_by_role("searchbox").fill("Yan hello")
        with desk.expect_navigation():
            desk.get_by_role("button", name="Search").click()
        expect(desk.get_by_role("heading", name="Found")).to_be_visible()
        return authors(desk).all_inner_texts()[:1] == ["Yan"] and approve.count() == 1

    first = desk.locator(".comment").first
    approve = first.get_by_role("button", name="Approve", exact=True)  # waits for the new one
    wait_for(found, "the comment to be found")
    first.get_by_role("button", name="Spam", exact=True).click()
    expect(desk.get_by_role("status")).to_have_text("1 comment marked as spam.")


@pytest.mark.sqlite_only(LOOKS)
def test_hostile_texts_do_nothing(desk: Page, service: Service) -> None:
    """The `page` fixture fails if a script ran or was blocked by the policy."""
    clear(desk)
    dialogs: list[str] = []

    def note(dialog: Dialog) -> None:
        dialogs.append(dialog.message)
        dialog.dismiss()

    desk.on("dialog", note)
    service.submit(
        "/<b>x</b>/", HOSTILE, author="<script>alert(4)</script>", title="<svg onload=1>"
    )
    desk.goto("/moderation/queue")
    expect(desk.locator(".comment .author")).to_have_text("<script>alert(4)</script>")
    expect(desk.locator(".comment :is(script, img, svg)")).to_have_count(0)
    desk.get_by_role("link", name="Details").click()
    expect(desk.get_by_role("textbox", name="Edit the text")).to_have_value(HOSTILE)
    assert not dialogs


def test_a_page_is_closed_by_its_form(desk: Page, service: Service, comments: list[str]) -> None:
    desk.get_by_role("button", name="Approve").nth(1).click()
    expect(desk.get_by_role("status")).to_have_text("1 comment approved.")
    desk.get_by_role("link", name="Pages", exact=True).click()
    desk.get_by_role("link", name="Page of Zoe").first.click()
    desk.get_by_role("button", name="Closed").click()
    expect(desk.get_by_role("status")).to_be_visible()
    assert service.submit("/Zoe/", "Too late").status == 400
    desk.get_by_role("button", name="Default: open").click()
    expect(desk.get_by_role("button", name="Default: open")).to_have_attribute(
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


@pytest.mark.sqlite_only(LOOKS)
@pytest.mark.usefixtures("outbox")
@looks(1600)
def test_everybody_can_use_the_pages(
    chromium: Browser,
    service: Service,
    cookies: StorageState,
    assert_fine: Callable[[Page], None],
    scheme: Scheme,
    width: int,
) -> None:
    with looked_at(chromium, service.address, scheme, width, cookies) as page:
        url = "/long/" + "path/" * 30
        text = f"{LONG} {next(numbers)}"
        parent = service.submit(url, text, author="Wolfeschlegelstein" * 4).json()["comment"]["id"]
        service.submit(url, f"No. {next(numbers)}", parent=parent)
        page.goto("/moderation/queue")
        assert_fine(page)
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
            page.goto(f"/moderation/{target}")
            assert_fine(page)

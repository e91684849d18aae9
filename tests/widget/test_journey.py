"""The complete path of a reader's comment, from a real blog through the real service and back."""

import re
import time
from base64 import b64decode
from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Page, Request, Route, ViewportSize, expect

from commentsvc.auth import edit_tokens
from commentsvc.auth.signed_links import SignedLinks
from commentsvc.settings import data_dir
from tests.e2e.program import Service, command
from tests.widget.browser import POST, Blog, fill, open_form, send

pytestmark = pytest.mark.both_engines

WIDGET = "it is about what the widget says"
GIF = b64decode("R0lGODlhAQABAIAAAP/yAAAAACwAAAAAAQABAAACAkQBADs=")
TEXT = "Two coats, and do it *the same* day. <script>alert(1)</script>"


def requests_to(service: Service, page: Page) -> list[str]:
    """Return the API targets that `page` requests from now on, in a list that grows."""
    targets: list[str] = []

    def note(request: Request) -> None:
        if request.url.startswith(f"{service.address}/api/"):
            targets.append(request.url.removeprefix(service.address))

    page.on("request", note)
    return targets


def write(page: Page, text: str) -> None:
    """Open the post, write `text` and send it."""
    page.goto(POST)
    page.locator("comment-thread").scroll_into_view_if_needed()
    form = open_form(page)
    fill(form, text)
    send(form)


def test_a_comment_waits_is_approved_and_raises_the_count(
    start: Callable[..., Service], tab: Page
) -> None:
    service = start()
    targets = requests_to(service, tab)
    tab.goto("/")
    counts = tab.locator("comment-count")
    expect(counts).to_have_text(["No comments"] * 10)
    assert [target.partition("?")[0] for target in targets] == ["/api/comments/counts"]

    tab.get_by_role("link", name="What wet wood knows").click()
    write(tab, TEXT)
    new = tab.locator(".commentsvc-comment")
    expect(new.locator(".commentsvc-note")).to_contain_text("is waiting for approval")
    expect(new.locator("em")).to_have_text("the same")
    tab.reload()
    tab.locator("comment-thread").scroll_into_view_if_needed()
    expect(tab.get_by_role("heading", name="No comments")).to_be_visible()

    number = service.request("GET", f"/api/comments?url={POST}").json()
    assert (number["data"], number["count"]) == ([], 0)
    approved = command("approve", "1", "--data", service.data)
    assert approved.code == 0, approved

    tab.reload()
    tab.locator("comment-thread").scroll_into_view_if_needed()
    expect(tab.get_by_role("heading", name="1 comment")).to_be_visible()
    expect(new.locator(".commentsvc-author")).to_have_text("Rosa Weber")
    expect(new.locator(".commentsvc-body")).to_contain_text("Two coats, and do it the same day.")
    expect(new.locator("script")).to_have_count(0)
    tab.goto("/")
    expect(counts.filter(has_text="1 comment")).to_have_count(1)
    expect(counts.filter(has_text="No comments")).to_have_count(9)


@pytest.mark.sqlite_only("the journey above has both")
def test_without_moderation_a_comment_and_its_reply_are_shown_at_once(
    start: Callable[..., Service], tab: Page
) -> None:
    start(COMMENTSVC_MODERATION_POLICY="none")
    write(tab, "Question?")
    expect(tab.locator("#commentsvc-1")).to_be_focused()
    tab.reload()
    tab.locator("comment-thread").scroll_into_view_if_needed()
    tab.get_by_role("button", name="Reply to Rosa Weber").click()
    reply = tab.locator("#commentsvc-1 .commentsvc-form")
    fill(reply, "Answer.")
    send(reply)
    expect(tab.locator("#commentsvc-1 #commentsvc-2")).to_be_focused()
    tab.reload()
    tab.locator("comment-thread").scroll_into_view_if_needed()
    expect(tab.locator("#commentsvc-1 #commentsvc-2 .commentsvc-body")).to_have_text("Answer.")
    expect(tab.get_by_role("heading", name="2 comments")).to_be_visible()


def test_a_lost_answer_never_makes_two_comments(start: Callable[..., Service], tab: Page) -> None:
    service = start(COMMENTSVC_MODERATION_POLICY="none")

    def lose(route: Route) -> None:
        route.fetch()
        route.abort()

    tab.route("**/api/comments?lang=en", lose)
    write(tab, TEXT)
    expect(tab.locator("form").get_by_role("alert")).to_contain_text("cannot be reached")
    assert service.count(POST) == 1
    tab.unroute_all()
    tab.get_by_role("button", name="Send comment").click()
    expect(tab.locator("#commentsvc-1")).to_be_focused()
    assert service.count(POST) == 1


@pytest.mark.sqlite_only(WIDGET)
def test_what_the_service_refuses_is_said_below_the_field(
    start: Callable[..., Service], tab: Page
) -> None:
    start(COMMENTSVC_COMMENTS_AUTHOR_LENGTH="5")
    write(tab, TEXT)
    expect(tab.get_by_label("Name")).to_be_focused()
    said = re.compile("at most 5 are allowed")
    expect(tab.get_by_label("Name")).to_have_accessible_description(said)
    expect(tab.get_by_label("Name")).to_have_attribute("aria-invalid", "true")


@pytest.mark.sqlite_only(WIDGET)
def test_who_sends_too_much_is_asked_to_wait(start: Callable[..., Service], tab: Page) -> None:
    start(COMMENTSVC_SPAM_RATE_LIMIT="1/minute")
    write(tab, TEXT)
    expect(tab.locator("#commentsvc-1")).to_be_focused()
    write(tab, "And another one.")
    expect(tab.locator("form").get_by_role("alert")).to_contain_text(
        re.compile(r"Please wait \d+ second")
    )


@pytest.mark.sqlite_only(WIDGET)
def test_a_blog_that_may_not_write_is_told_so(start: Callable[..., Service], tab: Page) -> None:
    """Its preflight is refused, which a script cannot distinguish from a service that is down."""
    start(COMMENTSVC_SITE_ORIGINS="https://elsewhere.example")
    write(tab, TEXT)
    expect(tab.locator("form").get_by_role("alert")).to_contain_text(
        "does not accept comments from this page"
    )


@pytest.mark.sqlite_only(WIDGET)
def test_a_text_that_the_service_does_not_even_read_is_called_too_long(
    start: Callable[..., Service], tab: Page
) -> None:
    start()
    write(tab, "wood " * 60_000)  # 300 kB; the service reads 256 KiB
    expect(tab.locator("form").get_by_role("alert")).to_contain_text("too long")


def test_an_open_page_hears_of_what_is_approved_meanwhile(
    start: Callable[..., Service], tab: Page
) -> None:
    service = start()
    tab.goto(POST)
    tab.locator("comment-thread").scroll_into_view_if_needed()
    expect(tab.get_by_role("heading", name="No comments")).to_be_visible()
    assert service.submit(POST, "From elsewhere.").status == 202
    assert command("approve", "1", "--data", service.data).code == 0
    tab.get_by_role("button", name="Show 1 new comment").click()
    expect(tab.locator("#commentsvc-1")).to_be_focused()
    expect(tab.get_by_role("heading", name="1 comment")).to_be_visible()


@pytest.mark.sqlite_only("the journey above has both")
def test_the_owner_answers_from_the_phone_and_an_open_page_shows_the_badge(
    start: Callable[..., Service], tab: Page, chromium: Browser
) -> None:
    """Two taps suffice from the link in the mail: in the field, and on the button."""
    address = "mo@blog.example"
    mail = {"HOST": "localhost", "PORT": "1", "SECURITY": "none", "SENDER": "c@blog.example"}
    mail["MODERATORS"] = address  # who may decide by a link
    settings = {f"COMMENTSVC_MAIL_{name}": value for name, value in mail.items()}
    service = start(COMMENTSVC_SERVER_PUBLIC_URL="https://comments.example", **settings)
    data = ("--data", service.data)
    assert command("moderator", "add", "mo", *data, given="correct horse battery").code == 0
    assert command("moderator", "profile", "mo", "--email", address, *data).code == 0
    assert service.submit(POST, "Which oil?").status == 202
    tab.goto(POST)
    tab.locator("comment-thread").scroll_into_view_if_needed()
    expect(tab.get_by_role("heading", name="No comments")).to_be_visible()
    links = SignedLinks(edit_tokens.load_keys(service.data / data_dir.SECRET_KEY, ""))
    link = links.make("answer", 1, address, 1, expires=int(time.time() * 1_000) + 600_000)
    size: ViewportSize = {"width": 360, "height": 740}
    phone = chromium.new_context(base_url=service.address, viewport=size, has_touch=True)
    page = phone.new_page()
    page.goto(f"/mail/answer?t={link}")
    page.get_by_label("Your answer, as mo").tap()
    page.keyboard.type("Linseed.")
    page.get_by_role("button", name="Approve and answer").tap()
    expect(page.get_by_role("heading", name="Your answer is published.")).to_be_visible()
    phone.close()
    tab.get_by_role("button", name="Show 2 new comments").click()
    expect(tab.locator("#commentsvc-2 .commentsvc-badge")).to_have_text("Owner")
    expect(tab.get_by_text("Linseed.")).to_be_visible()


def test_votes_changes_and_deletions_reach_the_service(
    start: Callable[..., Service], tab: Page
) -> None:
    service = start(COMMENTSVC_MODERATION_POLICY="none")
    write(tab, "Frist.")
    mine = tab.locator("#commentsvc-1")
    mine.get_by_role("button", name="Edit").click()
    mine.get_by_label("Comment").fill("First.")
    mine.get_by_role("button", name="Save").click()
    expect(mine.locator(".commentsvc-body")).to_have_text("First.")
    tab.reload()
    tab.locator("comment-thread").scroll_into_view_if_needed()
    mine.get_by_role("button", name="I agree").click()
    expect(mine.locator(".commentsvc-votes")).to_have_text("1")
    [stored] = service.request("GET", f"/api/comments?url={POST}").json()["data"]
    assert (stored["content"], stored["votes"]) == ("First.", 1)
    tab.once("dialog", lambda dialog: dialog.accept())
    mine.get_by_role("button", name="Delete").click()
    expect(tab.get_by_role("heading", name="No comments")).to_be_focused()
    assert service.count(POST) == 0


@pytest.mark.sqlite_only("tests/unit/pages sends these forms to both")
def test_a_reader_without_scripts_does_all_the_same(
    start: Callable[..., Service], chromium: Browser, foreign_blog: Blog
) -> None:
    service = start(
        COMMENTSVC_MODERATION_POLICY="none",
        COMMENTSVC_SERVER_PUBLIC_URL="https://comments.example",
        COMMENTSVC_SITE_IMAGES="true",
        COMMENTSVC_SITE_REACTIONS="👍",
        COMMENTSVC_PRIVACY_KEEP_NETWORK_DAYS="0",  # or nobody votes for a comment of this network
        COMMENTSVC_MAIL_HOST="localhost",
        COMMENTSVC_MAIL_PORT="9",
        COMMENTSVC_MAIL_SENDER="comments@blog.example",
    )
    with chromium.new_context(base_url=foreign_blog.origin, java_script_enabled=False) as context:
        page = context.new_page()
        thread = f"{service.address}/embed/thread?url={POST}&view=page"

        def press(name: str) -> None:
            page.get_by_role("button", name=name).first.click()

        def send_by_form(message: str) -> None:
            page.get_by_label("Comment").fill(message)
            page.get_by_label("Name").fill("Rosa Weber")
            press("Send comment")
            expect(page.get_by_role("status")).to_contain_text("is published")

        page.goto(POST)
        page.locator("comment-thread a").first.click()
        file = page.get_by_label("Add a picture")
        box = file.bounding_box()
        assert box
        assert box["height"] <= 45, "its button is in the middle of its box"
        file.set_input_files({"name": "x.gif", "mimeType": "image/gif", "buffer": GIF})
        page.get_by_label("Description of the picture").fill("A field")
        send_by_form("The frist.")
        text = page.get_by_label("Comment")
        text.fill(text.input_value().replace("frist", "first"))
        press("Save")
        expect(page.get_by_text("The first.").first).to_be_visible()
        page.goto(thread)
        expect(page.get_by_role("img", name="A field")).to_have_count(1)
        press("I agree")
        expect(page.locator("#commentsvc-1 .commentsvc-votes")).to_have_text("1")
        press("Thumbs up")
        expect(page.get_by_role("button", name="Thumbs up 1")).to_be_visible()
        press("Report")
        page.get_by_label("Something else").check()
        press("Send report")
        expect(page.get_by_role("status")).to_contain_text("A moderator will look")
        page.goto(thread)
        press("Reply to Rosa Weber")
        expect(page.get_by_role("heading", name="Reply to Rosa Weber")).to_be_visible()
        send_by_form("An answer.")
        other = context.new_page()
        other.goto(thread)
        expect(other.locator("#commentsvc-1 #commentsvc-2")).to_contain_text("An answer.")
        press("Delete")
        expect(page.get_by_role("heading", name="Delete this comment?")).to_be_visible()
        press("Delete")
        expect(page.get_by_role("status")).to_have_text("Your comment is deleted.")
        page.goto(thread)
        expect(page.locator("article")).to_have_count(1)
        page.goto(f"{service.address}/follow?url={POST}")
        page.get_by_label("Email").fill("rosa@blog.example")
        page.locator("main button").click()
        expect(page.get_by_role("heading", name="Please check your mailbox")).to_be_visible()

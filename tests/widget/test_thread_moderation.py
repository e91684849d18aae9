"""A moderator decides in the thread on the blog, with the whole program.

The blog and the service are two sites, and the browser blocks third-party cookies.
"""

import json
import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, Route, expect

from loadtest.harness.running import free_port
from tests.accessibility import assert_fine
from tests.admin_e2e.moderator_browser import PASSWORD, at_each_width, sign_in, sign_out
from tests.conftest import visit, watched_tab
from tests.e2e.program import Service, change, command, serving, wait_for
from tests.widget.browser import Blog, serve
from tests.widget.test_access import PICTURES
from tests.widget.test_sign_in import strict

__all__ = ["strict"]

PAGE = """<!DOCTYPE html><html lang="{lang}">
<meta name="viewport" content="width=device-width">
<link rel="stylesheet" href="/style.css">
<title>A post</title><main><h1>A post</h1>
<comment-thread></comment-thread></main>
<script type="module" src="{service}/static/comments.js"></script></html>"""

# Whether a click in the middle of an element meets it.
SHOWN = """(element) => {
    element.scrollIntoView({ block: "center", behavior: "instant" });
    const { x, y, width, height } = element.getBoundingClientRect();
    return document.elementFromPoint(x + width / 2, y + height / 2) == element;
}"""
STYLE = """:root { color-scheme: light dark; background: light-dark(#fff, #111); }
body { font: 1rem/1.6 system-ui; max-width: 40rem; margin: auto; padding: 1rem }"""


class Moderated(Blog):
    """A blog with a page for each test, and its service, whose moderators are ann and mo."""

    program: Service
    number = 0

    def write(self, lang: str = "en") -> str:
        """Make a page; return its path."""
        self.number += 1
        folder = self.folder / f"post-{self.number}"
        folder.mkdir()
        text = PAGE.format(service=self.service, lang=lang)
        (folder / "index.html").write_text(text)
        return f"/post-{self.number}/"

    def submit(self, path: str, *texts: str, parent: int | None = None) -> list[int]:
        """Send comments that wait; return their ids."""
        ids = []
        for text in texts:
            made = self.program.submit(self.origin + path, text, author="Eve", parent=parent)
            ids.append(int(made.json()["comment"]["id"]))
        return ids

    def run(self, *words: object) -> None:
        made = command(*words, "--data", self.program.data)
        assert made.code == 0, made


@pytest.fixture(scope="module")
def blog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Moderated]:
    folder, data = tmp_path_factory.mktemp("blog"), tmp_path_factory.mktemp("data") / "data"
    with serve(folder) as server:
        (folder / "style.css").write_text(STYLE)
        server.__class__ = Moderated
        assert isinstance(server, Moderated)
        port = free_port()
        server.service = f"http://localhost:{port}"
        environ = {
            "COMMENTSVC_SERVER_PUBLIC_URL": server.service,
            "COMMENTSVC_SITE_ORIGINS": f"{server.origin},{server.service}",
            "COMMENTSVC_SPAM_RATE_LIMIT": "off",
            "COMMENTSVC_SPAM_PENDING_LIMIT": "off",
            "COMMENTSVC_MODERATION_POLICY": "all",
        }
        with serving(data, environ, f"127.0.0.1:{port}") as server.program:
            for name in ("ann", "mo"):
                made = command("moderator", "add", name, "--data", data, given=PASSWORD)
                assert made.code == 0, made
            yield server


@pytest.fixture(scope="module")
def cookies(strict: Browser, blog: Moderated) -> object:
    """Keep the cookies of one sign-in for many tests."""
    context = strict.new_context(base_url=blog.service)
    sign_in(context.new_page())
    state = context.storage_state()
    context.close()
    return state["cookies"]


@pytest.fixture
def context(strict: Browser, blog: Moderated, cookies: object) -> Iterator[BrowserContext]:
    with visit(strict, blog.origin) as context:
        context.add_cookies(cookies)  # type: ignore[arg-type]  # it has the same fields
        yield context


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    with watched_tab(context) as page:
        yield page


def wait_for_button(page: Page) -> None:
    """Wait until the button takes clicks: see agree.js."""
    expect(page.locator("#agree")).to_be_visible()
    is_later = "performance.now() - since > PAUSE_MS"
    wait_for(lambda: bool(page.evaluate(is_later)), "the end of the pause")


def agree(page: Page, path: str) -> None:
    """Come from the moderation pages to a post, and agree to moderate there."""
    page.goto(f"{path}#comments?moderate")
    page.get_by_role("link", name="Moderate here").click()
    wait_for_button(page)
    page.get_by_role("button", name="Moderate there").click()
    expect(page.get_by_text("You moderate as ann.")).to_be_visible()


def comment(page: Page, text: str) -> Locator:
    """Return the item of a comment."""
    return page.locator(".commentsvc-comment", has=page.locator(f"> article >> text={text}"))


def act(page: Page, text: str, name: str) -> None:
    """Press a button of a comment."""
    comment(page, text).locator("> article").get_by_role("button", name=name).click()


def texts(blog: Moderated, path: str) -> list[str]:
    """Return the texts that readers see."""
    answer = blog.program.request("GET", f"/api/comments?url={path}")
    return [item["content"] for item in answer.json()["data"]]


def test_waiting_comments_are_in_their_place_and_decided_there(page: Page, blog: Moderated) -> None:
    path = blog.write()
    [first, second] = blog.submit(path, "First", "Second")
    earlier = "UPDATE comment SET created_at = created_at - 5000 WHERE id = ?"
    change(blog.program.data, earlier, first)
    blog.run("approve", second)
    blog.submit(path, "A reply", parent=second)
    blog.submit(path, "The last")
    agree(page, path)
    assert page.url == f"{blog.origin}{path}", "nothing is left in the address"
    expect(page.locator(".commentsvc-badge")).to_have_text(["Awaiting approval"] * 3)
    expect(page.get_by_text("Awaiting approval: 3.")).to_be_visible()
    bodies = page.locator(".commentsvc-body")
    expect(bodies).to_have_text(["First", "Second", "A reply", "The last"])
    assert texts(blog, path) == ["Second"]

    act(page, "First", "Approve")
    expect(comment(page, "First").get_by_text("Approved.")).to_be_visible()
    expect(page.get_by_role("button", name="Undo")).to_be_focused()
    assert texts(blog, path) == ["Second", "First"]
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_have_text("Undone.")
    expect(comment(page, "First")).to_be_focused()
    assert texts(blog, path) == ["Second"]

    act(page, "A reply", "Delete")
    expect(page.get_by_text("A reply")).to_be_hidden()
    expect(page.get_by_role("button", name="Undo")).to_be_focused()
    expect(page.get_by_text("Awaiting approval: 2.")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.get_by_text("A reply")).to_be_visible()
    expect(page.get_by_text("Awaiting approval: 3.")).to_be_visible()
    assert page.context.cookies(blog.origin) == []


def test_an_answer_approves_has_the_badge_and_its_text_is_not_lost(
    page: Page, blog: Moderated
) -> None:
    path = blog.write()
    blog.submit(path, "A question")
    agree(page, path)
    act(page, "A question", "Answer")
    field = page.get_by_label("Answer to Eve")
    expect(field).to_be_focused()
    assert field.evaluate(SHOWN), "nothing clips it"
    field.fill("An *answer*")
    page.reload()
    act(page, "A question", "Answer")
    expect(field).to_have_value("An *answer*")
    page.route("**/answers?*", lambda route: route.abort())
    page.locator("li form").get_by_role("button", name="Answer").click()
    expect(page.get_by_role("alert").filter(has_text="cannot be reached")).to_be_visible()
    expect(field).to_have_value("An *answer*")
    page.unroute("**/answers?*")
    page.locator("li form").get_by_role("button", name="Answer").click()
    expect(page.get_by_role("button", name="Undo")).to_be_focused()
    answer = comment(page, "An answer")
    expect(answer.locator("> article .commentsvc-owner")).to_have_text("Owner")
    assert texts(blog, path) == ["A question", "An *answer*"]
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_have_text("Undone.")
    assert texts(blog, path) == []


def test_a_comment_is_pinned_and_the_former_one_comes_back(page: Page, blog: Moderated) -> None:
    path = blog.write()
    ids = blog.submit(path, "First", "Second")
    blog.run("approve", *ids)
    blog.run("pin", ids[0])
    agree(page, path)
    act(page, "Second", "Pin")
    expect(page.locator(".commentsvc-body")).to_have_text(["Second", "First"])
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".commentsvc-body")).to_have_text(["First", "Second"])
    act(page, "First", "Unpin")
    expect(comment(page, "First").get_by_text("No longer pinned.")).to_be_visible()


def test_nobody_overrules_another_moderator(page: Page, blog: Moderated) -> None:
    path = blog.write()
    [waiting] = blog.submit(path, "Both decide")
    agree(page, path)
    blog.run("spam", waiting)
    act(page, "Both decide", "Approve")
    status = page.get_by_role("status").filter(has_text="has changed this comment in the meantime")
    expect(status).to_be_attached()
    expect(page.get_by_text("Both decide")).to_be_hidden()
    assert texts(blog, path) == []


def test_blog_and_service_may_share_an_origin(page: Page, blog: Moderated) -> None:
    """As with config/proxy/nginx-path.conf: browsers send no Origin when a page gets something."""
    path = "/one-origin/"
    blog.submit(path, "Waits")
    document = PAGE.format(service=blog.service, lang="en").replace("/style.css", "data:text/css,")
    page.route(
        f"{blog.service}{path}",
        lambda route: route.fulfill(body=document, content_type="text/html"),
    )
    agree(page, blog.service + path)
    act(page, "Waits", "Approve")
    expect(page.locator(".commentsvc-decided")).to_have_text("Approved. Undo")
    assert texts(blog, path) == ["Waits"]


@pytest.mark.parametrize("order", ["oldest", "newest"])
def test_a_deleted_comment_has_no_buttons_and_stays_before_its_replies(
    page: Page, blog: Moderated, order: str
) -> None:
    path = blog.write()
    ids = blog.submit(path, "Gone", "Later")
    replies = blog.submit(path, "A reply", "Another", parent=ids[0])
    for age, number in enumerate(reversed([ids[0], *replies, ids[1]])):
        earlier = "UPDATE comment SET created_at = created_at - ? WHERE id = ?"
        change(blog.program.data, earlier, 10_000 * (age + 1), number)
    for number in (ids[0], *replies, ids[1]):
        blog.run("approve", number)
    blog.run("delete", ids[0])
    agree(page, path)
    page.locator("[name=sort]").select_option(order)
    shown = page.locator(".commentsvc-comment > :first-child")
    placed = {
        "oldest": ["deleted", "A reply", "Another", "Later"],
        "newest": ["Later", "deleted", "Another", "A reply"],
    }
    expect(shown).to_contain_text(placed[order])
    reply = comment(page, "A reply").last.locator("> article")
    expect(reply.get_by_role("button", name="Delete")).to_have_count(1)
    reply.get_by_role("button", name="Delete").click()
    expect(page.locator(".commentsvc-decided")).to_have_text("Deleted. Undo")
    assert texts(blog, path) == ["Another", "Later"]


def test_the_author_and_programs_are_not_named_in_english(page: Page, blog: Moderated) -> None:
    path = blog.write("de")
    made = blog.program.submit(blog.origin + path, "Waits", author="Eve").json()
    page.goto(f"{path}#comments?moderate")
    page.get_by_role("link", name="Hier moderieren").click()
    wait_for_button(page)
    page.locator("#agree").click()
    approve = comment(page, "Waits").locator("[name=moderate-approve]")
    expect(approve).to_be_visible()
    own = f"/api/comments/{made['comment']['id']}"
    gone = blog.program.request("DELETE", own, Authorization=f"Bearer {made['token']}")
    assert gone.status < 300, gone
    approve.click()
    text = "Dieser Kommentar wurde inzwischen geändert, deshalb ist nichts geschehen."
    expect(page.get_by_role("status").filter(has_text=text)).to_be_attached()


def test_it_ends_with_the_sign_out_and_another_tab_knows_nothing(
    page: Page, context: BrowserContext, blog: Moderated, strict: Browser
) -> None:
    path = blog.write()
    blog.submit(path, "Waits")
    with visit(strict, blog.origin) as own, watched_tab(own) as tab:
        sign_in_at(tab, blog)
        agree(tab, path)
        other = own.new_page()
        other.goto(path)
        expect(other.get_by_role("link", name="Moderate here")).to_be_visible()
        expect(other.get_by_text("Waits")).to_be_hidden()
        other.goto(f"{blog.service}/moderation/queue")
        sign_out(other).click()
        act(tab, "Waits", "Approve")
        expect(tab.get_by_role("status").filter(has_text="This sign-in is over.")).to_be_attached()
        expect(tab.get_by_text("Waits")).to_be_hidden()
        expect(tab.get_by_role("link", name="Moderate here")).to_be_visible()
        kept = tab.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])")
        assert "csb_" not in kept
    assert texts(blog, path) == []


def sign_in_at(page: Page, blog: Moderated) -> None:
    page.goto(f"{blog.service}/moderation")
    page.get_by_label("Name").fill("ann")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(sign_out(page)).to_be_visible()


def test_stopping_ends_the_token_and_shows_what_readers_see(page: Page, blog: Moderated) -> None:
    path = blog.write()
    blog.submit(path, "Waits")
    agree(page, path)
    act(page, "Waits", "Answer")
    page.locator("li form textarea").fill("A secret that is not sent")
    assert "A secret" in page.evaluate("JSON.stringify({...sessionStorage})")
    assert "A secret" not in page.evaluate("JSON.stringify({...localStorage})")
    with page.expect_response("**/thread-moderation/session*") as ended:
        page.get_by_role("button", name="Stop moderating").click()
    assert ended.value.status == 204
    expect(page.get_by_text("Waits")).to_be_hidden()
    expect(page.get_by_role("link", name="Moderate here")).to_be_visible()
    assert "A secret" not in page.evaluate("JSON.stringify({...sessionStorage})")


def test_stopping_keeps_a_token_that_was_not_ended(page: Page, blog: Moderated) -> None:
    path = blog.write()
    blog.submit(path, "Waits")
    agree(page, path)
    page.route("**/thread-moderation/session*", lambda route: route.abort())
    stop = page.get_by_role("button", name="Stop moderating")
    stop.click()
    expect(page.get_by_role("alert").filter(has_text="cannot be reached")).to_be_visible()
    assert page.evaluate("sessionStorage['commentsvc:moderator']").startswith("csb_")
    expect(page.get_by_text("Waits")).to_be_visible()
    page.unroute("**/thread-moderation/session*")
    stop.click()
    expect(page.get_by_role("link", name="Moderate here")).to_be_visible()
    assert page.evaluate("sessionStorage['commentsvc:moderator']") is None


def test_a_click_at_once_does_not_agree_however_late_the_script(
    page: Page, blog: Moderated
) -> None:
    path = blog.write()

    def slow(route: Route) -> None:
        time.sleep(1)
        route.continue_()

    page.add_init_script("window.passed = 0; performance.now = () => window.passed")
    page.route("**/agree.js*", slow)
    page.goto(f"{path}#comments?moderate")
    page.get_by_role("link", name="Moderate here").click()
    button = page.get_by_role("button", name="Moderate there")
    button.click(no_wait_after=True)
    expect(page.get_by_role("heading", name="Moderate on")).to_be_visible()
    page.evaluate("window.passed = 750")
    button.click()
    expect(page.get_by_text("You moderate as ann.")).to_be_visible()


def test_the_next_waiting_comment_has_the_focus(page: Page, blog: Moderated) -> None:
    path = blog.write()
    blog.submit(path, "One", "Two")
    agree(page, path)
    forward = page.get_by_role("button", name="Next waiting comment")
    forward.click()
    expect(comment(page, "One")).to_be_focused()
    blog.submit(path, "Three")
    act(page, "One", "Answer")
    page.keyboard.press("Escape")
    forward.click()
    expect(page.get_by_text("Awaiting approval: 3.")).to_be_visible()


def test_a_code_of_somebody_else_is_not_taken(page: Page, blog: Moderated) -> None:
    path = blog.write()
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(f"{path}#commentsvc-moderator=a.code")
    expect(page.locator(".commentsvc-heading")).to_be_visible()
    expect(page).to_have_url(f"{blog.origin}{path}")
    assert not [url for url in requests if "thread-moderation" in url]


def test_no_reader_is_bothered_and_no_address_has_a_token(page: Page, blog: Moderated) -> None:
    path = blog.write()
    blog.submit(path, "Waits")
    requests: list[str] = []
    sent: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.on("request", lambda request: sent.append(json.dumps(request.headers)))
    page.goto(path)
    expect(page.locator(".commentsvc-heading")).to_be_visible()
    assert not [url for url in requests if "moder" in url]
    page.goto("about:blank")
    agree(page, path)
    act(page, "Waits", "Approve")
    expect(page.locator(".commentsvc-decided")).to_have_text("Approved. Undo")
    token = page.evaluate("sessionStorage['commentsvc:moderator']")
    assert token.startswith("csb_")
    assert not [url for url in requests if token in url]
    assert not [each for each in sent if "referer" in each and "commentsvc-moderator" in each]


@pytest.mark.parametrize("lang", ["de", "ar", "sv"])
def test_the_texts_are_in_the_languages_of_moderators(
    page: Page, blog: Moderated, lang: str
) -> None:
    path = blog.write(lang)
    blog.submit(path, "Waits")
    page.goto(f"{path}#comments?moderate")
    link = {"de": "Hier moderieren", "ar": "الإشراف هنا", "sv": "Moderate here"}[lang]
    expect(page.get_by_role("link", name=link)).to_be_visible()


@at_each_width
def test_it_fits_and_is_accessible(
    strict: Browser, blog: Moderated, cookies: object, width: int
) -> None:
    path = blog.write()
    ids = blog.submit(path, "A published comment, with a text of some length.", "Waits here.")
    blog.run("approve", ids[0])
    blog.submit(path, "A waiting reply to the published comment.", parent=ids[0])
    context = strict.new_context(
        base_url=blog.origin,
        bypass_csp=True,
        reduced_motion="reduce",
        viewport={"width": width, "height": 740},
    )
    context.add_cookies(cookies)  # type: ignore[arg-type]  # it has the same fields
    page = context.new_page()
    page.goto(f"{path}#comments?moderate")
    page.get_by_role("link", name="Moderate here").click()
    button = page.get_by_role("button", name="Moderate there")
    expect(button).to_be_visible()
    assert_fine(page, PICTURES / "on-blog", [width])
    wait_for_button(page)
    button.click()
    expect(page.get_by_text("You moderate as ann.")).to_be_visible()
    assert_fine(page, PICTURES / "thread-moderation", [width])
    act(page, "A waiting reply", "Approve")
    expect(page.locator(".commentsvc-decided")).to_have_text("Approved. Undo")
    act(page, "Waits here.", "Answer")
    page.get_by_label("Answer to Eve").fill("Thank you!")
    assert_fine(page, PICTURES / "thread-moderation-answer", [width])
    context.close()

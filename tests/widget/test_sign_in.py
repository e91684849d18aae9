"""Readers sign in, in browsers that block third-party cookies, with the whole program.

The blog, the service and the provider are three sites. The provider is a separate program.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, BrowserContext, Dialog, Page, Playwright, expect

from loadtest.harness.running import free_port
from tests.admin_e2e.test_provider import answers
from tests.conftest import FLAGS, chromium_program, visit, watched_tab
from tests.e2e.program import serving, wait_for
from tests.widget.browser import Blog, open_form, serve
from tests.widget.firefox import firefox

CLAIMS = {"sub": "eva", "name": "Eva Vogt", "email": "eva@home.example", "email_verified": True}
THREAD = "//section[contains(@class, 'commentsvc-thread')]"
PAGE = """<!DOCTYPE html><html lang="en">
<title>A post</title><h1>A post</h1>
<script type="module" src="{service}/static/comments.js"></script>
<comment-thread url="/post/"></comment-thread></html>"""


@pytest.fixture(scope="module")
def strict(playwright: Playwright) -> Iterator[Browser]:
    """Return a browser that blocks third-party cookies."""
    program, flag = chromium_program(playwright), "--test-third-party-cookie-phaseout"
    browser = playwright.chromium.launch(executable_path=program, args=[*FLAGS, flag])
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def provider() -> Iterator[str]:
    """Start a provider; return its issuer."""
    port = free_port()
    words = ("--port", str(port), "--user-claims", json.dumps(CLAIMS))
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "oidc_provider_mock", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(lambda: answers(port), "the provider")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


@pytest.fixture(scope="module")
def blog(tmp_path_factory: pytest.TempPathFactory, provider: str) -> Iterator[Blog]:
    with blog_of(tmp_path_factory, provider, "mail,provider") as blog:
        yield blog


@contextmanager
def blog_of(
    tmp_path_factory: pytest.TempPathFactory, provider: str, sign_in: str
) -> Iterator[Blog]:
    """Serve a blog with a page, whose service is `localhost`: another site than 127.0.0.1."""
    folder = tmp_path_factory.mktemp("blog")
    with serve(folder) as blog:
        port = free_port()
        service = f"http://localhost:{port}"
        environ = {
            "COMMENTSVC_SERVER_PUBLIC_URL": service,
            "COMMENTSVC_SITE_ORIGINS": blog.origin,
            "COMMENTSVC_SITE_SIGN_IN": sign_in,
            "COMMENTSVC_MAIL_HOST": "localhost",
            "COMMENTSVC_MAIL_SENDER": "comments@blog.example",
            "COMMENTSVC_READERS_ISSUER": provider,
            "COMMENTSVC_READERS_CLIENT_ID": "comments",
            "COMMENTSVC_READERS_CLIENT_SECRET": "a secret",
            "COMMENTSVC_READERS_NAME": "Our Id",
            "COMMENTSVC_HOOKS_ALLOWED_NETWORKS": "127.0.0.0/8",
            "COMMENTSVC_MODERATION_POLICY": "none",
        }
        blog.service = service
        (folder / "index.html").write_text(PAGE.format(service=service))
        with serving(tmp_path_factory.mktemp("data"), environ, f"127.0.0.1:{port}"):
            yield blog


def begin(page: Page) -> None:
    """Open the post and begin to write."""
    page.goto("/")
    open_form(page)


def sign_in(page: Page) -> None:
    """Sign in at the provider, in the window that opens."""
    with page.expect_popup() as opened:
        page.get_by_role("button", name="Sign in").click()
    window = opened.value
    window.get_by_role("link", name="Sign in with Our Id").click()
    with window.expect_event("close"):
        window.get_by_role("button", name="eva").click()
    expect(page.get_by_text("Commenting as Eva Vogt ✓")).to_be_visible()


def cookies_of_services(context: BrowserContext, blog: Blog) -> list[str]:
    """Return the names of cookies at the blog and at the service."""
    return [str(each.get("name")) for each in context.cookies([blog.origin, blog.service])]


def test_a_reader_signs_in_writes_and_edits_on_another_device(strict: Browser, blog: Blog) -> None:
    with visit(strict, blog.origin) as phone, watched_tab(phone) as page:
        begin(page)
        sign_in(page)
        form = page.locator("comment-thread form")
        expect(form.get_by_label("Name")).to_be_hidden()
        form.get_by_label("Comment", exact=True).fill("Written on the phone")
        form.get_by_role("button", name="Send comment").click()
        mine = page.locator("article", has_text="Written on the phone")
        expect(mine.locator(".commentsvc-author")).to_have_text("Eva Vogt")
        expect(mine.locator(".commentsvc-badge")).to_have_text("Verified")
        assert cookies_of_services(phone, blog) == []
    with visit(strict, blog.origin) as laptop, watched_tab(laptop) as page:
        begin(page)
        sign_in(page)
        page.reload()
        mine = page.locator("article", has_text="Written on the phone")
        mine.get_by_role("button", name="Edit").click()
        form = page.locator("li form")
        form.get_by_label("Comment", exact=True).fill("Edited on the laptop")
        form.get_by_role("button", name="Save").click()
        expect(page.locator("article", has_text="Edited on the laptop")).to_be_visible()
        begin(page)
        page.get_by_role("button", name="Sign out", exact=True).click()
        expect(page.get_by_label("Name")).to_be_visible()
        assert page.evaluate("localStorage['commentsvc:reader']") is None
        assert cookies_of_services(laptop, blog) == []


def test_a_reader_signs_in_and_writes_in_firefox(tmp_path: Path, blog: Blog) -> None:
    with firefox(tmp_path / "firefox") as browser:
        browser.visit(f"{blog.origin}/")
        browser.click(f"{THREAD}/*[contains(@class, 'commentsvc-input')]")
        browser.click(f"{THREAD}//button[.='Sign in']")
        browser.switch(2)
        browser.click("//a[.='Sign in with Our Id']")
        browser.click("//button[contains(., 'eva')]")
        browser.switch(1)
        browser.wait(f"{THREAD}//*[contains(., 'Commenting as Eva Vogt ✓')]")
        browser.write(f"{THREAD}//form//textarea", "Written in Firefox")
        browser.click(f"{THREAD}//button[.='Send comment']")
        mine = "//article[contains(., 'Written in Firefox')]"
        browser.wait(f"{mine}//*[.='Verified']")
        browser.visit(f"{blog.origin}/")
        browser.wait(f"{mine}//button[@name='edit']")
        assert browser.cookies() == []
        browser.visit(f"{blog.service}/readyz")
        assert browser.cookies() == []


def hand_over(page: Page, blog: Blog, text: str, asked: int = 0) -> list[str]:
    """Follow a link that hands over `text`, and refuse; return the questions, of which so many."""
    questions: list[str] = []

    def refuse(dialog: Dialog) -> None:
        questions.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", refuse)
    page.goto("about:blank")
    page.goto(f"/#commentsvc-reader={text}")
    page.wait_for_url(f"{blog.origin}/")
    if asked:
        wait_for(lambda: page.evaluate("0") == 0 and len(questions) == asked, "the question")
    page.remove_listener("dialog", refuse)
    return questions


def test_a_token_in_an_address_is_taken_after_a_question_unless_we_asked(
    strict: Browser, blog: Blog
) -> None:
    """The question has the name of the token's owner, whatever the link says."""
    with visit(strict, blog.origin) as context, watched_tab(context) as page:
        begin(page)
        sign_in(page)
        token = page.evaluate("JSON.parse(localStorage['commentsvc:reader']).token")
    lies = {"token": token, "name": "you? Press OK"}
    with visit(strict, blog.origin) as context, watched_tab(context) as page:
        text = quote(json.dumps(lies | {"word": "a-foreign-word"}))
        asked = hand_over(page, blog, text, asked=1)
        assert asked == ["Sign in as Eva Vogt?"]
        assert page.evaluate("localStorage['commentsvc:reader']") is None
        page.evaluate("localStorage['commentsvc:word'] = '\"our-own-word\"'")
        text = quote(json.dumps(lies | {"word": "our-own-word"}))
        assert hand_over(page, blog, text) == []
        assert page.evaluate("localStorage['commentsvc:reader']")


# What is no word or token: nothing may be equal to its own absence.
NOTHINGS: tuple[object, ...] = (
    None,
    "",
    0,
    1,
    False,
    True,
    [],
    {},
    ["our-own-word"],
    {"a": "our-own-word"},
)


def test_a_link_without_a_word_or_token_signs_nobody_in(strict: Browser, blog: Blog) -> None:
    with visit(strict, blog.origin) as context, watched_tab(context) as page:
        page.goto("/")
        good = {"word": "our-own-word", "token": "x", "name": "Mallory"}
        for text in ("null", "0", "[]", "%", "{", '"text"', quote('{"token": "x", "name": "M"}')):
            assert hand_over(page, blog, text) == []
            assert page.evaluate("localStorage['commentsvc:reader']") is None, text
        taken = page.evaluate(
            """async ([module, good, nothings]) => {
              const { keep } = await import(module);
              const words = [undefined, ...nothings, "another-word"];
              const taken = [];
              for (const stored of words) {
                for (const field of ["word", "token", "name"]) {
                  for (const value of words) {
                    if (field != "word" && value == "another-word") continue;
                    if (stored === undefined) delete localStorage["commentsvc:word"];
                    else localStorage["commentsvc:word"] = JSON.stringify(stored);
                    if (field != "word") localStorage["commentsvc:word"] = '"our-own-word"';
                    if (field == "word" && stored == "another-word") continue;
                    if (keep({ ...good, [field]: value })) taken.push([stored, field, value]);
                  }
                }
              }
              localStorage["commentsvc:word"] = '"our-own-word"';
              return [taken, keep(good)];
            }""",
            [f"{blog.service}/static/reader/reader_token.js", good, NOTHINGS],
        )
        assert taken == [[], True]


def test_a_foreign_page_gets_no_token(strict: Browser, blog: Blog, tmp_path: Path) -> None:
    """It opens the window with the blog's page as the one that asks, and listens."""
    with serve(tmp_path) as foreign, visit(strict, foreign.origin) as context:
        (tmp_path / "index.html").write_text("<!DOCTYPE html><title>Foreign</title>")
        page = context.new_page()
        page.goto("/")
        target = f"{blog.service}/reader/sign-in?word=a-foreign-word&page={blog.origin}/"
        with page.expect_popup() as opened:
            page.evaluate(
                "target => { window.heard = [];"
                " addEventListener('message', ({ data }) => heard.push(data)); open(target); }",
                target,
            )
        window = opened.value
        window.get_by_role("link", name="Sign in with Our Id").click()
        window.once("dialog", lambda dialog: dialog.dismiss())
        window.get_by_role("button", name="eva").click()
        window.wait_for_url(f"{blog.origin}/**")
        assert page.evaluate("heard") == []


def test_members_write_after_they_have_signed_in_with_scripts_and_without(
    chromium: Browser, tmp_path_factory: pytest.TempPathFactory, provider: str
) -> None:
    with blog_of(tmp_path_factory, provider, "required") as blog:
        with visit(chromium, blog.origin) as context, watched_tab(context) as page:
            begin(page)
            form = page.locator("comment-thread form")
            form.get_by_label("Comment", exact=True).fill("Begun before")
            expect(form.get_by_role("button", name="Send comment")).to_be_hidden()
            with page.expect_popup() as opened:
                form.get_by_role("button", name="Sign in to comment").click()
            window = opened.value
            window.get_by_role("link", name="Sign in with Our Id").click()
            with window.expect_event("close"):
                window.get_by_role("button", name="eva").click()
            expect(form.get_by_text("Commenting as Eva Vogt ✓")).to_be_visible()
            expect(form.get_by_label("Comment", exact=True)).to_have_value("Begun before")
            form.get_by_role("button", name="Send comment").click()
            expect(page.locator("article", has_text="Begun before")).to_be_visible()
        context = chromium.new_context(java_script_enabled=False)
        page = context.new_page()
        page.goto(f"{blog.service}/embed/thread?url=/post/&view=page")
        page.get_by_role("link", name="Sign in to comment").click()
        page.get_by_role("link", name="Sign in with Our Id").click()
        page.get_by_role("button", name="eva").click()
        expect(page.get_by_text("Commenting as Eva Vogt")).to_be_visible()
        page.get_by_label("Comment", exact=True).fill("Without scripts")
        page.get_by_role("button", name="Send comment").click()
        expect(page.get_by_text("Thank you! Your comment is published.")).to_be_visible()
        context.close()

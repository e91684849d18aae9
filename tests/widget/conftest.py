"""Fixtures of the widget's tests."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Locator,
    Page,
)

from tests.conftest import find_program
from tests.widget.browser import POST, SERVICE, Answers, build_blog, serve


@pytest.fixture(scope="session")
def hugo() -> str:
    """The static site generator."""
    return find_program("hugo")


@pytest.fixture(scope="session")
def blog(hugo: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The origin of the demo blog, built for SERVICE."""
    folder = build_blog(hugo, SERVICE, tmp_path_factory.mktemp("blog"))
    with serve(folder, SERVICE) as blog:
        yield blog.origin


@pytest.fixture
def context(chromium: Browser, blog: str) -> Iterator[BrowserContext]:
    """A reader with an empty browser, who looks at the blog."""
    context = chromium.new_context(base_url=blog, locale="en-GB", timezone_id="UTC")
    context.set_default_timeout(10_000)  # ms
    yield context
    context.close()


@pytest.fixture
def answers(context: BrowserContext) -> Answers:
    """The service that the reader's browser meets."""
    answers = Answers()
    context.route(f"{SERVICE}/**", answers.answer)
    return answers


@pytest.fixture
def page(context: BrowserContext, answers: Answers) -> Iterator[Page]:
    """A tab. The test fails when a script did, or the Content-Security-Policy was violated."""
    page = context.new_page()
    complaints: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if "Content Security Policy" in message.text:
            complaints.append(message.text)

    page.on("console", note)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    yield page
    assert not complaints


@pytest.fixture
def open_post(page: Page) -> Callable[[], Page]:
    """Open a post, go to its thread, and wait for it."""

    def open_post() -> Page:
        page.goto(POST)
        page.locator("comment-thread").scroll_into_view_if_needed()
        page.locator(".commentsvc-form").wait_for()
        return page

    return open_post


@pytest.fixture
def form(open_post: Callable[[], Page]) -> Locator:
    """The form under an open post."""
    return open_post().locator("comment-form")


@pytest.fixture
def message(form: Locator) -> Locator:
    """The field with the text."""
    return form.get_by_label("Comment")

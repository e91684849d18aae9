"""Fixtures of the widget's tests."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Locator,
    Page,
)

from tests.conftest import find_program, visit, watched_tab
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
    with visit(chromium, blog) as context:
        yield context


@pytest.fixture
def answers(context: BrowserContext) -> Answers:
    """The service that the reader's browser meets."""
    answers = Answers()
    context.route(f"{SERVICE}/**", answers.answer)
    return answers


@pytest.fixture
def page(context: BrowserContext, answers: Answers) -> Iterator[Page]:
    """A tab that must have nothing to complain of."""
    with watched_tab(context) as page:
        yield page


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

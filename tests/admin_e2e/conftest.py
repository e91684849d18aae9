"""Fixtures for the browser tests of the moderation pages."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, StorageState

from tests.admin_e2e.moderator_browser import PASSWORD, sign_in
from tests.conftest import visit, watched_tab
from tests.e2e.program import Service, command, serving


@pytest.fixture(scope="module")
def service(engine: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Run a service with the moderator ann, for the tests of one file."""
    data = tmp_path_factory.mktemp("pages") / "data"
    with serving(data, {"COMMENTSVC_SPAM_RATE_LIMIT": "off"}) as service:
        made = command("moderator", "add", "ann", "--data", data, given=PASSWORD)
        assert made.code == 0, made
        yield service
        print(service.log.read_text()[-4_000:])  # pytest shows it if the last test has failed


@pytest.fixture(scope="module")
def cookies(chromium: Browser, service: Service) -> StorageState:
    """Keep the cookies of one sign-in for many tests, since sign-in attempts are rate-limited."""
    context = chromium.new_context(base_url=service.address)
    sign_in(context.new_page())
    state = context.storage_state()
    context.close()
    return state


@pytest.fixture
def context(chromium: Browser, service: Service) -> Iterator[BrowserContext]:
    """Return an empty browser profile."""
    with visit(chromium, service.address) as context:
        yield context


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    """Open a tab; fail the test if a script fails or the Content-Security-Policy is violated."""
    with watched_tab(context) as page:
        yield page


@pytest.fixture
def moderation(page: Page, cookies: StorageState) -> Page:
    """Open a tab in which ann is signed in; a test must not sign her out."""
    page.context.add_cookies(cookies["cookies"])  # type: ignore[arg-type] # it has the same fields
    page.goto("/moderation")
    return page

"""What all tests share: how a test says that this machine lacks something it needs."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest
from hypothesis import settings

from tests.e2e.program import Service

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Playwright

# A machine that is busy must not fail a property; tests that bound time measure CPU time.
settings.register_profile("commentsvc", deadline=None)
settings.load_profile("commentsvc")


def cannot_run(reason: str) -> NoReturn:
    """Skip the test with `reason`; fail it where CI=true, since nothing may be missing there."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"cannot run in CI: {reason}")
    pytest.skip(reason)


def find_program(*names: str) -> str:
    """The path of the first of `names` that is installed; without one the test cannot run."""
    for name in names:
        if path := shutil.which(name):
            return path
    cannot_run(f"not installed: {' or '.join(names)}")


# As root and in containers Chromium has no sandbox; the others keep it from calling home.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


# The first one has no window and takes half the processor.
CHROMIUM = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
PATIENCE_MS = 30_000  # with a browser, which shares a busy machine with the service


@pytest.fixture(scope="session")
def playwright() -> "Iterator[Playwright]":
    """What starts browsers; there can be one only."""
    from playwright.sync_api import expect, sync_playwright  # not small, and most tests need none

    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        yield playwright


@pytest.fixture(scope="session")
def chromium(playwright: "Playwright") -> "Iterator[Browser]":
    """One browser for all tests that need one."""
    browser = playwright.chromium.launch(executable_path=chromium_program(playwright), args=FLAGS)
    yield browser
    browser.close()


def chromium_program(playwright: "Playwright") -> str | None:
    """Return the path of a Chromium that starts; None where Playwright keeps one of its own."""
    for name in CHROMIUM:
        # Ubuntu's program of that name fails where snapd is not there.
        path = shutil.which(name)
        if path and subprocess.run([path, "--version"], capture_output=True).returncode == 0:
            return path
    folder = Path(playwright.chromium.executable_path).parents[2]  # of all its browsers
    if any(folder.glob("chromium*")):
        return None
    cannot_run(f"not installed: {' or '.join(CHROMIUM)}; `playwright install chromium` gets one")


@contextmanager
def visit(browser: "Browser", origin: str) -> "Iterator[BrowserContext]":
    """A reader with an empty browser, for whom addresses begin at `origin`."""
    context = browser.new_context(base_url=origin, locale="en-GB", timezone_id="UTC")
    context.set_default_timeout(PATIENCE_MS)
    try:
        yield context
    finally:
        context.close()


@contextmanager
def watched_tab(context: "BrowserContext") -> "Iterator[Page]":
    """A tab. The test fails when a script did, or the Content-Security-Policy was violated."""
    page = context.new_page()
    complaints: list[str] = []

    def note(message: "ConsoleMessage") -> None:
        if "Content Security Policy" in message.text:
            complaints.append(message.text)

    page.on("console", note)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    yield page
    assert not complaints


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Where a data folder will be; it does not exist yet."""
    return tmp_path / "data"


@pytest.fixture
def launch() -> Iterator[Callable[..., Service]]:
    """Start a server without waiting for it; it ends with the test."""
    services: list[Service] = []

    def launch(*words: object, **more: object) -> Service:
        services.append(Service(*words, **more))  # type: ignore[arg-type] # as Service says
        return services[-1]

    yield launch
    for service in services:
        service.close()


@pytest.fixture
def start(launch: Callable[..., Service]) -> Callable[..., Service]:
    """Start a server and wait until it is ready; it ends with the test."""

    def start(*words: object, **more: object) -> Service:
        return launch(*words, **more).wait_until_ready()

    return start

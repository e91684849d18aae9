"""Fixtures and helpers that tests of several folders share."""

import gc
import itertools
import json
import operator
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest
from hypothesis import Phase, settings

from tests.e2e import program
from tests.e2e.program import ForkedService, Service

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Playwright

    from tests.postgresql_server import Server

# A slow machine must not fail a property test; tests that bound time measure CPU time. CI has the
# same examples in each run, so that none fails by chance; others are tried by hand. It shows a
# failing example as it is found, since finding a smaller one may take five minutes, and tells how
# to run it again.
settings.register_profile(
    "commentsvc",
    deadline=None,
    derandomize=os.environ.get("CI") == "true",
    max_examples=int(os.environ.get("PROPERTY_EXAMPLES", "100")),
    phases=(Phase.explicit, Phase.reuse, Phase.generate, Phase.target)
    if os.environ.get("CI") == "true"
    else tuple(Phase),
    print_blob=True,
)
settings.load_profile("commentsvc")


def cannot_run(reason: str) -> NoReturn:
    """Skip the test with `reason`. Where CI=true, fail it: nothing may be missing there."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"cannot run in CI: {reason}")
    pytest.skip(reason)


def find_program(*names: str) -> str:
    """Return the path of the first of `names` that is installed; skip the test if none is."""
    for name in names:
        if path := shutil.which(name):
            return path
    cannot_run(f"not installed: {' or '.join(names)}")


def node_modules(name: str) -> Path:
    """Return the node_modules of config/NAME, which npm installs once; skip if it cannot."""
    root = Path(__file__).parents[1]
    folder, source = root / "build" / name, root / "config" / name
    lock, installed = source / "package-lock.json", folder / "installed.json"
    shutil.copytree(source, folder, dirs_exist_ok=True)
    if not installed.exists() or installed.read_bytes() != lock.read_bytes():
        options = ("--no-save", "--ignore-scripts", "--no-audit", "--no-fund")
        words = [find_program("npm"), "install", *options]
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"npm cannot get the packages of config/{name}: {done.stderr[-300:]}")
        shutil.copy(lock, installed)
    return folder / "node_modules"


def invalid_html(pages: Mapping[str, str]) -> str:
    """Return what html-validate says against the HTML of pages, by their names."""
    script = node_modules("html").parent / "validate.mjs"
    node = find_program("node")
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    if int(version.removeprefix("v").partition(".")[0]) < 20:
        pytest.skip(f"html-validate needs Node.js 20, and this is {version.strip()}")
    given = json.dumps(dict(pages))
    words = [node, str(script)]
    return subprocess.run(words, input=given, capture_output=True, text=True, check=True).stdout


# Chromium's sandbox does not work as root or in containers. The other flags stop its own requests.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


# The first one has no window, no back/forward cache, and needs half the CPU time.
CHROMIUM = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
PATIENCE_MS = 90_000  # for everything in a browser, since it shares a busy machine with the service


# What makes a database for a unit test, and fixtures of which whoever makes one needs one.
DATABASES = {f"tests.unit.{name}" for name in ("admin_client", "app_fixture", "database_fixture")}
FOLDERS = {"folder", "service", "tmp_path", "tmp_path_factory"}
# `make lowest` uses SQLite alone, but for the tests of these packages and `postgresql_only`. It
# leaves out the long tests that are `locked_only`.
SQLITE_ALONE = os.environ.get("ENGINES") == "sqlite"
OF_DATABASES = {"db", "cluster"}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run the tests that touch a database once with SQLite, and once with PostgreSQL.

    Those are the tests of `e2e`, those of `unit` that make a database, and elsewhere those with the
    mark `both_engines`. `sqlite_only` or `postgresql_only` gives the reason why not. All of these
    marks may stand at a test or a module.
    """
    engines = ["sqlite", "postgresql"]
    for engine in engines:
        if mark := metafunc.definition.get_closest_marker(f"{engine}_only"):
            assert mark.args, f"{metafunc.definition.nodeid}: why {engine} only?"
            engines = [engine]
    if not _is_for_both(metafunc):
        return
    package = metafunc.module.__name__.split(".")[2]
    is_alone = SQLITE_ALONE and len(engines) > 1 and package not in OF_DATABASES
    if is_alone or FOLDERS.isdisjoint(metafunc.fixturenames):
        engines = ["sqlite"]
    metafunc.parametrize("engine", engines, indirect=True, scope="module")


def _is_for_both(metafunc: pytest.Metafunc) -> bool:
    """Return whether a test runs on both engines if no mark says that it does not."""
    _, part, *_ = metafunc.module.__name__.split(".")
    if part == "unit":
        helpers = {getattr(one, "__module__", "") for one in vars(metafunc.module).values()}
        return bool(DATABASES & helpers)
    return part == "e2e" or metafunc.definition.get_closest_marker("both_engines") is not None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what the lowest versions do not change."""
    if SQLITE_ALONE:
        is_same = [item.get_closest_marker("locked_only") is not None for item in items]
        config.hook.pytest_deselected(items=[*itertools.compress(items, is_same)])
        items[:] = itertools.compress(items, map(operator.not_, is_same))


def pytest_collection_finish() -> None:
    """Let the garbage collector ignore modules and tests, and run less often.

    Each service that a unit test makes caused several collections, a third of its CPU time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


@pytest.fixture(scope="session", autouse=True)
def usual_priority() -> Iterator[None]:
    """Keep the priority of this process, which a command of a test would lower for good."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "nice", lambda _step: 0)
        yield


@pytest.fixture(scope="session")
def postgresql_server() -> "Iterator[Server]":
    """Run one PostgreSQL for all tests."""
    from tests.postgresql_server import server  # it needs this module, and psycopg

    with server() as running:
        yield running


@pytest.fixture(autouse=True, scope="module")
def engine(request: pytest.FixtureRequest) -> Iterator[str]:
    """Return the engine of the databases of all services and commands of the module.

    A service for the whole module depends on this, so that each engine gets one of its own.
    """
    name: str = getattr(request, "param", "sqlite")
    if name == "postgresql":
        program.in_use.append(request.getfixturevalue("postgresql_server"))
    yield name
    program.in_use.clear()


@pytest.fixture(autouse=True)
def recycled() -> Iterator[None]:
    """Empty the databases that no service uses, for the next test."""
    yield
    for server in program.in_use:
        server.recycle()


@pytest.fixture(scope="session")
def playwright() -> "Iterator[Playwright]":
    """Start Playwright once for the whole test run; it cannot be started a second time."""
    from playwright.sync_api import expect, sync_playwright  # slow, and most tests need none

    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        yield playwright


@pytest.fixture(scope="session")
def chromium(playwright: "Playwright") -> "Iterator[Browser]":
    """Return one browser for all tests that need one."""
    browser = playwright.chromium.launch(executable_path=chromium_program(playwright), args=FLAGS)
    yield browser
    browser.close()


def chromium_program(playwright: "Playwright") -> str | None:
    """Return the path of a Chromium that starts, or None to use Playwright's own."""
    for name in CHROMIUM:
        # On Ubuntu this program may only be a wrapper around a snap, which fails without snapd.
        path = shutil.which(name)
        if path and subprocess.run([path, "--version"], capture_output=True).returncode == 0:
            return path
    folder = Path(playwright.chromium.executable_path).parents[2]  # with all its browsers
    if any(folder.glob("chromium*")):
        return None
    cannot_run(f"not installed: {' or '.join(CHROMIUM)}; `playwright install chromium` gets one")


def whole_chromium_program(playwright: "Playwright") -> str:
    """Return the path of a Chromium with all its parts, such as the back/forward cache."""
    programs = (*CHROMIUM[1:], playwright.chromium.executable_path)
    for path in filter(None, map(shutil.which, programs)):
        if subprocess.run([path, "--version"], capture_output=True).returncode == 0:
            return path
    cannot_run("not installed: the whole chromium; `playwright install chromium` gets one")


@contextmanager
def visit(browser: "Browser", origin: str) -> "Iterator[BrowserContext]":
    """Open an empty browser profile, as a new reader has it; relative URLs begin at `origin`."""
    context = browser.new_context(base_url=origin, locale="en-GB", timezone_id="UTC")
    context.set_default_timeout(PATIENCE_MS)
    try:
        yield context
    finally:
        context.close()


@contextmanager
def watched_tab(context: "BrowserContext") -> "Iterator[Page]":
    """Open a tab. Fail the test if a script fails or the Content-Security-Policy is violated."""
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
    """Return the path of a data folder that does not exist yet."""
    return tmp_path / "data"


@pytest.fixture
def launch(request: pytest.FixtureRequest) -> Iterator[Callable[..., Service]]:
    """Return a function that starts a server without waiting for it; the fixture stops it."""
    services: list[Service] = []
    kind = ForkedService if request.node.get_closest_marker("forked") else Service

    def launch(*words: object, **more: object) -> Service:
        services.append(kind(*words, **more))  # type: ignore[arg-type] # Service checks them
        return services[-1]

    yield launch
    for service in services:
        service.close()


@pytest.fixture
def start(launch: Callable[..., Service]) -> Callable[..., Service]:
    """Return a function that starts a server and waits until it is ready; the fixture stops it."""

    def start(*words: object, **more: object) -> Service:
        return launch(*words, **more).wait_until_ready()

    return start

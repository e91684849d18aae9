"""Every page that the service makes, for axe: on a phone in the light, on a desktop in the dark."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote, unquote

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, Route

from tests.conftest import TARGET_SIZES
from tests.unit.every_page import MODERATION, PAGES, WHOLE, mails, of_errors, shown, visited

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "build" / "pictures" / "pages"
TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
SERVICE = "https://comments.example"

# The names of visible fields that are narrower than a short word
NARROW = """[...document.querySelectorAll(
  "select, textarea, input:not([type=checkbox], [type=radio])"
)].filter((field) => field.offsetWidth && field.offsetWidth < 60).map((field) => field.name)"""

pytestmark = pytest.mark.sqlite_only("it is about pages")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the HTML of each page in each state, and of each mail."""
    folder = tmp_path_factory.mktemp("pages")

    def make() -> dict[str, str]:
        with visited(folder) as visit:
            mailed = mails(visit)
            return dict(shown(visit, PAGES | MODERATION)) | of_errors(WHOLE) | mailed

    with ThreadPoolExecutor(1) as thread:  # Playwright's event loop runs in this one
        return thread.submit(make).result()


def opened(page: Page, pages: dict[str, str]) -> Iterator[str]:
    """Open one page after the other, as the service answers it; yield its name."""

    def answer(route: Route) -> None:
        path, _, name = route.request.url.removeprefix(SERVICE).partition("?")
        file = ROOT / path.removeprefix("/")
        if path.startswith("/static/") and file.exists():
            route.fulfill(path=file, content_type=TYPES[file.suffix])
        else:
            # One leads back to the blog at once.
            html = pages.get(unquote(name), "").replace('http-equiv="refresh"', "")
            route.fulfill(status=200 if html else 404, body=html, content_type="text/html")

    page.route(f"{SERVICE}/**", answer)
    page.route("**/signed_in.js", lambda route: route.abort())  # it leads to the blog
    for name in pages:
        path = name.split()[1].replace("{id}", "1") if name.startswith(("GET", "POST")) else "/x"
        page.goto(f"{SERVICE}{path}?{quote(name)}")
        yield name


@pytest.mark.parametrize(("width", "scheme"), [(360, "light"), (1280, "dark")])
def test_no_page_has_a_violation_or_is_wider_than_the_window(
    chromium: Browser, pages: dict[str, str], width: int, scheme: str
) -> None:
    """In the dark, other colours are judged. By hand, save a picture of each, to look at."""
    options = {"runOnly": ["color-contrast"]} if scheme == "dark" else TARGET_SIZES
    context = chromium.new_context(
        bypass_csp=True,  # axe adds styles
        color_scheme="dark" if scheme == "dark" else "light",
        reduced_motion="reduce",  # texts that are still fading in have too little contrast
        viewport={"width": width, "height": 740},
    )
    found = []
    page = context.new_page()
    for name in opened(page, pages):
        picture = f"{name.replace('/', '_')} {scheme}.png"
        if "CI" not in os.environ:
            page.screenshot(path=PICTURES / picture, full_page=True)
        results = Axe().run(page, options=options)
        if results.violations_count:
            found.append(f"{name}: {results.generate_report()}")
        if not page.evaluate("document.documentElement.scrollWidth <= innerWidth"):
            found.append(f"{name} is too wide")
        if narrow := page.evaluate(NARROW):
            found.append(f"{name} has fields that are too narrow: {narrow}")
    context.close()
    assert not found, "\n".join(found)

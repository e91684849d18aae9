"""Every page that the service makes, for axe: on a phone in the light, on a desktop in the dark."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote, unquote

import pytest
from playwright.sync_api import Browser, Page, Route

from tests.accessibility import (
    CONTRAST,
    FITS,
    SCHEMES,
    TARGET_SIZES,
    WIDTHS,
    save_picture,
    violations,
)
from tests.admin_e2e.moderator_browser import PICTURES, tab_without_policy
from tests.unit.every_page import MODERATION, PAGES, WHOLE, mails, of_errors, shown, visited

ROOT = Path(__file__).parents[2]
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


def test_no_page_has_a_violation_or_is_wider_than_the_window(
    chromium: Browser, pages: dict[str, str]
) -> None:
    """In the dark, other colours are judged. By hand, save a picture of each, to look at."""
    found = []
    with tab_without_policy(chromium, SERVICE) as page:
        for name in opened(page, pages):
            for width, scheme in zip(WIDTHS, SCHEMES, strict=True):
                page.set_viewport_size({"width": width, "height": 740})
                page.emulate_media(color_scheme=scheme)
                save_picture(page, PICTURES / f"{name.replace('/', '_')} {scheme}.png")
                if said := violations(page, CONTRAST if scheme == "dark" else TARGET_SIZES):
                    found.append(f"{name}: {said}")
                if not page.evaluate(FITS):
                    found.append(f"{name} is too wide")
                if narrow := page.evaluate(NARROW):
                    found.append(f"{name} has fields that are too narrow: {narrow}")
    assert not found, "\n".join(found)

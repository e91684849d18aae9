"""The manual as a site, as `make site` builds it: its words, its links, and what it asks for."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Literal
from urllib.parse import unquote, urljoin, urlsplit

import cmarkgfm
import pytest
from axe_playwright_python.sync_playwright import Axe
from cmarkgfm.cmark import Options
from playwright.sync_api import Browser, Page, expect

from tests.conftest import PATIENCE_MS, watched_tab
from tests.widget.browser import ROOT, serve

PICTURES = ROOT / "build" / "pictures" / "manual"
OUTSIDE = {"README.md": "index", "CHANGELOG.md": "changelog", "SECURITY.md": "security"}
SOURCES = [*(ROOT / name for name in OUTSIDE), *sorted((ROOT / "docs").glob("*.md"))]
NAMES = {source: OUTSIDE.get(source.name, source.stem) for source in SOURCES}
BLOCKS = {"p", "li", "td", "th", "tr", "pre", "h1", "h2", "h3", "h4", "table", "ul", "ol", "div"}
COUNTED = {"li", "table", "tr", "pre", "h1", "h2", "h3", "strong", "em"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the built site; in strict mode a link that leads nowhere fails."""
    folder = tmp_path_factory.mktemp("manual")
    (folder / "0.0.1").mkdir()  # an earlier release
    words = [sys.executable, str(ROOT / "config/manual/build.py"), str(folder)]
    done = subprocess.run(words, check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def version(site: Path) -> str:
    """Return the name of the version that was built."""
    return next(path.name for path in site.iterdir() if path.is_dir() and path.name != "0.0.1")


class Shown(HTMLParser):
    """What an article shows: its words, how many elements it has of each kind, and its links."""

    def __init__(self, within: str) -> None:
        super().__init__()
        self.within = within
        self.depth = 0 if within else 1
        self.anchor = False
        self.text: list[str] = []
        self.counts = dict.fromkeys(COUNTED, 0)
        self.links: list[str] = []
        self.ids: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Count an element, and note its address and name."""
        values = dict(attrs)
        self.ids.add(values.get("id") or "")
        self.links += [values[name] or "" for name in ("href", "src") if name in values]
        self.depth += tag == self.within
        if self.depth and tag in COUNTED:
            self.counts[tag] += 1
        self.anchor = self.anchor or values.get("class") == "headerlink"

    def handle_endtag(self, tag: str) -> None:
        """Note where a block ends."""
        self.depth -= tag == self.within
        self.anchor = self.anchor and tag != "a"
        if tag in BLOCKS:
            self.text.append(" ")

    def handle_data(self, data: str) -> None:
        """Keep the words of the article, without the signs beside headings."""
        if self.depth and not self.anchor:
            self.text.append(data)


def shown(html: str, within: str = "") -> Shown:
    parser = Shown(within)
    parser.feed(html)
    return parser


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_a_page_has_the_words_and_parts_that_it_has_on_a_forge(
    source: Path, site: Path, version: str
) -> None:
    """A forge reads the files as CommonMark; MkDocs does not."""
    raw = cmarkgfm.github_flavored_markdown_to_html(
        source.read_text(), options=Options.CMARK_OPT_UNSAFE
    )
    there, here = (
        shown(raw),
        shown((site / version / f"{NAMES[source]}.html").read_text(), "article"),
    )
    assert "".join(here.text).split() == "".join(there.text).split()
    assert here.counts == there.counts


def test_each_address_in_the_site_leads_to_a_file_and_a_place_in_it(
    site: Path, version: str
) -> None:
    pages = {path: shown(path.read_text()) for path in (site / version).glob("*.html")}
    assert len(pages) == len(SOURCES) + 1  # and 404.html
    broken = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(urljoin(f"http://site/{version}/{path.name}", link))
            if parts.netloc != "site" or path.name == "404.html":
                continue
            target = site / unquote(parts.path).strip("/")
            anchor = unquote(parts.fragment)
            known = pages[target].ids if target in pages else {anchor}
            if (not target.is_file() and parts.path != f"/{version}/") or anchor not in known | {
                ""
            }:
                broken.append((path.name, link))
    assert broken == []


def accessible(page: Page, name: str) -> None:
    """Assert that axe finds nothing.

    The theme gives each of its copy buttons a landmark of its own, all without a name.
    """
    PICTURES.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=PICTURES / f"{name}.png")
    found = Axe().run(page, options={"rules": {"landmark-unique": {"enabled": False}}})
    assert found.violations_count == 0, found.generate_report()


@contextmanager
def reading(
    chromium: Browser, site: Path, scheme: Literal["light", "dark"], width: int
) -> Iterator[Page]:
    """Open a tab on the site; fail if a script fails, or if it asks anybody else for anything.

    It is without the policy of the server: axe adds styles of its own to the page.
    """
    asked: list[str] = []
    with (
        serve(site) as server,
        closing(
            chromium.new_context(
                base_url=server.origin,
                bypass_csp=True,
                color_scheme=scheme,
                viewport={"width": width, "height": 900},
            )
        ) as context,
        watched_tab(context) as page,
    ):
        page.set_default_timeout(PATIENCE_MS)
        page.on("request", lambda request: asked.append(request.url))
        yield page
        assert len(asked) > 5
        assert [url for url in asked if not url.startswith(f"{server.origin}/")] == []


def test_a_reader_searches_the_site_and_copies_from_it(
    chromium: Browser, site: Path, version: str
) -> None:
    with reading(chromium, site, "light", 1280) as page:
        page.goto(f"/{version}/index.html")
        expect(page.locator(".md-version__current")).to_have_text(version)
        expect(page.locator(".md-version__item")).to_have_count(2)
        expect(page.locator("img[src*=thread-light]")).to_be_visible()
        expect(page.locator("img[src*=thread-dark]")).to_be_hidden()
        expect(page.get_by_title("Copy to clipboard").first).to_be_attached()
        accessible(page, "index-light")
        page.get_by_role("textbox", name="Search").click()
        page.get_by_role("textbox", name="Search").press_sequentially("litestream")
        found = page.locator(".md-search-result__link").first
        expect(found).to_have_attribute("href", re.compile("operating"))


def test_the_site_is_dark_where_the_system_is(chromium: Browser, site: Path, version: str) -> None:
    with reading(chromium, site, "dark", 360) as page:
        page.goto(f"/{version}/index.html")
        expect(page.locator("img[src*=thread-light]")).to_be_hidden()
        expect(page.locator("img[src*=thread-dark]")).to_be_visible()
        page.goto(f"/{version}/hugo.html")
        accessible(page, "hugo-dark")
        assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_the_first_page_leads_to_the_newest_release_that_was_built(
    site: Path, version: str
) -> None:
    listed = [entry["version"] for entry in json.loads((site / "versions.json").read_text())]
    assert listed == (["0.0.1", "dev"] if version == "dev" else [version, "0.0.1"])
    assert f"url={listed[0]}/index.html" in (site / "index.html").read_text()

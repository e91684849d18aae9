"""Pages written for Stacosys: with their own script, and converted to ours by one line.

The pages in stacosys/ have the ids, classes and requests of the blogs that used it, at another
origin than the service.

Stacosys never released client code: no version with a tag (2.0 to 3.3) has any, and no registry has
Stacosys. Its repository had a demo from 2015 to 2018, for version 1. That is under the GPL, so
stacosys/old.js is written anew, and sends what the demo sent to this service in a browser
(REQUESTS).
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Request, expect

from tests.conftest import visit, watched_tab
from tests.e2e.program import Service, serving
from tests.widget.browser import Blog, serve

PAGES = Path(__file__).parent / "stacosys"
OLD = '<script src="/old.js?{service}"></script>'
OURS = '<script type="module" src="{service}/static/old/stacosys.js"></script>'
POST = "/2017/07/post/"
# The requests of the demo: method, path with query, and JSON. It sends "on" for `subscribe` even if
# the box is not checked.
REQUESTS = [
    ("GET", f"/comments/count?token=9fb3fc042c57&url={POST}", None),
    ("GET", f"/comments?token=9fb3fc042c57&url={POST}", None),
    (
        "POST",
        "/comments",
        {
            "token": "9fb3fc042c57",
            "url": POST,
            "author": "Bob",
            "email": "",
            "site": "",
            "captcha": "",
            "subscribe": "on",
            "message": "The second",
        },
    ),
]

Open = Callable[[str, str], Page]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of the old blog; its pages are written when the service has started."""
    folder = tmp_path / "blog"
    folder.mkdir()
    return folder


@pytest.fixture
def blog(folder: Path) -> Iterator[Blog]:
    """Return the old blog."""
    with serve(folder) as blog:
        yield blog


@pytest.fixture
def service(tmp_path: Path, blog: Blog) -> Iterator[Service]:
    """A service in place of Stacosys, with a comment under the post."""
    settings = {
        "COMMENTSVC_MODERATION_POLICY": "none",
        "COMMENTSVC_SPAM_RATE_LIMIT": "off",
        "COMMENTSVC_SITE_ORIGINS": blog.origin,
        "COMMENTSVC_STACOSYS_REDIRECT": f"{blog.origin}/redirect.html",
    }
    with serving(tmp_path / "data", settings) as service:
        blog.service = f"{service.address} 'unsafe-inline'"  # old pages have inline styles
        service.submit(POST, "The *first*", author="Ann", site="https://ann.example")
        yield service


@pytest.fixture
def asked() -> list[Request]:
    """Return a list to which the page adds its requests to the service."""
    return []


@pytest.fixture
def open_(
    service: Service, blog: Blog, folder: Path, chromium: Browser, asked: list[Request]
) -> Iterator[Open]:
    """Open a page with a script, on the old blog."""

    def open_(name: str, script: str) -> Page:
        for file in PAGES.iterdir():
            text = file.read_text().replace("{script}", script)
            (folder / file.name).write_text(text.replace("{service}", service.address))
        (folder / "redirect.html").write_text("<!doctype html><title>Merci</title>")
        page.goto(f"/{name}")
        return page

    def note(request: Request) -> None:
        if request.url.startswith(service.address):
            asked.append(request)

    with visit(chromium, blog.origin) as context, watched_tab(context) as page:
        page.on("request", note)
        yield open_


def test_the_counters_of_an_old_page_are_filled(open_: Open) -> None:
    page = open_("index.html", OLD)
    counters = page.locator(".comments-counter")
    expect(counters.nth(0)).to_have_text("1 commentaires")
    expect(counters.nth(1)).to_have_text("0 commentaires")


def test_the_comments_of_an_old_page_are_shown(open_: Open) -> None:
    page = open_("post.html", OLD)
    page.get_by_text("Voir").click()
    line = page.locator("#stacosys-comments p")
    expect(line).to_contain_text("Ann |  | https://ann.example | 20")
    expect(line).to_contain_text("| The *first*")


def test_a_comment_is_sent_from_an_old_page(
    open_: Open, service: Service, asked: list[Request]
) -> None:
    """With a script, as JSON, which a browser sends to another origin only after a preflight."""
    page = open_("post.html", OLD)
    page.get_by_text("Voir").click()
    expect(page.locator("#stacosys-comments p")).to_have_count(1)
    page.get_by_placeholder("Nom").fill("Bob")
    page.get_by_placeholder("Commentaire").fill("The second")
    page.get_by_text("Envoyer").click()
    page.wait_for_url(f"**/redirect.html?p={POST}")
    assert service.count(POST) == 2
    sent = [
        (each.method, each.url.removeprefix(service.address), each.post_data_json)
        for each in asked
        if each.method != "OPTIONS"
    ]
    assert sent == REQUESTS


def test_a_comment_is_sent_by_the_form_of_version_3(open_: Open, service: Service) -> None:
    page = open_("form.html", "")
    page.get_by_placeholder("Nom").fill("Bob")
    page.get_by_placeholder("Commentaire").fill("By a form alone")
    page.get_by_text("Envoyer").click()
    page.wait_for_url("**/redirect.html")
    assert service.count("/2024/05/post/") == 1


def test_one_line_turns_an_old_list_into_ours(open_: Open) -> None:
    page = open_("index.html", OURS)
    counters = page.locator(".comments-counter comment-count")
    expect(counters.nth(0)).to_have_text("1 comment")
    expect(counters.nth(1)).to_have_text("No comments")
    expect(counters.nth(1)).to_be_visible()


@pytest.mark.parametrize(("name", "url"), [("post.html", POST), ("form.html", "/2024/05/post/")])
def test_one_line_turns_an_old_post_into_ours(
    open_: Open, service: Service, name: str, url: str
) -> None:
    there = service.count(url)
    page = open_(name, OURS)
    page.locator("comment-thread").scroll_into_view_if_needed()
    expect(page.locator(".commentsvc-comment")).to_have_count(there)
    expect(page.locator("section.commentsvc-thread")).to_be_visible()
    expect(page.locator("#comment-form")).to_have_count(0)
    expect(page.locator("#stacosys-comments")).to_have_count(0)
    assert page.locator("comment-thread").get_attribute("url") == url

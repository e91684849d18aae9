"""Isso's published clients, unchanged, in a theme made for Isso, with our service.

The files come from the package of each version; none of them is ours.
"""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.conftest import cannot_run, visit, watched_tab
from tests.e2e.program import ROOT, Service, serving
from tests.widget.browser import Blog, serve

# The package with the clients of the older version; the newer one is installed with the tests.
OLDER = (
    "isso==0.13.0 --hash=sha256:ab514c5ebddd1af8329b13eeaa6ddf90a9a68303603653e7daffb7b89f092834\n"
)
POST = "/2017/07/post/"
ELSEWHERE = "198.51.100.7"  # the address that wrote the comments that exist before
TITLE = "A post of 2017"
OLD_PAGE = """<!doctype html><title>{title}</title><meta charset="utf-8">
<script data-isso="{service}/isso/" {attributes} src="{service}/isso/js/{script}"></script>
<h1>{title}</h1><p><a href="{post}#isso-thread">Comments</a> <a href="/other/#isso-thread">None</a>
<section id="{thread}" data-title="{title}"></section>"""

Open = Callable[..., Page]


@pytest.fixture(scope="session")
def older_client() -> Path:
    """Return the folder of Isso 0.13, which is downloaded once."""
    folder = ROOT / "build" / "isso-0.13"
    if not (folder / "isso").exists():
        folder.mkdir(parents=True, exist_ok=True)
        wanted = folder / "requirements.txt"
        wanted.write_text(OLDER)
        words = ["-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes"]
        words += ["--target", str(folder), "--requirement", str(wanted)]
        done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
        if done.returncode:
            cannot_run(f"Isso 0.13 cannot be fetched: {done.stderr.strip()}")
    return folder / "isso"


@pytest.fixture(params=["0.13", "0.14"])
def client(request: pytest.FixtureRequest) -> Path:
    """Return the folder of a version of Isso."""
    if request.param == "0.13":
        folder: Path = request.getfixturevalue("older_client")
        return folder
    return Path(str(files("isso")))


@pytest.fixture
def blog(client: Path, tmp_path: Path) -> Iterator[Blog]:
    """Return the blog, with Isso's files in the folder that the service leads to."""
    folder = tmp_path / "blog" / "isso-client"
    folder.mkdir(parents=True)
    for name in ("js/embed.min.js", "js/count.min.js", "css/isso.css"):
        (folder / name.partition("/")[2]).write_bytes((client / name).read_bytes())
    with serve(tmp_path / "blog") as blog:
        yield blog


@pytest.fixture
def service(blog: Blog, tmp_path: Path) -> Iterator[Service]:
    """A service in place of Isso, with three comments under the post, and two replies to the first.

    The second reply is a reply to the first one.
    """
    settings = {
        "COMMENTSVC_MODERATION_POLICY": "suspicious",
        "COMMENTSVC_SPAM_RATE_LIMIT": "off",
        "COMMENTSVC_COMMENTS_VOTES": "both",
        "COMMENTSVC_SITE_ORIGINS": blog.origin,
        "COMMENTSVC_SITE_ISSO": "true",
    }
    with serving(tmp_path / "data", settings) as service:
        blog.service = f"{service.address} 'unsafe-inline'"
        first = write(service, "The *first*", author="Ann <b>", email="ann@blog.example")
        write(service, "The second")
        write(service, "The third")
        reply = write(service, "A reply", parent=first)
        write(service, "A reply to the reply", parent=reply)
        yield service


def write(service: Service, message: str, **more: object) -> int:
    """Submit a comment through our own API, from elsewhere; return its id."""
    fields = {"url": POST, "author": "Ben", "message": message, **more}
    answer = service.request(
        "POST",
        "/api/comments",
        json.dumps(fields).encode(),
        Content_Type="application/json",
        X_Forwarded_For=ELSEWHERE,
    )
    assert answer.status == 201, answer
    return int(answer.json()["comment"]["id"])


@pytest.fixture
def open_(service: Service, blog: Blog, tmp_path: Path, chromium: Browser) -> Iterator[Open]:
    """Open a page of the blog with one of Isso's scripts, configured by attributes."""

    def open_(script: str = "embed.min.js", thread: str = "isso-thread", **settings: str) -> Page:
        attributes = " ".join(
            f'data-isso-{name.replace("_", "-")}="{value}"' for name, value in settings.items()
        )
        text = OLD_PAGE.format(
            title=TITLE,
            service=service.address,
            attributes=attributes,
            script=script,
            post=POST,
            thread=thread,
        )
        page_file = tmp_path / "blog" / POST.strip("/") / "index.html"
        page_file.parent.mkdir(parents=True, exist_ok=True)
        page_file.write_text(text)
        page.goto(POST)
        return page

    with visit(chromium, blog.origin) as context, watched_tab(context) as page:
        yield open_


def comment(page: Page, text: str) -> Locator:
    """Return the innermost comment of the page that has the text."""
    return page.locator(".isso-comment[id^=isso-]", has_text=text).last


def write_in(form: Locator, text: str) -> None:
    """Fill in a form of Isso's client and send it."""
    form.locator(".isso-textarea").fill(text)
    form.locator("[name=author]").fill("Cid")
    form.locator("[type=submit]").click()


def texts(service: Service) -> list[str]:
    """Return the texts of the page, as our own clients and those of Stacosys get them."""
    listed = [
        [each["content"] for each in service.request("GET", f"{path}?url={POST}").json()["data"]]
        for path in ("/api/comments", "/comments")
    ]
    assert listed[0] == listed[1]
    return listed[0]


def test_a_theme_made_for_isso_reads_writes_and_votes(open_: Open, service: Service) -> None:
    page = open_(max_comments_top="2", max_comments_nested="1", reveal_on_click="5", vote="true")
    top = page.locator("#isso-root > .isso-comment")
    expect(page.locator(".isso-thread-heading")).to_have_text("5 Comments")
    expect(page.get_by_role("link", name="5 Comments")).to_be_visible()
    expect(page.get_by_role("link", name="0 Comments")).to_be_visible()
    expect(top).to_have_count(2)
    expect(top.first.locator(".isso-follow-up .isso-comment")).to_have_count(1)
    expect(top.first.locator(".isso-author").first).to_have_text("Ann <b>")
    expect(top.first.locator("em")).to_have_text("first")
    top.first.locator(".isso-load-hidden").click()
    expect(top.first.locator(".isso-follow-up .isso-comment")).to_have_count(2)
    page.locator("#isso-root > .isso-comment-loader .isso-load-hidden").click()
    expect(top).to_have_count(3)

    form = page.locator("#isso-thread > .isso-postbox")
    form.locator(".isso-textarea").fill("My **own**")
    form.locator("[name=preview]").click()
    expect(form.locator(".isso-preview strong")).to_have_text("own")
    form.locator("[name=edit]").click()
    write_in(form, "My **own**")
    own = page.locator(f"#{comment(page, 'My own').get_attribute('id')}")
    expect(own.locator("strong")).to_have_text("own")
    assert texts(service)[-1] == "My **own**"

    own.locator(".isso-edit").click()
    expect(own.locator("textarea")).to_have_value("My **own**")
    own.locator("textarea").fill("My changed one")
    own.locator(".isso-edit").click()
    expect(own.locator(".isso-text")).to_have_text("My changed one")
    assert texts(service)[-1] == "My changed one"

    first = top.first
    first.locator(".isso-reply").first.click()
    write_in(first.locator(".isso-postbox"), "My reply")
    expect(first.locator(".isso-follow-up .isso-comment")).to_have_count(3)

    second = top.nth(1)
    second.locator(".isso-upvote").click()
    expect(second.locator(".isso-votes")).to_have_text("1")
    second.locator(".isso-downvote").click()
    with page.expect_response("**/like"):
        own.locator(".isso-upvote").click()
    expect(own.locator(".isso-votes")).to_have_text("0")
    expect(second.locator(".isso-votes")).to_have_text("1")

    own.locator(".isso-delete").click()
    own.locator(".isso-delete").click()
    expect(page.get_by_text("My changed one")).to_have_count(0)
    assert texts(service)[-1] == "My reply"
    page.reload()
    expect(page.locator(".isso-thread-heading")).to_have_text("6 Comments")
    first.locator(".isso-load-hidden").click()
    expect(comment(page, "My reply").locator(".isso-edit")).to_be_visible()
    expect(comment(page, "The second").locator(".isso-edit")).to_have_count(0)


def test_counters_of_isso_are_filled_with_what_does_not_wait(open_: Open, service: Service) -> None:
    page = open_()
    links = " ".join(f"https://{number}.example/" for number in range(9))
    write_in(page.locator("#isso-thread > .isso-postbox"), f"Look at {links}")
    expect(comment(page, "Look at").locator(".isso-note")).not_to_be_empty()
    page = open_("count.min.js", thread="none")
    expect(page.get_by_role("link", name="5 Comments")).to_be_visible()
    expect(page.get_by_role("link", name="0 Comments")).to_be_visible()


@pytest.mark.parametrize("client", ["0.14"], indirect=True)  # the older version has neither
def test_a_page_of_isso_is_sorted_and_marks_its_author(open_: Open, service: Service) -> None:
    listed = service.request("GET", f"/isso/?uri={POST}").json()["replies"]
    page = open_(sorting="newest", page_author_hashes=listed[0]["hash"])
    top = page.locator("#isso-root > .isso-comment")
    expect(top.first).to_contain_text("The third")
    expect(top.last).to_have_class(re.compile("isso-is-page-author"))
    expect(page.locator(".isso-is-page-author")).to_have_count(1)
    link = page.locator(".isso-feedlink a").get_attribute("href")
    assert link == f"{service.address}/isso/feed?uri={POST.replace('/', '%2F')}"

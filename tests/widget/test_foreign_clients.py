"""Published clients of Waline and Artalk, and Disqus' markup, in themes made for them.

The clients come from their packages, unchanged; none of them is ours. The markup is written as the
themes have it that a comment above it names; no registry has these themes.
"""

import hashlib
import json
import socket
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.conftest import cannot_run, visit, watched_tab
from tests.e2e.program import ROOT, Service, serving
from tests.widget.browser import Blog, serve

POST = "/2017/07/post/"
PACKAGES = {
    "waline": (
        "@waline/client@3.13.0",
        "1b65d2519132905522d9da29151013c2ccae2b9886a8f77c298125877b4cc269",
        {"waline.umd.js": "dist/waline.umd.js", "waline.css": "dist/waline.css"},
    ),
    "waline 2": (
        "@waline/client@2.15.8",
        "a7854ee656c82dc59d5618202a7ad4ab01e1237242209ffe9faea84803104d6c",
        {"waline.umd.js": "dist/waline.js", "waline.css": "dist/waline.css"},
    ),
    "artalk": (
        "artalk@2.9.1",
        "509aab22c4cecd68923aa6d471acf48c9abe20324f507965f6ea1deb662acafb",
        {"Artalk.js": "dist/Artalk.iife.js", "Artalk.css": "dist/Artalk.css"},
    ),
}
# As in Stack and NexT: paths, or nothing for the page itself.
WALINE = """<link rel="stylesheet" href="/waline.css"><script src="/waline.umd.js"></script>
<p>Comments: <span class="waline-comment-count" data-path="{post}"></span> and
<span class="waline-comment-count" data-path="/other/"></span>.</p><div id="waline"></div>
<script>Waline.init({{el: "#waline", serverURL: "{service}/waline", lang: "en", emoji: [],
search: false, imageUploader: false, comment: true, path: "{post}", pageSize: 2,
commentSorting: "oldest", login: "disable"}});</script>"""
# As in DoIt: the page is where the script runs, and the element of its count does not name it.
ARTALK = """<link rel="stylesheet" href="/Artalk.css"><script src="/Artalk.js"></script>
<p>Comments: <span class="artalk-comment-count" id="ArtalkCount"></span> and
<span class="artalk-comment-count" data-page-key="/other/"></span>.</p><div id="artalk"></div>
<script>Artalk.init({{el: "#artalk", server: "{service}/artalk", site: "Any name",
flatMode: false}});</script>"""
# As in FixIt and NexT: the page has its full address, and the element of its count has a path.
ARTALK_BY_ADDRESS = """<link rel="stylesheet" href="/Artalk.css"><script src="/Artalk.js"></script>
<span class="artalk-comment-count" data-page-key="{post}">-</span><div id="artalk"></div>
<script>Artalk.init({{el: "#artalk", pageKey: "{origin}{post}", pageTitle: "A post", locale: "en",
server: "{service}/artalk", site: "Any name", flatMode: false}});</script>"""
# As in Icarus (full addresses) and NexT (`path` as the identifier), and an identifier without page.
DISQUS = """<p><a href="{origin}{post}#disqus_thread">Comments</a>
<a href="/other/#disqus_thread"></a>
<span class="disqus-comment-count" data-disqus-url="{post}"></span>
<span class="post-comments-count disqus-comment-count" data-disqus-identifier="2017/07/post/">0
</span><span class="disqus-comment-count" data-disqus-identifier="b1946ac92492">?</span></p>
<script type="module" src="{service}/static/old/disqus-count.js"></script>"""


def client(name: str) -> dict[str, bytes]:
    """Return the files of a client; its package is downloaded once."""
    package, digest, wanted = PACKAGES[name]
    folder = ROOT / "build" / "foreign-clients"
    folder.mkdir(parents=True, exist_ok=True)
    archive = folder / f"{name}.tgz"
    if not archive.exists():
        words = ["npm", "pack", package, "--pack-destination", str(folder), "--json"]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode:
            cannot_run(f"{package} cannot be fetched: {done.stderr.strip()}")
        (folder / json.loads(done.stdout)[0]["filename"]).rename(archive)
    assert hashlib.sha256(archive.read_bytes()).hexdigest() == digest
    files = {}
    with tarfile.open(archive) as tar:
        for as_name, path in wanted.items():
            file = tar.extractfile(f"package/{path}")
            assert file is not None
            files[as_name] = file.read()
    return files


@pytest.fixture
def blog(tmp_path: Path) -> Iterator[Blog]:
    folder = tmp_path / "blog"
    (folder / POST.strip("/")).mkdir(parents=True)
    with serve(folder) as blog:
        yield blog


@pytest.fixture
def service(blog: Blog, tmp_path: Path) -> Iterator[Service]:
    """A service with three comments under the post, and two replies to the first."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    settings = {
        "COMMENTSVC_MODERATION_POLICY": "suspicious",
        "COMMENTSVC_SPAM_RATE_LIMIT": "off",
        "COMMENTSVC_SERVER_PUBLIC_URL": f"http://{address}",
        "COMMENTSVC_SITE_ORIGINS": blog.origin,
        "COMMENTSVC_SITE_WALINE": "true",
        "COMMENTSVC_SITE_ARTALK": "true",
    }
    with serving(tmp_path / "data", settings, listen=address) as service:
        blog.service = f"{service.address} 'unsafe-inline' data:"
        first = write(service, "The *first*", author="Ann <b>")
        write(service, "The second\n\n```\na *b*\n\nc\n```")
        write(service, "The third")
        reply = write(service, "A reply", parent=first)
        write(service, "A reply to the reply", parent=reply)
        write(service, "Elsewhere", url="/other/")
        yield service


def write(service: Service, message: str, **more: object) -> int:
    fields = {"url": POST, "author": "Ben", "message": message, **more}
    body = json.dumps(fields).encode()
    answer = service.request("POST", "/api/comments", body, Content_Type="application/json")
    assert answer.status == 201, answer
    return int(answer.json()["comment"]["id"])


def texts(service: Service) -> list[str]:
    answer = service.request("GET", f"/api/comments?url={POST}").json()
    return [each["content"] for each in answer["data"]]


@pytest.fixture
def page(blog: Blog, service: Service, chromium: Browser) -> Iterator[Page]:
    """A page of the blog; the test fails if it asks for anything from elsewhere."""
    asked = []
    with visit(chromium, blog.origin) as context, watched_tab(context) as page:
        page.on("request", lambda request: asked.append(request.url))
        yield page
    ours = (blog.origin, service.address, "data:", "blob:")
    assert not [url for url in asked if not url.startswith(ours)]


def open_(page: Page, blog: Blog, service: Service, tmp_path: Path, made: tuple[str, str]) -> None:
    """Open a page with the markup of a theme and the files of its client."""
    name, markup = made
    for file, content in client(name).items() if name in PACKAGES else ():
        (tmp_path / "blog" / file).write_bytes(content)
    text = markup.format(service=service.address, origin=blog.origin, post=POST)
    page_file = tmp_path / "blog" / POST.strip("/") / "index.html"
    page_file.write_text(f'<!doctype html><meta charset="utf-8"><title>A post</title>{text}')
    page.goto(POST)


def test_a_theme_made_for_waline_counts_lists_and_posts(
    page: Page, blog: Blog, service: Service, tmp_path: Path
) -> None:
    open_(page, blog, service, tmp_path, ("waline", WALINE))
    expect(page.locator(".waline-comment-count").first).to_have_text("5")
    expect(page.locator(".waline-comment-count").last).to_have_text("1")
    expect(page.locator(".wl-num")).to_have_text("5")
    top = page.locator(".wl-cards > .wl-card-item")
    expect(top).to_have_count(2)
    expect(top.first.locator(".wl-nick").first).to_have_text("Ann <b>")
    expect(top.first.locator(".wl-content em").first).to_have_text("first")
    expect(top.first.locator(".wl-quote .wl-card-item")).to_have_count(2)
    page.get_by_role("button", name="Load More").click()
    expect(top).to_have_count(3)
    page.locator("#wl-nick").fill("Cid")
    page.locator("#wl-mail").fill("cid@blog.example")
    page.locator("#wl-edit").fill("Written *here*")
    page.locator(".wl-btn.primary").click()
    expect(page.locator(".wl-content", has_text="Written here")).to_be_visible()
    assert texts(service)[-1] == "Written *here*"
    top.first.get_by_role("button", name="Reply").first.click()
    page.locator(".wl-card-item #wl-edit").fill("An answer from here")
    page.locator(".wl-card-item .wl-btn.primary").click()
    expect(page.locator(".wl-quote .wl-content", has_text="An answer from here")).to_be_visible()
    listed = service.request("GET", f"/api/comments?url={POST}").json()["data"]
    assert listed[-1]["parent"] is not None


def test_a_theme_made_for_version_2_of_waline_counts_lists_and_posts(
    page: Page, blog: Blog, service: Service, tmp_path: Path
) -> None:
    open_(page, blog, service, tmp_path, ("waline 2", WALINE))
    expect(page.locator(".waline-comment-count").first).to_have_text("5")
    expect(page.locator(".wl-num")).to_have_text("5")
    top = page.locator(".wl-cards > .wl-card-item")
    expect(top).to_have_count(2)
    expect(page.locator(".wl-time").first).not_to_be_empty()
    page.locator("#wl-nick").fill("Cid")
    page.locator("#wl-mail").fill("cid@blog.example")
    page.locator("#wl-edit").fill("Written *here*")
    page.locator(".wl-btn.primary").click()
    expect(page.locator(".wl-content", has_text="Written here")).to_be_visible()
    assert texts(service)[-1] == "Written *here*"


def write_with_artalk(page: Page, service: Service) -> None:
    page.locator(".atk-name").fill("Cid")
    page.locator(".atk-email").fill("cid@blog.example")
    page.locator(".atk-textarea").fill("Written *here*")
    page.locator(".atk-send-btn").click()
    expect(page.locator(".atk-content", has_text="Written here")).to_be_visible()
    assert texts(service)[-1] == "Written *here*"


def test_a_theme_made_for_artalk_counts_lists_and_posts(
    page: Page, blog: Blog, service: Service, tmp_path: Path
) -> None:
    open_(page, blog, service, tmp_path, ("artalk", ARTALK))
    expect(page.locator(".artalk-comment-count").first).to_have_text("5")
    expect(page.locator(".artalk-comment-count").last).to_have_text("1")
    top = page.locator(".atk-list-comments-wrap > .atk-comment-wrap")
    expect(top).to_have_count(3)
    first = top.last
    expect(first.locator(".atk-nick").first).to_have_text("Ann <b>")
    expect(first.locator(".atk-content em").first).to_have_text("first")
    expect(first.locator(".atk-comment-children .atk-comment-wrap")).to_have_count(2)
    expect(top.nth(1).locator("pre")).to_have_text("a *b*\n\nc\n")
    write_with_artalk(page, service)


def test_a_theme_may_name_its_pages_for_artalk_by_their_addresses(
    page: Page, blog: Blog, service: Service, tmp_path: Path
) -> None:
    open_(page, blog, service, tmp_path, ("artalk", ARTALK_BY_ADDRESS))
    expect(page.locator(".artalk-comment-count")).to_have_text("5")
    expect(page.locator(".atk-list-comments-wrap > .atk-comment-wrap")).to_have_count(3)
    write_with_artalk(page, service)


def test_a_theme_made_for_disqus_counts(
    page: Page, blog: Blog, service: Service, tmp_path: Path
) -> None:
    open_(page, blog, service, tmp_path, ("disqus", DISQUS))
    expect(page.locator("a").first).to_have_text("5 comments")
    expect(page.locator("a").last).to_have_text("1 comment")
    expect(page.locator(".disqus-comment-count")).to_have_text(["5 comments", "5 comments", "?"])
    page.evaluate(
        """document.body.append(document.querySelector(".disqus-comment-count").cloneNode(),
        Object.assign(document.createElement("a"), {href: "/2017/07/post/#disqus_thread"}));
        DISQUSWIDGETS.getCount({reset: true})"""
    )
    expect(page.locator("body > .disqus-comment-count")).to_have_text("5 comments")
    expect(page.locator("body > a")).to_have_text("5 comments")

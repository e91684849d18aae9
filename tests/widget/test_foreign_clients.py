"""Published clients of Waline and Artalk, and Disqus' markup, in themes made for them.

The clients come from their packages, unchanged; none of them is ours. The markup is written as the
themes have it that a comment above it names; no registry has these themes.
"""

import hashlib
import json
import re
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Request, expect

from loadtest.harness.running import free_port
from tests.conftest import cannot_run, visit, watched_tab
from tests.e2e.program import ROOT, Service, serving
from tests.widget.browser import Blog, serve

POST = "/2017/07/post/"
ELSEWHERE = {"X_Forwarded_For": "198.51.100.7"}  # who wrote the comments that exist before
# Clients and the checksums of their packages.
PACKAGES = {
    "@waline/client@3.15.2": "d4194a820adf529b33a64df32dd9656cfa810a499a0c9c04035f3d230f852e78",
    "@waline/client@3.5.7": "849e9e224d6b358e1fa4871df5496bde6790ba9183dc2415d891f58fbce45cb0",
    "@waline/client@2.15.8": "a7854ee656c82dc59d5618202a7ad4ab01e1237242209ffe9faea84803104d6c",
    "@waline/client@2.3.1": "fcc3d4080c41ef80e5db7f7a35bd13d3eb3f549d51ece00374e141a48c981bf5",
    "artalk@2.9.1": "509aab22c4cecd68923aa6d471acf48c9abe20324f507965f6ea1deb662acafb",
    "artalk@2.8.7": "c24d8c9fd41aa771833a8e291fdecb8020b1590b4660004fce52ab8a1669e2d0",
}
WALINE = [name for name in PACKAGES if "waline" in name]
ARTALK = [name for name in PACKAGES if "artalk" in name]
CARD = ":is(.wl-card-item, .wl-item)"  # a comment of Waline's versions
COUNTS = """<p>Comments: <span class="waline-comment-count" data-path="{post}"></span> and
<span class="waline-comment-count" data-path="/other/"></span>. Views:
<span class="waline-pageview-count" data-path="{post}"></span> and
<span class="waline-pageview-count" data-path="/other/"></span>.</p><div id="waline"></div>"""
# What themes pass on, and what keeps the client from asking other servers.
OPTIONS = """el: "#waline", serverURL: "{service}/waline", lang: "en", emoji: [], search: false,
pageview: true, comment: true, pageSize: 2"""
# As in Stack, NexT and Butterfly: a script, and the page is where it runs.
WALINE_SCRIPT = f"""<link rel="stylesheet" href="/client/waline.css"><script
src="/client/{{script}}"></script>{COUNTS}<script>Waline.init({{{{{OPTIONS},
commentSorting: "oldest", dark: "html[data-theme='dark']", path: window.location.pathname,
reaction: ["/up.svg", "/down.svg"], wordLimit: 0, requiredMeta: ["nick"]}}}});</script>"""
# As in FixIt: a module, the path without its slash at the end, and old options beside the new.
WALINE_MODULE = f"""<link rel="stylesheet" href="/client/waline.css">{COUNTS}<script type="module">
import {{{{ init }}}} from "/client/{{script}}"; init({{{{{OPTIONS}, path: "{{post}}",
commentSorting: "oldest", login: "disable", meta: ["nick", "mail", "link"], copyright: false,
reaction: ["/up.svg"], imageUploader: false, texRenderer: false}}}});</script>"""
# As in DoIt: the page is where the script runs, and the element of its count does not name it.
ARTALK_BY_LOCATION = """<link rel="stylesheet" href="/artalk-client/Artalk.css">
<script src="/artalk-client/{script}"></script>
<p>Comments: <span class="artalk-comment-count" id="ArtalkCount"></span> and
<span class="artalk-comment-count" data-page-key="/other/"></span>.</p><div id="artalk"></div>
<script>Artalk.init({{el: "#artalk", server: "{service}/artalk", site: "Any name",
useBackendConf: true, emoticons: false, flatMode: false}});</script>"""
# As in FixIt: files of the server, a page with its full address, views, counts by path.
ARTALK_OF_SERVER = """<link rel="stylesheet" href="{service}/artalk/dist/Artalk.css">
<script src="{service}/artalk/dist/{script}"></script>
<span class="artalk-comment-count" data-page-key="{post}">-</span>
<span id="ArtalkPV" class="artalk-pv-count" data-page-key="{origin}{post}">-</span>
<div id="artalk"></div>
<script>Artalk.init({{el: "#artalk", pageKey: "{origin}{post}", pageTitle: "A post", locale: "en",
server: "{service}/artalk", site: "Any name", useBackendConf: true, emoticons: false,
flatMode: false}});</script>"""
# As in Icarus (full addresses) and NexT (`path` as the identifier), and an identifier without page.
DISQUS = """<p><a href="{origin}{post}#disqus_thread">Comments</a>
<a href="/other/#disqus_thread"></a>
<span class="disqus-comment-count" data-disqus-url="{post}"></span>
<span class="post-comments-count disqus-comment-count" data-disqus-identifier="2017/07/post/">0
</span><span class="disqus-comment-count" data-disqus-identifier="b1946ac92492">?</span></p>
<script type="module" src="{service}/static/old/disqus-count.js"></script>"""


def unpack(package: str, folder: Path) -> None:
    """Put the files of a client into `folder`; its package is downloaded once."""
    kept = ROOT / "build" / "foreign-clients"
    kept.mkdir(parents=True, exist_ok=True)
    archive = kept / f"{package.replace('/', '-')}.tgz"
    if not archive.exists():
        words = ["npm", "pack", package, "--pack-destination", str(kept), "--json"]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode:
            cannot_run(f"{package} cannot be fetched: {done.stderr.strip()}")
        (kept / json.loads(done.stdout)[0]["filename"]).rename(archive)
    assert hashlib.sha256(archive.read_bytes()).hexdigest() == PACKAGES[package]
    folder.mkdir()
    with tarfile.open(archive) as tar:
        for member in tar.getmembers():
            path = Path(member.name)
            if path.parent == Path("package/dist") and path.suffix in (".js", ".css"):
                file = tar.extractfile(member)
                assert file is not None
                (folder / path.name).write_bytes(file.read())


@pytest.fixture
def blog(tmp_path: Path) -> Iterator[Blog]:
    folder = tmp_path / "blog"
    (folder / POST.strip("/")).mkdir(parents=True)
    for icon in ("up.svg", "down.svg", "favicon.ico"):
        (folder / icon).write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
    with serve(folder) as blog:
        yield blog


@pytest.fixture
def service(blog: Blog, tmp_path: Path) -> Iterator[Service]:
    """A service with three comments under the post, and two replies to the first."""
    address = f"127.0.0.1:{free_port()}"
    settings = {
        "COMMENTSVC_MODERATION_POLICY": "suspicious",
        "COMMENTSVC_SPAM_RATE_LIMIT": "off",
        "COMMENTSVC_SERVER_PUBLIC_URL": f"http://{address}",
        "COMMENTSVC_SITE_ORIGINS": blog.origin,
        "COMMENTSVC_SITE_WALINE": "true",
        "COMMENTSVC_SITE_ARTALK": "true",
        "COMMENTSVC_SITE_VIEWS": "true",
        "COMMENTSVC_SITE_REACTIONS": "👍,🎉",
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
    body, headers = json.dumps(fields).encode(), {"Content_Type": "application/json", **ELSEWHERE}
    answer = service.request("POST", "/api/comments", body, **headers)
    assert answer.status == 201, answer
    return int(answer.json()["comment"]["id"])


def listed(service: Service) -> list[dict[str, object]]:
    answer = service.request("GET", f"/api/comments?url={POST}").json()
    return list(answer["data"])


@pytest.fixture
def page(blog: Blog, service: Service, chromium: Browser) -> Iterator[Page]:
    """A page of the blog.

    The test fails if the page asks for anything from elsewhere, if a request fails, or if there is
    an error in the browser's log.
    """
    asked: list[str] = []
    failed: list[str] = []
    failures: list[Request] = []
    with visit(chromium, blog.origin) as context, watched_tab(context) as page:
        page.on("request", lambda request: asked.append(request.url))
        page.on("requestfailed", lambda request: failures.append(request))
        page.on("response", lambda each: failed.append(each.url) if each.status >= 400 else None)
        page.on("console", lambda said: failed.append(said.text) if said.type == "error" else None)
        yield page
        page.wait_for_load_state("networkidle")
    ours = (blog.origin, service.address, "data:", "blob:")
    assert not [url for url in asked if not url.startswith(ours)]
    # A picture is not waited for if its comment is drawn anew meanwhile.
    failed += [each.url for each in failures if each.failure != "net::ERR_ABORTED"]
    assert not failed


def open_(page: Page, blog: Blog, service: Service, markup: str, **values: str) -> None:
    """Open a page with the markup of a theme."""
    text = markup.format(service=service.address, origin=blog.origin, post=POST, **values)
    (blog.folder / POST.strip("/") / "index.html").write_text(
        f'<!doctype html><meta charset="utf-8"><title>A post</title>{text}'
    )
    page.goto(POST)


def write_with_waline(page: Page, service: Service) -> None:
    page.locator("#wl-nick").fill("Cid")
    page.locator("#wl-mail").fill("cid@blog.example")
    page.locator("#wl-edit").fill("Written *here*")
    page.locator(".wl-btn.primary").click()
    expect(page.locator(".wl-content", has_text="Written here")).to_be_visible()
    assert listed(service)[-1]["content"] == "Written *here*"


@pytest.mark.parametrize("package", WALINE)
def test_a_theme_made_for_waline_counts_lists_and_posts(
    page: Page, blog: Blog, service: Service, tmp_path: Path, package: str
) -> None:
    unpack(package, tmp_path / "blog" / "client")
    script = "waline.js" if "@2." in package else "waline.umd.js"
    open_(page, blog, service, WALINE_SCRIPT, script=script)
    expect(page.locator(".waline-comment-count")).to_have_text(["5", "1"])
    expect(page.locator(".waline-pageview-count")).to_have_text(["1", "0"])
    expect(page.locator(".wl-num")).to_have_text("5")
    top = page.locator(f".wl-cards > {CARD}")
    expect(top).to_have_count(2)
    page.get_by_role("button", name=re.compile("more", re.I)).click()
    expect(top).to_have_count(3)
    first = top.filter(has_text="Ann <b>")
    expect(first.locator(".wl-nick").first).to_have_text("Ann <b>")
    expect(first.locator(".wl-content em").first).to_have_text("first")
    expect(page.locator(".wl-time").first).not_to_be_empty()
    expect(first.locator(f".wl-quote {CARD}")).to_have_count(2)
    write_with_waline(page, service)
    first.locator(".wl-reply").first.click()
    page.locator(f"{CARD} #wl-edit").fill("An answer from here")
    page.locator(f"{CARD} .wl-btn.primary").click()
    expect(page.locator(".wl-quote .wl-content", has_text="An answer from here")).to_be_visible()
    assert listed(service)[-1]["parent"] is not None


@pytest.mark.parametrize("package", WALINE)
def test_walines_heart_and_reactions_are_votes_and_reactions_that_can_be_taken_back(
    page: Page, blog: Blog, service: Service, tmp_path: Path, package: str
) -> None:
    if package.endswith("@2.3.1"):
        pytest.skip("this version has neither")
    unpack(package, tmp_path / "blog" / "client")
    script = "waline.js" if "@2." in package else "waline.umd.js"
    open_(page, blog, service, WALINE_SCRIPT, script=script)
    heart = page.locator(f".wl-cards > {CARD}").first.locator(".wl-like").first
    thumb = page.locator(".wl-reaction-item").first

    def numbers() -> tuple[object, object]:
        counts = service.request("GET", f"/api/comments/counts?url={POST}&reactions=yes").json()
        return listed(service)[0]["votes"], counts["reactions"][POST]["👍"]

    for number in (1, 0, 1):
        with page.expect_response(lambda each: each.request.method == "PUT"):
            heart.click()
        with page.expect_response(lambda each: each.request.method == "POST"):
            thumb.click()
        expect(thumb.locator(".wl-reaction-votes")).to_have_text(str(number))
        assert numbers() == (number, number)
    page.reload()
    expect(thumb.locator(".wl-reaction-votes")).to_have_text("1")
    expect(heart).to_contain_text("1")


def test_a_theme_may_load_waline_as_a_module(
    page: Page, blog: Blog, service: Service, tmp_path: Path
) -> None:
    unpack(WALINE[0], tmp_path / "blog" / "client")
    open_(page, blog, service, WALINE_MODULE, script="waline.js")
    expect(page.locator(".wl-num")).to_have_text("5")
    expect(page.locator(".waline-pageview-count")).to_have_text(["1", "0"])
    feeds = page.locator(".wl-rss a")
    expect(feeds).to_have_count(2)
    for number in range(2):
        answer = page.request.get(feeds.nth(number).get_attribute("href") or "")
        assert "<feed" in answer.text()
    write_with_waline(page, service)


def write_with_artalk(page: Page, service: Service) -> None:
    page.locator(".atk-header").locator("[name=name], [name=nick]").fill("Cid")
    page.locator(".atk-email").fill("cid@blog.example")
    page.locator(".atk-textarea").fill("Written *here*")
    page.locator(".atk-send-btn").click()
    expect(page.locator(".atk-content", has_text="Written here")).to_be_visible()
    assert listed(service)[-1]["content"] == "Written *here*"


@pytest.mark.parametrize("script", ["Artalk.js", "ArtalkLite.js"])
@pytest.mark.parametrize("package", ARTALK)
def test_a_theme_made_for_artalk_counts_lists_and_posts(
    page: Page, blog: Blog, service: Service, tmp_path: Path, package: str, script: str
) -> None:
    unpack(package, tmp_path / "blog" / "artalk-client")
    open_(page, blog, service, ARTALK_BY_LOCATION, script=script)
    expect(page.locator(".artalk-comment-count").first).to_have_text("5")
    expect(page.locator(".artalk-comment-count").last).to_have_text("1")
    top = page.locator(".atk-list-comments-wrap > .atk-comment-wrap")
    expect(top).to_have_count(3)
    first = top.last
    expect(first.locator(".atk-nick").first).to_have_text("Ann <b>")
    expect(first.locator(".atk-content em").first).to_have_text("first")
    expect(first.locator(".atk-comment-children .atk-comment-wrap")).to_have_count(2)
    expect(top.nth(1).locator("pre")).to_have_text("a *b*\n\nc", use_inner_text=True)
    write_with_artalk(page, service)
    page.reload()  # the client knows its reader now, and asks for notifications
    expect(top).to_have_count(4)
    page.locator("[data-action=open-sidebar]").click()
    expect(page.locator(".atk-sidebar-iframe-wrap iframe")).to_be_attached()


@pytest.mark.parametrize("package", ARTALK)
def test_a_theme_may_load_artalk_from_the_server_and_name_its_pages_by_their_addresses(
    page: Page, blog: Blog, service: Service, tmp_path: Path, package: str
) -> None:
    unpack(package, tmp_path / "blog" / "artalk-client")
    open_(page, blog, service, ARTALK_OF_SERVER, script="Artalk.js")
    expect(page.locator(".artalk-comment-count")).to_have_text("5")
    expect(page.locator("#ArtalkPV")).to_have_text("1")
    top = page.locator(".atk-list-comments-wrap > .atk-comment-wrap")
    expect(top).to_have_count(3)
    vote = top.first.get_by_text("Vote Up").or_(top.first.get_by_text("Up ("))
    with page.expect_response(lambda each: "vote" in each.url):
        vote.first.click()
    assert [each["votes"] for each in listed(service)[:3]] == [0, 0, 1]
    write_with_artalk(page, service)


def test_a_theme_made_for_disqus_counts(page: Page, blog: Blog, service: Service) -> None:
    open_(page, blog, service, DISQUS)
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

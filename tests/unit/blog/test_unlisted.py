"""Pages that the sitemap does not list are asked for; the blog is a local server."""

import asyncio
import dataclasses
import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from msgspec.structs import replace

from commentsvc.blog import sitemap, unlisted
from commentsvc.blog.unlisted import UnlistedPages, forwards
from commentsvc.imports.sources import blog_pages
from commentsvc.imports.sources.blog_pages import SitemapEntry
from commentsvc.model import GONE, MOVED
from commentsvc.moderation import moved_pages
from commentsvc.settings.schema import HooksSettings, Settings, Site
from commentsvc.util.http_client import Fetched
from commentsvc.util.polite_client import PoliteClient
from tests.unit.app_fixture import SETTINGS, Served, served
from tests.unit.database_fixture import add
from tests.unit.other_site import OtherSite, Page, other_site


@pytest.fixture(scope="module")
def server() -> Iterator[OtherSite]:
    with other_site() as site:
        yield site


class Search:
    """A service that searches the blog at `server`."""

    def __init__(self, service: Served, server: OtherSite) -> None:
        self.service = service
        self.server = server
        self.pages = UnlistedPages(service.service)

    def sitemap(self, *paths: str, at: str = "/sitemap.xml", tag: str = "url") -> None:
        entries = (f"<{tag}><loc>{self.server.url(path)}</loc></{tag}>" for path in paths)
        self.server.pages[at] = Page(f"<urlset>{''.join(entries)}</urlset>")

    def run(self, days: int = 1) -> dict[str, str]:
        """Search after some days; return where each page has moved, "" for one that is gone."""
        self.service.now += days * 86_400
        self.server.got.clear()
        asyncio.run(self.pages.search(0))
        read = self.service.database.read_now
        found = [page for state in (MOVED, GONE) for page in read(moved_pages.waiting, None, state)]
        return {page.url: page.target for page in found}

    def asked(self) -> list[str]:
        known = ("/robots.txt", "/sitemap.xml", *self.unknown())
        return [path for path in self.server.asked() if path not in known]

    def unknown(self) -> list[str]:
        """Return the addresses that do not exist, for which the blog was asked."""
        return [path for path in self.server.asked() if re.fullmatch("/[0-9a-f]{16}/", path)]


def settings(server: OtherSite) -> Settings:
    sites = (Site(name="blog", origins=(server.url("").rstrip("/"),)), Site(name="notes"))
    hooks = HooksSettings(allowed_networks=("127.0.0.0/8",))
    return replace(SETTINGS, hooks=hooks, sites=sites)


@pytest.fixture
def search(tmp_path: Path, server: OtherSite) -> Iterator[Search]:
    server.pages.clear()
    with served(tmp_path, settings(server)) as service:
        for url in ("/here/", "/moved/", "/gone/", "/there/"):
            add(service.database, url=url)
        yield Search(service, server)


def test_the_blog_says_where_each_page_is_that_its_sitemap_lacks(
    search: Search, server: OtherSite
) -> None:
    search.sitemap("/here/", "/new/", "/2026/new?b=1&amp;a=2")
    add(search.service.database, url="/old?id=7")
    server.pages["/moved/"] = Page(status=301, headers=(("Location", "/new/#comments"),))
    server.pages["/new/"] = server.pages["/there/"] = Page("<title>Here</title>")
    alias = f'<meta http-equiv="refresh" content="0; url={server.url("/2026/new?a=2&amp;b=1")}">'
    server.pages["/old?id=7"] = Page(f"<!doctype html><head>{alias}")
    assert search.run() == {"/moved/": "/new/", "/old?id=7": "/2026/new?a=2&b=1", "/gone/": ""}
    assert search.asked() == ["/moved/", "/new/", "/gone/", "/there/", "/old?id=7"]


def test_what_redirects_home_is_gone_and_elsewhere_is_not_known(
    search: Search, server: OtherSite
) -> None:
    search.sitemap("/here/", "/")
    for path, target in (("/gone/", "/"), ("/moved/", "/login"), ("/there/", "http://[")):
        server.pages[path] = Page(status=302, headers=(("Location", target),))
    server.pages["/"] = server.pages["/login"] = Page("Welcome")
    assert search.run() == {"/gone/": ""}


def test_a_page_to_which_every_unknown_address_leads_is_no_new_place(
    search: Search, server: OtherSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    search.sitemap("/here/", "/archive/", "/new/")
    for path, target in (("/moved/", "/new/"), ("/gone/", "/archive/"), ("/there/", "/archive/")):
        server.pages[path] = Page(status=302, headers=(("Location", target),))
    server.pages["/archive/"] = server.pages["/new/"] = Page("Welcome")
    anything = Page(status=302, headers=(("Location", "/archive/"),))
    monkeypatch.setattr(server, "otherwise", anything)
    assert search.run() == {"/moved/": "/new/", "/gone/": "", "/there/": ""}
    assert len(search.unknown()) == 1, "it is asked once in a search"


def test_a_chain_of_redirects_leads_to_its_end(search: Search, server: OtherSite) -> None:
    search.sitemap("/here/", "/4/")
    steps = ["/moved/", "/1/", "/2/", "/3/", "/4/"]
    for path, target in itertools.pairwise(steps):
        server.pages[path] = Page(status=301, headers=(("Location", target),))
    server.pages["/4/"] = server.pages["/there/"] = Page("Here")
    server.pages["/gone/"] = Page(status=301, headers=(("Location", "/gone/"),))
    assert search.run() == {"/moved/": "/4/"}, "a circle says nothing"


def test_a_blog_with_a_sitemap_for_each_month_is_read_whole(
    search: Search, server: OtherSite
) -> None:
    months = [f"/sitemap-{number}.xml" for number in range(1, 250)]
    search.sitemap(*months, tag="sitemap")
    for number, name in enumerate(months, 1):
        search.sitemap(f"/{number}/", at=name)
    search.sitemap("/here/", "/there/", "/new/", at=months[-1])
    server.pages["/moved/"] = Page(status=301, headers=(("Location", "/new/"),))
    server.pages["/new/"] = Page("Here")
    assert search.run() == {"/moved/": "/new/", "/gone/": ""}


def test_each_page_is_asked_for_again_after_its_time(search: Search, server: OtherSite) -> None:
    search.sitemap("/here/", "/moved/")
    server.pages["/there/"] = Page("Here")
    assert search.run() == {"/gone/": ""}
    search.run()
    assert search.asked() == ["/gone/"]
    server.pages["/gone/"] = Page("Back")
    assert search.run() == {}
    search.run(days=7)
    assert search.asked() == ["/there/", "/gone/"]


@pytest.mark.parametrize(
    "sitemap",
    [None, Page("<urlset>", status=503), Page("<html>"), Page("<urlset></urlset>"), Page("x" * 99)],
)
def test_without_a_sitemap_nothing_is_said(
    search: Search, server: OtherSite, sitemap: Page | None
) -> None:
    if sitemap:
        server.pages["/sitemap.xml"] = sitemap
    assert search.run() == {}
    assert search.asked() == []


def test_a_sitemap_that_robots_txt_names_is_used(search: Search, server: OtherSite) -> None:
    lines = f"User-agent: *\nDisallow: /gone/\nSitemap: {server.url('/all.xml')}\n"
    server.pages["/robots.txt"] = Page(lines, type="text/plain")
    search.sitemap("/all-1.xml", at="/all.xml", tag="sitemap")
    search.sitemap("/here/", "/there/", at="/all-1.xml")
    assert search.run() == {"/moved/": ""}
    assert "/gone/" not in server.asked(), "robots.txt does not allow it"


def test_a_sitemap_that_is_named_twice_is_read_once(search: Search, server: OtherSite) -> None:
    line = f"Sitemap: {server.url('/map.xml')}\n"
    server.pages["/robots.txt"] = Page(line + line, type="text/plain")
    search.sitemap("/further.xml", at="/map.xml", tag="sitemap")
    search.run()
    assert server.asked().count("/map.xml") == 1


@pytest.mark.parametrize("is_robots", [True, False])
def test_a_sitemap_that_a_blog_names_elsewhere_is_asked_for_on_public_servers_only(
    search: Search, server: OtherSite, *, is_robots: bool
) -> None:
    """What the settings allow for the blog's own address is not allowed for what it names."""
    with other_site("127.0.0.2") as inner:
        secret = inner.url("/sitemap.xml")
        if is_robots:
            server.pages["/robots.txt"] = Page(f"Sitemap: {secret}\n")
        else:
            listed = f"<sitemapindex><sitemap><loc>{secret}</loc></sitemap></sitemapindex>"
            server.pages["/sitemap.xml"] = Page(listed)
        assert search.run() == {}
        assert inner.asked() == []


def test_all_sitemaps_of_a_blog_together_are_bounded(
    search: Search, server: OtherSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unlisted, "SITEMAPS", 3)
    names = [f"/named-{number}.xml" for number in range(5)]
    lines = "".join(f"Sitemap: {server.url(name)}\n" for name in names)
    server.pages["/robots.txt"] = Page(lines, type="text/plain")
    for name in names:
        search.sitemap("/further.xml", at=name, tag="sitemap")
    search.run()
    assert server.asked() == ["/robots.txt", *names[:3]]


def test_a_blog_that_wants_to_be_left_alone_is_asked_no_further(
    search: Search, server: OtherSite
) -> None:
    search.sitemap("/here/")
    server.pages["/gone/"] = Page(status=429)
    search.run()
    assert search.asked() == ["/moved/", "/gone/"]


def test_only_some_pages_are_asked_for_on_one_day(
    search: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unlisted, "AT_ONCE", 2)
    search.sitemap("/here/")
    asked = []
    for _ in range(2):
        search.run()
        asked.append(search.asked())
    assert asked == [["/moved/", "/gone/"], ["/there/", "/moved/"]], "those who waited longest"


def test_a_site_may_not_want_it(search: Search, server: OtherSite) -> None:
    search.sitemap("/here/")
    off = replace(settings(server).sites[0], moved_pages=False)
    unwanted = replace(settings(server), sites=(off,))
    search.pages = UnlistedPages(dataclasses.replace(search.service.service, settings=unwanted))
    assert search.run() == {}
    assert server.asked() == []


@pytest.mark.parametrize(
    ("html", "target"),
    [
        ('<meta http-equiv="refresh" content="0; url=https://b.example/n/?a=1&amp;b=2">',
         "https://b.example/n/?a=1&b=2"),
        ("<META content='0;URL=/new/' HTTP-EQUIV=Refresh>", "/new/"),
        ("<meta http-equiv=refresh content=\"0; url='/new/'\">", "/new/"),
        ('<meta charset=utf-8><meta http-equiv="Refresh" content="0;/new/"/>', ""),
        ('<meta http-equiv="refresh" content="30">', ""),
        ('<meta name="x" content="0; url=/new/">', ""),
        ('<p>&lt;meta http-equiv="refresh" content="0; url=/new/"&gt;', ""),
        ('<meta http-equiv="refresh" content="0; url=/new/"' + "x" * 2_000 + ">", ""),
    ],
)  # fmt: skip
def test_a_page_that_forwards_names_its_target(html: str, target: str) -> None:
    assert forwards(html) == target


def test_a_long_sitemap_lets_others_have_their_turn() -> None:
    entries = [SitemapEntry(f"https://blog.example/{number}/", False, 0) for number in range(5_000)]

    class Blog:
        async def fetch(self, *_: object) -> Fetched:
            return Fetched(200, "application/xml", b"", ())

    async def turns() -> int:
        seen = 0

        async def other() -> None:
            nonlocal seen
            while True:
                seen += 1
                await asyncio.sleep(0)

        running = asyncio.create_task(other())
        found = sitemap.listed(cast("PoliteClient", Blog()), "https://blog.example/sitemap.xml")
        assert (await anext(found)).url == entries[0].url
        before = seen
        assert len([each async for each in found]) == len(entries) - 1
        running.cancel()
        return seen - before

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blog_pages, "parse", lambda *_: entries)
        assert asyncio.run(turns()) >= len(entries) // sitemap.TURN - 1

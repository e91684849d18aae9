"""Posts that the blog's own pages name; the pages and the posts are on a local server."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from commentsvc.blog import sitemap
from commentsvc.db.schema.mentions import FollowedPostTable
from commentsvc.mentions import page_posts
from commentsvc.mentions.page_posts import NamedPost, PostFinder, named_posts
from commentsvc.mentions.poller import PostPoller
from commentsvc.settings.schema import HooksSettings, MentionsSettings, Settings, Site
from commentsvc.util.timestamps import rfc3339
from tests.unit.app_fixture import NOW, SETTINGS, Served, served
from tests.unit.other_site import OtherSite, Page, other_site

POST = "https://mastodon.example/@ann/1"
THREAD = f'<comment-thread url="/wet-wood/" data-social-posts="{POST}"></comment-thread>'


@pytest.fixture(scope="module")
def server() -> Iterator[OtherSite]:
    with other_site() as site:
        yield site


class Reading:
    """A service that reads the pages of a blog at `server`."""

    def __init__(self, service: Served, server: OtherSite) -> None:
        self.service = service
        self.server = server
        self.finder = PostFinder(service.service)

    def read(self, hours: float = 2) -> set[tuple[str, str]]:
        """Read pages after some time; return each page and post that are followed."""
        self.service.now += hours * 3_600
        asyncio.run(self.finder.read_due())
        query = FollowedPostTable.select(FollowedPostTable.url, FollowedPostTable.address)
        return {*self.service.database.read_now(lambda snapshot: snapshot.query(query))}

    def sitemap(self, *paths: str, changed: str = rfc3339(int(NOW) * 1_000)) -> None:
        """Let the blog list its pages."""
        urls = (
            f"<url><loc>{self.server.url(path)}</loc><lastmod>{changed}</lastmod></url>"
            for path in paths
        )
        self.server.pages["/sitemap.xml"] = Page(f"<urlset>{''.join(urls)}</urlset>")


def settings(server: OtherSite) -> Settings:
    site = Site(name="blog", origins=(server.url(""),), social_sitemap=server.url("/sitemap.xml"))
    hooks = HooksSettings(allowed_networks=("127.0.0.0/8",))
    mentions = MentionsSettings(allowed_networks=("127.0.0.0/8",))
    return replace(SETTINGS, hooks=hooks, mentions=mentions, sites=(site, Site(name="notes")))


@pytest.fixture
def reading(tmp_path: Path, server: OtherSite) -> Iterator[Reading]:
    server.pages.clear()
    server.got.clear()
    with served(tmp_path, settings(server)) as service:
        yield Reading(service, server)


@pytest.mark.parametrize(
    ("html", "found"),
    [
        (THREAD, [NamedPost("/wet-wood/", POST)]),
        (f"<comment-thread data-social-posts='{POST}\n{POST}2 {POST}'>", ["", "2"]),
        (f'<head><link href="{POST}" rel="me Syndication">', [""]),
        (f'<template><link href="{POST}" rel="syndication"></template>', []),
        (f"<!-- {THREAD} --><script>'{THREAD}'</script><textarea>{THREAD}</textarea>", []),
        (f"<p>{THREAD.replace('<', '&lt;')}</p><a rel=syndication href='{POST}'>x</a>", []),
        ("<comment-thread data-social-posts='javascript:x /a ftp://a.example/ https:// ,'>", []),
        (
            f"<comment-thread data-social-posts='{' '.join(POST + n for n in '23456789')}'>",
            [*"23456"],
        ),
        ("<comment-thread data-social-posts><link rel=syndication><link>", []),
    ],
)
def test_posts_are_named_by_elements_of_the_page(html: str, found: list[NamedPost | str]) -> None:
    expected = [NamedPost("", POST + each) if isinstance(each, str) else each for each in found]
    assert named_posts(html) == expected


def test_a_post_that_a_page_names_is_followed(reading: Reading, server: OtherSite) -> None:
    reading.sitemap("/wet-wood/", "/other/", "/gone/")
    server.pages["/wet-wood/"] = Page(THREAD.replace(POST, server.url("/@ann/1")))
    server.pages["/other/"] = Page(f'<link rel="syndication" href="{POST}2">')
    server.pages["/gone/"] = Page(THREAD, status=404)
    named = {("/wet-wood/", server.url("/@ann/1")), ("/other/", f"{POST}2")}
    assert reading.read() == named
    server.pages["/api/v1/statuses/1"] = Page('{"favourites_count": 4}', type="application/json")
    account = '{"acct": "rosa", "display_name": "Rosa"}'
    reply = f'{{"id": "2", "visibility": "public", "account": {account}, "content": "It rained"}}'
    server.pages["/api/v1/statuses/1/context"] = Page(f'{{"descendants": [{reply}]}}')
    poller = PostPoller(reading.service.service, reading.service.submissions)
    asyncio.run(poller.poll_due())
    [entry] = reading.service.stored()
    assert (entry.url, entry.comment.author, entry.comment.source) == (
        "/wet-wood/",
        "Rosa",
        "It rained",
    )


def test_what_a_reader_sends_names_no_post(reading: Reading) -> None:
    reading.service.submit(THREAD, url="/wet-wood/")
    reading.service.get(f"/api/comments?url=/wet-wood/&data-social-posts={POST}")
    reading.sitemap("/wet-wood/")
    comments = reading.service.get("/embed/thread?url=/wet-wood/").body
    reading.server.pages["/wet-wood/"] = Page(b"<body>" + comments)
    assert reading.read() == set()
    assert "/wet-wood/" in reading.server.asked()


def test_only_pages_of_the_blog_itself_are_read(reading: Reading, server: OtherSite) -> None:
    with other_site("127.0.0.2") as foreign:
        foreign.pages["/wet-wood/"] = Page(THREAD)
        away = (("Location", foreign.url("/wet-wood/")),)
        server.pages["/away/"] = Page(status=302, headers=away)
        server.pages["/foreign/"] = Page(THREAD.replace("/wet-wood/", foreign.url("/wet-wood/")))
        reading.sitemap("/away/", "/foreign/")
        listed = server.pages["/sitemap.xml"].body
        assert isinstance(listed, str)
        more = (
            f"<url><loc>{foreign.url('/wet-wood/')}</loc></url><url><loc>/x/</loc></url></urlset>"
        )
        server.pages["/sitemap.xml"] = Page(listed.replace("</urlset>", more))
        assert reading.read() == set()
        assert foreign.asked() == [], "nor another private address, where the blog redirects"


def test_pages_are_read_again_and_politely(reading: Reading, server: OtherSite) -> None:
    reading.sitemap("/wet-wood/")
    server.pages["/wet-wood/"] = Page("<p>no thread yet", headers=(("ETag", '"1"'),))
    assert reading.read() == set()
    assert reading.read(0.1) == set()
    assert server.asked().count("/wet-wood/") == 1, "not again at once"
    server.pages["/wet-wood/"] = Page(THREAD)
    assert reading.read(24) == {("/wet-wood/", POST)}
    [_, again] = [fields for _, path, fields, _ in server.got if path == "/wet-wood/"]
    assert again["If-None-Match"] == '"1"'
    server.pages["/wet-wood/"] = Page(status=503, headers=(("Retry-After", "36000"),))
    reading.read(24)
    before = len(server.got)
    reading.read(9)
    assert len(server.got) == before, "ten hours are not over"
    reading.read(2)
    assert len(server.got) > before


def test_old_pages_are_left_alone(reading: Reading, server: OtherSite) -> None:
    reading.sitemap("/wet-wood/", changed="2020-01-02")
    server.pages["/wet-wood/"] = Page(THREAD)
    assert reading.read() == set()
    reading.sitemap("/wet-wood/", changed="2026-11-20")
    assert reading.read() == {("/wet-wood/", POST)}, "it was changed"


def test_one_page_that_fails_holds_up_no_other(reading: Reading, server: OtherSite) -> None:
    reading.sitemap("/robots/", "/wrong/", "/wet-wood/")
    server.pages["/robots.txt"] = Page("User-agent: *\nDisallow: /robots/", type="text/plain")
    server.pages["/wrong/"] = Page(status=500)
    server.pages["/wet-wood/"] = Page(THREAD)
    for _ in range(3):
        followed = reading.read(0.1)
    assert followed == {("/wet-wood/", POST)}
    assert "/robots/" not in server.asked()


def test_an_index_of_sitemaps_is_followed_within_bounds(
    reading: Reading, server: OtherSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sitemap, "SITEMAPS", 3)
    monkeypatch.setattr(page_posts, "PAGES", 2)
    names = ("/sitemap.xml", "/a.xml", "/b.xml", "/c.xml")
    index = "".join(f"<sitemap><loc>{server.url(name)}</loc></sitemap>" for name in names)
    server.pages["/a.xml"] = Page(
        "".join(f"<url><loc>{server.url(f'/{n}/')}</loc></url>" for n in range(9)).join(
            ("<urlset>", "</urlset>")
        )
    )
    server.pages["/b.xml"] = Page("<urlset></urlset>")
    server.pages["/sitemap.xml"] = Page(f"<sitemapindex>{index}</sitemapindex>")
    reading.read()
    assert server.asked().count("/sitemap.xml") == 1
    assert "/c.xml" not in server.asked()
    assert [path for path in server.asked() if path[1:2].isdigit()] == ["/0/", "/1/"]


@pytest.mark.parametrize("sitemap", [b"", b"<html>", b"\xff" * 99, b"<urlset><url>", b"{}"])
def test_a_sitemap_of_no_sense_is_survived(
    reading: Reading, server: OtherSite, sitemap: bytes
) -> None:
    server.pages["/sitemap.xml"] = Page(sitemap)
    assert reading.read() == set()

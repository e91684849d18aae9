"""Finds the posts on social networks that the blog's own pages name.

A page names a post by an attribute of its thread, ``data-social-posts``, or by a
``<link rel="syndication">``. Whoever names a post decides whose replies become comments. So the
service requests the pages itself, at the addresses in the blog's sitemap; what a reader's browser
sends names nothing.
"""

import logging
from html.parser import HTMLParser
from typing import Final, NamedTuple
from urllib.parse import urljoin

from commentsvc.blog import sitemap
from commentsvc.comments.submission import is_site
from commentsvc.context import ServiceContext
from commentsvc.db import background
from commentsvc.imports.records import ImportFailed
from commentsvc.markup.foreign_html import UnreadablePage, sanitized
from commentsvc.mentions import store
from commentsvc.settings.schema import Site
from commentsvc.util.http_client import RemoteError, SettingsClient
from commentsvc.util.polite_client import Disallowed, LeaveAlone, PoliteClient
from commentsvc.util.threads import FOREIGN, run_in
from commentsvc.util.timestamps import DAY_MS

_log = logging.getLogger(__name__)

PAUSE: Final = 1.0  # seconds between two searches for due pages
AT_ONCE: Final = 2  # pages that are read in one search
PAGES: Final = 500  # the most pages of a blog that are read; the last changed ones
PAGE_SIZE: Final = 2_097_152  # bytes
POSTS: Final = 5  # the most posts that a page names
INTERVAL: Final = 4 * store.INTERVAL  # between two readings of a sitemap, or of a new page
YOUNGER: Final = 20  # a page is read again after this fraction of its age: 1/20

_ATTRIBUTES: Final = {"comment-thread": {"data-social-posts", "url"}, "link": {"href", "rel"}}


class NamedPost(NamedTuple):
    """A post that a page names; `url` is that of the thread, "" for the page itself."""

    url: str
    address: str


def named_posts(html: str) -> list[NamedPost]:
    """Return the posts that a page names. Raise UnreadablePage."""
    parser = _Naming()
    known = sanitized(html, {*_ATTRIBUTES}, _ATTRIBUTES)
    parser.feed(known)
    parser.close()
    return [post for post in dict.fromkeys(parser.found) if is_site(post.address)][:POSTS]


class _Naming(HTMLParser):
    """Collects the posts that elements name."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[NamedPost] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "comment-thread":
            addresses = given.get("data-social-posts", "").split()
            self.found += [NamedPost(given.get("url", ""), address) for address in addresses]
        elif "syndication" in given.get("rel", "").lower().split():
            self.found.append(NamedPost("", given.get("href", "").strip()))


class _KnownPage(NamedTuple):
    """A page that is read, by its address: when it changed, its ETag, the time of the next look."""

    changed_at: int
    etag: str
    next_at: int


class _Blog:
    """A site whose pages are read, and what is known of them."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.next_at = 0  # the time of the next look at the sitemap
        self.pages: dict[str, _KnownPage] = {}


class PostFinder:
    """Reads the pages of all sites that have a `social_sitemap`."""

    def __init__(self, service: ServiceContext) -> None:
        settings = service.settings
        self._client = PoliteClient(SettingsClient(settings.hooks.allowed_networks), service.clock)
        self._blogs = [_Blog(site) for site in settings.sites if site.social_sitemap]
        self._sites = service.sites
        self._database = service.database
        self._clock = service.clock

    async def run(self, pause: float = PAUSE) -> None:
        """Read due pages until cancelled."""
        await background.repeat(self.read_due, "the search for posts that pages name", pause)

    async def read_due(self) -> None:
        """Read what is due of each blog: its sitemap, and some of its pages."""
        now = self._clock.now_ms()
        for blog in self._blogs:
            try:
                if blog.next_at <= now:
                    blog.next_at = now + INTERVAL
                    await self._list(blog, now)
                due = [address for address, page in blog.pages.items() if page.next_at <= now]
                for address in due[:AT_ONCE]:
                    await self._read(blog, address, now)
            except (RemoteError, ImportFailed, UnreadablePage) as error:
                _log.info("not all pages of %s can be read: %s", blog.site.name, error)
                if isinstance(error, LeaveAlone) and not isinstance(error, Disallowed):
                    blog.next_at, blog.pages = now + error.pause_ms, {}

    async def _list(self, blog: _Blog, now: int) -> None:
        """Find the young pages of a blog. Raise RemoteError or ImportFailed."""
        changed: dict[str, int] = {}
        async for entry in sitemap.listed(self._client, blog.site.social_sitemap):
            if self._is_ours(entry.url, blog.site):
                changed[entry.url] = entry.changed_at
        since = now - store.FOLLOWED
        young = [url for url, moment in changed.items() if not moment or moment > since]
        young.sort(key=changed.__getitem__, reverse=True)
        found = {}
        for url in young[:PAGES]:
            known = blog.pages.get(url, _KnownPage(changed[url], "", now))
            next_at = known.next_at if known.changed_at == changed[url] else now
            found[url] = _KnownPage(changed[url], known.etag, next_at)
        blog.pages = found

    async def _read(self, blog: _Blog, address: str, now: int) -> None:
        """Follow the posts that a page names. Raise RemoteError or UnreadablePage."""
        known, site = blog.pages[address], blog.site
        next_at = now + max(INTERVAL, min((now - known.changed_at) // YOUNGER, DAY_MS))
        blog.pages[address] = known._replace(next_at=next_at)
        answer = await self._client.fetch(address, "text/html", PAGE_SIZE, known.etag)
        if answer.status == 200 and self._is_ours(answer.url, site):
            html = answer.body.decode(errors="replace")
            for post in await run_in(FOREIGN, named_posts, html):
                page = self._sites.locate_or_none(urljoin(address, post.url), site.name)
                if page:
                    await self._database.write(store.follow, page, post.address, now)
            etag = answer.header("etag")
            blog.pages[address] = _KnownPage(known.changed_at, etag, next_at)

    def _is_ours(self, address: str, site: Site) -> bool:
        is_address = address.startswith(("http://", "https://"))
        return is_address and self._sites.locate_or_none(address, site.name) is not None

"""Finds the pages with comments that the blog does not list any more, and asks it where they are.

A page moves, and its comments seem to be gone. So once a day the pages with comments are compared
with the blog's sitemap. The blog is asked for those that are not in it, slowly and only some on one
day: it redirects from a page that has moved, or has a page there that forwards (as Hugo's aliases
do), and answers 404 or 410 for one that is gone. Many blogs lead from each address that they do not
know to one page; so before a page counts as moved, the blog is asked for one that cannot exist.
`moderation.moved_pages` keeps the answers for the moderators. Nothing moves by itself.
"""

import asyncio
import logging
import re
import secrets
from collections.abc import AsyncIterator, Iterable
from html import unescape
from typing import Final
from urllib.parse import urljoin

from commentsvc.blog import sitemap
from commentsvc.comments.page_urls import Sites
from commentsvc.context import ServiceContext
from commentsvc.db import background
from commentsvc.imports.records import ImportFailed
from commentsvc.model import GONE, MOVED, THERE
from commentsvc.moderation import moved_pages
from commentsvc.moderation.moved_pages import BlogAnswer
from commentsvc.settings.schema import Site
from commentsvc.util.http_client import Fetched, RemoteError, SettingsClient
from commentsvc.util.polite_client import Disallowed, LeaveAlone, PoliteClient
from commentsvc.util.timestamps import DAY_MS

_log = logging.getLogger(__name__)

PAUSE: Final = 86_400.0  # seconds between two searches
BETWEEN: Final = 1.0  # seconds between two requests for pages
AT_ONCE: Final = 200  # pages that are asked for in one search
LISTED: Final = 200_000  # pages of a sitemap; with more, nothing is said about the blog
PAGE_SIZE: Final = 2_097_152  # bytes
HEAD: Final = 16_384  # characters in which a page says that it forwards
AGAIN: Final = 7 * DAY_MS  # milliseconds until a page that is there is asked for again
SITEMAP: Final = "/sitemap.xml"
# The most sitemaps that are read once a day: many blogs have one for each month.
SITEMAPS: Final = 300

_META: Final = re.compile(r"<meta\s[^<>]{1,2000}>", re.IGNORECASE).findall
_REFRESH: Final = re.compile(r"http-equiv\s*=\s*[\"']?\s*refresh\b", re.IGNORECASE).search
_ADDRESS: Final = re.compile(r"[;,\s\"']url\s*=\s*[\"']?([^\"'<>\s]+)", re.IGNORECASE).search


class UnlistedPages:
    """Searches the blogs of all sites, for the leader."""

    def __init__(self, service: ServiceContext) -> None:
        networks = service.settings.hooks.allowed_networks
        self._client = PoliteClient(SettingsClient(networks), service.clock)
        self._service = service

    async def run(self, pause: float = PAUSE) -> None:
        """Search once a day until cancelled."""
        await background.repeat(self.search, "the search for pages that have moved", pause)

    async def search(self, between: float = BETWEEN) -> None:
        """Search each blog once."""
        service = self._service
        for site in service.settings.sites:
            if not (site.origin and site.moved_pages):
                continue
            now = service.clock.now_ms()
            try:
                urls = await listed(self._client, service.sites, site)
            except (RemoteError, ImportFailed) as error:
                _log.info("the sitemap of %s cannot be read: %s", site.name, error)
                continue
            due, back = await service.database.read(
                moved_pages.unlisted, site.name, urls, now, AT_ONCE
            )
            await service.database.write(moved_pages.save, back)
            asking = Asking(self._client, service.sites, site, urls, now)
            async for answer in asking.ask(due, between):
                await service.database.write(moved_pages.save, [answer])


async def listed(client: PoliteClient, sites: Sites, site: Site) -> set[str]:
    """Return the canonical urls of the pages in a blog's sitemap.

    The settings name the sitemap, or the blog's robots.txt, or it has the usual name. Raise
    RemoteError or ImportFailed, also if no page of the site is in it.
    """
    usual = site.origin + SITEMAP
    named = [site.social_sitemap] if site.social_sitemap else await client.sitemaps(usual)
    found: set[str] = set()
    by = site.social_sitemap or usual
    async for entry in sitemap.listed(client, *(named or [usual]), most=SITEMAPS, named_by=by):
        if page := sites.locate_or_none(entry.url, site.name):
            found.add(page.url)
        if len(found) > LISTED:
            raise ImportFailed(f"it lists more than {LISTED} pages")
    if not found:
        raise ImportFailed(f"no page of {site.origin} is in it")
    return found


class Asking:
    """Asks a blog for pages that are not `listed` in its sitemap, at the time `now`."""

    def __init__(
        self, client: PoliteClient, sites: Sites, site: Site, urls: set[str], now: int
    ) -> None:
        self._client = client
        self._sites = sites
        self._site = site
        self._listed = urls
        self._now = now
        self._unknown: str | None = (
            None  # where the blog leads from addresses that it does not know
        )

    async def ask(
        self, pages: Iterable[tuple[int, str]], between: float = BETWEEN
    ) -> AsyncIterator[BlogAnswer]:
        """Yield what the blog answers for each page, given as the id and url of its thread.

        It ends early if the blog wants to be left alone.
        """
        for thread_id, url in pages:
            try:
                answer = await self._client.fetch(self._site.origin + url, "text/html", PAGE_SIZE)
            except RemoteError as error:
                _log.info("%s cannot be read: %s", self._site.origin + url, error)
                if isinstance(error, LeaveAlone) and not isinstance(error, Disallowed):
                    return
                yield BlogAnswer(thread_id, url, THERE, "", self._now + DAY_MS)
            else:
                state, target = self._meaning(answer, url)
                if state == MOVED and target == await self._of_unknown(between):
                    state, target = GONE, ""
                pause = AGAIN if state == THERE else DAY_MS
                yield BlogAnswer(thread_id, url, state, target, self._now + pause)
            await asyncio.sleep(between)

    async def _of_unknown(self, between: float) -> str:
        """Return the url to which the blog leads from an address that does not exist, or ""."""
        if self._unknown is None:
            await asyncio.sleep(between)
            address = f"{self._site.origin}/{secrets.token_hex(8)}/"
            try:
                answer = await self._client.fetch(address, "text/html", PAGE_SIZE)
            except RemoteError:
                self._unknown = ""
            else:
                page = self._sites.locate_or_none(_target(answer), self._site.name)
                self._unknown = page.url if page and answer.status == 200 else ""
        return self._unknown

    def _meaning(self, answer: Fetched, url: str) -> tuple[str, str]:
        """Return what an answer says of the page `url`: a state, and where it has moved."""
        if answer.status != 200:
            return GONE, ""
        name = self._site.name
        page = self._sites.locate_or_none(_target(answer), name)
        if page is None or page.site != name or page.url == url:
            return THERE, ""
        if page.url == "/":  # many blogs send those home who ask for what does not exist
            return GONE, ""
        return (MOVED, page.url) if page.url in self._listed else (THERE, "")


def _target(answer: Fetched) -> str:
    """Return the address where an answer leads."""
    try:
        return urljoin(answer.url, forwards(answer.body[:HEAD].decode(errors="replace")))
    except ValueError:  # it forwards to what is no address
        return answer.url


def forwards(html: str) -> str:
    """Return the address that a page forwards to at once, "" for none."""
    for tag in _META(html):
        if _REFRESH(tag) and (found := _ADDRESS(tag)):
            return unescape(found[1])
    return ""

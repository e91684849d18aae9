"""Asks the blog in which languages it has a page, so that its translations share one thread.

A page names its translations by ``<link rel="alternate" hreflang>``
(https://html.spec.whatwg.org/multipage/links.html#rel-alternate) or by an attribute of its thread,
``data-translations``, pairs of a language and an address. What a reader's browser sends names
nothing: the service requests the pages itself, from the blog alone. As for search engines, two
pages are translations only if each names the other. So nobody can join the comments of others'
pages to theirs, though they write on the same host.
"""

import asyncio
import logging
import re
from html.parser import HTMLParser
from typing import Final, NamedTuple
from urllib.parse import urljoin

from commentsvc.comments.page_urls import Sites
from commentsvc.context import ServiceContext
from commentsvc.db import background
from commentsvc.markup.foreign_html import UnreadablePage, sanitized
from commentsvc.moderation import translations
from commentsvc.moderation.translations import Version
from commentsvc.settings.schema import Site
from commentsvc.util.http_client import RemoteError, SettingsClient
from commentsvc.util.i18n import canonical_tag
from commentsvc.util.polite_client import Disallowed, LeaveAlone, PoliteClient
from commentsvc.util.threads import FOREIGN, run_in
from commentsvc.util.timestamps import DAY_MS

_log = logging.getLogger(__name__)

PAUSE: Final = 30.0  # seconds between two searches for pages that have got their first comment
BETWEEN: Final = 1.0  # seconds between two requests
AT_ONCE: Final = 20  # threads for which a blog is asked in one search
LANGUAGES: Final = 60  # of a page; later ones are left out
PAGE_SIZE: Final = 2_097_152  # bytes
HEAD: Final = 131_072  # characters of a page that are read
READ: Final = 200  # pages that are kept while their translations are asked for
DEFAULT: Final = "x-default"  # the language of the page for all others

_TAGS: Final = {"comment-thread", "link"}
_ATTRIBUTES: Final = {"comment-thread": {"data-translations"}, "link": {"href", "hreflang", "rel"}}
_HTML_LANG: Final = re.compile(
    r"<html\b[^<>]{0,1000}?\slang\s*=\s*[\"']?([A-Za-z0-9-]{1,40})", re.IGNORECASE
).search


def named(html: str) -> list[tuple[str, str]]:
    """Return the language of a page, and those of its translations with their addresses.

    The page itself comes first, without an address. Raise UnreadablePage.
    """
    html = html[:HEAD]
    own = _HTML_LANG(html)
    parser = _Alternates()
    parser.feed(sanitized(html, _TAGS, _ATTRIBUTES))
    parser.close()
    return [(own[1] if own else "", ""), *parser.found[:LANGUAGES]]


class _Alternates(HTMLParser):
    """Collects the translations that elements name."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "comment-thread":
            words = given.get("data-translations", "").split()
            self.found += zip(words[::2], words[1::2], strict=False)
        elif "alternate" in given.get("rel", "").lower().split() and given.get("hreflang"):
            self.found.append((given["hreflang"].strip(), given.get("href", "").strip()))


class _Page(NamedTuple):
    """A page of the blog: the languages of translations, and of itself, by url, in its order.

    `default` is the url of the page for all other languages, "" for none.
    """

    languages: dict[str, str]
    default: str


class TranslationFinder:
    """Asks a blog for the translations of pages. The pause between two requests is in seconds."""

    def __init__(
        self, client: PoliteClient, sites: Sites, site: Site, between: float = BETWEEN
    ) -> None:
        self._client = client
        self._sites = sites
        self._site = site
        self._between = between
        self._known: dict[str, _Page | None] = {}

    async def versions(self, url: str) -> list[Version]:
        """Return the page `url` in each of its languages, the main one first.

        That is the one for all other languages, or that of the site's language, or the first. It is
        empty if the page is not there. Raise RemoteError or UnreadablePage.
        """
        page = await self._page(url)
        if page is None:
            return []
        found = [
            Version(each, lang)
            for each, lang in page.languages.items()
            if each == url or await self._names(each, url)
        ]
        wanted = self._site.language

        def rank(version: Version) -> tuple[bool, bool, bool]:
            lang = version.lang.lower()
            is_near = lang.partition("-")[0] == wanted.lower().partition("-")[0]
            return version.url != page.default, lang != wanted.lower(), not is_near

        return sorted(found, key=rank)

    async def _names(self, url: str, other: str) -> bool:
        """Return whether the page `url` names the other one. Raise LeaveAlone."""
        try:
            page = await self._page(url)
        except (RemoteError, UnreadablePage) as error:
            if isinstance(error, LeaveAlone) and not isinstance(error, Disallowed):
                raise
            _log.info("%s cannot be read: %s", self._site.origin + url, error)
            return False
        return page is not None and other in page.languages

    async def _page(self, url: str) -> _Page | None:
        """Return a page; None if it is not there. Raise RemoteError or UnreadablePage."""
        if url not in self._known:
            if self._known:
                await asyncio.sleep(self._between)
            if len(self._known) >= READ:
                del self._known[next(iter(self._known))]
            self._known[url] = await self._read(url)
        return self._known[url]

    async def _read(self, url: str) -> _Page | None:
        answer = await self._client.fetch(self._site.origin + url, "text/html", PAGE_SIZE)
        if answer.status != 200 or self._locate(answer.url) != url:
            return None
        found = await run_in(FOREIGN, named, answer.body.decode(errors="replace"))
        own, default, languages = found.pop(0)[0], "", dict[str, str]()
        for lang, address in found:
            try:
                other = self._locate(urljoin(answer.url, address))
            except ValueError:  # it is no address
                continue
            if lang.lower() == DEFAULT:
                default = default or other
            elif other and (tag := canonical_tag(lang)):
                languages.setdefault(other, tag)
        languages.setdefault(url, canonical_tag(own))
        return _Page(languages, default)

    def _locate(self, address: str) -> str:
        """Return the canonical url for an address on the blog; "" for others."""
        if not address.startswith(("http://", "https://")):
            return ""
        page = self._sites.locate_or_none(address, self._site.name)
        return page.url if page else ""


class PageTranslations:
    """Asks the blogs of all sites that want it, for the leader."""

    def __init__(self, service: ServiceContext) -> None:
        networks = service.settings.hooks.allowed_networks
        self._client = PoliteClient(SettingsClient(networks), service.clock)
        self._service = service
        self._sites = [site for site in service.settings.sites if site.origin and site.translations]

    async def run(self, pause: float = PAUSE) -> None:
        """Ask until cancelled."""
        await background.repeat(self.search, "the search for translations of pages", pause)

    async def search(self, between: float = BETWEEN) -> None:
        """Ask each blog for the pages that are due, AT_ONCE at most."""
        service = self._service
        for site in self._sites:
            now = service.clock.now_ms()
            due = await service.database.read(translations.due, site.name, now, AT_ONCE)
            asking = TranslationFinder(self._client, service.sites, site, between)
            for number, (thread_id, url) in enumerate(due):
                versions, waiting, pause = [], [thread_id], DAY_MS
                try:
                    versions = await asking.versions(url)
                    pause = translations.AGAIN
                except (RemoteError, UnreadablePage) as error:
                    _log.info("%s cannot be read: %s", site.origin + url, error)
                    if isinstance(error, LeaveAlone) and not isinstance(error, Disallowed):
                        waiting, pause = [each for each, _ in due[number:]], error.pause_ms
                await service.database.write(
                    translations.save, site.name, versions, now, (waiting, now + pause)
                )
                if len(waiting) > 1:
                    break

"""The pages that a blog lists in its sitemap (https://www.sitemaps.org/protocol.html)."""

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from commentsvc.imports.sources import blog_pages
from commentsvc.imports.sources.blog_pages import SitemapEntry
from commentsvc.util.polite_client import PoliteClient
from commentsvc.util.threads import FOREIGN, run_in

SITEMAPS: Final = 20  # the most sitemaps of a blog that are read each hour
SIZE: Final = 8_388_608  # bytes of each
TURN: Final = 500  # entries that are yielded before others get their turn


async def listed(
    client: PoliteClient, *addresses: str, most: int = 0, named_by: str = ""
) -> AsyncIterator[SitemapEntry]:
    """Yield the pages in the sitemaps at `addresses` and in those that these list.

    At most `most` sitemaps are read, SITEMAPS by default. `named_by` is the address that named
    them, if that are not the settings. Raise RemoteError or ImportFailed.
    """
    most = most or SITEMAPS
    waiting = [(url, named_by) for url in [*dict.fromkeys(addresses)][:most]]
    known = {url for url, _ in waiting}
    while waiting:
        url, named_by = waiting.pop(0)
        answer = await client.fetch(url, "application/xml", SIZE, "", named_by)
        entries = await run_in(FOREIGN, blog_pages.parse, answer.body, url)
        for number, entry in enumerate(entries):
            if number % TURN == 0:
                await asyncio.sleep(0)
            if not entry.is_sitemap:
                yield entry
            elif entry.url not in known and len(known) < most:
                known.add(entry.url)
                waiting.append((entry.url, named_by or url))

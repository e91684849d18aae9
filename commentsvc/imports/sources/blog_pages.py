"""The current pages of a blog, from its sitemap, or from the folder of its build.

A sitemap is read as sitemaps.org describes it, compressed or not; sitemaps that it lists are read
too.
"""

import asyncio
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from commentsvc.imports import dates
from commentsvc.imports.records import ImportFailed, InvalidInput
from commentsvc.imports.sources import xml_records
from commentsvc.imports.sources.files import SourceFile
from commentsvc.util.http_client import RemoteError, SettingsClient

SITEMAP: Final = "sitemap.xml"
LIMIT: Final = 50 * 1024 * 1024  # bytes of one sitemap, by sitemaps.org
ENTRIES: Final = 50_000  # of one sitemap, by sitemaps.org
MOST: Final = 1_000  # sitemaps of one blog
_NESTING: Final = {"": frozenset({"url", "sitemap"})}
_INDEX: Final = "index.html"


class SitemapEntry(NamedTuple):
    """A page, or another sitemap; `changed_at` is in Unix milliseconds, 0 if it does not say."""

    url: str
    is_sitemap: bool
    changed_at: int


def read(location: str, client: SettingsClient) -> set[str]:
    """Return the urls of all pages of the blog at `location`.

    `location` is the address or the file of its sitemap, or the folder of its build. Raise
    ImportFailed and OSError.
    """
    folder = Path(location)
    if folder.is_dir():
        found = {each.url for path in folder.rglob(SITEMAP) for each in _entries(SourceFile(path))}
        return found or set(_files(folder))
    pages: set[str] = set()
    waiting, seen = [location], {location}
    while waiting:
        for url, is_sitemap, _ in _sitemap(waiting.pop(), client):
            if not is_sitemap:
                pages.add(url)
            elif url not in seen:
                seen.add(url)
                waiting.append(url)
        if len(seen) > MOST:
            raise ImportFailed(f"{location} lists more than {MOST} sitemaps.")
    return pages


def _files(folder: Path) -> Iterator[str]:
    """Yield the urls of the HTML files in a folder."""
    for path in folder.rglob("*.html"):
        name = path.relative_to(folder).as_posix()
        yield "/" + (name.removesuffix(_INDEX) if path.name == _INDEX else name)


def _sitemap(location: str, client: SettingsClient) -> list[SitemapEntry]:
    """Return the entries of the sitemap at `location`, an address or a file."""
    if "://" not in location:
        return list(_entries(SourceFile(Path(location))))
    try:
        answer = asyncio.run(client.get(location, LIMIT))
    except RemoteError as error:
        raise ImportFailed(f"{location} cannot be read: {str(error).rstrip('.')}.") from error
    if answer.status != 200:
        raise ImportFailed(f"{location} answers with the status {answer.status}, and no sitemap.")
    return parse(answer.body, location)


def parse(content: bytes, location: str) -> list[SitemapEntry]:
    """Return the entries of the sitemap at the address `location`. Raise ImportFailed.

    It may be compressed, and then be small and have more than sitemaps.org allows.
    """
    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        source = SourceFile(Path(file.name))
        source.name = location
        if source.packed:
            source.read_all(LIMIT)
        entries = [*islice(_entries(source), ENTRIES + 1)]
    if len(entries) > ENTRIES:
        raise ImportFailed(f"{location} lists more than {ENTRIES} addresses.")
    return entries


def _entries(source: SourceFile) -> Iterator[SitemapEntry]:
    def refuse(problem: InvalidInput) -> None:
        raise ImportFailed(f"{source.name} is no sitemap: {problem}.")

    for record in xml_records.read(source, _NESTING, refuse):
        if url := record.text("loc"):
            changed_at = dates.moment(record.text("lastmod")) or 0
            yield SitemapEntry(url, record.name == "sitemap", changed_at)

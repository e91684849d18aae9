"""Pages: finds the page here for a url of the source.

The operator's map has priority, then the blog's list of old addresses, then our rules for urls. A
host that is not an origin of a configured site is accepted: previews, old domains and http have
their comments under the same paths, and no comments should be lost. The report lists such hosts.
"""

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from commentsvc.comments.page_urls import Sites, UrlError, canonical
from commentsvc.imports.records import ImportFailed
from commentsvc.imports.staging.staging import Located
from commentsvc.settings.schema import Site
from commentsvc.util.origin import origin

_ABSOLUTE: Final = ("http://", "https://")


class PageFinder:
    """Finds pages for an import into the site `name`; "" means the site of each url."""

    def __init__(self, sites: Sequence[Site], name: str, moved: Mapping[str, str]) -> None:
        """Take the settings' sites, and a map of old urls to new ones. Raise UnknownSiteError."""
        self._sites = Sites(sites)
        self._name = self._sites.named(name) if name else ""
        self._has_origins = any(site.origins for site in sites)
        self._moved = {**{_form(old): new for old, new in moved.items()}, **moved}

    def __call__(self, url: str, site: str = "") -> Located:
        """Return the page for `url`, on the site `site` if that is known."""
        url = self._moved.get(url) or self._moved.get(_form(url)) or url
        if not url:
            return Located("", "", "its page has no address in the file")
        try:
            return Located(*self._sites.locate(url, self._name or site))
        except UrlError as error:
            exact = origin(url.partition("?")[0]) if url.lower().startswith(_ABSOLUTE) else ""
            if not exact or site:
                return Located("", "", f"its page has the address {url[:200]}: {error}")
        return self._by_path(url, exact)

    def _by_path(self, url: str, exact: str) -> Located:
        try:
            other = self._sites.locate(url) if self._name else None
        except UrlError:
            other = None
        if other is not None:
            return Located("", "", f"its page belongs to the site {other.site}")
        path = "/" + url.split("/", 3)[3] if url.count("/") > 2 else "/"
        try:
            page = self._sites.locate(path, self._name)
        except UrlError as error:
            return Located("", "", f"its page has the address {url[:200]}: {error}")
        note = f"pages at {exact} were taken by their path" if self._has_origins else ""
        return Located(*page, note=note)


def _form(url: str) -> str:
    """Return the path of a url in the form in which the map's urls are compared."""
    if url.lower().startswith(_ABSOLUTE):
        url = "/" + url.split("/", 3)[3] if url.count("/") > 2 else "/"
    try:
        return canonical(url, "remove")
    except UrlError:
        return url


def read_map(path: Path) -> dict[str, str]:
    """Read a CSV file of old and new urls. Raise ImportFailed and OSError."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            return dict(_pairs(path.name, csv.reader(file)))
    except (UnicodeDecodeError, csv.Error) as error:
        raise ImportFailed(f"{path.name} is no CSV file in UTF-8: {error}.") from error


def _pairs(name: str, rows: Iterable[Sequence[str]]) -> Iterable[tuple[str, str]]:
    for number, row in enumerate(rows, 1):
        if not any(cell.strip() for cell in row) or row[0].lstrip().startswith("#"):
            continue
        if len(row) != 2:
            raise ImportFailed(
                f"{name}, line {number}: give the old address, a comma, the new one."
            )
        old, new = row[0].strip(), row[1].strip()
        if number > 1 or (old, new) not in (("old", "new"), ("from", "to")):
            yield old, new

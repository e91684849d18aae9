"""Importing aliases: what a blog tells of the old addresses of its pages.

A build of the blog writes a list (that of Hugo is made by `static/hugo`), and whoever runs
the service hands it to a command. Readers' browsers have no part in it: whoever could send an alias
could put one page's comments under another. What follows from the list are orders as a moderator
gives them one by one; they are made for what the database does not have yet, so the same list may
be handed in after each build.

Error: BadList, alone.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from commentsvc.comments import queries, threads
from commentsvc.comments.queries import Thread
from commentsvc.comments.urls import Sites, UrlError
from commentsvc.db.sqlite import Reader
from commentsvc.model import CLOSED
from commentsvc.runtime.control_commands import Alias, Close, Move

# A blog of 20,000 pages with five old addresses each; in bytes.
LIMIT: Final = 16 * 1024 * 1024


class InvalidAliasList(UrlError):
    """This is no list of pages."""


class AliasedPage(msgspec.Struct, frozen=True):
    """A page, the addresses it had, and whether it takes no more comments."""

    url: str
    aliases: tuple[str, ...] = ()
    closed: bool = False


class _List(msgspec.Struct, frozen=True):
    pages: tuple[AliasedPage, ...]


class Clash(msgspec.Struct, frozen=True):
    """There are comments under the page and under its old address: somebody has to decide."""

    site: str
    alias: str
    url: str


_decode = msgspec.json.Decoder(_List).decode


def read(text: bytes) -> tuple[AliasedPage, ...]:
    """Return the pages of a list, JSON of at most `LIMIT` bytes. Raise BadList."""
    if len(text) > LIMIT:
        raise InvalidAliasList(f"The list is larger than {LIMIT} bytes.")
    try:
        return _decode(text).pages
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidAliasList(
            f'This is no list of pages: {error}. It begins with {{"pages": [{{"url":'
            ' "/a/", "aliases": ["/b/"]}]}, and a build with static/hugo writes it.'
        ) from None


def plan(
    reader: Reader, sites: Sites, name: str, pages: Sequence[AliasedPage]
) -> Iterator[Alias | Move | Close | Clash]:
    """Yield what is to be done so that comments are where `pages` says, of the site `name`.

    Pages under which nothing was ever said are left out. Raise UrlError for an address that is
    none of the site's.
    """
    for page in pages:
        site, url = sites.locate(page.url, name)
        here = _talked(reader, site, url)
        for each in page.aliases:
            alias = sites.locate(each, site).url
            there = _talked(reader, site, alias)
            if alias == url or there == here:
                continue
            if there is None:
                yield Alias(site=site, alias=alias, url=url)
            elif here is None and there.url == alias:
                yield Move(site=site, url=alias, to=url)
                here = there
            else:
                yield Clash(site, alias, url)
        if page.closed and here and here.state != CLOSED:
            yield Close(site=site, url=url, state=CLOSED)


def _talked(reader: Reader, site: str, url: str) -> Thread | None:
    """Return the thread that `url` leads to; None where nothing was said under it."""
    thread = queries.thread(reader, site, url)
    return thread if threads.has_comments(reader, thread.id) else None

"""Importing aliases: a blog's list of its pages' old addresses.

A build of the blog writes the list (for Hugo, `static/hugo` does), and the operator passes it to a
command. Readers' browsers cannot send it: whoever could send an alias could move one page's
comments to another. The list becomes commands as a moderator gives them one by one. They are made
only for what the database does not have yet, so the same list can be passed after each build.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from commentsvc.comments import queries
from commentsvc.comments.page_urls import Sites, UrlError
from commentsvc.comments.queries import Thread
from commentsvc.db.connection import Snapshot
from commentsvc.model import CLOSED
from commentsvc.moderation import threads
from commentsvc.runtime.control_commands import Alias, Close, Move

# Bytes of a list: enough for a blog of 20,000 pages with five old addresses each.
LIMIT: Final = 16 * 1024 * 1024


class InvalidAliasList(UrlError):
    """The file is not a list of pages."""


class AliasedPage(msgspec.Struct, frozen=True):
    """A page, its old addresses, and whether it takes no more comments."""

    url: str
    aliases: tuple[str, ...] = ()
    closed: bool = False


class _List(msgspec.Struct, frozen=True):
    pages: tuple[AliasedPage, ...]


class Clash(msgspec.Struct, frozen=True):
    """Both the page and its old address have comments, so somebody has to decide."""

    site: str
    alias: str
    url: str


_decode = msgspec.json.Decoder(_List).decode


def read(text: bytes) -> tuple[AliasedPage, ...]:
    """Return the pages of a list, JSON of at most `LIMIT` bytes. Raise InvalidAliasList."""
    if len(text) > LIMIT:
        raise InvalidAliasList(f"The list is larger than {LIMIT} bytes.")
    try:
        return _decode(text).pages
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidAliasList(
            f'This is not a list of pages: {error}. Such a list begins with {{"pages": [{{"url":'
            ' "/a/", "aliases": ["/b/"]}]}, and a build with static/hugo writes it.'
        ) from None


def plan(
    snapshot: Snapshot, sites: Sites, name: str, pages: Sequence[AliasedPage]
) -> Iterator[Alias | Move | Close | Clash]:
    """Yield the commands that move comments of the site `name` to where `pages` says.

    Pages without comments are left out. Raise UrlError for an address of another site.
    """
    for page in pages:
        site, url = sites.locate(page.url, name)
        here = _with_comments(snapshot, site, url)
        for each in page.aliases:
            alias = sites.locate(each, site).url
            there = _with_comments(snapshot, site, alias)
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


def _with_comments(snapshot: Snapshot, site: str, url: str) -> Thread | None:
    """Return the thread that `url` leads to; None if it has no comments."""
    thread = queries.thread(snapshot, site, url)
    return thread if threads.has_comments(snapshot, thread.id) else None

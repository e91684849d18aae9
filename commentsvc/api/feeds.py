"""Feeds of the newest comments: Atom (RFC 4287), RSS 2.0 and JSON Feed 1.1, from the same data.

The id of an entry is a `urn:uuid` made from the site's name and the comment's id. It stays the same
when the blog moves to another domain, so no reader sees old comments again. A document depends on
the stored data only, since the core caches it until a comment changes. So the feed's `updated` is
that of its newest entry. An empty feed has the date of the comment that it is about, or of the
database: the same on each day, and from each process.

Links are absolute if the site has an origin. Otherwise they are relative, and work only if the feed
is read under the blog's own domain.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from email.utils import format_datetime
from html import escape
from typing import Final
from urllib.parse import urlencode
from uuid import NAMESPACE_URL, uuid5

import msgspec

from commentsvc.api.parameters import LinkQuery, PageOrSiteQuery
from commentsvc.auth.edit_tokens import ReplyFeedWords
from commentsvc.comments import pagination, queries
from commentsvc.comments.page_urls import PageRef
from commentsvc.context import ServiceContext
from commentsvc.db.connection import Snapshot
from commentsvc.db.migrations.upgrade import made_at
from commentsvc.http.messages import ANY_ORIGIN, NO_SNIFFING, HttpError, Request, Response, encode
from commentsvc.http.operation import Content, H, handles
from commentsvc.markup.markdown import absolute
from commentsvc.model import ANCHOR, Entry, site_tag, thread_tag
from commentsvc.util.i18n import ENGLISH, Text, find_language, translate
from commentsvc.util.i18n import gettext as _
from commentsvc.util.templates import Templates
from commentsvc.util.timestamps import rfc3339

# Comments in a feed. A program that reads it once a day misses none of a lively blog.
ENTRIES: Final = 50
REPLIES_FEED: Final = "feed/replies.atom?t="  # and the word of a comment
ATOM: Final = "application/atom+xml"
RSS: Final = "application/rss+xml"
FEED_JSON: Final = "application/feed+json"
JSON_FEED = "https://jsonfeed.org/version/1.1"

# Characters that XML 1.0 does not allow, even as a character reference (section 2.2).
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]").sub


class FeedEntry(msgspec.Struct, frozen=True):
    """A comment in a feed; `page` is its address. Times are Unix milliseconds."""

    id: str
    title: str
    page: str
    author: str
    author_site: str
    role: str
    verified: bool
    permalink: str
    published: int
    updated: int
    html: str
    lang: str


class Feed(msgspec.Struct, frozen=True):
    """The content of a feed in all formats; `page` is the commented page, `address` the feed.

    `address` is "" if the service does not know its own.
    """

    id: str
    title: str
    page: str
    address: str
    updated: int
    entries: list[FeedEntry]


class Source(msgspec.Struct, frozen=True):
    """What a feed is about: a site, its title and origin (or ""), and a page's url, or "" for all.

    `address` is that of the feed itself, "" if it is not known; `language` is the tag of the
    language of its titles. `anchor` is the beginning of the ids of comments' elements on their
    page. `since` is the date of a feed without comments, in Unix milliseconds. `writing` is the
    address of the page from which comments are written as mails, without a query; "" for none.
    """

    site: str
    title: str
    origin: str
    url: str
    address: str = ""
    language: str = ENGLISH
    anchor: str = ANCHOR
    since: int = 0
    writing: str = ""


def make_feed(source: Source, entries: Sequence[Entry]) -> Feed:
    """Return the feed of `entries`, newest first."""
    page = entries[0].title if entries and source.url else ""
    title: Text = source.title
    if source.url:
        title = _("Comments on %(page)s - %(site)s", page=page or source.url, site=source.title)
    made = _as_fit(_entry(source, entry) for entry in entries)
    return Feed(
        id=_id(source.site, "thread " + source.url),
        title=_text(translate(title, source.language)),
        page=_text(source.origin + (source.url or "/")),
        address=_text(source.address),
        updated=max((entry.updated for entry in made), default=source.since),
        entries=made,
    )


def atom(feed: Feed) -> bytes:
    """Return the feed as an Atom document in UTF-8."""
    return _TEMPLATES.render("atom.xml", find_language(ENGLISH), feed=feed).encode()


def rss(feed: Feed) -> bytes:
    """Return the feed as an RSS 2.0 document in UTF-8."""
    return _TEMPLATES.render("rss.xml", find_language(ENGLISH), feed=feed).encode()


def json_feed(feed: Feed) -> bytes:
    """Return the feed as a JSON Feed 1.1."""
    document = {
        "version": JSON_FEED,
        "title": feed.title,
        "home_page_url": feed.page,
        **({"feed_url": feed.address} if feed.address else {}),
        "items": [_json_item(entry) for entry in feed.entries],
    }
    return encode(document)


def _feed(path: str, media_type: str) -> Callable[[H], H]:
    """Declare a handler of a feed in a format; feed readers and analytics add parameters."""
    return handles("GET", path, Content(media_type), ignores_unknown=True, cached=True)


class Feeds:
    """The handlers of the feeds."""

    def __init__(self, service: ServiceContext) -> None:
        settings = service.settings
        self._settings = settings
        self._database = service.database
        self._sites = service.sites
        self._feed_words = ReplyFeedWords(service.keys)
        self._base = settings.server.public_url.rstrip("/")
        self._headers = (
            ("Cache-Control", settings.server.cache_control),
            ANY_ORIGIN,
            NO_SNIFFING,
        )

    @_feed("/feed.atom", ATOM)
    async def atom(self, request: Request, query: PageOrSiteQuery) -> Response:
        """The newest comments of a page or of the whole site, as Atom."""
        return await self._answer(request, query, ATOM, atom)

    @_feed("/feed.rss", RSS)
    async def rss(self, request: Request, query: PageOrSiteQuery) -> Response:
        """The newest comments of a page or of the whole site, as RSS 2.0."""
        return await self._answer(request, query, RSS, rss)

    @_feed("/feed.json", FEED_JSON)
    async def json(self, request: Request, query: PageOrSiteQuery) -> Response:
        """The newest comments of a page or of the whole site, as JSON Feed 1.1."""
        return await self._answer(request, query, FEED_JSON, json_feed)

    @handles(
        "GET",
        "/feed/replies.atom",
        Content(ATOM),
        ignores_unknown=True,
        cached=True,
        errors=(400, 404, 503),
    )
    async def replies(self, request: Request, query: LinkQuery) -> Response:
        """The newest replies to one comment, as Atom, at the address that its author was given.

        `t` came with the answer to the submission.
        """
        number = self._feed_words.read(query.t)

        def work(snapshot: Snapshot) -> tuple[Entry | None, list[Entry]]:
            own = None if number is None else queries.find(snapshot, number)
            return own, queries.replies(snapshot, own.comment.id, ENTRIES) if own else []

        own, entries = await self._database.read_for_public(work)
        source = self._source(own.site, own.url, own.comment.shown_at) if own else None
        if own is None or source is None:
            raise HttpError(404, "not_found", _("There is no such feed."))
        made = make_feed(source, entries)
        link = f"#{source.anchor}{own.comment.id}"
        words = find_language(source.language).widget
        feed = msgspec.structs.replace(
            made,
            id=_id(source.site, f"replies {own.comment.id}"),
            title=_text(f"{words['replies']}: {own.comment.author} - {source.title}"),
            page=made.page + link,
            address=self.address(request.path, t=query.t),
        )
        headers = (("Content-Type", ATOM), *self._headers)
        return Response(200, headers, atom(feed), (thread_tag(own.site, own.url),))

    async def _answer(
        self,
        request: Request,
        query: PageOrSiteQuery,
        media_type: str,
        render: Callable[[Feed], bytes],
    ) -> Response:
        page = self._sites.page_or_site(query.url, query.site)
        source, entries = await self.read(page)
        address = self.address(request.path, url=source.url, site=query.site)
        feed = make_feed(msgspec.structs.replace(source, address=address), entries)
        tag = thread_tag(source.site, source.url) if source.url else site_tag(source.site)
        headers = (("Content-Type", media_type), *self._headers)
        return Response(200, headers, render(feed), (tag,))

    async def read(self, page: PageRef, most: int = 0) -> tuple[Source, list[Entry]]:
        """Return the source of a feed, for a page or the whole site, and its comments.

        There are `most` comments at most, by default ENTRIES.
        """
        site, url = page
        limit = most or ENTRIES
        now_at, entries, since = await self._database.read_for_public(_latest, site, url, limit)
        source = self._source(site, now_at, since)
        assert source is not None, "a page has a configured site"
        return source, entries

    def _source(self, site: str, url: str, since: int) -> Source | None:
        """Return the source of a feed; None if the site is not configured any more."""
        for known in self._settings.sites:
            if known.name == site:
                return Source(
                    site,
                    known.title or site,
                    known.origin,
                    url,
                    language=known.language,
                    since=since,
                    writing=f"{self._base}/mail/write" if known.comments_by_mail else "",
                )
        return None

    def address(self, path: str, **parameters: str) -> str:
        """Return the address of a feed, "" if the service does not know its own."""
        if not self._base:
            return ""
        query = urlencode({name: value for name, value in parameters.items() if value})
        return f"{self._base}{path}{'?' if query else ''}{query}"


def _latest(snapshot: Snapshot, site: str, url: str, limit: int) -> tuple[str, list[Entry], int]:
    """Return the current url of a page ("" for a whole site), the newest comments, and a date."""
    now_at = queries.thread(snapshot, site, url).url if url else ""
    entries = queries.latest(snapshot, site, url or None, limit)
    return now_at, entries, 0 if entries else made_at(snapshot)


def _as_fit(entries: Iterable[FeedEntry]) -> list[FeedEntry]:
    """Return the first entries, at least one, whose HTML has room in an answer once escaped."""
    shown: list[FeedEntry] = []
    room = pagination.TEXTS
    for each in entries:
        room -= len(escape(each.html).encode())
        if room < 0 and shown:
            break
        shown.append(each)
    return shown


def _entry(source: Source, entry: Entry) -> FeedEntry:
    comment = entry.comment
    page = source.origin and source.origin + entry.url
    published = comment.published_at or comment.created_at
    title = _("%(author)s on %(page)s", author=comment.author, page=entry.title or entry.url)
    return FeedEntry(
        id=_id(source.site, f"comment {comment.id}"),
        title=_text(translate(title, source.language)),
        page=_text(f"{source.origin}{entry.url}#{source.anchor}{comment.id}"),
        author=_text(comment.author),
        author_site=_text(comment.site),
        role=comment.role,
        verified=comment.reader_id is not None,
        permalink=_text(comment.permalink),
        published=published,
        updated=comment.edited_at or published,
        html=_text(absolute(comment.html, page)) + _mail_link(source, entry.url),
        lang=comment.lang,
    )


def _mail_link(source: Source, url: str) -> str:
    """Return the link that ends an entry, to write a comment on its page as a mail; "" for none."""
    if not source.writing:
        return ""
    language = find_language(source.language)
    query = {"url": url, "site": source.site, "lang": language.tag}
    address = f"{source.writing}?{urlencode(query)}"
    return f'<p><a href="{escape(address)}">{escape(language.form["byMail"])}</a></p>'


def _json_item(entry: FeedEntry) -> dict[str, object]:
    site = {"url": entry.author_site} if entry.author_site else {}
    return {
        "id": entry.id,
        "url": entry.page,
        "title": entry.title,
        "content_html": entry.html,
        "date_published": rfc3339(entry.published),
        "date_modified": rfc3339(entry.updated),
        "authors": [{"name": entry.author, **site}],
        **({"tags": [tag]} if (tag := entry.role or "verified" * entry.verified) else {}),
        **({"external_url": entry.permalink} if entry.permalink else {}),
        **({"language": entry.lang} if entry.lang else {}),
    }


def _id(site: str, name: str) -> str:
    return f"urn:uuid:{uuid5(NAMESPACE_URL, f'commentsvc {site} {name}')}"


def _text(text: str) -> str:
    return _NOT_XML("", text)


def _rfc822(moment: int) -> str:
    """Return a time (Unix ms) in the format of RSS, such as Fri, 14 Jul 2017 02:41:00 GMT."""
    return format_datetime(datetime.fromtimestamp(moment // 1_000, UTC), usegmt=True)


_TEMPLATES: Final = Templates("feeds", {"rfc3339": rfc3339, "rfc822": _rfc822})

"""Feed: the newest comments as an Atom document (RFC 4287).

DESIGN. An entry's id is a `urn:uuid` made of the site's name and the comment's number: it stays the
same when the blog moves to another domain, so no reader sees old comments again. The document is
a pure function of what is stored, since the core keeps it until a comment changes; hence the
feed's `updated` is that of its newest entry, and an empty feed has the epoch.

Links are absolute where the site has an origin. Without one they are relative, and right only where
the feed is read under the blog's own domain.
"""

import re
from collections.abc import Sequence
from uuid import NAMESPACE_URL, uuid5
from xml.sax.saxutils import escape, quoteattr

import msgspec

from commentsvc.model import Entry
from commentsvc.util.timestamps import rfc3339

# What XML 1.0 cannot hold, even as a character reference (2.2).
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]").sub


class Feed(msgspec.Struct, frozen=True):
    """What a feed is of: a site, its title and origin (or `""`), a page's url or `""` for all."""

    site: str
    title: str
    origin: str
    url: str


def render_feed(feed: Feed, entries: Sequence[Entry]) -> bytes:
    """Give the document for `entries`, newest first, in UTF-8."""
    moments = [_updated(entry) for entry in entries]
    page = entries[0].title if entries and feed.url else ""
    title = f"Comments on {page or feed.url} - {feed.title}" if feed.url else feed.title
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        '<feed xmlns="http://www.w3.org/2005/Atom">',
        f"<title>{_text(title)}</title>",
        f"<id>{_id(feed.site, 'thread ' + feed.url)}</id>",
        f"<updated>{rfc3339(max(moments, default=0))}</updated>",
        f'<link rel="alternate" href={_attribute(feed.origin + (feed.url or "/"))}/>',
        *(_entry(feed, entry) for entry in entries),
        "</feed>\n",
    ]
    return "\n".join(lines).encode()


def _entry(feed: Feed, entry: Entry) -> str:
    comment = entry.comment
    link = f"{feed.origin}{entry.url}#comment-{comment.id}"
    uri = f"<uri>{_text(comment.site)}</uri>" if comment.site else ""
    lines = [
        "<entry>",
        f"<title>{_text(f'{comment.author} on {entry.title or entry.url}')}</title>",
        f"<id>{_id(feed.site, f'comment {comment.id}')}</id>",
        f'<link rel="alternate" href={_attribute(link)}/>',
        f"<author><name>{_text(comment.author)}</name>{uri}</author>",
        f"<published>{rfc3339(comment.published or comment.created)}</published>",
        f"<updated>{rfc3339(_updated(entry))}</updated>",
        f'<content type="html">{_text(comment.html)}</content>',
        "</entry>",
    ]
    return "\n".join(lines)


def _updated(entry: Entry) -> int:
    comment = entry.comment
    return comment.edited or comment.published or comment.created


def _id(site: str, name: str) -> str:
    return f"urn:uuid:{uuid5(NAMESPACE_URL, f'commentsvc {site} {name}')}"


def _text(text: str) -> str:
    return escape(_NOT_XML("", text))


def _attribute(text: str) -> str:
    return quoteattr(_NOT_XML("", text))

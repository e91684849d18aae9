"""Sends webmentions to the pages that an approved comment links to.

The source of a webmention is our page of the comment (`pages.comment_page`). After a change, the
pages to which the comment links, or linked in one of its last texts, are notified again. They fetch
the comment's page, and find it gone after the comment was deleted.
https://www.w3.org/TR/webmention/#sending-webmentions
"""

import contextlib
import re
from collections.abc import AsyncIterator, Iterator
from html import unescape
from itertools import chain, islice
from typing import Final, NamedTuple
from urllib.parse import urlencode

from commentsvc.comments import queries
from commentsvc.comments.page_urls import UrlError
from commentsvc.context import ServiceContext
from commentsvc.db.connection import Snapshot
from commentsvc.db.schema.outbox import OutboxRow
from commentsvc.delivery.channel import TemporaryFailure
from commentsvc.markup.foreign_html import UnreadablePage
from commentsvc.markup.markdown import render
from commentsvc.mentions import html_page
from commentsvc.model import TEXT, Comment
from commentsvc.moderation import history
from commentsvc.util.http_client import RemoteError, StrangerClient
from commentsvc.util.threads import FOREIGN, run_in

PAGE_SIZE: Final = 1_048_576  # bytes of a page that are searched for an endpoint
TARGETS: Final = 20  # the most pages notified about one comment
_HEADERS: Final = {"Content-Type": "application/x-www-form-urlencoded"}
_LINK: Final = re.compile(r"<a href=\"(https?://[^\"]*)\"").findall


class OwnMentions(NamedTuple):
    """The webmentions to send: the page of a comment, and the pages that it links or linked to."""

    source: str
    targets: list[str]


class WebmentionSender:
    """A channel of the outbox."""

    def __init__(self, service: ServiceContext) -> None:
        settings = service.settings
        self._sending = {site.name for site in settings.sites if site.send_webmentions}
        self._client = StrangerClient(settings.mentions.allowed_networks)
        self._base = settings.server.public_url.rstrip("/")
        self._sites = service.sites

    def compose(self, snapshot: Snapshot, row: OutboxRow) -> OwnMentions | None:
        """See `channel.Channel`; return None if the comment was never public or has no links."""
        entry = queries.find(snapshot, row.comment_id or 0)
        if entry is None or entry.site not in self._sending or entry.comment.published_at is None:
            return None
        targets = list(islice(self._linked(snapshot, entry.comment), TARGETS))
        source = f"{self._base}/comment/{entry.comment.id}"
        return OwnMentions(source, targets) if targets else None

    def _linked(self, snapshot: Snapshot, comment: Comment) -> Iterator[str]:
        """Yield the pages of others that a comment, or a former text of it, links to, each once."""
        former = history.last_changes(snapshot, comment.id, TEXT)
        htmls = chain([comment.html], (render(each.old) for each in former))
        links = chain.from_iterable(map(_LINK, htmls))
        seen: set[str] = set()
        for url in map(unescape, links):
            if url not in seen and not self._is_ours(url):
                yield url
            seen.add(url)

    @contextlib.asynccontextmanager
    async def connect(self) -> AsyncIterator["WebmentionSender"]:
        """See `channel.Channel`; each page gets a connection of its own."""
        yield self

    async def send(self, mentions: OwnMentions) -> None:
        """See delivery.Connection. Pages without an endpoint are skipped."""
        failed = []
        for target in mentions.targets:
            try:
                await self._send_webmention(mentions.source, target)
            except UnreadablePage:
                continue
            except RemoteError as error:
                failed.append(f"{target}: {error}")
        if failed:
            raise TemporaryFailure("; ".join(failed))

    async def _send_webmention(self, source: str, target: str) -> None:
        """Send a webmention to a page's endpoint, if any. Raise RemoteError or UnreadablePage."""
        page = await self._client.fetch(target, PAGE_SIZE, {"Accept": "text/html"})
        endpoint = await run_in(FOREIGN, html_page.endpoint, page)
        if endpoint:
            body = urlencode({"source": source, "target": target}).encode()
            answer = await self._client.post(endpoint, body, _HEADERS)
            if answer.status == 429 or answer.status >= 500:
                raise RemoteError(f"its endpoint answers {answer.status}")

    def _is_ours(self, url: str) -> bool:
        try:
            self._sites.locate(url)
        except UrlError:
            return url.startswith(f"{self._base}/")
        return True

"""Fetches the pages that are said to link to ours, and makes comments of what they say.

Pages are fetched with the guarded HTTP client: only from public addresses, and with limits of time
and size. Their text passes all checks of a submission. A later check stores an edit, or deletes the
comment if the page is gone or no longer links to ours. If a page cannot be reached, it is tried
again. Decisions of moderators are kept.
"""

import asyncio
import logging
from functools import partial
from typing import Final

from commentsvc.comments.page_urls import UrlError
from commentsvc.context import ServiceContext
from commentsvc.db import background
from commentsvc.db.connection import Transaction
from commentsvc.db.errors import DatabaseError
from commentsvc.db.schema.mentions import LIKE, REPOST
from commentsvc.errors import CommentsError
from commentsvc.markup.foreign_html import UnreadablePage
from commentsvc.mentions import html_page, store
from commentsvc.mentions.comments import MentionComments, delete_comment
from commentsvc.mentions.html_page import FoundMention
from commentsvc.mentions.store import Mention
from commentsvc.submissions.service import SubmissionService
from commentsvc.util.http_client import RemoteError, StrangerClient
from commentsvc.util.origin import host_of
from commentsvc.util.threads import FOREIGN, run_in
from commentsvc.util.timestamps import DAY_MS, MINUTE_MS

_log = logging.getLogger(__name__)

PAUSE: Final = 1.0  # seconds between two searches for due mentions
AT_ONCE: Final = 8  # pages that are fetched at the same time, each from another host
SOURCE_SIZE: Final = 1_048_576  # bytes of a page
TRIES: Final = 8  # after 1, 2, 4 … minutes
AGAIN: Final = 7 * DAY_MS  # between two checks of a page that links to ours
ACCEPT: Final = {"Accept": "text/html, application/xhtml+xml, application/json;q=0.8, text/*;q=0.5"}


class MentionVerifier:
    """Checks the mentions of all sites."""

    def __init__(self, service: ServiceContext, submissions: SubmissionService) -> None:
        settings = service.settings
        self._client = StrangerClient(settings.mentions.allowed_networks)
        self._sites = service.sites
        self._database = service.database
        self._clock = service.clock
        self._comments = MentionComments(service, submissions)

    async def run(self, pause: float = PAUSE) -> None:
        """Check due mentions until cancelled."""
        await background.repeat(self._check_all_due, "the check of mentions", pause)

    async def _check_all_due(self) -> None:
        while await self.check_due():
            pass

    async def check_due(self) -> int:
        """Check some due mentions, at most one per host; return how many."""
        now = self._clock.now_ms()
        if not self._database.read_now(store.due, now, 1):
            return 0
        # Not only the first few: these may be all of one slow host.
        waiting = await self._database.read(store.due, now, store.MOST_WAITING)
        by_host: dict[str, Mention] = {}
        for mention in waiting:
            by_host.setdefault(host_of(mention.source), mention)
        chosen = list(by_host.values())[:AT_ONCE]
        await asyncio.gather(*map(self._check, chosen))
        return len(chosen)

    async def _check(self, mention: Mention) -> None:
        now = self._clock.now_ms()
        try:
            await self._act(mention, await self._find(mention), now)
        except DatabaseError:
            raise
        except (RemoteError, UnreadablePage, CommentsError) as error:
            _log.info("%s is not taken as a mention: %s", mention.source, error)
            await self._retry_later(mention, now)
        except Exception:  # a bug must not block the other mentions
            _log.exception("%s cannot be taken as a mention", mention.source)
            await self._retry_later(mention, now)

    async def _retry_later(self, mention: Mention, now: int) -> None:
        if mention.attempts < TRIES:
            next_at = now + (MINUTE_MS << mention.attempts)
            await self._database.write(store.retry_at, mention, next_at)
        elif mention.kind:
            await self._database.write(store.retry_at, mention, self._next(mention, now))
        else:
            await self._database.write(store.remove, mention)

    def _next(self, mention: Mention, now: int) -> int | None:
        """Return when to check a page again that links to ours; None for never."""
        return now + AGAIN if now - mention.received_at < store.FOLLOWED else None

    async def _find(self, mention: Mention) -> FoundMention | None:
        """Return what the page says, None if it is gone. Raise RemoteError or UnreadablePage."""
        page = await self._client.fetch(mention.source, SOURCE_SIZE, ACCEPT)
        if page.status in (404, 410):
            return None
        if page.status != 200:
            raise RemoteError(f"its server answers {page.status}")
        return await run_in(FOREIGN, html_page.mention, page, partial(self._leads, mention))

    def _leads(self, mention: Mention, address: str) -> bool:
        """Return whether `address` leads to the page of a mention."""
        if address == mention.target:
            return True
        try:
            page = self._sites.locate(address) if address.startswith("http") else None
        except UrlError:
            return False
        return page == (mention.site, mention.url)

    async def _act(self, mention: Mention, found: FoundMention | None, now: int) -> None:
        """Store the result of a check; None means no link. Raise CommentsError or DatabaseError."""
        if found is None or found.kind in (LIKE, REPOST):
            await self._database.write(self._withdraw, mention, found, now)
        else:
            comment_id = await self._comments.show(mention, found, now)
            next_at = self._next(mention, now)
            await self._database.write(store.conclude, mention, found.kind, comment_id, next_at)

    def _withdraw(
        self, tx: Transaction, mention: Mention, found: FoundMention | None, now: int
    ) -> None:
        """Delete the comment of a mention, if any, since its page no longer contains one."""
        delete_comment(tx, mention, now)
        if found:
            store.conclude(tx, mention, found.kind, None, self._next(mention, now))
        else:
            store.remove(tx, mention)

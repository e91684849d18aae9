"""Pending limit: how many comments of a network per day, and of a site at all, may be pending.

A bot that avoids every spam check can still send more comments than a moderator can read. So the
number of pending comments is limited for each network and day, and for each site. Comments beyond
these limits are refused, to protect the disk and the moderator. Comments that need no approval are
not counted.

The numbers are in memory. That of a site is read once, increased with each comment, and read again
only when the limit is reached, at most every RECOUNT_MS: so a submission costs no query.
"""

from typing import Final, NamedTuple

from commentsvc.db.connection import Snapshot
from commentsvc.db.database import Database
from commentsvc.db.query import Param, Select, literal, prepared
from commentsvc.db.schema.comments import CommentTable, SiteTable
from commentsvc.model import APPROVED, PENDING
from commentsvc.settings.schema import SpamSettings
from commentsvc.util.i18n import Message
from commentsvc.util.i18n import gettext as _
from commentsvc.util.lasting import Lasting
from commentsvc.util.ratelimit import NetworkLimiter

RECOUNT_MS: Final = 10_000
# Pending comments of a site; further ones are refused. Nobody reads so many, and the lists of
# moderators stay fast.
SITE_PENDING: Final = 10_000
SITE_RETRY: Final = 3_600  # seconds until a moderator may have shortened the queue

NETWORK_FULL: Final = _(
    "Too many comments from your network wait for approval. Please try again later."
)
SITE_FULL: Final = _("Too many comments wait for approval here. Please try again later.")


@prepared
def _waiting(site: Param, most: Param) -> Select:
    sites = SiteTable.select(SiteTable.id).where(SiteTable.name == site)
    return (
        CommentTable.select(CommentTable.id)
        .where(
            CommentTable.status == PENDING,
            CommentTable.status != literal(APPROVED),  # lets SQLite use the index of the queue
            CommentTable.site == sites,
        )
        .limit(most)
    )


class Refusal(NamedTuple):
    """A refusal: its reason, for the author, and the seconds until the next try is allowed."""

    text: Message
    retry_after: int


class _Count(NamedTuple):
    """An upper bound for a site's pending comments, and the time when they were counted."""

    number: int
    since_ms: int


class PendingLimit:
    """Limits pending comments as the settings say; without a rate limit there is no limit."""

    def __init__(self, settings: SpamSettings, database: Database, lasting: Lasting) -> None:
        limited = settings.rate_limit != "off"
        self._networks = lasting.get(
            "pending", NetworkLimiter, settings.pending_limit if limited else "off"
        )
        self._most = SITE_PENDING if limited else 0
        self._sites: dict[str, _Count] = {}
        self._database = database

    def take(self, site: str, network: bytes | None, now_ms: int) -> Refusal | None:
        """Count a pending comment of `network` on `site`; return None if it is allowed.

        Without a network it counts only for the site. `now_ms` is monotonic.
        """
        if network is not None and (refusal := self.take_of_network(network, now_ms)):
            return refusal
        if self._most and self._is_full(site, now_ms):
            return Refusal(SITE_FULL, SITE_RETRY)
        return None

    def take_of_network(self, network: bytes, now_ms: int) -> Refusal | None:
        """Count a comment or private note of `network`, which waits; do as `take`."""
        wait = self._networks.take(network, now_ms)
        return Refusal(NETWORK_FULL, wait) if wait else None

    def _is_full(self, site: str, now_ms: int) -> bool:
        """Return whether the site's queue is full; if not, count one more comment."""
        known = self._sites.get(site)
        if known is None or (known.number >= self._most and now_ms - known.since_ms >= RECOUNT_MS):
            number = self._database.read_now(_count, site, self._most)
            known = _Count(number, now_ms)
        full = known.number >= self._most
        self._sites[site] = known if full else known._replace(number=known.number + 1)
        return full


def _count(snapshot: Snapshot, site: str, most: int) -> int:
    return len(snapshot.query(_waiting, site, most))

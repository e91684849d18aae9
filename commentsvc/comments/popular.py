"""The pages with the most comments in a period."""

from typing import Final, Literal, NamedTuple

from peewee import fn

from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.query import Param, Select, literal, prepared
from commentsvc.db.schema.comments import CommentTable, SiteTable, ThreadTable
from commentsvc.model import APPROVED
from commentsvc.util.timestamps import DAY_MS

Period = Literal["day", "week", "month", "year"]

DAYS: Final[dict[Period, int]] = {"day": 1, "week": 7, "month": 30, "year": 365}
# The newest comments that are counted: they take 40 ms, and few sites get more in a year.
COUNTED: Final = 20_000
# The cache tag of answers about periods, which also change at the end of each day (UTC).
TAG: Final = "popular"


class DiscussedPage(NamedTuple):
    """A page and the number of comments that were published there in the period."""

    url: str
    title: str
    comments: int


@prepared
def find_popular(site: Param, since: Param, most: Param) -> Select:
    newest = (
        CommentTable.select(CommentTable.thread)
        .where(
            CommentTable.site == SiteTable.select(SiteTable.id).where(SiteTable.name == site),
            CommentTable.status == literal(APPROVED),
            CommentTable.published_at >= since,
        )
        .order_by(CommentTable.published_at.desc())
        .limit(COUNTED)
        .alias("some")
    )
    count = fn.COUNT(newest.c.thread_id)
    return (
        newest.select_from(ThreadTable.url, ThreadTable.title, count)
        .join(ThreadTable, on=ThreadTable.id == newest.c.thread_id)
        .group_by(ThreadTable.id, ThreadTable.url, ThreadTable.title)
        .order_by(count.desc(), ThreadTable.id.desc())
        .limit(most)
    )


def popular(
    snapshot: Snapshot, site: str, period: Period, now: int, most: int
) -> list[DiscussedPage]:
    """Return the pages of a site with the most comments in the period that ends today (UTC).

    `now` is in Unix milliseconds. At most `most` pages are returned; only the newest COUNTED
    comments are counted.
    """
    today = now - now % DAY_MS
    since = today - (DAYS[period] - 1) * DAY_MS
    return [DiscussedPage(*row) for row in snapshot.query(find_popular, site, since, most)]


def forget_yesterday(tx: Transaction) -> None:
    """Purge the cached answers about periods after the end of a day."""
    tx.purge(TAG)

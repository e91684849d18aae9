"""The pages that were commented on most in a period of time."""

from typing import Final, Literal, NamedTuple

from peewee import fn

from commentsvc.db.query import Param, Select, literal, prepared
from commentsvc.db.schema.comments import CommentTable, SiteTable, ThreadTable
from commentsvc.db.sqlite import Reader, Transaction
from commentsvc.model import APPROVED
from commentsvc.util.timestamps import DAY_MS

Period = Literal["day", "week", "month", "year"]

DAYS: Final[dict[Period, int]] = {"day": 1, "week": 7, "month": 30, "year": 365}
# Comments that are looked at, the newest ones: 40 ms, and more than nearly all sites get in a year.
COUNTED: Final = 20_000
# What answers about a period are tagged with: they change at the end of each day (UTC), too.
TAG: Final = "popular"


class DiscussedPage(NamedTuple):
    """A page, and how many comments were published there in the period."""

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


def popular(reader: Reader, site: str, period: Period, now: int, most: int) -> list[DiscussedPage]:
    """Return the pages of a site with the most comments of the period that ends today.

    `now` is in Unix milliseconds. At most `most` pages; only the newest COUNTED comments count.
    """
    today = now - now % DAY_MS
    since = today - (DAYS[period] - 1) * DAY_MS
    return [DiscussedPage(*row) for row in reader.query(find_popular, site, since, most)]


def forget_yesterday(tx: Transaction) -> None:
    """Purge the answers about periods, after the end of a day."""
    tx.purge(TAG)

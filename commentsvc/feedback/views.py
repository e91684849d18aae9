"""Page views: how often each page was opened, with nothing that tells readers apart.

`ViewCounter` counts in memory and adds its numbers to the rows of the pages once a minute. So a
view costs no write of its own, several instances count together, and a process that is killed loses
the views of the last minute. Only then do answers with views change.

Anybody can name any address. So there are bounds for the pages that are counted between two writes
and for those that are stored; of the stored ones, those with the fewest views are removed. The list
of the most viewed pages has only those with an approved comment, or with a title, which moderators
may give: a stranger writes nothing into it, and moderators can clean it.
"""

import itertools
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Final, NamedTuple

from peewee import fn

from commentsvc.comments import queries
from commentsvc.comments.create import ThreadRef
from commentsvc.comments.page_urls import PageRef
from commentsvc.db import background
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.database import Database
from commentsvc.db.errors import DatabaseError
from commentsvc.db.query import Param, Select, literal, prepared
from commentsvc.db.schema.comments import CommentTable, PageViewTable, SiteTable, ThreadTable
from commentsvc.model import APPROVED, views_tag

PAUSE: Final = 60.0  # seconds between two writes
COUNTED: Final = 4_096  # different pages between two writes
STORED: Final = 20_000  # pages of a site
PIECE: Final = 200  # pages that are written in one go: up to 20 ms


class PageWithViews(NamedTuple):
    """A page and how often it was viewed; `title` is "" if no comment gave it one."""

    url: str
    title: str
    views: int


@prepared
def find_views(site: Param, url: Param) -> Select:
    found = PageViewTable.select(PageViewTable.views).join(SiteTable)
    return found.where(SiteTable.name == site, PageViewTable.url == url)


@prepared
def find_viewed(site: Param, most: Param) -> Select:
    """Return the query for known pages: with an approved comment, or a title."""
    is_its = (ThreadTable.site == PageViewTable.site) & (ThreadTable.url == PageViewTable.url)
    approved = CommentTable.select(CommentTable.id).where(
        CommentTable.thread == ThreadTable.id, CommentTable.status == literal(APPROVED)
    )
    return (
        PageViewTable.select(PageViewTable.url, ThreadTable.title, PageViewTable.views)
        .join(ThreadTable, on=is_its)
        .where(_of(site), (ThreadTable.title != "") | fn.EXISTS(approved))
        .order_by(PageViewTable.views.desc(), PageViewTable.id.desc())
        .limit(most)
    )


def _of(site: object) -> Select:
    """Return the condition that a page is one of the site of that name."""
    return PageViewTable.site == SiteTable.select(SiteTable.id).where(SiteTable.name == site)


@prepared
def _add(site: Param, url: Param, more: Param) -> Select:
    row = SiteTable.select(SiteTable.id, url, more).where(SiteTable.name == site)
    into = (PageViewTable.site, PageViewTable.url, PageViewTable.views)
    return PageViewTable.insert_from(row, into).on_conflict(
        conflict_target=[PageViewTable.site, PageViewTable.url],
        update={PageViewTable.views: PageViewTable.views + more},
    )


@prepared
def _number(site: Param) -> Select:
    return PageViewTable.select(fn.COUNT(PageViewTable.id)).where(_of(site))


@prepared
def _least(site: Param, number: Param) -> Select:
    ids = PageViewTable.select(PageViewTable.id).where(_of(site))
    return ids.order_by(PageViewTable.views, PageViewTable.id).limit(number)


@prepared
def _drop(row_id: Param) -> Select:
    return PageViewTable.delete().where(PageViewTable.id == row_id)


def _clear(site_id: int, url: str) -> Select:
    return PageViewTable.delete().where(PageViewTable.site == site_id, PageViewTable.url == url)


def views(snapshot: Snapshot, site: str, url: str) -> int:
    """Return how often the page of a canonical url was viewed."""
    row = snapshot.first(find_views, site, url)
    return int(row[0]) if row else 0


def most_viewed(snapshot: Snapshot, site: str, most: int) -> list[PageWithViews]:
    """Return the pages of a site that were viewed most often, at most `most`."""
    return [PageWithViews(*row) for row in snapshot.query(find_viewed, site, most)]


def add(tx: Transaction, counted: Mapping[PageRef, int]) -> None:
    """Add to the views of pages, whose urls may be aliases."""
    for (site, url), number in counted.items():
        tx.change(_add, site, queries.thread(tx, site, url).url, number)
    for site in {page.site for page in counted}:
        [(pages,)] = tx.query(_number, site)
        if pages > STORED:
            tx.change_each(_drop, tx.query(_least, site, pages - STORED))
        tx.purge(views_tag(site))


def move(tx: Transaction, ref: ThreadRef, source: str, target: str) -> None:
    """Add the views of the url `source` to those of `target`; both are of the site of `ref`."""
    if number := views(tx, ref.site, source):
        tx.change(_clear(ref.site_id, source))
        tx.change(_add, ref.site, target, number)
        tx.purge(views_tag(ref.site))


def remove(tx: Transaction, ref: ThreadRef) -> None:
    """Set the views of a page to zero."""
    tx.change(_clear(ref.site_id, ref.url))
    tx.purge(views_tag(ref.site))


class ViewCounter:
    """Counts views in memory, and writes them from time to time."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._counted: dict[PageRef, int] = {}

    def go_on(self, former: "ViewCounter") -> None:
        """Go on with the numbers of a former one."""
        self._counted = former._counted

    def add(self, page: PageRef) -> None:
        """Count a view of a page, unless there are too many other pages."""
        if page in self._counted or len(self._counted) < COUNTED:
            self._counted[page] = self._counted.get(page, 0) + 1

    async def run(self, pause: float = PAUSE) -> None:
        """Store the views every `pause` seconds until cancelled."""
        await background.repeat(self.store, "the count of page views", pause)

    async def store(self) -> None:
        """Store the views. If the database fails, which is logged elsewhere, keep them."""
        with suppress(DatabaseError):
            while batch := dict(itertools.islice(self._counted.items(), PIECE)):
                self._take(batch)
                try:
                    await self._database.write(add, batch)
                except DatabaseError:
                    for page, number in batch.items():
                        self._counted[page] = self._counted.get(page, 0) + number
                    raise

    def _take(self, pages: Iterable[PageRef]) -> None:
        for page in pages:
            del self._counted[page]

"""What can be done with comments: sync functions for `Database.write` and `Database.read`.

DESIGN. Counts are changed by the very transaction that changes what is counted, here and in
`adding`, which stores submissions, and nowhere else.

    CommentsError
      UnknownSite      no site of that name is configured (see `adding`)
      UnknownParent    the comment answered to is not in this thread, or was deleted (see `adding`)
      KeyConflict      the key was used before, for other content (see `adding`)
    BadCursor          `after` was not made by `page`, or for another order (see `cursor`)
"""

from collections.abc import Iterable

import msgspec
import peewee

from commentsvc import cursor, statements
from commentsvc.adding import ADD as ADD
from commentsvc.adding import Added as Added
from commentsvc.adding import CommentsError as CommentsError
from commentsvc.adding import KeyConflict as KeyConflict
from commentsvc.adding import NewComment as NewComment
from commentsvc.adding import UnknownParent as UnknownParent
from commentsvc.adding import UnknownSite as UnknownSite
from commentsvc.adding import add as add
from commentsvc.audit import check as check
from commentsvc.cursor import BadCursor as BadCursor
from commentsvc.cursor import Sort
from commentsvc.models import (
    APPROVED,
    PENDING,
    Comment,
    CommentTable,
    Entry,
)
from commentsvc.sqlite import Reader, Row, Transaction


class Page(msgspec.Struct, frozen=True):
    """A piece of a list, the thread's whole count, and the cursor of the next piece if any."""

    items: list[Comment]
    count: int
    next: str | None


def sync_sites(tx: Transaction, names: Iterable[str]) -> None:
    """Make rows for the sites that have none; those no longer configured keep theirs."""
    for name in names:
        tx.execute("INSERT INTO site (name) VALUES (?) ON CONFLICT (name) DO NOTHING", (name,))


def pending_ids(reader: Reader) -> list[int]:
    """The ids of the comments in the queue, oldest first."""
    query = CommentTable.select(CommentTable.id).where(
        CommentTable.status == PENDING, peewee.SQL("status <> 'approved'")
    )
    return [row[0] for row in reader.query(query.order_by(CommentTable.id))]


def count(reader: Reader, site: str, url: str) -> int:
    """The number of approved comments under a page; 0 for one we never heard of."""
    row = reader.execute(statements.COUNT, (site, url)).fetchone()
    return row[0] if row else 0


def site_count(reader: Reader, site: str) -> int:
    """The number of approved comments of a whole site."""
    row = reader.execute(statements.SITE_COUNT, (site,)).fetchone()
    return row[0] if row else 0


def page(reader: Reader, site: str, url: str, sort: Sort, limit: int, after: str | None) -> Page:
    """At most `limit` approved comments of a thread, those behind the cursor `after` if given.

    An unknown page has no comments. Raises BadCursor.
    """
    place = cursor.decode(sort, after)
    head = reader.execute(statements.COUNT, (site, url)).fetchone()
    if head is None:
        return Page([], 0, None)
    in_all, thread_id = head
    rows = reader.execute(statements.LIST[sort], (thread_id, *place, limit + 1)).fetchall()
    items = [Comment(*row) for row in rows[:limit]]
    more = cursor.encode(sort, items[-1]) if len(rows) > limit and items else None
    return Page(items, in_all, more)


def latest(reader: Reader, site: str, url: str | None, limit: int) -> list[Entry]:
    """The newest approved comments of a page, or of the whole site, newest first."""
    if url is None:
        rows = reader.execute(statements.LATEST_OF_SITE, (site, limit))
    else:
        rows = reader.execute(statements.LATEST_OF_THREAD, (site, url, limit))
    return [_entry(row) for row in rows.fetchall()]


def listing(reader: Reader, status: str | None, limit: int) -> list[Entry]:
    """The newest comments, those with `status` where one is given, for a moderator."""
    if status is None:
        rows = reader.execute(statements.LISTING, (limit,))
    elif status == APPROVED:
        rows = reader.execute(statements.LISTING_APPROVED, (limit,))
    else:
        rows = reader.execute(statements.LISTING_UNAPPROVED, (status, limit))
    return [_entry(row) for row in rows.fetchall()]


def _entry(row: Row) -> Entry:
    *columns, site, url, title = row
    return Entry(Comment(*columns), site, url, title)

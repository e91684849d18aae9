"""The lists of comments for moderators.

Each list is read page by page, the newest first, by an index from where the last page ended. So a
page takes the same time at the first comment and at the millionth. Comments that are not approved
are ordered by id, with the index of the queue. Approved ones are ordered by publication: each site
uses the index of its latest comments, and the sites are merged here, since there are few sites and
no index of all of them.
"""

import heapq
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from operator import itemgetter
from typing import Any, Final, NamedTuple

import msgspec
import peewee
from peewee import fn

from commentsvc.comments import queries
from commentsvc.db.connection import Row, Snapshot
from commentsvc.db.query import Among, Param, Prepared, Select, ids_text, literal, prepared
from commentsvc.db.schema.comments import (
    CommentTable,
    SiteTable,
    ThreadTable,
    is_for_sqlite,
    schema,
)
from commentsvc.db.schema.search import found_or_new
from commentsvc.errors import BadCursor
from commentsvc.feedback import reports
from commentsvc.model import APPROVED, PENDING, SPAM, Comment, Entry
from commentsvc.moderation.permissions import site_ids
from commentsvc.spam.bans import Ban
from commentsvc.util.text import excerpt, fold

_LAST: Final = 2**63 - 1
CURSOR: Final = r"[0-9]{1,18}\.[0-9]{1,18}"

EXAMINED: Final = 5_000  # comments that are examined for one page of a filtered list
COUNTED: Final = 1_000  # the most comments counted: the numbers are on every page

# The order of a list.
_POSITION: Final = (CommentTable.published_at, CommentTable.id)


class ReviewFilter(msgspec.Struct, frozen=True):
    """Which comments of a list are shown, and in which order.

    `page` is part of a page's address or title, `author` part of a name or email address; case
    counts for ASCII letters only in neither. `score` is the lowest. `language` is a tag, which also
    means those that begin with it. `thread` is the id of a comment thread, 0 for all.
    """

    oldest_first: bool = False
    page: str = ""
    author: str = ""
    score: int = 0
    language: str = ""
    thread: int = 0

    @property
    def leaves_out(self) -> bool:
        """Whether some comments may be left out."""
        return bool(self.page or self.author or self.score or self.language or self.thread)

    def condition(self) -> list[Any]:  # Any: what peewee's stubs give for a condition
        """Return the conditions for a query of comments, their threads and sites."""
        conditions = []
        if self.page:
            conditions.append(
                ThreadTable.url.contains(self.page) | ThreadTable.title.contains(self.page)
            )
        if self.author:
            conditions.append(
                CommentTable.author.contains(self.author) | CommentTable.email.contains(self.author)
            )
        if self.score:
            conditions.append(CommentTable.score >= self.score)
        if self.language:
            tag = CommentTable.lang
            conditions.append((tag == self.language) | tag.startswith(f"{self.language}-"))
        if self.thread:
            conditions.append(CommentTable.thread == self.thread)
        return conditions


class _Behind(peewee.ColumnBase):
    """The condition of comments with a status that follow the id `start`, for the index of both.

    They have lower ids, or higher ones if `oldest_first`.

    For one status, PostgreSQL might read all comments, from the newest on, until it has found some.
    Only that index has a range of them in this order.
    """

    ORDER = (CommentTable.status, CommentTable.id)

    def __init__(
        self, status: Param | str, start: Param | int, *, oldest_first: bool = False
    ) -> None:
        self.status = status
        self.start = start
        self.oldest_first = oldest_first

    def __sql__(self, ctx: Any) -> Any:  # Any: peewee's Context, which is not in its stubs
        status, number = self.ORDER
        if is_for_sqlite(ctx):
            behind = number > self.start if self.oldest_first else number < self.start
            return ctx.sql((status == self.status) & behind)
        row, start = peewee.Tuple(*self.ORDER), peewee.Tuple(self.status, self.start)
        if self.oldest_first:
            return ctx.sql((status <= self.status) & (row > start))
        return ctx.sql((status >= self.status) & (row < start))


class ListQueries(NamedTuple):
    """The queries of the newest comments, for one choice of columns.

    `unapproved` takes a status, the id that all are below, and how many; `unapproved_of_site` also
    the site's id at the end. `approved_of_site` takes the site's id, the position that all are
    behind, as two values, and how many. `position_of` gives a row's time of publication and id.
    """

    unapproved: Prepared
    unapproved_of_site: Prepared
    approved_of_site: Prepared
    position_of: Callable[[Row], tuple[Any, ...]]  # Any: the time is None for many


def _list_queries(
    unpublished: Select, found: Select, position_of: Callable[[Row], tuple[Any, ...]]
) -> ListQueries:
    """Return the queries for what is selected of unapproved and of approved comments.

    Any: as above.
    """

    def unapproved(status: Param, before: Param, most: Param) -> Select:
        query = unpublished.where(
            _Behind(status, before),
            CommentTable.status != literal(APPROVED),  # lets SQLite use the index
        )
        return query.order_by(*(column.desc() for column in _Behind.ORDER)).limit(most)

    def unapproved_of_site(status: Param, before: Param, most: Param, site_id: Param) -> Select:
        # The same index contains the site.
        return unapproved(status, before, most).where(CommentTable.site == site_id)

    def approved_of_site(site_id: Param, moment: Param, before: Param, most: Param) -> Select:
        query = found.where(
            CommentTable.site == site_id,
            CommentTable.status == literal(APPROVED),
            peewee.Tuple(*_POSITION) < peewee.Tuple(moment, before),
        )
        return query.order_by(*(column.desc() for column in _POSITION)).limit(most)

    return ListQueries(
        Prepared(unapproved), Prepared(unapproved_of_site), Prepared(approved_of_site), position_of
    )


# With the columns of `queries.entry`, and with those of the order.
_ENTRIES: Final = (
    CommentTable.select(*queries.ENTRY)
    .join(ThreadTable, on=ThreadTable.id == CommentTable.thread)
    .join(SiteTable, on=SiteTable.id == CommentTable.site)
)
ENTRIES: Final = _list_queries(
    _ENTRIES, _ENTRIES, itemgetter(list(Comment.__struct_fields__).index("published_at"), 0)
)
# The index of the unapproved ones has all that is selected of them.
POSITIONS: Final = _list_queries(
    CommentTable.select(peewee.SQL("NULL"), CommentTable.id),
    CommentTable.select(*_POSITION),
    itemgetter(0, 1),
)


@prepared
def count_of(status: Param) -> Select:
    """Return the query that counts the comments with a status, at most COUNTED + 1."""
    some = (
        CommentTable.select(CommentTable.id)
        .where(CommentTable.status == status, CommentTable.status != literal(APPROVED))
        .limit(COUNTED + 1)
        .alias("some")
    )
    return peewee.Select([some], [fn.COUNT(some.c.id)]).bind(schema)


class ReviewPage(msgspec.Struct, frozen=True):
    """A page of a list, and the cursor for `after` of the next one; None at the end."""

    items: list[Entry]
    next: str | None


def list_page(
    snapshot: Snapshot, status: str, sites: Sequence[str] | None, limit: int, after: str | None
) -> ReviewPage:
    """Return at most `limit` comments with a status, of those `sites` or of all for None.

    There are fewer if they are long, see `comments.pagination`. Raise BadCursor if `after` is not
    the cursor of a previous page.
    """
    start = (_LAST, _LAST) if after is None else position(after)
    rows = _newest(snapshot, ENTRIES, status, sites, start, limit + 1)
    items, goes_on = queries.first_entries(map(queries.entry, rows), limit)
    more = None
    if goes_on:
        last = items[-1].comment
        more = f"{last.published_at if status == APPROVED else 0}.{last.id}"
    return ReviewPage(items, more)


def filtered_page(
    snapshot: Snapshot,
    status: str,
    sites: Sequence[str] | None,
    limit: int,
    after: str | None,
    wanted: ReviewFilter,
) -> ReviewPage:
    """Return the page of a list of comments that are not approved, as `wanted`.

    EXAMINED comments are looked at, so there may be fewer than `limit` although others follow.
    Raise BadCursor.
    """
    most = EXAMINED if wanted.leaves_out else limit + 1
    start = None if after is None else position(after)[1]
    ids = _examined(snapshot, status, sites, most, start, wanted)
    order = CommentTable.id if wanted.oldest_first else CommentTable.id.desc()
    shown = (
        _ENTRIES.where(Among(CommentTable.id, ids_text(ids)), *wanted.condition())
        .order_by(order)
        .limit(limit + 1)
    )
    items, goes_on = queries.first_entries(map(queries.entry, snapshot.query(shown)), limit)
    if goes_on:
        return ReviewPage(items, f"0.{items[-1].comment.id}")
    return ReviewPage(items, f"0.{ids[-1]}" if len(ids) == most else None)


def filtered_ids(
    snapshot: Snapshot,
    status: str,
    sites: Sequence[str] | None,
    limit: int,
    wanted: ReviewFilter,
) -> list[int]:
    """Return the ids of those of the first `limit` comments of a list that are `wanted`."""
    ids = _examined(snapshot, status, sites, limit, None, wanted)
    among = wanted_ids(snapshot, ids, wanted)
    return [comment_id for comment_id in ids if comment_id in among]


def wanted_ids(snapshot: Snapshot, ids: Iterable[int], wanted: ReviewFilter) -> set[int]:
    """Return those of the comments `ids` that are `wanted`."""
    found = (
        CommentTable.select(CommentTable.id)
        .join(ThreadTable, on=ThreadTable.id == CommentTable.thread)
        .where(Among(CommentTable.id, ids_text(ids)), *wanted.condition())
    )
    return {comment_id for (comment_id,) in snapshot.query(found)}


def _examined(
    snapshot: Snapshot,
    status: str,
    sites: Sequence[str] | None,
    most: int,
    start: int | None,
    wanted: ReviewFilter,
) -> list[int]:
    """Return the ids of the first `most` comments behind `start`, by the index of the queue."""
    first = 0 if wanted.oldest_first else _LAST
    behind = _Behind(status, first if start is None else start, oldest_first=wanted.oldest_first)
    order = (c if wanted.oldest_first else c.desc() for c in _Behind.ORDER)
    found = CommentTable.select(CommentTable.id).where(
        behind, CommentTable.status != literal(APPROVED)
    )
    if sites is not None:
        found = found.where(CommentTable.site.in_(site_ids(snapshot, sites)))
    return [row[0] for row in snapshot.query(found.order_by(*order).limit(most))]


def position(cursor: str) -> tuple[int, int]:
    """Return the time and the id at which a page ended. Raise BadCursor."""
    if not re.fullmatch(CURSOR, cursor):
        raise BadCursor("this is not where a page ended")
    moment, _, comment_id = cursor.partition(".")
    return int(moment), int(comment_id)


def newest_ids(
    snapshot: Snapshot, status: str, sites: Sequence[str] | None, limit: int
) -> list[int]:
    """Return the ids of the newest `limit` comments of a list."""
    rows = _newest(snapshot, POSITIONS, status, sites, (_LAST, _LAST), limit)
    return [comment_id for _, comment_id in rows]


def _newest(
    snapshot: Snapshot,
    found: ListQueries,
    status: str,
    sites: Sequence[str] | None,
    start: tuple[int, int],
    limit: int,
) -> list[Row]:
    """Return the first `limit` rows of a list behind the position `start`."""
    if status == APPROVED:
        pieces = [
            snapshot.query(found.approved_of_site, site_id, *start, limit)
            for site_id in site_ids(snapshot, sites)
        ]
        newest = heapq.merge(*pieces, key=found.position_of, reverse=True)
        return list(islice(newest, limit))
    before = start[1]
    if sites is None:
        return snapshot.query(found.unapproved, status, before, limit)
    pieces = [
        snapshot.query(found.unapproved_of_site, status, before, limit, site_id)
        for site_id in site_ids(snapshot, sites)
    ]
    newest = heapq.merge(*pieces, key=lambda row: found.position_of(row)[1], reverse=True)
    return list(islice(newest, limit))


def numbers(snapshot: Snapshot, sites: Sequence[str] | None = None) -> dict[str, int]:
    """Return how many comments are pending, spam, and visible with reports.

    Each is counted to COUNTED + 1 at most.
    """
    reported = reports.count(snapshot, sites)
    if sites is not None:
        found = {s: len(newest_ids(snapshot, s, sites, COUNTED + 1)) for s in (PENDING, SPAM)}
        return found | {"reported": reported}
    return {
        status: number
        for status in (PENDING, SPAM)
        for (number,) in snapshot.query(count_of, status)
    } | {"reported": reported}


class StoredVerdict(msgspec.Struct, frozen=True):
    """The score of a comment, and the stored form of each reason."""

    score: int
    reasons: tuple[str, ...]


@prepared
def _verdicts(ids: Param) -> Select:
    return CommentTable.select(CommentTable.id, CommentTable.score, CommentTable.reasons).where(
        Among(CommentTable.id, ids), CommentTable.reasons != ""
    )


def verdicts_of(snapshot: Snapshot, ids: Sequence[int]) -> dict[int, StoredVerdict]:
    """Return the verdicts on those of the comments `ids` that had reasons."""
    return {
        number: StoredVerdict(score, tuple(reasons.split("\n")))
        for number, score, reasons in snapshot.query(_verdicts, ids_text(ids))
    }


QUOTED: Final = 200  # characters of a parent that are shown above a reply to it


class ParentQuote(msgspec.Struct, frozen=True, gc=False):
    """The beginning of a comment, shown above a reply to it."""

    id: int
    author: str
    text: str


@prepared
def _quotes(ids: Param) -> Select:
    return CommentTable.select(
        CommentTable.id, CommentTable.author, fn.SUBSTR(CommentTable.html, 1, 4 * QUOTED)
    ).where(Among(CommentTable.id, ids))


def parents_of(snapshot: Snapshot, comments: Iterable[Comment]) -> dict[int, ParentQuote]:
    """Return the parents of those of `comments` that are replies, by their ids."""
    ids = sorted({comment.parent_id for comment in comments if comment.parent_id})
    return {
        number: ParentQuote(number, author, excerpt(html, QUOTED))
        for number, author, html in snapshot.query(_quotes, ids_text(ids))
    }


def ids_of_banned(snapshot: Snapshot, ban: Ban, limit: int) -> list[int]:
    """Return the ids of the newest `limit` pending or approved comments that a ban covers.

    There are none for a banned word or domain, since these do not identify an author.
    """
    is_shown = CommentTable.status.in_([PENDING, APPROVED])
    if ban.kind == "network":
        own = CommentTable.select(CommentTable.id).where(
            CommentTable.network.is_null(False),
            CommentTable.network == bytes.fromhex(ban.value),
            is_shown,
        )
        newest = own.order_by(CommentTable.id.desc()).limit(limit)
        return [comment_id for (comment_id,) in snapshot.query(newest)]
    if ban.kind != "author":
        return []
    name = ban.value.replace('"', " ")
    match = f'author:"{name}" OR email:"{ban.value.encode().hex()}"'
    authors = CommentTable.select(CommentTable.id, CommentTable.author, CommentTable.email)
    found: set[Row] = set()
    for among in found_or_new(match):
        found.update(snapshot.query(authors.where(among, is_shown)))
    rows = sorted(found, reverse=True)
    return [row[0] for row in rows if ban.value in map(fold, row[1:])][:limit]

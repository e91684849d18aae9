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
from typing import Any, Final

import msgspec
import peewee
from peewee import fn

from commentsvc.comments import queries
from commentsvc.comments.errors import BadCursor
from commentsvc.db.query import Select, literal
from commentsvc.db.schema.comments import CommentTable, SiteTable, ThreadTable, schema
from commentsvc.db.schema.search import found_or_new
from commentsvc.db.sqlite import Reader, Row
from commentsvc.model import APPROVED, PENDING, SPAM, Comment, Entry
from commentsvc.moderation.permissions import site_ids
from commentsvc.spam.bans import Ban
from commentsvc.util.text import excerpt, fold

_LAST: Final = 2**63 - 1
CURSOR: Final = r"[0-9]{1,18}\.[0-9]{1,18}"

_PUBLISHED: Final = list(Comment.__struct_fields__).index("published_at")

COUNTED: Final = 1_000  # the most comments counted: the numbers are on every page


def _placed(*columns: object) -> Select:
    return (
        CommentTable.select(*columns)
        .join(ThreadTable, on=ThreadTable.id == CommentTable.thread)
        .join(SiteTable, on=SiteTable.id == CommentTable.site)
    )


def unapproved(status: str, before: int, most: int, site_id: int | None = None) -> Select:
    """Return the query for the newest comments in that status with an id below `before`.

    Its columns are those of `queries.entry`.
    """
    query = (
        _placed(*queries.ENTRY)
        .where(
            CommentTable.status == status,
            CommentTable.status != literal(APPROVED),  # lets SQLite use the index
            CommentTable.id < before,
        )
        .order_by(CommentTable.id.desc())
        .limit(most)
    )
    # The same index contains the site.
    return query if site_id is None else query.where(CommentTable.site == site_id)


def approved_of_site(site_id: int, place: tuple[int, int], most: int) -> Select:
    """Return the query for a site's newest approved comments behind `place`, as `unapproved`."""
    order = (CommentTable.published_at, CommentTable.id)
    return (
        _placed(*queries.ENTRY)
        .where(
            CommentTable.site == site_id,
            CommentTable.status == literal(APPROVED),
            peewee.Tuple(*order) < place,
        )
        .order_by(*(column.desc() for column in order))
        .limit(most)
    )


def count_of(status: str) -> Select:
    """Return the query that counts the comments with a status, at most COUNTED + 1."""
    some = (
        CommentTable.select(CommentTable.id)
        .where(CommentTable.status == status, CommentTable.status != literal(APPROVED))
        .limit(COUNTED + 1)
        .alias("some")
    )
    return peewee.Select([some], [fn.COUNT(some.c.id)]).bind(schema)


# The order of a list.
_PLACE: Final = (CommentTable.published_at, CommentTable.id)


class ReviewPage(msgspec.Struct, frozen=True):
    """A page of a list, and the cursor for `after` of the next one; None at the end."""

    items: list[Entry]
    next: str | None


def list_page(
    reader: Reader, status: str, sites: Sequence[str] | None, limit: int, after: str | None
) -> ReviewPage:
    """Return at most `limit` comments with a status, of those `sites` or of all for None.

    There are fewer if they are long, see `comments.pagination`. Raise BadCursor if `after` is not
    the cursor of a previous page.
    """
    place = (_LAST, _LAST) if after is None else position(after)
    if status == APPROVED:
        rows = _merged(
            reader,
            [approved_of_site(one, place, limit + 1) for one in site_ids(reader, sites)],
            limit + 1,
            _published,
        )
    elif sites is None:
        rows = reader.query(unapproved(status, place[1], limit + 1))
    else:
        of_sites = [unapproved(status, place[1], limit + 1, one) for one in site_ids(reader, sites)]
        rows = _merged(reader, of_sites, limit + 1, itemgetter(0))
    items, goes_on = queries.first_entries(map(queries.entry, rows), limit)
    more = None
    if goes_on:
        last = items[-1].comment
        more = f"{last.published_at if status == APPROVED else 0}.{last.id}"
    return ReviewPage(items, more)


def position(cursor: str) -> tuple[int, int]:
    """Return the time and the id at which a page ended. Raise BadCursor."""
    if not re.fullmatch(CURSOR, cursor):
        raise BadCursor("this is not where a page ended")
    moment, _, comment_id = cursor.partition(".")
    return int(moment), int(comment_id)


def newest_ids(reader: Reader, status: str, sites: Sequence[str] | None, limit: int) -> list[int]:
    """Return the ids of the newest `limit` comments of a list."""
    if status == APPROVED:
        found = [approved_of_site(one, (_LAST, _LAST), limit) for one in site_ids(reader, sites)]
    elif sites is None:
        found = [unapproved(status, _LAST, limit)]
    else:
        found = [unapproved(status, _LAST, limit, one) for one in site_ids(reader, sites)]
    places = [query.select(*_PLACE) for query in found]
    key = None if status == APPROVED else itemgetter(1)
    return [comment_id for _, comment_id in _merged(reader, places, limit, key)]


def _merged(
    reader: Reader,
    found: Iterable[Select],
    limit: int,
    key: Callable[[Row], Any] | None,  # Any: what is compared
) -> list[Row]:
    """Return the first `limit` rows of several queries, each of which is in descending order."""
    pieces = [reader.query(query) for query in found]
    return list(islice(heapq.merge(*pieces, key=key, reverse=True), limit))


def _published(row: Row) -> tuple[int, int]:
    return row[_PUBLISHED], row[0]


def numbers(reader: Reader, sites: Sequence[str] | None = None) -> dict[str, int]:
    """Return how many comments are pending and how many are spam, at most COUNTED + 1 each."""
    if sites is not None:
        return {s: len(newest_ids(reader, s, sites, COUNTED + 1)) for s in (PENDING, SPAM)}
    return {
        status: number for status in (PENDING, SPAM) for (number,) in reader.query(count_of(status))
    }


class StoredVerdict(msgspec.Struct, frozen=True):
    """The score of a comment, and the stored form of each reason."""

    score: int
    reasons: tuple[str, ...]


def verdicts_of(reader: Reader, ids: Sequence[int]) -> dict[int, StoredVerdict]:
    """Return the verdicts on those of the comments `ids` that had reasons."""
    query = CommentTable.select(CommentTable.id, CommentTable.score, CommentTable.reasons).where(
        CommentTable.id.in_(ids), CommentTable.reasons != ""
    )
    return {
        number: StoredVerdict(score, tuple(reasons.split("\n")))
        for number, score, reasons in reader.query(query)
    }


QUOTED: Final = 200  # characters of a parent that are shown above a reply to it


class ParentQuote(msgspec.Struct, frozen=True, gc=False):
    """The beginning of a comment, shown above a reply to it."""

    id: int
    author: str
    text: str


def parents_of(reader: Reader, comments: Iterable[Comment]) -> dict[int, ParentQuote]:
    """Return the parents of those of `comments` that are replies, by their ids."""
    ids = sorted({comment.parent_id for comment in comments if comment.parent_id})
    query = CommentTable.select(
        CommentTable.id, CommentTable.author, fn.SUBSTR(CommentTable.html, 1, 4 * QUOTED)
    ).where(CommentTable.id.in_(ids))
    return {
        number: ParentQuote(number, author, excerpt(html, QUOTED))
        for number, author, html in reader.query(query)
    }


def ids_of_banned(reader: Reader, ban: Ban, limit: int) -> list[int]:
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
        return [comment_id for (comment_id,) in reader.query(newest)]
    if ban.kind != "author":
        return []
    name = ban.value.replace('"', " ")
    match = f'author:"{name}" OR email:"{ban.value.encode().hex()}"'
    authors = CommentTable.select(CommentTable.id, CommentTable.author, CommentTable.email)
    found: set[Row] = set()
    for among in found_or_new(match):
        found.update(reader.query(authors.where(among, is_shown)))
    rows = sorted(found, reverse=True)
    return [row[0] for row in rows if ban.value in map(fold, row[1:])][:limit]

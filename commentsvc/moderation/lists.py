"""Review: the lists that moderators work through.

Each is read in pieces, the newest first, by an index from where the last piece ended; so a
piece takes the same time at the first comment and the millionth. What is not approved is ordered by
id, by the index of the queue. The approved are ordered by their publication, each site by the
index of its latest, and merged here, since there are few sites and no index of all of them.
"""

import heapq
import re
from collections.abc import Sequence
from itertools import islice
from typing import Final

import msgspec

from commentsvc.comments import queries, statements
from commentsvc.comments.errors import BadCursor
from commentsvc.db.sqlite import Reader, Row
from commentsvc.model import APPROVED, PENDING, SPAM, Comment, Entry

_LAST: Final = 2**63 - 1
_AFTER: Final = re.compile(r"([0-9]{1,18})\.([0-9]{1,18})")

_PUBLISHED: Final = list(Comment.__struct_fields__).index("published_at")

# The second condition lets SQLite use the index, the site is looked up there too.
UNAPPROVED: Final = (
    f"{statements.ENTRIES} WHERE c.status = ? AND c.status <> 'approved' AND c.id < ?"
    " ORDER BY c.id DESC LIMIT ?"
)
UNAPPROVED_OF_SITE: Final = UNAPPROVED.replace("WHERE", "WHERE c.site_id = ? AND")
APPROVED_OF_SITE: Final = (
    f"{statements.ENTRIES} WHERE c.site_id = ? AND c.status = 'approved'"
    " AND (c.published_at, c.id) < (?, ?) ORDER BY c.published_at DESC, c.id DESC LIMIT ?"
)
COUNTED: Final = 1_000  # comments of a status, at most: the numbers are on every page
NUMBER: Final = (
    "SELECT count(*) FROM (SELECT 1 FROM comment WHERE status = ? AND status <> 'approved' LIMIT ?)"
)


class ReviewPage(msgspec.Struct, frozen=True):
    """A piece of a list, and what to give as `after` to go on; None at the end."""

    items: list[Entry]
    next: str | None


def list_page(reader: Reader, status: str, site: str, limit: int, after: str | None) -> ReviewPage:
    """At most `limit` comments with a status, of a site or of all where it is "".

    Raises BadCursor where `after` is not from the sheet before.
    """
    place = (_LAST, _LAST)
    if after is not None:
        found = _AFTER.fullmatch(after)
        if found is None:
            raise BadCursor("this is not where a sheet ended")
        place = (int(found[1]), int(found[2]))
    sites = [row[0] for row in reader.execute("SELECT id FROM site WHERE ? IN ('', name)", (site,))]
    if status == APPROVED:
        rows = _approved(reader, sites, place, limit + 1)
    elif site:
        bound = (*sites[:1], status, place[1], limit + 1)
        rows = reader.execute(UNAPPROVED_OF_SITE, bound).fetchall() if sites else []
    else:
        rows = reader.execute(UNAPPROVED, (status, place[1], limit + 1)).fetchall()
    items = [queries.entry(row) for row in rows[:limit]]
    more = None
    if len(rows) > limit:
        last = items[-1].comment
        more = f"{last.published_at if status == APPROVED else 0}.{last.id}"
    return ReviewPage(items, more)


def _approved(reader: Reader, sites: list[int], place: tuple[int, int], most: int) -> list[Row]:
    entries = [reader.execute(APPROVED_OF_SITE, (site, *place, most)).fetchall() for site in sites]
    merged = heapq.merge(*entries, key=_published, reverse=True)
    return list(islice(merged, most))


def _published(row: Row) -> tuple[int, int]:
    return row[_PUBLISHED], row[0]


def numbers(reader: Reader) -> dict[str, int]:
    """How many comments are pending, and how many are spam; of more than COUNTED, one more."""
    return {
        status: reader.execute(NUMBER, (status, COUNTED + 1)).fetchone()[0]
        for status in (PENDING, SPAM)
    }


_FIND: Final = (
    "SELECT c.id, c.score, c.reasons FROM json_each(?) AS f"
    " CROSS JOIN comment AS c ON c.id = f.value WHERE c.reasons <> ''"
)


class StoredVerdict(msgspec.Struct, frozen=True):
    """The points of a comment, and a few words for each reason."""

    score: int
    reasons: tuple[str, ...]


def verdicts_of(reader: Reader, ids: Sequence[int]) -> dict[int, StoredVerdict]:
    """The verdicts on those of the comments `ids` that had reasons."""
    rows = reader.execute(_FIND, (msgspec.json.encode(ids).decode(),)).fetchall()
    return {
        number: StoredVerdict(score, tuple(reasons.split("\n"))) for number, score, reasons in rows
    }

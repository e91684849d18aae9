"""The lists that moderators work through.

Each is read in pieces, the newest first, by an index from where the last piece ended; so a
piece takes the same time at the first comment and the millionth. What is not approved is ordered by
id, by the index of the queue. The approved are ordered by their publication, each site by the
index of its latest, and merged here, since there are few sites and no index of all of them.
"""

import heapq
import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final

import msgspec

from commentsvc.comments import queries, statements
from commentsvc.comments.errors import BadCursor
from commentsvc.db.sqlite import Reader, Row
from commentsvc.model import APPROVED, PENDING, SPAM, Comment, Entry
from commentsvc.spam.bans import Ban
from commentsvc.util.text import fold

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
# The same without what they hold: by what they are ordered, and their ids.
_IDS: Final = "SELECT c.published_at, c.id FROM comment AS c"
UNAPPROVED_IDS: Final = UNAPPROVED.replace(statements.ENTRIES, _IDS)
UNAPPROVED_IDS_OF_SITE: Final = UNAPPROVED_OF_SITE.replace(statements.ENTRIES, _IDS)
APPROVED_IDS_OF_SITE: Final = APPROVED_OF_SITE.replace(statements.ENTRIES, _IDS)
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

    Raises BadCursor where `after` is not from the page before.
    """
    place = (_LAST, _LAST)
    if after is not None:
        found = _AFTER.fullmatch(after)
        if found is None:
            raise BadCursor("this is not where a page ended")
        place = (int(found[1]), int(found[2]))
    sites = _sites(reader, site)
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


def newest_ids(reader: Reader, status: str, site: str, limit: int) -> list[int]:
    """Return the ids of a whole list, of its newest `limit` comments where it has more."""
    sites = _sites(reader, site)
    if status == APPROVED:
        bounds = [(one, _LAST, _LAST, limit) for one in sites]
        pieces = [reader.execute(APPROVED_IDS_OF_SITE, bound).fetchall() for bound in bounds]
        rows = list(islice(heapq.merge(*pieces, reverse=True), limit))
    elif site:
        bound = (*sites[:1], status, _LAST, limit)
        rows = reader.execute(UNAPPROVED_IDS_OF_SITE, bound).fetchall() if sites else []
    else:
        rows = reader.execute(UNAPPROVED_IDS, (status, _LAST, limit)).fetchall()
    return [comment_id for _, comment_id in rows]


def _sites(reader: Reader, site: str) -> list[int]:
    rows = reader.execute("SELECT id FROM site WHERE ? IN ('', name)", (site,))
    return [site_id for (site_id,) in rows]


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


QUOTED: Final = 200  # characters of a parent that are shown above a reply to it
_PARENTS: Final = (
    "SELECT c.id, c.author, substr(c.source, 1, ?) FROM json_each(?) AS f"
    " CROSS JOIN comment AS c ON c.id = f.value"
)


class ParentQuote(msgspec.Struct, frozen=True, gc=False):
    """The beginning of a comment, shown above a reply to it."""

    id: int
    author: str
    text: str


def parents_of(reader: Reader, comments: Iterable[Comment]) -> dict[int, ParentQuote]:
    """Return the parents of those of `comments` that are replies, by their ids."""
    ids = sorted({comment.parent_id for comment in comments if comment.parent_id})
    bound = (QUOTED + 1, msgspec.json.encode(ids).decode())
    rows = reader.execute(_PARENTS, bound).fetchall() if ids else []
    return {row[0]: ParentQuote(row[0], row[1], _beginning(row[2])) for row in rows}


def _beginning(source: str) -> str:
    plain = " ".join(source.split())
    return plain if len(source) <= QUOTED else f"{plain[:QUOTED].rstrip()}…"


_SHOWN: Final = "c.status IN ('pending', 'approved')"
# Authors are found by the index of words, and what is too new to be in it one by one.
_BY_AUTHOR: Final = (
    "SELECT c.id, c.author, c.email FROM comment AS c WHERE c.id IN"  # noqa: S608 - constants only
    f" (SELECT rowid FROM search WHERE search MATCH ?) AND {_SHOWN}"
    " UNION SELECT c.id, c.author, c.email FROM comment AS c"
    f" WHERE c.id > (SELECT indexed_until FROM search_state) AND {_SHOWN} ORDER BY 1 DESC"
)
_BY_NETWORK: Final = (
    "SELECT c.id FROM comment AS c WHERE c.network IS NOT NULL AND c.network = ?"  # noqa: S608 - constants only
    f" AND {_SHOWN} ORDER BY c.id DESC LIMIT ?"
)


def ids_of_banned(reader: Reader, ban: Ban, limit: int) -> list[int]:
    """Return the ids of the newest comments of who is banned that wait or are published.

    At most `limit`; none where a word or a domain is banned, which is nobody.
    """
    if ban.kind == "network":
        rows = reader.execute(_BY_NETWORK, (bytes.fromhex(ban.value), limit)).fetchall()
        return [comment_id for (comment_id,) in rows]
    if ban.kind != "author":
        return []
    name = ban.value.replace('"', " ")
    match = f'author:"{name}" OR email:"{ban.value.encode().hex()}"'
    rows = reader.execute(_BY_AUTHOR, (match,)).fetchall()
    return [row[0] for row in rows if ban.value in map(fold, row[1:])][:limit]

"""Search: comments by their words, for moderators and readers; the number of comments per day.

The index (FTS5) is filled in batches while no comments arrive (`index_pending`); `db.schema.search`
says how it is kept up to date. Comments that are not indexed yet are not found;
`SearchResult.unindexed` says how many these are. Results show the current text of a comment.

A moderator's query is a list of words that must all occur, in any field; quotation marks make a
phrase. A word with an @ is an e-mail address, or a domain if it begins with the @; one that begins
with a slash is a page's url. A word may have a field before it: `author:`, `email:`, `site:`,
`text:` or `page:`. No query is invalid.

The newest comments come first. A search that is limited to a status or site examines `EXAMINED`
comments at a time, so that it is fast even if few of them match: `SearchResult.next` continues
behind these.

A reader's query is a few words, which must all be in the text or the author's name of a comment
that is shown. Nothing else is searched or told: neither addresses, nor that a hidden comment has
the words. There are no phrases, since a phrase of frequent words takes a hundred times as long.
"""

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

import msgspec
from peewee import fn

from commentsvc.comments import queries
from commentsvc.comments.page_urls import PageRef
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.query import Among, Param, Select, ids_text, prepared
from commentsvc.db.schema import search
from commentsvc.db.schema.comments import CommentTable, SiteTable, ThreadTable, schema
from commentsvc.db.schema.search import DailyStatsTable, SearchStateTable
from commentsvc.model import APPROVED, Entry
from commentsvc.util.origin import address_key

EXAMINED: Final = 1_000  # comments that are examined for one page of results
LENGTH: Final = 500  # characters of a query that are used
TERMS: Final = 16  # words of a query that are used
# For readers: characters of a query, its words, and the comments with them that one answer examines
SHOWN_LENGTH: Final = 100
SHOWN_TERMS: Final = 8
SHOWN_EXAMINED: Final = 5_000
_ROUND: Final = 1_024  # an answer tells ids of comments that are not shown no more precisely

_LAST: Final = 2**63 - 1
# A reader's word; the letters here end one for FTS5, which would look for a phrase.
_WORD: Final = re.compile("[^\\W_\u19b0-\u19c0\u19c8\u19c9\u1cf2\u1cf3]+")
_TERM: Final = re.compile(r'(?:(author|email|site|text|page):)?(?:"([^"]*)"?|(\S+))')


def _matching(match: str, before: int, limit: int) -> Select:
    """Return the query for the newest ids below `before` that the index finds by `match`."""
    return (
        search.Indexed.select(search.Indexed.rowid)
        .where(search.Matching(match), search.Indexed.rowid < before)
        .order_by(search.Indexed.rowid.desc())
        .limit(limit)
        .bind(schema)
    )


def _among(ids: list[int], status: str, sites: Sequence[str] | None, limit: int) -> Select:
    """Return the query for those of `ids` with that status and sites; "" and None mean any."""
    query = (
        CommentTable.select()
        .join(ThreadTable, on=ThreadTable.id == CommentTable.thread)
        .join(SiteTable, on=SiteTable.id == CommentTable.site)
        .where(CommentTable.id.in_(ids))
        .order_by(CommentTable.id.desc())
        .limit(limit)
    )
    if status:
        query = query.where(CommentTable.status == status)
    return query if sites is None else query.where(SiteTable.name.in_(sites))


@prepared
def _range(thread_id: Param) -> Select:
    ids = CommentTable.select(fn.MIN(CommentTable.id), fn.MAX(CommentTable.id))
    return ids.where(CommentTable.thread == thread_id, CommentTable.status == APPROVED)


class SearchResult(msgspec.Struct, frozen=True):
    """The comments found, and the id before which to continue (None at the end).

    `unindexed` is how many comments are not in the index yet.
    """

    items: list[Entry]
    next: int | None
    unindexed: int


class Day(msgspec.Struct, frozen=True, gc=False):
    """How many of the comments written on a day (Unix time / 86,400 s, UTC) now have a status."""

    day: int
    status: str
    number: int


def find(
    snapshot: Snapshot,
    query: str,
    *,
    status: str,
    sites: Sequence[str] | None,
    limit: int,
    before: int | None,
) -> SearchResult:
    """Return at most `limit` comments with the words of `query`, those with ids below `before`.

    `status` "" and `sites` None mean any.
    """
    match, behind = parse(query), unindexed(snapshot)
    if not match:
        return SearchResult([], None, behind)
    most = EXAMINED if status or sites is not None else limit + 1
    found = _matching(match, _LAST if before is None else before, most)
    ids = [row[0] for row in snapshot.query(found)]
    shown = _among(ids, status, sites, limit + 1).select(*queries.ENTRY)
    items, goes_on = queries.first_entries(map(queries.entry, snapshot.query(shown)), limit)
    if goes_on:
        return SearchResult(items, items[-1].comment.id, behind)
    return SearchResult(items, ids[-1] if len(ids) == most else None, behind)


def find_ids(
    snapshot: Snapshot, query: str, *, status: str, sites: Sequence[str] | None, limit: int
) -> list[int]:
    """Return the ids of those among the newest `limit` matches that `find` would return."""
    match = parse(query)
    rows = snapshot.query(_matching(match, _LAST, limit)) if match else []
    shown = _among([row[0] for row in rows], status, sites, limit).select(CommentTable.id)
    return [row[0] for row in snapshot.query(shown)]


class Found(msgspec.Struct, frozen=True):
    """A shown comment that a reader's search found, with the number of comments on its page."""

    entry: Entry
    count: int


def words_of(query: str) -> list[str]:
    """Return the words of a reader's query, each once."""
    composed = unicodedata.normalize("NFC", query[:SHOWN_LENGTH])
    return [*dict.fromkeys(_WORD.findall(composed))][:SHOWN_TERMS]


def find_shown(
    snapshot: Snapshot, words: Sequence[str], page: PageRef, limit: int, before: int | None
) -> tuple[list[Found], int | None]:
    """Return the newest `limit` shown comments of a page that have all `words`, and where to go on.

    An empty url stands for the whole site. `before` is None, or what the last call returned.
    """
    if not words:
        return [], None
    asked = " AND ".join(f'{search.SHOWN}:"{word}"' for word in words)
    match = _matching(asked, _LAST if before is None else before, SHOWN_EXAMINED)
    shown = queries.with_thread(CommentTable.id).where(
        CommentTable.status == APPROVED, SiteTable.name == page.site
    )
    if page.url:
        thread = queries.thread(snapshot, *page)
        first, last = snapshot.query(_range, thread.id)[0]
        if first is None:
            return [], None
        match = match.where(search.Indexed.rowid.between(first, last))
        shown = shown.where(CommentTable.thread == thread.id)
    ids = [row[0] for row in snapshot.query(match)]
    of_them = shown.where(Among(CommentTable.id, ids_text(ids))).order_by(CommentTable.id.desc())
    chosen = [row[0] for row in snapshot.query(of_them.limit(limit + 1))]
    whole = queries.with_thread(*queries.ENTRY, ThreadTable.count).order_by(CommentTable.id.desc())
    rows = snapshot.query(whole.where(Among(CommentTable.id, ids_text(chosen[:limit]))))
    found = [Found(queries.entry(row[:-1]), row[-1]) for row in rows]
    if len(chosen) > limit:
        return found, chosen[limit - 1]
    # A round number: the id of a hidden comment with these words is not told.
    return found, None if len(ids) < SHOWN_EXAMINED else ids[-1] // _ROUND * _ROUND + _ROUND


def parse(query: str) -> str:
    """Return the FTS5 query for a moderator's query; "" if there is no word in it."""
    clean = query[:LENGTH].encode(errors="replace").decode().replace("\0", " ")
    terms = []
    for field, phrase, word in _TERM.findall(clean)[:TERMS]:
        text = phrase or word.replace('"', "")
        if not any(map(str.isalnum, text)) and text != "/":
            continue
        if not field and "@" in text[:-1]:
            field, text = "email", _whole(_spelled(text))
        elif text[0] == "/" and field in ("", "page"):
            field, text = "page", _whole(text)
        terms.append(f'{field}:"{text}"' if field else f'"{text}"')
    return " AND ".join(terms)


def _spelled(text: str) -> str:
    """Return the `address_key` of an address, or the end of it for a domain behind an @."""
    return address_key(text) if text[0] != "@" else address_key(f"a{text}")[1:]


def _whole(text: str) -> str:
    """Return the hexadecimal digits of a text, like SQLite's hex()."""
    return text.encode().hex().upper()


def days(snapshot: Snapshot, sites: Sequence[str] | None, since: int) -> list[Day]:
    """Return the numbers of each day since the day `since`, of those `sites` or of all for None."""
    query = (
        DailyStatsTable.select(
            DailyStatsTable.day, DailyStatsTable.status, fn.SUM(DailyStatsTable.count)
        )
        .where(DailyStatsTable.day >= since)
        .group_by(DailyStatsTable.day, DailyStatsTable.status)
        .order_by(DailyStatsTable.day, DailyStatsTable.status)
    )
    if sites is not None:
        query = query.join(SiteTable).where(SiteTable.name.in_(sites))
    return [Day(day, status, int(number)) for day, status, number in snapshot.query(query)]


def last(snapshot: Snapshot) -> int:
    """Return the greatest id that a comment was ever given; 0 if there was none."""
    return snapshot.last_id("comment")


def unindexed(snapshot: Snapshot) -> int:
    """Return how many comments, at most, are not yet in the index and the statistics."""
    return snapshot.last_id("comment") - _indexed_until(snapshot)


def index_pending(tx: Transaction, most: int) -> bool:
    """Index the next `most` comments; return whether there are more."""
    indexed, newest = _indexed_until(tx), tx.last_id("comment")
    begin, end = indexed + 1, min(indexed + most, newest)
    if end >= begin:
        tx.execute(search.INDEX, (begin, end))
        tx.execute(search.COUNT, (begin, end))
        tx.change(SearchStateTable.update(indexed_until=end))
    return end < newest


@prepared
def _state() -> Select:
    return SearchStateTable.select(SearchStateTable.indexed_until)


def _indexed_until(snapshot: Snapshot) -> int:
    [(indexed,)] = snapshot.query(_state)
    return int(indexed)

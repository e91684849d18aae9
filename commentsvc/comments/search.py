"""Search: comments by their words, for moderators, and how many came on each day.

The index (FTS5) is filled in pieces while no comments come (`index_pending`); `db.schema.search`
says how it stays in step. What is not indexed yet is not found; `SearchResult.unindexed` says how
much that is. A found comment is shown as it is now, never as the index knew it.

What a moderator types is taken as words that all must occur, in any field; quotation marks keep
words together. A word with an @ is an e-mail address, or all of a domain's where it begins with it;
one that begins with a slash is a page's url; `author:`, `email:`, `site:`, `text:` and `page:`
before a word name its field. Nothing typed can be a faulty query.

The newest come first. A search that is narrowed to a status or site looks at `LOOK` comments at a
time, so that it is quick where it finds little, too: `Found.next` goes on behind these.
"""

# ruff: noqa: S608 - put together from constants only

import re
from typing import Final

import msgspec

from commentsvc.comments import queries, statements
from commentsvc.db.schema import search
from commentsvc.db.sqlite import Reader, Transaction
from commentsvc.model import Entry

LOOK: Final = 1_000  # comments that are looked at for one answer
LENGTH: Final = 500  # characters of a query that count
TERMS: Final = 16  # words of a query that count

_LAST: Final = 2**63 - 1
_TERM: Final = re.compile(r'(?:(author|email|site|text|page):)?(?:"([^"]*)"?|(\S+))')
_FIND: Final = (
    "SELECT rowid FROM search WHERE search MATCH ? AND rowid < ? ORDER BY rowid DESC LIMIT ?"
)
# Which of the ids in a JSON list are of comments with a status and of a site, "" for any.
_SHOW: Final = (
    f"SELECT {statements.ENTRY} FROM json_each(?) AS f CROSS JOIN comment AS c ON c.id = f.value"
    " JOIN thread AS t ON t.id = c.thread_id JOIN site AS s ON s.id = c.site_id"
    " WHERE ? IN ('', c.status) AND ? IN ('', s.name) ORDER BY c.id DESC LIMIT ?"
)
_SHOW_IDS: Final = _SHOW.replace(statements.ENTRY, "c.id")
_DAYS: Final = (
    "SELECT y.day, y.status, sum(y.count) FROM daily_stats AS y JOIN site AS s ON s.id = y.site_id"
    " WHERE y.day >= ? AND ? IN ('', s.name) GROUP BY y.day, y.status ORDER BY y.day, y.status"
)
_STATE: Final = (
    "SELECT indexed_until, (SELECT seq FROM sqlite_sequence WHERE name = 'comment')"
    " FROM search_state"
)


class SearchResult(msgspec.Struct, frozen=True):
    """What was found, before which id to go on (None at the end), how many are not searched yet."""

    items: list[Entry]
    next: int | None
    unindexed: int


class Day(msgspec.Struct, frozen=True, gc=False):
    """How many comments that came on a day (Unix time / 86,400 s, UTC) now have a status."""

    day: int
    status: str
    number: int


def find(
    reader: Reader, query: str, *, status: str, site: str, limit: int, before: int | None
) -> SearchResult:
    """At most `limit` comments with the words of `query`, those with ids below `before`.

    `status` and `site` narrow it down, "" does not.
    """
    match, behind = parse(query), unindexed(reader)
    if not match:
        return SearchResult([], None, behind)
    look = LOOK if status or site else limit + 1
    bound = (match, _LAST if before is None else before, look)
    ids = [row[0] for row in reader.execute(_FIND, bound).fetchall()]
    shown = (msgspec.json.encode(ids).decode(), status, site, limit + 1)
    items = [queries.entry(row) for row in reader.execute(_SHOW, shown).fetchall()]
    if len(items) > limit:
        return SearchResult(items[:limit], items[limit - 1].comment.id, behind)
    return SearchResult(items, ids[-1] if len(ids) == look else None, behind)


def find_ids(reader: Reader, query: str, *, status: str, site: str, limit: int) -> list[int]:
    """Return the ids of all that `find` finds in its newest `limit` comments."""
    match = parse(query)
    rows = reader.execute(_FIND, (match, _LAST, limit)).fetchall() if match else []
    ids = msgspec.json.encode([row[0] for row in rows]).decode()
    return [row[0] for row in reader.execute(_SHOW_IDS, (ids, status, site, limit)).fetchall()]


def parse(query: str) -> str:
    """What FTS5 is asked for; "" where there is no word to look for."""
    clean = query[:LENGTH].encode(errors="replace").decode().replace("\0", " ")
    terms = []
    for field, phrase, word in _TERM.findall(clean)[:TERMS]:
        text = phrase or word.replace('"', "")
        if not any(map(str.isalnum, text)) and text != "/":
            continue
        if not field and "@" in text[:-1]:
            field, text = "email", _whole(text.translate(_LOWER))
        elif text[0] == "/" and field in ("", "page"):
            field, text = "page", _whole(text)
        terms.append(f'{field}:"{text}"' if field else f'"{text}"')
    return " AND ".join(terms)


# As SQLite's lower().
_LOWER: Final = {ord(letter): ord(letter) + 32 for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}


def _whole(text: str) -> str:
    """As SQLite's hex()."""
    return text.encode().hex().upper()


def days(reader: Reader, site: str, since: int) -> list[Day]:
    """The numbers of each day from the day `since` on, of all sites where `site` is ""."""
    rows = reader.execute(_DAYS, (since, site))
    return [Day(*row) for row in rows.fetchall()]


def last(reader: Reader) -> int:
    """The greatest id that a comment was ever given; 0 before the first."""
    return int(reader.execute(_STATE).fetchone()[1] or 0)


def unindexed(reader: Reader) -> int:
    """How many comments are neither searched nor counted by day yet, at most."""
    [(indexed, last)] = reader.execute(_STATE).fetchall()
    return int((last or 0) - indexed)


def index_pending(tx: Transaction, most: int) -> bool:
    """Index the next `most` comments; return whether there are more."""
    [(indexed, last)] = tx.execute(_STATE).fetchall()
    begin, end = indexed + 1, min(indexed + most, last or 0)
    if end >= begin:
        tx.execute(search.INDEX, (begin, end))
        tx.execute(search.COUNT, (begin, end))
        tx.execute("UPDATE search_state SET indexed_until = ?", (end,))
    return bool(end < (last or 0))

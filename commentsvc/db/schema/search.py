"""The search index, the daily statistics, and the triggers that keep them up to date.

Updating both with every submission would cost as much as storing it. So new comments are added
later, in batches, while no comments arrive (see `comments.search`): those with an id up to
`indexed_until` are in both. Triggers apply later changes of these comments in the same transaction,
so a deleted or changed text is never found.

An e-mail address and its domain (from the @ on) are indexed twice: as words, and by the
`address_key` as hexadecimal digits in one word. So a search for a whole address does not read all
comments that share its words.
The same holds for a url.
"""

# ruff: noqa: S608 - the SQL is built from constants only

import re
from typing import Any, Final

import peewee

from commentsvc.db.schema.comments import CommentTable, SiteTable, Table, is_for_sqlite
from commentsvc.util.timestamps import DAY_MS


class SearchStateTable(Table):
    """One row: the last comment in the search index and in the daily statistics."""

    id = peewee.AutoField()
    indexed_until = peewee.IntegerField()


class DailyStatsTable(Table):
    """The number of comments of a site per status and day (Unix time, UTC) of writing."""

    day = peewee.IntegerField()
    site = peewee.ForeignKeyField(SiteTable, index=False)
    status = peewee.TextField()
    count = peewee.IntegerField()

    class Meta:
        primary_key = peewee.CompositeKey("day", "site", "status")


TABLES: Final = (SearchStateTable, DailyStatsTable)

# The values of the index's columns, for a comment c in a thread t.
WORDS: Final = (
    "c.author, c.email || ' ' || hex(c.email_key) || ' ' ||"
    " hex(substr(c.email_key, instr(c.email_key, '@'))), c.author_site, c.source,"
    " t.url || ' ' || hex(t.url)"
)
_INDEX: Final = (
    f"INSERT INTO search (rowid, author, email, site, text, page) SELECT c.id, {WORDS}"
    " FROM comment AS c JOIN thread AS t ON t.id = c.thread_id WHERE c.id"
)
_INDEXED: Final = "OLD.id <= (SELECT indexed_until FROM search_state)"
_COUNT_LESS: Final = (
    f"UPDATE daily_stats SET count = count - 1 WHERE day = OLD.created_at / {DAY_MS}"
    " AND site_id = OLD.site_id AND status = OLD.status"
)

REWORDED: Final = (
    "CREATE TRIGGER comment_reworded AFTER UPDATE OF author, email, email_key, author_site, source,"
    f" thread_id ON comment WHEN {_INDEXED} BEGIN DELETE FROM search WHERE rowid = OLD.id;"
    f" {_INDEX} = NEW.id; END"
)
# What peewee cannot express: the FTS5 index and the triggers.
EXTRAS: Final = (
    "CREATE VIRTUAL TABLE search USING fts5(author, email, site, text, page,"
    " tokenize = 'unicode61 remove_diacritics 2', columnsize = 0)",
    "INSERT INTO search_state (id, indexed_until) VALUES (1, 0)",
    REWORDED,
    "CREATE TRIGGER thread_moved AFTER UPDATE OF url ON thread BEGIN UPDATE search"
    " SET page = NEW.url || ' ' || hex(NEW.url) WHERE rowid IN (SELECT id FROM comment"
    " WHERE thread_id = NEW.id AND status = 'approved' UNION ALL SELECT id FROM comment WHERE"
    " status <> 'approved' AND status IN ('pending', 'spam', 'deleted') AND thread_id = NEW.id);"
    " END",
    "CREATE TRIGGER comment_decided AFTER UPDATE OF status ON comment"
    f" WHEN OLD.status <> NEW.status AND {_INDEXED} BEGIN {_COUNT_LESS};"
    " INSERT INTO daily_stats (day, site_id, status, count)"
    f" VALUES (NEW.created_at / {DAY_MS}, NEW.site_id,"
    " NEW.status, 1) ON CONFLICT DO UPDATE SET count = count + 1; END",
    "CREATE TRIGGER comment_erased AFTER DELETE ON comment"
    f" WHEN {_INDEXED} BEGIN DELETE FROM search WHERE rowid = OLD.id; {_COUNT_LESS}; END",
)


# The text search configuration of PostgreSQL that takes words as they are.
DICTIONARY: Final = "pg_catalog.simple"
# Of a longer word, PostgreSQL's index holds the beginning; its limit is 2,046 bytes.
LONGEST_WORD: Final = 2_000
# The fields of a comment that every reader may search.
SHOWN: Final = "{author text}"
_TERM: Final = re.compile(r'(?:(\w+|{[\w ]+}):)?"([^"]*)"( OR )?')


class Matching(peewee.ColumnBase):
    """The condition that the index finds a row by `match`, a query in the words of FTS5.

    PostgreSQL is asked for each of its terms, which are all connected by AND, or all by OR.
    """

    def __init__(self, match: str) -> None:
        self._match = match

    def __sql__(self, ctx: Any) -> Any:  # Any: peewee's Context, which is not in its stubs
        if is_for_sqlite(ctx):
            return ctx.literal("search MATCH ").value(self._match, converter=False)
        terms = _TERM.findall(self._match)
        between = " OR " if terms[0][2] else " AND "
        for number, (fields, text, _) in enumerate(terms):
            ctx.literal(between if number else "(")
            # A reader's word with a sign in it, as CO₂, is several for PostgreSQL: no phrase.
            form = "plainto" if fields == SHOWN else "phraseto"
            for which, field in enumerate((fields or "words").strip("{}").split()):
                asked = f"search.{field} @@ {form}_tsquery('{DICTIONARY}', words("
                ctx.literal(" OR " if which else "(").literal(asked)
                ctx.value(text[:LONGEST_WORD], converter=False).literal("))")
            ctx.literal(")")
        return ctx.literal(")")


Indexed: Final[Any] = peewee.Table("search", ("rowid",), alias="search")  # Any: no stubs know it


def found_or_new(match: str) -> tuple[peewee.Expression, peewee.Expression]:
    """Return two conditions: a comment is found by the index, or is too new to be in it.

    `match` is an FTS5 query. The caller must check each comment, since the words may be in
    different columns.
    """
    found = Indexed.select(Indexed.rowid).where(Matching(match))
    state = SearchStateTable.select(SearchStateTable.indexed_until)
    return CommentTable.id.in_(found), CommentTable.id > state


# Add the comments of a range of ids (first and last are bound) to the index and the statistics.
INDEX: Final = f"{_INDEX} BETWEEN ? AND ?"
COUNT: Final = (
    "INSERT INTO daily_stats (day, site_id, status, count)"
    f" SELECT created_at / {DAY_MS}, site_id, status, count(*) FROM comment WHERE id BETWEEN"
    " ? AND ?"
    " GROUP BY 1, 2, 3 ON CONFLICT DO UPDATE SET count = count + excluded.count"
)

"""The search index and the daily statistics, and the triggers that keep them up to date.

Updating both with every submission would cost as much as storing it. So comments are added later,
in pieces, while no comments come (see `comments.search`): all with an id up to `indexed_until` are
in both. Triggers apply later changes of these comments in the same transaction, so an erased or
changed text is never found.

An e-mail address, its part from the @ on and a url are indexed by their parts and, as hexadecimal
digits, as one word each: a search for a whole one does not read all comments that share its parts.
"""

# ruff: noqa: S608 - put together from constants only

from typing import Final

import peewee

from commentsvc.db.schema.comments import CommentTable, SiteTable, Table
from commentsvc.util.timestamps import DAY_MS


class SearchStateTable(Table):
    """One row: the last comment that is in the search index and in the daily statistics."""

    id = peewee.AutoField()
    indexed_until = peewee.IntegerField()

    class Meta:
        table_name = "search_state"


class DailyStatsTable(Table):
    """How many comments of a site that came on a day (of Unix time, UTC) have a status."""

    day = peewee.IntegerField()
    site = peewee.ForeignKeyField(SiteTable, index=False)
    status = peewee.TextField()
    count = peewee.IntegerField()

    class Meta:
        table_name = "daily_stats"
        primary_key = peewee.CompositeKey("day", "site", "status")


TABLES: Final = (SearchStateTable, DailyStatsTable)

# The index's columns, of a comment c in a thread t.
WORDS: Final = (
    "c.author, c.email || ' ' || hex(lower(c.email)) || ' ' ||"
    " hex(lower(substr(c.email, instr(c.email, '@')))), c.author_site, c.source,"
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

# What peewee has no words for: the index (FTS5), and the triggers.
EXTRAS: Final = (
    "CREATE VIRTUAL TABLE search USING fts5(author, email, site, text, page,"
    " tokenize = 'unicode61 remove_diacritics 2', columnsize = 0)",
    "INSERT INTO search_state (id, indexed_until) VALUES (1, 0)",
    "CREATE TRIGGER comment_reworded AFTER UPDATE OF author, email, author_site, source, thread_id"
    f" ON comment WHEN {_INDEXED} BEGIN DELETE FROM search WHERE rowid = OLD.id;"
    f" {_INDEX} = NEW.id; END",
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


def found_or_new(match: str) -> tuple[peewee.Expression, peewee.Expression]:
    """Return the conditions of what the index finds, and of comments too new to be in it.

    `match` is a query of FTS5's. Who asks looks at each comment again: words may be in parts.
    """
    found = peewee.SQL("(SELECT rowid FROM search WHERE search MATCH ?)", [match])
    state = SearchStateTable.select(SearchStateTable.indexed_until)
    return CommentTable.id.in_(found), CommentTable.id > state


# Indexing and counting: the comments with ids in a range, from and to bound.
INDEX: Final = f"{_INDEX} BETWEEN ? AND ?"
COUNT: Final = (
    "INSERT INTO daily_stats (day, site_id, status, count)"
    f" SELECT created_at / {DAY_MS}, site_id, status, count(*) FROM comment WHERE id BETWEEN"
    " ? AND ?"
    " GROUP BY 1, 2, 3 ON CONFLICT DO UPDATE SET count = count + excluded.count"
)

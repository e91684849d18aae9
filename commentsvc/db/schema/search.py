"""Derived: tables that follow from the others, and what keeps them in step.

DESIGN. Search needs an index of words, a dashboard the numbers of each day. Both would cost every
submission as much as storing it does, so they are fed later, when nobody waits (see `search`): all
comments up to the id in `fed` are in both. From then on triggers keep a comment's part of them in
step, whoever changes or erases it, in the same transaction. So what an erased or changed comment
said is found no more, and no code has to think of it.

An e-mail address, its part from the @ on and a url stand in the index by their parts and, as
hexadecimal digits, as one word each: who asks for a whole one gets it without a look at the many
comments that share its parts.
"""

# ruff: noqa: S608 - put together from constants only

from typing import Final

import peewee

from commentsvc.db.schema.comments import SiteTable, Table
from commentsvc.util.timestamps import DAY_MS


class FedTable(Table):
    """One row: all comments up to this id are in the index of words and in the tally."""

    id = peewee.AutoField()
    comment_id = peewee.IntegerField()

    class Meta:
        table_name = "fed"


class TallyTable(Table):
    """How many comments of a site that came on a day (of Unix time, UTC) have a status."""

    day = peewee.IntegerField()
    site = peewee.ForeignKeyField(SiteTable, index=False)
    status = peewee.TextField()
    number = peewee.IntegerField()

    class Meta:
        table_name = "tally"
        primary_key = peewee.CompositeKey("day", "site", "status")


TABLES: Final = (FedTable, TallyTable)

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
_FED: Final = "OLD.id <= (SELECT comment_id FROM fed)"
_LESS: Final = (
    f"UPDATE tally SET number = number - 1 WHERE day = OLD.created / {DAY_MS}"
    " AND site_id = OLD.site_id AND status = OLD.status"
)

# What peewee has no words for: the index (FTS5), and the triggers.
EXTRAS: Final = (
    "CREATE VIRTUAL TABLE search USING fts5(author, email, site, text, page,"
    " tokenize = 'unicode61 remove_diacritics 2', columnsize = 0)",
    "INSERT INTO fed (id, comment_id) VALUES (1, 0)",
    "CREATE TRIGGER comment_reworded AFTER UPDATE OF author, email, author_site, source, thread_id"
    f" ON comment WHEN {_FED} BEGIN DELETE FROM search WHERE rowid = OLD.id;"
    f" {_INDEX} = NEW.id; END",
    "CREATE TRIGGER thread_moved AFTER UPDATE OF url ON thread BEGIN UPDATE search"
    " SET page = NEW.url || ' ' || hex(NEW.url) WHERE rowid IN (SELECT id FROM comment"
    " WHERE thread_id = NEW.id AND status = 'approved' UNION ALL SELECT id FROM comment WHERE"
    " status <> 'approved' AND status IN ('pending', 'spam', 'deleted') AND thread_id = NEW.id);"
    " END",
    "CREATE TRIGGER comment_decided AFTER UPDATE OF status ON comment"
    f" WHEN OLD.status <> NEW.status AND {_FED} BEGIN {_LESS};"
    " INSERT INTO tally (day, site_id, status, number)"
    f" VALUES (NEW.created / {DAY_MS}, NEW.site_id,"
    " NEW.status, 1) ON CONFLICT DO UPDATE SET number = number + 1; END",
    "CREATE TRIGGER comment_erased AFTER DELETE ON comment"
    f" WHEN {_FED} BEGIN DELETE FROM search WHERE rowid = OLD.id; {_LESS}; END",
)

# Feeding: the comments with ids in a range, from and to bound.
INDEX: Final = f"{_INDEX} BETWEEN ? AND ?"
TALLY: Final = (
    "INSERT INTO tally (day, site_id, status, number)"
    f" SELECT created / {DAY_MS}, site_id, status, count(*) FROM comment WHERE id BETWEEN ? AND ?"
    " GROUP BY 1, 2, 3 ON CONFLICT DO UPDATE SET number = number + excluded.number"
)

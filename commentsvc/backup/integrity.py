"""Checks of the whole database file, for `commentsvc check`.

Each transaction also updates the counts of what it changes. Nothing corrects them silently: a wrong
count is a bug that somebody should report. So these checks only read.
"""

import itertools
import sqlite3
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec
import peewee
from peewee import JOIN, fn

from commentsvc.db.connection import Snapshot
from commentsvc.db.errors import DatabaseUnusable
from commentsvc.db.query import Select, literal
from commentsvc.db.schema.comments import (
    CommentTable,
    ReactionCountTable,
    ReactionTable,
    SiteTable,
    ThreadTable,
    VoteTable,
)
from commentsvc.db.schema.search import EXTRAS
from commentsvc.db.sqlite.connection import fault
from commentsvc.model import APPROVED, reaction_counts

FAULTS: Final = 100  # the most rows that are listed for each kind of fault

Parent = CommentTable.alias("parent")


def _counted(table: Any, name: peewee.Field, key: peewee.Field) -> Select:  # Any: a model's class
    """Return the query for rows whose count of comments is wrong; it gives both numbers."""
    number = fn.COUNT(CommentTable.id)
    is_its = (key == table.id) & (CommentTable.status == literal(APPROVED))
    return (
        table.select(name, table.count, number)
        .join(CommentTable, JOIN.LEFT_OUTER, on=is_its)
        .group_by(table.id)
        .having(table.count != number)
    )


# Rules between rows: the text of the fault, and the query for the rows that break the rule.
CHECKS: Final[tuple[tuple[str, Select], ...]] = (
    (
        "the thread {0} says that it has {1} approved comments, but it has {2}",
        _counted(ThreadTable, ThreadTable.url, CommentTable.thread),
    ),
    (
        "the site {0} says that it has {1} approved comments, but it has {2}",
        _counted(SiteTable, SiteTable.name, CommentTable.site),
    ),
    (
        "comment {0} is approved, but has no moment of publication",
        CommentTable.select(CommentTable.id).where(
            CommentTable.status == APPROVED, CommentTable.published_at.is_null()
        ),
    ),
    (
        "comment {0} is filed under another site than its thread",
        CommentTable.select(CommentTable.id)
        .join(ThreadTable)
        .where(CommentTable.site != ThreadTable.site),
    ),
    (
        "comment {0} answers comment {1}, which is in another thread",
        CommentTable.select(CommentTable.id, CommentTable.parent)
        .join(Parent, on=Parent.id == CommentTable.parent)
        .where(CommentTable.thread != Parent.thread),
    ),
    (
        "the thread of id {0} counts {2} reactions {1}, but {3} readers gave one",
        ReactionCountTable.select(
            ReactionCountTable.thread,
            ReactionCountTable.emoji,
            ReactionCountTable.count,
            fn.COUNT(ReactionTable.reader),
        )
        .join(
            ReactionTable,
            on=(ReactionTable.thread == ReactionCountTable.thread)
            & (ReactionTable.emoji == ReactionCountTable.emoji),
        )
        .group_by(ReactionCountTable.thread, ReactionCountTable.emoji)
        .having(ReactionCountTable.count < fn.COUNT(ReactionTable.reader)),
    ),
)
_REACTIONS: Final = (
    CommentTable.select(
        CommentTable.id, CommentTable.reactions, VoteTable.emoji, fn.COUNT(VoteTable.voter)
    )
    .join(
        VoteTable,
        JOIN.LEFT_OUTER,
        on=(VoteTable.comment == CommentTable.id) & (VoteTable.emoji != literal("")),
    )
    .where((CommentTable.reactions != literal("")) | VoteTable.emoji.is_null(False))
    .group_by(CommentTable.id, CommentTable.reactions, VoteTable.emoji)
)
# SQLite checks foreign keys only at a write, on a connection with foreign_keys=ON.
_REFERENCES: Final = (
    "{0} {1} refers to a {2} that does not exist",
    'SELECT "table", rowid, parent FROM pragma_foreign_key_check LIMIT ?',
)


def check(snapshot: Snapshot, on_progress: Callable[[float], None] = lambda _: None) -> list[str]:
    """Return what is wrong with the file, and which counts and positions do not fit the rows.

    `on_progress` is called with the share that is done, from 0 to 1. Raise sqlite3.Error if the
    file cannot be read now.
    """
    steps = len(CHECKS) + 4
    faults: list[str] = []
    if snapshot.IS_FILE:
        if faults := damage(snapshot):  # the rows of a damaged file cannot be trusted
            return [f"the file is damaged: {text}" for text in faults]
        on_progress(1 / steps)
        if faults := damaged_texts(snapshot):
            return faults[:FAULTS]
        faults = _foreign(snapshot)
    for number, (text, query) in enumerate(CHECKS, 2):
        on_progress(number / steps)
        faults.extend(text.format(*row) for row in snapshot.query(query.limit(FAULTS)))
    faults.extend(itertools.islice(_miscounted(snapshot), FAULTS))
    on_progress((steps - 1) / steps)
    if snapshot.IS_FILE:  # PostgreSQL refuses what is no UTF-8, and wrong references
        text, sql = _REFERENCES
        faults.extend(text.format(*row) for row in snapshot.execute(sql, (FAULTS,)))
    on_progress(1)
    return faults


def _miscounted(snapshot: Snapshot) -> Iterator[str]:
    """Yield which comments have other reactions than their readers gave; an import may add some."""
    for comment_id, stored, emoji, given in snapshot.each(_REACTIONS):
        try:
            counted = reaction_counts(stored).get(emoji, 0)
        except msgspec.MsgspecError:
            yield f"the reactions of comment {comment_id} cannot be read"
            continue
        if counted < given:
            yield f"comment {comment_id} counts {counted} reactions {emoji}, but {given} were given"


def _foreign(snapshot: Snapshot) -> list[str]:
    """Return which triggers and views are not ours: whoever made a backup may have put them in."""
    rows = snapshot.execute(
        "SELECT type, name, sql FROM sqlite_schema WHERE type IN ('trigger', 'view')"
    )
    return [
        f"the {kind} {name} is not of this program, and may change what is stored"
        for kind, name, sql in rows
        if sql not in EXTRAS
    ]


def damaged_texts(snapshot: Snapshot) -> list[str]:
    """Return which texts are not UTF-8, one line for each row and column; SQLite does not check."""
    faults = []
    for table in _tables(snapshot):
        columns = _texts(snapshot, table)
        row_id = "id" if table == "comment" else "rowid"
        if not columns:
            continue
        blobs = ", ".join(f'CAST("{column}" AS BLOB)' for column in columns)
        rows = snapshot.execute(f'SELECT {row_id}, {blobs} FROM "{table}"')  # noqa: S608 - our names
        for number, *texts in rows:
            for column, text in zip(columns, texts, strict=True):
                if not _is_utf8(text):
                    faults.append(f"{table} {number} is damaged: its {column} is not UTF-8")
    return faults


def _tables(snapshot: Snapshot) -> list[str]:
    """Return all tables but those of SQLite and those of the search index."""
    rows = snapshot.execute(
        "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'"
        " AND name NOT LIKE 'sqlite~_%' ESCAPE '~' AND NOT wr"
    )
    return [name for (name,) in rows.fetchall()]


def _texts(snapshot: Snapshot, table: str) -> list[str]:
    rows = snapshot.execute("SELECT name FROM pragma_table_info(?) WHERE type = 'TEXT'", (table,))
    return [name for (name,) in rows.fetchall()]


def _is_utf8(text: bytes | None) -> bool:
    try:
        (text or b"").decode()
    except UnicodeDecodeError:
        return False
    return True


def damage(snapshot: Snapshot) -> list[str]:
    """Return what SQLite finds wrong with the file; [] if nothing. Raise as `check` does."""
    try:
        found = snapshot.execute(f"PRAGMA integrity_check({FAULTS})").fetchall()
    except sqlite3.Error as error:
        if not isinstance(fault(error), DatabaseUnusable):
            raise
        return [str(error)]
    return [" ".join(text.split()) for (text,) in found if text != "ok"]

"""What must hold in the whole file, and whether it does: for `commentsvc check`.

Counts are kept by the transactions that change what is counted, and nothing repairs them
in silence: a difference is a fault of ours that somebody should report. So this only looks.
"""

import sqlite3
from collections.abc import Callable
from typing import Final

from commentsvc.db.sqlite import DatabaseUnusable, Reader, fault

FAULTS: Final = 100  # rows that are named per kind of fault

# What must hold between the rows: the fault's text, and the query for its rows (without LIMIT).
CHECKS: Final = (
    (
        "the thread {0} says that it has {1} approved comments, but it has {2}",
        "SELECT t.url, t.count, count(c.id) FROM thread AS t LEFT JOIN comment AS c"
        " ON c.thread_id = t.id AND c.status = 'approved'"
        " GROUP BY t.id HAVING t.count <> count(c.id)",
    ),
    (
        "the site {0} says that it has {1} approved comments, but it has {2}",
        "SELECT s.name, s.count, count(c.id) FROM site AS s LEFT JOIN comment AS c"
        " ON c.site_id = s.id AND c.status = 'approved'"
        " GROUP BY s.id HAVING s.count <> count(c.id)",
    ),
    (
        "comment {0} is approved, but has no moment of publication",
        "SELECT id FROM comment WHERE status = 'approved' AND published_at IS NULL",
    ),
    (
        "comment {0} is filed under another site than its thread",
        "SELECT c.id FROM comment AS c JOIN thread AS t ON t.id = c.thread_id"
        " WHERE c.site_id <> t.site_id",
    ),
    (
        "comment {0} answers comment {1}, which is in another thread",
        "SELECT c.id, c.parent_id FROM comment AS c JOIN comment AS p ON p.id = c.parent_id"
        " WHERE c.thread_id <> p.thread_id",
    ),
    (
        "{0} {1} refers to a {2} that does not exist",
        'SELECT "table", rowid, parent FROM pragma_foreign_key_check',
    ),
)


def check(reader: Reader, told: Callable[[float], None] = lambda _: None) -> list[str]:
    """What is wrong with the file, and with counts and places against the rows; [] if nothing.

    `told` is called with the share that is done. Raises sqlite3.Error where the file cannot be read
    just now.
    """
    steps = len(CHECKS) + 2
    if faults := damage(reader):  # what the rows of a damaged file say is worth nothing
        return [f"the file is damaged: {text}" for text in faults]
    told(1 / steps)
    if faults := damaged_texts(reader):
        return faults[:FAULTS]
    for number, (text, sql) in enumerate(CHECKS, 2):
        told(number / steps)
        rows = reader.execute(f"{sql} LIMIT {FAULTS}").fetchall()
        faults.extend(text.format(*row) for row in rows)
    told(1)
    return faults


def damaged_texts(reader: Reader) -> list[str]:
    """Which texts are not UTF-8, which SQLite does not look at; a text for each row and column."""
    faults = []
    for table in _tables(reader):
        columns = _texts(reader, table)
        row_id = "id" if table == "comment" else "rowid"
        if not columns:
            continue
        blobs = ", ".join(f'CAST("{column}" AS BLOB)' for column in columns)
        rows = reader.execute(f'SELECT {row_id}, {blobs} FROM "{table}"')  # noqa: S608 - our names
        for number, *texts in rows:
            for column, text in zip(columns, texts, strict=True):
                if not _is_utf8(text):
                    faults.append(f"{table} {number} is damaged: its {column} is not UTF-8")
    return faults


def _tables(reader: Reader) -> list[str]:
    """All tables but SQLite's own and those of the search index, which is made of the others."""
    rows = reader.execute(
        "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'"
        " AND name NOT LIKE 'sqlite~_%' ESCAPE '~' AND NOT wr"
    )
    return [name for (name,) in rows.fetchall()]


def _texts(reader: Reader, table: str) -> list[str]:
    rows = reader.execute("SELECT name FROM pragma_table_info(?) WHERE type = 'TEXT'", (table,))
    return [name for (name,) in rows.fetchall()]


def _is_utf8(text: bytes | None) -> bool:
    try:
        (text or b"").decode()
    except UnicodeDecodeError:
        return False
    return True


def damage(reader: Reader) -> list[str]:
    """What SQLite finds wrong with the file itself; [] if nothing. Raises as `check` does."""
    try:
        found = reader.execute(f"PRAGMA integrity_check({FAULTS})").fetchall()
    except sqlite3.Error as error:
        if not isinstance(fault(error), DatabaseUnusable):
            raise
        return [str(error)]
    return [" ".join(text.split()) for (text,) in found if text != "ok"]

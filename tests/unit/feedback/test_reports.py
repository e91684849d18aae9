"""Reports; their requests are tested with the API, in test_author.py."""

from pathlib import Path
from typing import Any

import pytest

from commentsvc.db.postgresql.schema import ENGINE
from commentsvc.db.query import ids_text
from commentsvc.db.schema.comments import CommentTable
from commentsvc.feedback import reports
from tests.unit.database_fixture import add, opened

COPIED = [
    column.column_name
    for column in CommentTable._meta.sorted_fields
    if column.column_name not in {"id", "key"}
]


@pytest.mark.postgresql_only("SQLite needs no statistics for its plans")
def test_comments_with_reports_are_found_without_reading_the_others(tmp_path: Path) -> None:
    """Regression: PostgreSQL took an empty table for 1,000 rows, and read all comments."""
    columns = ", ".join(COPIED)
    many = f"INSERT INTO comment ({columns}) SELECT {columns} FROM comment, generate_series(1, %s)"
    sql, _ = reports._reported.made_for(ENGINE)

    def explain(tx: Any) -> list[str]:  # Any: psycopg's connection is behind it
        tx._connection.run(many, (20_000,))
        tx._connection.run("ANALYZE comment")  # PostgreSQL does so soon, but not for empty tables
        values = (ids_text([1, 2]), 50, 0)
        return [row[0] for row in tx._connection.run(f"EXPLAIN {sql}", values)]

    with opened(tmp_path) as database:
        add(database)
        steps = database.write_now(explain)
    [read] = [number for number, step in enumerate(steps) if " on comment " in step]
    assert "using comment_pkey" in steps[read]
    assert "Index Cond: (id = ANY" in steps[read + 1]

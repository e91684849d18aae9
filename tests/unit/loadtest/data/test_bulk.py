"""loadtest/data/bulk.py: what is made by SQL is what the program would have stored."""

import sqlite3
from contextlib import closing
from pathlib import Path

from commentsvc.comments.markdown import render
from loadtest.data import bulk


def test_the_html_is_what_the_renderer_makes_of_the_source(tmp_path: Path) -> None:
    path = tmp_path / "comments.sqlite"
    bulk.make(path, 5_000, 5)
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT source, html FROM comment").fetchall()
    assert len(rows) == 5_000
    assert all(html == render(source) for source, html in rows)

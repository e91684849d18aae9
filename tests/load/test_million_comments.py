"""A million comments: every list of moderators begins by an index and is there at once.

MANY_COMMENTS says how many there are instead. The bound on the time is generous, since a machine
may be busy; `python -m loadtest admin-pages` measures it.
"""

import os
import re
import sqlite3
import statistics
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from commentsvc.db import sqlite
from commentsvc.db.sqlite import Reader
from loadtest.data import bulk
from loadtest.workloads import admin_pages

NUMBER = int(os.environ.get("MANY_COMMENTS", "1_000_000"))
BOUND = 0.5  # seconds; the pages have 0.1 in all
ROUNDS = 3

# What may be walked: tables that stay small, what is walked backwards and stops, words by the
# index of FTS5, ids that a search has found, threads for a text in their address.
MAY_SCAN = re.compile(
    r"SCAN (site|s|ban|search_state|sqlite_sequence|f VIRTUAL TABLE .*|search VIRTUAL TABLE"
    r" INDEX .*"
    r"|\(.*\)|t|y)"
    r"( USING .*)?|SCAN CONSTANT ROW"
)
ASKS = admin_pages.questions(NUMBER)


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    path: Path = tmp_path_factory.mktemp("million") / "comments.sqlite3"
    bulk.make(path, NUMBER, words=3)
    with closing(sqlite.connect(path, 5, "query_only=1")) as connection:
        yield connection
    path.unlink()


@pytest.mark.parametrize("name", ASKS)
def test_nothing_takes_longer_with_a_million_comments(
    connection: sqlite3.Connection, name: str
) -> None:
    times: list[float] = []
    asked: list[str] = []
    connection.set_trace_callback(asked.append)
    for _ in range(ROUNDS):
        start = time.process_time()
        ASKS[name](Reader(connection))
        times.append(time.process_time() - start)
    connection.set_trace_callback(None)
    assert statistics.median(times) < BOUND
    # Those that name the schema are FTS5's own.
    queries = {sql for sql in asked if sql.startswith("SELECT") and "'main'." not in sql}
    assert queries
    for sql in queries:
        steps = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}")]
        scans = [step for step in steps if step.startswith("SCAN")]
        assert all(map(MAY_SCAN.fullmatch, scans)), (sql, steps)
        if "FROM comment" in sql and "GROUP BY" not in sql:
            assert not [step for step in steps if "TEMP B-TREE" in step], (sql, steps)


def test_the_crowd_is_what_its_counts_say(connection: sqlite3.Connection) -> None:
    [(number,)] = connection.execute("SELECT count(*) FROM comment").fetchall()
    assert number == NUMBER
    wrong = connection.execute(
        "SELECT count(*) FROM site WHERE count <> (SELECT count(*) FROM comment"
        " WHERE site_id = site.id AND status = 'approved')"
    )
    assert wrong.fetchall() == [(0,)]

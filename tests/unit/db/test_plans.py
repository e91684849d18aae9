"""The queries that requests run find their rows by an index, and do not sort them."""

import sqlite3
from collections.abc import Iterator
from types import ModuleType

import pytest

from commentsvc import outbox
from commentsvc.comments import create, queries
from commentsvc.db.connection import Snapshot
from commentsvc.db.database import Database
from commentsvc.db.query import Prepared
from commentsvc.moderation import changes, history, undo
from tests.unit.database_fixture import opened

pytestmark = pytest.mark.sqlite_only("it looks at SQLite's plan")


def of(module: ModuleType) -> dict[str, Prepared]:
    found = {name: value for name, value in vars(module).items() if isinstance(value, Prepared)}
    return {f"{module.__name__}.{name}": query for name, query in found.items()}


QUERIES = of(create) | of(queries) | of(changes) | of(history) | of(undo)
# They scan the whole table backwards, and stop early.
WALKS = [queries._listing, queries._listing_approved]
# It sorts the comments of a thread: see the indexes in db.schema.comments.
SORTS = [queries._top]
# They scan the list of ids that they are given.
GIVEN = [queries._find_anchors, queries._deleted_above]


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory, engine: str) -> Iterator[Database]:
    with opened(tmp_path_factory.mktemp("plans")) as database:
        yield database


def rows(database: Database, explain: str, query: Prepared) -> list[tuple[object, ...]]:
    def read(snapshot: Snapshot) -> list[tuple[object, ...]]:
        return snapshot.execute(f"{explain} {query.sql}", [None] * query.sql.count("?")).fetchall()

    return database.read_now(read)


def plan(database: Database, query: Prepared) -> list[str]:
    return [str(row[3]) for row in rows(database, "EXPLAIN QUERY PLAN", query)]


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_neither_scans_nor_sorts(database: Database, name: str) -> None:
    query = QUERIES[name]
    steps = plan(database, query)
    if query in WALKS:
        assert [step for step in steps if "SCAN" in step] == ["SCAN t1"]
    elif query in GIVEN:
        assert [step for step in steps if "USING INTEGER PRIMARY KEY (rowid=?)" in step]
        assert not {"SCAN t1", "SCAN t2"} & {*steps}
    else:
        assert not [step for step in steps if step.startswith("SCAN")]
    if query not in (*SORTS, *GIVEN):
        assert not [step for step in steps if "TEMP B-TREE" in step]


@pytest.mark.parametrize("query", [create._INSERT, outbox.insert_submitted])
def test_a_row_is_checked_without_a_table_made_for_it(database: Database, query: Prepared) -> None:
    steps = [row[1] for row in rows(database, "EXPLAIN", query)]
    assert "Insert" in steps
    assert "OpenEphemeral" not in steps


@pytest.mark.parametrize("query", [queries._oldest, queries._newest])
def test_a_list_by_time_goes_on_by_its_index(database: Database, query: Prepared) -> None:
    [step] = plan(database, query)
    assert "USING INDEX comment_by_time (thread_id=? AND " in step


def test_the_list_by_votes_reads_its_thread_alone(database: Database) -> None:
    assert plan(database, queries._top)[0].endswith("USING INDEX comment_by_time (thread_id=?)")


def test_sqlite_is_new_enough_for_strict_tables() -> None:
    assert sqlite3.sqlite_version_info >= (3, 37)

"""Many submissions at once have the same outcome as one by one, whatever is among them."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from commentsvc.backup import integrity
from commentsvc.comments import create, images
from commentsvc.comments.create import InsertResult, NewComment, add
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.database import Database
from commentsvc.db.schema.comments import (
    CommentImageTable,
    CommentTable,
    ProposedTitleTable,
    SiteTable,
    ThreadTable,
)
from commentsvc.db.writer import BatchOperation
from commentsvc.errors import KeyConflict
from commentsvc.moderation import threads
from tests.unit.database_fixture import HOUR, NOW, forget, held, new, opened

Outcome = InsertResult | Exception

OAK = f"{'0' * 32}-40x30"  # the name of an image

submissions = st.builds(
    new,
    url=st.sampled_from(["/a/", "/b/", "/old/"] * 3 + ["/closed/"]),
    title=st.sampled_from(["", "Title", "Other"]),
    site=st.sampled_from(["blog"] * 9 + ["nobody's"]),
    author=st.sampled_from(["Ann", "Bob"]),
    status=st.sampled_from(["approved", "pending"]),
    parent=st.sampled_from([None] * 9 + [1, 99]),
    key=st.integers(0, 20).map("key {}".format),
    derived=st.booleans(),
    any_parent=st.booleans(),
    source=st.sampled_from(["Hi", f"![Oak](image:{OAK})"]),
)


def outcomes(
    database: Database, bulk: BatchOperation[Any, InsertResult], items: list[NewComment]
) -> list[Outcome]:
    """Return the outcomes of `items` when all of them wait for the writer at the same time."""

    async def submit() -> list[Any]:  # Any: gather's own type
        go_on = held(database)
        waiting = [
            asyncio.ensure_future(database.write_each(bulk, (item, NOW + number * HOUR // 2)))
            for number, item in enumerate(items)
        ]
        await asyncio.sleep(0)
        go_on.set()
        return await asyncio.gather(*waiting, return_exceptions=True)

    return asyncio.run(submit())


def arrange(tx: Transaction) -> None:
    """Make a page that moved from /old/ to /b/, and a closed one; store an image."""
    tx.change(images.put_row, "blog", OAK, b"webp", NOW, None)
    for url in ("/b/", "/closed/"):
        add(tx, new(url=url, key=f"first of {url}"), NOW)
    threads.add_alias(tx, "blog", "/b/", "/old/")
    threads.set_state(tx, "blog", "/closed/", "closed")


# Which table's ids are in a column.
ID_OF = {"thread_id": "thread", "alias_id": "thread", "comment_id": "comment"}


def rows(snapshot: Snapshot) -> dict[str, list[dict[str, Any]]]:  # Any: the engine's columns
    """Return all rows that a submission changes.

    An id is told by its place among those of its table, since PostgreSQL does not use again the ids
    of work that was undone.
    """
    found: dict[str, list[dict[str, Any]]] = {}
    positions: dict[str, dict[int, int]] = {}
    for model in (SiteTable, ThreadTable, CommentTable, ProposedTitleTable, CommentImageTable):
        table, columns = model._meta.table_name, model._meta.sorted_fields
        names = [column.column_name for column in columns]
        all_of = snapshot.query(model.select().order_by(columns[0]))
        found[table] = [dict(zip(names, row, strict=True)) for row in all_of]
        ids = (row.get("id", 0) for row in found[table])
        positions[table] = {number: position for position, number in enumerate(ids, 1)}
    for table, all_rows in found.items():
        for row in all_rows:
            for name, of in {**ID_OF, "id": table}.items():
                if row.get(name) is not None:
                    row[name] = positions[of][row[name]]
    return found


def comparable(outcomes: list[Outcome]) -> list[str]:
    """Return what outcomes say; an id is told by its place among theirs."""
    results = [each for each in outcomes if isinstance(each, InsertResult)]
    positions = {
        name: {number: position for position, number in enumerate(sorted(ids))}
        for name in ("id", "thread_id")
        for ids in [{getattr(each.comment, name) for each in results}]
    }
    return [
        repr(
            replace(
                each,
                comment=replace(
                    each.comment,
                    id=positions["id"][each.comment.id],
                    thread_id=positions["thread_id"][each.comment.thread_id],
                ),
            )
            if isinstance(each, InsertResult)
            else each
        )
        for each in outcomes
    ]


def refuse(tx: Transaction, items: object) -> list[InsertResult]:
    raise KeyConflict("each alone")


several = st.lists(submissions, min_size=2, max_size=8)


@given(several)
@pytest.mark.sqlite_only("PostgreSQL has fewer examples, below")
def test_many_at_once_have_the_outcome_of_each_alone(
    tmp_path_factory: pytest.TempPathFactory, items: list[NewComment]
) -> None:
    """Duplicates, conflicts, unknown parents and unknown sites are among them, in any order."""
    compare(tmp_path_factory, items)


@settings(max_examples=20)
@given(several)
@pytest.mark.postgresql_only("SQLite has more examples, above")
def test_many_at_once_have_that_outcome_with_postgresql(
    tmp_path_factory: pytest.TempPathFactory, items: list[NewComment]
) -> None:
    forget()
    compare(tmp_path_factory, items)


def compare(tmp_path_factory: pytest.TempPathFactory, items: list[NewComment]) -> None:
    """Submit `items` to one service together, and to another one by one."""
    alone = BatchOperation(create.ADD.one, refuse)
    folders = [tmp_path_factory.mktemp("together"), tmp_path_factory.mktemp("alone")]
    with opened(folders[0]) as together, opened(folders[1]) as one_by_one:
        together.write_now(arrange)
        one_by_one.write_now(arrange)
        first = outcomes(together, create.ADD, items)
        second = outcomes(one_by_one, alone, items)
        assert comparable(first) == comparable(second)
        for database in (together, one_by_one):  # each transaction counts as one version
            database.write_now(lambda tx: tx.change(ThreadTable.update(version=0)))
        assert together.read_now(rows) == one_by_one.read_now(rows)
        assert together.read_now(integrity.check) == []


@pytest.mark.sqlite_only("SQLite tells each statement")
def test_plain_neighbours_share_their_statements(tmp_path: Path) -> None:
    statements: list[str] = []
    tags: list[str] = []
    with opened(tmp_path, tags.extend) as database:
        database.write_now(
            lambda tx: tx.execute("SELECT 1").connection.set_trace_callback(
                lambda sql: statements.append(sql.split(" ")[0])
            )
        )
        added = outcomes(database, create.ADD, [new() for _ in range(5)])
    assert [a.comment.id for a in added if isinstance(a, InsertResult)] == [1, 2, 3, 4, 5]
    assert statements.count("INSERT") == 1 + 5 + 1, "the thread, each comment, the outbox"
    assert statements.count("UPDATE") == 2, "the thread's count, and the site's"
    assert statements.count("SAVEPOINT") <= 2, "one for what held the writer, one for all"
    assert tags == ["thread:blog:/post/", "site:blog"]


def test_one_repeat_among_many_undoes_and_repeats_them_one_by_one(tmp_path: Path) -> None:
    tags: list[str] = []
    with opened(tmp_path, tags.extend) as database:
        first = new(key="the same key")
        database.write_now(add, first, NOW)
        tags.clear()
        added = outcomes(database, create.ADD, [new(url="/1/"), first, new(url="/2/")])
        assert [a.repeated for a in added if isinstance(a, InsertResult)] == [False, True, False]
        assert tags == ["thread:blog:/1/", "site:blog", "thread:blog:/post/", "thread:blog:/2/"]
        assert database.read_now(integrity.check) == []

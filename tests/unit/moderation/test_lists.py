"""The lists for moderators: complete, by page and by site, and each with its index."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from commentsvc import model
from commentsvc.comments import pagination, queries, site_rows
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.database import Database
from commentsvc.db.postgresql.schema import ENGINE
from commentsvc.db.query import Prepared
from commentsvc.db.schema.comments import CommentTable
from commentsvc.errors import BadCursor
from commentsvc.moderation import lists
from commentsvc.moderation.lists import ReviewFilter, StoredVerdict
from tests.unit.database_fixture import NOW, add, opened, plan


@pytest.fixture(scope="module")
def database(engine: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """Three sites with 300 comments of every status; many were published at the same moment."""
    random = Random(3)
    with opened(tmp_path_factory.mktemp("review")) as database:
        database.write_now(site_rows.sync, ["notes", "empty"])
        for _ in range(300):
            add(
                database,
                NOW + random.randrange(20),
                site=random.choice(["blog", "blog", "notes"]),
                status=random.choice(model.STATUSES),
            )
        yield database


# What is asked for, and the sites that it means.
SITES: dict[str, list[str] | None] = {
    "": None,
    "blog": ["blog"],
    "notes": ["notes"],
    "empty": ["empty"],
    "nobody's": ["nobody's"],
    "blog and notes": ["blog", "notes"],
    "none": [],
}


def walk(database: Database, status: str, site: str, limit: int) -> list[int]:
    ids: list[int] = []
    after: str | None = None
    while True:
        read = partial(lists.list_page, status=status, sites=SITES[site], limit=limit, after=after)
        sheet = database.read_now(read)
        assert len(sheet.items) <= limit
        ids += [entry.comment.id for entry in sheet.items]
        if sheet.next is None:
            return ids
        after = sheet.next


@pytest.mark.parametrize("site", SITES)
@pytest.mark.parametrize("status", model.STATUSES)
def test_the_ids_of_a_whole_list_are_those_of_its_pieces(
    database: Database, status: str, site: str
) -> None:
    pieces = walk(database, status, site, 50)
    assert database.read_now(lists.newest_ids, status, SITES[site], 1_000) == pieces
    assert database.read_now(lists.newest_ids, status, SITES[site], 7) == pieces[:7]


@pytest.mark.parametrize("limit", [1, 7, 1_000])
@pytest.mark.parametrize("site", SITES)
@pytest.mark.parametrize("status", model.STATUSES)
def test_a_list_has_each_comment_once_the_newest_first(
    database: Database, status: str, site: str, limit: int
) -> None:
    everything = database.read_now(queries.listing, None, 1_000)
    right = [
        entry.comment
        for entry in everything
        if entry.comment.status == status and (not site or entry.site in (SITES[site] or []))
    ]
    if status == "approved":
        right.sort(key=lambda comment: (comment.published_at, comment.id), reverse=True)
    assert walk(database, status, site, limit) == [comment.id for comment in right]


@pytest.mark.parametrize("status", model.STATUSES)
def test_a_list_of_long_comments_comes_in_short_parts_and_is_whole(
    database: Database, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = walk(database, status, "", 1_000)
    one = database.read_now(lists.list_page, status, None, 1, None).items[0].comment
    monkeypatch.setattr(pagination, "TEXTS", 3 * pagination._size(one))
    assert len(database.read_now(lists.list_page, status, None, 9, None).items) == 3
    assert walk(database, status, "", 9) == whole


@pytest.mark.parametrize("after", ["", "1", "x.1", "1.-1", f"{10**19}.1"])
def test_only_the_end_of_a_page_of_the_list_is_a_position_to_go_on(
    database: Database, after: str
) -> None:
    with pytest.raises(BadCursor):
        database.read_now(lists.list_page, "spam", None, 5, after)


@pytest.mark.postgresql_only("SQLite has no statistics that lead to another plan")
@pytest.mark.parametrize("queries", [lists.ENTRIES, lists.POSITIONS])
def test_an_empty_queue_reads_no_other_comments(
    database: Database, queries: lists.ListQueries
) -> None:
    """Regression: PostgreSQL read all comments for it, from the newest on."""
    sql, indexes = queries.unapproved.made_for(ENGINE)
    values = ("pending", NOW, 50)

    def explain(tx: Any) -> list[str]:  # Any: psycopg's connection is behind it
        tx._connection.run("ANALYZE comment")
        for scan in ("seqscan", "bitmapscan", "sort"):  # of a test's few rows
            tx._connection.run(f"SET LOCAL enable_{scan} = off")
        bound = [values[index] for index in indexes]
        return [row[0] for row in tx._connection.run(f"EXPLAIN {sql}", bound)]

    steps = database.write_now(explain)
    [read] = [step for step in steps if " on comment " in step]
    assert "Backward using comment_by_status" in read
    assert not [step for step in steps if "Sort" in step]


def test_what_waits_is_numbered(database: Database) -> None:
    numbers = database.read_now(lists.numbers)
    for status in ("pending", "spam"):
        assert numbers.pop(status) == len(walk(database, status, "", 1_000))
    assert numbers == {"reported": 0}
    of_two = database.read_now(lists.numbers, ["notes", "empty"])
    of_notes = {s: len(walk(database, s, "notes", 1_000)) for s in ("pending", "spam")}
    assert of_two == of_notes | {"reported": 0}


@pytest.mark.parametrize("sites", [None, ["blog"], ["notes"], []])
@pytest.mark.parametrize("oldest_first", [False, True])
@pytest.mark.parametrize("score", [0, 1])
def test_a_filtered_list_has_each_comment_that_fits_once_in_its_order(
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
    sites: list[str] | None,
    oldest_first: bool,
    score: int,
) -> None:
    """Also if only some of them can be examined for one page."""
    monkeypatch.setattr(lists, "EXAMINED", 20)
    wanted = ReviewFilter(oldest_first=oldest_first, score=score, page="POST")
    everything = [*reversed(database.read_now(queries.listing, None, 1_000))]
    right = sorted(
        (
            entry.comment.id
            for entry in everything
            if entry.comment.status == "spam" and (sites is None or entry.site in sites)
        ),
        reverse=not oldest_first,
    )
    found: list[int] = []
    after: str | None = None
    for _ in range(100):
        sheet = database.read_now(lists.filtered_page, "spam", sites, 7, after, wanted)
        found += [entry.comment.id for entry in sheet.items]
        after = sheet.next
        if after is None:
            break
    assert found == ([] if score else right)
    assert database.read_now(lists.filtered_ids, "spam", sites, 1_000, wanted) == found


def test_a_filter_takes_its_words_literally_and_finds_parts_of_them(tmp_path: Path) -> None:
    with opened(tmp_path) as database:
        rosa = add(
            database,
            status="pending",
            author="Rosa",
            email="r@x.example",
            score=8,
            url="/a_b/",
            language="de-AT",
        ).comment.id
        other = add(database, status="pending", author="100%", url="/aXb/").comment.id
        austrian = CommentTable.update(lang="de-AT").where(CommentTable.id == rosa)
        database.write_now(Transaction.change, austrian)
        for wanted, ids in (
            (ReviewFilter(author="rOS"), [rosa]),
            (ReviewFilter(author="@x.ex"), [rosa]),
            (ReviewFilter(author="%"), [other]),
            (ReviewFilter(page="a_b"), [rosa]),
            (ReviewFilter(page="/a"), [other, rosa]),
            (ReviewFilter(score=8), [rosa]),
            (ReviewFilter(score=9), []),
            (ReviewFilter(oldest_first=True), [rosa, other]),
            (ReviewFilter(language="de"), [rosa]),
            (ReviewFilter(language="d"), []),
        ):
            sheet = database.read_now(lists.filtered_page, "pending", None, 9, None, wanted)
            assert [entry.comment.id for entry in sheet.items] == ids, wanted


@pytest.mark.sqlite_only("it looks at SQLite's plan")
@pytest.mark.parametrize("oldest_first", [False, True])
def test_a_filtered_list_is_examined_by_the_index_of_the_queue(
    database: Database, monkeypatch: pytest.MonkeyPatch, oldest_first: bool
) -> None:
    asked: list[Any] = []  # Any: peewee's queries

    def note(_: Snapshot, query: object, *_values: object) -> list[object]:
        asked.append(query)
        return []

    monkeypatch.setattr(Snapshot, "query", note)
    wanted = ReviewFilter(oldest_first=oldest_first)
    database.read_now(lists.filtered_ids, "spam", None, 9, wanted)
    monkeypatch.undo()
    [step] = plan(database, asked[0])
    assert "USING COVERING INDEX comment_by_status (status=? AND id" in step


@pytest.mark.sqlite_only("it looks at SQLite's plan")
@pytest.mark.parametrize(
    ("query", "values", "index"),
    [
        (query, values, index)
        for queries in (lists.ENTRIES, lists.POSITIONS)
        for query, values, index in [
            (queries.unapproved, ("spam", 99, 9), "comment_by_status (status=? AND id<?)"),
            (
                queries.unapproved_of_site,
                ("spam", 99, 9, 1),
                "comment_by_status (status=? AND id<?)",
            ),
            (queries.approved_of_site, (1, NOW, 9, 9), "comment_latest (site_id=? AND "),
        ]
    ]
    + [(lists.count_of, ("spam",), "comment_by_status (status=?)")],
)
def test_each_list_begins_by_its_index_and_stops(
    database: Database, query: Prepared, values: Sequence[object], index: str
) -> None:
    steps = plan(database, query, *values)
    read = [step for step in steps if step != "SCAN some"]  # scans the rows that were found
    assert not [step for step in read if step.startswith("SCAN") or "TEMP B-TREE" in step]
    assert [step for step in steps if index in step], steps


def test_a_verdict_is_told_with_its_reasons(tmp_path: Path) -> None:
    with opened(tmp_path) as database:
        plain = add(database).comment.id
        doubted = add(database, score=8, reasons="links +5 3\nrepeated +3").comment.id
        found = database.read_now(lists.verdicts_of, [plain, doubted, 77])
        assert found == {doubted: StoredVerdict(8, ("links +5 3", "repeated +3"))}
        assert database.read_now(lists.verdicts_of, []) == {}

"""Queries are compiled to SQL once, and get their values at each call."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from commentsvc.db.database import Database
from commentsvc.db.query import Among, Param, Select, ids_text, literal, prepared
from commentsvc.db.schema.comments import CommentTable, SiteTable
from commentsvc.db.schema.outbox import UsedLinkTable
from tests.unit.database_fixture import NOW, add, opened, plan


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with opened(tmp_path) as database:
        yield database


def test_a_value_may_stand_at_several_positions_beside_constants(database: Database) -> None:
    @prepared
    def find(name: Param, other: Param) -> Select:
        return SiteTable.select(SiteTable.name, other, "constant", name).where(
            SiteTable.name == name
        )

    for other in (7, 8):
        assert database.read_now(lambda snapshot: snapshot.query(find, "blog", other)) == [  # noqa: B023 - called at once
            ("blog", other, "constant", "blog")
        ]
    assert database.read_now(lambda snapshot: snapshot.first(find, "nobody", 7)) is None


@pytest.mark.parametrize("among", [[], [2], [3, 1], [*range(2, 500)]])
def test_one_value_holds_a_list_of_ids(database: Database, among: list[int]) -> None:
    @prepared
    def find(ids: Param) -> Select:
        query = CommentTable.select(CommentTable.id).where(Among(CommentTable.id, ids))
        return query.order_by(CommentTable.id)

    for number in range(3):
        add(database, key=f"key {number}")
    rows = database.read_now(lambda snapshot: snapshot.query(find, ids_text(among)))
    assert rows == [(number,) for number in (1, 2, 3) if number in among]


def test_sql_is_made_once() -> None:
    made = []

    @prepared
    def find(name: Param) -> Select:
        made.append(name)
        return SiteTable.select(SiteTable.id).where(SiteTable.name == name)

    first = find.bound(["blog"])
    assert find.bound(["other"]) == (first[0], ["other"])
    assert len(made) == 1


def test_constants_are_part_of_the_sql() -> None:
    """With parameters, SQLite plans anew for values that it compares with a partial index's."""

    @prepared
    def find(name: Param) -> Select:
        return CommentTable.select(CommentTable.id, "it's").where(
            CommentTable.status != "approved", CommentTable.author == name, CommentTable.votes > 3
        )

    sql, values = find.bound(["Ann"])
    assert values == ["Ann"]
    assert all(constant in sql for constant in ("'it''s'", "!= 'approved'", "> 3"))


def test_values_are_bound_as_they_are(database: Database) -> None:
    @prepared
    def spend(digest: Param, until: Param) -> Select:
        return UsedLinkTable.insert(digest=digest, expires_at=until).on_conflict(
            action="NOTHING", conflict_target=[UsedLinkTable.digest]
        )

    rows = [(b"\0'", 1), (b"%s?", 2), (b"\0'", 3)]
    assert database.write_now(lambda tx: tx.change_each(spend, rows)) == 2
    assert database.write_now(lambda tx: tx.change(spend, b"%s?", 4)) == 0
    kept = UsedLinkTable.select(UsedLinkTable.expires_at).order_by(UsedLinkTable.expires_at)
    assert database.read_now(lambda snapshot: [*snapshot.each(kept)]) == [(1,), (2,)]


@pytest.mark.sqlite_only("it looks at SQLite's plan")
def test_a_literal_lets_an_index_of_some_rows_be_used(database: Database) -> None:
    spam = CommentTable.select(CommentTable.id).where(CommentTable.status == "spam")
    narrowed = spam.where(CommentTable.status != literal("approved"))
    assert "comment_by_status" not in plan(database, spam)[0]
    assert "comment_by_status" in plan(database, narrowed)[0]


def test_the_greatest_id_is_known_also_when_its_row_is_gone(database: Database) -> None:
    assert database.read_now(lambda snapshot: snapshot.last_id("comment")) == 0
    last = add(database, NOW).comment.id
    gone = CommentTable.delete().where(CommentTable.id == last)
    assert database.write_now(lambda tx: tx.change(gone)) == 1
    assert database.read_now(lambda snapshot: snapshot.last_id("comment")) == last

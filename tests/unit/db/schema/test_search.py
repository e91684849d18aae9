"""The search index follows the other tables, and finds single words and whole addresses."""

from pathlib import Path

import pytest

from commentsvc.comments import search
from commentsvc.db.connection import Snapshot
from commentsvc.db.database import Database
from tests.unit.database_fixture import add, opened

pytestmark = pytest.mark.sqlite_only("PostgreSQL has a column for it, and no table")


def indexed(snapshot: Snapshot) -> list[tuple[object, ...]]:
    return snapshot.execute("SELECT rowid, * FROM search").fetchall()


def test_an_address_stands_in_the_index_by_parts_and_whole(tmp_path: Path) -> None:
    with opened(tmp_path) as database:
        add(database, email="A.b@Post.example", author="Ann", source="Hi", url="/p/")
        assert database.read_now(indexed) == []
        database.write_now(search.index_pending, 9)
        whole = [text.encode().hex().upper() for text in ("a.b@post.example", "@post.example")]
        email = f"A.b@Post.example {whole[0]} {whole[1]}"
        assert database.read_now(indexed) == [(1, "Ann", email, "", "Hi", "/p/ 2F702F")]


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE comment SET source = 'x'",
        "UPDATE comment SET status = 'spam'",
        "UPDATE thread SET url = '/x/'",
        "DELETE FROM comment",
    ],
)
def test_what_is_not_fed_yet_is_not_touched(tmp_path: Path, change: str) -> None:
    with opened(tmp_path) as database:
        add(database)
        database.write_now(lambda tx: tx.execute(change))
        assert database.read_now(indexed) == []
        assert daily_stats(database) == []


def daily_stats(database: Database) -> list[tuple[object, ...]]:
    return database.read_now(
        lambda snapshot: snapshot.execute("SELECT * FROM daily_stats").fetchall()
    )

"""A query that runs for many rows at once does what it does for each."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from commentsvc import model
from commentsvc.comments import create, queries, site_rows
from commentsvc.db.database import Database
from tests.unit.database_fixture import NOW, add, opened

NEW: dict[str, object] = {
    "site": 2,
    "thread": 3,
    "parent": 7,
    "status": "pending",
    "author": "Ann",
    "email": "",
    "avatar": "",
    "author_site": "",
    "source": "Hi",
    "html": "<p>Hi</p>",
    "created_at": NOW,
    "published_at": None,
    "key": b"key",
    "token_hash": b"t",
    "token_expires_at": 5,
    "score": 5,
    "reasons": "links +5 9",
    "network": b"network",
    "role": "owner",
    "moderator": None,
    "permalink": "https://a.example/",
    "reader": 7,
    "email_key": "",
    "lang": "de",
}
AWKWARD = 'A "quote" and a \\ back\\slash,\nanother line: \u00e9 \U0001f600 \\x41 {} \0'


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory, engine: str) -> Iterator[Database]:
    """Return a database of two sites with ten threads and 40 comments."""
    with opened(tmp_path_factory.mktemp("connection")) as database:
        database.write_now(site_rows.sync, ["other"])
        for number in range(40):
            site = ("blog", "other")[number % 2]
            add(database, site=site, url=f"/{number % 10}/", key=f"key {number}")
        yield database


class UndoError(Exception):
    """Carries the state of the tables out of a transaction that must be rolled back."""


def outcome(database: Database, change: Callable[[Any], object]) -> object:
    def work(tx: Any) -> None:  # Any: a Transaction, passed on
        change(tx)
        tables = ("site", "thread", "comment")
        rows = [tx.execute(f"SELECT * FROM {name} ORDER BY 1").fetchall() for name in tables]
        if not tx.IS_FILE:  # PostgreSQL does not reuse ids after a rollback
            rows = [[row[1:] for row in each] for each in rows]
        raise UndoError(rows)

    with pytest.raises(UndoError) as info:
        database.write_now(work)
    return info.value.args[0]


def test_a_change_of_many_rows_does_as_for_each(database: Database) -> None:
    rows = [(4, 3), (-1, 5), (1, 9_999)]
    assert outcome(database, lambda tx: tx.change_each(create._raise_thread, rows)) == outcome(
        database, lambda tx: [tx.change(create._raise_thread, *row) for row in rows]
    )


def test_many_comments_are_inserted_as_each_alone_in_their_order(database: Database) -> None:
    query = create._INSERT
    rows = [
        tuple((NEW | {"key": b"\x00\xff%d" % n, "source": AWKWARD * n}).values()) for n in range(3)
    ]
    ids: list[range | None] = []
    assert outcome(database, lambda tx: ids.append(tx.insert_each(query, rows))) == outcome(
        database, lambda tx: [tx.insert(query, row) for row in rows]
    )
    [made] = ids
    assert made is not None
    assert len(made) == 3
    outcome(database, lambda tx: ids.append(tx.insert_each(query, [*rows, rows[0]])))
    assert ids[1] is None, "a key that exists is not stored again"

    def insert_again(tx: Any) -> None:  # Any: as above
        ids.append(tx.insert_each(query, rows))
        ids.append(tx.insert_each(query, rows))

    outcome(database, insert_again)
    assert ids.pop() is None, "nor do all of them"


def test_a_comment_has_its_columns_in_the_order_of_its_fields() -> None:
    names = [
        {"author_site": "site"}.get(field.column_name, field.column_name)
        for field in queries.COLUMNS
    ]
    assert names == [*model.Comment.__struct_fields__]

"""privacy: what was to be forgotten is in no table any more."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from commentsvc import comments, moderation, privacy, search
from commentsvc.database import Database
from commentsvc.urls import Place
from tests.unit.stored import NOW, add, opened

EMAIL = "Rosa.Weber@mail.example"


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with opened(tmp_path) as database:
        yield database


def forget(database: Database, email: str = EMAIL) -> tuple[int, ...]:
    return database.write_now(lambda tx: privacy.forget(tx, email, "Mo", NOW + 9))


def networks(database: Database) -> list[bytes | None]:
    sql = "SELECT network FROM comment ORDER BY id"
    return database.read_now(lambda reader: [row[0] for row in reader.execute(sql)])


def test_all_of_an_author_is_erased_and_nothing_of_others(
    database: Database, tmp_path: Path
) -> None:
    rosa: dict[str, Any] = {  # Any: fields of NewComment
        "author": "Rosa Weber",
        "email": EMAIL,
        "source": "wet wood",
        "html": "<p>wet wood",
    }
    first = add(database, **rosa, author_site="https://rosa.example/", reasons="a word").comment
    answer = add(database, source="An answer", parent=first.id).comment
    other = add(database, **(rosa | {"email": EMAIL.lower(), "status": "pending"})).comment
    database.write_now(lambda tx: search.feed(tx, 10))
    database.write_now(lambda tx: moderation.edit(tx, first.id, "dry wood", "Mo", NOW))
    assert forget(database) == (first.id, other.id)
    page = database.read_now(
        lambda reader: comments.page(reader, Place("blog", "/post/"), "oldest", 9, None, 0)
    )
    assert [(item.id, item.parent_id) for item in page.items] == [(answer.id, first.id)]
    assert page.thread.count == 1
    assert database.read_now(comments.check) == []
    found = database.read_now(lambda reader: moderation.history(reader, first.id))
    assert found == []
    database.write_now(lambda tx: tx.execute("INSERT INTO search (search) VALUES ('optimize')"))
    database.close_now()
    with opened(tmp_path) as again:
        dump = again.read_now(
            lambda reader: repr(
                [
                    reader.execute(f"SELECT * FROM {table}").fetchall()
                    for table in ("comment", "change", "subscriber", "watch", "outbox", "search")
                ]
            )
        )
    for trace in ("Rosa", "rosa", "wood", "a word"):
        assert trace not in dump
    assert "An answer" in dump


def test_an_address_that_nobody_has_erases_nothing(database: Database) -> None:
    add(database, email="", source="Anonymous")
    assert forget(database, "nobody@mail.example") == ()
    assert database.read_now(lambda reader: comments.listing(reader, "approved", 9))


def test_hashes_of_networks_are_dropped_when_they_are_old(database: Database) -> None:
    for age in (3, 2, 1):
        add(database, NOW - age, network=b"network!")
    assert database.read_now(lambda reader: privacy.is_due(reader, NOW - 1))
    assert not database.read_now(lambda reader: privacy.is_due(reader, NOW - 3))
    database.write_now(lambda tx: privacy.drop_networks(tx, NOW - 1, 1))
    assert networks(database) == [None, b"network!", b"network!"]
    database.write_now(lambda tx: privacy.drop_networks(tx, NOW - 1, 9))
    assert networks(database) == [None, None, b"network!"]


@pytest.mark.parametrize("sql", [privacy.DUE, privacy.DROP])
def test_old_hashes_are_found_by_their_index(database: Database, sql: str) -> None:
    params = (NOW,) if sql == privacy.DUE else (NOW, 9)
    steps = database.read_now(
        lambda reader: [r[3] for r in reader.execute(f"EXPLAIN QUERY PLAN {sql}", params)]
    )
    assert any("comment_by_network (created<?)" in step for step in steps)

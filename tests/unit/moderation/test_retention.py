"""What had to be forgotten is in no table any more."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from commentsvc.backup import integrity
from commentsvc.comments import queries, search
from commentsvc.comments.page_urls import PageRef
from commentsvc.db.connection import Transaction
from commentsvc.db.database import Database
from commentsvc.moderation import changes, history, retention, undo
from commentsvc.moderation.retention import COMMENTS, IMAGES, REACTIONS, VOTES, StoredNetworks
from commentsvc.util.timestamps import DAY_MS
from tests.unit.database_fixture import NOW, add, decide, opened, plan

EMAIL = "Rosa.Weber@mail.example"


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with opened(tmp_path) as database:
        yield database


def forget(database: Database, email: str = EMAIL) -> tuple[int, ...]:
    return database.write_now(retention.forget, email, "Mo", NOW + 9)


def networks(database: Database) -> list[bytes | None]:
    sql = "SELECT network FROM comment ORDER BY id"
    return database.read_now(lambda snapshot: [row[0] for row in snapshot.execute(sql)])


def merge_index(tx: Transaction) -> None:
    """Have FTS5 remove the words of deleted rows."""
    if tx.IS_FILE:
        tx.execute("INSERT INTO search (search) VALUES ('optimize')")


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
    database.write_now(search.index_pending, 10)
    database.write_now(changes.edit, first.id, "dry wood", "Mo", NOW)
    assert forget(database) == (first.id, other.id)
    page = database.read_now(queries.list_comments, PageRef("blog", "/post/"), "oldest", 9, None, 0)
    assert [(item.id, item.parent_id) for item in page.items] == [(answer.id, first.id)]
    assert page.thread.count == 1
    assert database.read_now(integrity.check) == []
    found = database.read_now(history.entries, first.id)
    assert found == []
    database.write_now(merge_index)
    database.close_now()
    with opened(tmp_path) as again:
        dump = again.read_now(
            lambda snapshot: repr(
                [
                    snapshot.execute(f"SELECT * FROM {table}").fetchall()
                    for table in (
                        "comment",
                        "change",
                        "subscriber",
                        "subscription",
                        "outbox",
                        "search",
                    )
                ]
            )
        )
    for trace in ("Rosa", "rosa", "wood", "a word"):
        assert trace not in dump
    assert "An answer" in dump


def test_an_address_that_nobody_has_erases_nothing(database: Database) -> None:
    add(database, email="", source="Anonymous")
    assert forget(database, "nobody@mail.example") == ()
    assert database.read_now(queries.listing, "approved", 9)


def test_hashes_of_networks_are_dropped_when_they_are_old(database: Database) -> None:
    for age in (3, 2, 1):
        add(database, NOW - age, network=b"network!")
    assert database.read_now(COMMENTS.is_due, NOW - 1)
    assert not database.read_now(COMMENTS.is_due, NOW - 3)
    database.write_now(COMMENTS.drop, NOW - 1, 1)
    assert networks(database) == [None, b"network!", b"network!"]
    database.write_now(COMMENTS.drop, NOW - 1, 9)
    assert networks(database) == [None, None, b"network!"]


@pytest.mark.sqlite_only("it looks at SQLite's plan")
@pytest.mark.parametrize(
    ("networks", "index"),
    [
        (COMMENTS, "comment_by_network"),
        (VOTES, "vote_by_age"),
        (REACTIONS, "reaction_by_age"),
        (IMAGES, "image_by_network"),
    ],
)
def test_old_hashes_are_found_by_their_index(
    database: Database, networks: StoredNetworks, index: str
) -> None:
    [step] = plan(database, networks.find, NOW, 9)
    assert f"{index} (created_at<?)" in step


def old_spam(database: Database, before: int) -> list[int]:
    return database.read_now(retention.old_spam, before, 9)


def test_spam_is_old_when_nobody_has_decided_on_it_or_answered_it_since(
    database: Database,
) -> None:
    spam = [add(database, NOW + n, status="spam").comment.id for n in range(4)]
    add(database, NOW + 5, parent=spam[1])
    act = decide(database, "approved", spam[2], now=NOW + 6).decision_id
    database.write_now(undo.decision, act, "Mo", NOW + 20)
    assert old_spam(database, NOW + 3) == [spam[0]], "one is too young"
    assert old_spam(database, NOW + 10) == [spam[0], spam[3]]
    assert old_spam(database, NOW + 21) == [spam[0], spam[2], spam[3]]


def test_removed_spam_leaves_a_number_and_what_was_learned(database: Database) -> None:
    number = add(database, status="pending", source="cheap pills", network=b"n").comment.id
    decide(database, "spam", number)
    while database.write_now(search.index_pending, 10):
        pass
    days = 3 * DAY_MS
    gone = database.write_now(retention.drop_spam, NOW + 1, 9, NOW + days)
    assert gone == 1
    assert database.read_now(retention.removed, (NOW + days) // DAY_MS) == 1
    assert database.read_now(retention.removed, (NOW + days) // DAY_MS + 1) == 0
    for table, left in (
        ("comment", 0),
        ("change", 0),
        ("training_comment", 0),
        ("search", 0),
        ("training_token", 3),
    ):
        sql = f"SELECT count(*) FROM {table}"
        rows = database.read_now(lambda snapshot, q=sql: snapshot.execute(q).fetchall())  # type: ignore[misc] # q keeps the loop's value
        assert rows == [(left,)], table
    assert database.read_now(integrity.check) == []


@pytest.mark.sqlite_only("it looks at SQLite's plan")
def test_an_answer_is_found_by_an_index_when_a_comment_is_deleted(database: Database) -> None:
    steps = " / ".join(plan(database, retention.spam_since(NOW, 9)))
    assert "INDEX comment_by_status (status=?)" in steps
    assert "INDEX comment_by_parent (parent_id=?)" in steps
    assert "SCAN" not in steps
    assert "TEMP B-TREE" not in steps

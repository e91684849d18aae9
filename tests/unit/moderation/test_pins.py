"""A pinned comment comes first on its page, in every order and on every page of the list."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest

from commentsvc.comments import queries
from commentsvc.comments.pagination import Sort
from commentsvc.db.database import Database
from commentsvc.errors import NotPinnable, UnknownComment
from commentsvc.moderation import pins, threads
from tests.unit.admin_client import header, seated, text
from tests.unit.app_fixture import SETTINGS, Served, data, served
from tests.unit.database_fixture import NOW, add, decide, opened

POST = ("blog", "/post/")
ORDERS: dict[Sort, list[int]] = {
    "oldest": [3, 1, 2, 4, 5],
    "newest": [3, 5, 4, 2, 1],
    "top": [3, 1, 2, 4, 5],
}


@pytest.fixture
def purged() -> list[str]:
    return []


@pytest.fixture
def database(tmp_path: Path, purged: list[str]) -> Iterator[Database]:
    with opened(tmp_path, purge=purged.extend) as database:
        for number in range(5):
            add(database, now=NOW + number)
        yield database


def pieces(database: Database, sort: Sort, limit: int) -> list[list[int]]:
    found: list[list[int]] = []
    after: str | None = None
    while not found or after:
        page = database.read_now(queries.list_comments, POST, sort, limit, after)
        assert page.thread.count == 5
        found.append([item.id for item in page.items])
        after = page.next
    return found


@pytest.mark.parametrize("sort", ORDERS)
def test_it_is_first_and_comes_once_however_the_list_is_cut(database: Database, sort: Sort) -> None:
    database.write_now(pins.pin, 3)
    for limit in range(1, 7):
        found = pieces(database, sort, limit)
        assert [*chain(*found)] == ORDERS[sort]
        assert max(map(len, found)) <= limit
    database.write_now(pins.unpin, 3)
    usual = sorted(range(1, 6), reverse=sort == "newest")
    assert [*chain(*pieces(database, sort, 2))] == usual


def test_none_is_lost_where_another_is_pinned_meanwhile(database: Database) -> None:
    database.write_now(pins.pin, 3)
    first = database.read_now(queries.list_comments, POST, "oldest", 2, None)
    database.write_now(pins.pin, 5)
    rest = database.read_now(queries.list_comments, POST, "oldest", 9, first.next)
    assert [item.id for item in (*first.items, *rest.items)] == [3, 1, 2, 4, 5]


def test_a_page_has_one_at_most_and_its_answers_are_purged(
    database: Database, purged: list[str]
) -> None:
    purged.clear()
    database.write_now(pins.pin, 3)
    database.write_now(pins.pin, 4)
    assert purged == ["thread:blog:/post/"] * 2
    assert [database.read_now(pins.is_pinned, number) for number in (3, 4)] == [False, True]
    database.write_now(pins.unpin, 3)
    assert database.read_now(pins.is_pinned, 4)


def test_only_what_is_published_and_no_reply_is_pinned(database: Database) -> None:
    reply = add(database, parent=1).comment.id
    decide(database, "spam", 2)
    for number in (2, reply):
        with pytest.raises(NotPinnable):
            database.write_now(pins.pin, number)
    with pytest.raises(UnknownComment):
        database.write_now(pins.pin, 99)


def test_what_is_deleted_stands_nowhere(database: Database) -> None:
    database.write_now(pins.pin, 3)
    decide(database, "deleted", 3)
    page = database.read_now(queries.list_comments, POST, "oldest", 9, None)
    assert [item.id for item in page.items] == [1, 2, 4, 5]


def test_a_merged_page_keeps_its_own(database: Database) -> None:
    add(database, url="/other/")
    database.write_now(pins.pin, 3)
    database.write_now(pins.pin, 6)
    database.write_now(threads.merge, "blog", "/other/", "/post/", "Mo", NOW)
    page = database.read_now(queries.list_comments, POST, "oldest", 9, None)
    assert [item.id for item in page.items] == [3, 1, 2, 4, 5, 6]


def test_who_asks_for_changes_gets_the_pinned_one_too(database: Database) -> None:
    database.write_now(pins.pin, 3)
    page = database.read_now(queries.changed, POST, NOW + 3, 9, 9)
    assert [item.id for item in page.items] == [3, 4, 5]


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path, SETTINGS) as service:
        for number in range(3):
            service.submit(f"Comment {number}", author="Ida")
        yield service


def test_a_moderator_pins_and_readers_see_it(service: Served) -> None:
    seat = seated(service)
    assert 'name="pin" value="2"' in text(seat.get("comment?id=2"))
    assert header(seat.send("pin", pin="2"), "Location") == "comment?id=2"
    assert 'name="unpin" value="2"' in text(seat.get("comment?id=2"))
    shown = data(service.get("/api/comments?url=/p/"))
    assert [(each["id"], each.get("pinned")) for each in shown["data"]] == [
        (2, True),
        (1, None),
        (3, None),
    ]
    assert shown["count"] == 3
    html = service.get("/embed/thread?url=/p/").body.decode()
    assert html.index("Comment 1") < html.index("Comment 0")
    assert html.count("· pinned</span>") == 1
    seat.send("pin", unpin="2")
    assert "pinned" not in service.get("/api/comments?url=/p/").body.decode()
    assert seat.send("pin", pin="99").status == 404

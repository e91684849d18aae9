"""Page views: what is stored of them, their bounds, and where they go when pages move."""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from commentsvc.comments import site_rows
from commentsvc.comments.page_urls import PageRef
from commentsvc.db.connection import Transaction
from commentsvc.db.database import Database
from commentsvc.feedback import views
from commentsvc.feedback.views import PageWithViews, ViewCounter
from commentsvc.moderation import threads
from tests.unit.database_fixture import NOW, add, opened


@pytest.fixture
def database(tmp_path: Path, purged: list[str]) -> Iterator[Database]:
    with opened(tmp_path, purged.extend) as database:
        database.write_now(site_rows.sync, ["blog", "other"])
        yield database


def count(database: Database, *urls: str, site: str = "blog") -> None:
    counter = ViewCounter(database)
    for url in urls:
        counter.add(PageRef(site, url))
    asyncio.run(counter.store())


def stored(database: Database, *urls: str, site: str = "blog") -> list[int]:
    return [database.read_now(views.views, site, url) for url in urls]


def test_numbers_of_several_instances_are_added_up(database: Database, purged: list[str]) -> None:
    count(database, "/a/", "/a/", "/b/")
    count(database, "/a/", site="other")
    count(database, "/a/")
    assert stored(database, "/a/", "/b/", "/c/") == [3, 1, 0]
    assert set(purged) == {"views:blog", "views:other"}
    purged.clear()
    count(database)
    assert not purged, "nothing was viewed"


def test_views_are_stored_at_intervals(database: Database) -> None:
    counter = ViewCounter(database)

    async def wait() -> None:
        running = asyncio.create_task(counter.run(0.001))
        for number in (1, 2):
            counter.add(PageRef("blog", "/a/"))
            while stored(database, "/a/") != [number]:  # noqa: ASYNC110 - nothing tells of it
                await asyncio.sleep(0.001)
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running

    asyncio.run(asyncio.wait_for(wait(), 120))


def test_what_cannot_be_written_is_kept(tmp_path: Path) -> None:
    with opened(tmp_path) as database:
        database.write_now(site_rows.sync, ["blog"])
        counter = ViewCounter(database)
        counter.add(PageRef("blog", "/a/"))
    asyncio.run(counter.store())  # the database is closed
    counter.add(PageRef("blog", "/a/"))
    with opened(tmp_path) as database:
        counter._database = database
        asyncio.run(counter.store())
        assert stored(database, "/a/") == [2]


def test_invented_addresses_are_bounded(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "COUNTED", 5)
    monkeypatch.setattr(views, "STORED", 7)
    monkeypatch.setattr(views, "PIECE", 2)
    count(database, *2 * [f"/{number}" for number in range(9)])
    assert stored(database, *(f"/{number}" for number in range(9))) == [2] * 5 + [0] * 4
    count(database, *(f"/new/{number}" for number in range(5)))
    assert stored(database, *(f"/{number}" for number in range(5))) == [2] * 5
    names = [*(f"/{number}" for number in range(9)), *(f"/new/{number}" for number in range(5))]
    assert sum(map(bool, stored(database, *names))) == 7
    count(database, "/a/", site="other")
    assert stored(database, "/a/", site="other") == [1]


def test_a_page_keeps_its_views_when_it_moves(database: Database) -> None:
    add(database, url="/a/", title="A")
    add(database, url="/b/")
    count(database, "/a/", "/b/", "/old/", "/c/")

    def move(tx: Transaction) -> None:
        threads.add_alias(tx, "blog", "/a/", "/old/")
        threads.move(tx, "blog", "/a/", "/new/")

    database.write_now(move)
    count(database, "/a/", "/old/")
    assert stored(database, "/new/", "/a/", "/old/") == [4, 0, 0]
    database.write_now(threads.merge, "blog", "/b/", "/new/", "bob", NOW)
    most = [PageWithViews("/new/", "A", 5)]
    assert database.read_now(views.most_viewed, "blog", 9) == most
    database.write_now(lambda tx: views.remove(tx, threads.find(tx, "blog", "/b/")))
    assert stored(database, "/new/") == [0]

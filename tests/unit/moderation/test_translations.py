"""Translations of a page share one thread: what readers get at each address, and what is undone."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from commentsvc.backup import integrity
from commentsvc.comments import queries
from commentsvc.db.connection import Snapshot
from commentsvc.db.database import Database
from commentsvc.db.schema.comments import CommentTable
from commentsvc.moderation import threads, translations
from commentsvc.moderation.translations import Merging, Version
from tests.unit.database_fixture import NOW, add, opened

ENGLISH, GERMAN, FRENCH = Version("/a/", "en"), Version("/de/a/", "de"), Version("/fr/a/", "fr")
ALL = (ENGLISH, GERMAN, FRENCH)


@pytest.fixture
def database(tmp_path: Path, purged: list[str]) -> Iterator[Database]:
    with opened(tmp_path, purged.extend) as database:
        yield database
        assert database.read_now(integrity.check) == []


def link(database: Database, *versions: Version, who: str = "") -> list[int]:
    return database.write_now(translations.link, "blog", versions or ALL, NOW, who)


def counts(database: Database) -> list[int]:
    def read(snapshot: Snapshot) -> list[int]:
        return [queries.thread(snapshot, "blog", each.url).count for each in ALL]

    return database.read_now(read)


def languages(database: Database) -> list[str]:
    query = CommentTable.select(CommentTable.lang).order_by(CommentTable.id)
    return [lang for (lang,) in database.read_now(lambda snapshot: snapshot.query(query))]


def where(database: Database) -> list[tuple[str, tuple[str, ...]]]:
    found = database.read_now(threads.listing, "", 100, None)
    return sorted((each.url, each.aliases) for each in found)


def test_the_count_of_each_translation_is_that_of_all(
    database: Database, purged: list[str]
) -> None:
    add(database, url="/a/")
    purged.clear()
    assert link(database) == []
    assert {f"thread:blog:{each.url}" for each in ALL} <= {*purged}
    add(database, url="/de/a/")
    assert counts(database) == [2, 2, 2]
    assert languages(database) == ["en", "de"], "that of the page where each was written"
    purged.clear()
    link(database)
    assert purged == [], "nothing new"


def test_the_thread_moves_to_the_main_translation(database: Database) -> None:
    add(database, url="/fr/a/")
    link(database)
    assert where(database) == [("/a/", ("/de/a/", "/fr/a/"))]
    assert languages(database) == ["fr"]


def test_pages_with_comments_stay_apart_until_an_operator_says_so(database: Database) -> None:
    add(database, url="/a/")
    add(database, url="/de/a/")
    assert link(database) == []
    assert counts(database) == [1, 1, 1]
    found = database.read_now(translations.mergings, "blog", [ALL])
    assert found == [Merging("/de/a/", "de", 1, "/a/", 1)]
    assert len(link(database, who="mo")) == 1
    assert counts(database) == [2, 2, 2]
    assert database.read_now(translations.mergings, "blog", [ALL]) == []


def test_comments_that_wait_join_the_shared_thread_at_once(database: Database) -> None:
    add(database, url="/a/")
    add(database, url="/de/a/", status="pending")
    assert len(link(database)) == 1
    assert where(database) == [("/a/", ("/de/a/", "/fr/a/"))]
    assert languages(database) == ["en", "de"]


def test_undoing_separates_all_that_was_merged_at_once(database: Database) -> None:
    for url in ("/a/", "/de/a/", "/fr/a/", "/b/"):
        add(database, url=url)
    database.write_now(threads.add_alias, "blog", "/de/a/", "/old-de/")
    database.write_now(threads.add_alias, "blog", "/a/", "/old/")
    before = where(database)
    assert len(link(database, who="mo")) == 2
    assert where(database) == [("/a/", ("/de/a/", "/fr/a/", "/old-de/", "/old/")), ("/b/", ())]
    assert sorted(database.write_now(translations.undo, "mo", NOW)) == ["/de/a/", "/fr/a/"]
    assert where(database) == before
    assert counts(database) == [1, 1, 1]
    assert database.write_now(translations.undo, "mo", NOW) == []
    assert len(link(database, who="mo")) == 2, "and again"


def test_a_page_that_an_operator_gave_to_another_thread_stays_there(database: Database) -> None:
    add(database, url="/a/")
    add(database, url="/other/")
    database.write_now(threads.add_alias, "blog", "/other/", "/de/a/")
    assert link(database) == []
    assert where(database) == [("/a/", ("/fr/a/",)), ("/other/", ("/de/a/",))]


def test_a_language_that_is_known_is_not_changed(database: Database) -> None:
    add(database, url="/a/")
    link(database)
    database.write_now(lambda tx: tx.change(CommentTable.update(lang="es")))
    add(database, url="/a/")
    link(database)
    assert languages(database) == ["es", "en"]


def test_without_comments_nothing_happens(database: Database) -> None:
    add(database, url="/b/")
    assert link(database) == []
    assert where(database) == [("/b/", ())]


def test_a_blog_is_asked_for_each_page_when_it_is_due(database: Database) -> None:
    add(database, url="/a/")
    add(database, url="/wait/", status="pending")
    [(number, url)] = database.read_now(translations.due, "blog", NOW, 9)
    assert url == "/a/"
    database.write_now(translations.save, "blog", ALL, NOW, ((number,), NOW + 5))
    assert database.read_now(translations.due, "blog", NOW + 4, 9) == []
    assert database.read_now(translations.due, "blog", NOW + 5, 9) == [(number, "/a/")]

"""Importing a blog's list of old addresses: what is read, and its effect on comments."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from commentsvc.backup import integrity
from commentsvc.cli import alias_import
from commentsvc.cli.alias_import import AliasedPage, Clash, InvalidAliasList
from commentsvc.comments.page_urls import Sites, UrlError
from commentsvc.db.database import Database
from commentsvc.moderation import threads
from commentsvc.runtime.control_commands import Alias, Close, Move
from commentsvc.settings.schema import Site
from tests.unit.database_fixture import NOW, add, opened

SITES = Sites([Site(name="blog", origins=("https://blog.example",), trailing_slash="add")])


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    """Return a database in which /a/ and /old/ have a comment each, and /gone/ a pending one."""
    with opened(tmp_path, lambda _tags: None) as database:
        add(database, url="/a/")
        add(database, url="/old/")
        add(database, url="/gone/", status="pending")
        yield database
        assert database.read_now(integrity.check) == []


def plan(database: Database, *pages: AliasedPage) -> list[Alias | Move | Close | Clash]:
    return database.read_now(lambda snapshot: [*alias_import.plan(snapshot, SITES, "", pages)])


def write(database: Database, order: Alias | Move | Close) -> None:
    database.write_now(order.run, NOW)


def where(database: Database, url: str) -> str:
    return database.read_now(threads.find, "blog", url).url


def do(database: Database, *pages: AliasedPage) -> None:
    for step in plan(database, *pages):
        assert not isinstance(step, Clash)
        write(database, step)


def test_comments_of_an_old_address_move_to_the_page(database: Database) -> None:
    page = AliasedPage("/new", ("/old", "https://blog.example/older/?utm_source=x"))
    assert plan(database, page) == [
        Move("blog", "/old/", "/new/"),
        Alias("blog", "/older/", "/new/"),
    ]
    do(database, page)
    assert [where(database, url) for url in ("/old/", "/older/")] == ["/new/", "/new/"]
    assert plan(database, page) == [], "the second time there is nothing to do"


def test_an_address_without_comments_becomes_an_alias(database: Database) -> None:
    assert plan(database, AliasedPage("/a/", ("/b/", "/a/"))) == [Alias("blog", "/b/", "/a/")]


def test_a_comment_that_waits_moves_too(database: Database) -> None:
    assert plan(database, AliasedPage("/n/", ("/gone/",))) == [Move("blog", "/gone/", "/n/")]


def test_two_threads_are_never_put_together_unasked(database: Database) -> None:
    assert plan(database, AliasedPage("/a/", ("/old/",))) == [Clash("blog", "/old/", "/a/")]
    found = plan(database, AliasedPage("/new/", ("/a/", "/old/")))
    assert found == [Move("blog", "/a/", "/new/"), Clash("blog", "/old/", "/new/")]


def test_an_alias_of_another_page_stays_its_own(database: Database) -> None:
    do(database, AliasedPage("/a/", ("/b/",)))
    assert plan(database, AliasedPage("/new/", ("/b/",))) == [Clash("blog", "/b/", "/new/")]


def test_a_page_is_closed_once(database: Database) -> None:
    pages = (
        AliasedPage("/a/", closed=True),
        AliasedPage("/never/", closed=True),
        AliasedPage("/old/"),
    )
    assert plan(database, *pages) == [Close("blog", "/a/", "closed")]
    do(database, *pages)
    assert plan(database, *pages) == []


def test_nothing_is_done_where_nothing_was_said(database: Database) -> None:
    assert plan(database, AliasedPage("/x/", ("/y/", "/z/"))) == []


def test_an_address_of_another_blog_is_refused(database: Database) -> None:
    with pytest.raises(UrlError, match="not an origin of this site"):
        plan(database, AliasedPage("/a/", ("https://else.example/",)))


def test_a_list_is_read() -> None:
    text = b'{"pages":[{"aliases":["/b/"],"closed":true,"url":"/a/"},{"url":"/c/"}],"made":1}'
    assert alias_import.read(text) == (
        AliasedPage("/a/", ("/b/",), closed=True),
        AliasedPage("/c/"),
    )


@pytest.mark.parametrize(
    "text", [b"", b"[]", b'{"pages":[{}]}', b'{"pages":[{"url":7}]}', b"\xff", b"[" * 9_000]
)
def test_what_is_no_list_says_what_one_is(text: bytes) -> None:
    with pytest.raises(InvalidAliasList, match="static/hugo writes it"):
        alias_import.read(text)


def test_an_endless_list_is_not_read() -> None:
    with pytest.raises(InvalidAliasList, match="larger than"):
        alias_import.read(b" " * (alias_import.LIMIT + 1))

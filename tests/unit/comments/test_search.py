"""Search: what is found, what is not found any more or not indexed yet; daily statistics."""

import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from operator import methodcaller
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commentsvc import errors
from commentsvc.comments import search, site_rows
from commentsvc.comments.page_urls import PageRef
from commentsvc.db.connection import Snapshot
from commentsvc.db.database import Database
from commentsvc.db.postgresql import schema as postgresql
from commentsvc.db.schema import search as search_schema
from commentsvc.moderation import changes, threads, undo
from commentsvc.util.timestamps import DAY_MS
from tests.unit.database_fixture import NOW, add, decide, opened


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with opened(tmp_path) as database:
        database.write_now(site_rows.sync, ["notes"])
        yield database
        feed(database)
        assert database.read_now(truth) == database.read_now(indexed)


def truth(snapshot: Snapshot) -> tuple[list[Any], list[Any]]:
    """Return what the index and the daily statistics must hold."""
    joined = "comment AS c JOIN thread AS t ON t.id = c.thread_id"
    row = f"c.id, {search_schema.WORDS}" if snapshot.IS_FILE else postgresql.ROW
    words = f"SELECT {row} FROM {joined}"
    days = f"SELECT created_at / {DAY_MS}, site_id, status, count(*) FROM comment GROUP BY 1, 2, 3"
    return (
        snapshot.execute(f"{words} ORDER BY 1").fetchall(),
        snapshot.execute(f"{days} ORDER BY 1, 2, 3").fetchall(),
    )


def indexed(snapshot: Snapshot) -> tuple[list[Any], list[Any]]:
    """Return what they hold."""
    if snapshot.IS_FILE:
        snapshot.execute("SELECT count(*) FROM search WHERE search MATCH 'text : a'").fetchall()
    return (
        snapshot.execute(
            "SELECT rowid, author, email, site, text, page FROM search ORDER BY 1"
        ).fetchall(),
        snapshot.execute("SELECT * FROM daily_stats WHERE count > 0 ORDER BY 1, 2, 3").fetchall(),
    )


def feed(database: Database, most: int = 1_000) -> bool:
    return database.write_now(search.index_pending, most)


def find(
    database: Database, query: str, status: str = "", site: str = "", limit: int = 9
) -> list[int]:
    found = database.read_now(
        search.find,
        query,
        status=status,
        sites=[site] if site else None,
        limit=limit,
        before=None,
    )
    return [entry.comment.id for entry in found.items]


@pytest.fixture
def three(database: Database) -> Database:
    """Store comment 1 by Zoë on tea, 2 by Bob on *Tea, coffee*, and 3 by Zoë on another site."""
    add(database, author="Zoë Ash", email="Zoe.Ash@Post.example", source="Green tea!", url="/tea/")
    add(
        database,
        author="Bob",
        email="bob@post.example",
        source="*Tea*, coffee",
        author_site="https://bob.example/x",
        url="/2017/coffee-house/",
        status="pending",
    )
    add(database, author="Zoe", source="teapot", site="notes", url="/tea/")
    feed(database)
    return database


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("tea", [3, 2, 1]),  # the page's URL counts
        ("text:tea", [2, 1]),
        ("TEA coffee", [2]),
        ("coffee tea", [2]),
        ('"tea coffee"', [2]),
        ('"coffee tea"', []),
        ('text:"green tea', [1]),
        ("zoe", [3, 1]),
        ("ZOË", [3, 1]),
        ("author:zoe tea", [3, 1]),
        ("author:tea", []),
        ("zoe.ash@post.example", [1]),
        ("ZOE.ASH@POST.EXAMPLE", [1]),
        ("ash@post.example", []),
        ("@post.example", [2, 1]),
        ("email:bob", [2]),
        ("site:bob.example", [2]),
        ("/tea/", [3, 1]),
        ("page:/tea/", [3, 1]),
        ("/tea", []),
        ("page:coffee", [2]),
        ("page:coffee-house", [2]),
        ("house 2017", [2]),
        ("coffee*", [2]),
        ("te*", []),
        ("", []),
        ("!!! - ( ) ^", []),
        ('"', []),
        ("tea !!! NOT", []),
        ("tea OR coffee", []),
    ],
)
def test_a_search_finds_comments_with_all_words(
    three: Database, query: str, ids: list[int]
) -> None:
    assert find(three, query) == ids


def test_a_search_is_narrowed_by_status_and_site(three: Database) -> None:
    assert find(three, "tea", status="pending") == [2]
    assert find(three, "tea", site="notes") == [3]
    assert find(three, "tea", status="approved", site="blog") == [1]
    assert find(three, "tea", site="nobody's") == []


@given(query=st.text(max_size=60) | st.from_regex(r'[a-z@/:" *^(){}.+-]{0,40}', fullmatch=True))
def test_nothing_typed_is_a_faulty_query(shared: Database, query: str) -> None:
    find(shared, query)
    find(shared, query * 50, status="spam")


@pytest.fixture(scope="module")
def shared(engine: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    with opened(tmp_path_factory.mktemp("shared")) as database:
        add(database)
        feed(database)
        yield database


def test_what_is_not_fed_is_not_found_and_said_to_be_missing(database: Database) -> None:
    for _ in range(5):
        add(database, source="tea")
    assert database.read_now(search.unindexed) == 5
    assert find(database, "tea") == []
    assert feed(database, 3)
    assert find(database, "tea") == [3, 2, 1]
    assert database.read_now(search.unindexed) == 2
    assert not feed(database, 3)
    assert not feed(database, 3)
    assert find(database, "tea") == [5, 4, 3, 2, 1]


def test_a_piece_goes_on_where_the_one_before_ended(database: Database) -> None:
    for number in range(25):
        add(database, source="tea", status="spam" if number % 5 == 0 else "approved")
    feed(database)

    def walk(status: str, limit: int) -> list[int]:
        narrowed = partial(search.find, query="tea", status=status, sites=None, limit=limit)
        ids: list[int] = []
        before: int | None = 10**9
        while before is not None:
            found = database.read_now(narrowed, before=before)
            ids += [entry.comment.id for entry in found.items]
            before = found.next
        return ids

    assert walk("", 4) == [*range(25, 0, -1)]
    assert walk("spam", 2) == [21, 16, 11, 6, 1]
    for most in (1, 3, 5, 25):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(search, "EXAMINED", most)
            assert walk("spam", 2) == [21, 16, 11, 6, 1]


def test_a_changed_comment_is_found_by_its_new_words_alone(three: Database) -> None:
    three.write_now(changes.edit, 1, "Black soup", "Mo", NOW)
    assert find(three, "green") == []
    assert find(three, "soup") == [1]
    three.write_now(undo.last, [1], "Mo", NOW)
    assert find(three, "green") == [1]


def test_an_erased_comment_is_found_no_more(three: Database) -> None:
    three.write_now(
        lambda tx: tx.execute(
            "UPDATE comment SET author = '', email = '', email_key = '', source = '' WHERE id = 1"
        )
    )
    assert find(three, "green") == find(three, "zoe.ash@post.example") == []
    three.write_now(lambda tx: tx.execute("DELETE FROM comment WHERE id = 2"))
    assert find(three, "coffee") == []


def test_comments_are_found_where_their_page_is_now(three: Database) -> None:
    three.write_now(threads.move, "blog", "/tea/", "/brew/")
    assert find(three, "/brew/") == [1]
    assert find(three, "/tea/") == [3]
    three.write_now(threads.merge, "blog", "/2017/coffee-house/", "/brew/", "Mo", NOW)
    assert find(three, "/brew/") == [2, 1]
    assert find(three, "house") == []


def test_the_days_say_what_became_of_their_comments(database: Database) -> None:
    first = NOW // DAY_MS
    for number in range(6):
        add(
            database,
            NOW + number % 2 * DAY_MS,
            status="pending",
            site="notes" if number > 3 else "blog",
        )
    feed(database, 4)
    decide(database, "spam", 1)
    decide(database, "approved", 2, 5)
    feed(database)

    def days(site: str, since: int = 0) -> list[tuple[int, str, int]]:
        found = database.read_now(search.days, [site] if site else None, since)
        return [(each.day - first, each.status, each.number) for each in found if each.number]

    assert days("blog") == [
        (0, "pending", 1),
        (0, "spam", 1),
        (1, "approved", 1),
        (1, "pending", 1),
    ]
    assert days("", first + 1) == [(1, "approved", 1), (1, "pending", 2)]
    assert days("notes") == [(0, "approved", 1), (1, "pending", 1)]


def test_index_and_tally_follow_whatever_happens(database: Database) -> None:
    """The `database` fixture compares them with the rows at the end."""
    random = Random(5)
    for number in range(60):
        add(
            database,
            NOW + number * DAY_MS // 7,
            url=f"/{random.randrange(4)}/",
            email=random.choice(["", "a@b.example"]),
            status=random.choice(["pending", "approved", "spam"]),
        )
        if random.random() < 0.3:
            feed(database, 7)
        chosen = random.randint(1, number + 1)
        try:
            decide(database, random.choice(["approved", "spam", "deleted"]), chosen)
        except errors.UnknownComment:
            continue
        if random.random() < 0.2:
            erase = f"DELETE FROM comment WHERE id = {chosen}"
            database.write_now(methodcaller("execute", erase))


@pytest.mark.parametrize("letter", "²½₂Ⅷ①ᦰᧈᳲ")
def test_no_letter_makes_a_phrase_of_a_readers_words(database: Database, letter: str) -> None:
    """A phrase of frequent words takes a hundred times as long."""
    for source in ("foam bath", "bath foam"):
        add(database, source=source)
    feed(database)
    words = search.words_of(f"foam{letter}bath")
    found, _ = database.read_now(search.find_shown, words, PageRef("blog", ""), 9, None)
    assert len(found) in (0, 2)


@pytest.mark.sqlite_only("FTS5 is SQLite's")
def test_the_index_takes_each_of_a_readers_words_for_one() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(search_schema.EXTRAS[0])
        connection.execute("CREATE VIRTUAL TABLE found USING fts5vocab(search, 'instance')")
        words = {
            number: word
            for number, each in enumerate(filter(str.isalnum, map(chr, range(sys.maxunicode + 1))))
            if len(word := search.words_of(f"x{each}y")) == 1
        }
        connection.executemany(
            "INSERT INTO search (rowid, text) VALUES (?, ?)",
            ((number, word) for number, (word,) in words.items()),
        )
        several = connection.execute("SELECT doc FROM found GROUP BY doc HAVING count(*) > 1")
        assert [words[number] for (number,) in several] == []

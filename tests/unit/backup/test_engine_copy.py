"""Copies between engines have the same rows, ids and search results, or leave nothing behind."""

import itertools
import random
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import peewee
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from commentsvc.backup import engine_copy
from commentsvc.backup.engine_copy import CopyError
from commentsvc.comments import search
from commentsvc.db.database import Database
from commentsvc.db.errors import DatabaseBusy, DatabaseError, DatabaseUnusable
from commentsvc.db.lock import Lock
from commentsvc.db.migrations import moved, upgrade
from commentsvc.db.schema.search import INDEX
from commentsvc.settings.data_dir import DATABASE
from tests.postgresql_server import Server
from tests.unit.database_fixture import NOW, add, opened

pytestmark = pytest.mark.sqlite_only("it copies from SQLite to PostgreSQL, and back")

WORDS = ("", "wood", "Käse", "a'b", "tab\there", "line\nhere", "back\\slash", "\N{DROMEDARY CAMEL}")
ROWS = 4  # the most of a table

Empty = Callable[[], str]
Dump = dict[str, list[tuple[object, ...]]]


def quiet(_: float) -> None:
    pass


@pytest.fixture
def empty(postgresql_server: Server) -> Iterator[Empty]:
    """Return a function that makes a database without tables and returns its URL."""
    numbers = itertools.count()
    made: list[str] = []

    def make() -> str:
        made.append(f"copied_{next(numbers)}")
        postgresql_server.run(f"CREATE DATABASE {made[-1]} TEMPLATE template0")
        return postgresql_server.url(made[-1])

    yield make
    for name in made:
        postgresql_server.run(f"DROP DATABASE {name} WITH (FORCE)")


def fill(path: Path, chance: random.Random) -> None:
    """Make a database with some rows in each table, and more ids given than there are rows."""
    upgrade.upgrade(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("DELETE FROM search_state")
        connection.execute("BEGIN")
        for table in engine_copy.TABLES:
            fields = table._meta.sorted_fields
            names = ", ".join(f'"{field.column_name}"' for field in fields)
            sql = f"({names}) VALUES ({', '.join('?' * len(fields))})"
            for _ in range(chance.randint(0, ROWS)):
                row = [value(field, connection, chance) for field in fields]
                if any(each is None and not f.null for each, f in zip(row, fields, strict=True)):
                    continue  # there is nothing that it can refer to
                # Some are not stored, since their key is not new.
                connection.execute(f'INSERT OR IGNORE INTO "{table._meta.table_name}" {sql}', row)
        connection.execute("DELETE FROM search_state")
        connection.execute("UPDATE sqlite_sequence SET seq = seq + 5")
        [(last,)] = connection.execute("SELECT coalesce(max(id), 0) FROM comment")
        connection.execute("INSERT INTO search_state VALUES (1, ?)", (last,))
        connection.execute(INDEX, (1, last))
        connection.execute("COMMIT")


def value(field: Any, connection: sqlite3.Connection, chance: random.Random) -> object:
    """Return a value that a column may have; Any: a field of peewee."""
    if field.null and chance.random() < 0.3:
        return None
    if isinstance(field, peewee.ForeignKeyField):
        rows = connection.execute(f'SELECT id FROM "{field.rel_model._meta.table_name}"').fetchall()
        return chance.choice(rows)[0] if rows else None
    checks = " ".join(getattr(each, "sql", "") for each in field.constraints or ())
    if allowed := re.findall(r"= '(\w*)'", checks):
        return chance.choice(allowed)
    if "IN (-1, 1)" in checks:
        return chance.choice((-1, 1))
    if isinstance(field, peewee.BlobField):
        return chance.randbytes(chance.choice((0, 4, 16)))
    if isinstance(field, peewee.TextField):
        return " ".join(chance.choices(WORDS, k=3))
    return chance.choice((chance.randint(1, 99), chance.randint(1, 2**62)))


def dump(path: Path) -> Dump:
    """Return all rows of a file, with the search index and the last ids."""
    tables = [table._meta.table_name for table in engine_copy.TABLES]
    with closing(sqlite3.connect(path)) as connection:
        sequences = "sqlite_sequence WHERE seq > 0"
        return {
            name: sorted(connection.execute(f"SELECT * FROM {name}"), key=repr)
            for name in (*tables, "search", sequences)
        }


def counted_rows(url: str) -> float:
    """Return how many comments PostgreSQL has counted; -1 before the first ANALYZE."""
    with psycopg.connect(url) as connection:
        asked = "SELECT reltuples FROM pg_class WHERE oid = 'commentsvc.comment'::regclass"
        [(number,)] = connection.execute(asked)
        return float(number)


@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_what_goes_to_postgresql_and_back_is_the_same(
    seed: int, empty: Empty, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("copies")
    fill(folder / "first.sqlite3", random.Random(seed))
    url = empty()
    there = engine_copy.copy(folder / "first.sqlite3", url, quiet)
    back = engine_copy.copy(url, folder / "second.sqlite3", quiet)
    assert there == back
    assert dump(folder / "second.sqlite3") == dump(folder / "first.sqlite3")
    assert sorted(path.name for path in folder.iterdir()) == ["first.sqlite3", "second.sqlite3"]


def test_a_copy_is_ready_for_good_plans(empty: Empty, tmp_path: Path) -> None:
    with opened(tmp_path) as database:
        add(database)
    url = empty()
    engine_copy.copy(tmp_path / "comments.sqlite3", url, quiet)
    assert counted_rows(url) == 1


def test_a_copy_goes_on_with_new_ids_and_finds_old_words(empty: Empty, tmp_path: Path) -> None:
    url = empty()
    with opened(tmp_path) as database:
        for text in ("an old walk", "a hill", "deleted later"):
            add(database, source=text, url=f"/{text}/")
        database.write_now(search.index_pending, 9)
        database.write_now(lambda tx: tx.execute("DELETE FROM comment WHERE id = 3"))
    shares: list[float] = []
    done = engine_copy.copy(tmp_path / DATABASE, url, shares.append)
    assert {table.name: table.rows for table in done.tables}["comment"] == 2
    assert shares == sorted(shares)
    assert shares[-1] == 1
    copied = Database(url, purge=lambda _: None)
    copied.open()
    try:
        found = copied.read_now(search.find_ids, "walk", status="", sites=None, limit=9)
        assert found == [1]
        assert copied.read_now(search.unindexed) == 0
        assert add(copied, url="/new/").comment.id == 4
    finally:
        copied.close_now()


def test_a_service_that_started_without_comments_may_be_the_target(
    empty: Empty, tmp_path: Path
) -> None:
    url = empty()
    upgrade.upgrade(url)
    with psycopg.connect(url) as connection:
        connection.execute("INSERT INTO commentsvc.site (name) VALUES ('notes'), ('blog')")
    with opened(tmp_path) as database:
        add(database)
    engine_copy.copy(tmp_path / DATABASE, url, quiet)
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT id, name FROM commentsvc.site").fetchall() == [
            (1, "blog")
        ]
        connection.rollback()
        moved.unmark(tmp_path / DATABASE)
        with pytest.raises(CopyError, match=r"copied_0 is not empty \(its table \w+ has rows\)"):
            engine_copy.copy(tmp_path / DATABASE, url, quiet)


class Interrupted(BaseException):
    """As Ctrl-C does."""


def test_an_interrupted_copy_leaves_nothing_behind(empty: Empty, tmp_path: Path) -> None:
    def stop(share: float) -> None:
        if share > 0.5:
            raise Interrupted

    with opened(tmp_path) as database:
        for number in range(9):
            add(database, NOW + number)
    url = empty()
    with pytest.raises(Interrupted):
        engine_copy.copy(tmp_path / DATABASE, url, stop)
    with psycopg.connect(url) as connection:
        tables = "SELECT count(*) FROM pg_namespace WHERE nspname = 'commentsvc'"
        assert connection.execute(tables).fetchone() == (0,)
    engine_copy.copy(tmp_path / DATABASE, url, quiet)
    new = tmp_path / "new"
    new.mkdir()
    with pytest.raises(Interrupted):
        engine_copy.copy(url, new / DATABASE, stop)
    assert [path.name for path in new.iterdir()] == ["lock"]
    engine_copy.copy(url, new / DATABASE, quiet)
    assert dump(new / DATABASE) == dump(tmp_path / DATABASE)


def test_a_row_that_changed_on_the_way_is_named(
    empty: Empty, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path) as database:
        add(database)
        add(database)
    load = engine_copy._PostgresqlTarget.load

    def damaging(target: Any, name: str, columns: list[str], rows: Any) -> None:
        load(target, name, columns, rows)
        if name == "comment":
            target.run("UPDATE comment SET source = 'another' WHERE id = 2")

    monkeypatch.setattr(engine_copy._PostgresqlTarget, "load", damaging)
    url = empty()
    with pytest.raises(CopyError, match="the row 2 of the table comment was not copied exactly"):
        engine_copy.copy(tmp_path / DATABASE, url, quiet)


def test_a_nul_is_replaced_and_told(empty: Empty, tmp_path: Path) -> None:
    with opened(tmp_path) as database:
        add(database, source="a\0b")
        add(database)
    url = empty()
    assert engine_copy.copy(tmp_path / DATABASE, url, quiet).replaced == 1
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT source FROM commentsvc.comment WHERE id = 1").fetchone()
    assert row == ("a\N{REPLACEMENT CHARACTER}b",)


def test_what_is_in_use_damaged_or_no_database_is_not_copied(empty: Empty, tmp_path: Path) -> None:
    with opened(tmp_path) as database:
        add(database)
        url = empty()
        with Lock(tmp_path), pytest.raises(DatabaseBusy, match="stop it, then copy"):
            engine_copy.copy(tmp_path / DATABASE, url, quiet)
    with closing(sqlite3.connect(tmp_path / DATABASE)) as connection, connection:
        connection.execute("UPDATE comment SET source = CAST(X'FF' AS TEXT)")
    with pytest.raises(DatabaseError, match="a text of the source is damaged: `commentsvc check`"):
        engine_copy.copy(tmp_path / DATABASE, url, quiet)
    (tmp_path / "letter").write_text("Dear Ann")
    with closing(sqlite3.connect(tmp_path / "old")) as connection:
        connection.execute("CREATE TABLE photos (x)")
    for source, reason in (
        (tmp_path / "letter", "letter is no SQLite database"),
        (tmp_path / "old", "belongs to another program"),
        (tmp_path / "none", "none is not a file"),
        (url, "the source has no tables of this version"),
        (url.replace("copied_0", "nowhere"), '"nowhere" does not exist'),
    ):
        with pytest.raises(DatabaseUnusable, match=reason) as info:
            engine_copy.copy(source, tmp_path / "target", quiet)
        assert "\n" not in str(info.value)
    with pytest.raises(CopyError, match="letter already exists"):
        engine_copy.copy(tmp_path / DATABASE, tmp_path / "letter", quiet)
    assert not (tmp_path / "target").exists()


def test_a_service_on_the_target_or_source_is_in_the_way(
    empty: Empty, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("commentsvc.db.postgresql.connection.PATIENCE", 1)
    url = empty()
    with opened(tmp_path) as database:
        add(database)
    upgrade.upgrade(url)
    running = Database(url, purge=lambda _: None)
    running.open()
    try:
        with pytest.raises(DatabaseBusy, match="in use by another commentsvc"):
            engine_copy.copy(tmp_path / DATABASE, url, quiet)
        with pytest.raises(DatabaseBusy, match="in use by another commentsvc"):
            engine_copy.copy(url, tmp_path / "copy", quiet)
    finally:
        running.close_now()

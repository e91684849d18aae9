"""The database of each release becomes one of this version, for ever: see store_schema."""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from commentsvc.db.database import DEFAULTS, Database
from commentsvc.db.engine import Location
from commentsvc.db.migrations import upgrade
from commentsvc.db.migrations.steps import HISTORY
from commentsvc.db.postgresql import upgrade as postgresql_upgrade
from tests.unit.database_fixture import add, in_use
from tests.unit.database_fixture import location as empty
from tests.unit.db.migrations.stored import POSTGRESQL, RELEASED, load, main, steps, versions
from tests.unit.db.migrations.test_upgrade import read_schema

# Everything that a dump has, in the database's own spelling.
CATALOGUE = (
    "SELECT table_name, column_name, data_type, is_nullable, column_default, is_identity"
    " FROM information_schema.columns WHERE table_schema = 'commentsvc'",
    "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'commentsvc'",
    "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint"
    " WHERE connamespace = 'commentsvc'::regnamespace",
    "SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal",
    "SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'commentsvc'::regnamespace",
)


def catalogue(url: str) -> list[list[tuple[object, ...]]]:
    """Return the schema of a database in PostgreSQL."""
    with psycopg.connect(url) as connection:
        return [sorted(connection.execute(sql).fetchall(), key=repr) for sql in CATALOGUE]


@contextlib.contextmanager
def stored(version: str, folder: Path) -> Iterator[Location]:
    """Make the database of a release; return its location."""
    if not in_use:
        load(version, folder / "stored.sqlite3")
        yield folder / "stored.sqlite3"
        return
    server = in_use[0]
    server.run("CREATE DATABASE stored TEMPLATE template0")
    try:
        with psycopg.connect(server.url("stored"), autocommit=True) as connection:
            connection.execute((RELEASED / f"{version}{POSTGRESQL}").read_text())
        yield server.url("stored")
    finally:
        server.run("DROP DATABASE stored WITH (FORCE)")


@pytest.mark.parametrize("version", versions())
def test_the_database_of_a_release_becomes_as_a_new_one_and_keeps_its_comments(
    version: str, tmp_path: Path
) -> None:
    new = empty(tmp_path)
    with stored(version, tmp_path) as location:
        if isinstance(location, str):
            postgresql_upgrade.upgrade(location)
            assert catalogue(location) == catalogue(str(new))
        else:
            upgrade.upgrade(location)
            assert read_schema(location) == read_schema(Path(new))
        database = Database(location, DEFAULTS, purge=lambda _tags: None)
        database.open()
        try:
            add(database, author="Cid", parent=1, key="of Cid")
            rows = database.read_now(
                lambda snapshot: snapshot.execute(
                    "SELECT author, parent_id, status FROM comment ORDER BY id"
                ).fetchall()
            )
        finally:
            database.close_now()
    assert rows == [("Ann", None, "approved"), ("Ben", 1, "spam"), ("Cid", 1, "approved")]


@pytest.mark.sqlite_only("it is about the files")
@pytest.mark.parametrize("version", versions())
def test_both_engines_store_the_same_steps(version: str, tmp_path: Path) -> None:
    load(version, path := tmp_path / "stored.sqlite3")
    with contextlib.closing(sqlite3.connect(path)) as connection:
        names = connection.execute(f"SELECT name FROM {HISTORY} ORDER BY name").fetchall()
    assert steps(version) == [name for (name,) in names]


def test_a_release_with_a_step_that_is_in_no_stored_schema_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(upgrade, "STEPS", {name: upgrade.STEPS[name] for name in steps("1.0.0")})
    main("1.0.0")
    monkeypatch.setattr(upgrade, "STEPS", upgrade.STEPS | {"9999_later": lambda *_: None})
    with pytest.raises(SystemExit, match=r"the schema of 1\.1\.0 is not stored"):
        main("1.1.0")

"""No server serves a database whose comments are stored elsewhere, until that is undone."""

from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import psycopg
import pytest

from commentsvc.backup import archive as backup
from commentsvc.backup import engine_copy, postgresql_dump
from commentsvc.db.engine import describe
from commentsvc.db.errors import DatabaseUnusable
from commentsvc.db.migrations import moved, upgrade
from commentsvc.settings import data_dir
from tests.postgresql_server import Server
from tests.unit.database_fixture import add, opened

pytestmark = pytest.mark.sqlite_only("it moves between both engines")


@pytest.fixture
def url(postgresql_server: Server) -> Iterator[str]:
    """Return the URL of an empty database of PostgreSQL."""
    postgresql_server.run("CREATE DATABASE moved TEMPLATE template0")
    yield postgresql_server.url("moved")
    postgresql_server.run("DROP DATABASE moved WITH (FORCE)")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a service's file with a comment."""
    with opened(tmp_path) as database:
        add(database)
    return tmp_path / data_dir.DATABASE


def quiet(_: float) -> None:
    pass


def test_a_file_that_was_copied_is_refused_and_names_the_new_location_and_the_way_back(
    file: Path, url: str
) -> None:
    engine_copy.copy(file, url, quiet)
    with pytest.raises(DatabaseUnusable) as refused:
        upgrade.upgrade(file)
    assert f"copied to {describe(url)}" in str(refused.value)
    assert f"commentsvc copy --undo --from {file}" in str(refused.value)
    assert (file.parent / data_dir.SERVED).read_text().strip() == describe(url)
    upgrade.upgrade(url)
    moved.unmark(file)
    upgrade.upgrade(file)


def test_a_postgresql_that_was_copied_is_refused_likewise(
    file: Path, url: str, tmp_path: Path
) -> None:
    engine_copy.copy(file, url, quiet)
    new = tmp_path / "new" / data_dir.DATABASE
    new.parent.mkdir()
    engine_copy.copy(url, new, quiet)
    for open_ in (upgrade.upgrade, upgrade.is_current):
        with pytest.raises(DatabaseUnusable, match=f"copied to {new}"):
            open_(url)
    upgrade.upgrade(new)
    moved.unmark(url)
    assert upgrade.is_current(url)


def test_a_copy_that_fails_at_its_end_leaves_the_source_in_use(
    file: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with psycopg.connect(url, autocommit=True) as other:
        other.execute(
            "CREATE FUNCTION fail() RETURNS event_trigger LANGUAGE plpgsql AS"
            " $$ BEGIN RAISE 'no room'; END $$"
        )
        other.execute(
            "CREATE EVENT TRIGGER fail ON ddl_command_end WHEN TAG IN ('CREATE INDEX')"
            " EXECUTE FUNCTION fail()"
        )
    with suppress(Exception):
        engine_copy.copy(file, url, quiet)
    upgrade.upgrade(file)


def test_an_older_version_refuses_it_too(file: Path) -> None:
    """It knows no step of that name."""
    moved.mark(file, moved.COPIED + "elsewhere")
    assert not {*upgrade.STEPS} & {moved.PREFIX}
    with pytest.raises(DatabaseUnusable):
        upgrade.check(file)


def test_the_file_that_a_backup_replaced_is_refused_and_can_be_restored(file: Path) -> None:
    copy = file.with_name("copy")
    backup.write(file, copy)
    with opened(file.parent) as database:
        add(database)
    done = backup.restore(file.parent, copy)
    assert done.kept is not None
    with pytest.raises(DatabaseUnusable, match=r"was replaced by a backup\. To use it again: "):
        upgrade.check(done.kept)
    upgrade.upgrade(file)
    again = backup.restore(file.parent, done.kept)
    assert (done.comments, again.comments) == (1, 2)
    upgrade.upgrade(file)


def test_a_backup_of_a_moved_database_can_be_restored(file: Path, url: str, tmp_path: Path) -> None:
    copy, archive = file.with_name("copy"), tmp_path / "archive"
    engine_copy.copy(file, url, quiet)
    backup.write(url, archive)
    backup.write(file, copy)
    backup.restore(file.parent, copy)
    upgrade.upgrade(file)
    moved.mark(url, moved.COPIED + "elsewhere")
    postgresql_dump.restore(url, archive)
    assert upgrade.is_current(url)


def test_a_file_that_no_service_uses_is_copied_without_a_mark(file: Path, url: str) -> None:
    """A backup stays what it is."""
    copy = file.with_name("copy")
    backup.write(file, copy)
    engine_copy.copy(copy, url, quiet)
    upgrade.check(copy)
    with closing(psycopg.connect(url)) as connection:
        assert connection.execute("SELECT count(*) FROM commentsvc.comment").fetchone() == (1,)

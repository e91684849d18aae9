"""Nothing is acknowledged that went to another file than the one at the database's path."""

import logging
import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from commentsvc.backup import archive as backup
from commentsvc.comments import queries, site_rows
from commentsvc.db.connection import Transaction
from commentsvc.db.database import Database
from commentsvc.db.sqlite.database_file import RESCUED, DatabaseReplaced
from commentsvc.settings.data_dir import DATABASE
from commentsvc.settings.schema import DatabaseSettings
from tests.e2e.program import change
from tests.unit.database_fixture import add, connected, opened

pytestmark = pytest.mark.sqlite_only("PostgreSQL looks after its files")


def move(file: Path) -> None:
    file.rename(file.with_name("moved"))


def replace(file: Path) -> None:
    """As `mv` of a copy over it, and as Litestream and most editors do."""
    shutil.copy(file, file.with_name("copy"))
    file.with_name("copy").replace(file)


def copy_over(file: Path) -> None:
    """As `cp` of a backup over it: the file is the same, its content is not."""
    copy = file.with_name("backup")
    backup.write(file, copy)
    file.write_bytes(copy.read_bytes())


def truncate(file: Path) -> None:
    os.truncate(file, 0)


def move_folder(file: Path) -> None:
    """As an unmounted disk."""
    file.parent.rename(file.parent.with_name("elsewhere"))


def switch_folder(file: Path) -> None:
    """As another disk that is mounted there, or a symbolic link that is switched."""
    move_folder(file)
    shutil.copytree(file.parent.with_name("elsewhere"), file.parent)


def remove_log(file: Path) -> None:
    file.with_name(file.name + "-wal").unlink()


def replace_log(file: Path) -> None:
    replace(file.with_name(file.name + "-wal"))


def truncate_log(file: Path) -> None:
    truncate(file.with_name(file.name + "-wal"))


def remove_index(file: Path) -> None:
    file.with_name(file.name + "-shm").unlink()


CHANGES = (
    move,
    Path.unlink,
    replace,
    copy_over,
    truncate,
    move_folder,
    switch_folder,
    remove_log,
    replace_log,
    truncate_log,
    remove_index,
)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return the path of a data folder."""
    folder = tmp_path / "data"
    folder.mkdir()
    return folder


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_no_comment_is_acknowledged_after_a_change_of_the_files(
    data: Path, change: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    with opened(data) as database:
        add(database)
        change(data / DATABASE)
        assert database.seems_replaced
        for _ in range(3):
            with pytest.raises(DatabaseReplaced, match="commentsvc restore --data"):
                add(database)
        assert database.write_health.failures == 3
    [line] = [record.message for record in caplog.records if record.levelname == "ERROR"]
    assert line.startswith(f"nothing can be stored: {data / DATABASE}")


def test_comments_are_stored_again_when_the_right_file_is_back(data: Path) -> None:
    file = data / DATABASE
    with opened(data) as database:
        for away, there, back in (
            (move, file.with_name("moved"), file),
            (move_folder, data.with_name("elsewhere"), data),
        ):
            away(file)
            with pytest.raises(DatabaseReplaced):
                add(database)
            there.rename(back)
            assert not database.seems_replaced
            add(database)
    assert count(data) == 2


def test_the_comments_of_a_file_that_was_removed_are_saved_and_can_be_restored(data: Path) -> None:
    with opened(data) as database:
        add(database)
        add(database)
        (data / DATABASE).unlink()
        saved = data / f"{DATABASE}{RESCUED}"
        with pytest.raises(DatabaseReplaced, match=f"restore --data {data} {saved}"):
            add(database)
    assert backup.restore(data, saved).comments == 2
    assert count(data) == 2


def test_a_transaction_that_was_committed_while_the_file_was_moved_is_not_acknowledged(
    data: Path,
) -> None:
    """Between the look at the file and the COMMIT."""

    def work(tx: Transaction) -> None:
        site_rows.sync(tx, ["x"])
        move(data / DATABASE)

    with opened(data) as database, pytest.raises(DatabaseReplaced):
        database.write_now(work)


def test_checkpoints_of_our_own_are_no_change(data: Path) -> None:
    with opened(data, settings=DatabaseSettings(checkpoint_pages=1)) as database:
        for _ in range(20):
            add(database)
            assert not database.seems_replaced


def test_checkpoints_of_litestream_are_no_change_but_another_file_is(data: Path) -> None:
    file = data / DATABASE
    with opened(data, settings=DatabaseSettings(checkpoint_pages=0)) as database:
        for mode in ("PASSIVE", "TRUNCATE"):
            add(database)
            with closing(sqlite3.connect(file)) as other:
                other.execute(f"PRAGMA wal_checkpoint({mode})")
            add(database)
        replace(file)
        with pytest.raises(DatabaseReplaced):
            add(database)


def test_what_tests_change_beside_a_service_is_no_checkpoint(data: Path) -> None:
    """Also with more pages in the log than those after which SQLite makes one by itself."""
    statement = "UPDATE site SET name = name"
    with opened(data) as database:
        while (data / f"{DATABASE}-wal").stat().st_size < 2_000 * 4_096:
            add(database, source="x" * 1_000_000)
        change(data, statement)
        with closing(connected(data)) as other:
            other.execute(statement)
        assert not database.seems_replaced
        add(database)


def test_a_backup_and_reading_commands_are_no_change(data: Path, tmp_path: Path) -> None:
    with opened(data) as database:
        add(database)
        backup.write(data / DATABASE, tmp_path / "copy")
        add(database)


def count(data: Path) -> int:
    """Return the number of comments in the file."""
    reading = Database(data / DATABASE, purge=lambda _: None)
    reading.open()
    try:
        return reading.read_now(queries.site_count, "blog")
    finally:
        reading.close_now()

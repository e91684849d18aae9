"""Backups are complete or absent; restoring changes nothing before the backup has been checked."""

import bz2
import gzip
import lzma
import os
import shutil
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from commentsvc import outbox
from commentsvc.backup import archive as backup
from commentsvc.backup import integrity
from commentsvc.backup import result as backup_result
from commentsvc.backup.result import BackupError
from commentsvc.db.errors import DatabaseBusy, DatabaseUnusable
from commentsvc.db.lock import Lock
from commentsvc.db.migrations import steps, upgrade
from commentsvc.db.schema.outbox import Target
from commentsvc.settings.data_dir import DATABASE, DataUnusable
from commentsvc.util.timestamps import DAY_MS
from tests.unit.database_fixture import NOW, add, opened

pytestmark = pytest.mark.sqlite_only("test_postgresql_dump.py is for PostgreSQL")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return a data folder with three comments in two threads."""
    folder = tmp_path / "data"
    folder.mkdir()
    with opened(folder) as database:
        for number in range(3):
            add(database, NOW + number, url=f"/{number % 2}/", source=f"{number}")
    return folder


def ids(database: Path) -> list[int]:
    connection = sqlite3.connect(f"file:{database}?immutable=1", uri=True)
    try:
        return [id_ for (id_,) in connection.execute("SELECT id FROM comment ORDER BY id")]
    finally:
        connection.close()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_copy_has_everything_and_belongs_to_its_owner_alone(data: Path, tmp_path: Path) -> None:
    target = tmp_path / "a copy.sqlite3"
    assert backup.write(data / DATABASE, target) == target.stat().st_size
    assert ids(target) == [1, 2, 3]
    assert target.stat().st_mode & 0o777 == 0o600
    assert names(tmp_path) == ["a copy.sqlite3", "data"]


def test_a_copy_of_a_database_in_use_has_all_that_was_acknowledged(
    data: Path, tmp_path: Path
) -> None:
    with opened(data) as database:
        for number in range(200):
            acknowledged = add(database, NOW + number).comment.id
            if number % 50 == 0:
                target = tmp_path / f"{number}"
                backup.write(data / DATABASE, target)
                assert ids(target)[-1] == acknowledged
        assert (data / f"{DATABASE}-wal").stat().st_size  # no checkpoint was made


def test_a_copy_never_replaces_a_file_unless_it_is_told_to(data: Path, tmp_path: Path) -> None:
    target = tmp_path / "copy"
    target.write_text("mine")
    with pytest.raises(BackupError, match=r"copy already exists.*--force"):
        backup.write(data / DATABASE, target)
    assert target.read_text() == "mine"
    backup.write(data / DATABASE, target, replace=True)
    assert ids(target) == [1, 2, 3]


def test_somebody_who_was_quicker_keeps_the_name(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "copy"
    real = os.fsync

    def fsync(descriptor: int) -> None:
        target.write_text("theirs")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(BackupError, match="copy cannot be written: File exists"):
        backup.write(data / DATABASE, target)
    assert target.read_text() == "theirs"
    assert names(tmp_path) == ["copy", "data"]


def test_a_file_system_without_links_takes_a_copy_too(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def link(_old: object, _new: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", link)
    backup.write(data / DATABASE, tmp_path / "copy")
    assert ids(tmp_path / "copy") == [1, 2, 3]


def test_a_copy_that_nobody_wants_any_more_ends_and_leaves_nothing(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backup, "STEP", 1)
    with pytest.raises(BackupError, match="not finished"):
        backup.write(data / DATABASE, tmp_path / "copy", unwanted=lambda: True)
    assert names(tmp_path) == ["data"]


def test_a_copy_leaves_room_for_the_service(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = (data / DATABASE).stat().st_size + backup.RESERVE - 10_000  # some pages are unused
    usage = shutil.disk_usage(tmp_path)._replace(free=free)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    with pytest.raises(BackupError, match=r"has 16 MiB free, but 17 are needed: free some space"):
        backup.write(data / DATABASE, tmp_path / "copy")
    assert names(tmp_path) == ["data"]


@pytest.mark.parametrize(
    ("target", "reason"),
    [("none/copy", "No such file or directory"), ("data/comments.sqlite3/x", "Not a directory")],
)
def test_a_location_that_takes_no_file_is_told(
    data: Path, tmp_path: Path, target: str, reason: str
) -> None:
    with pytest.raises(BackupError, match=f"cannot be written: {reason}"):
        backup.write(data / DATABASE, tmp_path / target)


def damage(database: Path) -> None:
    """Overwrite all pages of the file but the first few."""
    with database.open("r+b") as file:
        file.seek(2_048 * 3)
        file.write(b"\xff" * (database.stat().st_size - 2_048 * 3))


def test_a_damaged_database_gives_no_copy(data: Path, tmp_path: Path) -> None:
    damage(data / DATABASE)
    with pytest.raises((BackupError, DatabaseUnusable), match="damaged"):
        backup.write(data / DATABASE, tmp_path / "copy")
    assert names(tmp_path) == ["data"]


class Kept(NamedTuple):
    """A backup of three comments, and the folder whose database has a fourth by now."""

    data: Path
    file: Path


@pytest.fixture
def kept(data: Path, tmp_path: Path) -> Kept:
    file = tmp_path / "backup"
    backup.write(data / DATABASE, file)
    with opened(data) as database:
        add(database)
    return Kept(data, file)


def test_restoring_brings_back_what_was_and_keeps_what_is(kept: Kept) -> None:
    done = backup.restore(kept.data, kept.file)
    assert (done.comments, done.newest, done.faults) == (3, NOW + 2, [])
    assert done.kept
    assert ids(kept.data / DATABASE) == [1, 2, 3]
    assert ids(done.kept) == [1, 2, 3, 4]
    assert names(kept.data) == [DATABASE, done.kept.name, "lock"]
    with opened(kept.data) as database:
        assert add(database).comment.id == 4
    assert ids(kept.file) == [1, 2, 3]


def states(data: Path) -> list[tuple[str, str]]:
    with opened(data) as database:
        rows = database.read_now(outbox.listing, None, 1 << 62, 9)
    return [(row.state, row.error) for row in rows]


def test_what_waits_in_a_backup_may_have_been_sent_since_and_is_not_sent(
    data: Path, tmp_path: Path
) -> None:
    """Regression: restoring an old backup sent its mails a second time."""
    with opened(data) as database:
        targets = [Target("mail", "mo@blog.example"), Target("mail", "flo@blog.example", DAY_MS)]
        database.write_now(outbox.sync_targets, targets)
        add(database)
    backup.write(data / DATABASE, tmp_path / "copy")
    assert backup.restore(data, tmp_path / "copy").held == 2
    assert states(data) == [("failed", backup_result.HELD)] * 2
    assert backup.restore(data, tmp_path / "copy", send=True).held == 0
    assert states(data) == [("open", ""), ("queued", "")]


def test_two_restores_of_one_second_keep_what_each_replaced(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: the second restore failed with FileExistsError."""
    monkeypatch.setattr(time, "strftime", lambda *_: "20261121T120000Z")
    replaced = {backup.restore(kept.data, kept.file).kept for _ in range(3)}
    assert len(replaced) == 3
    assert {*kept.data.glob(f"{DATABASE}.*")} == replaced


def test_a_log_of_the_replaced_database_never_meets_the_new_one(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a crash: the last acknowledged comments are in the WAL file only."""
    with opened(kept.data) as database:
        add(database)
        for end in ("", "-wal"):
            shutil.copy(kept.data / (DATABASE + end), kept.data / ("crashed" + end))
    for end in ("", "-wal"):
        (kept.data / ("crashed" + end)).replace(kept.data / (DATABASE + end))
    done = backup.restore(kept.data, kept.file)
    assert done.kept
    assert ids(done.kept) == [1, 2, 3, 4, 5]
    assert ids(kept.data / DATABASE) == [1, 2, 3]
    assert names(kept.data) == [DATABASE, done.kept.name, "lock"]


def test_a_database_that_is_too_damaged_to_open_is_kept_with_its_log(kept: Kept) -> None:
    (kept.data / DATABASE).write_bytes(b"no database" * 1_000)
    (kept.data / f"{DATABASE}-wal").write_bytes(b"its log")
    done = backup.restore(kept.data, kept.file)
    assert done.kept
    assert done.kept.read_bytes().startswith(b"no database")
    assert done.kept.with_name(done.kept.name + "-wal").read_bytes() == b"its log"
    assert ids(kept.data / DATABASE) == [1, 2, 3]


def test_an_empty_folder_takes_a_backup(kept: Kept, tmp_path: Path) -> None:
    assert backup.restore(tmp_path / "new", kept.file).kept is None
    assert ids(tmp_path / "new" / DATABASE) == [1, 2, 3]
    assert (tmp_path / "new" / DATABASE).stat().st_mode & 0o777 == 0o600


def test_an_older_backup_is_brought_up_to_date(
    kept: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = tmp_path / "old"
    upgrade.upgrade(old)
    before = old.read_bytes()
    monkeypatch.setattr(upgrade, "STEPS", upgrade.STEPS | {"0002_next": lambda *_: None})
    assert backup.restore(kept.data, old).comments == 0
    assert not upgrade.check(kept.data / DATABASE)
    assert old.read_bytes() == before


def refused(kept: Kept, error: type[Exception] | tuple[type[Exception], ...], match: str) -> None:
    """Restoring fails, and nothing is changed."""
    before = {path: path.read_bytes() for path in kept.data.iterdir() if path.name != "lock"}
    with pytest.raises(error, match=match):
        backup.restore(kept.data, kept.file)
    assert {p: p.read_bytes() for p in kept.data.iterdir() if p.name != "lock"} == before


def test_nothing_is_restored_while_a_server_runs(kept: Kept) -> None:
    with Lock(kept.data):
        refused(kept, DatabaseBusy, "in use by another commentsvc .*: stop it, then restore")


def test_a_backup_whose_schema_has_a_damaged_letter_is_refused(kept: Kept) -> None:
    """Python cannot even decode what SQLite says of it."""
    whole = kept.file.read_bytes()
    at = whole.index(b"CREATE TABLE") + 3
    kept.file.write_bytes(whole[:at] + b"\xff" + whole[at + 1 :])
    refused(kept, DatabaseUnusable, "is damaged")


def test_a_damaged_backup_is_refused(kept: Kept) -> None:
    damage(kept.file)
    text = f"{kept.file} is damaged, so nothing was changed. Restore another backup"
    refused(kept, (BackupError, DatabaseUnusable), text)


@pytest.mark.parametrize("size", [50, 99, 100, 4_096, 50_000, -1])
def test_a_backup_that_is_cut_off_is_refused_with_its_size(kept: Kept, size: int) -> None:
    content = kept.file.read_bytes()
    kept.file.write_bytes(content[:size])
    left = kept.file.stat().st_size
    whole = len(content) if left >= 100 else 100
    refused(kept, BackupError, f"is cut off: it has {left:,} of (?:{whole:,}|[0-9,]+) bytes. Copy")
    if left >= 100:
        refused(kept, BackupError, f" of {whole:,} bytes")


@pytest.mark.parametrize(
    ("pack", "name"), [(gzip.compress, "gzip"), (lzma.compress, "xz"), (bz2.compress, "bzip2")]
)
def test_a_compressed_backup_is_refused_with_what_unpacks_it(
    kept: Kept, pack: Callable[[bytes], bytes], name: str
) -> None:
    kept.file.write_bytes(pack(kept.file.read_bytes()))
    refused(kept, BackupError, f"is compressed with {name}. Unpack it first: ")


def test_a_missing_empty_or_foreign_file_is_refused(kept: Kept) -> None:
    kept.file.unlink()
    refused(kept, BackupError, "is not a file")
    kept.file.touch()
    refused(kept, BackupError, "is empty. Copy it again")
    kept.file.write_text("Dear diary")
    refused(kept, BackupError, "is not a backup. Name a file that `commentsvc backup` has made")
    kept.file.unlink()
    connection = sqlite3.connect(kept.file)
    connection.execute("CREATE TABLE diary (day)")
    connection.close()
    refused(kept, BackupError, "is not a backup. Name a file that `commentsvc backup` has made")


def test_a_newer_backup_is_refused(kept: Kept) -> None:
    connection = sqlite3.connect(kept.file)
    connection.execute(f"INSERT INTO {steps.HISTORY} (name, applied) VALUES ('9999_later', '')")
    connection.commit()
    connection.close()
    refused(kept, DatabaseUnusable, "newer commentsvc")


def test_wrong_counts_are_restored_only_by_force(kept: Kept) -> None:
    connection = sqlite3.connect(kept.file)
    connection.execute("UPDATE thread SET count = 7 WHERE url = '/0/'")
    connection.commit()
    connection.close()
    refused(kept, BackupError, r"thread /0/ says that it has 7 .* but it has 2 .*--force")
    assert len(backup.restore(kept.data, kept.file, force=True).faults) == 1


def test_a_folder_that_cannot_be_used_is_told(kept: Kept, tmp_path: Path) -> None:
    with pytest.raises(DataUnusable, match="is not a folder"):
        backup.restore(kept.file, kept.file)


def test_a_restored_database_has_the_counts_of_its_rows(kept: Kept) -> None:
    backup.restore(kept.data, kept.file)
    with opened(kept.data) as database:
        assert database.read_now(integrity.check) == []


def test_what_root_restores_belongs_to_the_owner_of_the_folder(kept: Kept) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root restores for others")
    os.chown(kept.data, 12_345, 23_456)
    backup.restore(kept.data, kept.file)
    status = (kept.data / DATABASE).stat()
    assert (status.st_uid, status.st_gid) == (12_345, 23_456)

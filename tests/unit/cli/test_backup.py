"""What the commands backup, restore and copy print, with real data."""

import os
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from commentsvc.cli.main import main
from commentsvc.settings.data_dir import DATABASE, SECRET_KEY, SETTINGS
from tests.postgresql_server import Server
from tests.unit.database_fixture import add, environ, opened

FILE = "it is about the file"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    with opened(tmp_path) as database:
        add(database)
    (tmp_path / SECRET_KEY).write_text("k" * 64)
    return tmp_path


def run(verb: str, data: Path, *words: object) -> Result:
    data.mkdir(exist_ok=True)
    runner = CliRunner(env=environ(data))
    return runner.invoke(main, [verb, "--data", str(data), *map(str, words)])


def test_a_backup_and_its_way_back_say_what_was_done(engine: str, data: Path) -> None:
    done = run("backup", data, data / "copy")
    assert re.fullmatch(rf"{data}/copy is a complete copy of \S+ \(0\.\d MB\)\n", done.output)
    assert done.exit_code == 0
    done = run("restore", data, data / "copy")
    assert done.output.startswith("restored 1 comment, the newest of 20")
    kept = f"database is kept as {data / DATABASE}.20"
    if engine == "postgresql":
        kept = "tables are kept in the schema commentsvc_20"
    assert f"the previous {kept}" in done.output
    assert SECRET_KEY not in done.output


def test_the_same_line_works_again_and_replaces_nothing_but_backups(data: Path) -> None:
    for _ in range(2):
        assert run("backup", data, data / "copy").exit_code == 0
    (data / "copy").write_text("a letter")
    refused = run("backup", data, data / "copy")
    assert refused.exit_code == 1
    assert "already exists and is not a backup" in refused.output
    assert (data / "copy").read_text() == "a letter"
    assert run("backup", data, data / "copy", "--force").exit_code == 0


def test_a_folder_that_is_not_there_is_told(data: Path) -> None:
    refused = run("backup", data, data / "none/copy")
    assert refused.stderr == f"commentsvc: There is no folder {data}/none. Create it first.\n"


def test_a_device_is_not_replaced(data: Path) -> None:
    """Regression: --force made a file of /dev/null."""
    os.mkfifo(data / "pipe")
    refused = run("backup", data, data / "pipe", "--force")
    assert refused.exit_code == 1
    assert "pipe is not a file, so it is not replaced" in refused.output
    assert (data / "pipe").is_fifo()


@pytest.mark.sqlite_only(FILE)
def test_the_database_is_not_replaced_by_its_backup(data: Path) -> None:
    itself = run("backup", data, data / DATABASE, "--force")
    assert "is the database itself" in itself.output
    assert run("check", data).exit_code == 0


def test_a_missing_key_is_told(data: Path) -> None:
    run("backup", data, data / "copy")
    done = run("restore", data / "new", data / "copy")
    assert f"{data}/new has no {SECRET_KEY}" in done.output


def test_missing_settings_are_told(data: Path) -> None:
    run("backup", data, data / "copy")
    said = f"{data}/new has no {SETTINGS}. Copy the old one there, or write it: commentsvc init "
    assert said in run("restore", data / "new", data / "copy").output
    (data / "new" / SETTINGS).write_text('[[site]]\nname = "blog"\n')
    assert said not in run("restore", data / "new", data / "copy").output


@pytest.mark.sqlite_only(FILE)
def test_a_folder_without_a_database_has_no_backup(tmp_path: Path) -> None:
    refused = run("backup", tmp_path, tmp_path / "copy")
    assert refused.exit_code == 1
    assert "has no database" in refused.output
    assert not (tmp_path / "copy").exists()


@pytest.mark.sqlite_only("it copies from SQLite to PostgreSQL")
def test_a_copy_tells_what_it_copied_and_refuses_in_one_line(
    data: Path, postgresql_server: Server
) -> None:
    def copy(*words: object) -> Result:
        return CliRunner().invoke(main, ["copy", *map(str, words)])

    postgresql_server.run("CREATE DATABASE copied TEMPLATE template0")
    try:
        url = postgresql_server.url("copied")
        done = copy("--from", f"sqlite:{data / DATABASE}", "--to", url)
        assert re.search(r"^comment +1  [0-9a-f]{16}$", done.output, re.MULTILINE)
        assert re.search(r"^\d rows copied and compared$", done.output, re.MULTILINE)
        assert done.exit_code == 0
        again = copy("--from", data / DATABASE, "--to", url)
        assert "was copied to postgresql://" in again.output
        assert copy("--from", data / DATABASE, "--undo").exit_code == 0
        for words, reason in (
            (("--from", data / DATABASE), "Give --to, or --undo."),
            (("--from", data, "--to", url), "is a folder: name the database file in it"),
            (("--from", data / DATABASE, "--to", url), "copied is not empty"),
            (("--from", url, "--to", data / DATABASE), "already exists: move it away"),
        ):
            refused = copy(*words)
            assert refused.exit_code in (1, 2)
            assert reason in refused.output
    finally:
        postgresql_server.run("DROP DATABASE copied WITH (FORCE)")


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("backup",), "comments.backup"),
        (("export",), "comments.ndjson"),
        (("import", "auto", "x", "--report"), "report.csv"),
    ],
)
def test_in_place_of_a_folder_a_file_in_it_is_to_be_named(
    tmp_path: Path, words: tuple[str, ...], name: str
) -> None:
    done = CliRunner().invoke(main, [*words, str(tmp_path), "--data", str(tmp_path)])
    assert f"is a folder. Name a file in it, such as {tmp_path}/{name}" in done.output
    assert done.exit_code == 2


def test_a_database_that_was_emptied_has_no_backup(tmp_path: Path) -> None:
    (tmp_path / SECRET_KEY).write_text("k" * 64)
    (tmp_path / DATABASE).touch()
    refused = CliRunner().invoke(main, ["backup", "--data", str(tmp_path), str(tmp_path / "copy")])
    assert refused.exit_code == 1
    assert "is empty, and there was data: restore a backup" in refused.output
    assert not (tmp_path / "copy").exists()


def test_a_database_of_ours_is_no_export(engine: str, data: Path) -> None:
    run("backup", data, data / "copy")
    if engine == "postgresql":
        pytest.skip("its backup is made by pg_dump")
    done = CliRunner(env=environ(data)).invoke(
        main, ["import", "auto", str(data / "copy"), "--data", str(data)]
    )
    assert "It is a database of commentsvc. Use: commentsvc restore" in done.output

"""A start that cannot succeed says why in one line, and changes nothing."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.e2e.program import Outcome, Service, command

pytestmark = pytest.mark.forked

FILE = "it is about the file"
NONE = "it opens no database"

Start = Callable[..., Service]


def serve(data: Path, *options: object, **environ: str) -> Outcome:
    return command("serve", "--data", data, "--listen", "127.0.0.1:0", *options, environ=environ)


def assert_one_line(outcome: Outcome, *parts: str) -> None:
    assert outcome.code == 1
    assert outcome.out == ""
    assert outcome.err.startswith("commentsvc: ")
    assert outcome.err.count("\n") == 1
    for part in parts:
        assert part in outcome.err


def test_a_taken_port_is_one_line(data: Path, tmp_path: Path, start: Start) -> None:
    port = start(data).port
    (tmp_path / "other").mkdir()
    outcome = command("serve", "--data", tmp_path / "other", "--listen", f"127.0.0.1:{port}")
    assert_one_line(outcome, f"127.0.0.1:{port}", "Address already in use", "stop it, or choose")
    assert not (tmp_path / "other" / "control.sock").exists()


def test_a_mistyped_data_folder_makes_no_new_blog(data: Path, start: Start) -> None:
    assert_one_line(serve(data), f"There is no folder {data}", f"commentsvc init --data {data}")
    assert not data.exists()
    assert command("init", "--data", data).code == 0
    start(data)  # whose output says that it has made one


@pytest.mark.sqlite_only(NONE)
def test_a_host_that_is_not_ours_is_one_line(data: Path) -> None:
    data.mkdir()
    assert_one_line(command("serve", "--data", data, "--listen", "192.0.2.1:80"), "192.0.2.1:80")


@pytest.mark.sqlite_only(NONE)
def test_a_host_that_nobody_knows_is_one_line(data: Path) -> None:
    data.mkdir()
    outcome = command("serve", "--data", data, "--listen", "nobody.invalid:80")
    assert_one_line(outcome, "nobody.invalid:80", "choose one that it has")


@pytest.mark.sqlite_only(NONE)
def test_a_path_that_is_too_long_for_a_socket_is_one_line(data: Path) -> None:
    data.mkdir()
    outcome = command("serve", "--data", data, "--listen", f"unix:/tmp/{'x' * 200}")
    assert_one_line(outcome, "at most 107 bytes: choose a shorter one")


@pytest.mark.sqlite_only(NONE)
def test_a_unix_socket_in_no_folder_is_one_line(data: Path, tmp_path: Path) -> None:
    data.mkdir()
    path = tmp_path / "none" / "http.sock"
    outcome = command("serve", "--data", data, "--listen", f"unix:{path}")
    assert_one_line(
        outcome, str(path), "No such file or directory", "Create the folder of the socket"
    )


def test_a_second_server_on_the_same_data_is_one_line(data: Path, start: Start) -> None:
    service = start(data)
    assert_one_line(serve(data), str(data), f"process {service.process.pid}")
    assert service.request("GET", "/api/ping").status == 200


@pytest.mark.sqlite_only(NONE)
def test_wrong_settings_are_all_told_and_nothing_is_made(data: Path, tmp_path: Path) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text('[server]\nworkers = 0\nlisten = "here"\n[spam]\nlimks = 3\n')
    outcome = serve(data, "--config", file, COMMENTSVC_SPAM_RATELIMIT="off")
    lines = outcome.err.splitlines()
    assert outcome.code == 1
    assert lines == [
        f"commentsvc: {file}:5: spam.limks is no setting. Did you mean spam.max_links?",
        "commentsvc: COMMENTSVC_SPAM_RATELIMIT is no setting."
        " Did you mean COMMENTSVC_SPAM_RATE_LIMIT?",
        f"commentsvc: {file}:2: server.workers is 0; allowed is a whole number from 1 to 64."
        " Write for example workers = 1",
    ]
    assert not data.exists()


@pytest.mark.sqlite_only(NONE)
def test_a_wrong_option_is_one_line(data: Path) -> None:
    assert_one_line(serve(data, "--workers", "many"), '--workers is "many"; allowed is a whole')


@pytest.mark.sqlite_only(NONE)
def test_settings_that_are_not_there_are_one_line(data: Path, tmp_path: Path) -> None:
    assert_one_line(
        serve(data, "--config", tmp_path / "none.toml"), "There is no file ", "commentsvc init"
    )


@pytest.mark.sqlite_only(NONE)
def test_a_missing_data_option_is_a_wrong_command_line() -> None:
    outcome = command("serve")
    assert outcome.code == 2
    assert "Missing option '--data'" in outcome.err


@pytest.mark.sqlite_only(FILE)
@pytest.mark.parametrize("content", [b"this is no database" * 300, b"SQLite format 3\0" * 300])
def test_a_damaged_database_is_one_line_and_stays_as_it_is(data: Path, content: bytes) -> None:
    data.mkdir()
    path = data / "comments.sqlite3"
    path.write_bytes(content)
    assert_one_line(serve(data), str(path))
    assert path.read_bytes() == content
    assert not (data / "comments.sqlite3-wal").exists()


@pytest.mark.sqlite_only(FILE)
def test_a_database_of_another_program_is_one_line_and_stays_as_it_is(data: Path) -> None:
    data.mkdir()
    path = data / "comments.sqlite3"
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE recipes (name TEXT)")
    before = path.read_bytes()
    assert_one_line(serve(data), str(path))
    assert path.read_bytes() == before


@pytest.mark.sqlite_only(FILE)
def test_a_folder_in_the_place_of_the_database_is_one_line(data: Path) -> None:
    (data / "comments.sqlite3").mkdir(parents=True)
    assert_one_line(serve(data), "comments.sqlite3")


@pytest.mark.sqlite_only(NONE)
def test_a_file_in_the_place_of_the_data_folder_is_one_line(data: Path) -> None:
    data.write_text("")
    assert_one_line(serve(data), f"{data} is not a folder")


def test_a_key_file_without_a_key_is_one_line(data: Path) -> None:
    data.mkdir()
    (data / "secret.key").write_text("short\n")
    assert_one_line(serve(data), "secret.key contains no valid key")


def test_the_same_data_can_be_used_after_a_failed_start(data: Path, start: Start) -> None:
    data.mkdir()
    assert command("serve", "--data", data, "--listen", "192.0.2.1:80").code == 1
    assert start(data).request("GET", "/api/ping").status == 200

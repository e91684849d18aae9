"""The commands, with and without a running server."""

import json
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.program import Outcome, Service, change, command, environment, locked, run

pytestmark = pytest.mark.forked

Start = Callable[..., Service]

FILE = "it is about the file"
NONE = "it uses no database"


@pytest.fixture
def service(data: Path, start: Start) -> Service:
    """Run a server with three pending comments: 1 and 2 at /a/, 3 at /b/."""
    service = start(data, environ={"COMMENTSVC_SPAM_RATE_LIMIT": "off"})
    for url, message in (("/a/", "First"), ("/a/", "Second"), ("/b/", "Third")):
        assert service.submit(url, message).status == 202
    return service


def counts(service: Service) -> list[int]:
    return [service.count("/a/"), service.count("/b/")]


def approve(data: Path, *words: object) -> Outcome:
    return command("approve", "--data", data, *words)


def test_approving_through_the_server_raises_the_count_at_once(service: Service) -> None:
    assert counts(service) == [0, 0]
    assert approve(service.data, 1, 3) == (0, "comment 1 is approved\ncomment 3 is approved\n", "")
    assert counts(service) == [1, 1]


def test_approving_all_leaves_nothing_pending(service: Service) -> None:
    assert (
        approve(service.data, "--all").out
        == "comment 1 is approved\ncomment 2 is approved\ncomment 3 is approved\n"
    )
    assert counts(service) == [2, 1]
    assert approve(service.data, "--all") == (0, "no comments are pending\n", "")


@pytest.mark.sqlite_only(FILE)
def test_a_command_loads_only_what_it_uses(data: Path) -> None:
    """On SQLite no driver of PostgreSQL, and for a reported fault no list of the others."""

    def loaded(*words: object) -> set[str]:
        python = [sys.executable, "-X", "importtime", "-m", "commentsvc"]
        done = run([*python, *words, "--data", data], environment({}), "")
        return {line.rpartition("|")[2].strip() for line in done.err.splitlines()}

    assert command("init", "--data", data).code == 0
    by_check = loaded("check")
    assert "commentsvc.auth.accounts" in by_check
    assert "psycopg.pq" not in by_check
    assert "commentsvc.auth.accounts" not in loaded("init")


@pytest.mark.parametrize("running", [True, False])
def test_an_unknown_id_is_an_error_and_nothing_is_approved(
    service: Service, start: Start, running: bool
) -> None:
    if not running:
        service.stop()
    outcome = approve(service.data, 1, 8, 9)
    assert outcome.code == 1
    assert outcome.out == ""
    assert outcome.err.startswith("commentsvc: no comment has the id 8, 9")
    if not running:
        service = start(service.data)
    assert counts(service) == [0, 0]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_approving_without_a_server_writes_itself(
    service: Service, start: Start, number: signal.Signals
) -> None:
    service.stop(number)
    assert approve(service.data, 2).out == "comment 2 is approved\n"
    assert counts(start(service.data)) == [1, 0]


def test_approving_twice_changes_nothing_more(service: Service) -> None:
    approve(service.data, 1)
    outcome = approve(service.data, 1)
    assert outcome.code == 0
    assert outcome.out == "comment 1 is unchanged: it is approved\n"
    assert counts(service) == [1, 0]


def test_a_command_that_cannot_write_says_why_in_one_line(service: Service, start: Start) -> None:
    service.stop()
    with locked(service.data):
        outcome = approve(service.data, 1)
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith(
        ("commentsvc: another program holds the database (", "commentsvc: the database service_")
    )
    assert outcome.err.count("\n") == 1
    assert counts(start(service.data)) == [0, 0]


def test_undoing_takes_the_last_command_back_at_once(service: Service) -> None:
    approve(service.data, "--all")
    assert command("delete", "--data", service.data, 1).out == "comment 1 is deleted\n"
    assert counts(service) == [1, 1]
    assert command("undo", "--data", service.data).out == "comment 1 is as before its last change\n"
    assert counts(service) == [2, 1]
    assert command("spam", "--data", service.data, 3).out == "comment 3 is spam\n"
    assert (
        command("undo", "--data", service.data, 2, 3).out
        == "comment 2 is as before its last change\ncomment 3 is as before its last change\n"
    )
    assert counts(service) == [1, 1]
    lines = command("history", "--data", service.data, 2).out.splitlines()
    assert len(lines) == 1
    assert "  pending -> approved  by command line; undone " in lines[0]


def test_pages_are_merged_moved_and_closed_at_once(service: Service) -> None:
    def thread(verb: str, *words: str) -> str:
        outcome = command("thread", verb, "--data", service.data, *words)
        assert outcome.err == ""
        return outcome.out

    approve(service.data, "--all")
    assert counts(service) == [2, 1]
    assert thread("merge", "/a/", "/b/") == "merged /a/ into /b/: 2 comments\n"
    assert counts(service) == [3, 3]
    thread("move", "/b/", "/c/")
    assert [*counts(service), service.count("/c/")] == [3, 3, 3]
    assert thread("list") == "3  aging  blog:/c/ = /a/ = /b/\n"
    thread("close", "/a/")
    assert service.submit("/b/", "Too late").json()["error"]["code"] == "closed"
    assert command("check", "--data", service.data).code == 0


def test_a_ban_is_met_by_the_next_submission(service: Service) -> None:
    def ban(*words: object) -> str:
        verb, *rest = words
        return command("ban", verb, "--data", service.data, *rest).out

    assert ban("add", "domain", "bad.example") == "ban 1 is set\n"
    assert service.submit("/a/", "see https://bad.example/").status == 202
    listed = command("list", "--data", service.data, "--status", "spam").out
    assert "https://bad.example/" in listed
    assert ban("remove", 1) == "ban 1 is lifted\n"
    service.submit("/a/", "see again https://bad.example/")
    assert len(command("list", "--data", service.data).out.splitlines()) == 4


def test_a_comment_is_edited_from_stdin(service: Service) -> None:
    approve(service.data, 3)
    done = command("edit", "--data", service.data, 3, given="*Better*")
    assert done.out == "comment 3 has the new text\n"
    listed = service.request("GET", "/api/comments?url=/b/").json()["data"]
    assert listed[0]["html"] == "<p><em>Better</em></p>\n"
    assert "edited" in listed[0]
    assert command("undo", "--data", service.data).out == "comment 3 is as before its last change\n"
    assert service.request("GET", "/api/comments?url=/b/").json()["data"][0]["content"] == "Third"


@pytest.mark.sqlite_only(NONE)
@pytest.mark.parametrize("words", [(), ("--all", 1), ("0",), ("x",), (2**63,)])
def test_approving_wants_ids_or_all(data: Path, words: tuple[object, ...]) -> None:
    assert approve(data, *words).code == 2


@pytest.mark.sqlite_only(FILE)
def test_check_after_init_finds_nothing_wrong(data: Path) -> None:
    """The file that `init` writes suggests running `check`."""
    command("init", "--data", data)
    outcome = command("check", "--data", data)
    assert (outcome.code, outcome.err) == (0, "")
    assert "comments.sqlite3 is intact, and its counts are right" in outcome.out
    (data / "comments.sqlite3").unlink()
    outcome = command("check", "--data", data)
    assert (outcome.code, outcome.err) == (0, "")
    assert "database: none yet; the server creates it at its first start" in outcome.out


@pytest.mark.sqlite_only(FILE)
@pytest.mark.parametrize("words", [("approve", "--all"), ("list",), ("check",)])
def test_a_command_on_no_data_is_one_line(data: Path, words: tuple[str, ...]) -> None:
    outcome = command(*words, "--data", data)
    assert outcome.code == 1
    assert f"commentsvc: There is no folder {data}" in outcome.err
    assert not data.exists()


@pytest.mark.parametrize("running", [True, False])
def test_list_shows_the_pending_newest_first(service: Service, running: bool) -> None:
    if not running:
        service.stop()
    lines = command("list", "--data", service.data).out.splitlines()
    assert [line.split()[:2] for line in lines] == [[str(n), "pending"] for n in (3, 2, 1)]
    assert lines[0].endswith("  blog:/b/  Ann  Third")


def test_list_can_be_narrowed(service: Service) -> None:
    approve(service.data, 2)

    def ids(*words: object) -> list[str]:
        out = command("list", "--data", service.data, *words).out
        return [line.split()[0] for line in out.splitlines()]

    assert ids("--status", "approved") == ["2"]
    assert ids("--status", "all") == ["3", "2", "1"]
    assert ids("--limit", 1) == ["3"]
    assert command("list", "--data", service.data, "--status", "spam").out == "no spam comments\n"


def test_list_as_json_has_one_object_on_each_line(service: Service) -> None:
    approve(service.data, 3)
    out = command("list", "--data", service.data, "--json", "--status", "all").out
    entries = [json.loads(line) for line in out.splitlines()]
    assert [(entry["id"], entry["status"], entry["message"]) for entry in entries] == [
        (3, "approved", "Third"),
        (2, "pending", "Second"),
        (1, "pending", "First"),
    ]
    assert "email" not in entries[0]


def test_check_finds_nothing_in_good_data(service: Service) -> None:
    outcome = command("check", "--data", service.data)
    assert outcome.code == 0
    assert outcome.err == ""
    assert "is intact, and its counts are right" in outcome.out


def test_check_finds_wrong_counts_and_wrong_settings_together(service: Service) -> None:
    service.stop()
    change(service.data, "UPDATE site SET count = 7")
    outcome = command(
        "check", "--data", service.data, environ={"COMMENTSVC_SPAM_MAX_LINKS": "many"}
    )
    assert outcome.code == 1
    assert 'COMMENTSVC_SPAM_MAX_LINKS is "many"; allowed is' in outcome.err
    assert "blog" in outcome.err.splitlines()[1]


def test_init_writes_settings_that_serve_reads(data: Path, start: Start) -> None:
    outcome = command("init", "--data", data, "--all")
    assert outcome.code == 0
    file = data / "commentsvc.toml"
    assert str(file) in outcome.out
    assert data.stat().st_mode & 0o777 == 0o700
    text = file.read_text()
    file.write_text(text.replace('#policy = "all"', 'policy = "none"'))
    assert start(data).submit("/post/", "Hello").status == 201


@pytest.mark.sqlite_only(NONE)
def test_init_does_not_overwrite(data: Path) -> None:
    command("init", "--data", data)
    file = data / "commentsvc.toml"
    file.write_text("# mine\n")
    outcome = command("init", "--data", data)
    assert outcome.code == 1
    assert outcome.err == f"commentsvc: {file} already exists; not overwritten.\n"
    assert file.read_text() == "# mine\n"


def test_a_live_server_is_healthy(data: Path, start: Start, tmp_path: Path) -> None:
    for listen in ("127.0.0.1:0", f"unix:{tmp_path}/http.sock"):
        service = start(data, listen=listen)
        outcome = command("healthcheck", environ={"COMMENTSVC_DATA": str(data)})
        assert outcome == (0, f"{service.address} is running\n", "")
        service.stop()


@pytest.mark.sqlite_only(NONE)
def test_no_server_is_not_healthy(data: Path) -> None:
    data.mkdir()
    outcome = command("healthcheck", "--data", data)
    assert outcome.code == 1
    assert outcome.err == f"commentsvc: No server answers at {data}/control.sock.\n"


def test_help_and_version_need_no_data() -> None:
    """Here the program is really started, while `command` forks one that has been."""
    python = [sys.executable, "-m", "commentsvc"]
    assert run([*python, "--version"], environment({}), "").out.startswith("commentsvc, version ")
    assert "healthcheck" in run([*python, "--help"], environment({}), "").out

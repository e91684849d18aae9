"""The command import: with and without a server, repeated, and undone."""

import csv
import fcntl
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from commentsvc.auth import accounts
from commentsvc.cli import client, main, running
from commentsvc.comments import queries
from commentsvc.db.schema.moderation import TrainingTotalTable
from commentsvc.imports import formats, importer
from commentsvc.imports.store import store
from commentsvc.runtime.control import ShowSettings
from commentsvc.runtime.control_commands import CommandResult
from commentsvc.settings.schema import Settings
from tests.unit.app_fixture import Served
from tests.unit.database_fixture import location, opened
from tests.unit.imports.import_samples import (
    DISQUS,
    GITHUB_COMMENTS,
    GITHUB_ISSUES,
    ISSO_JSON,
    REMARK42,
    TWIKOO,
    WORDPRESS,
)

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, engine: str, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run `commentsvc import` on a data folder without a database file, in this process."""
    data = tmp_path / "data"
    data.mkdir()
    if engine == "postgresql":
        monkeypatch.setenv("COMMENTSVC_DATABASE_URL", str(location(data)))  # of other processes
        monkeypatch.setattr(running, "location", location)
    (data / "commentsvc.toml").write_text('[[site]]\norigins = ["https://blog.example"]\n')

    def run(*words: object, data: Path = data) -> Result:
        return CliRunner().invoke(main.main, ["import", "--data", str(data), *map(str, words)])

    return run


@pytest.fixture
def disqus(tmp_path: Path) -> Path:
    path = tmp_path / "disqus.xml"
    path.write_text(DISQUS)
    return path


def numbers(output: str) -> dict[str, int]:
    """Return the numbers of a summary by name."""
    found = re.findall(r"^([a-z]+(?: [a-z]+)?) +([0-9]+)", output, re.MULTILINE)
    return {name: int(number) for name, number in found}


def test_an_import_is_done_once_shown_and_taken_back(
    run: Run, disqus: Path, tmp_path: Path
) -> None:
    data, report = tmp_path / "data", tmp_path / "report.csv"
    dry = run("auto", disqus, "--dry-run")
    assert numbers(dry.output) == {
        "read": 5, "would store": 3, "merged": 0, "already there": 0, "left out": 2,
    }  # fmt: skip
    assert client.read(data, queries.listing, None, 10) == []
    done = run("auto", disqus, "--report", report)
    assert done.output.startswith("disqus: recognised by its XML namespace\n")
    assert numbers(done.output)["stored"] == 3
    assert done.output.endswith("To take it back: commentsvc import --undo 1\n")
    with report.open(newline="") as file:
        rows = [
            (row["position"], row["outcome"], row["comment_id"]) for row in csv.DictReader(file)
        ]
    assert rows == [
        ("line 8", "stored", "2"),
        ("line 12", "stored", "1"),
        ("line 15", "stored", "3"),
        ("line 18", "left out", ""),
        ("line 21", "left out", ""),
    ]
    again = run("disqus", disqus)
    assert numbers(again.output)["already there"] == 3
    assert "--undo" not in again.output
    assert run("--list").output.split()[3:] == ["disqus", "3", "disqus.xml"]
    assert run("--undo", 1).output == "import 1 is taken back: 3 comments\n"
    assert client.read(data, queries.listing, None, 10) == []
    assert run("--list").output.endswith("undone\n")
    assert run("--undo", 1).exit_code == 1
    assert client.check(data) == []
    left = {path.name for path in data.iterdir()} - {"comments.sqlite3", "secret.key"}
    assert left == {"commentsvc.toml", "import.sqlite3.lock", "lock"}


def test_it_goes_through_the_server_that_runs(
    run: Run, disqus: Path, tmp_path: Path, service: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server stores the comments, and purges the cached answers that have changed."""
    orders: list[object] = []
    monkeypatch.setattr(importer, "BESIDE_SERVER", 2)
    waited: list[float] = []
    monkeypatch.setattr("commentsvc.imports.importer.time.sleep", waited.append)

    def ask(_path: Path, order: object) -> object:
        if isinstance(order, ShowSettings):
            return CommandResult(settings=Settings())
        orders.append(type(order).__name__)
        return service.database.write_now(order.run, 2**41)  # type: ignore[attr-defined] # an order has it

    monkeypatch.setattr("commentsvc.runtime.control.ask", ask)
    assert run("disqus", disqus, data=tmp_path).exit_code == 0
    assert orders == ["BeginImport", "StoreImported", "StoreImported", "FinishImport"]
    assert len(waited) == 2, "readers have the time between two batches"
    assert service.database.read_now(queries.site_count, "blog") == 1


def test_a_map_and_a_list_of_aliases_say_where_pages_are_now(
    run: Run, disqus: Path, tmp_path: Path
) -> None:
    moved = tmp_path / "map.csv"
    moved.write_text("old,new\nhttp://www.blog.example/a/,/mapped/\n\n# a note\n")
    aliases = tmp_path / "aliases.json"
    aliases.write_text('{"pages": [{"url": "/aliased/", "aliases": ["/a/"]}]}')
    assert run("disqus", disqus, "--map", moved, "--aliases", aliases).exit_code == 0
    urls = {entry.url for entry in client.read(tmp_path / "data", queries.listing, None, 10)}
    assert urls == {"/mapped/"}
    moved.write_text("https://blog.example/a/,/mapped/\n")
    moved.write_text("/a/,/b/,/c/\n")
    assert (
        "line 1: give the old address, a comma, the new one"
        in run("auto", disqus, "--map", moved).output
    )


def test_pages_that_are_not_on_the_blog_are_listed(run: Run, disqus: Path, tmp_path: Path) -> None:
    report, built = tmp_path / "report.csv", tmp_path / "public"
    sitemap = built / "en/sitemap.xml"
    sitemap.parent.mkdir(parents=True)
    sitemap.write_text("<urlset><url><loc>https://blog.example/a/</loc></url></urlset>")
    assert "not on the blog        0   pages" in run("auto", disqus, "--pages", built).output
    sitemap.write_text("<urlset><url><loc>https://blog.example/b/</loc></url></urlset>")
    run("--undo", 1)
    done = run("auto", disqus, "--pages", sitemap, "--report", report)
    assert "not on the blog        1   pages with 3 comments\n        3 on /a/\n" in done.output
    with report.open(newline="") as file:
        reasons = [row["reason"] for row in csv.DictReader(file) if row["comment_id"]]
    assert reasons == ["its page is not on the blog"] * 3
    done = run("auto", disqus, "--pages", disqus / "none")
    assert done.exit_code == 1
    assert "Traceback" not in done.output


def test_comments_without_their_pages_lead_to_the_other_file(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "comments.json"
    path.write_text(json.dumps(GITHUB_COMMENTS))
    hint = "nothing is stored: name the files that have the pages, too"
    assert hint in run("github", path).output
    path.write_text(json.dumps([GITHUB_ISSUES, GITHUB_COMMENTS]))
    assert hint not in run("github", path).output


def test_an_address_without_a_host_is_none(run: Run, tmp_path: Path) -> None:
    """Forms had `http://` in an empty field."""
    path = tmp_path / "comments.json"
    path.write_text(json.dumps([{**row, "link": "http://"} for row in json.loads(TWIKOO)]))
    done = run("twikoo", path)
    assert "web site" not in done.output
    assert "stored                 2" in done.output


def test_old_accounts_may_be_those_of_moderators(run: Run, tmp_path: Path) -> None:
    data, path = tmp_path / "data", tmp_path / "remark42"
    path.write_text(REMARK42)
    refused = run("auto", path, "--moderator", "admins")
    assert "there is no owner, or more than one: name a moderator" in refused.output
    with opened(data) as database:
        database.write_now(accounts.add, "mo", "some good words", 0)
    done = run("auto", path, "--moderator", "github_1", "--moderator", "x=mo")
    assert done.exit_code == 0
    found = {entry.comment.author for entry in client.read(data, queries.listing, "approved", 10)}
    assert found == {"mo"}


def test_the_spam_filter_learns_where_that_is_wanted(
    run: Run, tmp_path: Path, disqus: Path
) -> None:
    data = tmp_path / "data"
    assert "learned" not in run("disqus", disqus).output
    run("--undo", 1)
    done = run("disqus", disqus, "--learn", "all")
    assert "learned from 1 comments: approved" in done.output
    assert "learned from 1 comments: spam" in done.output

    def totals() -> list[tuple[int, int]]:
        query = TrainingTotalTable.select(TrainingTotalTable.spam, TrainingTotalTable.good)
        return client.read_snapshot(data, lambda snapshot: snapshot.query(query))

    assert totals() == [(1, 1)]
    run("--undo", 2)
    assert totals() == [(0, 0)]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["disqus"], "Give a FORMAT (or auto) and at least one FILE."),
        (["nothing", "FILE"], "'nothing' is not one of"),
        (["wordpres", "FILE"], "'wordpres' is unknown. Did you mean \"wordpress\"?"),
        (["auto", "FILE", "--undo", "1"], "without FORMAT and FILE"),
        (["auto", "FILE", "--timezone", "Mars"], "like Europe/Berlin"),
        (["auto", "FILE", "--status", "approved,none"], "'none' is not one of"),
        (["auto", "FILE", "--site", "other"], 'There is no site "other"'),
        (["wordpress", "BROKEN"], "line 2: the XML is broken here"),
        (["auto", "EMPTY"], "empty.json contains no text"),
        (["auto", "/dev/null"], "null can be read only once. Save it in a file first."),
        (["auto", "FILE", "--data", "/nowhere"], "There is no folder /nowhere."),
    ],
)
def test_what_cannot_be_done_is_told_in_one_sentence(
    run: Run, disqus: Path, tmp_path: Path, words: list[str], message: str
) -> None:
    broken = tmp_path / "broken.xml"
    broken.write_text('<rss xmlns:wp="http://wordpress.org/export/1.2/">\n<item><</item>')
    (empty := tmp_path / "empty.json").touch()
    names = {"FILE": disqus, "BROKEN": broken, "EMPTY": empty}
    done = run(*(names.get(word, word) for word in words))
    assert done.exit_code in (1, 2)
    assert message in done.output
    assert "Traceback" not in done.output


def test_a_broken_file_changes_nothing_unless_the_rest_is_wanted(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "cut.xml"
    path.write_text(WORDPRESS.partition("<wp:comment_id>7")[0])
    assert run("auto", path).exit_code == 1
    assert run("--list").output == "no imports\n"
    done = run("auto", path, "--keep-going")
    assert numbers(done.output)["stored"] == 1
    assert "1 cannot be read: the XML is broken here (no element found)" in done.output


def test_two_imports_at_once_are_one_too_many(run: Run, disqus: Path, tmp_path: Path) -> None:
    with (tmp_path / "data/import.sqlite3.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        done = run("auto", disqus)
    assert done.output.endswith("Another import is running on this data. Wait for it.\n")


# Kills itself with SIGKILL in the fifth transaction, before that is committed.
KILLED = """
import os, signal, sys
from commentsvc.cli import main
from commentsvc.imports import formats, importer
from commentsvc.imports.store import store

calls = iter(range(100))

def killing(store_batch):
    def call(*args):
        store_batch(*args)
        if next(calls) == 4:
            os.kill(os.getpid(), signal.SIGKILL)
    return call

importer.ALONE = 10
store.add_to_counts = killing(store.add_to_counts)
main.main(sys.argv[1:])
"""


def test_a_killed_import_is_continued(run: Run, tmp_path: Path) -> None:
    data, path = tmp_path / "data", tmp_path / "isso.json"
    texts = [
        ISSO_JSON[1:-1].replace("/a/", f"/{number}/").replace("Some", f"{number}")
        for number in range(50)
    ]
    path.write_text(f"[{','.join(texts)}]")
    words = ["import", "isso", str(path), "--data", str(data)]
    killed = subprocess.run([sys.executable, "-c", KILLED, *words], stdout=subprocess.DEVNULL)
    assert killed.returncode == -signal.SIGKILL
    [begun] = client.read(data, store.runs)
    assert (begun.comments, begun.finished_at) == (40, None)
    done = run("isso", path)
    assert numbers(done.output)["already there"] == 40
    assert numbers(done.output)["stored"] == 60
    [finished] = client.read(data, store.runs)
    assert (finished.id, finished.comments) == (begun.id, 100)
    assert client.check(data) == []


@pytest.mark.sqlite_only("another process shows the same")
def test_progress_is_shown_on_a_terminal(disqus: Path, tmp_path: Path) -> None:
    shown: list[bytes] = []
    ours, theirs = os.openpty()

    def read() -> None:
        try:
            while data := os.read(ours, 4_096):
                shown.append(data)
        except OSError:
            pass  # the other end is closed

    reader = threading.Thread(target=read)
    reader.start()
    words = ["-m", "commentsvc", "import", "auto", str(disqus), "--data", str(tmp_path)]
    done = subprocess.run([sys.executable, *words], stderr=theirs, stdout=subprocess.PIPE)
    os.close(theirs)
    reader.join(120)
    os.close(ours)
    assert done.returncode == 0
    text = b"".join(shown).decode()
    assert "reading" in text
    assert "storing" in text
    assert "comments/s" in text


@pytest.mark.sqlite_only("it is about files")
def test_what_root_imports_belongs_to_the_owner_of_the_folder(
    run: Run, disqus: Path, tmp_path: Path
) -> None:
    """Regression: the service's user could neither open the database nor take the lock."""
    if os.geteuid() != 0:
        pytest.skip("only root can make files for somebody else")
    data = tmp_path / "data"
    for path in (data, data / "commentsvc.toml"):
        os.chown(path, 10_001, 10_001)
    assert run("auto", disqus).exit_code == 0
    owners = {path.name: path.stat().st_uid for path in data.iterdir()}
    assert {"comments.sqlite3", "lock"} <= owners.keys()
    assert set(owners.values()) == {10_001}, owners


def test_a_file_without_comments_is_a_failure(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "blog.xml"
    path.write_text(DISQUS.partition("<post ")[0] + "</disqus>")
    for words in (["auto", path], ["disqus", path, "--dry-run"]):
        result = run(*words)
        assert result.exit_code == 1
        assert f"No comments were found in {path}." in result.output


FOREIGN = {
    "a plain text": "Hello.\nThis is a text, and no export.\n",
    "an object without the fields": '{"a": 1, "b": "x"}',
    "lines of objects without the fields": '{"a": 1}\n{"a": 2}\n',
    "objects without the fields": '[{"a": 1}, {"a": 2}]',
    "numbers": "[1, 2, 3]",
}


@pytest.mark.sqlite_only("what is refused never reaches the database")
@pytest.mark.locked_only("the formats have tests of their own")
@pytest.mark.parametrize("name", formats.NAMES)
def test_what_has_no_field_of_a_format_is_a_failure(run: Run, tmp_path: Path, name: str) -> None:
    path = tmp_path / "file"
    for kind, content in FOREIGN.items():
        path.write_text(content)
        result = run(name, path)
        assert result.exit_code == 1, kind
        assert path.name in result.output, kind
        assert result.output.count("commentsvc: ") == 1, kind
        assert "This is import" not in result.output, kind


def test_a_file_of_another_system_is_refused_with_the_right_name(run: Run, disqus: Path) -> None:
    result = run("waline", disqus)
    assert result.exit_code == 1
    assert "disqus.xml is of disqus, not of waline: its XML namespace. " in result.output
    assert "Use: commentsvc import disqus" in result.output


def test_the_help_names_each_format(run: Run) -> None:
    assert set(formats.NAMES) <= set(re.findall(r"\w+", run("--help").output))

"""The command export: where it writes, what it prints and what it refuses."""

import contextlib
import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from commentsvc.cli.main import main
from commentsvc.comments import site_rows
from commentsvc.db.database import Database
from commentsvc.errors import CommentsError
from commentsvc.feedback import votes
from commentsvc.markup.markdown import render
from commentsvc.moderation import changes, retention, threads, undo
from commentsvc.readers import follows
from commentsvc.settings.data_dir import DATABASE
from commentsvc.spam import bans
from tests.unit.database_fixture import HOUR, NOW, add, environ, forget, opened

pytestmark = pytest.mark.usefixtures("commands")

DAY = 86_400_000


@pytest.fixture
def data(tmp_path: Path) -> Path:
    with opened(tmp_path) as database:
        add(database, author="Ann")
        add(database, now=NOW + 2 * DAY)
    return tmp_path


def run(data: Path, *words: object) -> Result:
    runner = CliRunner(env=environ(data))
    return runner.invoke(main, ["export", "--data", str(data), *map(str, words)])


def types(text: bytes) -> list[str]:
    return [msgspec.json.decode(line)["type"] for line in text.splitlines()]


def test_an_export_goes_to_the_output_and_what_is_said_to_stderr(data: Path) -> None:
    done = run(data)
    assert done.exit_code == 0
    assert types(done.stdout_bytes) == ["header", "thread", "comment", "comment", "end"]
    assert done.stderr == "2 comments exported\n"


def test_a_file_is_for_its_owner_and_replaced_by_force_only(data: Path) -> None:
    file = data / "comments.ndjson"
    assert run(data, file).exit_code == 0
    assert file.stat().st_mode & 0o777 == 0o600
    written = file.read_bytes()
    assert written == run(data).stdout_bytes
    refused = run(data, file, "--anonymous")
    assert refused.exit_code == 1
    assert "already exists" in refused.output
    assert file.read_bytes() == written
    assert run(data, file, "--anonymous", "--force").exit_code == 0
    assert b"Ann" not in file.read_bytes()
    assert not list(data.glob("*.part"))


def test_a_device_is_not_replaced(data: Path) -> None:
    """Regression: --force made a file of /dev/null."""
    pipe = data / "pipe"
    os.mkfifo(pipe)
    refused = run(data, pipe, "--force")
    assert refused.exit_code == 1
    assert (
        refused.output
        == f"commentsvc: {pipe} is not a file, so it is not replaced. Name another one.\n"
    )
    assert pipe.is_fifo()


def test_a_failed_export_leaves_no_file(data: Path) -> None:
    refused = run(data, data / "new", "--site", "another")
    assert (refused.exit_code, refused.output) == (
        1,
        'commentsvc: There is no site "another". There are: blog.\n',
    )
    assert not list(data.glob("new*"))


def test_files_of_a_hugo_blog_that_cannot_be_written_are_named_and_the_rest_is_written(
    data: Path,
) -> None:
    with opened(data) as database:
        for number in range(25):
            add(database, url=f"/{number}/")
    folder = data / "talk"
    assert run(data, "--hugo", folder).exit_code == 0
    for path in folder.glob("?-*.json"):
        path.write_text("{}")
    done = run(data, "--hugo", folder)
    assert done.exit_code == 1
    assert done.stdout == f"{folder}: 0 written, 16 unchanged, 0 removed\n"
    *first, last = done.stderr.splitlines()
    assert [line.split(": ")[1] for line in first] == [f"/{number}/" for number in range(10)]
    assert last == "commentsvc: 10 files could not be written. All others are up to date."
    for path in folder.glob("*.json"):
        path.write_text("{}")
    *first, last = run(data, "--hugo", folder).stderr.splitlines()
    assert len(first) == 20
    assert "26 files could not be written (6 more are not listed)." in last


def test_an_archive_is_written_and_says_what_to_open(data: Path) -> None:
    folder = data / "archive"
    done = run(data, "--archive", folder)
    assert (done.exit_code, done.stdout) == (
        0,
        f"{folder}: 2 comments; open {folder / 'index.html'}\n",
    )
    assert (folder / "site-blog/index.html").exists()
    refused = run(data, "--archive", data)
    assert refused.exit_code == 1
    assert refused.output.endswith("Name a new folder, or an empty one.\n")


@pytest.mark.parametrize("words", [("x.xml",), ("--anonymous",), ("--force",), ("--hugo", "talk")])
def test_an_archive_takes_no_option_that_it_would_ignore(data: Path, words: list[str]) -> None:
    refused = run(data, "--archive", data / "archive", *words)
    assert refused.exit_code == 2
    assert "--archive" in refused.output
    assert not (data / "archive").exists()


def test_a_day_is_a_moment(data: Path) -> None:
    assert types(run(data, "--since", "2026-11-19").stdout_bytes).count("comment") == 1
    assert (
        types(run(data, "--since", "2026-11-18T00:00:00+01:00").stdout_bytes).count("comment") == 2
    )
    refused = run(data, "--since", "yesterday")
    assert refused.exit_code == 2
    assert "is not a date like" in refused.output


def test_a_server_that_writes_meanwhile_changes_nothing(data: Path) -> None:
    with opened(data) as database:
        add(database)
        done = run(data)
    assert types(done.stdout_bytes).count("comment") == 3


@pytest.mark.sqlite_only("an empty file is SQLite's")
def test_a_database_that_waits_for_its_upgrade_is_left_alone(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / DATABASE)) as empty:
        empty.execute("VACUUM")
    refused = run(tmp_path)
    assert refused.exit_code == 1
    assert "the next start of the server creates or upgrades them" in refused.output


def test_other_formats_take_the_origin_from_the_settings(data: Path) -> None:
    refused = run(data, "--format", "wordpress")
    assert refused.exit_code == 1
    assert "blog has no origins" in refused.output
    (data / "commentsvc.toml").write_text('[[site]]\norigins = ["https://blog.example"]\n')
    for form in ("wordpress", "disqus"):
        done = run(data, "--format", form)
        assert done.exit_code == 0, done.output
        assert b"<link>https://blog.example/post/</link>" in done.stdout_bytes


SITES = ("blog", "other")
FOLLOWED = (("blog", ""), ("blog", "/a/"), ("other", "/new/3"))
FOLLOWERS = ("ann@blog.example", "Flo@x.example")
TEXTS = ("Hello *you*", "One\n\nTwo", "<b>x</b> & y", "\u202eüñ \U0001f600", "```\na\n```")


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory, engine: str) -> Path:
    """Return a service with two sites and no comment."""
    folder = tmp_path_factory.mktemp("empty")
    with opened(folder) as database:
        database.write_now(site_rows.sync, SITES)
    tables = (
        f'[[site]]\nname = "{name}"\norigins = ["https://{name}.example"]\n' for name in SITES
    )
    (folder / "commentsvc.toml").write_text("".join(tables))
    return folder


def comment_on(database: Database, draw: random.Random, now: int) -> None:
    """Submit a comment; most of them are replies, if there is a comment to reply to."""
    source, email = draw.choice(TEXTS), draw.choice(["", "ann@blog.example", "bo@x.example"])
    add(
        database,
        now=now,
        site=draw.choice(SITES),
        url=draw.choice(["/", "/a/", "/b?c=d"]),
        parent=draw.choice([None, *range(1, 10)]),
        status=draw.choice(["approved", "approved", "pending", "spam"]),
        author=draw.choice(["Ann", "Ünal <b>"]),
        email=email,
        author_site=draw.choice(["", "https://ann.example/?a&b"]),
        source=source,
        html=render(source),
        title=draw.choice(["", "Ä & b"]),
        score=draw.randrange(-3, 12),
        reasons=draw.choice(["", "a link (+2)\na name (+1)"]),
        network=draw.choice([None, b"network1"]),
        notify=bool(email) and draw.random() < 0.5,
        follow=bool(email) and draw.random() < 0.3,
        language=draw.choice(["", "de"]),
    )


def happen(database: Database, draw: random.Random, now: int) -> None:
    """Let a reader or a moderator do something."""
    number, word = draw.randrange(1, 10), f"word {draw.randrange(10**6)}"
    write = database.write_now
    steps: list[Callable[[], object]] = [
        *[lambda: comment_on(database, draw, now)] * 6,
        *[lambda: write(changes.change, [number], draw.choice(["approved", "spam"]), "Mo", now)]
        * 2,
        lambda: write(changes.change, [number], "deleted", "Mo", now),
        lambda: write(undo.last, [number], "Jo", now),
        lambda: write(changes.edit, number, word, "Mo", now),
        lambda: write(votes.vote, number, word, draw.choice([1, -1]), [b"network2"], now),
        lambda: write(follows.request, draw.choice(FOLLOWED), draw.choice(FOLLOWERS), "fr", now),
        lambda: write(follows.confirm, draw.randrange(1, 5), now),
        lambda: write(follows.stop, draw.randrange(1, 5), now),
        lambda: write(retention.forget, "ann@blog.example", "Mo", now),
        lambda: write(bans.add, draw.choice(["word", "author"]), word, "Mo", now, now + HOUR),
        lambda: write(threads.set_state, "blog", "/", draw.choice(["open", "closed"])),
        lambda: write(threads.add_alias, "blog", "/a/", f"/old/{number}"),
        lambda: write(threads.move, "blog", "/b?c=d", f"/new/{number}"),
    ]
    with contextlib.suppress(CommentsError):  # no such comment, or not possible
        draw.choice(steps)()


@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32), length=st.integers(10, 60))
def test_an_export_into_an_empty_service_is_exported_equally(
    tmp_path: Path, empty: Path, seed: int, length: int
) -> None:
    forget()
    folder = tmp_path / f"{seed} {length}"
    first, second = (shutil.copytree(empty, folder / name, dirs_exist_ok=True) for name in SITES)
    draw = random.Random(seed)
    with opened(first) as database:
        database.write_now(site_rows.sync, SITES)  # a database of PostgreSQL is not copied
        add(database, url="/")  # a file without comments is refused
        for step in range(length):
            happen(database, draw, NOW + step * HOUR // 7)
    exported = run(first).stdout_bytes
    (folder / "file").write_bytes(exported)
    words = ["import", "--data", str(second), "commentsvc", str(folder / "file")]
    commands = CliRunner(env=environ(second))
    imported = commands.invoke(main, words)
    assert imported.exit_code == 0, imported.output
    assert run(second).stdout_bytes.splitlines() == exported.splitlines()
    checked = commands.invoke(main, ["check", "--data", str(second)])
    assert checked.exit_code == 0, checked.output
    shutil.rmtree(folder)

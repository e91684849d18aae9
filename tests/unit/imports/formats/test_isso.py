"""The locked version of Isso: we import what it stores, and it imports what we export."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from commentsvc.cli import client, main
from commentsvc.comments import queries
from commentsvc.moderation import pins
from tests.unit.database_fixture import HOUR, NOW, add, opened

SETTINGS = """
[general]
dbpath = {folder}/isso.db
host = http://127.0.0.1:9/
[guard]
enabled = false
"""

# Three comments by Isso's API: the second replies to the first, which is then edited. A fourth is
# deleted after it has a reply.
WRITE = """
import sys
from isso import config, make_app
from werkzeug.test import Client

client = Client(make_app(config.load(config.default_file(), sys.argv[1])))

def say(text, uri="/a/", **fields):
    sent = {"text": text, "title": "A & B", **fields}
    answer = client.post("/new?uri=" + uri, json=sent)
    assert answer.status_code == 201, answer.text
    return answer.json["id"]

first = say("*One*, said <b>at once</b>", author="Tom & <i>Tim</i>", email="tom@blog.example",
            website="https://tom.example/?a&b")
say("Two", parent=first, author="Mo")
edited = {"text": "*One*, said <b>later</b>", "author": "Tom & <i>Tim</i>"}
assert client.put(f"/id/{first}", json=edited).status_code == 200
like = client.post(f"/id/{first}/like", json={}, environ_base={"REMOTE_ADDR": "192.0.2.9"})
assert like.json["likes"] == 1
gone = say("Gone", uri="/b/")
say("Left", uri="/b/", parent=gone)
assert client.delete(f"/id/{gone}").status_code == 200
"""


IMPORT = "import isso; isso.main()"


@pytest.fixture
def isso(tmp_path: Path) -> Path:
    """Return the settings of an Isso in a folder of its own."""
    path = tmp_path / "isso.cfg"
    path.write_text(SETTINGS.format(folder=tmp_path))
    return path


def run(*words: object) -> None:
    done = subprocess.run(
        [sys.executable, *map(str, words)], env={"TZ": "UTC"}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def ours(data: Path, *words: object) -> str:
    data.mkdir(exist_ok=True)
    (data / "commentsvc.toml").write_text('[[site]]\norigins = ["https://blog.example"]\n')
    command, *others = map(str, words)
    done = CliRunner().invoke(main.main, [command, "--data", str(data), *others])
    assert done.exit_code == 0, done.output
    return done.output


def stored(isso: Path) -> list[tuple[str, str, int | None, int, str, str]]:
    """Return what Isso stores: page, author, parent, mode, time, text."""
    with closing(sqlite3.connect(isso.with_name("isso.db"))) as database:
        return database.execute(
            "SELECT t.uri, c.author, c.parent, c.mode, datetime(c.created, 'unixepoch'), c.text"
            " FROM comments AS c JOIN threads AS t ON t.id = c.tid ORDER BY c.id"
        ).fetchall()


def test_what_isso_has_stored_is_imported(isso: Path, tmp_path: Path) -> None:
    run("-c", WRITE, isso)
    output = ours(tmp_path / "data", "import", "auto", isso.with_name("isso.db"))
    assert "isso: recognised by its tables" in output
    assert "empty                1" in output
    found = {
        each.comment.id: each for each in client.read(tmp_path / "data", queries.listing, None, 10)
    }
    first, reply, gone, left = (found[number] for number in (1, 2, 3, 4))
    assert (first.url, first.title) == ("/a/", "A & B")
    assert (first.comment.author, first.comment.email) == ("Tom & <i>Tim</i>", "tom@blog.example")
    assert first.comment.site == "https://tom.example/?a&b"
    assert first.comment.html.startswith("<p><em>One</em>, said ")
    assert (first.comment.votes, first.comment.edited_at is not None) == (1, True)
    assert (reply.comment.source, reply.comment.parent_id) == ("Two", 1)
    assert (gone.comment.status, left.comment.parent_id) == ("deleted", 3)


@pytest.mark.sqlite_only("test_wordpress.py writes the formats from both")
@pytest.mark.parametrize("form", ["wordpress", "disqus"])
def test_isso_imports_what_we_export(isso: Path, tmp_path: Path, form: str) -> None:
    data, file = tmp_path / "data", tmp_path / "export"
    data.mkdir()
    with opened(data) as database:
        add(database, author="<Ann> & Bo", title="Wet & wood")
        add(database, now=NOW + HOUR, parent=1, author="Cy", source="2", html="<p>]]&gt; 2</p>")
        add(database, now=NOW + 2 * HOUR, status="pending")
        database.write_now(pins.pin, 1)
    ours(data, "export", "--format", form, file)
    empty = ["--empty-id"] if form == "disqus" else []
    run("-c", IMPORT, "-c", isso, "import", *empty, "-t", form, file)
    rows = stored(isso)
    authors = [row[1] for row in rows]
    assert authors[:2] in (["<Ann> & Bo", "Cy"], ["&lt;Ann&gt; &amp; Bo", "Cy"])
    assert {row[0] for row in rows} == {"/post/"}
    assert [row[4] for row in rows[:2]] == ["2026-11-18 11:06:40", "2026-11-18 12:06:40"]
    assert rows[1][2] == 1, "who replies to whom"
    assert [row[3] for row in rows] == ([1, 1, 2] if form == "wordpress" else [1, 1])
    assert "2" in rows[1][5]

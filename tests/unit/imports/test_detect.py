"""Each format: it is recognised, and read as its own program would read it."""

import gzip
import io
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path

import pytest

from commentsvc.imports.files import RATIO, sources
from commentsvc.imports.records import ImportedComment, ImportedPage, ImportFailed, InvalidInput
from tests.unit.imports.import_samples import (
    DISQUS,
    ISSO_JSON,
    WORDPRESS,
    comments,
    pages,
    parsed,
)

MAY_2013 = 1_367_316_000_000 + 86_400_000  # milliseconds: 2013-05-01T10:00:00Z


def written(tmp_path: Path, name: str, text: str) -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def test_disqus(tmp_path: Path) -> None:
    records = parsed(written(tmp_path, "export.xml", DISQUS))
    assert pages(records) == [
        ImportedPage("1", "https://blog.example/a/?utm_source=x", "line 3", "A & B"),
        ImportedPage("2", "http://www.blog.example/a/", "line 6", closed=True),
        ImportedPage("3", "", "line 7"),
    ]
    answer, deleted, spam, gone, lost = comments(records)
    assert answer == ImportedComment(
        position="line 8",
        page="1",
        id="12",
        parent="11",
        identity="12 2013-05-02T10:00:00Z",
        created=MAY_2013 + 86_400_000,
        text="<p>An answer.</p>",
        markup="html",
        author="Bob",
        anchor="comment-12",
    )
    assert (deleted.status, deleted.drop) == ("deleted", "it was deleted at Disqus")
    assert (deleted.email, deleted.created) == ("ann@blog.example", MAY_2013)
    assert (spam.status, gone.status, lost.page) == ("spam", "deleted", "99")


def test_wordpress(tmp_path: Path) -> None:
    records = parsed(written(tmp_path, "export.xml", WORDPRESS), zone="Europe/Berlin")
    assert pages(records) == [
        ImportedPage("0", "https://blog.example/hello/", "line 3", "Hello & more", closed=True)
    ]
    first, ping, held = comments(records)
    assert (first.author, first.email, first.site) == (
        "Tom & Tim",
        "tom@blog.example",
        "https://tom.example/",
    )
    assert (first.page, first.parent, first.markup) == ("0", "", "html_lines")
    assert first.created == 1_388_574_000_000  # 2014-01-01T11:00:00Z
    assert ping.drop == "it is a pingback, not a comment of a reader"
    assert (held.status, held.parent, held.text) == ("pending", "5", "Held\xa0back")
    assert held.created == 1_388_746_800_000  # 12:00 in Berlin


@pytest.fixture
def isso(tmp_path: Path) -> Path:
    """A database as Isso 0.14 makes it."""
    path = tmp_path / "comments.db"
    with closing(sqlite3.connect(path)) as database:
        database.executescript(
            "PRAGMA user_version = 5;"
            "CREATE TABLE threads (id INTEGER PRIMARY KEY, uri VARCHAR UNIQUE, title VARCHAR);"
            "CREATE TABLE comments (tid REFERENCES threads(id), id INTEGER PRIMARY KEY,"
            " parent INTEGER, created FLOAT NOT NULL, modified FLOAT, mode INTEGER,"
            " remote_addr VARCHAR, text VARCHAR NOT NULL, author VARCHAR, email VARCHAR,"
            " website VARCHAR, likes INTEGER DEFAULT 0, dislikes INTEGER DEFAULT 0,"
            " voters BLOB NOT NULL, notification INTEGER NOT NULL DEFAULT 0);"
            "INSERT INTO threads VALUES (1, '/a/', 'A &amp; B');"
            "INSERT INTO comments VALUES (1, 1, NULL, 1367402400.5, NULL, 1, '127.0.0.0',"
            " 'Some *text*', 'Tom &amp; Tim', 'tom@blog.example', 'https://t.example/?a&amp;b',"
            " 5, 2, x'', 0);"
            "INSERT INTO comments VALUES (1, 2, 1, 1367402401, 1367402402.25, 2, NULL, 'held',"
            " NULL, NULL, NULL, 0, 0, x'', 1);"
            "INSERT INTO comments VALUES (1, 3, NULL, 1367402403, NULL, 4, NULL, '', NULL, NULL,"
            " NULL, 0, 0, x'', 0);"
        )
    return path


def test_isso(isso: Path) -> None:
    records = parsed(isso)
    assert pages(records) == [ImportedPage("1", "/a/", "row 1 of threads", "A & B")]
    first, held, deleted = comments(records)
    assert first == ImportedComment(
        position="row 1 of comments",
        page="1",
        id="1",
        parent="",
        identity="1 1367402400.5",
        created=MAY_2013 + 500,
        text="Some *text*",
        markup="markdown",
        author="Tom & Tim",
        email="tom@blog.example",
        site="https://t.example/?a&b",
        votes=3,
        anchor="isso-1",
    )
    assert (held.status, held.parent, held.edited) == ("pending", "1", MAY_2013 + 2_250)
    assert deleted.drop == "it was deleted in Isso"


def test_a_newer_isso_is_refused(isso: Path) -> None:
    with closing(sqlite3.connect(isso)) as database:
        database.execute("PRAGMA user_version = 6")
    with pytest.raises(ImportFailed, match="newer Isso"):
        parsed(isso)


def test_a_database_that_is_locked_or_damaged_is_named_in_one_sentence(
    isso: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("commentsvc.imports.sqlite_source.PATIENCE", 0.01)
    with closing(sqlite3.connect(isso, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        other.execute("UPDATE threads SET title = 'x'")  # a journal is there now
        with pytest.raises(ImportFailed, match=r"Stop that program, or import a copy\.$"):
            parsed(isso)
        other.execute("ROLLBACK")
    data = isso.read_bytes()
    isso.write_bytes(data[:4096] + b"x" * (len(data) - 4096))
    with pytest.raises(ImportFailed, match=r"^comments\.db cannot be read: .*\.$"):
        parsed(isso, "isso")


def test_the_generic_json_of_isso(tmp_path: Path) -> None:
    records = parsed(written(tmp_path, "isso.json", ISSO_JSON), zone="Europe/Berlin")
    assert pages(records) == [ImportedPage("/a/", "/a/", "page 1", "A")]
    first, second = comments(records)
    assert first.identity != second.identity
    assert (first.position, first.created) == ("page 1, comment 1", 1_433_152_800_000)


@pytest.mark.parametrize("text", [DISQUS, WORDPRESS, ISSO_JSON])
def test_packed_files_are_read(tmp_path: Path, text: str) -> None:
    plain = parsed(written(tmp_path, "plain", text))
    packed = tmp_path / "packed.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    assert parsed(packed) == plain
    archive = tmp_path / "archive.zip"
    with zipfile.ZipFile(archive, "w") as made:
        made.mkdir("export")
        made.writestr("export/1", text)
        made.writestr("export/2", text)
    assert parsed(archive) == plain * 2


def test_a_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("commentsvc.imports.files.SLACK", 1_000)
    text = DISQUS.replace("gone", "x" * 3_000_000)
    packed = tmp_path / "bomb.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    assert packed.stat().st_size * RATIO < len(text)
    with pytest.raises(ImportFailed, match="unpacks to more than 200 times its size"):
        parsed(packed)


@pytest.mark.parametrize("cut", [30, 400])
def test_a_packed_file_that_is_cut_off_is_named(tmp_path: Path, cut: int) -> None:
    packed = tmp_path / "cut.gz"
    packed.write_bytes(gzip.compress(DISQUS.encode())[:cut])
    with pytest.raises(ImportFailed, match=r"cut\.gz cannot be unpacked"):
        parsed(packed, "disqus")


def test_a_broken_zip_file_is_named(tmp_path: Path) -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.xml", DISQUS)
    data = bytearray(made.getvalue())
    data[60:80] = b"\xff" * 20
    path = tmp_path / "broken.zip"
    path.write_bytes(data)
    with pytest.raises(ImportFailed, match=r"broken\.zip:a\.xml cannot be unpacked"):
        parsed(path, "disqus")


def test_a_packed_database_is_to_be_unpacked_first(isso: Path, tmp_path: Path) -> None:
    packed = tmp_path / "comments.db.gz"
    packed.write_bytes(gzip.compress(isso.read_bytes()))
    with pytest.raises(ImportFailed, match="Unpack the database first"):
        parsed(packed)


@pytest.mark.parametrize("text", ["", "hello", "<html></html>", "[1, 2]", "{}", "\x00\x01"])
def test_what_is_not_known_is_said_so(tmp_path: Path, text: str) -> None:
    with pytest.raises(ImportFailed, match=r"is not recognised\. Name its format, one of: disqus"):
        parsed(written(tmp_path, "file", text))


def test_files_of_two_formats_are_two_imports(tmp_path: Path) -> None:
    archive = tmp_path / "both.zip"
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr("1", DISQUS)
        made.writestr("2", WORDPRESS)
    assert len(sources([archive])) == 2
    with pytest.raises(ImportFailed, match=r"disqus and wordpress\. Import one after the other"):
        parsed(archive)


@pytest.mark.parametrize("text", ["[{", '[{"id": "/a/", "comments": [}]', '{"a": 1}', "[[1], 2]"])
def test_json_that_is_none_is_named(tmp_path: Path, text: str) -> None:
    path = written(tmp_path, "file.json", text)
    faults: list[str] = []
    assert not comments(parsed(path, "isso", faults=faults))
    if text != '{"a": 1}':
        assert "element" in faults[0]
        with pytest.raises(InvalidInput):
            parsed(path, "isso")

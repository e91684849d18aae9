"""Each format is recognised, and read as its own program would read it."""

import gzip
import io
import itertools
import json
import os
import re
import sqlite3
import tracemalloc
import zipfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import ijson  # type: ignore[import-untyped]  # it ships no types
import pytest

from commentsvc.imports import dates, formats
from commentsvc.imports.formats import staticman
from commentsvc.imports.records import (
    ImportedComment,
    ImportedPage,
    ImportFailed,
    InvalidInput,
    ParseOptions,
)
from commentsvc.imports.sources import json_files
from commentsvc.imports.sources.files import RATIO, SourceFile, sources
from tests.unit.imports.import_samples import (
    ARTALK,
    COMENTARIO,
    COMMENTO,
    CUSDIS,
    DISQUS,
    GISCUS,
    ISSO_JSON,
    REMARK42,
    STANZA,
    WALINE,
    WORDPRESS,
    comments,
    pages,
    parsed,
)
from tests.unit.processor_time import timed

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
        account="bob",
    )
    assert (deleted.status, deleted.drop) == ("deleted", "it was deleted at Disqus")
    assert (deleted.email, deleted.created) == ("ann@blog.example", MAY_2013)
    assert (spam.status, gone.status, lost.page) == ("spam", "deleted", "99")
    unquoted = written(tmp_path, "unquoted.xml", DISQUS.replace('dsq:id="1"', "dsq:id=1"))
    assert parsed(unquoted) == records


@pytest.mark.parametrize(
    ("written_there", "here"),
    [
        (
            'see <a href="http://disq.us/url?url=https%3A%2F%2Fa.example%2Fx%3Fa%3D1%26b%3A'
            'AbcdefghijKLMNOPqrstuv-_123&amp;cuid=1" rel="nofollow">x</a>',
            'see <a href="https://a.example/x?a=1&amp;b" rel="nofollow">x</a>',
        ),
        (
            "<a href='https://disq.us/?url=http%3A%2F%2Fa.example'>x</a>",
            "<a href='http://a.example'>x</a>",
        ),
        ('<a href="https://disq.us/url?url=javascript%3Ax">x</a>',) * 2,
        ('<a href="https://disq.us/p/1abc">x</a> disq.us/url?url=http',) * 2,
        ("<p>@ann_k:disqus, me@b.example:disqus</p>", "<p>@ann_k, me@b.example:disqus</p>"),
    ],
)
def test_links_of_disqus_lead_where_readers_saw_them_lead(
    tmp_path: Path, written_there: str, here: str
) -> None:
    text = re.sub(
        r"<message>.*?</message>",
        f"<message><![CDATA[{written_there}]]></message>",
        DISQUS,
        flags=re.S,
    )
    assert written_there in text
    assert comments(parsed(written(tmp_path, "disqus.xml", text)))[0].text == here


def test_wordpress(tmp_path: Path) -> None:
    records = parsed(written(tmp_path, "export.xml", WORDPRESS), zone="Europe/Berlin")
    assert pages(records) == [
        ImportedPage("1", "https://blog.example/hello/", "line 4", "Hello & more", closed=True)
    ]
    first, ping, held = comments(records)
    assert (first.author, first.email, first.site) == (
        "Tom & Tim",
        "tom@blog.example",
        "https://tom.example/",
    )
    assert (first.page, first.parent, first.markup) == ("1", "", "html_lines")
    assert first.created == 1_388_574_000_000  # 2014-01-01T11:00:00Z
    assert ping.drop == "its type is pingback: it is no comment of a reader"
    assert (held.status, held.parent, held.text) == ("pending", "5", "Held\xa0back")
    assert held.created == 1_388_746_800_000  # 12:00 in Berlin


def test_a_page_of_wordpress_without_a_link_has_the_address_of_its_id(tmp_path: Path) -> None:
    link = "<link>https://blog.example/hello/</link>"
    for fields, url in (
        ("<wp:post_id>101</wp:post_id>", "/?p=101"),
        ("<guid>https://blog.example/?p=7</guid>", "https://blog.example/?p=7"),
    ):
        records = parsed(written(tmp_path, "export.xml", WORDPRESS.replace(link, fields)))
        assert [page.url for page in pages(records)] == [url]


@pytest.fixture
def isso(tmp_path: Path) -> Path:
    """Return a database as Isso 0.14 makes it."""
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


def test_columns_may_hold_values_of_any_type(isso: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(isso)) as database, database:
        database.execute("UPDATE threads SET title = x'ff41', uri = 7")
        database.execute("UPDATE comments SET author = 5, text = x'42', website = 1.5")
        database.execute("UPDATE comments SET likes = 'x' WHERE id = 2")
    records = parsed(isso)
    assert [(page.url, page.title[1:]) for page in pages(records)] == [("7", "A")]
    assert [(each.author, each.text, each.site) for each in comments(records)] == [
        ("5", "B", "1.5")
    ] * 3
    assert comments(records)[1].votes == 0


def test_a_newer_isso_is_refused(isso: Path) -> None:
    with closing(sqlite3.connect(isso)) as database:
        database.execute("PRAGMA user_version = 6")
    with pytest.raises(ImportFailed, match="newer Isso"):
        parsed(isso)


def test_a_database_that_is_locked_or_damaged_is_named_in_one_sentence(
    isso: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("commentsvc.imports.sources.sqlite_files.PATIENCE", 0.01)
    with closing(sqlite3.connect(isso, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        other.execute("UPDATE threads SET title = 'x'")  # now it has a journal
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


@pytest.mark.parametrize(
    ("text", "account", "pinned"),
    [
        (WORDPRESS, "tom", []),
        (REMARK42, "x", ["c1"]),
        (COMMENTO, "", []),
        (COMENTARIO, "", ["c1"]),
        (ARTALK, "", ["5"]),
        (WALINE, "", ["o1"]),
        (CUSDIS, "", []),
        (GISCUS, "ann", []),
    ],
)
def test_who_runs_the_blog_is_known_and_what_is_pinned(
    tmp_path: Path, text: str, account: str, pinned: list[str]
) -> None:
    found = comments(parsed(written(tmp_path, "file", text)))
    assert [each.account for each in found if each.is_admin] == [account]
    assert [each.id for each in found if each.is_pinned] == pinned


@pytest.mark.parametrize("text", [DISQUS, REMARK42, COMMENTO, GISCUS])
def test_texts_are_read_as_shells_and_editors_write_them(tmp_path: Path, text: str) -> None:
    """As UTF-8 with a mark, UTF-16 with and without one, Windows-1252; with control characters."""
    text = text.replace("One", "Öne").replace("answer", "änswer")
    plain = parsed(written(tmp_path, "plain", text))
    assert any("Öne" in each.text or "änswer" in each.text for each in comments(plain))
    for encoding in ("utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252"):
        (tmp_path / encoding).write_bytes(text.encode(encoding))
        assert parsed(tmp_path / encoding) == plain, encoding
    controlled = text.replace("Öne", "Ö\x01n\x08e").replace("änswer", "än\x1fswer")
    assert parsed(written(tmp_path, "controlled", controlled)) == plain


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
        made.writestr("__MACOSX/export/._1", b"\0\5")
    assert parsed(archive) == plain * 2


class EndlessFile(SourceFile):
    """A file of `size` bytes that are made when they are read: records between two texts."""

    def __init__(self, size: int, begin: bytes, record: bytes, end: bytes) -> None:
        self.name, self.size = "large", size
        self._texts = begin, record, end

    @contextmanager
    def open(self) -> Iterator[io.BufferedReader]:
        begin, record, end = self._texts
        made = itertools.chain([begin], itertools.repeat(record, self.size // len(record)), [end])

        class Stream(io.RawIOBase):
            rest = b""

            def readable(self) -> bool:
                return True

            def readinto(self, buffer: Any) -> int:  # Any: a writable buffer
                self.rest = self.rest or next(made, b"")
                part, self.rest = self.rest[: len(buffer)], self.rest[len(buffer) :]
                buffer[: len(part)] = part
                return len(part)

        yield io.BufferedReader(Stream())


@pytest.mark.parametrize(
    ("name", "file"),
    [
        (
            "disqus",
            EndlessFile(
                2**24,
                b'<disqus xmlns="http://disqus.com">',
                b"<post><message>%s</message></post>\n" % (b"text " * 5_000),
                b"</disqus>",
            ),
        ),
        ("artalk", EndlessFile(2**24, b"[{}", b',{"content":"%s"}\n' % (b"text " * 5_000), b"]")),
        ("remark42", EndlessFile(2**24, b"\n", b'{"locator":"%s"}\n' % (b"text " * 5_000), b"")),
    ],
)
def test_the_memory_does_not_grow_with_the_file(name: str, file: EndlessFile) -> None:
    skipped: list[InvalidInput] = []
    tracemalloc.start()
    try:
        records = formats.load(name).parse(
            file, ParseOptions(ZoneInfo("UTC"), skipped.append, skipped.append)
        )
        number = sum(isinstance(record, ImportedComment) for record in records)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert skipped == []
    assert number >= file.size // 30_000
    assert peak < file.size / 4


def test_what_was_packed_twice_is_unpacked_twice(tmp_path: Path) -> None:
    twice, zipped = tmp_path / "twice.gz", tmp_path / "packed.zip"
    packed = gzip.compress(DISQUS.encode())
    twice.write_bytes(gzip.compress(packed))
    with zipfile.ZipFile(zipped, "w") as archive:
        archive.writestr("disqus.xml.gz", packed)
    plain = parsed(written(tmp_path, "disqus.xml", DISQUS))
    assert parsed(twice) == plain
    assert parsed(zipped) == plain
    twice.write_bytes(gzip.compress(packed[:-100]))
    with pytest.raises(ImportFailed, match=r"twice\.gz cannot be unpacked: Compressed file ended"):
        parsed(twice)


def test_a_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("commentsvc.imports.sources.files.SLACK", 1_000)
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


def test_a_zip_file_whose_entries_share_their_bytes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.xml", DISQUS + " " * 1_000_000)
        archive.filelist *= 100
    with pytest.raises(ImportFailed, match="unpacks to more than 200 times its size"):
        sources([path])


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


@pytest.mark.parametrize("text", ["", "\r\n", "\ufeff", "\x00\x01"])
def test_an_empty_file_is_named(tmp_path: Path, text: str) -> None:
    with pytest.raises(ImportFailed, match=r"^file contains no text\.$"):
        parsed(written(tmp_path, "file", text))


@pytest.mark.parametrize("chosen", ["auto", "staticman"])
def test_a_folder_or_zip_file_without_files_is_named(tmp_path: Path, chosen: str) -> None:
    (folder := tmp_path / "comments").mkdir()
    zipfile.ZipFile(archive := tmp_path / "comments.zip", "w").close()
    for path in (folder, archive):
        with pytest.raises(ImportFailed, match=r"^There are no files in /.*/comments"):
            parsed(path, chosen)


@pytest.mark.parametrize("text", ["hello", "<p>hello</p>", "[1, 2]", '{"a": 1}'])
def test_what_is_not_known_is_said_so(tmp_path: Path, text: str) -> None:
    with pytest.raises(ImportFailed, match=r"is not recognised\. Name its format, one of: disqus"):
        parsed(written(tmp_path, "file", text))


def test_what_can_be_read_only_once_is_refused(tmp_path: Path) -> None:
    os.mkfifo(pipe := tmp_path / "pipe")
    for path in (pipe, Path("/dev/null")):
        with pytest.raises(
            ImportFailed, match=r"can be read only once\. Save it in a file first\.$"
        ):
            sources([path])


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


@pytest.mark.parametrize("name", ["isso", "artalk", "waline", "cusdis", "giscus"])
def test_json_that_is_nested_too_deep_is_refused_at_once(tmp_path: Path, name: str) -> None:
    deep = '[{"id": "a", "a\\\\": "]}\\"\\\\", "comments": []}, ' + "[" * 50_000
    faults: list[str] = []
    path = written(tmp_path, "deep.json", deep)
    took, records = timed(partial(parsed, path, name, faults=faults))
    assert took < 2_000  # it once took ten times as long
    assert len(records) == {"isso": 1, "artalk": 2, "waline": 2}.get(name, 0)  # what precedes it
    fault = "the JSON is nested more than 500 deep here, as in no export"
    assert faults == [f"byte {deep.index('[[') + 500}: {fault}"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("artalk", '[{"id": "1", "content": "a"}, {"x": [HERE]}]'),
        ("isso", '[{"id": "/a/", "comments": [HERE]}]'),
        ("cusdis", '{"pages": [], "comments": [{"id": "1"}, {"x": [HERE]}]}'),
        ("commento", '{"version": 1, "commenters": [], "comments": [{"x": [HERE]}]}'),
        ("waline", '{"type": "waline", "version": 1, "data": {"Comment": [{"x": [HERE]}]}}'),
        ("twikoo", '{"collections": [{"data": [{"x": [HERE]}]}]}'),
        ("giscus", '{"discussions": [HERE]}'),
        ("github", '[{"x": [HERE]}]'),
    ],
)
def test_an_object_that_needs_much_memory_is_refused(
    tmp_path: Path, name: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_files, "MEMORY", 8 << 20)
    path = written(tmp_path, "big.json", text.replace("HERE", "{}," * 100_000 + "{}"))
    faults: list[str] = []
    tracemalloc.start()
    try:
        parsed(path, name, faults=faults)
        assert tracemalloc.get_traced_memory()[1] < json_files.MEMORY
    finally:
        tracemalloc.stop()
    assert len(faults) == 1
    assert faults[0].endswith("an object here needs more than 8 MiB of memory")


def test_many_objects_may_need_much_memory_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_files, "MEMORY", 8 << 20)
    row = '{"id": "1", "x": [' + "{}," * 10_000 + "{}]}"
    path = written(tmp_path, "many.json", f"[{', '.join([row] * 20)}]")
    assert len(comments(parsed(path, "artalk"))) == 20


@pytest.mark.parametrize(
    "value", ["{}", "[]", '{"a":1}', '{"ab":"c"}', '"é"', "1.5", "12345", "9" * 30, "[[[[1]]]]"]
)
def test_a_value_takes_no_more_memory_than_is_counted(value: str) -> None:
    text = f"[[{','.join([value] * 50_000)}]]".encode()
    bounds = json_files._Bounds(-1)
    assert not bounds.problem(text)
    tracemalloc.start()
    try:
        assert [*ijson.items(io.BytesIO(text), "item")]
        assert tracemalloc.get_traced_memory()[1] < bounds._memory + 1_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("depth", [10, 490])
def test_brackets_in_texts_do_not_nest(tmp_path: Path, depth: int) -> None:
    text = json.dumps("[{" * 40_000 + '\\"' * 40_000)
    inner = "[" * depth + "]" * depth
    path = written(tmp_path, "a.json", f'[{{"id": "1", "content": {text}, "x": {inner}}}]')
    [comment] = comments(parsed(path, "artalk"))
    assert comment.text == json.loads(text)


def test_numbers_may_have_any_length(tmp_path: Path) -> None:
    big, huge = "9" * 40, "9" * 5_000
    items = [f'{{"id": {n}, "content": "a", "vote_up": {n}}}' for n in ("1", big, "1e999999999")]
    path = written(tmp_path, "a.json", f"[{', '.join(items)}, [{huge}]]")
    faults: list[str] = []
    found = comments(parsed(path, "artalk", faults=faults))
    assert [(each.id, each.votes) for each in found] == [("1", 1), (big, 0), ("1E+999999999", 0)]
    offset = path.read_text().index(huge) + 300
    assert faults == [f"byte {offset}: a number has more than 300 digits"]


def brief(comment: ImportedComment) -> tuple[str, ...]:
    """Return the most important fields of a comment."""
    return (comment.page, comment.id, comment.parent, comment.status, comment.author, comment.text)


def test_remark42(tmp_path: Path) -> None:
    records = parsed(written(tmp_path, "backup.json", REMARK42))
    assert pages(records) == [
        ImportedPage("https://blog.example/a/", "https://blog.example/a/", "line 2", "A", True),
        ImportedPage("https://blog.example/b/", "https://blog.example/b/", "line 4"),
    ]
    answer, deleted, old = comments(records)
    page = "https://blog.example/a/"
    assert brief(answer) == (page, "b1", "a1", "approved", "Bob", "An *answer*")
    assert (answer.created, answer.edited, answer.votes) == (MAY_2013 + 1_123, MAY_2013 + 3_000, -2)
    assert (answer.markup, answer.anchor) == ("markdown", "comment-b1")
    assert deleted.drop == "it was deleted in Remark42"
    assert (old.text, old.markup) == ("<p>imported</p>", "html")


def test_the_comments_of_one_user_of_remark42(tmp_path: Path) -> None:
    own = [json.loads(line) for line in REMARK42.splitlines()[1:]]
    text = json.dumps({"info": {"name": "Bob", "id": "github_1"}, "comments": own})
    records = parsed(written(tmp_path, "github_1.json", text))
    backup = comments(parsed(written(tmp_path, "backup.json", REMARK42)))
    assert [*map(brief, comments(records))] == [*map(brief, backup)]
    assert comments(records)[0].position == "comment 1"


@pytest.mark.parametrize("as_tree", [False, True])
@pytest.mark.parametrize("behind", [True, False])
def test_answers_of_remark42_are_read(tmp_path: Path, as_tree: bool, behind: bool) -> None:
    """Its answer to `find` has the comments of a page as an array or a tree."""
    own = [json.loads(line) for line in REMARK42.splitlines()[1:]]
    reply, *others = own
    tree = [{"comment": others[0], "replies": [{"comment": reply}]}]
    tree += [{"comment": each, "replies": None} for each in others[1:]]
    answer: dict[str, object] = {"comments": tree if as_tree else own}
    info = {"info": {"url": "https://blog.example/a/", "count": 3}}
    text = json.dumps({**answer, **info} if behind else {**info, **answer})
    for name in ("auto", "remark42"):
        records = parsed(written(tmp_path, "find.json", text), name)
        backup = comments(parsed(written(tmp_path, "backup.json", REMARK42)))
        assert sorted(map(brief, comments(records))) == sorted(map(brief, backup))


def test_of_the_folder_of_remark42_the_newest_backup_of_each_site_is_read(tmp_path: Path) -> None:
    for name in ("backup-blog-20240101", "backup-blog-20240203", "userbackup-my-site-20230101"):
        (folder := tmp_path / "var" / "backup").mkdir(parents=True, exist_ok=True)
        text = REMARK42.replace("Bob", name)
        (folder / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "var" / "remark.db").write_bytes(bytes(16) + b"\xed\xda\x0c\xed" + bytes(4_000))
    (tmp_path / "var" / "x.image").write_bytes(b"\x89PNG")
    authors = {each.author for each in comments(parsed(tmp_path / "var"))}
    assert authors >= {"backup-blog-20240203", "userbackup-my-site-20230101"}
    assert "backup-blog-20240101" not in authors


def test_a_backup_of_remark42_hides_no_file_of_another_kind(tmp_path: Path) -> None:
    (tmp_path / "backup-old-20240101.gz").write_bytes(gzip.compress(REMARK42.encode()))
    (tmp_path / "other.json").write_text(COMMENTO)
    assert {each.name for each in sources([tmp_path])} == {"backup-old-20240101.gz", "other.json"}


@pytest.mark.parametrize("chosen", ["auto", "remark42"])
def test_the_database_of_remark42_leads_to_its_backup(tmp_path: Path, chosen: str) -> None:
    (path := tmp_path / "remark.db").write_bytes(bytes(16) + b"\xed\xda\x0c\xed\x02" + bytes(4_000))
    with pytest.raises(ImportFailed, match="Import its newest backup"):
        parsed(path, chosen)


def test_the_first_backups_of_remark42_end_with_users_and_pages(tmp_path: Path) -> None:
    records = parsed(written(tmp_path, "backup.json", REMARK42_ONE))
    backup = parsed(written(tmp_path, "lines.json", REMARK42))
    assert [(page.url, page.closed) for page in pages(records)] == [
        (page.url, page.closed) for page in pages(backup)
    ]


def test_commento(tmp_path: Path) -> None:
    records = parsed(written(tmp_path, "commento.json", COMMENTO))
    urls = ["https://blog.example/a/", "http://blog.example/a/", "https://blog.example/b/"]
    assert [page.url for page in pages(records)] == urls
    first, deleted, third = comments(records)
    assert brief(first) == (urls[0], "c1", "", "approved", "Ann", "One")
    assert (first.email, first.site, first.created) == ("ann@blog.example", "", MAY_2013 + 500)
    assert (first.votes, first.anchor) == (3, "commento-c1")
    assert (deleted.drop, deleted.parent) == ("it was deleted in Commento", "c1")
    assert brief(third) == (urls[2], "c3", "", "pending", "", "Three")


def test_comentario(tmp_path: Path) -> None:
    records = parsed(written(tmp_path, "comentario.json", COMENTARIO))
    assert pages(records) == [ImportedPage("p1", "/a/", "page /a/", "A", True)]
    first, second, deleted = comments(records)
    assert brief(first) == ("p1", "c1", "", "approved", "Ann", "One")
    assert (first.site, first.edited) == ("https://ann.example/", MAY_2013 + 5_000)
    assert brief(second) == ("p1", "c2", "c1", "pending", "Guest", "Two")
    assert deleted.drop == "it was deleted in Comentario"


@pytest.mark.parametrize(
    ("name", "text", "newer"),
    [
        ("commento", COMENTARIO, COMENTARIO.replace('"version": 3', '"version": 9')),
        ("remark42", REMARK42, REMARK42.replace('"version":1', '"version":2')),
        ("waline", WALINE, WALINE.replace('"version": 1', '"version": 2')),
    ],
)
def test_newer_versions_are_refused(tmp_path: Path, name: str, text: str, newer: str) -> None:
    assert newer != text
    with pytest.raises(ImportFailed, match=r"version [29] of the"):
        parsed(written(tmp_path, "file", newer), name)


def database(path: Path, script: str) -> Path:
    with closing(sqlite3.connect(path)) as made:
        made.executescript(script)
    return path


STACOSYS = """
CREATE TABLE comment (id INTEGER PRIMARY KEY, url VARCHAR(255), notified DATETIME, created DATETIME,
    published DATETIME, author_name VARCHAR(255), author_site VARCHAR(255),
    author_gravatar VARCHAR(255), content TEXT{more});
INSERT INTO comment VALUES (1, '/a/', NULL, '2013-05-01 12:00:00', '2013-05-01 12:30:00.250000',
    'Ann', 'https://ann.example', '0123456789ABCDEF0123456789abcdef', 'One'{value});
INSERT INTO comment VALUES (2, '/a/', NULL, '2013-05-01 12:00:01', NULL, 'Bob', '', '',
    'Two'{value});
"""


@pytest.mark.parametrize(
    ("more", "value", "page"),
    [
        ("", "", "/a/"),
        (", ulid INTEGER", ", 5", "/a/"),
        (", ip VARCHAR(255), site_id INTEGER", ", '127.0.0.1', 1", "https://blog.example/a/"),
    ],
)
def test_stacosys(tmp_path: Path, more: str, value: str, page: str) -> None:
    script = STACOSYS.format(more=more, value=value)
    if "site_id" in more:
        script += (
            "CREATE TABLE site (id INTEGER PRIMARY KEY, name, url, token, admin_email);"
            "INSERT INTO site VALUES (1, 'blog', 'https://blog.example/', 'x', 'a@blog.example');"
        )
    records = parsed(database(tmp_path / "db.sqlite", script), zone="Europe/Berlin")
    assert pages(records) == [ImportedPage(page, page, "row 1")]
    first, held = comments(records)
    assert brief(first) == (page, "1", "", "approved", "Ann", "One")
    assert (first.created, first.published) == (MAY_2013, MAY_2013 + 30 * 60_000 + 250)
    assert first.avatar == "0123456789abcdef0123456789abcdef"
    assert (held.status, held.avatar, held.published) == ("pending", "", None)


SCHNACK = """
CREATE TABLE comment (id INTEGER PRIMARY KEY, user_id, slug, created_at TEXT, comment,
    rejected BOOLEAN, approved BOOLEAN, reply_to INTEGER);
CREATE TABLE user (id INTEGER PRIMARY KEY, name, display_name, trusted BOOLEAN, url);
INSERT INTO user VALUES (1, 'ann', 'Ann', 1, 'https://ann.example');
INSERT INTO user VALUES (2, 'bob', '', 0, '');
INSERT INTO comment VALUES (1, 1, 'a', '2013-05-01 10:00:00', 'One', 0, 0, NULL),
    (2, 2, 'a', '2013-05-01 10:00:01', 'Two', 0, 0, 1), (3, 2, 'b', 'x', 'Three', 1, 0, 0);
"""


def test_schnack(tmp_path: Path) -> None:
    path = database(tmp_path / "comments.db", SCHNACK)
    records = parsed(path, zone="Europe/Berlin")
    assert [page.url for page in pages(records)] == ["a", "b"]
    first, second, third = comments(records)
    assert brief(first) == ("a", "1", "", "approved", "Ann", "One")
    assert (first.created, first.anchor) == (MAY_2013, "comment-1")
    assert brief(second) == ("a", "2", "1", "pending", "bob", "Two")
    assert (third.status, third.created, third.parent) == ("spam", None, "")


def test_comments_of_users_whom_schnack_hides_are_spam(tmp_path: Path) -> None:
    blocked = "ALTER TABLE user ADD blocked BOOLEAN; UPDATE user SET blocked = 1 WHERE id = 1"
    found = comments(parsed(database(tmp_path / "comments.db", f"{SCHNACK}{blocked}")))
    assert [each.status for each in found] == ["spam", "pending", "spam"]


def test_artalk(tmp_path: Path) -> None:
    records = parsed(written(tmp_path, "artalk.json", ARTALK))
    assert pages(records) == [
        ImportedPage("https://blog.example/a/", "https://blog.example/a/", "comment 1", "A"),
        ImportedPage(
            "https://blog.example/b/", "https://blog.example/b/", "comment 2", closed=True
        ),
    ]
    first, second = comments(records)
    assert brief(first) == ("https://blog.example/a/", "5", "", "approved", "Ann", "One")
    assert (first.created, first.votes, first.anchor) == (MAY_2013, 3, "atk-comment-5")
    assert brief(second)[1:] == ("6", "5", "pending", "Bob", "Two")


def test_artalk_with_one_comment_per_line(tmp_path: Path) -> None:
    lines = "\n".join(map(json.dumps, json.loads(ARTALK)))
    whole = parsed(written(tmp_path, "artalk.json", ARTALK))
    assert [*map(brief, comments(parsed(written(tmp_path, "artalk.ndjson", lines))))] == [
        *map(brief, comments(whole))
    ]


@pytest.mark.parametrize("text", [WALINE, f'{{"errno": 0, "data": {WALINE}}}'])
def test_waline(tmp_path: Path, text: str) -> None:
    records = parsed(written(tmp_path, "waline.json", text))
    assert pages(records) == [ImportedPage("/a/", "/a/", "comment 1")]
    first, second = comments(records)
    assert brief(first) == ("/a/", "o1", "", "approved", "Ann", "One")
    assert (first.created, first.votes, first.anchor) == (MAY_2013, 2, "o1")
    assert brief(second) == ("/a/", "o2", "o1", "pending", "Bob", "Two")
    assert second.created == MAY_2013 + 1_000


@pytest.mark.parametrize("prefix", ["wl_", "my blog_"])
def test_the_database_of_waline(tmp_path: Path, prefix: str) -> None:
    path = database(
        tmp_path / "waline.sqlite",
        f'CREATE TABLE "{prefix}Comment" (id INTEGER PRIMARY KEY, user_id, comment, insertedAt'
        " DATETIME, ip, link, mail, nick, rid, pid, sticky, status, like, ua, url, createdAt);"
        f'CREATE TABLE "{prefix}Users" (id INTEGER PRIMARY KEY, type);'
        f"INSERT INTO \"{prefix}Users\" VALUES (7, 'administrator');"
        f'INSERT INTO "{prefix}Comment" (id, user_id, comment, insertedAt, nick, status, url, pid)'
        " VALUES (1, 7, 'One', '2013-05-01 12:00:00', 'Ann', 'approved', '/a/', NULL),"
        " (2, 8, 'Two', '2013-05-01 12:00:01', 'Bob', 'spam', '/a/', 1);",
    )
    first, second = comments(parsed(path, zone="Europe/Berlin"))
    assert brief(first) == ("/a/", "1", "", "approved", "Ann", "One")
    assert (first.created, first.is_admin, second.is_admin) == (MAY_2013, True, False)
    assert brief(second) == ("/a/", "2", "1", "spam", "Bob", "Two")


def test_cusdis(tmp_path: Path) -> None:
    records = parsed(written(tmp_path, "cusdis.json", CUSDIS))
    assert [(page.key, page.url) for page in pages(records)] == [
        ("p1", "https://blog.example/a/"),
        ("p2", "/b/"),
    ]
    first, second = comments(records)
    assert brief(first) == ("p1", "c1", "", "approved", "Ann", "One")
    assert (first.created, second.created) == (MAY_2013, MAY_2013 + 1_000)
    assert brief(second) == ("p2", "c2", "c1", "pending", "Bob", "Two")


@pytest.mark.parametrize("kind", ["", " WITHOUT ROWID"])
def test_the_database_of_cusdis(tmp_path: Path, kind: str) -> None:
    path = database(
        tmp_path / "cusdis.db",
        "CREATE TABLE pages (id TEXT PRIMARY KEY, slug, url, title, created_at, projectId);"
        "CREATE TABLE comments (id TEXT PRIMARY KEY, pageId, created_at DATETIME, deletedAt,"
        f" by_email, by_nickname, content, approved BOOLEAN, parentId){kind};"
        "INSERT INTO pages VALUES ('p1', 'a', '/a/', 'A', 0, 'x');"
        "INSERT INTO comments VALUES"
        " ('c1', 'p1', 1367402400000, NULL, NULL, 'Ann', 'One', 1, NULL),"
        " ('c2', 'p1', 1367402401000, 1367402402000, NULL, 'Bob', 'Two', 1, 'c1');",
    )
    first, deleted = comments(parsed(path))
    assert brief(first) == ("p1", "c1", "", "approved", "Ann", "One")
    assert first.created == MAY_2013
    assert deleted.drop == "it was deleted in Cusdis"


@pytest.mark.parametrize("copies", [1, 3])
def test_giscus(tmp_path: Path, copies: int) -> None:
    """`gh --paginate` writes one answer after the other."""
    records = parsed(written(tmp_path, "giscus.json", GISCUS * copies))
    assert len(pages(records)) == copies
    assert pages(records)[0] == ImportedPage(
        "7", "https://blog.example/a/", "discussion 7", "a/", True
    )
    first, second = comments(records)[:2]
    assert brief(first) == ("7", "DC_1", "", "approved", "ann", "One")
    assert (first.edited, first.votes) == (MAY_2013 + 9_000, 2)
    assert (first.site, first.anchor) == ("https://github.com/ann", "discussioncomment-101")
    assert brief(second) == ("7", "DC_2", "DC_1", "spam", "", "<p>Two</p>")
    assert second.position == "discussion 7, comment DC_2"


def test_a_discussion_of_giscus_in_several_answers(tmp_path: Path) -> None:
    """GitHub gives a hundred comments or replies at once."""

    def nodes(first: int, last: int, total: int) -> dict[str, Any]:
        made = [
            {"id": f"DC_{n}", "databaseId": n, "body": f"{n}", "createdAt": "2013-05-01T10:00:00Z"}
            for n in range(first, last + 1)
        ]
        more = {"hasNextPage": last % 1_000 < total, "endCursor": "x"}
        return {"totalCount": total, "pageInfo": more, "nodes": made}

    page: dict[str, Any] = {
        "id": "D_7",
        "number": 7,
        "title": "a/",
        "body": "https://blog.example/a/",
    }
    answers = []
    for first in (1, 101, 201):
        part = nodes(first, min(first + 99, 250), 250)
        if first == 1:
            part["nodes"][4]["replies"] = {
                "totalCount": 130,
                "nodes": nodes(1_001, 1_100, 130)["nodes"],
            }
        answers.append({"data": {"repository": {"discussion": page | {"comments": part}}}})
    faults: list[str] = []
    found = parsed(written(tmp_path, "a.json", "".join(map(json.dumps, answers))), faults=faults)
    assert [each.id for each in comments(found) if not each.parent] == [
        f"DC_{n}" for n in range(1, 251)
    ]
    assert faults == [
        "discussion 7, comment 5: GitHub has more replies than the 100 in the file;"
        " the comment's id there is DC_5"
    ]
    for first in (1_001, 1_101):
        part = nodes(first, min(first + 99, 1_130), 130)
        node: dict[str, Any] = {"id": "DC_5", "discussion": page, "replies": part}
        answers.append({"data": {"node": node}})
    faults.clear()
    found = parsed(written(tmp_path, "b.json", "\n".join(map(json.dumps, answers))), faults=faults)
    assert {each.url for each in pages(found)} == {"https://blog.example/a/"}
    replies = {each.id: each.parent for each in comments(found) if each.parent}
    assert replies == {f"DC_{n}": "DC_5" for n in range(1_001, 1_131)}
    assert faults == []


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        ("off-topic", "pending"),
        ("OFF_TOPIC", "pending"),
        ("spam", "spam"),
        ("resolved", "approved"),
    ],
)
def test_hidden_comments_and_the_answer_of_giscus(tmp_path: Path, reason: str, status: str) -> None:
    marks = f'"isAnswer": true, "isMinimized": true, "minimizedReason": "{reason}"'
    text = GISCUS.replace('"body": "One"', f'"body": "One", {marks}')
    first = comments(parsed(written(tmp_path, "giscus.json", text)))[0]
    assert (first.status, first.is_pinned) == (status, True)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.yml", STANZA.format(parent="post-1", date="1367402400")),
        ("a.yml", STANZA.format(parent="''", date="'2013-05-01T10:00:00.000Z'")),
        (
            "a.json",
            json.dumps(
                {
                    "_id": "3a7f",
                    "name": "Ann",
                    "email": "0123456789abcdef0123456789abcdef",
                    "message": "One\n*two*",
                    "date": 1367402400000,
                }
            ),
        ),
        (
            "a.md",
            "---\n_id: 3a7f\nname: Ann\nemail: 0123456789abcdef0123456789abcdef\n"
            "date: '2013-05-01T12:00:00+02:00'\n---\nOne\n*two*\n",
        ),
        ("a.yml", "---\n" + STANZA.format(parent="''", date="'2013-05-01 12:00:00+02'")),
    ],
)
def test_staticman(tmp_path: Path, name: str, text: str) -> None:
    folder = tmp_path / "comments/post-1"
    folder.mkdir(parents=True)
    written(folder, name, text)
    records = parsed(tmp_path / "comments")
    assert pages(records) == [ImportedPage("post-1", "/post-1/", "line 1")]
    [comment] = comments(records)
    assert brief(comment) == ("post-1", "3a7f", "", "approved", "Ann", "One\n*two*")
    assert (comment.created, comment.email) == (MAY_2013, "")
    assert comment.avatar == "0123456789abcdef0123456789abcdef"
    archive = tmp_path / "comments.zip"
    with zipfile.ZipFile(archive, "w") as made:
        made.write(folder / name, f"comments/post-1/{name}")
    assert parsed(archive) == records


def test_files_of_staticman_are_read_as_editors_and_json_libraries_write_them(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "a"
    folder.mkdir()
    front = "---\r\n_id: '1'\r\nname: Jörg\r\n---\r\nIn front\r\n---\r\nmatter\r\n"
    (folder / "1.md").write_bytes(front.encode("cp1252"))
    (folder / "2.yml").write_text("_id: '2'\nmessage: |\n  One\n  ---\n  two\n")
    fields = {"_id": 3, "name": None, "message": "\N{GRINNING FACE} a/b", "date": 1367402400}
    (folder / "3.json").write_text(json.dumps(fields, indent="\t").replace("/", "\\/"))
    front_matter, block, tabs = comments(parsed(tmp_path, "staticman"))
    assert front_matter.author == "Jörg"
    assert front_matter.text == "In front\r\n---\r\nmatter"
    assert block.text == "One\n---\ntwo\n"
    assert brief(tabs) == ("a", "3", "", "approved", "", "\N{GRINNING FACE} a/b")
    assert tabs.created == MAY_2013


def test_files_of_the_first_staticman_have_only_what_the_form_has(tmp_path: Path) -> None:
    text = 'name: \'Ann "A"\'\nmessage: "One\\r\\n- two"\n'
    folder = tmp_path / "comments/hello"
    folder.mkdir(parents=True)
    written(folder, "df24148483ce26b1d1f869f5658488f0d5be7664.yml", text)
    [comment] = comments(parsed(tmp_path / "comments"))
    assert comment.id == "df24148483ce26b1d1f869f5658488f0d5be7664"
    assert (comment.author, comment.text, comment.created) == ('Ann "A"', "One\r\n- two", None)


def test_files_of_staticman_with_the_names_of_common_settings_are_recognised(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "comments/my-post"
    folder.mkdir(parents=True)
    for name in ("comment-1480500000000.yml", "entry1480500000001.yml"):
        written(folder, name, "id: c1\nname: Ann\nmessage: first\n")
    assert [each.id for each in comments(parsed(tmp_path / "comments"))] == ["c1", "c1"]
    written(folder, "notes-1480500000000.yml", "message: no comment\n")
    with pytest.raises(ImportFailed, match="not recognised"):
        parsed(tmp_path / "comments")


@pytest.mark.parametrize("text", ["_id: [\nmessage: x", "{_id: 1, message", "+++\n_id: 1\n+++\n"])
def test_yaml_that_is_none_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.yml"
    path.write_text(text)
    with pytest.raises(InvalidInput, match="this is no YAML, JSON or TOML") as caught:
        parsed(path, "staticman")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [("a.yml", r': "\U00110000"'), ("a.yml", r': "\UFFFFFFFF"'), ("a.toml", " = " + "1" * 5_000)],
)
def test_a_value_that_no_library_can_hold_is_named(tmp_path: Path, name: str, value: str) -> None:
    """The libraries raise errors that are not theirs."""
    between = value[:2].rstrip() if value[0] == ":" else " ="
    text = f'_id{between} "a"\nmessage{between} "b"\nmore{value}\n'
    with pytest.raises(InvalidInput, match=r"this is no YAML, JSON or TOML"):
        parsed(written(tmp_path, name, text))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.toml", '_id = "1"\nname = "Ann"\nmessage = "One"\ndate = 2013-05-01T10:00:00Z\n'),
        ("a.md", '+++\r\n_id = "1"\r\nname = "Ann"\r\ndate = 1367402400\r\n+++\r\nOne\r\n'),
    ],
)
def test_comments_in_toml_are_read(tmp_path: Path, name: str, text: str) -> None:
    folder = tmp_path / "comments/a"
    folder.mkdir(parents=True)
    written(folder, name, text)
    [comment] = comments(parsed(tmp_path / "comments"))
    assert brief(comment) == ("a", "1", "", "approved", "Ann", "One")
    assert comment.created == MAY_2013


def test_a_file_may_list_all_comments_of_a_page(tmp_path: Path) -> None:
    folder = tmp_path / "comments/2013"
    folder.mkdir(parents=True)
    written(folder, "a.yml", "- _id: 1\n  message: One\n- message: Two\n- three\n")
    faults: list[str] = []
    records = parsed(tmp_path / "comments", faults=faults)
    assert [page.url for page in pages(records)] == ["/2013/a/"]
    assert [(each.page, each.id, each.text) for each in comments(records)] == [
        ("2013/a", "1", "One"),
        ("2013/a", "2", "Two"),
    ]
    assert faults == ["comment 3: this has no fields"]


@pytest.mark.parametrize("name", ["id", "_id"])
def test_a_list_of_comments_is_recognised_by_its_fields(tmp_path: Path, name: str) -> None:
    (folder := tmp_path / "comments").mkdir()
    entry = "- {}: {}\n  name: Ann\n  date: 2013-05-01 10:00:00\n  content: {}\n{}"
    parent = "  parent: 7\n"
    text = entry.format(name, 7, "One", "") + entry.format(name, 8, "Two", parent)
    written(folder, "a.yml", text)
    first, second = comments(parsed(folder))
    assert (first.page, first.id, second.text) == ("a", "7", "Two")
    assert (first.parent, second.parent.endswith("7")) == ("", True)


@pytest.mark.parametrize(
    ("fields", "parent"),
    [
        ("_parent: https://blog.example/a/\nreplying_to_uid: ''", ""),
        ("_parent: https://blog.example/a/\nreplying_to_uid: 2b", "2b"),
        ("_parent: posts/a\nreplyThread: 1a\nreplyID: 2b", "2b"),
        ("_parent: 2b", "2b"),
        ("_parent: a", ""),
    ],
)
def test_what_readers_subscribe_to_is_no_parent_if_it_is_the_page(
    tmp_path: Path, fields: str, parent: str
) -> None:
    folder = tmp_path / "comments/posts/a"
    folder.mkdir(parents=True)
    written(folder, "a.yml", f"_id: 3c\nmessage: One\n{fields}\n")
    [comment] = comments(parsed(tmp_path / "comments"))
    assert comment.parent == parent


def rows(text: str, field: str = "comments") -> list[dict[str, object]]:
    """Return the comments in a JSON file of the samples."""
    data = json.loads(text)
    for name in field.split("."):
        data = data[name]
    assert isinstance(data, list)
    return data


WALINE_ROWS = rows(WALINE, "data.Comment")
MONGO_ROWS = [
    row | {"objectId": None, "_id": {"$oid": row["objectId"]}, "insertedAt": {"$date": date}}
    for row, date in zip(
        WALINE_ROWS, ("2013-05-01T10:00:00Z", {"$numberLong": "1367402401000"}), strict=True
    )
]
WALINE_CSV = (
    "\ufeffid,user_id,comment,insertedAt,link,mail,nick,pid,rid,sticky,status,like,url\r\n"
    'o1,,"One",2013-05-01T10:00:00.000Z,https://ann.example,ann@blog.example,Ann,,,,approved,2,/a/\r\n'
    "o2,,Two,1367402401000,,,Bob,o1,o1,,waiting,,/a/\r\n"
)
PREFIXED = re.sub(r"(</?)(disqus|thread|post|message|author|name)\b", r"\1d:\2", DISQUS)
LONG = f', "unknown": "{"x" * 70_000}"'
REMARK_LINES = [json.loads(line) for line in REMARK42.split("\n")]
REMARK42_ONE = json.dumps(
    {"version": 1, "comments": REMARK_LINES[1:], "meta": REMARK_LINES[0]}, separators=(",\n", ":")
)


@pytest.mark.parametrize(
    ("usual", "unusual"),
    [
        (DISQUS, PREFIXED.replace("xmlns=", "xmlns:d=")),
        (DISQUS, DISQUS.replace("utf-8", "utf-16")),
        (DISQUS, DISQUS.replace(">true<", "> 1 <").replace(">false<", ">False<")),
        (DISQUS, re.sub(r"dsq:id=\"(\w+)\"", r"dsq:id='\1'", DISQUS)),
        (WORDPRESS, WORDPRESS.replace("approved>1<", "approved>approved<")),
        (WORDPRESS, WORDPRESS.replace("export/1.2/", "export/1.0/").replace("wp:", "w:")),
        (REMARK42, "\r\n".join(json.dumps(line, sort_keys=True) for line in REMARK_LINES)),
        (REMARK42, REMARK42.replace('"2013-05-01T10:00:00Z"', "1367402400")),
        (REMARK42, REMARK42_ONE),
        (REMARK42, "\n".join(json.dumps(line, indent=1) for line in REMARK_LINES)),
        (COMMENTO, json.dumps(json.loads(COMMENTO), sort_keys=True, indent=2)),
        (COMENTARIO, json.dumps(json.loads(COMENTARIO) | {"version": "3"}, sort_keys=True)),
        (COMENTARIO, COMENTARIO.replace('{"id": "c1"', '{"parentId": "0000-00", "id": "c1"')),
        (ARTALK, ARTALK.replace('+0200"', '+0200 CEST m=+0.1"').replace('"false"', "false")),
        (ARTALK, re.sub(r'"(-?\d)"', r"\1", ARTALK)),
        (ARTALK, "\n".join(json.dumps([each]) for each in json.loads(ARTALK))),
        (WALINE, json.dumps(WALINE_ROWS)),
        (WALINE, json.dumps({"results": WALINE_ROWS})),
        (WALINE, "\n".join(json.dumps(row) for row in WALINE_ROWS)),
        (WALINE, "\n".join(["#filetype:JSON-streaming {}", *map(json.dumps, WALINE_ROWS)])),
        (WALINE, json.dumps(MONGO_ROWS)),
        (WALINE, "\n".join(json.dumps(row, indent=1) for row in WALINE_ROWS)),
        (WALINE, json.dumps([{name.lower(): row[name] for name in row} for row in WALINE_ROWS])),
        (WALINE, WALINE_CSV),
        (WALINE, WALINE_CSV.replace("insertedAt", "insertedat").replace(",", ";")),
        (WALINE, WALINE_CSV.replace(",,", ",NULL,").replace(",,", ",\\N,")),
        (WALINE, WALINE_CSV.replace('"', "").replace(",", "\t")),
        (CUSDIS, json.dumps(json.loads(CUSDIS), sort_keys=True, indent=1)),
        (CUSDIS, json.dumps(dict(reversed(json.loads(CUSDIS).items()))).replace("}", LONG + "}")),
        (GISCUS, json.dumps([json.loads(GISCUS)], indent=1).replace("\n", "\r\n")),
    ],
)  # fmt: skip
def test_files_may_differ_in_what_does_not_matter(tmp_path: Path, usual: str, unusual: str) -> None:
    def contents(path: Path) -> list[tuple[object, ...]]:
        found = comments(parsed(path))
        return [(*brief(each), each.created, each.votes, each.drop) for each in found]

    assert usual != unusual
    assert contents(written(tmp_path, "unusual.json", unusual)) == contents(
        written(tmp_path, "usual.json", usual)
    )


@pytest.mark.parametrize(
    ("name", "text", "faults"),
    [
        (
            "isso",
            ISSO_JSON.replace('"comments": [', '"comments": ["x", null, 5, '),
            ["page 1, comments 1: this is no JSON object", "page 1, comments 3: this is no JSON"],
        ),
        (
            "isso",
            re.sub(r'"comments": (.*)}]$', r'"comments": {"x": \1}}]', ISSO_JSON),
            ["page 1: comments is no JSON array"],
        ),
        ("waline", WALINE_CSV.replace('"One"', '"One'), ["line 2: the CSV is invalid"]),
        (
            "giscus",
            GISCUS.replace('"comments": {', '"comments": {"totalCount": 101, '),
            ["discussion 7: GitHub has more comments than the 1 in the file"],
        ),
        (
            "giscus",
            GISCUS.replace('"replies": {', '"replies": {"pageInfo": {"hasNextPage": true}, '),
            ["discussion 7, comment 101: GitHub has more replies than the 1 in the file"],
        ),
        ("artalk", ARTALK[:-30], ["behind element 1: the JSON is broken here (premature EOF)"]),
    ],
)  # fmt: skip
def test_parts_that_are_no_comments_are_named(
    tmp_path: Path, name: str, text: str, faults: list[str]
) -> None:
    found: list[str] = []
    parsed(written(tmp_path, "odd.json", text), name, faults=found)
    assert len(found) == len(faults)
    assert all(fault in each for fault, each in zip(faults, found, strict=True)), found


def test_reactions_of_giscus(tmp_path: Path) -> None:
    """Those to a discussion are its page's; two of those to a comment are votes, too."""
    counts = {"THUMBS_UP": 3, "THUMBS_DOWN": 1, "HEART": 2, "ROCKET": 0, "NEW": 1}
    groups = json.dumps(
        [{"content": name, "reactors": {"totalCount": n}} for name, n in counts.items()]
    )
    text = GISCUS.replace('"locked": true', f'"reactionGroups": {groups}, "locked": true')
    text = text.replace('"body": "One"', f'"body": "One", "reactionGroups": {groups}')
    records = parsed(written(tmp_path, "giscus.json", text))
    assert pages(records)[0].reactions == {"👍": 3, "👎": 1, "❤️": 2}
    first = comments(records)[0]
    assert first.votes == 2
    assert first.reactions == {"👍": 3, "👎": 1, "❤️": 2}


def test_a_single_comment_of_waline_is_read(tmp_path: Path) -> None:
    [comment] = comments(parsed(written(tmp_path, "a.json", json.dumps(WALINE_ROWS[0]))))
    assert comment.text == "One"


def test_discussions_may_have_no_replies(tmp_path: Path) -> None:
    data = json.loads(GISCUS)["data"]["repository"]["discussions"]["nodes"]
    del data[0]["comments"]["nodes"][0]["replies"]
    [comment] = comments(parsed(written(tmp_path, "a.json", json.dumps(data))))
    assert comment.text == "One"


def test_an_old_schnack_has_fewer_columns(tmp_path: Path) -> None:
    script = SCHNACK.replace(", display_name, trusted BOOLEAN, url", "").replace(
        ", 'Ann', 1, 'https://ann.example'", ""
    )
    script = script.replace(", '', 0, ''", "").replace("'2013-05-01 10:00:00'", "1367402400")
    first, *_ = comments(parsed(database(tmp_path / "comments.db", script)))
    assert brief(first) == ("a", "1", "", "pending", "ann", "One")
    assert first.created == MAY_2013


def test_tables_may_lack_columns_and_other_tables(isso: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(isso)) as changed:
        changed.executescript("ALTER TABLE comments DROP likes; ALTER TABLE comments DROP dislikes")
    assert {each.votes for each in comments(parsed(isso))} == {0}
    script = STACOSYS.format(more=", author_email", value=", 'ann@blog.example'")
    without = "; ALTER TABLE comment DROP author_gravatar"
    first, _ = comments(parsed(database(tmp_path / "stacosys.db", script + without)))
    assert (first.avatar, first.email) == ("", "ann@blog.example")
    [_, _, third] = comments(parsed(database(tmp_path / "a.db", SCHNACK + "; DROP TABLE user")))
    assert brief(third) == ("b", "3", "", "spam", "", "Three")


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2013-05-01 12:00:00+02", MAY_2013),
        ("2013-05-01 10:00:00 GMT", MAY_2013),
        ("Wed May 01 2013 12:00:00 GMT+0200 (Central European Summer Time)", MAY_2013),
        ("2013/5/1 10:00:00", MAY_2013),
        ("0001-01-01T00:00:00Z", None),  # what programs in Go write for no date
        ("1 Jan 99999999999999999999 10:00:00 +0000", None),
    ],
)
def test_dates_of_other_programs(text: str, moment: int | None) -> None:
    assert dates.moment(text) == moment


@pytest.mark.parametrize("text", ["2013-05-01 12:00:00", "Wed, 1 May 2013 12:00:00"])
def test_dates_without_an_offset_are_in_the_zone_that_is_given(text: str) -> None:
    assert dates.moment(text, ZoneInfo("Europe/Berlin")) == MAY_2013


def test_half_characters_are_replaced(tmp_path: Path) -> None:
    text = '_id: "a\\ud800"\nname: "\\udfffb"\nmessage: "hello\\0"\n'
    [comment] = comments(parsed(written(tmp_path, "a.yml", text)))
    assert (comment.id, comment.author, comment.text) == ("a\ufffd", "\ufffdb", "hello\ufffd")
    script = SCHNACK.replace("'bob'", "'b' || char(0)")
    assert comments(parsed(database(tmp_path / "a.db", script)))[1].author == "b\ufffd"


@pytest.mark.parametrize("nothing", ["~", "null", "''"])
def test_nothing_in_yaml_is_no_name(tmp_path: Path, nothing: str) -> None:
    text = f"_id: a\nname: {nothing}\nreplying_to: {nothing}\nmessage: hello\n"
    [comment] = comments(parsed(written(tmp_path, "a.yml", text)))
    assert (comment.author, comment.parent, comment.text) == ("", "", "hello")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", '{"id": "a", "text": "One", "author": {"id": 7, "name": "Ann", "url": "/x"}}'),
        ("a.yml", "id: a\ntext: One\nauthor:\n  id: 7\n  name: Ann\n  url: /x\n"),
        ("a.toml", 'id = "a"\ntext = "One"\n[author]\nid = 7\nname = "Ann"\nurl = "/x"\n'),
    ],
)
def test_a_staticman_comment_with_its_author_as_a_table_is_recognised(
    tmp_path: Path, name: str, text: str
) -> None:
    [comment] = comments(parsed(written(tmp_path, name, text)))
    assert (comment.id, comment.author, comment.site) == ("a", "Ann", "/x")
    assert comment.text == "One"


@pytest.mark.parametrize(
    "field", [*staticman.PARENTS, "replying_to_uid", "replyID", "reply-to", "parentCommentId"]
)
def test_each_field_for_the_parent_of_a_staticman_comment_is_read(
    tmp_path: Path, field: str
) -> None:
    """Themes differ in the name, and a reply must not lose what it answers."""
    (folder := tmp_path / "comments/post").mkdir(parents=True)
    for number, more in enumerate(("", f"{field}: a1\n"), 1):
        text = f"_id: a{number}\ndate: 151476480{number}\nname: Ann\nmessage: Hi\n{more}"
        (folder / f"entry{number}.yml").write_text(text)
    assert [each.parent for each in comments(parsed(tmp_path))] == ["", "a1"]

"""Files that are no export are named, whatever format was asked for."""

import gzip
import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from commentsvc.imports import formats
from commentsvc.imports.records import ImportFailed
from commentsvc.imports.sources import strangers
from tests.unit.imports import import_samples as samples
from tests.unit.imports.import_samples import comments, parsed
from tests.unit.imports.test_formats import FILES
from tests.unit.processor_time import assert_quick

PACKED = gzip.compress(b"x")
# What is in a file, and the sentence about it.
STRANGERS: dict[bytes, str] = {
    b"\n<!DOCTYPE html>\n<html lang=en><title>404</title></html>": "It is a web page, ",
    b"<!-- a\n-- b -->\n" * 40 + b"<html>": "It is a web page, ",
    b"\xef\xbb\xbf<!-- cached --><HTML><head></head></HTML>": "It is a web page, ",
    b'<?xml version="1.0"?><!DOCTYPE html PUBLIC "x" "y"><html/>': "It is a web page, ",
    "<!doctype html><p>".encode("utf-16"): "It is a web page, ",
    gzip.compress(b"<!doctype html><title>Sign in</title>"): "It is a web page, ",
    b'<?xml version="1.0"?><rss version="2.0"><channel><title>B</title></channel></rss>': (
        "It is a feed of the blog, "
    ),
    b'<feed xmlns="http://www.w3.org/2005/Atom"><title>B</title></feed>': "It is a feed ",
    b'<?xml version="1.0"?><?xml-stylesheet href="x"?><urlset></urlset>': "It is a sitemap, ",
    b'{"message": "Not Found", "status": "404"}': (
        "It is an error message in place of an export. Read it, and export again: "
        '{"message": "Not Found", "status": "404"}'
    ),
    b'{"error":\n"unauthorized\x1b[2J"}': "It is an error message ",
    b"-- MySQL dump\nCREATE TABLE `wp_comments` (\n": "It is a dump of a database in SQL, ",
    b"--\nCOPY public.comment (id, text) FROM stdin;\n1\tx\n": "It is a dump of a database ",
    b"{}": "Nothing is in it. Export it again.",
    b"\xef\xbb\xbf[]\n": "Nothing is in it. Export it again.",
    b"null": "Nothing is in it. Export it again.",
    b"PK\x03\x04\x14\0\0\0": "It is a zip file that is cut off or damaged. Download it again.",
    b"BZh91AY&SY": "It is packed with bzip2. Unpack it first; ",
    b"\xfd7zXZ\0\0": "It is packed with xz. Unpack it first; ",
    b"(\xb5/\xfd\4": "It is packed with zstd. Unpack it first; ",
    b"7z\xbc\xaf'\x1c\0": "It is packed with 7-Zip. Unpack it first; ",
    b"Rar!\x1a\7": "It is packed with RAR. Unpack it first; ",
    b"comments.json".ljust(257, b"\0") + b"ustar\x0000": "It is a tar file. Unpack it first; ",
    gzip.compress(b"comments.json".ljust(257, b"\0") + b"ustar  \0"): "It is a tar file. ",
    b"%PDF-1.7\n": "It is a PDF. ",
    b"\x89PNG\r\n\x1a\n": "It is a picture. ",
    b"\xff\xd8\xff\xe0": "It is a picture. ",
}


@pytest.mark.parametrize("chosen", ["auto", *formats.NAMES])
def test_what_is_no_export_is_named(tmp_path: Path, chosen: str) -> None:
    path = tmp_path / "file"
    for content, sentence in STRANGERS.items():
        path.write_bytes(content)
        with pytest.raises(ImportFailed) as raised:
            parsed(path, chosen)
        assert str(raised.value).startswith(f"file is no export of comments. {sentence}")
        assert str(raised.value).isprintable()


@pytest.mark.parametrize("chosen", ["auto", "isso", "disqus"])
def test_the_database_of_an_unknown_program_is_named(tmp_path: Path, chosen: str) -> None:
    with closing(sqlite3.connect(path := tmp_path / "other.db")) as database:
        database.execute("CREATE TABLE guest (name TEXT)")
    with pytest.raises(ImportFailed, match="a SQLite database of a program that is not known"):
        parsed(path, chosen)


@pytest.mark.parametrize("piece", [b"<!-- a -->", b"<!-- a --> \n", b"<!--", b"<?a?>", b" ", b"<!"])
def test_what_begins_like_a_page_is_looked_at_once(piece: bytes) -> None:
    """Regression: 40 comments took longer than anybody waits."""
    for head in (piece * (65_536 // len(piece)) + b"x", piece * 40 + b"x"):
        assert assert_quick(partial(strangers.describe, head), 100) == ""


def test_what_is_beside_an_export_is_passed_over(tmp_path: Path) -> None:
    name, stanza = FILES["staticman"]
    (entry := tmp_path / name).parent.mkdir(parents=True)
    entry.write_text(stanza)
    before = comments(parsed(tmp_path, "staticman"))
    (entry.parent / "beside.html").write_bytes(next(iter(STRANGERS)))
    (entry.parent / "beside.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    assert before
    assert comments(parsed(tmp_path, "staticman", faults=[])) == before


def test_exports_that_look_like_feeds_are_read(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for text in (samples.WORDPRESS, samples.BLOGGER, samples.DISQUS):
        path.write_text(text)
        assert parsed(path)

"""loadtest/competitors.py: what is asked of other servers, and where their comments come from."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from loadtest.data.blog import COMMENTS, pages
from loadtest.harness.programs import MissingError
from loadtest.servers import competitors
from loadtest.servers.competitors import COMPETITORS, Question, our_batch

RIVAL = {competitor.name: competitor for competitor in COMPETITORS}


def test_each_answer_is_read_as_its_server_writes_it() -> None:
    assert RIVAL["sanic-1"].count("/a/").read(b'{"count":3}\n') == [3]
    assert RIVAL["isso"].count("/a/").read(b"[3]") == [3]
    assert our_batch(["/a/", "/b/"]).read(b'{"counts":{"/b/":2,"/a/":1}}') == [1, 2]


def test_a_body_goes_with_its_length() -> None:
    text = Question("/x", lambda _: [], "POST", b"[1]").text("localhost")
    assert text.startswith(b"POST /x HTTP/1.1\r\nHost: localhost\r\n")
    assert text.endswith(b"Content-Length: 3\r\n\r\n[1]")
    assert Question("/x", lambda _: []).text("h") == b"GET /x HTTP/1.1\r\nHost: h\r\n\r\n"


def test_rivals_have_our_comments(tmp_path: Path) -> None:
    blog = pages()
    path = competitors.stacosys_database(tmp_path, blog)
    with closing(sqlite3.connect(path)) as connection:
        counted = dict(connection.execute("SELECT url, count(*) FROM comment GROUP BY url"))
    assert counted == {page.url: page.count for page in blog}
    assert sum(counted.values()) == COMMENTS


def test_stacosys_without_its_sources_says_where_to_find_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("STACOSYS_SOURCES", raising=False)
    with pytest.raises(MissingError, match="STACOSYS_SOURCES"):
        RIVAL["stacosys"].start(tmp_path, pages(), 1)

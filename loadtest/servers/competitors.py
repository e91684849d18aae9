"""Other comment servers, with the same pages and comments as ours.

A competitor has functions for the request of a count, for reading its answer, and for starting it
on a folder with its own data. Its environment comes from PyPI. A program that is in no registry is
taken from a checkout named by the user; an unavailable one raises MissingError.
"""

import json
import os
import sqlite3
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from string import Template
from urllib.parse import quote

from loadtest.data.blog import Page, texts, visits
from loadtest.harness.programs import MissingError
from loadtest.servers.peer import PEERS, Command, environment

SANIC = ("sanic==25.12.1",)
ISSO = ("isso==0.14.0", "gunicorn==27.0.1")
STACOSYS = ("flask==3.1.3", "pydal==20260520.0", "background==0.2.1", "markdown", "pyrss2gen")
WORKERS = "4"  # of gunicorn
DAY = "2017-07-01 12:00:00"

# Stacosys' table, as its own script makes it; the article's servers had the same.
_TABLE = """CREATE TABLE comment (id INTEGER NOT NULL PRIMARY KEY, url VARCHAR(255) NOT NULL,
 notified DATETIME, created DATETIME NOT NULL, published DATETIME,
 author_name VARCHAR(255) NOT NULL, author_site VARCHAR(255) NOT NULL,
 author_gravatar varchar(255), content TEXT NOT NULL, ulid INTEGER)"""
_ROW = (
    "INSERT INTO comment (url, notified, created, published, author_name, author_site, content)"
    f" VALUES (?, '{DAY}', '{DAY}', '{DAY}', ?, '', ?)"
)
_ISSO = """CREATE TABLE threads (id INTEGER PRIMARY KEY, uri VARCHAR(256) UNIQUE, title TEXT);
CREATE TABLE comments (tid REFERENCES threads(id), id INTEGER PRIMARY KEY, parent INTEGER,
 created FLOAT NOT NULL, modified FLOAT, mode INTEGER, remote_addr VARCHAR, text VARCHAR NOT NULL,
 author VARCHAR, email VARCHAR, website VARCHAR, likes INTEGER DEFAULT 0,
 dislikes INTEGER DEFAULT 0, voters BLOB NOT NULL, notification INTEGER DEFAULT 0);
PRAGMA user_version = 5"""


@dataclass(frozen=True, slots=True)
class Question:
    """One request for the count of one page or of a list of pages, and how to read its answer."""

    target: str
    read: Callable[[bytes], list[int]]
    method: str = "GET"
    body: bytes = b""

    def text(self, host: str) -> bytes:
        """Return the bytes of the request."""
        fields = f"Host: {host}\r\n"
        if self.body:
            fields += f"Content-Type: application/json\r\nContent-Length: {len(self.body)}\r\n"
        return f"{self.method} {self.target} HTTP/1.1\r\n{fields}\r\n".encode() + self.body


@dataclass(frozen=True, slots=True)
class Start:
    """How to start a server: its command, further environment, and its folder."""

    words: Command
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Competitor:
    """A server, its requests, and how it is started with the comments of the pages."""

    name: str
    text: str
    start: Callable[[Path, Sequence[Page], int], Start]
    count: Callable[[str], Question]
    batch: Callable[[Sequence[str]], Question] | None = None


def _one(body: bytes) -> list[int]:
    return [json.loads(body)["count"]]


def stacosys_count(url: str) -> Question:
    return Question(f"/api/comments/count?url={quote(url)}", _one)


def our_batch(urls: Sequence[str]) -> Question:
    target = "/api/comments/counts?" + "&".join(f"url={url}" for url in urls)
    return Question(target, lambda body: [json.loads(body)["counts"][url] for url in urls])


def isso_count(urls: Sequence[str], prefix: str = "") -> Question:
    """Return the request of Isso's client for counts, for an Isso at `prefix`."""
    return Question(f"{prefix}/count", json.loads, "POST", json.dumps(list(urls)).encode())


def stacosys_database(folder: Path, pages: Sequence[Page]) -> Path:
    """Return a database with the comments in Stacosys' table."""
    path = folder / "stacosys.sqlite"
    if not path.exists():
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(_TABLE)
            rows = zip(visits(pages), texts(seed=2), strict=False)
            connection.executemany(_ROW, ((page.url, t.author, t.message) for page, t in rows))
    return path


def _sanic(folder: Path, pages: Sequence[Page], port: int) -> Start:
    python = environment("sanic", sys.executable, SANIC, alone=False)
    database = str(stacosys_database(folder, pages))
    return Start([str(python), str(PEERS / "on_sanic.py"), database, str(port)])


def _stacosys(folder: Path, pages: Sequence[Page], port: int) -> Start:
    """Return Stacosys itself, from a checkout of its sources, since no registry has it."""
    sources = Path(os.environ.get("STACOSYS_SOURCES", ""), "src")
    if not (sources / "stacosys" / "run.py").exists():
        raise MissingError(
            "Stacosys is in no registry. Name the folder of its sources (its author's repository"
            " kianby/stacosys, release 3.4) in the environment variable STACOSYS_SOURCES"
        )
    python = environment("stacosys", sys.executable, STACOSYS, alone=False)
    database = stacosys_database(folder, pages).resolve()
    values = {"folder": str(folder.resolve()), "port": str(port), "database": str(database)}
    file = folder / "stacosys.ini"
    file.write_text(Template((PEERS / "stacosys.ini").read_text()).substitute(values))
    words = [str(python), str(PEERS / "on_stacosys.py"), str(file.resolve())]
    return Start(words, {"PYTHONPATH": str(sources.resolve())})


def _isso(folder: Path, pages: Sequence[Page], port: int) -> Start:
    python = environment("isso", sys.executable, ISSO, alone=False)
    path, file = folder / "isso.sqlite", folder / "isso.cfg"
    if not path.exists():
        numbers = {page.url: number for number, page in enumerate(pages, 1)}
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.executescript(_ISSO)
            connection.executemany(
                "INSERT INTO threads VALUES (?, ?, '')", ((n, url) for url, n in numbers.items())
            )
            rows = zip(visits(pages), texts(seed=2), strict=False)
            connection.executemany(
                "INSERT INTO comments (tid, created, mode, text, author, voters)"
                " VALUES (?, 1, 1, ?, ?, x'00')",
                ((numbers[page.url], text.message, text.author) for page, text in rows),
            )
    file.write_text(
        f"[general]\ndbpath = {path.resolve()}\nhost = http://localhost/\n[hash]\nsalt = load\n"
    )
    words = [str(python), "-m", "gunicorn", "-w", WORKERS, "-b", f"127.0.0.1:{port}", "isso.run"]
    return Start(words, {"ISSO_SETTINGS": str(file.resolve())})


OURS = "ours"
COMPETITORS = (
    Competitor("stacosys", "Stacosys 3.4 on Flask's server", _stacosys, stacosys_count),
    Competitor("sanic", "the article's best, on Sanic with a cache", _sanic, stacosys_count),
    Competitor(
        "isso",
        f"Isso 0.14 under gunicorn, {WORKERS} workers",
        _isso,
        lambda url: isso_count([url]),
        isso_count,
    ),
)

"""Waline, another comment service, on the PostgreSQL of ours; npm gets it.

Its own limits are off, and it asks nobody else about a submission: the services for signing in,
which it looks up for each request, are a constant.
"""

import json
import shutil
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import psycopg

from loadtest.data.blog import Page
from loadtest.harness.bench import comments
from loadtest.harness.client import Request
from loadtest.harness.postgresql import USER, PostgresServer
from loadtest.harness.programs import BUILD, MissingError
from loadtest.harness.running import Running, free_port
from loadtest.harness.scenario import MARK
from loadtest.servers.peer import PEERS, run

PACKAGE: Final = "@waline/vercel@1.39.3"
BEFORE: Final = "2026-11-20"  # npm takes no later version of what it needs, so all get the same
VERSION: Final = "Waline 1.39.3"
TABLES: Final = PEERS / "waline.sql"
PROGRAM: Final = Path("node_modules", "@waline", "vercel", "vanilla.js")
SETTINGS: Final = {
    "PG_USER": USER,
    "PG_PASSWORD": "",
    "JWT_TOKEN": "k" * 32,
    "AKISMET_KEY": "false",
    "IPQPS": "-86400",  # seconds between two comments of a network; 0 would refuse some
    "OAUTH_URL": 'data:application/json,{"services":[]}',
}


def install() -> Path:
    """Return the folder with Waline, which npm fills once. Raise MissingError."""
    folder, wanted = BUILD / "waline", f"{PACKAGE} {BEFORE}"
    stamp = folder / "stamp"
    if not stamp.exists() or stamp.read_text() != wanted:
        if shutil.which("npm") is None:
            raise MissingError("Waline needs Node.js. Run: apt-get install -y npm")
        shutil.rmtree(folder, ignore_errors=True)
        words = ["npm", "install", f"--prefix={folder}", PACKAGE, f"--before={BEFORE}"]
        run("Waline", [*words, "--ignore-scripts", "--no-audit", "--no-fund"])
        stamp.write_text(wanted)
    return folder


@contextmanager
def serving(server: PostgresServer, log: Path, cores: Collection[int]) -> Iterator[Running]:
    """Run Waline on an empty database during the block. Raise MissingError or ServiceError."""
    program = install().resolve() / PROGRAM
    server.ask("CREATE DATABASE waline")
    with psycopg.connect(server.url("waline")) as connection:
        connection.execute(TABLES.read_bytes())
    port = free_port()
    environ = {**SETTINGS, "PG_DB": "waline", "PG_HOST": str(server.folder)}
    try:
        with Running(["node", str(program), str(port)], port, log, cores, environ) as running:
            yield running
    finally:
        server.ask("DROP DATABASE waline WITH (FORCE)")


def submissions(pages: Sequence[Page], port: int) -> list[Request]:
    """Return submissions as bytes of requests; the generator makes the text of each unique."""
    found = []
    for page, text in comments(pages):
        fields = {"url": page.url, "nick": text.author, "mail": text.email, "ua": ""}
        body = json.dumps(fields | {"comment": f"{text.message} {MARK}"}).encode()
        head = (
            f"POST /api/comment HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        found.append(Request(head.encode() + body, 200, None))
    return found


def stored(server: PostgresServer) -> int:
    """Return the number of its comments: it gives the status 200 to what it refuses, too."""
    [(number,)] = server.ask("SELECT count(*) FROM wl_comment", "waline")
    return int(number)

"""The units in a booted system, and readers who post to them all the time."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.bare.booted import PATIENCE, PAUSE, BootedSystem
from tests.e2e.program import ROOT
from tests.e2e.test_manual import lines

DATA = "/var/lib/commentsvc"
SETTINGS_FILE = "var/lib/private/commentsvc/commentsvc.toml"
SOCKET = "/run/commentsvc/commentsvc.sock"
SETTINGS = """
[[site]]
origins = ["https://blog.example"]
[moderation]
policy = "none"
[spam]
rate_limit = "100000/minute"
site_rate_limit = "100000/minute"
pending_limit = "100000/day"
proof_of_work = 0
form_token = "off"
duplicates = false
bayes = false
"""
# `ask` returns the status and the body of an answer of the service at the socket $1.
CLIENT = """
import http.client, itertools, json, os, socket, sys, time
class Unix(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(30)
        self.sock.connect(sys.argv[1])
def ask(method, path, body=None):
    client = Unix("localhost")
    client.request(method, path, body, {"Content-Type": "application/json"})
    answer = client.getresponse()
    return answer.status, answer.read()
"""
# Posts as the reader $2 until the file $3.end exists. The file $3 gets the words of each comment
# that is acknowledged.
READER = f"""{CLIENT}
with open(sys.argv[3], "w") as file:
    for number in itertools.count():
        if os.path.exists(f"{{sys.argv[3]}}.end"):
            break
        words = f"{{sys.argv[2]}} {{number}}"
        body = json.dumps({{"url": "/post/", "author": "Ann", "message": words}})
        try:
            if ask("POST", "/api/comments", body)[0] in (201, 202):
                print(words, file=file, flush=True)
        except (OSError, http.client.HTTPException):
            pass  # the widget keeps the text
        time.sleep(0.02)
"""
COUNT = f"""{CLIENT}
print(json.loads(ask("GET", "/api/comments/count?url=/post/")[1])["count"])
"""


def from_manual(page: str, *begins: str) -> list[str]:
    """Return the commands of a page with these beginnings, in this order."""
    found = lines(ROOT / f"docs/{page}.md")
    return [next(line for line in found if line.startswith(begin)) for begin in begins]


class Reader:
    """Somebody who sends one comment after the other."""

    def __init__(self, unit: BootedSystem, name: str) -> None:
        self._file = unit.root / f"root/{name}.txt"
        self._process = unit.start("python3", "-c", READER, SOCKET, name, f"/root/{name}.txt")

    def acknowledged(self) -> set[str]:
        """Return the words of all comments that were acknowledged."""
        return {*self._file.read_text().splitlines()} if self._file.exists() else set()

    def wait_for_more(self) -> None:
        """Wait until a comment is acknowledged that is sent after this call."""
        wanted = len(self.acknowledged()) + 2  # the next may be on its way
        end = time.monotonic() + PATIENCE
        while len(self.acknowledged()) < wanted:
            assert self._process.poll() is None, self._process.communicate()[0]
            assert time.monotonic() < end, f"{self._file} does not grow"
            time.sleep(PAUSE)

    def close(self) -> None:
        """Let the reader end after the answer to the last comment."""
        self._file.with_name(f"{self._file.name}.end").touch()
        self._process.communicate(timeout=PATIENCE)


@contextmanager
def reading(unit: BootedSystem, name: str) -> Iterator[Reader]:
    """Let a reader send comments from before the block to its end."""
    reader = Reader(unit, name)
    try:
        reader.wait_for_more()
        yield reader
    finally:
        reader.close()


def stored(unit: BootedSystem) -> set[str]:
    """Return the words of all comments that the service shows."""
    words = ["--status=approved", "--limit=100000", "--json"]
    said = unit.run("commentsvc", "list", "--data", DATA, *words)
    return {json.loads(line)["message"] for line in said.splitlines()}

"""Requests to Isso, and what a real one answered: `recorded.jsonl.gz` holds a pair in each line.

To record it anew by the Isso that the tests have installed:
``python -m tests.unit.compat.isso.pairs``.

Ids are named by the order of the comments (``$1``), since Isso gives some twice. Left out are
dates, hashes and texts of errors, which are another program's, and what `ignored` says.
"""

import gzip
import itertools
import json
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple
from urllib.error import HTTPError, URLError

RECORDED = Path(__file__).with_name("recorded.jsonl.gz")
ORIGIN = "http://blog.example"
SETTINGS = """
[general]
dbpath = {folder}/isso.sqlite
host = http://blog.example
latest-enabled = true
[server]
listen = http://127.0.0.1:{port}
trusted-proxies = 127.0.0.1
[guard]
ratelimit = 1000
direct-reply = 1000
reply-to-self = true
require-author = true
[rss]
base = http://blog.example
"""
PORT = 18_923
ISSO = "import isso; isso.main()"

Json = Any  # Any: JSON of another program


class Step(NamedTuple):
    """A request. In `target`, `body` and `cookie`, ``$3`` stands for the third comment's id.

    `peer` is the client's address, `name` the name for the comment that the request creates.
    """

    method: str
    target: str
    body: Json = None
    peer: str = "192.0.2.1"
    cookie: str = ""
    name: str = ""
    content_type: str = "application/json"


class Reply(NamedTuple):
    """The answer to a step."""

    status: int
    headers: Mapping[str, str]
    body: bytes


Send = Callable[[str, str, bytes, dict[str, str]], Reply]

TEXTS = (
    "A *first* text",
    "With **strong** words and `code`",
    "Two\n\nparagraphs",
    "- a list\n- of two",
    "> somebody said\n\nno",
    "A <b>tag</b> and <script>alert(1)</script>",
    "1 < 2 & 3 > 2",
    "ünï ☃ 日本",
    "~~gone~~ text",
    "```\ncode block\n```",
)
AUTHORS = ("Ann", "B'en & <i>Co</i>", 'C "quoted"', "Dörte ☃")
WEBSITES = (None, "example.com", "https://x.example/a?b=1&c=2", "http://x.example/")
PAGES = ("/a/", "/b/", "/c/?page=2")


def steps() -> Iterator[Step]:
    """Yield the requests, in their order."""
    number = itertools.count(1)
    for page in PAGES:
        yield Step("GET", f"/?uri={_quoted(page)}&offset=0")
    for index, text in enumerate(TEXTS):
        page = PAGES[index % 2]
        yield _new(next(number), page, text, index)
    for index, parent in enumerate((1, 1, 2, 1, 2, 3, 11, 12)):
        yield _new(
            next(number),
            PAGES[(parent + 1) % 2 if parent < 10 else 0],
            f"Reply {index}",
            index,
            parent,
        )
    yield from _votes()
    yield from _edits()
    yield from _reads()
    yield from _deletes()
    yield from _parents()
    yield from _people()
    yield from _reads()
    yield from _previews()
    yield from _wrong()


def _new(number: int, page: str, text: str, index: int, parent: int = 0) -> Step:
    body = {
        "author": AUTHORS[index % len(AUTHORS)],
        "email": f"{index}@mail.example" if index % 2 else None,
        "website": WEBSITES[index % len(WEBSITES)],
        "text": text,
        "parent": f"${parent}" if parent else None,
        "title": "A title",
        "notification": 0,
    }
    peer = f"198.51.{index}.1"
    return Step("POST", f"/new?uri={_quoted(page)}", body, peer, name=f"${number}")


def _votes() -> Iterator[Step]:
    for peer in ("203.0.113.1", "203.0.114.1", "203.0.113.2"):
        yield Step("POST", "/id/$1/like", peer=peer)
        yield Step("POST", "/id/$3/dislike", peer=peer)
        yield Step("POST", "/id/$5/like", peer=peer)
    yield Step("POST", "/id/$5/dislike", peer="203.0.115.1")
    yield Step("POST", "/id/$1/like", peer="198.51.0.9")  # from the author's network


def _reads() -> Iterator[Step]:
    for page in PAGES:
        uri = f"/?uri={_quoted(page)}&offset=0"
        yield Step("GET", uri)
        yield Step("GET", f"{uri}&plain=1")
        yield Step("GET", f"{uri}&limit=0")
        for sort, (limit, nested) in itertools.product(
            ("oldest", "newest", "upvotes"), ((1, 0), (2, 1), (9, 2))
        ):
            yield Step("GET", f"{uri}&sort={sort}&limit={limit}&nested_limit={nested}")
        yield Step("GET", f"/?uri={_quoted(page)}&sort=newest")
    for parent, offset in itertools.product((1, 2, 3), (0, 1)):
        page = PAGES[(parent + 1) % 2]
        yield Step("GET", f"/?uri={_quoted(page)}&parent=${parent}&limit=2&offset={offset}")
    yield Step("POST", "/count", [*PAGES, "/never/"])
    yield Step("GET", "/latest?limit=100")
    yield Step("GET", "/config")
    for page in PAGES:
        yield Step("GET", f"/feed?uri={_quoted(page)}")


def _edits() -> Iterator[Step]:
    for number in (1, 2, 11):
        yield Step("GET", f"/id/${number}", cookie=f"${number}")
        yield Step("GET", f"/id/${number}?plain=1", cookie=f"${number}")
        yield Step("PUT", f"/id/${number}", {"text": f"*Changed* {number}"}, cookie=f"${number}")
        yield Step("PUT", f"/id/${number}", {"text": "Foreign"}, cookie="$3")
        yield Step("PUT", f"/id/${number}", {"text": "Nobody's"})
        yield Step("GET", f"/id/${number}")
    for change in (
        {"author": "Ann <b>B</b> & 'Co'", "website": "https://ann.example/?a=1&b=2"},
        {"author": "Ann B"},
        {"website": None},
        {"website": "http://ann.example/", "email": "new@mail.example", "title": "No"},
        {"website": "no site"},
        {"website": "javascript:alert(1)"},
        {"website": "x" * 255},
        {"website": 5},
        {"author": 5},
    ):
        yield Step("PUT", "/id/$4", {"text": "Signed anew"} | change, cookie="$4")
        yield Step("GET", "/id/$4", cookie="$4")
    yield Step("PUT", "/id/$1", {"text": "a"}, cookie="$1")
    yield Step("PUT", "/id/$1", {"text": None}, cookie="$1")
    yield Step("PUT", "/id/$1", {"text": "a form"}, cookie="$1", content_type="text/plain")


def _deletes() -> Iterator[Step]:
    yield Step("DELETE", "/id/$7")
    yield Step("DELETE", "/id/$7", cookie="$3")
    yield Step("DELETE", "/id/$7", cookie="$7", content_type="text/plain")
    for number in (7, 12, 1, 10):
        yield Step("DELETE", f"/id/${number}", cookie=f"${number}")
    yield Step("PUT", "/id/$1", {"text": "Come back"}, cookie="$1")
    yield Step("DELETE", "/id/$1", cookie="$1")


def _parents() -> Iterator[Step]:
    """Yield replies to comments that are deleted, elsewhere or nowhere, and votes on them."""
    page = PAGES[0]
    # $1 was deleted and has replies, $11 is one of these, $7 was deleted and has none.
    for number, (name, parent) in enumerate(
        (("deleted", 1), ("reply", 11), ("gone", 7), ("elsewhere", 2), ("above", 19)), start=19
    ):
        yield _new(number, page, f"To what is {name}", number, parent)
    for number, unknown in enumerate((999_999, 0, -1), start=24):
        step = _new(number, page, f"To {unknown}", number)
        yield step._replace(body=step.body | {"parent": unknown})
    for name, target in itertools.product(("like", "dislike"), ("$1", "$7", "999999")):
        yield Step("POST", f"/id/{target}/{name}", peer=f"203.0.{len(name)}.1")
    yield Step("POST", "/id/$1/like", peer="203.0.4.2")


def _people() -> Iterator[Step]:
    """Yield names and addresses that Isso takes."""
    for number, change in enumerate(
        ({"email": "no address"}, {"email": "a@b"}, {"email": "x" * 254}), start=27
    ):
        step = _new(number, PAGES[2], f"From {number}", number)
        yield step._replace(body=step.body | change)


def _previews() -> Iterator[Step]:
    for text in TEXTS:
        yield Step("POST", "/preview", {"text": text})
    yield Step("POST", "/preview", {})
    yield Step("POST", "/preview", {"text": None})


def _wrong() -> Iterator[Step]:
    new = "/new?uri=/b/"
    good = {"author": "Ann", "text": "A good text", "title": "A title"}
    for change in (
        {"text": None},
        {"text": ""},
        {"text": "ab"},
        {"text": "a         "},
        {"text": 5},
        {"text": "x" * 70_000},
        {"author": 5},
        {"author": None},
        {"author": ""},
        {"email": 5},
        {"email": "x" * 255},
        {"website": 5},
        {"website": "x" * 255},
        {"website": "no site"},
        {"website": "javascript:alert(1)"},
        {"website": "https://"},
        {"parent": "1"},
        {"parent": [1]},
    ):
        yield Step("POST", new, good | change)
    yield Step("POST", new, good, content_type="application/x-www-form-urlencoded")
    yield Step("POST", new, good, content_type="text/plain")
    yield Step("POST", new, good, content_type="multipart/form-data")
    yield Step("POST", "/new", good)
    yield Step("GET", "/")
    for wrong in ("limit=x", "offset=-1", "offset=x", "parent=x", "nested_limit=x", "sort=best"):
        yield Step("GET", f"/?uri=/a/&{wrong}")
    yield Step("GET", "/latest")
    yield Step("GET", "/latest?limit=0")
    yield Step("GET", "/latest?limit=x")
    yield Step("GET", "/feed")
    yield Step("GET", "/id/999999")
    yield Step("PUT", "/id/999999", {"text": "Nothing"})
    yield Step("DELETE", "/id/999999")
    yield Step("GET", "/nothing")
    yield Step("GET", "/id/x")


def _quoted(page: str) -> str:
    return page.replace("?", "%3F").replace("=", "%3D")


class Player:
    """Send requests to one server, and return its answers in a form that all servers share."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._ids: dict[str, str] = {}
        self._cookies: dict[str, str] = {}

    def play(self, step: Step) -> dict[str, Json]:
        """Send a request; return the part of its answer that must be the same everywhere."""
        headers = {"Origin": ORIGIN, "X-Forwarded-For": step.peer}
        text = "" if step.body is None else json.dumps(step.body)
        if step.method != "GET":
            headers["Content-Type"] = step.content_type
        if step.cookie:
            headers["Cookie"] = self._cookies[step.cookie]
        # In a target the id is a part of the path or query, in a body it is a number.
        target = re.sub(r"\$\d+", lambda match: self._ids[match[0]], step.target)
        text = re.sub(r'"(\$\d+)"', lambda match: self._ids[match[1]], text)
        reply = self._send(step.method, target, text.encode(), headers)
        if step.name and reply.status < 300:
            self._ids[step.name] = str(json.loads(reply.body)["id"])
            self._cookies[step.name] = reply.headers["Set-Cookie"].partition(";")[0]
        if step.method == "PUT" and "Set-Cookie" in reply.headers:  # Isso's depends on the text
            self._cookies[step.cookie] = reply.headers["Set-Cookie"].partition(";")[0]
        return self._comparable(step, reply)

    def _comparable(self, step: Step, reply: Reply) -> dict[str, Json]:
        shown: dict[str, Json] = {"status": reply.status}
        if reply.status >= 400:
            return shown
        names = {number: name for name, number in self._ids.items()}
        if step.method != "PUT":  # Isso sets a new cookie on PUT, and we do not
            for field in ("Set-Cookie", "X-Set-Cookie"):
                if field in reply.headers:
                    number = reply.headers[field].partition("=")[0].removeprefix("isso-")
                    shown[field] = names[number]
        exposed = reply.headers["Access-Control-Expose-Headers"].split(", ")
        assert reply.headers["Access-Control-Allow-Origin"] == ORIGIN
        assert reply.headers["Access-Control-Allow-Credentials"] == "true"
        assert {*exposed} == {"X-Set-Cookie", "Date"}
        if step.target.startswith("/feed"):
            contents = re.findall(
                r'<content type="html">(.*?)</content>', reply.body.decode(), re.S
            )
            shown["feed"] = sorted(filter(None, (_plain_html(unescape(each)) for each in contents)))
        else:
            shown["json"] = self._named(json.loads(reply.body), names)
            if step.target.startswith("/latest"):  # Isso puts replies behind all others
                shown["json"].sort(key=lambda each: each["id"])
        return shown

    def _named(self, value: Json, names: dict[str, str]) -> Json:
        """Return JSON with names of comments for ids, and without values that differ by server."""
        if isinstance(value, list):
            return [self._named(each, names) for each in value]
        if not isinstance(value, dict):
            return value
        shown = {name: self._named(each, names) for name, each in value.items()}
        for name in ("id", "parent"):
            if shown.get(name) is not None:
                shown[name] = names.get(str(shown[name]), shown[name])
        for name in ("created", "modified"):
            if name in shown:
                shown[name] = shown[name] is not None
        if "replies" in shown:  # as /config has them
            shown.pop("config", None)
        for name in ignored(shown):
            shown.pop(name, None)
        if "text" in shown:
            shown["text"] = _plain_html(shown["text"])
        return shown


def ignored(shown: Mapping[str, Json]) -> tuple[str, ...]:
    """Return the keys in which we differ from Isso on purpose.

    Lists do not tell who wants mails; the latest comments have a title and a hash more; a comment
    that was deleted has no date of its deletion, and is in no feed; and a refused vote has words of
    ours.
    """
    gone = ("modified",) if shown.get("mode") == 4 else ()
    return ("hash", "notification", "title", "message", *gone)


def _plain_html(html: str) -> str:
    """Return HTML without what differs between two implementations of Markdown."""
    html = re.sub(r' rel="[^"]*"', "", html)
    html = html.replace("&quot;", '"').replace("&#x27;", "'").replace("&#39;", "'")
    return re.sub(r"\s+", " ", html).replace("> <", "><").replace("<p></p>", "").strip()


def recorded() -> list[tuple[Step, dict[str, Json]]]:
    """Return the recorded pairs."""
    lines = gzip.decompress(RECORDED.read_bytes()).decode().splitlines()
    return [(Step(**request), answer) for request, answer in map(json.loads, lines)]


def _over_http(method: str, target: str, body: bytes, headers: dict[str, str]) -> Reply:
    url = f"http://127.0.0.1:{PORT}{target}"
    request = urllib.request.Request(url, body or None, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return Reply(answer.status, dict(answer.headers.items()), answer.read())
    except HTTPError as error:
        return Reply(error.code, dict(error.headers.items()), error.read())


def _record() -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "isso.cfg")
        file.write_text(SETTINGS.format(folder=folder, port=PORT))
        with subprocess.Popen([sys.executable, "-c", ISSO, "-c", str(file), "run"]) as process:
            try:
                _wait()
                player = Player(_over_http)
                lines = [
                    json.dumps(
                        [step._asdict(), player.play(step)], ensure_ascii=False, sort_keys=True
                    )
                    for step in steps()
                ]
            finally:
                process.terminate()
    RECORDED.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode(), mtime=0))


def _wait() -> None:
    for _ in range(100):
        try:
            _over_http("GET", "/config", b"", {})
        except URLError:
            time.sleep(0.1)
        else:
            return


if __name__ == "__main__":
    _record()

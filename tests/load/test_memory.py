"""Refusing a request costs no memory: nothing of it stays, whatever is refused and however often.

Two tests measure it. One takes the resident memory of the whole program, in which the allocator's
pages hide small leaks. The other counts the objects of the part in Python, which shows each of
them.

Every route gets every request that might be refused: without a cookie, with a foreign form, with a
body that is not JSON, for something that does not exist. Each different answer is a kind of
refusal. Many more requests of each kind are then sent, large enough that a leak is noticed.
"""

import gc
import itertools
import json
import logging
import os
import re
import socket
import struct
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

import pytest

from commentsvc.http.messages import Response
from commentsvc.settings import loader
from tests.e2e.program import Service, command, serving
from tests.unit.admin_client import seated
from tests.unit.app_fixture import Served, served

REFUSALS = 5_000  # of all kinds together in a round
# sqlite3 keeps a weak reference to each cursor of a connection until there are 200 of them.
ROUNDS = 12
# Then so many of each kind: 20,000, as SECURITY.md promises, take an hour, so only by hand.
OF_EACH_KIND = int(os.environ.get("REFUSALS_OF_EACH_KIND", "0"))
TIMES = 40  # requests of a kind in this process, whose objects are counted
LEAST_KINDS = 100
PIPELINED = 20  # requests that are sent before their answers are read
FLAT = 256 << 10  # bytes; a leak in a single kind of refusal would cost more in a round
FLAT_BY_HAND = 4 << 20  # bytes
PADDING = b"x" * 3_000  # part of a head, below the limit of heads
BODY = b"x" * 8_000
PASSWORD = "correct horse battery"

JSON = b"application/json"
FORM = b"application/x-www-form-urlencoded"
Fields = tuple[tuple[str, bytes], ...]
Sent = tuple[Fields, bytes]  # header fields and a body


# All that has routes is on, and limits are off, so that handlers make every refusal.
ALL_ROUTES = """
[server]
public_url = "https://comments.example"
miss_limit = "off"
[spam]
rate_limit = "off"
[mail]
host = "localhost"
sender = "comments@blog.example"
[[site]]
name = "blog"
origins = ["https://blog.example"]
isso = true
artalk = true
waline = true
webmentions = true
sign_in = ["mail", "blog"]
sso_url = "https://blog.example/login"
sso_secret = "0123456789abcdef0123456789abcdef"
[inbox]
address = "comments@blog.example"
hook_secret = "0123456789abcdef0123456789abcdef"
"""


class Asked(NamedTuple):
    """A request in its parts."""

    method: str
    target: str
    fields: Fields = ()
    body: bytes = b""


class Refusal(NamedTuple):
    """A request that was refused; `kind` is the answer without its numbers."""

    kind: bytes
    request: bytes


# The connection ends after each of them.
REFUSED_BY_THE_CORE = [
    Refusal(b"413", b"POST /newcomment HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n"),
    Refusal(b"400", b"GET / HTTP/1.1\r\n\r\n"),
    Refusal(b"431", b"GET / HTTP/1.1\r\nHost: x\r\nX: " + 30 * PADDING + b"\r\n\r\n"),
]


class Client:
    """A persistent connection, which is opened again when the server has closed it."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._socket = service.connected()
        self._read = b""

    def close(self) -> None:
        self._socket.close()

    def ask(self, requests: Iterable[bytes]) -> Iterator[bytes]:
        """Send all `requests` at once and yield the answers; fewer if the server closed."""
        requests = list(requests)
        try:
            self._socket.sendall(b"".join(requests))
            for _ in requests:
                yield self._answer()
        except (ConnectionError, EOFError):
            self.close()
            self._socket = self._service.connected()
            self._read = b""

    def _answer(self) -> bytes:
        while b"\r\n\r\n" not in self._read:
            self._receive()
        head = self._read.partition(b"\r\n\r\n")[0]
        length = re.search(rb"(?i)\ncontent-length: (\d+)", head)
        if length is None and head[9:12] == b"200":
            raise EOFError  # an endless stream
        size = len(head) + 4 + (int(length[1]) if length else 0)
        while len(self._read) < size:
            self._receive()
        answer, self._read = self._read[:size], self._read[size:]
        return answer

    def _receive(self) -> None:
        data = self._socket.recv(1 << 18)
        if not data:
            raise EOFError
        self._read += data


def request(method: str, target: str, fields: Fields = (), body: bytes = b"") -> bytes:
    head = [f"{method} {target} HTTP/1.1".encode(), b"Host: x", b"X-Padding: " + PADDING]
    head += [name.encode() + b": " + value for name, value in fields]
    if body or method not in ("GET", "DELETE"):
        head.append(b"Content-Length: %d" % len(body))
    return b"\r\n".join(head) + b"\r\n\r\n" + body


def methods(service: Served) -> dict[str, set[str]]:
    """Return the methods of all routes by their path."""
    found: dict[str, set[str]] = {}
    for route in (*service.routes, *service.pages):
        found.setdefault(route.pattern, set()).add(route.method)
    return found


def targets(known: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """Return the methods by target, also of some that do not exist."""
    paths = {
        path.replace("{id}", "123456").replace("{path}", "x"): methods
        for path, methods in known.items()
    }
    return paths | {"/nothing": {"GET"}, "/api/avatar/" + "0" * 32: {"GET"}}


def queries() -> Iterator[str]:
    """Yield queries that at least one route refuses."""
    yield ""
    for query in (
        {"url": "/\x01"},
        {"url": "https://other.example/"},
        {"url": "/a/", "after": "x", "limit": "x", "sort": "x"},
        {"site": "none", "url": "/a/"},
        {"id": "123456", "t": "x", "parent": "x", "lang": "de"},
    ):
        yield "?" + urlencode(query)
    yield "?%ff=%zz&&" + "a=b&" * 50


def bodies(cookie: bytes, token: bytes) -> Iterator[Sent]:
    """Yield header fields with a body that at least one route refuses."""
    padding = b"&padding=" + BODY
    ours = (("Cookie", cookie), ("Sec-Fetch-Site", b"same-origin"), ("Content-Type", FORM))
    yield (), b""
    yield (), BODY
    yield (("Content-Type", FORM),), b"csrf_token=x" + padding
    yield (("Content-Type", FORM), ("Sec-Fetch-Site", b"same-origin")), b"csrf_token=x" + padding
    yield (("Content-Type", FORM), ("Origin", b"https://other.example")), b"url=/a/" + padding
    yield (("Content-Type", FORM),), b"a=%zz" + padding
    yield (("Content-Type", b"multipart/form-data; boundary=b"),), b"--b" + BODY
    yield (("Content-Type", JSON),), b'{"message": "' + BODY
    yield (("Content-Type", JSON),), b'{"message": "%b"}' % BODY
    yield (("Content-Type", JSON), ("Origin", b"https://other.example")), b'{"url": "/a/"}'
    yield ours, b"csrf_token=x" + padding
    yield ours, b"id=123456&csrf_token=%b" % token + padding
    yield ours, b"name=eve&password=wrong&act=x&one=x&csrf_token=%b" % token + padding


def everything(known: Mapping[str, set[str]], cookie: bytes, token: bytes) -> list[Asked]:
    """Return each route with every request that might be refused, and with other methods."""
    nothing: list[Sent] = [((), b""), ((("Cookie", cookie),), b"")]
    return [
        Asked(method, target + query, fields, body)
        for target, methods in targets(known).items()
        for method, some, sent in (
            ("GET", list(queries()), nothing),
            ("POST", ["", "?site=none", "?lang=de&a=%ff"], list(bodies(cookie, token))),
            ("PATCH", [""], list(bodies(cookie, token))),
            ("DELETE", [""], nothing),
            ("PUT", [""], nothing),
        )
        for query, (fields, body) in itertools.islice(
            itertools.product(some, sent), None if method in methods else 1
        )
    ]


def refusals(service: Service, asked: Iterable[Asked]) -> list[Refusal]:
    """Return the largest request for each kind of refusal."""
    found: dict[bytes, bytes] = {}
    with closing(Client(service)) as client:
        for each in asked:
            one = request(*each)
            for answer in client.ask([one]):
                kind = kind_of(answer)
                if answer[9:12] >= b"400" and len(one) > len(found.get(kind, b"")):
                    found[kind] = one
    return [Refusal(*item) for item in found.items()] + REFUSED_BY_THE_CORE


def kind_of(answer: bytes) -> bytes:
    head, _, body = answer.partition(b"\r\n\r\n")
    return head[9:12] + b" " + re.sub(rb"[\dA-Za-z_-]{20,}|\d+", b"0", body)


def refuse(service: Service, kinds: list[Refusal], number: int) -> None:
    """Have the service refuse `number` requests of each of the `kinds`."""
    with closing(Client(service)) as client:
        for kind in kinds:
            refused = 0
            while refused < number:
                asked = [kind.request] * min(PIPELINED, number - refused)
                # If the server closed with unread input, its answer may be lost in the reset.
                refused += len(list(client.ask(asked))) or 1


def abort(service: Service, number: int) -> None:
    """Send `number` requests of each kind that ends early, in the request or in its answer."""
    head = request("POST", "/api/comments", (("Content-Type", JSON),))
    chunked = head.replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")
    thread = request("GET", "/api/comments?url=/a/")
    for sent in (
        head[:-3],
        request("POST", "/api/comments", (("Content-Type", JSON),), BODY)[:-1],
        chunked + b"1f40\r\n" + BODY,
        thread,
        PIPELINED * thread,
    ):
        for index in range(number):
            with service.connected() as connection:
                connection.sendall(sent)
                if index % 2:  # closing resets the connection
                    reset = struct.pack("ii", 1, 0)
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)


def resident(service: Service) -> int:
    """Return the resident memory of the server in bytes."""
    status = Path(f"/proc/{service.process.pid}/status").read_text()
    found = re.search(r"^VmRSS:\s+(\d+) kB$", status, re.MULTILINE)
    assert found
    return int(found[1]) << 10


@pytest.fixture
def service(data: Path) -> Iterator[Service]:
    data.mkdir(mode=0o700)
    (data / "commentsvc.toml").write_text(ALL_ROUTES)
    with serving(data, {}, kind=Service) as service:
        yield service


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Served]:
    """Run the same in this process."""
    file = tmp_path / "settings.toml"
    file.write_text(ALL_ROUTES)
    with served(tmp_path, loader.load(file, {})) as service:
        yield service


def sign_in(service: Service) -> tuple[bytes, bytes]:
    """Sign a moderator in; return the cookie and the CSRF token of their forms."""
    made = command("moderator", "add", "ann", "--data", service.data, given=PASSWORD)
    assert made.code == 0, made
    page = service.request("GET", "/moderation/sign-in")
    fields = {"name": "ann", "password": PASSWORD, "csrf_token": csrf_token(page.body)}
    connection = service.connection()
    headers = {
        "Content-Type": FORM.decode(),
        "Cookie": page.headers["Set-Cookie"].partition(";")[0],
        "Sec-Fetch-Site": "same-origin",
    }
    connection.request("POST", "/moderation/sign-in", urlencode(fields), headers)
    given = connection.getresponse().headers.get_all("Set-Cookie", [])
    connection.close()
    cookie = "; ".join(one.partition(";")[0] for one in given)
    page = service.request("GET", "/moderation/account", Cookie=cookie)
    return cookie.encode(), csrf_token(page.body).encode()


def csrf_token(page: bytes) -> str:
    found = re.search(rb'name="csrf_token" value="([^"]+)"', page)
    assert found, page
    return found[1].decode()


def test_refusing_costs_no_memory(service: Service, here: Served) -> None:
    """Memory may grow until buffers and caches are full."""
    known = methods(here)
    documented = json.loads(service.request("GET", "/openapi.json").body)["paths"]
    assert documented.keys() <= known.keys(), "the list of routes has lost some"
    kinds = refusals(service, everything(known, *sign_in(service)))

    def send_all() -> None:
        refuse(service, kinds, REFUSALS // len(kinds))
        abort(service, PIPELINED)

    assert_flat(service, send_all, FLAT)
    each = {kind.kind: partial(refuse, service, [kind]) for kind in kinds}
    each[b"requests that end early"] = partial(abort, service)
    for name, send in each.items() if OF_EACH_KIND else ():
        print(OF_EACH_KIND, "times", name)
        assert_flat(service, partial(send, OF_EACH_KIND), FLAT_BY_HAND)


def assert_flat(service: Service, send: Callable[[], None], flat: int) -> None:
    """Call `send` until the service grows by less than `flat` bytes; a leak never stops growing."""
    grown: list[int] = []
    while not grown or grown[-1] >= flat:
        assert len(grown) < ROUNDS, f"refusals cost memory, again and again: {grown}"
        before = resident(service)
        send()
        grown.append(resident(service) - before)
    print(f"memory grew by {grown} bytes")


def test_no_refusal_leaves_an_object_behind(here: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each kind runs in this process, where Python counts its memory blocks exactly.

    So a few dozen requests suffice: a leak of one block per request, even of 16 bytes, would be
    seen. Caches that fill once, such as Python's own, do so in the rounds before the last.
    """
    monkeypatch.setattr(logging.root.manager, "disable", logging.CRITICAL)  # pytest keeps log lines
    seat = seated(here)
    cookie = "; ".join(f"{name}={value}" for name, value in seat.cookies.items())
    found: dict[tuple[int, bytes], Asked] = {}
    for asked in everything(methods(here), cookie.encode(), seat.csrf_token().encode()):
        answer = answered(here, asked)
        if answer.status >= 400:
            found.setdefault((answer.status, answer.body[:200]), asked)
    gc.collect()
    gc.freeze()  # else each collection looks at all objects of the program
    try:
        kept = {kind: number for kind, asked in found.items() if (number := left_by(here, asked))}
    finally:
        gc.unfreeze()
    print(f"{len(found)} kinds of refusals")
    assert len(found) > LEAST_KINDS
    assert not kept


def answered(service: Served, asked: Asked) -> Response:
    """Return the answer to a request, sent without its large padding."""
    fields = {name.replace("-", "_").lower(): value.decode() for name, value in asked.fields}
    return service.ask(asked.method, asked.target, asked.body, **fields)


def left_by(service: Served, asked: Asked) -> int:
    """Return how many memory blocks each request leaves in every round; 0 if less than one."""
    left = 0
    for _ in range(ROUNDS):
        gc.collect()
        before = sys.getallocatedblocks()
        for _ in range(TIMES):
            answered(service, asked)
        gc.collect()
        left = max(0, sys.getallocatedblocks() - before) // TIMES
        if left == 0:
            break
    return left

"""HTTP requests reach public addresses only, and answers are limited in size and time."""

import asyncio
import socket
import ssl
import threading
import time
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
import trustme

from commentsvc.util import connect, http_client
from commentsvc.util.http_client import HttpResponse, RemoteError, SettingsClient, StrangerClient
from commentsvc.util.ip_ranges import is_public
from tests.background import background
from tests.unit.processor_time import assert_quick

LOCAL = ("127.0.0.0/8",)


class Receiver(ThreadingHTTPServer):
    """A server that keeps what it was sent, and answers as the test says."""

    status, answer, location = 200, b"thanks", ""
    pieces = 0  # of a chunked answer, each with one byte
    pause = 0.0  # seconds before the answer to a GET

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.got: list[tuple[str, dict[str, str], bytes]] = []

    @property
    def port(self) -> int:
        return int(self.server_address[1])


class Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(body)

    def do_GET(self) -> None:
        time.sleep(self.server.pause)
        self._answer(b"")

    def _answer(self, body: bytes) -> None:
        self.server.got.append((self.path, dict(self.headers), body))
        self.send_response(self.server.status)
        if self.server.location:
            self.send_header("Location", self.server.location)
        if self.server.pieces:
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.write(b"1\r\nx\r\n" * self.server.pieces + b"0\r\n\r\n")
            return
        self.send_header("Content-Length", str(len(self.server.answer)))
        self.end_headers()
        self.wfile.write(self.server.answer)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with background(Receiver()) as server:
        yield server


def post(url: str, networks: tuple[str, ...] = (), deadline: float = 30.0) -> HttpResponse:
    return asyncio.run(SettingsClient(networks).post(url, b"{}", {"X-Name": "value"}, deadline))


PRIVATE = """
    127.0.0.1 127.9.9.9 0.0.0.0 10.1.2.3 172.16.0.1 192.168.1.1 169.254.169.254 100.64.0.1
    192.0.0.1 198.18.0.1 224.0.0.1 240.0.0.1 255.255.255.255 :: ::1 fe80::1 fe80::1%eth0 fc00::1
    fd00:ec2::254 ff02::1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 64:ff9b::7f00:1 64:ff9b::a9fe:a9fe
    2002:7f00:1:: 2002:0a00:1:: 2001:0:0:0:0:0:80ff:fffe ::127.0.0.1 ::10.0.0.1 fec0::1
    ::ffff:0:127.0.0.1 64:ff9b:1::7f00:1 5f00::1 3fff::1 192.0.0.8
"""


@pytest.mark.parametrize("address", [*PRIVATE.split()])
def test_an_address_that_is_not_public_is_known(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize(
    "address", ["1.1.1.1", "93.184.215.14", "2606:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101"]
)
def test_a_public_address_is_known(address: str) -> None:
    assert is_public(address)


def test_a_post_arrives_where_the_operator_allows_it(receiver: Receiver) -> None:
    assert post(f"http://127.0.0.1:{receiver.port}/a/b?c=d", LOCAL) == HttpResponse(200, "thanks")
    [(path, headers, body)] = receiver.got
    assert (path, body) == ("/a/b?c=d", b"{}")
    assert headers["Host"] == f"127.0.0.1:{receiver.port}"
    assert headers["X-Name"] == "value"


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "127.1", "2130706433", "0x7f000001", "[::ffff:127.0.0.1]"]
)
def test_no_spelling_of_an_own_address_is_reached(receiver: Receiver, host: str) -> None:
    with pytest.raises(RemoteError, match="no public address"):
        post(f"http://{host}:{receiver.port}/")
    assert not receiver.got


def test_one_address_of_a_name_that_is_not_public_is_enough(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    def resolve(host: str, port: int, *_: object, **__: object) -> list[Any]:
        return [(2, 1, 6, "", (address, port)) for address in ("1.1.1.1", "127.0.0.1")]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    with pytest.raises(RemoteError, match=r"evil\.example is 127\.0\.0\.1"):
        post(f"http://evil.example:{receiver.port}/")
    assert not receiver.got


def test_the_connection_goes_to_the_address_that_was_looked_at(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that resolves to another address a moment later (DNS rebinding) gains nothing."""
    answers = iter(["127.0.0.1"])

    def resolve(host: str, port: int, *_: object, **__: object) -> list[Any]:
        if host == "127.0.0.1":  # an address literal, as the connection asks for it
            return [(2, 1, 6, "", (host, port))]
        return [(2, 1, 6, "", (next(answers), port))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    assert post(f"http://hooks.example:{receiver.port}/", LOCAL).status == 200
    assert receiver.got[0][1]["Host"] == f"hooks.example:{receiver.port}"


def test_a_name_is_looked_up_as_browsers_write_it(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python would ask for fass.example, which may have another owner."""
    names = []

    def resolve(host: str, port: int, *_: object, **__: object) -> list[Any]:
        names.append(host)
        return [(2, 1, 6, "", ("127.0.0.1", port))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    assert post(f"http://Faß.example:{receiver.port}/", LOCAL).status == 200
    assert names[0] == "xn--fa-hia.example"
    assert receiver.got[0][1]["Host"] == f"xn--fa-hia.example:{receiver.port}"


@pytest.mark.parametrize("letters", ["a", "ü", "中", "".join(map(chr, range(0x4E00, 0x9E00)))])
def test_no_long_name_is_looked_up(monkeypatch: pytest.MonkeyPatch, letters: str) -> None:
    """A server may redirect to any; Python encodes 20,000 different letters in a minute."""
    monkeypatch.delattr(socket, "getaddrinfo")
    name = (letters * 20_000)[:20_000]
    for host in (name, f"{name}.example", f"ann@{name}:80"):
        why = assert_quick(partial(refusal, StrangerClient(), f"http://{host}/"), 100)
        assert why == "it is no http address"


def test_a_redirect_is_not_followed(receiver: Receiver) -> None:
    receiver.status, receiver.location = 302, f"http://127.0.0.1:{receiver.port}/other"
    assert post(f"http://127.0.0.1:{receiver.port}/", LOCAL).status == 302
    assert len(receiver.got) == 1


def test_a_proxy_of_the_environment_is_not_used(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    assert post(f"http://127.0.0.1:{receiver.port}/", LOCAL).status == 200


def test_little_of_a_long_answer_is_read(receiver: Receiver) -> None:
    receiver.answer = b"x" * 10_000_000
    assert len(post(f"http://127.0.0.1:{receiver.port}/", LOCAL).text) == http_client.ANSWER


def test_a_server_that_sends_single_bytes_is_left(receiver: Receiver) -> None:
    """Each piece costs time on the event loop."""
    receiver.pieces = 2_000
    with pytest.raises(RemoteError, match="in too many pieces"):
        post(f"http://127.0.0.1:{receiver.port}/", LOCAL)
    receiver.pieces = 500
    assert post(f"http://127.0.0.1:{receiver.port}/", LOCAL).text == "x" * 500


ANSWER = b"HTTP/1.1 200 \r\nContent-Length: 2\r\n%b\r\nhi"
CHUNKED = b"HTTP/1.1 200 \r\nTransfer-Encoding: chunked\r\n%b\r\n"
INTERIM = b"HTTP/1.1 103 \r\n\r\n"
HOSTILE = {
    "interim answers without an end": [INTERIM * 4_000] * 200,
    "100 Continue without an end": [b"HTTP/1.1 100 \r\n\r\n" * 4_000] * 200,
    "many short lines": [ANSWER % (b"a:\r\n" * 24_000)],
    "many lines of interim answers": [b"HTTP/1.1 103 \r\n" + b"a:\r\n" * 24_000],
    "folded lines": [ANSWER % (b"a: b\r\n" + b" c\r\n" * 24_000)],
    "a line without an end": [b"HTTP/1.1 200 \r\na: " + b"b" * 1_000_000],
    "a reason without an end": [b"HTTP/1.1 200 " + b"b" * 1_000_000],
    "many trailers": [CHUNKED % b"", b"0\r\n" + b"a:\r\n" * 24_000 + b"\r\n"],
    "a long chunk extension": [CHUNKED % b"", b"1;" + b"a" * 1_000_000],
    "single bytes": [CHUNKED % b"", b"1\r\na\r\n" * 200_000],
}


@contextmanager
def answering(parts: list[bytes]) -> Iterator[int]:
    """Serve these bytes to each connection, and yield the port."""

    def serve() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listening.accept()
                with connection, suppress(OSError):
                    connection.recv(65_536)
                    for part in parts:
                        connection.sendall(part)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield int(listening.getsockname()[1])
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()


async def _longest_turn(fetching: Coroutine[Any, Any, Any]) -> tuple[float, str]:
    """Return the CPU time of the event loop's longest turn in ms, and why the fetch failed."""
    longest = 0.0
    task = asyncio.ensure_future(fetching)
    while not task.done():
        began = time.thread_time()
        await asyncio.sleep(0)
        longest = max(longest, time.thread_time() - began)
    return longest * 1_000, str(task.exception())


@pytest.mark.parametrize("kind", HOSTILE)
def test_no_answer_holds_up_the_event_loop(kind: str) -> None:
    """Strangers choose the servers, and eight are asked at once."""
    times = list[float]()
    with answering(HOSTILE[kind]) as port:
        while not times or (times[-1] >= 50 and len(times) < 3):
            asked = SettingsClient(LOCAL).fetch(f"http://127.0.0.1:{port}/", 1_000_000, {})
            took, why = asyncio.run(_longest_turn(asked))
            assert "too" in why or "more than" in why
            times.append(took)
    assert times[-1] < 50, times


def test_interim_answers_and_usual_heads_are_read() -> None:
    head = b"".join(b"X-%d: %b\r\n" % (n, b"v" * 70) for n in range(100))
    with answering([INTERIM * 3, ANSWER % head]) as port:
        answer = asyncio.run(SettingsClient(LOCAL).get(f"http://127.0.0.1:{port}/", 10))
    assert (answer.status, answer.body, answer.header("x-99")) == (200, b"hi", "v" * 70)


@pytest.mark.parametrize("value", ["é".encode(), "é".encode("latin-1")])
def test_a_header_of_any_letters_is_read_and_can_be_sent_back(
    receiver: Receiver, value: bytes
) -> None:
    """An ETag that cannot be sent back would end the requests for that page for ever."""
    with answering([ANSWER % (b'ETag: "%b"\r\n' % value)]) as port:
        answer = asyncio.run(SettingsClient(LOCAL).get(f"http://127.0.0.1:{port}/", 10))
    again = {"If-None-Match": answer.header("etag")}
    asyncio.run(SettingsClient(LOCAL).get(f"http://127.0.0.1:{receiver.port}/", 10, again))
    assert (answer.header("etag"), len(receiver.got)) == ('"é"', 1)


@pytest.mark.parametrize("end", [b"", b"HTTP/1.1 200 \r\n", b"HTTP/1.1 200 \r\n\r\nwhole"])
def test_an_answer_ends_with_its_connection(end: bytes) -> None:
    with answering([end]) as port:
        asked = SettingsClient(LOCAL).get(f"http://127.0.0.1:{port}/", 10)
        if end.endswith(b"whole"):
            assert asyncio.run(asked).body == b"whole"
        else:
            with pytest.raises(RemoteError, match=r"closed|without"):
                asyncio.run(asked)


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("/ü?q=ä&b", "/%C3%BC?q=%C3%A4&b"),
        ("/%C3%BC?a=%20", "/%C3%BC?a=%20"),
        ('/a b"<>`', "/a%20b%22%3C%3E%60"),
        ("?a=b/?#c", "/?a=b/?"),
        ("", "/"),
    ],
)
def test_an_address_is_sent_as_browsers_write_it(
    receiver: Receiver, written: str, sent: str
) -> None:
    asyncio.run(SettingsClient(LOCAL).get(f"http://127.0.0.1:{receiver.port}{written}", 10))
    assert receiver.got[0][0] == sent


def test_a_server_that_never_answers_is_left() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        pytest.raises(RemoteError, match=r"no answer within|[Tt]ime"),
    ):
        post(f"http://127.0.0.1:{silent.getsockname()[1]}/", LOCAL, 0.1)


def test_redirects_and_the_page_have_one_deadline(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each redirect could take the whole time again."""
    monkeypatch.setattr(http_client, "DEADLINE", 1.0)
    receiver.status, receiver.location, receiver.pause = 302, "/again", 0.4
    with pytest.raises(RemoteError, match="no answer within 1 s"):
        asyncio.run(SettingsClient(LOCAL).fetch(f"http://127.0.0.1:{receiver.port}/", 10, {}))
    assert len(receiver.got) <= 3


def test_a_name_server_that_does_not_answer_holds_up_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The event loop's threads also check passwords and render long comments."""
    answered = threading.Event()

    def resolve(*_: object, **__: object) -> list[Any]:
        answered.wait()
        raise OSError("no such name")

    async def story() -> None:
        asked = [SettingsClient().get(f"http://{n}.evil.example/", 10) for n in range(40)]
        waiting = [asyncio.ensure_future(each) for each in asked]
        await asyncio.sleep(0)
        try:
            assert await asyncio.wait_for(asyncio.to_thread(sum, (1, 2)), 120) == 3
        finally:
            answered.set()
        for outcome in await asyncio.gather(*waiting, return_exceptions=True):
            assert isinstance(outcome, RemoteError)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    asyncio.run(story())


def test_names_that_are_looked_up_at_once_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    answered = threading.Event()
    monkeypatch.setattr(http_client, "DEADLINE", 0.1)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: answered.wait() and [])

    async def fetches(number: int) -> set[str]:
        asked = [SettingsClient().get(f"http://{n}.evil.example/", 10) for n in range(number)]
        return {str(each) for each in await asyncio.gather(*asked, return_exceptions=True)}

    try:
        assert asyncio.run(fetches(connect.LOOKUPS)) == {"no answer within 0 s"}
        assert asyncio.run(fetches(1)) == {"too many names are being looked up"}
    finally:
        answered.set()
        for thread in [each for each in threading.enumerate() if each.name == "dns"]:
            thread.join()


def test_the_certificate_is_that_of_the_name(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = trustme.CA()
    served = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("localhost").configure_cert(served)
    receiver.socket = served.wrap_socket(receiver.socket, server_side=True)
    with pytest.raises(RemoteError, match=r"(?i)certificate"):
        post(f"https://localhost:{receiver.port}/", LOCAL)
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    monkeypatch.setattr(http_client, "client_context", lambda: trusting)
    monkeypatch.setattr(
        socket,
        "getaddrinfo",
        lambda host, port, *_, **__: [(2, 1, 6, "", ("127.0.0.1", port))],
    )
    assert post(f"https://localhost:{receiver.port}/", LOCAL).status == 200
    with pytest.raises(RemoteError, match=r"(?i)certificate"):
        post(f"https://other.example:{receiver.port}/", LOCAL)


def reaching(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    """Let every name have these addresses."""

    def resolve(_host: str, port: int, *_: object, **__: object) -> list[Any]:
        return [(2, 1, 6, "", (address, port)) for address in addresses]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)


def refusal(client: SettingsClient | StrangerClient, url: str) -> str:
    with pytest.raises(RemoteError) as refused:
        asyncio.run(client.fetch(url, 10, {}))
    return str(refused.value)


OPEN = ("0.0.0.0/0", "::/0")  # more than the settings allow


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.9.9.9",
        "0.0.0.0",
        "169.254.169.254",
        "::1",
        "::",
        "fe80::1",
        "fe80::1%eth0",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "2002:7f00:1::",
        "2002:a9fe:a9fe::",
        "2001:0:0:0:0:0:80ff:fffe",
        "fd00:ec2::254",
        "100.100.100.200",
        "224.0.0.1",
        "ff02::1",
    ],
)
def test_a_stranger_never_reaches_this_machine_whatever_the_settings_open(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    reaching(monkeypatch, address)
    assert "no public address" in refusal(StrangerClient(OPEN), "http://evil.example/")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.1", "2130706433", "0x7f000001"])
def test_no_spelling_of_an_own_address_is_reached_by_strangers(host: str) -> None:
    assert "no public address" in refusal(StrangerClient(OPEN), f"http://{host}/")


@pytest.mark.parametrize("port", [0, 1, 22, 25, 79, 81, 444, 3306, 5432, 6379, 8080, 65_535])
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_stranger_reaches_the_ports_80_and_443_only(
    monkeypatch: pytest.MonkeyPatch, scheme: str, port: int
) -> None:
    reaching(monkeypatch)  # nothing is looked up
    for host in ("1.1.1.1", "[2606:4700::1111]", "a.example", "u:p@a.example", "a.example."):
        message = refusal(StrangerClient(OPEN), f"{scheme}://{host}:{port}/")
        assert message == f"it has the port {port}; addresses of others have 80 or 443"


def test_a_redirect_leads_a_stranger_to_no_other_port_or_network(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_client, "is_local", lambda address: address.endswith(".1.1"))
    monkeypatch.setattr(http_client, "STRANGER_PORTS", (80, 443, receiver.port))
    receiver.status = 302
    here = f"http://127.0.0.1:{receiver.port}/"
    for there, message in (
        ("http://127.0.0.1:22/", "the port 22"),
        ("//127.0.0.1:8080/", "the port 8080"),
        ("http://127.0.1.1/", "no public address"),
        ("http://10.0.0.1/", "no public address"),
        ("ftp://127.0.0.1/", "no http address"),
    ):
        receiver.location = there
        assert message in refusal(StrangerClient(LOCAL), here), there


def test_a_redirect_leads_from_an_address_of_the_settings_to_public_addresses_only(
    receiver: Receiver,
) -> None:
    """Whoever names a page of the blog may name where the blog redirects from there."""
    receiver.status = 302
    here = f"http://127.0.0.1:{receiver.port}/"
    for there, message in (
        (f"http://localhost:{receiver.port}/", f"the port {receiver.port}"),
        ("http://127.0.0.1:22/", "the port 22"),
        ("//127.0.0.1:8080/", "the port 8080"),
        ("http://localhost/", "no public address"),
        ("http://[::ffff:127.0.0.1]/", "no public address"),
        ("http://10.0.0.1/", "no public address"),
        ("https://169.254.169.254/latest/", "no public address"),
    ):
        receiver.location = there
        assert message in refusal(SettingsClient(OPEN), here), there
    receiver.location = "/there"
    assert "more than 5 times" in refusal(SettingsClient(OPEN), here)


def test_each_client_names_its_own_list_of_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    reaching(monkeypatch, "10.0.0.1")
    assert "hooks.allowed_networks" in refusal(SettingsClient(), "http://a.example/")
    assert "mentions.allowed_networks" in refusal(StrangerClient(), "http://a.example/")


def test_credentials_in_an_address_are_not_sent_as_its_host(receiver: Receiver) -> None:
    assert post(f"http://ann:secret@127.0.0.1:{receiver.port}/", LOCAL).status == 200
    [(_, headers, _)] = receiver.got
    assert headers["Host"] == f"127.0.0.1:{receiver.port}"

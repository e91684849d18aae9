"""HTTP behind a TLS terminator: a PROXY protocol header comes first, the rest is as usual."""

import socket
from collections.abc import Iterable, Iterator

import pytest

from tests.wire import probe
from tests.wire.cases import Case, all_cases
from tests.wire.player import PATIENCE, play
from tests.wire.proxy_header import LOCAL, SIGNATURE, proxy_header

BY_TLS = proxy_header("192.0.2.7", tls=True)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with probe.running("127.0.0.1:0", proxy_protocol=True, hsts="max-age=1") as running:
        yield running.server.address


class Behind:
    """Puts a PROXY protocol header before the first bytes of a connection, in the same send."""

    def __init__(self) -> None:
        self._said = False

    def __call__(self, data: bytes) -> Iterable[bytes]:
        said, self._said = self._said, True
        return [data if said else BY_TLS + data]


@pytest.mark.parametrize("case", all_cases(), ids=str)
def test_a_case_behind_a_proxy_header_is_answered_as_written(case: Case, address: str) -> None:
    play(case, address, Behind(), followed=False)


def said(address: str, data: bytes) -> bytes:
    """Return everything that is answered to `data`."""
    host, port = address.rsplit(":", 1)
    with socket.create_connection((host, int(port)), PATIENCE) as client:
        client.sendall(data)
        client.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: client.recv(65536), b""))


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        b"PROXY TCP4 192.0.2.7 198.51.100.1 5 443\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        BY_TLS[:-1],
        BY_TLS.replace(b"QUIT", b"QUIZ") + b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        SIGNATURE + b"\x21\x11\xff\xff",
        SIGNATURE + b"\x21\x12\0\x0c" + bytes(12) + b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    ],
)
def test_what_is_no_proxy_header_gets_no_word(data: bytes, address: str) -> None:
    assert said(address, data) == b""


@pytest.mark.parametrize(
    ("first", "promised"),
    [
        (BY_TLS, True),
        (proxy_header("2001:db8::9", tls=True), True),
        (proxy_header("192.0.2.7", tls=False), False),
        (proxy_header("192.0.2.7", tls=True, command=LOCAL), False),
    ],
)
@pytest.mark.parametrize("target", ["/", "/stored/a", "/stored/a?", "/dropped", "/%"])
def test_only_clients_by_tls_are_promised_it(
    first: bytes, promised: bool, target: str, address: str
) -> None:
    request = f"GET {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    answer = said(address, first + request.encode())
    assert answer.startswith(b"HTTP/1.1 ")
    assert (b"\r\nStrict-Transport-Security: max-age=1\r\n" in answer) == promised

"""A client that is not a trusted proxy cannot claim another address than its own."""

import socket
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from tests.e2e.program import PATIENCE, Service
from tests.wire.proxy_header import proxy_header

pytestmark = [pytest.mark.sqlite_only("it is about the core"), pytest.mark.forked]

FORGED = "203.0.113.9"
TRUE = "198.51.100.7"
# The address of a stranger who connects directly; loopback is not trusted then.
OWN = "127.0.0.1"
NOBODY = {"COMMENTSVC_SERVER_TRUSTED_PROXIES": "unix"}
PROXY_PROTOCOL = {"COMMENTSVC_SERVER_PROXY_PROTOCOL": "true"}
FIRST_VERSION = f"PROXY TCP4 {FORGED} {TRUE} 5 443\r\n".encode()
PROXY_HEADERS = [
    proxy_header(FORGED, tls=True),
    proxy_header("2001:db8::9", tls=False),
    FIRST_VERSION,
]

ASKED = (
    b"GET /api/client HTTP/1.1\r\nHost: a\r\n"
    + b"".join(
        f"{name}: {FORGED}\r\n".encode()
        for name in ("X-Forwarded-For", "X-Real-IP", "True-Client-IP", "CF-Connecting-IP")
    )
    + f"Forwarded: for={FORGED}\r\n\r\n".encode()
)


def answer(service: Service, said: Iterable[bytes]) -> bytes:
    """Return all bytes that answer the bytes `said` on one connection."""
    with socket.create_connection((OWN, service.port), PATIENCE) as client:
        for data in said:
            client.sendall(data)
        client.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: client.recv(65536), b""))


def statuses(answers: bytes) -> list[str]:
    """Return the status of each answer."""
    return [part[:3].decode() for part in answers.split(b"HTTP/1.1 ")[1:]]


@pytest.mark.parametrize(
    "environ", [NOBODY, NOBODY | PROXY_PROTOCOL], ids=["fields", "proxy header"]
)
def test_a_stranger_cannot_say_who_he_is(
    environ: dict[str, str], data: Path, start: Callable[..., Service]
) -> None:
    service = start(data, environ=environ)
    claims = PROXY_HEADERS[:2] if environ != NOBODY else [b""]
    for claim in claims:
        answers = answer(service, [claim, ASKED * 2])
        assert answers.count(f'"address":"{OWN}"'.encode()) == 2, answers
        assert f'"address":"{FORGED}"'.encode() not in answers


def test_a_client_behind_a_terminator_cannot_speak_for_it(
    data: Path, start: Callable[..., Service]
) -> None:
    """It may send PROXY headers of its own, but only a connection's first bytes are the proxy's."""
    service = start(data, environ=PROXY_PROTOCOL)
    own = proxy_header(TRUE, tls=True)
    answers = answer(service, [own, ASKED])
    assert f'"address":"{TRUE}"'.encode() in answers
    for forged in PROXY_HEADERS:
        assert statuses(answer(service, [own, forged, ASKED])) == ["400"]
        answers = answer(service, [own, ASKED, forged, ASKED])
        assert statuses(answers) == ["200", "400"]
        assert FORGED.encode() not in answers


def test_where_nobody_speaks_for_others_a_proxy_header_is_refused(
    data: Path, start: Callable[..., Service]
) -> None:
    """Even from a peer whose X-Forwarded-For would be believed."""
    service = start(data)
    for forged in PROXY_HEADERS:
        answers = answer(service, [forged, ASKED])
        assert statuses(answers) == ["400"]
        assert FORGED.encode() not in answers
        assert b"\r\nConnection: close\r\n" in answers

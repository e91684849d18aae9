"""`commentsvc doctor` on answers that no real proxy gives. The rest: tests/proxy/test_doctor.py."""

import socket
import ssl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import trustme
from click.testing import CliRunner

from commentsvc.cli.doctor import remote
from commentsvc.cli.doctor.command import doctor
from commentsvc.cli.doctor.remote import ProbeClient, ProbeResponse
from loadtest.harness.running import free_port
from tests.unit.settable_clock import SettableClock

NOW = 1_795_000_000_000  # 2026-11-18T11:06:40Z


class Answering(ProbeClient):
    """A visitor who always gets one answer."""

    def __init__(
        self, body: bytes, status: int = 200, headers: Sequence[tuple[str, str]] = ()
    ) -> None:
        super().__init__("https://c.example/in/", ssl.create_default_context())
        self.seen = ProbeResponse(status, [*headers], body, "192.168.1.5", {})

    def ask(self, *_: object, **__: object) -> ProbeResponse:
        """Return that answer."""
        return self.seen


@pytest.mark.parametrize(
    ("answered", "good"),
    [
        (b'{"time": "2026-11-18T11:06:45Z"}', True),
        (b'{"time": "2026-11-18T11:07:30Z"}', False),
        (b'{"time": "2026-11-18T10:06:40Z"}', False),
        (b'{"time": "soon"}', False),
        (b"<html>", False),
        (b"[]", False),
    ],
)
def test_clocks_that_are_apart_are_found(answered: bytes, good: bool) -> None:
    assert remote.clock(Answering(answered), SettableClock(NOW)).good is good


def test_metrics_that_are_public_are_found() -> None:
    assert remote.monitoring(Answering(b"commentsvc_core_hits_total 1.0")).good is False
    assert remote.monitoring(Answering(b"{}", 404)).good is True


@pytest.mark.parametrize(
    ("day", "good"),
    [("Dec  1 00:00:00", True), ("Nov 20 00:00:00", False), ("Nov  1 00:00:00", False)],
)
def test_a_certificate_that_was_not_renewed_is_found(day: str, good: bool) -> None:
    certificate: dict[str, Any] = {"notAfter": f"{day} 2026 GMT"}  # Any: as ssl gives it
    assert remote.certificate(ProbeResponse(200, [], b"", "", certificate), NOW).good is good


@pytest.mark.parametrize(
    ("answered", "good"),
    [
        ("203.0.113.9", False),  # addresses reserved for documentation are nobody's
        ("93.184.216.34", True),  # behind a router, this machine has another address
        ("192.168.1.5", True),
        ("::ffff:192.168.1.5", True),  # how a proxy with a dual-stack socket writes it
        ("::ffff:172.18.0.1", False),
        ("172.18.0.1", False),
        ("", False),
    ],
)
def test_an_address_that_is_not_the_askers_is_found(answered: str, good: bool) -> None:
    assert remote.address(Answering(f'{{"address": "{answered}"}}'.encode())).good is good


@pytest.mark.parametrize(
    ("status", "body", "match"),
    [
        (502, b"", "does not reach the service"),
        (200, b"Welcome to nginx", "another program answers"),
        (404, b"", r"/in/api/ping returns 404"),
    ],
)
def test_another_answer_than_ours_ends_the_look(status: int, body: bytes, match: str) -> None:
    with pytest.raises(remote.Unreachable, match=match):
        list(remote.examine(Answering(body, status), ()))


@pytest.mark.parametrize(
    "words",
    [
        ["comments.example"],
        ["https://"],
        ["https://comments.example:99999"],
        ["https://[::1"],
        ["https://comments example"],
        ["https://comments.example", "--proxy", "apache"],
        ["https://comments.example", "--plain-port", "0"],
    ],
)
def test_what_cannot_be_examined_is_a_wrong_command_line(words: list[str]) -> None:
    done = CliRunner().invoke(doctor, words)
    assert done.exit_code == 2
    assert "Invalid value" in done.stderr


def test_a_file_without_a_certificate_is_named(tmp_path: Path) -> None:
    file = tmp_path / "ca.pem"
    file.write_text("Dear Ann,")
    done = CliRunner().invoke(doctor, ["https://comments.example", "--ca-file", str(file)])
    assert done.exit_code == 1
    assert f"{file} has no certificate in PEM. Name another file." in done.stderr


def test_where_nobody_answers_it_says_what_to_look_at() -> None:
    done = CliRunner().invoke(doctor, [f"http://127.0.0.1:{free_port()}"])
    assert done.exit_code == 1
    assert "Check that the name leads to this machine" in done.stderr


@contextmanager
def tls_server(context: ssl.SSLContext) -> Iterator[int]:
    """Accept TLS connections; yield the port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection, suppress(OSError), context.wrap_socket(connection, True) as tls:
                    tls.recv(1)

        thread = Thread(target=accept)
        thread.start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def refusal_of(url: str, trust: ssl.SSLContext, there: str = "127.0.0.1") -> str:
    """Return why the service at a URL cannot be examined."""
    with pytest.raises(remote.Unreachable) as info:
        list(remote.examine(remote.ProbeClient(url, trust, there=there), ()))
    return str(info.value)


YEAR = timedelta(days=365)
AUTHORITY = trustme.CA()
HOST = "comments.example"


@pytest.mark.parametrize(
    ("authority", "names", "age", "url", "says"),
    [
        (trustme.CA(), [HOST], -YEAR, HOST, "fullchain.pem). If an authority of your own signed"),
        (AUTHORITY, [HOST], YEAR, HOST, "has expired. Find out why it is not renewed"),
        (AUTHORITY, ["blog.example"], -YEAR, HOST, "Let the proxy serve the certificate of this"),
        (AUTHORITY, [HOST], -YEAR, "127.0.0.1", "Give the name that is in the certificate"),
    ],
)
def test_each_fault_of_a_certificate_has_its_own_advice(
    authority: trustme.CA, names: list[str], age: timedelta, url: str, says: str
) -> None:
    trust, server = ssl.create_default_context(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    AUTHORITY.configure_trust(trust)
    until = datetime.now(UTC) - age
    authority.issue_cert(*names, not_before=until - 2 * YEAR, not_after=until).configure_cert(
        server
    )
    with tls_server(server) as port:
        text = refusal_of(f"https://{url}:{port}", trust)
    assert text.startswith("the certificate is not valid: ")
    assert says in text


def test_a_port_without_tls_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                connection.recv(4096)

        thread = Thread(target=answer)
        thread.start()
        url = f"https://{HOST}:{listener.getsockname()[1]}"
        assert "Check that the port is the one with TLS" in refusal_of(
            url, ssl.create_default_context()
        )
        thread.join()


def test_an_address_that_leads_to_https_names_that_address() -> None:
    """Regression: doctor said that another program answers."""
    there = [("Location", "https://comments.example/sub/api/ping")]
    with pytest.raises(remote.Unreachable, match=r"leads to https://comments\.example/sub: check"):
        list(remote.examine(Answering(b"", 308, there), ()))

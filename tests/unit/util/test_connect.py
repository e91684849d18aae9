"""Of the addresses of a host all are tried, and one that is silent holds nothing up (RFC 8305)."""

import asyncio
import contextlib
import gc
import socket
import time
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from commentsvc.delivery.smtp import Smtp
from commentsvc.inbox import imap
from commentsvc.settings.schema import InboxSettings
from commentsvc.util import connect
from commentsvc.util.http_client import SettingsClient
from commentsvc.util.tls import client_context
from tests.background import background
from tests.unit.delivery.test_smtp import envelope, send
from tests.unit.inbox.imap_server import PASSWORD, imap_server
from tests.unit.mail_server import mail_server, mail_settings
from tests.unit.util.test_http_client import Receiver

LOOPBACK = ("127.0.0.0/8", "::1/128")
REFUSING, SILENT, ANSWERING = "127.0.0.9", "127.0.0.2", "127.0.0.1"


@contextlib.contextmanager
def silent(port: int) -> Iterator[None]:
    """Let nobody connect to SILENT at `port`, nor be refused: its queue is full."""
    with contextlib.ExitStack() as stack:
        full = stack.enter_context(socket.socket())
        full.bind((SILENT, port))
        full.listen(0)
        for _ in range(3):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex((SILENT, port))
        yield


def named(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    """Let every name have these addresses."""
    real = socket.getaddrinfo

    def resolve(host: str, port: int, *rest: Any, **more: Any) -> list[Any]:
        if host[:1].isdigit() or ":" in host:
            return real(host, port, *rest, **more)
        kind = (socket.SOCK_STREAM, socket.IPPROTO_TCP, "")
        return [
            (socket.AF_INET6, *kind, (each, port, 0, 0))
            if ":" in each
            else (socket.AF_INET, *kind, (each, port))
            for each in addresses
        ]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)


UNUSABLE = {"refusing": (REFUSING, ANSWERING), "silent": (SILENT, ANSWERING)} | {
    "of another protocol": ("2001:db8::1", ANSWERING),
    "many": (REFUSING, "127.0.0.8", "127.0.0.7", ANSWERING),
}


@pytest.mark.parametrize("addresses", UNUSABLE.values(), ids=UNUSABLE)
def test_a_hook_arrives_although_the_first_address_is_not_usable(
    monkeypatch: pytest.MonkeyPatch, addresses: tuple[str, ...]
) -> None:
    named(monkeypatch, *addresses)
    networks = (*LOOPBACK, "2001:db8::/32")
    with background(Receiver()) as receiver, silent(receiver.port):
        url = f"http://localhost:{receiver.port}/"
        found = asyncio.run(SettingsClient(networks).post(url, b"{}", {}, deadline=60))
        assert found.status == 200
        assert [headers["Host"] for _, headers, _ in receiver.got] == [f"localhost:{receiver.port}"]


@pytest.mark.parametrize("addresses", UNUSABLE.values(), ids=UNUSABLE)
def test_a_mail_arrives_although_the_first_address_is_not_usable(
    monkeypatch: pytest.MonkeyPatch, addresses: tuple[str, ...]
) -> None:
    async def talk() -> None:
        async with mail_server() as server:
            named(monkeypatch, *addresses)
            with silent(server.port):
                await send(Smtp(mail_settings(server.port), "me.test"), envelope())
        assert server.recipients == ["mo@blog.example"]

    asyncio.run(asyncio.wait_for(talk(), 120))


@pytest.mark.parametrize("addresses", UNUSABLE.values(), ids=UNUSABLE)
def test_a_mailbox_is_read_although_the_first_address_is_not_usable(
    monkeypatch: pytest.MonkeyPatch, addresses: tuple[str, ...]
) -> None:
    monkeypatch.setattr(imap, "CONNECT_DEADLINE", 5.0)
    with imap_server() as server, silent(server.port):
        named(monkeypatch, *addresses)
        settings = InboxSettings(host="localhost", port=server.port, ca_file=server.authority)
        client = imap.opened(settings, client_context(server.authority))
        client.login("me", PASSWORD)
        client.shutdown()


def test_a_silent_address_costs_a_moment_only() -> None:
    async def took() -> float:
        began = time.monotonic()
        (await connect.connect([SILENT, ANSWERING], port)).close()
        return time.monotonic() - began

    with socket.create_server((ANSWERING, 0)) as listener:
        port = listener.getsockname()[1]
        with silent(port):
            # Linux would try for two minutes.
            assert connect.DELAY <= asyncio.run(took()) < 60


def test_an_error_names_each_address_that_was_tried() -> None:
    with socket.create_server((ANSWERING, 0)) as listener:
        port = listener.getsockname()[1]
        addresses = [f"127.0.1.{n}" for n in range(1, 20)]
        with pytest.raises(OSError, match=r"127\.0\.1\.1: Connection refused; 127\.0\.1\.2: ") as e:
            asyncio.run(connect.connect(addresses, port))
        assert str(e.value).count("refused") == connect.ADDRESSES
        with pytest.raises(OSError, match="it has no address"):
            asyncio.run(connect.connect([], port))


def test_both_protocols_take_turns() -> None:
    listed = ["::1", "::2", "::1", "127.0.0.1", "127.0.0.2", "127.0.0.3"]
    wanted = ["::1", "127.0.0.1", "::2", "127.0.0.2", "127.0.0.3"]
    assert connect._alternating(listed) == wanted


def test_no_connection_is_left_open() -> None:
    async def story() -> None:
        (await connect.connect([SILENT, ANSWERING, "127.0.0.3", REFUSING], port)).close()
        waiting = asyncio.create_task(connect.connect([SILENT], port))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        await asyncio.sleep(0.01)

    with socket.create_server((ANSWERING, 0)) as listener:
        port = listener.getsockname()[1]
        with silent(port), warnings.catch_warnings(record=True) as unclosed:
            warnings.simplefilter("always", ResourceWarning)
            asyncio.run(story())
            gc.collect()
    assert not unclosed

"""The service listens at each address of a name; a Unix socket has the rights of the settings."""

import asyncio
import grp
import os
import socket
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from commentsvc import _core
from commentsvc.http import listening
from commentsvc.http.bridge import Bridge
from commentsvc.http.messages import Request, Response
from commentsvc.settings.schema import ServerSettings

LOOPBACK = ("127.0.0.1", "127.0.0.2")


class Hello:
    """Answers everything."""

    def handle(self, _: Request) -> Response:
        return Response(200, (), b"hello")


@contextmanager
def served(**settings: Any) -> Iterator[str]:
    """Serve during the block; yield the address that is shown."""

    async def start() -> Bridge:
        bridge = Bridge(ServerSettings(**settings))
        bridge.serve(Hello())
        return bridge

    with asyncio.Runner() as runner:
        bridge = runner.run(start())
        try:
            yield bridge.address
        finally:
            runner.run(bridge.stop(0))


@contextmanager
def shared(**settings: Any) -> Iterator[str]:
    """As `served`, with the sockets of `serve --processes`."""
    opened = [socket.socket(fileno=n) for n in listening.open_listeners(ServerSettings(**settings))]
    try:
        name = opened[0].getsockname()
        yield name if isinstance(name, str) else f"{name[0]}:{name[1]}"
    finally:
        for each in opened:
            each.close()


@pytest.fixture(params=[served, shared], ids=["one process", "several"])
def serving(request: pytest.FixtureRequest) -> Any:  # Any: one of both
    return request.param


def named(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    """Let `blog.test` have these addresses."""
    real = socket.getaddrinfo

    def resolve(host: str, port: int, *rest: Any, **more: Any) -> list[Any]:
        if host != "blog.test":
            return real(host, port, *rest, **more)
        return [
            (
                socket.AF_INET6 if ":" in each else socket.AF_INET,
                *(socket.SOCK_STREAM, socket.IPPROTO_TCP, ""),
                (each, port, 0, 0) if ":" in each else (each, port),
            )
            for each in addresses
        ]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)


def test_every_address_of_a_name_is_listened_on(
    monkeypatch: pytest.MonkeyPatch, serving: Any
) -> None:
    named(monkeypatch, *LOOPBACK)
    made = _core.Server  # it asks the system, which knows no such name
    monkeypatch.setattr(
        _core, "Server", lambda listen, **o: made(listen.replace("blog.test", "127.0.0.1"), **o)
    )
    with serving(listen="blog.test:0") as shown:
        port = int(shown.rpartition(":")[2])
        for address in LOOPBACK:
            socket.create_connection((address, port), 5).close()


def test_a_protocol_that_the_machine_lacks_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    named(monkeypatch, "2001:db8::1", "127.0.0.1")
    with shared(listen="blog.test:0") as shown:
        assert shown.startswith("127.0.0.1:")
    named(monkeypatch, "2001:db8::1", "192.0.2.1")
    with pytest.raises(OSError, match=r"blog\.test:0") as refused:
        listening.open_listeners(ServerSettings(listen="blog.test:0"))
    assert refused.value.filename == "blog.test:0"


def test_a_name_that_is_not_known_is_told() -> None:
    settings = ServerSettings(listen="blog.invalid:0")
    assert listening.needs_us(settings), "the core would say that the address is missing"
    with pytest.raises(OSError, match="this name is not known"):
        listening.open_listeners(settings)


def test_a_port_that_is_taken_at_one_address_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    named(monkeypatch, *LOOPBACK)
    with socket.create_server((LOOPBACK[1], 0)) as other:
        listen = f"blog.test:{other.getsockname()[1]}"
        with pytest.raises(OSError, match="in use"):
            listening.open_listeners(ServerSettings(listen=listen))


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o000])
@pytest.mark.parametrize(
    ("mode", "group", "wanted"),
    [("660", "", 0o660), ("0666", "", 0o666), ("", "own", 0o660), ("600", "own", 0o600)],
)
def test_a_socket_has_the_mode_and_group_of_the_settings(
    tmp_path: Path, serving: Any, mode: str, group: str, wanted: int, umask: int
) -> None:
    path = tmp_path / "c.sock"
    name = grp.getgrgid(os.getgid()).gr_name if group else ""
    before = os.umask(umask)
    try:
        with serving(listen=f"unix:{path}", socket_mode=mode, socket_group=name):
            found = path.stat()
            assert stat.S_IMODE(found.st_mode) == wanted
            assert found.st_gid == os.getgid()
            with closing(socket.socket(socket.AF_UNIX)) as client:
                client.connect(str(path))
    finally:
        os.umask(before)


def test_a_socket_of_the_service_is_removed_when_it_stops(tmp_path: Path) -> None:
    path = tmp_path / "c.sock"
    for _ in range(2):
        with served(listen=f"unix:{path}", socket_mode="660"):
            assert path.is_socket()
        assert not path.exists()


def test_a_group_that_is_not_there_is_told_and_leaves_no_socket(tmp_path: Path) -> None:
    path = tmp_path / "c.sock"
    settings = ServerSettings(listen=f"unix:{path}", socket_group="no-such-group")
    with pytest.raises(OSError, match=r"no group no-such-group \(server\.socket_group\)"):
        listening.open_listeners(settings)
    assert not path.exists()


def test_a_file_is_not_taken_for_an_old_socket(tmp_path: Path) -> None:
    path = tmp_path / "c.sock"
    path.write_text("precious")
    with pytest.raises(FileExistsError):
        listening.open_listeners(ServerSettings(listen=f"unix:{path}"))
    assert path.read_text() == "precious"

"""loadtest/peer.py and loadtest/running.py: the other servers, what they answer, and their end."""

import json
import os
import shutil
import socket
import sys
from pathlib import Path

import pytest

from loadtest.harness.programs import MissingError
from loadtest.harness.running import Running, free_port
from loadtest.harness.service import ServiceError, Visitor
from loadtest.servers import peer
from loadtest.servers.peer import PEER, Answer
from tests.conftest import cannot_run

CORES = os.sched_getaffinity(0)
OURS = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nAccess-Control-Allow-Origin: *\r\n"
    b'ETag: "0123456789abcdef"\r\nContent-Length: 12\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\n\r\n'
    b'{"count":42}'
)


@pytest.fixture
def answer(tmp_path: Path) -> Answer:
    return Answer.write(OURS, tmp_path)


def test_an_answer_is_written_without_what_servers_write_themselves(answer: Answer) -> None:
    assert answer.raw.read_bytes() == OURS
    assert json.loads(answer.json.read_text()) == {
        "fields": [
            ["Content-Type", "application/json"],
            ["Access-Control-Allow-Origin", "*"],
            ["ETag", '"0123456789abcdef"'],
        ],
        "body": '{"count":42}',
    }


@pytest.mark.parametrize("name", ["baseline", "bridge", "nginx"])
def test_a_peer_gives_our_answer_until_it_is_ended(
    name: str, answer: Answer, tmp_path: Path
) -> None:
    """Those that need no registry."""
    port = free_port()
    try:
        words = PEER[name](port, answer)
    except MissingError as reason:
        cannot_run(str(reason))
    with Running(words, port, tmp_path / "log", CORES) as server:
        visitor = Visitor(port)
        for _ in range(3):
            assert visitor.get("/api/comments/count?url=/post/1/") == b'{"count":42}'
        visitor.close()
        assert server.cpu() >= 0
        assert server.rss() > 0.5
    with pytest.raises(OSError, match="refused"):
        Visitor(port).get("/")


def test_the_end_of_a_server_is_that_of_its_children(tmp_path: Path) -> None:
    """Report: a port was still open after its server had been ended."""
    for _ in range(5):
        port = free_port()
        child = f"import signal, socket; s = socket.create_server(('', {port})); signal.pause()"
        words = ["sh", "-c", f'{sys.executable} -c "{child}" & wait']
        with Running(words, port, tmp_path / "log", CORES):
            pass
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port))


def test_a_server_that_does_not_start_says_why(tmp_path: Path) -> None:
    with pytest.raises(ServiceError, match="no such answer"):
        Running(["sh", "-c", "echo no such answer >&2"], free_port(), tmp_path / "log", CORES)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nginx", "apt-get install -y nginx-light"),
        ("japronto", "pyenv install 3.6.15"),
        ("hyper", "rustup"),
        ("libreactor", "pkg-config"),
    ],
)
def test_an_absent_peer_says_what_to_do(
    name: str, message: str, answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    monkeypatch.setattr(peer, "PYTHON36", ("no-such-python",))
    monkeypatch.setenv("PKG_CONFIG_LIBDIR", "/nowhere")
    monkeypatch.delenv("PKG_CONFIG_PATH", raising=False)
    with pytest.raises(MissingError, match=message):
        PEER[name](1, answer)


def test_an_environment_that_cannot_be_made_tells_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peer, "BUILD", tmp_path)
    with pytest.raises(MissingError, match="other cannot be built"):
        peer.environment("other", "false", ("nothing",))

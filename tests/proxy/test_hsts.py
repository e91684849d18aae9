"""Strict-Transport-Security in a real browser that trusts the test's certificate authority.

A browser that is told to ignore certificate errors stores no such policy, so the test would prove
nothing. Therefore the authority is put into a certificate database in Chromium's own home folder.
"""

import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from socketserver import BaseRequestHandler, ThreadingTCPServer

import pytest
from playwright.sync_api import Browser, Playwright

from tests.background import background
from tests.conftest import FLAGS, chromium_program, find_program
from tests.proxy.client import Client
from tests.proxy.proxies import HOST

TARGET = f"{HOST}/api/comments/count?url=/post/"


class Gate(ThreadingTCPServer):
    """Forwards requests to `port` of this machine, and counts them."""

    daemon_threads = True

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", 0), Passing)
        self.port = int(self.server_address[1])
        self.target = port
        self.passed = 0


class Passing(BaseRequestHandler):
    """Forwards one request, and its answer. A browser may connect without sending a request."""

    def handle(self) -> None:
        """Forward the request."""
        assert isinstance(self.server, Gate)
        if request := self.request.recv(65536):
            self.server.passed += 1
            with closing(socket.create_connection(("127.0.0.1", self.server.target))) as proxy:
                proxy.sendall(request)
                self.request.sendall(proxy.recv(65536))


@pytest.fixture
def gate(front: Client) -> Iterator[Gate]:
    """Return the server that the browser takes for the host's port 80."""
    with background(Gate(front.values.http)) as gate:
        yield gate


@contextmanager
def browser_of(home: Path, playwright: Playwright, authority: str, rules: str) -> Iterator[Browser]:
    """Start a browser with its own home folder, in which it trusts the authority."""
    program = chromium_program(playwright)
    certutil, database = find_program("certutil"), home / ".pki/nssdb"
    database.mkdir(parents=True)
    for words in (["-N", "--empty-password"], ["-A", "-t", "C,,", "-n", "ca", "-i", authority]):
        subprocess.run([certutil, "-d", f"sql:{database}", *words], check=True)
    flags = [*FLAGS, f"--host-resolver-rules={rules}"]
    environ: dict[str, str | float | bool] = {**os.environ, "HOME": str(home)}
    browser = playwright.chromium.launch(executable_path=program, args=flags, env=environ)
    yield browser
    browser.close()


@pytest.mark.parametrize("front", ["nginx", "hitch"], indirect=True)  # HTTP proxy, TLS terminator
def test_a_browser_that_came_by_https_never_asks_by_http_again(
    front: Client, gate: Gate, playwright: Playwright, authority_file: str, tmp_path: Path
) -> None:
    rules = f"MAP {HOST}:80 127.0.0.1:{gate.port},MAP {HOST}:443 127.0.0.1:{front.values.https}"
    with browser_of(tmp_path, playwright, authority_file, rules) as browser:
        page = browser.new_page()
        chains = []
        for _ in range(2):
            answer = page.goto(f"http://{TARGET}")
            assert answer
            assert (answer.url, answer.json()) == (f"https://{TARGET}", {"count": 0})
            before = answer.request.redirected_from
            assert before
            redirect = before.response()
            assert redirect
            chains.append((redirect.status, redirect.header_value("non-authoritative-reason")))
    assert chains == [(308, None), (307, "HSTS")]
    assert gate.passed == 1

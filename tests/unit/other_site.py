"""Another website, on a local port: tests set its pages and see what was requested."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

import pytest

from commentsvc.util import http_client
from tests.background import background


class Page(NamedTuple):
    body: str | bytes = ""
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    type: str = "text/html"
    endless: bool = False
    slow: float = 0.0


class OtherSite(ThreadingHTTPServer):
    """The server: `pages` by path, or `otherwise`.

    `got` has the path, header fields and body of each request.
    """

    daemon_threads = True

    def __init__(self, host: str) -> None:
        super().__init__((host, 0), _Handler)
        self.pages: dict[str, Page] = {}
        self.otherwise = Page("nothing here", 404)
        self.got: list[tuple[str, str, dict[str, str], bytes]] = []
        self.stopping = False

    def url(self, path: str = "/") -> str:
        return f"http://{self.server_address[0]!s}:{self.server_address[1]}{path}"

    def asked(self, method: str = "GET") -> list[str]:
        return [path for each, path, _, _ in self.got if each == method]


class _Handler(BaseHTTPRequestHandler):
    server: OtherSite

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.got.append((self.command, self.path, dict(self.headers), body))
        page = self.server.pages.get(self.path, self.server.otherwise)
        content = page.body.encode() if isinstance(page.body, str) else page.body
        deadline = time.monotonic() + page.slow
        while time.monotonic() < deadline and not self.server.stopping:
            time.sleep(0.01)
        self.send_response(page.status)
        self.send_header("Content-Type", page.type)
        for name, value in page.headers:
            self.send_header(name, value)
        if not page.endless:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        try:
            self.wfile.write(content)
            while page.endless and not self.server.stopping:
                self.wfile.write(content)
        except OSError:
            pass

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def other_site(host: str = "127.0.0.1") -> Iterator[OtherSite]:
    """Yield a running site; strangers may name it, if the settings allow its network."""
    with pytest.MonkeyPatch.context() as patch, background(OtherSite(host)) as server:
        patch.setattr(http_client, "STRANGER_PORTS", range(1, 65_536))
        patch.setattr(http_client, "is_local", lambda _address: False)
        try:
            yield server
        finally:
            server.stopping = True

"""A client of a proxy: HTTP/1.1 over verified TLS, from an IP address of its choice."""

import http.client
import json
import socket
import ssl
from typing import NamedTuple

from loadtest.proxies.configs import ProxyValues
from tests.e2e.program import PATIENCE, Answer
from tests.proxy.proxies import HOST


class TlsConnection(http.client.HTTPSConnection):
    """HTTPS to a local port, whatever the host name, from the IP address `source`."""

    def __init__(self, host: str, port: int, trust: ssl.SSLContext, source: str = "") -> None:
        super().__init__(host, timeout=PATIENCE, context=trust)
        self._there, self._source, self._trust = ("127.0.0.1", port), source, trust
        self.session: ssl.SSLSession | None = None

    def connect(self) -> None:
        """Connect, and resume `session` if there is one."""
        bare = socket.create_connection(self._there, PATIENCE, (self._source, 0))
        self.sock = self._trust.wrap_socket(bare, server_hostname=self.host, session=self.session)


class Client(NamedTuple):
    """A client of the proxy at a place, with an IP address in a network of its own."""

    values: ProxyValues
    trust: ssl.SSLContext
    source: str = "127.0.0.1"

    def connection(self, host: str = HOST) -> TlsConnection:
        """Return a connection, which connects at its first request."""
        return TlsConnection(host, self.values.https, self.trust, self.source)

    def ask(
        self, method: str, target: str, body: bytes = b"", host: str = HOST, **headers: str
    ) -> Answer:
        """Send one request over HTTPS on a new connection."""
        return _ask(self.connection(host), method, target, body, headers)

    def ask_plainly(self, target: str, host: str = HOST) -> Answer:
        """Send a GET request over plain HTTP."""
        there = http.client.HTTPConnection("127.0.0.1", self.values.http, timeout=PATIENCE)
        return _ask(there, "GET", target, b"", {"Host": host})

    def submit(self, url: str, prefix: str = "", host: str = HOST, **headers: str) -> Answer:
        """Submit a comment as the widget does."""
        body = json.dumps({"url": url, "author": "Ann", "message": f"Well said, {url}"}).encode()
        headers["Content_Type"] = "application/json"
        return self.ask("POST", f"{prefix}/api/comments", body, host, **headers)


def _ask(
    connection: http.client.HTTPConnection,
    method: str,
    target: str,
    body: bytes,
    headers: dict[str, str],
) -> Answer:
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        connection.request(method, target, body or None, fields)
        response = connection.getresponse()
        fields = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, fields, response.read())
    finally:
        connection.close()

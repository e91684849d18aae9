"""A headless browser for the moderation pages: it signs in, keeps cookies, sends forms."""

import re
from collections.abc import Mapping
from http.client import HTTPConnection
from typing import NamedTuple
from urllib.parse import urlencode

PATIENCE = 30.0  # seconds for an answer
_TOKEN = re.compile(rb'name="csrf_token" value="([0-9a-f]+)"')


class Shown(NamedTuple):
    """An answer: its status, its redirect ("" for none), and its page."""

    status: int
    location: str
    page: bytes


class AdminBrowser:
    """A browser; `token` is the CSRF token of the last page's forms."""

    def __init__(self, port: int) -> None:
        """Take the port of a server on this machine."""
        self._connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        self._cookies: dict[str, str] = {}
        self.token = ""

    @property
    def cookie(self) -> str:
        """Return the Cookie field."""
        return "; ".join(f"{name}={value}" for name, value in self._cookies.items())

    def sign_in(self, name: str, password: str) -> None:
        """Sign in to an account that exists. Raise AssertionError if that fails."""
        self.get("sign-in")
        shown = self.post("sign-in", {"name": name, "password": password, "to": "account"})
        assert shown.status == 303, shown
        self.get("account")

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def get(self, page: str) -> Shown:
        """Return a page below /moderation."""
        shown = self._ask("GET", page, None, {"Sec-Fetch-Site": "none"})
        if found := _TOKEN.search(shown.page):
            self.token = found[1].decode()
        return shown

    def post(self, page: str, fields: Mapping[str, object]) -> Shown:
        """Send a form; a field may have several values."""
        body = urlencode({"csrf_token": self.token, **fields}, doseq=True).encode()
        headers = {
            "Sec-Fetch-Site": "same-origin",
            "Content-Type": "application/x-www-form-urlencoded",
        }
        return self._ask("POST", page, body, headers)

    def _ask(self, method: str, page: str, body: bytes | None, headers: dict[str, str]) -> Shown:
        if self._cookies:
            headers["Cookie"] = self.cookie
        self._connection.request(method, f"/moderation/{page}", body, headers)
        response = self._connection.getresponse()
        for name, value in response.getheaders():
            if name == "Set-Cookie":
                key, _, kept = value.partition(";")[0].partition("=")
                self._cookies[key] = kept
        return Shown(response.status, response.getheader("Location") or "", response.read())

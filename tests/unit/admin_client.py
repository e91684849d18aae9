"""A moderator's browser, simulated: it keeps cookies, reads forms and sends them."""

import re
from collections.abc import Mapping
from urllib.parse import urlencode

from nacl.pwhash import argon2id

from commentsvc.auth import accounts
from commentsvc.http.messages import Response
from tests.unit.app_fixture import NOW, Served

PASSWORD = "correct horse battery"
# A hash that is checked in no time.
HASH = argon2id.str(PASSWORD.encode(), argon2id.OPSLIMIT_MIN, argon2id.MEMLIMIT_MIN).decode()
AGENT = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


def header(response: Response, name: str) -> str:
    """Return the first header field of that name."""
    return next(value for given, value in response.headers if given == name)


def text(response: Response) -> str:
    """Return the HTML of a page after checking that it has the headers every page must have."""
    fields = dict(response.headers)
    assert fields["Content-Type"] == "text/html; charset=utf-8"
    assert fields["Cache-Control"] == "no-store"
    assert "default-src 'none'" in fields["Content-Security-Policy"]
    assert not response.tags
    return response.body.decode()


class Seat:
    """One browser with the IP address `peer`. It keeps the cookies that it is sent."""

    def __init__(self, service: Served, peer: str = "192.0.2.1") -> None:
        self.service = service
        self.peer = peer
        self.cookies: dict[str, str] = {}
        self._token: tuple[dict[str, str], str] | None = None

    def get(self, page: str, **headers: str) -> Response:
        """Request a page below /moderation."""
        return self._ask("GET", page, b"", {"sec_fetch_site": "none", **headers})

    def post(self, page: str, fields: Mapping[str, object], **headers: str) -> Response:
        """Send a form as a page of ours does, with exactly these fields."""
        sent = {"sec_fetch_site": "same-origin", "origin": "null"}
        sent["content_type"] = "application/x-www-form-urlencoded"
        return self._ask("POST", page, urlencode(fields, doseq=True).encode(), sent | headers)

    def send(self, page: str, /, **fields: object) -> Response:
        """Send a form together with its CSRF token."""
        return self.post(page, {"csrf_token": self.csrf_token(), **fields})

    def csrf_token(self) -> str:
        """Return the CSRF token in the forms of the pages that were shown with these cookies."""
        if self._token and self._token[0] == self.cookies:
            return self._token[1]
        page = self.get("sign-in")
        if page.status == 303:
            page = self.get(header(page, "Location"))
        found = re.search(r'name="csrf_token" value="([0-9a-f]+)"', text(page))
        assert found
        self._token = dict(self.cookies), found[1]
        return found[1]

    def sign_in(self, name: str = "ann", password: str = PASSWORD, to: str = "") -> Response:
        """Sign in with the form."""
        return self.send("sign-in", name=name, password=password, to=to)

    def is_signed_in(self) -> bool:
        """Return whether the browser is shown a page for moderators."""
        return self.get("account").status == 200

    def _ask(self, method: str, page: str, body: bytes, headers: Mapping[str, str]) -> Response:
        fields = {"host": "comments.example", "user_agent": AGENT, **headers}
        if self.cookies:
            fields.setdefault("cookie", "; ".join(f"{n}={v}" for n, v in self.cookies.items()))
        answer = self.service.ask(method, f"/moderation/{page}", body, self.peer, **fields)
        for name, value in answer.headers:
            if name == "Set-Cookie":
                cookie, *attributes = value.split("; ")
                assert {"Path=/", "Secure", "HttpOnly", "SameSite=Strict"} <= {*attributes}
                key, _, kept = cookie.partition("=")
                assert key.startswith("__Host-")
                self.cookies[key] = kept
        return answer


def employ(service: Served, name: str = "ann") -> None:
    """Make an account whose password is PASSWORD."""
    service.database.write_now(accounts.add, name, HASH, int(NOW * 1_000))


def seated(service: Served, name: str = "ann") -> Seat:
    """Return a browser that is signed in to a new account."""
    employ(service, name)
    seat = Seat(service)
    assert seat.sign_in(name).status == 303
    return seat

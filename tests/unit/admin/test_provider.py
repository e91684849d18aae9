"""Signing in with OpenID Connect, at a provider that may lie."""

import base64
import hashlib
import hmac
import json
import re
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, parse_qsl, quote, urlencode, urlsplit

import pytest
from joserfc import jwk, jwt
from msgspec.structs import replace

from commentsvc import outbox
from commentsvc.auth import account_mails, accounts, oidc
from commentsvc.auth.identities import account_of
from commentsvc.auth.oidc import Identity
from commentsvc.http.messages import Response
from commentsvc.moderation import profiles
from commentsvc.outbox import MailAddress
from commentsvc.settings.schema import HooksSettings, OidcSettings
from tests.unit.admin_client import HASH, PASSWORD, Seat, employ, header, text
from tests.unit.app_fixture import NOW, SETTINGS, Served, served

CLIENT, SECRET = "comments", "a secret: of ours"
KEYS = {name: jwk.ECKey.generate_key("P-256", {"kid": name}) for name in ("one", "two")}


class LyingProvider(ThreadingHTTPServer):
    """A provider on this machine. What a test sets is sent in place of the true value."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Requests)
        self.issuer = f"http://127.0.0.1:{self.server_port}/id"
        self.key = "one"
        self.claims: dict[str, object] = {}
        self.userinfo: dict[str, object] = {}
        self.metadata: dict[str, object] = {}
        self.header: dict[str, Any] = {"alg": "ES256"}  # Any: as joserfc has it
        self.token = ""
        self.asked: dict[str, str] = {}
        self.paths: list[str] = []

    def authorize(self, address: str) -> dict[str, str]:
        """Sign in a user who was redirected there; return the parameters of the redirect back."""
        assert address.startswith(f"{self.issuer}/authorize?")
        self.asked = dict(parse_qsl(urlsplit(address).query))
        assert self.asked["response_type"] == "code"
        assert self.asked["client_id"] == CLIENT
        assert self.asked["code_challenge_method"] == "S256"
        assert "openid" in self.asked["scope"].split()
        return {"code": "a code", "state": self.asked["state"]}

    def id_token(self) -> str:
        claims = {
            "iss": self.issuer,
            "sub": "somebody",
            "aud": CLIENT,
            "iat": int(NOW),
            "exp": int(NOW) + 300,
            "nonce": self.asked["nonce"],
            "email": "Mo@blog.example",
            "email_verified": True,
        } | self.claims
        sent = {name: value for name, value in claims.items() if value is not None}
        key = KEYS[self.key]
        return self.token or jwt.encode({**self.header, "kid": self.key}, sent, key)

    def answer(self, path: str, form: Mapping[str, list[str]], authorization: str) -> object:
        if path == "/id/.well-known/openid-configuration":
            addresses = {
                f"{name}_endpoint": f"{self.issuer}/{name}"
                for name in ("authorization", "token", "userinfo")
            }
            addresses["authorization_endpoint"] = f"{self.issuer}/authorize"
            sent = {"issuer": self.issuer, "jwks_uri": f"{self.issuer}/keys", **addresses}
            return sent | self.metadata
        if path == "/id/keys":
            return {"keys": [{"kty": "OKP"}, KEYS[self.key].as_dict(private=False)]}
        if path == "/id/userinfo":
            assert authorization == "Bearer an access token"
            return self.userinfo
        assert path == "/id/token"
        self.check(form, authorization)
        return {"id_token": self.id_token(), "access_token": "an access token"}

    def check(self, form: Mapping[str, list[str]], authorization: str) -> None:
        """Check that the client that sends the code is the one that requested it."""
        digest = hashlib.sha256(form["code_verifier"][0].encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        assert challenge == self.asked["code_challenge"]
        assert form["redirect_uri"] == [self.asked["redirect_uri"]]
        assert form["code"] == ["a code"]
        pair = f"{quote(CLIENT)}:{quote(SECRET)}".encode()
        assert authorization == f"Basic {base64.b64encode(pair).decode()}"


class Requests(BaseHTTPRequestHandler):
    """The provider's HTTP endpoints."""

    server: LyingProvider

    def do_GET(self) -> None:
        self._tell({})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self._tell(parse_qs(body.decode()))

    def _tell(self, form: Mapping[str, list[str]]) -> None:
        self.server.paths.append(self.path)
        sent = self.server.answer(self.path, form, self.headers.get("Authorization", ""))
        body = json.dumps(sent).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Do not log."""


@pytest.fixture
def provider() -> Iterator[LyingProvider]:
    with LyingProvider() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def service(tmp_path: Path, provider: LyingProvider) -> Iterator[Served]:
    settings = replace(
        SETTINGS,
        oidc=OidcSettings(
            issuer=provider.issuer, client_id=CLIENT, client_secret=SECRET, name="Our Id"
        ),
        hooks=HooksSettings(allowed_networks=("127.0.0.0/8",)),
    )
    with served(tmp_path, settings) as service:
        employ(service, "mo")
        profile = service.database.read_now(profiles.named, "mo")
        service.database.write_now(profiles.verify, profile, "mo@blog.example")
        yield service


def go(seat: Seat, provider: LyingProvider) -> dict[str, str]:
    """Follow the link of the sign-in page, and sign in at the provider."""
    found = re.search(r'href="(provider\?to=[^"]*)"', text(seat.get("sign-in?to=account")))
    assert found
    return provider.authorize(header(seat.get(found[1]), "Location"))


def come_back(seat: Seat, given: Mapping[str, str]) -> Response:
    return seat.get(f"provider-return?{urlencode(given)}")


def test_who_is_known_to_the_provider_is_signed_in(
    service: Served, provider: LyingProvider
) -> None:
    seat = Seat(service)
    assert "Sign in with Our Id" in text(seat.get("sign-in"))
    answer = come_back(seat, go(seat, provider))
    assert (answer.status, header(answer, "Location")) == (303, "account")
    assert "Account of mo" in text(seat.get("account"))
    assert provider.asked["redirect_uri"] == ("https://comments.example/moderation/provider-return")


def test_the_browser_comes_back_without_its_cookie_and_asks_again(
    service: Served, provider: LyingProvider
) -> None:
    seat = Seat(service)
    given = go(seat, provider)
    kept = dict(seat.cookies)
    again = seat.get(f"provider-return?{urlencode(given)}", sec_fetch_site="cross-site", cookie="")
    assert header(again, "Refresh") == "0"
    assert seat.cookies == kept
    assert come_back(seat, given).status == 303


def test_without_a_provider_in_the_settings_there_is_none(tmp_path: Path) -> None:
    with served(tmp_path) as service:
        seat = Seat(service)
        assert "provider" not in text(seat.get("sign-in"))
        assert seat.get("provider").status == 404


def test_who_has_set_up_an_app_is_asked_for_a_code(
    service: Served, provider: LyingProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("commentsvc.auth.two_factor.is_on", lambda *_: True)
    seat = Seat(service)
    answer = come_back(seat, go(seat, provider))
    assert 'name="step"' in text(answer)
    assert not seat.is_signed_in()


HOSTILE: list[dict[str, Any]] = [
    {"claims": {"iss": "https://other.example"}},
    {"claims": {"iss": None}},
    {"claims": {"aud": "another client"}},
    {"claims": {"aud": [CLIENT, "another client"]}},  # without azp
    {"claims": {"nonce": "of another sign-in"}},
    {"claims": {"nonce": None}},
    {"claims": {"exp": int(NOW) - 61}},
    {"claims": {"exp": None}},
    {"claims": {"iat": int(NOW) + 3_600}},
    {"claims": {"sub": None}},
    {"claims": {"sub": ""}},
    {"claims": {"sub": 5}},
    {"claims": {"sub": ["somebody"]}},
    {"claims": {"email_verified": 1}},
    {"claims": {"email_verified": "True"}},
    {"claims": {"email_verified": [True]}},
    {"claims": {"email": ["mo@blog.example"]}},
    {"claims": {"nonce": ""}},
    {"claims": {"email_verified": False}},
    {"claims": {"email_verified": None}},
    {"claims": {"email": "nobody@blog.example"}},
    {"claims": {"email": "", "sub": "x" * 3_000}},
    {"claims": {"sub": "some\0body"}},
    # What is verified is another address, which only the provider knows.
    *(
        {
            "claims": {"email": None, "email_verified": True},
            "userinfo": {"sub": "somebody", "email": "mo@blog.example"} | said,
        }
        for said in ({}, {"email_verified": False})
    ),
    {"token": "no.token.at-all"},
    {"token": "no token at all"},
    {"metadata": {"issuer": "https://other.example"}},
    {"metadata": {"token_endpoint": 5}},
    {"metadata": {"userinfo_endpoint": "ftp://id.example/userinfo"}},
    {"metadata": {"authorization_endpoint": "httpx://id.example/authorize"}},
]


@pytest.mark.sqlite_only("it is about what the provider says")
@pytest.mark.parametrize("lies", HOSTILE, ids=str)
def test_what_is_not_right_signs_nobody_in(
    service: Served, provider: LyingProvider, lies: dict[str, Any]
) -> None:
    seat = Seat(service)
    for name, value in lies.items():
        setattr(provider, name, value)
    if "metadata" in lies:
        assert seat.get("provider").status == 502
        return
    answer = come_back(seat, go(seat, provider))
    assert answer.status == 403
    assert "Our Id did not sign you in" in text(answer)
    assert not seat.is_signed_in()


def test_strangers_cannot_flood_a_provider_that_fails_nor_the_log(
    service: Served, provider: LyingProvider, caplog: pytest.LogCaptureFixture
) -> None:
    seat, asked = Seat(service), "/id/.well-known/openid-configuration"
    provider.metadata = {"issuer": "https://other.example"}
    assert [seat.get("provider").status for _ in range(5)] == [502] * 5
    assert (provider.paths.count(asked), len(caplog.messages)) == (1, 1)
    provider.metadata = {}
    service.clock.elapsed += oidc.PAUSE
    assert seat.get("provider").status == 303
    assert service.ask("GET", "/moderation/provider", host="[]").status == 303


@pytest.mark.parametrize("algorithm", ["none", "HS256", "ES256"])
def test_a_token_that_no_key_of_the_provider_signed_signs_nobody_in(
    service: Served, provider: LyingProvider, algorithm: str
) -> None:
    """HS256 with the public key as the secret is accepted by careless libraries."""
    seat = Seat(service)
    given = go(seat, provider)
    claims = jwt.decode(provider.id_token(), KEYS["one"], algorithms=["ES256"]).claims
    if algorithm == "ES256":
        provider.token = jwt.encode({"alg": algorithm, "kid": "one"}, claims, KEYS["two"])
    else:
        parts = [json.dumps(each).encode() for each in ({"alg": algorithm}, claims)]
        signed = b".".join(base64.urlsafe_b64encode(part).rstrip(b"=") for part in parts)
        known = KEYS["one"].as_pem(private=False)
        digest = hmac.digest(known, signed, "sha256") if algorithm == "HS256" else b""
        last = base64.urlsafe_b64encode(digest).rstrip(b"=")
        provider.token = b".".join((signed, last)).decode()
    assert come_back(seat, given).status == 403
    assert not seat.is_signed_in()


def test_keys_that_the_provider_changed_are_fetched_again(
    service: Served, provider: LyingProvider
) -> None:
    for key in ("one", "one", "two"):
        provider.key = key
        seat = Seat(service)
        assert come_back(seat, go(seat, provider)).status == 303
    assert provider.paths.count("/id/keys") == 2
    assert provider.paths.count("/id/.well-known/openid-configuration") == 1


def test_a_state_is_for_one_browser_ten_minutes_and_once(
    service: Served, provider: LyingProvider
) -> None:
    seat, thief = Seat(service), Seat(service, "198.51.100.7")
    thief.get("sign-in")
    given = go(seat, provider)
    assert come_back(thief, given).status == 403
    assert come_back(seat, given | {"state": given["state"][:-2]}).status == 403
    assert come_back(seat, given).status == 303
    assert come_back(seat, given).status == 403
    late = go(thief, provider)
    service.clock.moment += 10 * 60 * 1_000
    assert come_back(thief, late).status == 403


def test_a_provider_that_refuses_is_told_of(service: Served, provider: LyingProvider) -> None:
    seat = Seat(service)
    given = go(seat, provider)
    answer = come_back(seat, {"state": given["state"], "error": "access_denied"})
    assert answer.status == 403
    assert "/id/token" not in provider.paths


def test_the_address_may_be_in_the_users_information(
    service: Served, provider: LyingProvider
) -> None:
    provider.claims = {"email": None, "email_verified": None}
    provider.userinfo = {"sub": "other", "email": "mo@blog.example", "email_verified": True}
    seat = Seat(service)
    assert come_back(seat, go(seat, provider)).status == 403
    provider.userinfo["sub"] = "somebody"
    assert come_back(seat, go(seat, provider)).status == 303


def test_an_account_stays_with_who_came_first(service: Served) -> None:
    """Some day the provider may give the address to somebody else."""

    def found(subject: str, email: str) -> str:
        identity = Identity("https://id.example", subject, email, "")
        account, _is_new = service.database.write_now(account_of, identity, 1)
        return account.name if account else ""

    assert found("other", "") == ""
    assert found("somebody", "MO@blog.example") == "mo"
    assert found("somebody", "new@blog.example") == "mo"
    assert found("somebody", "") == "mo"
    assert found("other", "mo@blog.example") == ""


@pytest.mark.parametrize(
    ("own", "sent", "opens"),
    [
        ("mo@blog.example", "mo@blog.example", True),
        ("mo@blog.example", "MO@BLOG.example", True),
        ("mo@bücher.example", "mo@xn--bcher-kva.example", True),
        ("mo@xn--bcher-kva.example", "mo@BÜCHER.example", True),
        ("mo@faß.example", "mo@fass.example", False),
        (
            "mike@blog.example",
            "mi\u212ae@blog.example",
            False,
        ),  # KELVIN SIGN, which is k in lower case
        ("mike@blog.example", "m\u0131ke@blog.example", False),
        ("straße@blog.example", "strasse@blog.example", False),
        ("mo@blog.example", "mo@blog.example.", True),
        ("mo@blog.example", "mo+x@blog.example", False),
        ("mo+x@blog.example", "mo@blog.example", False),
        ("mo@blog.example", "m.o@blog.example", False),
        ("mo@blog.example", "mo@else.example", False),
        ("mo@blog.example", "x@mo@blog.example", False),
        ("mo@blog.example", "@blog.example", False),
        ("mo@blog.example", "mo", False),
        ("mo@blog.example", "", False),
    ],
)
def test_a_provider_opens_the_account_of_that_mailbox_only(
    service: Served, own: str, sent: str, opens: bool
) -> None:
    profile = service.database.read_now(profiles.named, "mo")
    service.database.write_now(profiles.verify, profile, own)
    identity = Identity("https://id.example", "somebody", sent, "")
    account, is_new = service.database.write_now(account_of, identity, 1)
    assert (account is not None, is_new) == (opens, opens)


def test_a_provider_opens_no_account_whose_address_is_not_confirmed(
    service: Served, provider: LyingProvider
) -> None:
    """An attacker gives the account another address, in each way that does not prove it."""
    database = service.database

    def answered() -> int:
        seat = Seat(service)
        return come_back(seat, go(seat, provider)).status

    provider.claims["email"] = "thief@else.example"
    mo = database.read_now(profiles.named, "mo")
    database.write_now(profiles.save, replace(mo, email="thief@else.example"))
    assert answered() == 403
    database.write_now(account_mails.ask, mo.id, MailAddress("thief@else.example"), 1)
    assert answered() == 403
    database.write_now(profiles.verify, mo, "thief@else.example")
    database.write_now(accounts.set_password, "mo", HASH)
    assert answered() == 403, "a new password ends that too, before the first sign-in"
    database.write_now(profiles.verify, mo, "thief@else.example")
    assert answered() == 303


def test_a_removed_identity_opens_nothing_until_the_address_is_confirmed_again(
    service: Served, provider: LyingProvider
) -> None:
    seat = Seat(service)
    assert come_back(seat, go(seat, provider)).status == 303
    [which] = re.findall(r'name="remove" value="(identity\.\d+)"', text(seat.get("account")))
    assert seat.send("credentials", remove=which, password=PASSWORD).status == 303
    other = Seat(service)
    assert come_back(other, go(other, provider)).status == 403
    profile = service.database.read_now(profiles.named, "mo")
    assert profile.is_verified, "answers by mail count as before"
    service.database.write_now(profiles.verify, profile, profile.email)
    assert come_back(other, go(other, provider)).status == 303


def test_a_new_identity_is_mailed_to_the_account_once(
    service: Served, provider: LyingProvider
) -> None:
    for _ in range(2):
        seat = Seat(service)
        assert come_back(seat, go(seat, provider)).status == 303
    [row] = service.database.read_now(outbox.listing, "queued", 1 << 62, 9)
    assert (row.kind, row.recipient) == (account_mails.IDENTITY, "mo@blog.example")

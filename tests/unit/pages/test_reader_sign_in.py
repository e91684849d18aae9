"""Signing in of readers: the three ways, what it allows, and what nobody gets by lying."""

import base64
import hmac
import json
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from email.message import EmailMessage
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import pytest
from joserfc import jwt
from joserfc.jwk import OctKey
from msgspec.structs import replace

from commentsvc.auth import blog_tokens
from commentsvc.delivery.mail import MailComposer
from commentsvc.http.messages import Response
from commentsvc.moderation import retention
from commentsvc.readers import accounts
from commentsvc.settings.schema import (
    HooksSettings,
    MailSettings,
    OidcSettings,
    ServerSettings,
    Site,
)
from tests.background import background
from tests.conftest import find_program
from tests.unit.admin.test_provider import CLIENT, LyingProvider
from tests.unit.admin_client import employ, seated, text
from tests.unit.app_fixture import NOW, SETTINGS, Served, data, served, waiting

ROOT = Path(__file__).parents[3]

BASE, BLOG = "https://comments.example", "https://blog.example"
PAGE, WORD = f"{BLOG}/p/?a=b", "a-random-word"
SSO_SECRET = "0123456789abcdef0123456789abcdef"
START = {"page": PAGE, "word": WORD}
BLOG_SITE = Site(
    name="blog",
    origins=(BLOG,),
    title="A blog",
    sign_in=("mail", "provider", "blog"),
    sso_url=f"{BLOG}/login?from=comments",
    sso_secret=SSO_SECRET,
    isso=True,
    artalk=True,
)
SIGNING_IN = replace(
    SETTINGS,
    server=ServerSettings(public_url=BASE),
    mail=MailSettings(host="localhost", sender="comments@blog.example"),
    sites=(BLOG_SITE, Site(name="notes", origins=("https://notes.example",))),
)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path, SIGNING_IN) as running:
        yield running


def handed(answer: Response) -> dict[str, str]:
    """Return what the last page passes to the blog's page."""
    page = answer.body.decode()
    assert answer.status == 200, page
    found = re.search(r'data-handed="([^"]*)" data-origin="([^"]*)"', page)
    assert found, page
    assert found[2] == BLOG
    assert all(name != "Set-Cookie" for name, _value in answer.headers)
    given: dict[str, str] = json.loads(unescape(found[1]))
    assert given["word"] == WORD
    return given


def choose(service: Served, asking: Response, name: str) -> Response:
    """Send the form for a name."""
    action = re.search(r'action="(name\?[^"]*)"', asking.body.decode())
    assert action, asking.body
    return service.form(f"/reader/{unescape(action[1])}", urlencode({"name": name}))


def mailed_link(service: Served, email: str) -> str:
    assert (
        service.form(f"/reader/sign-in?{urlencode(START)}", f"email={quote(email)}").status == 200
    )
    [*_, row] = [row for row in waiting(service) if row.kind == "sign-in"]
    envelope = service.database.read_now(MailComposer(SIGNING_IN, service.links).compose, row)
    assert envelope is not None
    assert envelope.recipient == email
    body = envelope.message.get_body(("plain",))
    assert body
    [link] = re.findall(rf"{BASE}(/reader/link\?\S+)", str(body.get_content()))
    return str(link)


def sign_in(service: Served, name: str, email: str = "ann@home.example") -> str:
    """Sign in by a mailed link; return the session's token."""
    asking = service.form(mailed_link(service, email), "")
    return handed(choose(service, asking, name))["token"]


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def json_by(token: str) -> dict[str, str]:
    return {**bearer(token), "content_type": "application/json"}


def write(service: Served, token: str, **fields: object) -> Response:
    sent = {"url": "/p/", "author": "whatever", "message": "Hi", **fields}
    return service.post("/api/comments", sent, **bearer(token))


def test_a_mailed_link_signs_in_once_after_a_click(service: Served) -> None:
    link = mailed_link(service, "Ann@home.example")
    assert b"Sign in as Ann@home.example?" in service.get(link).body
    asking = service.form(link, "")
    given = handed(choose(service, asking, " Ann  Bo "))
    assert given["name"] == "Ann Bo"
    for again in (service.get(link), service.form(link, "")):
        assert again.status == 410
    late = mailed_link(service, "ann@home.example")
    service.now += 3_600
    assert service.form(late, "").status == 410
    known = handed(service.form(mailed_link(service, "ann@home.example"), ""))
    assert known["name"] == "Ann Bo"
    assert known["token"] != given["token"]
    asked = service.form(mailed_link(service, "ann@home.example"), "").body
    assert b"without-scripts" not in asked, "the widget has a form"


def test_the_address_of_the_form_for_a_name_works_once(service: Served) -> None:
    """Logs may contain it: nobody who reads them gets a session."""
    asking = service.form(mailed_link(service, "ann@home.example"), "")
    assert choose(service, asking, " ").status == 400
    handed(choose(service, asking, "Ann Bo"))
    for name in ("Ann Bo", "Ann Co"):
        assert choose(service, asking, name).status == 410


def test_a_reader_has_so_many_sessions_and_sees_so_many_own_comments(
    service: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accounts, "SESSIONS", 2)
    monkeypatch.setattr(accounts, "OWN", 2)
    first = sign_in(service, "Ann Bo")
    link = mailed_link(service, "ann@home.example")
    second = handed(service.form(link, ""))["token"]
    for number in range(3):
        write(service, second, message=f"Hi {number}")
    third = handed(service.form(mailed_link(service, "ann@home.example"), ""))["token"]
    asked = [
        service.ask("GET", "/api/reader?url=/p/", b"", **bearer(token))
        for token in (first, second, third)
    ]
    assert [answer.status for answer in asked] == [401, 200, 200]
    own = [each["comment"]["html"] for each in data(asked[2])["comments"]]
    assert own == ["<p>Hi 1</p>\n", "<p>Hi 2</p>\n"]


def test_who_signed_in_writes_under_the_name_with_a_mark(service: Served) -> None:
    answer = write(service, sign_in(service, "Ann Bo"), author="Somebody", email="x@y.example")
    assert answer.status == 201
    comment = data(answer)["comment"]
    assert (comment["author"], comment["verified"]) == ("Ann Bo", True)
    assert service.stored()[0].comment.email == "ann@home.example"
    service.submit("Hi again", author="Bob")
    shown = data(service.get("/api/comments?url=/p/"))["data"]
    assert [each.get("verified", False) for each in shown] == [True, False]
    plain = service.get("/embed/thread?url=/p/").body
    assert plain.count(b'<span class="commentsvc-badge">Verified</span>') == 1
    assert service.get("/feed.atom").body.count(b'<category term="verified"/>') == 1
    assert service.get("/feed.json").body.count(b'"tags":["verified"]') == 1
    assert service.get("/feed.rss").body.count(b"<category>verified</category>") == 1
    isso = data(service.get("/isso/?uri=/p/"))["replies"]
    assert [each.get("verified", False) for each in isso] == [True, False]
    artalk = data(service.get("/artalk/api/v2/comments?page_key=/p/&site_name=x"))["comments"]
    assert sorted(each["is_verified"] for each in artalk) == [False, True]
    page = text(seated(service, "mo").get("comments"))
    assert page.count('<span class="tag">Verified</span>') == 1


@pytest.mark.parametrize("name", ["Ann Bo", "ANN  BO", "Аnn Bo", "Ann Bo (blog)"])
def test_nobody_else_writes_under_the_name(service: Served, name: str) -> None:
    sign_in(service, "Ann Bo")
    assert service.submit(author=name).status == 202
    assert service.stored()[0].comment.reader_id is None
    assert service.submit("Elsewhere", url="https://notes.example/p/", author=name).status == 201
    asking = service.form(mailed_link(service, "bob@home.example"), "")
    refused = choose(service, asking, name)
    assert refused.status == 400
    assert b"Somebody else has this name" in refused.body
    assert handed(choose(service, refused, "Bob"))["name"] == "Bob"


def test_a_moderators_name_is_nobody_elses_either(service: Served) -> None:
    employ(service, "rosa")
    asking = service.form(mailed_link(service, "bob@home.example"), "")
    for name in ("Rosa", "", " ", "x" * 200):
        assert choose(service, asking, name).status == 400


def test_a_reader_changes_comments_on_any_device(service: Served) -> None:
    phone, laptop = sign_in(service, "Ann Bo"), ""
    laptop = handed(service.form(mailed_link(service, "ann@home.example"), ""))["token"]
    thief = sign_in(service, "Bob", "bob@home.example")
    write(service, phone)
    write(service, phone, message="Elsewhere", url="/q/")
    known = data(service.ask("GET", "/api/reader?url=/p/", b"", **bearer(laptop)))
    assert known["name"] == "Ann Bo"
    [own] = known["comments"]
    assert (own["comment"]["id"], own["status"]) == (1, "approved")
    change = json.dumps({"message": "Better"}).encode()
    for token, status in ((thief, 401), (laptop, 200)):
        answer = service.ask("PATCH", "/api/comments/1", change, **json_by(token))
        assert answer.status == status
    assert data(answer)["status"] == "approved"
    assert service.ask("DELETE", "/api/comments/1", b"", **bearer(thief)).status == 401
    assert service.ask("DELETE", "/api/comments/1", b"", **bearer(laptop)).status == 204
    service.now += 3_600
    late = service.ask("PATCH", "/api/comments/2", change, **json_by(laptop))
    assert late.status == 403


def test_sessions_end_by_signing_out_and_after_their_time(service: Served) -> None:
    first = sign_in(service, "Ann Bo")
    links = (mailed_link(service, "ann@home.example") for _number in range(3))
    tokens = [first, *(handed(service.form(link, ""))["token"] for link in links)]

    def works(token: str) -> bool:
        return service.ask("GET", "/api/reader?url=/p/", b"", **bearer(token)).status == 200

    assert service.ask("DELETE", "/api/reader?url=/p/", b"", **bearer(tokens[0])).status == 204
    assert [works(token) for token in tokens] == [False, True, True, True]
    everywhere = "/api/reader?url=/p/&everywhere=yes"
    assert service.ask("DELETE", everywhere, b"", **bearer(tokens[1])).status == 204
    assert not any(works(token) for token in tokens)
    assert write(service, tokens[2]).status == 401
    assert service.stored() == []
    service.now += 86_400
    last = handed(service.form(mailed_link(service, "ann@home.example"), ""))["token"]
    service.now += accounts.SESSION / 1_000 - 1
    assert works(last)
    service.now += 1
    assert not works(last)


def test_a_session_is_for_its_site(service: Served) -> None:
    token = sign_in(service, "Ann Bo")
    target = "/api/reader?url=https://notes.example/p/"
    assert service.ask("GET", target, b"", **bearer(token)).status == 401
    for wrong in ("", "x", token + "x", "x" * 1_000):
        assert service.ask("GET", "/api/reader?url=/p/", b"", **bearer(wrong)).status == 401


def test_who_is_forgotten_is_signed_out(service: Served) -> None:
    token = sign_in(service, "Ann Bo")
    write(service, token)
    now = service.clock.now_ms()
    service.database.write_now(retention.forget, "Ann@home.example", "Mo", now)
    assert service.ask("GET", "/api/reader?url=/p/", b"", **bearer(token)).status == 401
    assert service.stored()[0].comment.reader_id is None


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"page": "https://evil.example/p/"}, 400),
        ({"page": "https://blog.example.evil.example/"}, 400),
        ({"page": "https://blog.example@evil.example/"}, 400),
        ({"page": "javascript:alert(1)"}, 400),
        ({"page": "/p/"}, 400),
        ({"page": "https://notes.example/p/"}, 404),
        ({"page": "https://notes.example/p/", "site": "blog"}, 400),
        ({"word": "short"}, 400),
        ({"word": "<script>alert"}, 400),
        ({"site": "nothing"}, 400),
    ],
)
def test_only_a_page_of_the_site_may_ask(
    service: Served, changed: dict[str, str], status: int
) -> None:
    query = urlencode(START | changed)
    for method in ("sign-in", "provider", "blog"):
        assert service.get(f"/reader/{method}?{query}").status == status, method
    assert service.form(f"/reader/sign-in?{query}", "email=a%40b.example").status == status
    assert waiting(service) == []


def test_without_the_setting_there_is_no_way(tmp_path: Path) -> None:
    sites = (replace(BLOG_SITE, sign_in=()),)
    with served(tmp_path, replace(SIGNING_IN, sites=sites)) as service:
        assert service.get(f"/reader/sign-in?{urlencode(START)}").status == 404
        assert "sign_in" not in data(service.get("/api/form-token?url=/p/"))
        assert write(service, "x").status == 201


def test_without_the_library_the_blogs_login_is_not_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blog_tokens, "is_installed", lambda: False)
    with served(tmp_path, SIGNING_IN) as service:
        assert service.get(f"/reader/blog?{urlencode(START)}").status == 404
        assert b"reader/blog" not in service.get(f"/reader/sign-in?{urlencode(START)}").body


def test_the_form_is_told_that_readers_may_sign_in(service: Served) -> None:
    assert data(service.get("/api/form-token?url=/p/"))["sign_in"] is True
    assert "sign_in" not in data(service.get("/api/form-token?url=https://notes.example/p/"))


def test_limits_hold_for_all_instances_and_after_a_restart(tmp_path: Path) -> None:
    target, links, statuses = f"/reader/sign-in?{urlencode(START)}", [], []
    for _number in range(2):
        with served(tmp_path, SIGNING_IN) as service:
            links += [service.form(target, "email=a%40b.example").status for _number in range(3)]
            assert service.form(target, "email=nonsense").status == 400
            there = f"/reader/blog?{urlencode(START)}"
            statuses += [service.get(there).status for _number in range(31)]
            other = service.ask("GET", there, peer="198.51.100.1")
            assert other.status == 303
    assert links == [200] * 5 + [429]
    assert statuses == [303] * 60 + [429] * 2


# The blog's own login


def to_blog(service: Served) -> dict[str, str]:
    """Go to the blog's login; return what it is sent."""
    answer = service.get(f"/reader/blog?{urlencode(START)}")
    assert answer.status == 303
    address = dict(answer.headers)["Location"]
    assert address.startswith(f"{BLOG}/login?from=comments&")
    return dict(parse_qsl(urlsplit(address).query))


def blog_token(nonce: str, secret: str = SSO_SECRET, **changed: Any) -> str:  # Any: of claims
    now = int(NOW)
    claims = {
        "sub": "7",
        "name": "Eva",
        "email": "eva@blog.example",
        "aud": BASE,
        "nonce": nonce,
        "iat": now,
        "exp": now + 300,
    } | changed
    sent = {name: value for name, value in claims.items() if value is not None}
    parts = [json.dumps(each).encode() for each in ({"alg": "HS256"}, sent)]
    signed = b".".join(base64.urlsafe_b64encode(part).rstrip(b"=") for part in parts)
    digest = hmac.digest(secret.encode(), signed, "sha256")
    return f"{signed.decode()}.{base64.urlsafe_b64encode(digest).decode().rstrip('=')}"


def from_blog(service: Served, sent: dict[str, str], token: str) -> Response:
    address = f"{sent['return_to']}&token={token}"
    assert address.startswith(f"{BASE}/reader/return?state=")
    return service.get(address.removeprefix(BASE))


def test_the_blogs_own_login_signs_in_without_a_further_question(service: Served) -> None:
    sent = to_blog(service)
    token = blog_token(sent["nonce"])
    given = handed(from_blog(service, sent, token))
    assert given["name"] == "Eva"
    assert from_blog(service, sent, token).status == 403, "a state works once"
    assert from_blog(service, to_blog(service), token).status == 403, "it is for another sign-in"
    write(service, given["token"])
    assert service.stored()[0].comment.email == "eva@blog.example"


@pytest.mark.parametrize("name", ["rosa", "R\N{CYRILLIC SMALL LETTER O}sa", "Ann Bo (admin)"])
def test_a_name_of_the_blogs_login_takes_nobody_elses(service: Served, name: str) -> None:
    employ(service, "rosa")
    sign_in(service, "Ann Bo")
    sent = to_blog(service)
    asking = from_blog(service, sent, blog_token(sent["nonce"], name=name))
    assert b"Somebody else has this name" in asking.body
    assert b"data-handed" not in asking.body
    assert handed(choose(service, asking, "Eva"))["name"] == "Eva"


USER: Final = {"id": 7, "name": "Eva Ωmega", "email": "eva@blog.example"}


def example(language: str) -> str:
    """Return the manual's example of a page of the blog's own login."""
    text = (ROOT / "docs/moderating.md").read_text()
    [found] = re.findall(rf"(?s)```{language}\n(.*?)```", text.partition("### The blog's own")[2])
    return str(found)


def by_python(sent: dict[str, str]) -> str:
    def abort(status: int) -> None:
        raise LookupError(status)

    found = {
        "SSO_SECRET": SSO_SECRET,
        "OctKey": OctKey,
        "abort": abort,
        "jwt": jwt,
        "redirect": str,
        "time": time,
    }
    exec(example("python"), found)
    try:
        return str(found["comments_login"](SimpleNamespace(args=sent), SimpleNamespace(**USER)))  # type: ignore[operator]  # it is a function
    except LookupError:
        return ""


def by_php(sent: dict[str, str]) -> str:
    program = (
        "namespace blog; function header($line) { echo substr($line, strlen('Location: ')); }"
        "[$_GET, $user] = json_decode($argv[1], true); $user = (object) $user;"
        f"const SSO_SECRET = {SSO_SECRET!r}; {example('php')}"
    )
    words = [find_program("php"), "-r", program, "--", json.dumps([sent, USER])]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("page", [by_python, by_php])
def test_the_manuals_examples_sign_in(
    service: Served, page: Callable[[dict[str, str]], str]
) -> None:
    service.now = time.time()
    sent = to_blog(service)
    answer = service.get(page(sent).removeprefix(BASE))
    assert handed(answer)["name"] == "Eva Ωmega"
    assert page(sent | {"return_to": "https://evil.example/reader/return?state=x"}) == ""


def unsigned(algorithm: str, nonce: str) -> str:
    claims = json.loads(base64.urlsafe_b64decode(blog_token(nonce).split(".")[1] + "=="))
    parts = [json.dumps(each).encode() for each in ({"alg": algorithm}, claims)]
    return ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts) + "."


HOSTILE: list[dict[str, Any]] = [
    {"exp": int(NOW) + 301},
    {"exp": int(NOW) - 301, "iat": int(NOW) - 600},
    {"iat": int(NOW) + 100, "exp": int(NOW) + 200},
    {"exp": None},
    {"iat": None},
    {"nonce": "another"},
    {"nonce": None},
    {"aud": "https://other.example"},
    {"aud": None},
    {"sub": ""},
    {"sub": None},
    {"sub": 7},
    {"sub": "x" * 300},
    {"sub": "7\0"},
    {"sub": "7\ud83d"},
    {"name": "x" * 5_000},
    {"secret": "another secret of thirty-two bytes"},
]


@pytest.mark.parametrize("lies", HOSTILE, ids=lambda lies: str(lies)[:40])
def test_a_token_of_the_blog_that_is_not_right_signs_nobody_in(
    service: Served, lies: dict[str, Any]
) -> None:
    sent = to_blog(service)
    token = blog_token(**({"nonce": sent["nonce"]} | lies))
    assert from_blog(service, sent, token).status == 403


@pytest.mark.parametrize("algorithm", ["none", "None", "HS512"])
def test_a_token_of_the_blog_is_signed_with_hs256(service: Served, algorithm: str) -> None:
    sent = to_blog(service)
    assert from_blog(service, sent, unsigned(algorithm, sent["nonce"])).status == 403
    for nonsense in ("", "x", "a.b.c", "%00"):
        assert from_blog(service, to_blog(service), nonsense).status == 403


def test_half_an_emoji_in_a_name_of_the_blogs_login_keeps_nobody_out(service: Served) -> None:
    """Scripts cut texts between the two halves of a pair of surrogates."""
    sent = to_blog(service)
    answer = from_blog(service, sent, blog_token(sent["nonce"], name="Ann Bo \ud83d"))
    assert handed(answer)["name"] == "Ann Bo ?"


def test_an_address_that_no_mail_can_be_sent_to_is_left_out(service: Served) -> None:
    """It would be a header of our mails."""
    sent = to_blog(service)
    address = "x@y.example>\r\nBcc: all@y.example"
    handed(from_blog(service, sent, blog_token(sent["nonce"], name="Ann Bo", email=address)))
    assert service.database.read_now(accounts.find, 1).email == ""  # type: ignore[union-attr]  # it is there


def test_what_anybody_can_send_is_not_logged(
    service: Served, caplog: pytest.LogCaptureFixture
) -> None:
    for state in ("", "x", "x" * 1_000):
        assert service.get(f"/reader/return?state={state}&token=x").status == 403
    assert caplog.messages == []
    assert from_blog(service, to_blog(service), "x").status == 403
    assert len(caplog.messages) == 1


def test_the_state_is_ours_and_over_after_ten_minutes(service: Served) -> None:
    sent = to_blog(service)
    forged = sent | {"return_to": sent["return_to"][:-2]}
    assert from_blog(service, forged, blog_token(sent["nonce"])).status == 403
    service.clock.moment += 10 * 60 * 1_000
    late = blog_token(sent["nonce"], iat=int(NOW) + 600, exp=int(NOW) + 700)
    assert from_blog(service, sent, late).status == 403


# A provider of OpenID Connect


@pytest.fixture
def provider() -> Iterator[LyingProvider]:
    with background(LyingProvider()) as provider:
        yield provider


@pytest.fixture
def with_provider(tmp_path: Path, provider: LyingProvider) -> Iterator[Served]:
    settings = replace(
        SIGNING_IN,
        hooks=HooksSettings(allowed_networks=("127.0.0.0/8",)),
        readers=OidcSettings(
            issuer=provider.issuer,
            client_id=CLIENT,
            client_secret="a secret: of ours",
            name="Our Id",
        ),
    )
    with served(tmp_path, settings) as service:
        yield service


def by_provider(service: Served, provider: LyingProvider) -> Response:
    assert b"Sign in with Our Id" in service.get(f"/reader/sign-in?{urlencode(START)}").body
    going = service.get(f"/reader/provider?{urlencode(START)}")
    back = provider.authorize(dict(going.headers)["Location"])
    assert provider.asked["redirect_uri"] == f"{BASE}/reader/return"
    return service.get(f"/reader/return?{urlencode(back)}")


def test_a_provider_signs_in_and_its_subject_is_who_it_is(
    with_provider: Served, provider: LyingProvider
) -> None:
    provider.claims = {"name": "Eva"}
    first = handed(by_provider(with_provider, provider))
    provider.claims = {"name": "Another name", "email": "new@home.example"}
    assert handed(by_provider(with_provider, provider))["name"] == "Eva"
    provider.claims = {"name": "Eva", "sub": "other", "email": "other@home.example"}
    asking = by_provider(with_provider, provider)
    assert b"Somebody else has this name" in asking.body
    other = handed(choose(with_provider, asking, "Eva Two"))
    write(with_provider, first["token"])
    write(with_provider, other["token"], message="Ho")
    authors = {each.comment.author for each in with_provider.stored()}
    assert authors == {"Eva", "Eva Two"}


@pytest.mark.parametrize(
    "claims",
    [{"nonce": "x"}, {"iss": "https://other.example"}, {"aud": "another"}, {"exp": int(NOW) - 61}],
    ids=str,
)
def test_a_provider_that_lies_signs_nobody_in(
    with_provider: Served, provider: LyingProvider, claims: dict[str, object]
) -> None:
    provider.claims = claims
    assert by_provider(with_provider, provider).status == 403


def test_a_network_goes_to_the_blogs_login_so_many_times_an_hour(service: Served) -> None:
    target = f"/reader/blog?{urlencode(START)}"
    answers = [service.get(target).status for _number in range(61)]
    assert answers == [303] * 60 + [429]


EVIL: Final = "You won! Go to https://evil.example"
STRANGE = [
    f"{BLOG}/p/{between}{EVIL}"
    for between in (
        "\n",
        "\r\n",
        "\r",
        "\t",
        "\0",
        "\x0b",
        "\x85",
        "\u2028",
        "\u2029",
        "%0A",
        "%0d",
    )
] + [
    f"{BLOG}\n/{EVIL}",
    f"{BLOG}\\\n{EVIL}",
    f"\n{BLOG}/{EVIL}",
    f"{BLOG}/?q=\n{EVIL}",
    f"{BLOG}/p/#\n{EVIL}",
    f"{BLOG}/p/ {EVIL}",
    f"{BLOG}/p/\u202e{EVIL}",
    f"{BLOG}/?{EVIL}",
    f"{BLOG}/{'You-won-' * 500}",
    f"{BLOG}/?{'you=won&' * 200}",
    f"https://you-won@blog.example/{EVIL}",
    f"{BLOG}.evil.example/{EVIL}",
]


@pytest.mark.sqlite_only("it is about texts; other tests here have both engines")
@pytest.mark.parametrize("site", ["", "blog"])
@pytest.mark.parametrize("page", STRANGE)
def test_no_line_of_a_stranger_is_mailed_to_who_shall_sign_in(
    service: Served, page: str, site: str
) -> None:
    """Each way names the page's canonical address, or none."""
    query = urlencode(START | {"page": page} | ({"site": site} if site else {}), errors="replace")
    answer = service.form(f"/reader/sign-in?{query}", "email=victim%40home.example")
    rows = [row for row in waiting(service) if row.kind == "sign-in"]
    assert (answer.status == 200) == bool(rows)
    assert answer.status in (200, 400)
    for row in rows:
        envelope = service.database.read_now(MailComposer(SIGNING_IN, service.links).compose, row)
        assert envelope is not None
        for kind in ("plain", "html"):
            body = envelope.message.get_body((kind,))
            assert body
            shown = body.get_content()
            assert "You won" not in shown
            assert "\u202e" not in shown
        [line] = [line for line in shown_lines(envelope.message) if line.startswith(BLOG)]
        assert re.fullmatch(rf"{BLOG}/[!-~]*", line)
        assert len(line) <= 200


def shown_lines(message: EmailMessage) -> list[str]:
    body = message.get_body(("plain",))
    assert body
    return str(body.get_content()).splitlines()


def hidden_fields(page: str) -> dict[str, str]:
    """Return the hidden fields of a page's form for a comment."""
    form = page[page.index('id="commentsvc-form"') :]
    return {name: unescape(value) for name, value in re.findall(HIDDEN, form)}


HIDDEN: Final = r'<input type="hidden" name="([^"]*)" value="([^"]*)">'
FORM_ACTION: Final = r'<form class="commentsvc-form" id="commentsvc-form"[^>]* action="([^"]*)"'


def test_a_member_signs_in_and_writes_without_scripts(tmp_path: Path) -> None:
    site = replace(BLOG_SITE, sign_in=("required",), agreement="I agree")
    with served(tmp_path, replace(SIGNING_IN, sites=(site,))) as service:
        page = service.get("/embed/thread?url=/p/&view=page").body.decode()
        assert 'id="commentsvc-form"' not in page
        [link] = re.findall(r'href="\.\.(/reader/sign-in\?[^"]*)">Sign in to comment<', page)
        choices = unescape(link)
        assert service.get(choices).status == 200
        assert service.form(choices, "email=ann%40home.example").status == 200
        [row] = [row for row in waiting(service) if row.kind == "sign-in"]
        envelope = service.database.read_now(MailComposer(SIGNING_IN, service.links).compose, row)
        assert envelope is not None
        body = envelope.message.get_body(("plain",))
        assert body
        [mailed] = re.findall(rf"{BASE}(/reader/link\?\S+)", str(body.get_content()))
        last = choose(service, service.form(mailed, ""), "Ann Bo").body.decode()
        assert "Commenting as Ann Bo" in last
        assert 'name="author"' not in last
        action = f"/reader/../{unescape(re.findall(FORM_ACTION, last)[0])}"
        target = action.replace("/reader/../..", "")
        fields = hidden_fields(last) | {"message": "Without scripts"}
        refused = service.form(target, urlencode(fields))
        assert refused.status == 400
        again = refused.body.decode()
        assert hidden_fields(again)["session"] == fields["session"]
        fields |= {"agreed": "yes", "author": "Mo"}
        sent = service.form(target, urlencode(fields))
        assert sent.status == 201, sent.body
        stored = service.stored()[0]
        assert (stored.comment.author, stored.url) == ("Ann Bo", "/p/")
        assert stored.comment.reader_id is not None
        over = service.form(target, urlencode(fields | {"session": "over", "message": "Kept"}))
        assert over.status == 401
        assert "Sign in to comment" in over.body.decode()
        assert ">\nKept</textarea>" in over.body.decode()
        assert len(service.stored()) == 1


def test_no_reader_gets_the_name_of_authors_without_one(tmp_path: Path) -> None:
    """Comments without a name would wait as imitations of that reader."""
    site = replace(BLOG_SITE, name_field="optional")
    with served(tmp_path, replace(SIGNING_IN, sites=(site,))) as service:
        asking = service.form(mailed_link(service, "ann@home.example"), "")
        for name in ("Anonymous", "anоnymous", "ANONYM0US"):
            asking = choose(service, asking, name)
            assert asking.status == 400, name
        assert handed(choose(service, asking, "Ann Bo"))["name"] == "Ann Bo"

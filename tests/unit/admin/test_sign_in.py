"""Signing in and out, and that there is no other way in."""

import logging

import pytest

from commentsvc.admin.login_limit import LoginLimiter
from commentsvc.admin.render import HOME
from commentsvc.auth.sessions import COOKIE, KNOWN_COOKIE
from commentsvc.moderation import profiles
from commentsvc.runtime.control_commands import ManageAccount
from tests.unit.admin_client import HASH, PASSWORD, Seat, employ, header, seated, text
from tests.unit.app_fixture import Served


@pytest.fixture
def seat(service: Served) -> Seat:
    employ(service)
    return Seat(service)


def test_the_first_address_leads_to_a_page(service: Served) -> None:
    answer = service.get("/moderation")
    assert answer.status == 303
    assert header(answer, "Location").startswith("moderation/")


def test_over_plain_http_no_password_is_asked_for(service: Served) -> None:
    """The browser would send it before we could refuse it."""
    plain = {"host": "comments.example"}
    assert service.ask("GET", "/moderation/invitation?t=x", b"", "127.0.0.1", **plain).status == 403
    refused = service.ask("GET", "/moderation/sign-in", b"", "127.0.0.1", **plain)
    assert refused.status == 403
    assert "begins with https://" in text(refused)
    assert 'type="password"' not in text(refused)
    [cookie] = [value for name, value in refused.headers if name == "Set-Cookie"]
    for known in (
        {"x_forwarded_proto": "https"},
        {"sec_fetch_site": "none"},
        {"host": "localhost"},
        {"cookie": cookie.partition(";")[0]},  # browsers send it over HTTPS only
    ):
        shown = service.ask("GET", "/moderation/sign-in", b"", "127.0.0.1", **plain | known)
        assert (shown.status, 'type="password"' in text(shown)) == (200, True)


def test_name_and_password_sign_in(seat: Seat) -> None:
    answer = seat.sign_in()
    assert (answer.status, header(answer, "Location")) == (303, HOME)
    assert seat.is_signed_in()
    assert header(seat.get("sign-in"), "Location") == HOME, "nothing to sign in"


@pytest.mark.parametrize(
    ("name", "password"),
    [
        ("ann", "wrong horse battery"),
        ("ann", ""),
        ("ann", "x" * 100_000),
        ("bob", PASSWORD),
        ("", PASSWORD),
        ("' OR 1=1 --", PASSWORD),
        ("ann", HASH),
    ],
)
def test_nothing_else_signs_in_and_all_hear_the_same(seat: Seat, name: str, password: str) -> None:
    answer = seat.sign_in(name, password)
    assert answer.status == 403
    html = text(answer)
    assert "Wrong name or password" in html
    assert "x" * 1_000 not in html
    assert HASH not in html
    assert not seat.is_signed_in()


def test_what_was_typed_as_name_stays_text(seat: Seat, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        html = text(seat.sign_in('"><script>alert(1)</script>\n'))
    assert "<script>" not in html
    assert "\n" not in caplog.records[0].getMessage()
    assert PASSWORD not in caplog.text


def test_signing_in_makes_a_new_cookie(service: Served, seat: Seat) -> None:
    """Session fixation: a cookie that an attacker set before is worthless afterwards."""
    seat.get("sign-in")
    planted = seat.cookies[COOKIE]
    seat.sign_in()
    assert seat.cookies[COOKIE] != planted
    attacker = Seat(service)
    attacker.cookies[COOKIE] = planted
    assert not attacker.is_signed_in()


def test_signing_in_again_ends_the_session_before(service: Served, seat: Seat) -> None:
    token = seat.csrf_token()
    fields = {"csrf_token": token, "name": "ann", "password": PASSWORD}
    seat.post("sign-in", fields)
    first = dict(seat.cookies)
    seat.send("sign-in", name="ann", password=PASSWORD)
    old = Seat(service)
    old.cookies = first
    assert not old.is_signed_in()
    assert seat.is_signed_in()


def test_signing_out_ends_the_session(service: Served, seat: Seat) -> None:
    seat.sign_in()
    kept = dict(seat.cookies)
    answer = seat.send("sign-out")
    assert (answer.status, header(answer, "Location")) == (303, "sign-in")
    assert not seat.is_signed_in()
    thief = Seat(service)
    thief.cookies = kept
    assert not thief.is_signed_in(), "a copy of the cookie is worth nothing either"


@pytest.mark.parametrize(
    "to",
    [
        "https://evil.example/",
        "//evil.example",
        "\\\\evil.example",
        "/\\evil.example",
        "javascript:alert(1)",
        "../static/x",
        "account\r\nSet-Cookie: a=b",
        "account#x",
        "a.b",
        "%2f%2fevil.example",
    ],
)
def test_nobody_is_sent_elsewhere_after_signing_in(seat: Seat, to: str) -> None:
    answer = seat.sign_in(to=to)
    assert header(answer, "Location") == HOME


def test_one_comes_back_to_the_page_that_was_asked_for(seat: Seat) -> None:
    html = text(seat.get("sign-in?to=account%3Fdone%3Dsession"))
    assert 'name="to" value="account?done=session"' in html
    assert header(seat.sign_in(to="account?done=session"), "Location") == "account?done=session"


def test_without_a_moderator_the_page_tells_how_to_make_one(service: Served) -> None:
    assert "commentsvc moderator add" in text(Seat(service).get("sign-in"))
    employ(service)
    assert "commentsvc moderator add" not in text(Seat(service).get("sign-in"))


def test_guessing_is_slowed_down_and_the_owner_gets_in(service: Served, seat: Seat) -> None:
    seat.sign_in()
    seat.send("sign-out")
    for number in range(40):
        guesser = Seat(service, f"198.51.{number}.1")
        status = guesser.sign_in("ann", "guess").status
        assert status == (403 if number < 29 else 429), number
    answer = guesser.sign_in("ann", PASSWORD)
    assert answer.status == 429, "not even by the right one"
    assert int(header(answer, "Retry-After")) <= 120
    assert "Try again in 2 min" in text(answer)
    assert KNOWN_COOKIE in seat.cookies
    assert seat.sign_in().status == 303


def test_one_network_cannot_try_many_names(service: Served, seat: Seat) -> None:
    statuses = [Seat(service, "198.51.100.7").sign_in(f"n{n}", "x").status for n in range(22)]
    assert statuses == [403] * 20 + [429] * 2


def test_a_network_is_believed_from_trusted_proxies_only(service: Served, seat: Seat) -> None:
    for number in range(22):
        liar = Seat(service, "198.51.100.7")
        fields = {"csrf_token": liar.csrf_token(), "name": f"n{number}", "password": "x"}
        status = liar.post("sign-in", fields, x_forwarded_for=f"203.0.{number}.1").status
        assert status == (403 if number < 20 else 429)


def test_who_is_removed_is_out_at_once(service: Served) -> None:
    seat = seated(service)
    service.database.write_now(profiles.remove, "ann")
    assert not seat.is_signed_in()
    assert seat.sign_in().status == 403


@pytest.mark.parametrize("meanwhile", ["passwd", "remove"])
def test_a_sign_in_that_had_begun_ends_with_the_password_or_the_account(
    service: Served, seat: Seat, monkeypatch: pytest.MonkeyPatch, meanwhile: str
) -> None:
    """Checking a password takes time, in which its owner may change it."""
    change = ManageAccount(meanwhile, "ann", "another hash")  # type: ignore[arg-type]  # it is one
    verify = LoginLimiter.verify

    async def slowly(limiter: LoginLimiter, password: str, stored: str, *, known: bool) -> bool:
        fits = await verify(limiter, password, stored, known=known)
        await service.database.write(change.apply, int(service.now * 1_000))
        return fits

    monkeypatch.setattr(LoginLimiter, "verify", slowly)
    assert seat.sign_in().status == 403
    assert not seat.is_signed_in()

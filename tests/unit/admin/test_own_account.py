"""The account page: changing the password, and ending sessions."""

import re

import pytest

from commentsvc.auth.sessions import COOKIE
from commentsvc.moderation import profiles
from tests.unit.admin_client import PASSWORD, Seat, employ, header, seated, text
from tests.unit.app_fixture import Served

NEW = "four words are better"


def test_a_new_password_signs_in_and_the_old_one_no_more(service: Served, seat: Seat) -> None:
    answer = seat.send("password", password=PASSWORD, new=NEW, again=NEW)
    assert (answer.status, header(answer, "Location")) == (303, "account?done=password")
    assert "Your password is changed" in text(seat.get("account?done=password"))
    assert Seat(service).sign_in(password=PASSWORD).status == 403
    assert Seat(service).sign_in(password=NEW).status == 303


def test_a_new_password_signs_all_other_browsers_out(service: Served, seat: Seat) -> None:
    other = Seat(service)
    other.sign_in()
    before = dict(seat.cookies)
    seat.send("password", password=PASSWORD, new=NEW, again=NEW)
    assert not other.is_signed_in()
    assert seat.is_signed_in()
    assert seat.cookies[COOKIE] != before[COOKIE]
    seat.cookies = before
    assert not seat.is_signed_in()


@pytest.mark.parametrize(
    ("present", "new", "again", "status", "message"),
    [
        ("wrong", NEW, NEW, 403, "not your current password"),
        ("", NEW, NEW, 403, "not your current password"),
        (PASSWORD, NEW, NEW + "x", 422, "differ"),
        (PASSWORD, "short", "short", 422, "12 to 200 characters"),
        (PASSWORD, "x" * 201, "x" * 201, 422, "12 to 200 characters"),
    ],
)
def test_a_mistake_changes_nothing(
    service: Served, seat: Seat, present: str, new: str, again: str, status: int, message: str
) -> None:
    answer = seat.send("password", password=present, new=new, again=again)
    assert answer.status == status
    assert message in text(answer)
    assert Seat(service).sign_in().status == 303


def test_who_found_an_open_browser_cannot_guess_the_password(seat: Seat) -> None:
    statuses = [
        seat.send("password", password="guess", new=NEW, again=NEW).status for _ in range(32)
    ]
    assert statuses == [403] * 30 + [429] * 2


def test_the_sessions_are_listed_and_others_can_be_ended(service: Served, seat: Seat) -> None:
    other = Seat(service)
    other.sign_in()
    html = text(seat.get("account"))
    assert html.count("<strong>Firefox on Linux</strong>") == 2
    assert html.count("this browser") == 1
    [which] = re.findall(r'name="remove" value="(session\.\d+)"', html)
    answer = seat.send("credentials", remove=which)
    assert header(answer, "Location") == "account?done=credential"
    assert not other.is_signed_in()
    assert seat.is_signed_in()


def test_nobody_ends_the_session_of_another_moderator(service: Served, seat: Seat) -> None:
    bob = seated(service, "bob")
    for number in ("0", "1"):
        assert bob.send("credentials", remove=f"session.{number}").status == 303
    for number in ("-1", "x", "", "²", "9" * 30):
        answer = bob.send("credentials", remove=f"session.{number}")
        assert answer.status == 404, "nothing was ended"
    for what in ("", "session", "moderator.1", "all.1"):
        assert bob.send("credentials", remove=what).status in (400, 404)
    assert bob.is_signed_in()
    assert seat.is_signed_in()


def test_what_a_browser_calls_itself_stays_text(service: Served, seat: Seat) -> None:
    hostile = Seat(service)
    fields = {"csrf_token": hostile.csrf_token(), "name": "ann", "password": PASSWORD}
    hostile.post("sign-in", fields, user_agent="<script>alert(1)</script>")
    html = text(seat.get("account"))
    assert "<script>alert" not in html
    assert "An unknown browser" in html


def test_a_profile_is_shown_saved_and_protected(service: Served, seat: Seat) -> None:
    fields = {"public_name": "Rosa", "site": "https://rosa.example"}
    answer = seat.send("profile", **fields)
    assert header(answer, "Location") == "account?done=profile"
    html = text(seat.get("account?done=profile"))
    assert "Your profile is saved" in html
    for value in fields.values():
        assert f'value="{value}"' in html
    assert service.submit(author="R\u043esa").status == 202


def test_a_profile_that_cannot_be_is_kept_in_the_form_and_told(seat: Seat) -> None:
    answer = seat.send("profile", public_name='"><b>', site="nowhere")
    assert answer.status == 422
    html = text(answer)
    assert "a website begins with https://" in html
    assert 'value="nowhere"' in html
    assert "<b>" not in html
    assert 'value="nowhere"' not in text(seat.get("account"))


def test_nobody_gives_themselves_a_role(seat: Seat, service: Served) -> None:
    employ(service, "mo")
    other = Seat(service)
    other.sign_in("mo")
    other.send("profile", public_name="", site="", role="owner", id="1", name="ann")
    assert service.database.read_now(profiles.named, "mo").role == "moderator"


def test_a_moderator_chooses_the_language_of_the_pages(seat: Seat) -> None:
    assert '<html lang="en" dir="ltr">' in text(seat.get("account"))
    assert header(seat.send("language", language="ar"), "Location") == "account?done=language"
    for page in ("account", "queue", "comments?status=spam", "dashboard", "bans", "outbox"):
        assert '<html lang="ar" dir="rtl">' in text(seat.get(page, accept_language="de"))
    assert "حُفظ." in text(seat.get("account?done=language"))
    assert seat.send("language", language="tlh").status == 400
    assert seat.send("language", language="sv").status == 400, "it has only texts for readers"
    seat.send("language", language="")
    html = text(seat.get("bans?done=added", accept_language="sv, fr-CH;q=0.9, de;q=0.8"))
    assert "<h1>Blocages</h1>" in html
    assert "Blocage ajouté." in html


def test_a_refusal_is_said_in_the_language_of_the_browser(service: Served) -> None:
    stranger = Seat(service)
    assert "<h1>Anmelden</h1>" in text(stranger.get("sign-in", accept_language="de"))
    answer = stranger.post("sign-in", {}, accept_language="de", sec_fetch_site="cross-site")
    assert answer.status == 403
    assert "kam nicht von den Moderationsseiten" in text(answer)

"""Access to moderation pages: who sees a page, whose forms are accepted, what others get."""

import re
from collections.abc import Callable
from html import unescape

import pytest
from markupsafe import escape

from commentsvc.auth import sessions
from commentsvc.auth.sessions import COOKIE, Cookies
from commentsvc.db.errors import DatabaseBusy
from tests.unit.admin_client import PASSWORD, Seat, header, text
from tests.unit.app_fixture import NOW, Served

DAY = 86_400.0  # seconds


def pages(service: Served, method: str) -> list[str]:
    """Return the pages below /moderation that answer `method`."""
    return [
        route.pattern.removeprefix("/moderation/")
        for route in service.pages
        if route.method == method and route.pattern != "/moderation"
    ]


def test_every_page_but_the_first_asks_strangers_to_sign_in(service: Served) -> None:
    for page in pages(service, "GET"):
        if page not in ("sign-in", "invitation", "owner", "provider", "provider-return"):
            answer = Seat(service).get(page)
            assert (answer.status, header(answer, "Location")) == (303, f"sign-in?to={page}")
            assert not answer.body


def test_a_stranger_comes_back_to_what_was_asked_for(service: Served) -> None:
    answer = Seat(service).get("account?x=1&y=%C3%A9")
    assert header(answer, "Location") == "sign-in?to=account%3Fx%3D1%26y%3D%25C3%25A9"
    long = Seat(service).get("account?x=" + "1" * 5_000)
    assert header(long, "Location") == "sign-in?to=account"


def test_every_page_has_the_headers_that_keep_others_out(service: Served, seat: Seat) -> None:
    for page in pages(service, "GET"):
        answer = seat.get(page)
        assert answer.status in (200, 303, 404, 410), page
        fields = dict(answer.headers)
        policy = fields["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert fields["Referrer-Policy"] == "no-referrer"
        assert fields["X-Content-Type-Options"] == "nosniff"
        assert fields["Cross-Origin-Opener-Policy"] == "same-origin"
        assert fields["Cross-Origin-Resource-Policy"] == "same-origin"
        assert fields["Cache-Control"] == "no-store"
        assert "Access-Control-Allow-Origin" not in fields
        assert not answer.tags, "it must not be stored"


def test_no_page_has_anything_inline(service: Served, seat: Seat) -> None:
    for page in pages(service, "GET"):
        html = seat.get(page).body.decode()
        for inline in ("<style", " style=", " onclick=", "javascript:", "<script>"):
            assert inline not in html, page


@pytest.mark.parametrize(
    "headers",
    [
        {"sec_fetch_site": "cross-site", "origin": "https://evil.example"},
        {"sec_fetch_site": "same-site", "origin": "https://blog.example"},
        {"sec_fetch_site": "none"},
        {"sec_fetch_site": "same-site", "origin": "https://comments.example"},
    ],
)
def test_a_form_of_another_page_is_refused_whatever_else_is_right(
    service: Served, seat: Seat, headers: dict[str, str]
) -> None:
    """The moderator's own cookie and token, sent from the blog or from elsewhere."""
    token = seat.csrf_token()
    for page in pages(service, "POST"):
        answer = seat.post(page, {"csrf_token": token}, **headers)
        assert answer.status == 403, page
        assert "not sent by the moderation pages" in text(answer)
    assert seat.is_signed_in()


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("https://comments.example", 303),
        ("http://comments.example", 303),
        ("null", 303),
        ("https://blog.example", 403),
        ("https://comments.example.evil.example", 403),
        ("https://comments.example:8443", 403),
        ("comments.example", 403),
        ("http://[", 403),
        ("", 403),
    ],
)
def test_an_old_browser_is_judged_by_its_origin(seat: Seat, origin: str, status: int) -> None:
    token = seat.csrf_token()
    del_site = {"sec_fetch_site": "", "origin": origin}
    request = {name: value for name, value in del_site.items() if value or name == "origin"}
    answer = seat.service.form(
        "/moderation/sign-out",
        f"csrf_token={token}",
        host="comments.example",
        cookie=f"{COOKIE}={seat.cookies[COOKIE]}",
        **request,
    )
    assert answer.status == status


def test_a_form_without_any_word_of_its_page_is_refused(seat: Seat) -> None:
    answer = seat.service.form(
        "/moderation/sign-out",
        f"csrf_token={seat.csrf_token()}",
        host="comments.example",
        cookie=f"{COOKIE}={seat.cookies[COOKIE]}",
    )
    assert answer.status == 403


@pytest.mark.parametrize("token", [None, "", "0" * 32, "é", "\udcff"])
def test_a_form_without_its_token_is_refused(
    service: Served, seat: Seat, token: str | None
) -> None:
    for page in pages(service, "POST"):
        fields = {} if token is None else {"csrf_token": token.encode(errors="surrogateescape")}
        assert seat.post(page, fields).status in (400, 403), page
    assert seat.is_signed_in()


def test_the_token_of_another_browser_is_refused(service: Served, seat: Seat) -> None:
    assert seat.post("sign-out", {"csrf_token": Seat(service).csrf_token()}).status == 403
    assert seat.is_signed_in()


def test_a_form_without_a_cookie_hears_why(service: Served) -> None:
    answer = Seat(service).post("sign-in", {"name": "ann"})
    assert answer.status == 403
    assert "https://" in text(answer)
    assert "cookie" in text(answer)


@pytest.mark.parametrize("body", [b"", b"a" * 200_000, b"&" * 1_000, b"form=%ff", b"\xff\xfe"])
def test_an_odd_form_is_refused_by_a_page(service: Served, seat: Seat, body: bytes) -> None:
    for page in pages(service, "POST"):
        answer = service.ask(
            "POST",
            f"/moderation/{page}",
            body,
            host="comments.example",
            sec_fetch_site="same-origin",
            content_type="application/x-www-form-urlencoded",
            cookie=f"{COOKIE}={seat.cookies[COOKIE]}",
        )
        assert answer.status in (400, 403), page
        assert "<h1>" in text(answer)
    assert seat.is_signed_in()


def test_json_is_no_form(seat: Seat) -> None:
    assert seat.post("sign-out", {}, content_type="application/json").status == 415
    assert seat.is_signed_in()


def test_nothing_is_done_by_reading(service: Served, seat: Seat) -> None:
    """Mail scanners and prefetching browsers follow links, so a GET must not change anything."""
    for page in pages(service, "POST"):
        assert seat.get(page).status in (200, 303, 404, 405, 410), page
    assert seat.is_signed_in()


def test_a_forged_cookie_signs_nobody_in(service: Served, seat: Seat) -> None:
    good = seat.cookies[COOKIE]
    token = Cookies([b"another key" * 4]).visit(b"r" * 32)[1].partition(";")[0].partition("=")[2]
    for forged in ("", "x", "1.x", token, good[:-3], good.partition(".")[0], good.swapcase()):
        seat.cookies[COOKIE] = forged
        assert not seat.is_signed_in(), forged
    seat.cookies[COOKIE] = good
    assert seat.is_signed_in()


def test_a_visitors_cookie_is_no_session(service: Served, seat: Seat) -> None:
    """We signed the cookie, but nobody has signed in with it."""
    stranger = Seat(service)
    stranger.get("sign-in")
    assert stranger.cookies[COOKIE] != seat.cookies[COOKIE]
    assert not stranger.is_signed_in()


def test_an_expired_session_is_none(service: Served, seat: Seat) -> None:
    service.now = NOW + 6.9 * DAY
    assert seat.is_signed_in()
    service.now = NOW + 13 * DAY
    assert seat.is_signed_in(), "it was used a week ago"
    service.now = NOW + 20.1 * DAY
    assert not seat.is_signed_in()


def test_a_session_ends_after_a_month_however_much_it_is_used(service: Served, seat: Seat) -> None:
    for day in range(30):
        service.now = NOW + day * DAY
        assert seat.is_signed_in()
    service.now = NOW + 30 * DAY
    assert not seat.is_signed_in()


def test_a_session_that_is_used_all_the_time_is_noted_seldom(service: Served, seat: Seat) -> None:
    def seen() -> int:
        sql = "SELECT seen_at FROM session"
        return int(service.database.read_now(lambda r: r.execute(sql).fetchone())[0])

    service.now = NOW + sessions.TOUCH / 1_000 - 1
    seat.get("account")
    assert seen() == NOW * 1_000
    service.now = NOW + sessions.TOUCH / 1_000
    seat.get("account")
    assert seen() == service.now * 1_000


def test_who_comes_from_another_site_is_let_in_by_the_next_request(
    service: Served, seat: Seat
) -> None:
    """After a link in a web mailer, a browser sends the cookie only when our page asks again."""
    answer = Seat(service).get("account?done=session", sec_fetch_site="cross-site")
    assert answer.status == 200
    assert header(answer, "Refresh") == "0"
    assert 'href="account?done=session"' in text(answer)
    assert not any(name == "Set-Cookie" for name, _ in answer.headers)


def test_what_a_stranger_writes_into_the_address_stays_text(service: Served) -> None:
    hostile = 'account?"><script>alert(1)</script>'
    html = text(Seat(service).get(hostile, sec_fetch_site="cross-site"))
    assert "<script>" not in html
    html = text(Seat(service).get('sign-in?to="><script>alert(1)</script>'))
    assert "<script>" not in html


TYPED = "It's <kept>, &\nwith a second line"
LINE = "kept & <typed>"
# The forms of the moderation pages into which texts are typed.
WRITTEN: dict[str, dict[str, str]] = {
    "answer": {"answer": "1", "text.1": TYPED, "text.2": "", "back": "queue"},
    "decide": {"one": "approve.1", "text.1": TYPED, "back": "queue"},
    "edit": {"id": "1", "message": TYPED},
    "internal-note": {"id": "1", "internal": TYPED},
    "replies": {"id": "", "name": LINE, "message": TYPED},
    "notes": {"id": "1", "do": "answer", "message": TYPED},
    "settings": {
        "group": "words",
        "site": "",
        "seen": "0",
        "text.spam.words": TYPED,
        "password": PASSWORD,
    },
    "thread": {"id": "1", "do": "title", "value": LINE},
    "ban": {"kind": "word", "value": LINE, "days": ""},
    "profile": {"public_name": LINE, "site": ""},
    "address": {"email": "kept@blog.example", "password": PASSWORD},
    "tokens": {"do": "make", "name": LINE, "scope": "read", "password": PASSWORD},
    "passkeys": {"do": "begin", "name": LINE, "password": PASSWORD},
    "invite": {"role": "moderator", "email": "kept@blog.example", "password": PASSWORD},
    "sign-in": {"name": "kept", "password": PASSWORD, "to": "queue"},
}


def signed_out_elsewhere(service: Served, seat: Seat) -> None:
    seat.send("sign-out")


def signed_in_again_elsewhere(service: Served, seat: Seat) -> None:
    seat.send("sign-out")
    seat.sign_in()


def cookie_gone(service: Served, seat: Seat) -> None:
    seat.cookies.clear()


def session_expired(service: Served, seat: Seat) -> None:
    service.now += 400 * DAY


def signed_out_everywhere(service: Served, seat: Seat) -> None:
    service.database.write_now(lambda tx: tx.execute("DELETE FROM session"))


ENDS = [
    signed_out_elsewhere,
    signed_in_again_elsewhere,
    cookie_gone,
    session_expired,
    signed_out_everywhere,
]


def typed_texts(fields: dict[str, str]) -> set[str]:
    return {each for each in fields.values() if "kept" in each}


def form_of(page: str) -> tuple[str, dict[str, str]]:
    """Return the address and the fields of the form that sends a text again."""
    [form] = re.findall(r'<form class="fields wide".*?</form>', page, re.DOTALL)
    action = re.search(r'action="([^"]*)"', form)
    assert action
    inputs = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)">', form)
    areas = re.findall(r'<textarea name="([^"]*)"[^>]*>\n(.*?)</textarea>', form, re.DOTALL)
    fields = {name: unescape(value) for name, value in [*inputs, *areas]}
    return unescape(action[1]), fields


@pytest.mark.sqlite_only("the next test has each end with both")
@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.__name__)
@pytest.mark.parametrize("page", WRITTEN)
def test_no_text_is_lost_whatever_ended(
    service: Served, seat: Seat, page: str, end: Callable[[Served, Seat], None]
) -> None:
    service.submit("Hello", author="Bob")
    fields, token = WRITTEN[page], seat.csrf_token()
    end(service, seat)
    answer = seat.post(page, {"csrf_token": token} | fields)
    assert answer.status >= 400 or page == "sign-in", answer.status
    html = text(answer)
    assert PASSWORD not in html
    assert "csrf_token" in html
    for each in typed_texts(fields):
        assert str(escape(each)) in html
    for lines in re.findall(r'<input type="text"[^>]*value="([^"]*)"', html):
        assert "\n" not in lines, "a browser would make one line of them"
    assert all("kept" not in value for _, value in answer.headers), "it is in no address"


@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.__name__)
def test_an_answer_is_sent_after_signing_in_again(
    service: Served, seat: Seat, end: Callable[[Served, Seat], None]
) -> None:
    service.submit("Hello", author="Bob")
    token = seat.csrf_token()
    end(service, seat)
    first = text(seat.post("answer", {"csrf_token": token} | WRITTEN["answer"]))
    assert ("not signed in" in first or "our cookie" in first) or seat.is_signed_in()
    if not seat.is_signed_in():  # in another window, by the link
        assert '<a class="button" href="sign-in" target="_blank">' in first
        assert seat.sign_in().status == 303
    action, fields = form_of(first)
    again = seat.post(action, fields)
    if again.status == 403:  # signing in made another cookie
        action, fields = form_of(text(again))
        again = seat.post(action, fields)
    assert again.status == 303
    assert service.stored()[0].comment.source == TYPED


def test_a_text_of_another_site_is_not_shown(service: Served, seat: Seat) -> None:
    fields = {"csrf_token": "0"} | WRITTEN["edit"]
    for site in ({"sec_fetch_site": "cross-site"}, {"sec_fetch_site": "same-site"}):
        assert "kept" not in text(seat.post("edit", fields, **site))


def test_a_text_is_shown_again_where_the_database_fails(
    service: Served, seat: Seat, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = seat.csrf_token()

    def fail(*_: object) -> None:
        raise DatabaseBusy("it is locked")

    for method in ("read_now", "write"):
        with monkeypatch.context() as broken:
            broken.setattr(service.database, method, fail)
            answer = seat.post("edit", {"csrf_token": token} | WRITTEN["edit"])
        assert answer.status == 503
        action, fields = form_of(text(answer))
        assert (action, fields["message"]) == ("edit", TYPED)


@pytest.mark.sqlite_only("it is about a page")
@pytest.mark.parametrize(
    ("page", "wrong"),
    [
        ("edit", {"message": f"{TYPED}{'x' * 500}"}),
        ("answer", {"text.1": f"{TYPED}{'x' * 500}"}),
        ("profile", {"public_name": f"{LINE}{'x' * 100}"}),
        ("profile", {"site": "kept"}),
        ("ban", {"kind": "network"}),
        ("thread", {"do": "move", "value": "https://other.example/kept"}),
        ("thread", {"do": "alias", "value": "https://other.example/kept"}),
        ("address", {"password": "wrong"}),
        ("address", {"email": "kept"}),
        ("tokens", {"password": "wrong"}),
        ("passkeys", {"password": "wrong"}),
        ("thread", {"do": "merge", "value": "https://other.example/kept", "sure": "yes"}),
        ("invite", {"email": "kept"}),
        ("sign-in", {"password": "wrong"}),
    ],
)
def test_a_form_that_is_refused_holds_its_texts(
    service: Served, seat: Seat, page: str, wrong: dict[str, str]
) -> None:
    service.submit("Hello", author="Bob")
    fields = WRITTEN[page] | wrong
    answer = seat.send(page, **fields)
    assert answer.status >= 400, header(answer, "Location")
    for each in typed_texts(fields):
        assert str(escape(each)) in text(answer)

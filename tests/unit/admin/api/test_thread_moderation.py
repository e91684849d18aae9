"""Moderation on a blog's page: the way there, what its token allows, and every way to misuse it."""

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from html import unescape
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from commentsvc.auth import blog_sessions
from commentsvc.db.connection import Transaction
from commentsvc.db.schema.comments import BlogSessionTable
from commentsvc.http.messages import Response
from commentsvc.moderation import in_thread, private_notes, profiles
from commentsvc.settings.schema import Site
from tests.unit.admin_client import PASSWORD, Seat, employ, header, seated, text
from tests.unit.app_fixture import SETTINGS, Served, data, served
from tests.unit.database_fixture import add

BASE = "/api/thread-moderation"
BLOG, NOTES = "https://blog.example", "https://notes.example"
PAGE = f"{BLOG}/p/"
WORD = "a-random-word-of-this-browser-01"
_numbers = count()
TWO_SITES = replace(
    SETTINGS,
    sites=(
        Site(name="blog", origins=(BLOG, "http://plain.example"), private_notes=True),
        Site(name="notes", origins=(NOTES,)),
    ),
)
# Their texts, and what else they have.
WAITING: tuple[tuple[str, dict[str, Any]], ...] = (
    ("Waits", {"email": "eve@home.example"}),
    ("Replies", {"parent": 1}),
    ("There", {"url": "/q/"}),
    ("Elsewhere", {"site": "notes"}),
)


def challenge(word: str = WORD) -> str:
    found = base64.urlsafe_b64encode(hashlib.sha256(word.encode()).digest())
    return found.decode().rstrip("=")


class BlogTab:
    """The widget in a browser's tab: it goes to our page, comes back with a code, and asks."""

    def __init__(self, seat: Seat, page: str = PAGE, origin: str = "") -> None:
        self.seat = seat
        self.page = page
        self.origin = origin or "/".join(page.split("/")[:3])
        self.token = ""
        self.word = WORD

    def code(self) -> str:
        """Agree on our page with a new word; return the code in the address that it leads to."""
        self.word = f"{next(_numbers)}-{WORD}"
        sent = {"page": self.page, "challenge": challenge(self.word)}
        answer = text(self.seat.send("on-blog", **sent))
        found = re.search(r'http-equiv="refresh" content="0; url=([^"]+)"', answer)
        assert found
        back, _, code = unescape(found[1]).partition("#commentsvc-moderator=")
        assert back == self.page
        return code

    def exchange(self, code: str, word: str = "", **headers: str) -> Response:
        fields = {"code": code, "word": word or self.word}
        return self.send("POST", "/session", fields, **headers)

    def enter(self) -> "BlogTab":
        answer = self.exchange(self.code())
        assert answer.status == 201, answer
        self.token = data(answer)["token"]
        return self

    def send(self, method: str, path: str, fields: object = None, **headers: str) -> Response:
        """Send a request as a page at our origin; a header that is "" is left out."""
        sent = {"origin": self.origin, "content_type": "application/json"}
        if self.token:
            sent["authorization"] = f"Bearer {self.token}"
        given = {name: value for name, value in (sent | headers).items() if value}
        body = b"" if fields is None else json.dumps(fields).encode()
        return self.seat.service.ask(method, BASE + path, body, self.seat.peer, **given)

    def waiting(self, url: str = "/p/") -> Any:
        answer = self.send("POST", f"/comments?url={url}")
        assert answer.status == 200, answer
        return data(answer)

    def decide(self, action: str, number: int, seen: int | None = None) -> Any:
        seen = self.waiting()["seen"] if seen is None else seen
        fields = {"action": action, "id": number, "seen": seen}
        answer = self.send("POST", "/decisions", fields)
        assert answer.status == 200, answer
        return data(answer)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Served]:
    """A published comment, 1; waiting ones, 2, its reply 3, and 4 on another page; 5 elsewhere."""
    with served(tmp_path, TWO_SITES) as service:
        add(service.database, url="/p/", source="Shown")
        for number, (text, more) in enumerate(WAITING):
            html = f"<p><em>{text}</em></p>\n"
            fields = {"url": "/p/", "status": "pending", "source": text, "html": html, **more}
            add(service.database, number, **fields)
        yield service


@pytest.fixture
def seat(service: Served) -> Seat:
    """Return the browser of the owner."""
    return seated(service)


@pytest.fixture
def tab(seat: Seat) -> BlogTab:
    return BlogTab(seat).enter()


def shown(service: Served) -> list[str]:
    listed = data(service.get("/api/comments?url=/p/"))
    return [item["content"] for item in listed["data"]]


def test_a_moderator_sees_what_waits_in_its_place_and_readers_do_not(
    service: Served, tab: BlogTab
) -> None:
    found = tab.waiting()
    assert [(item["id"], item["parent"]) for item in found["data"]] == [(2, None), (3, 1)]
    assert found["data"][0]["html"] == "<p><em>Waits</em></p>\n"
    assert found["data"][0]["published"].endswith("Z")
    assert found["moderator"] == "ann"
    assert "more" not in found
    assert shown(service) == ["Shown"]
    assert b"eve@home.example" not in tab.send("POST", "/comments?url=/p/").body


def test_the_answer_is_for_one_origin_and_stored_nowhere(tab: BlogTab) -> None:
    answer = tab.send("POST", "/comments?url=/p/")
    fields = dict(answer.headers)
    assert fields["Cache-Control"] == "no-store"
    assert (fields["Access-Control-Allow-Origin"], fields["Vary"]) == (BLOG, "Origin")
    assert "Access-Control-Allow-Credentials" not in fields
    assert not answer.tags


def test_approving_shows_a_comment_at_once_and_undoing_hides_it(
    service: Served, tab: BlogTab
) -> None:
    assert shown(service) == ["Shown"]
    service.purged.clear()
    made = tab.decide("approve", 2)
    assert made["done"]
    assert any("/p/" in tag for tag in service.purged), "the cached list is gone"
    assert shown(service) == ["Shown", "Waits"]
    undone = tab.send("DELETE", f"/decisions/{made['decision']}")
    assert data(undone) == {"decision": 0, "done": True}
    assert shown(service) == ["Shown"]
    assert tab.send("DELETE", f"/decisions/{made['decision']}").status == 409


def test_deleting_is_for_waiting_and_published_comments(service: Served, tab: BlogTab) -> None:
    assert tab.decide("delete", 2)["done"]
    made = tab.decide("delete", 1)
    assert shown(service) == []
    tab.send("DELETE", f"/decisions/{made['decision']}")
    assert shown(service) == ["Shown"]


def test_an_answer_has_the_badge_and_approves_its_comment(service: Served, tab: BlogTab) -> None:
    fields = {"message": "Thank you!", "seen": tab.waiting()["seen"]}
    answer = tab.send("POST", "/comments/2/answers", fields)
    made = data(answer)
    assert made["done"]
    assert made["decision"]
    listed = data(service.get("/api/comments?url=/p/"))["data"]
    assert [(item["content"], item.get("role")) for item in listed] == [
        ("Shown", None),
        ("Waits", None),
        ("Thank you!", "owner"),
    ]
    assert listed[2]["id"] == made["id"]
    assert tab.send("POST", "/comments/2/answers", {"message": " ", "seen": 0}).status == 400


def test_a_comment_is_pinned_and_unpinned(service: Served, tab: BlogTab) -> None:
    assert tab.send("PUT", "/comments/1/pin").status == 204
    assert data(service.get("/api/comments?url=/p/"))["data"][0]["pinned"]
    assert tab.send("PUT", "/comments/3/pin").status == 409, "a reply, which waits"
    assert tab.send("DELETE", "/comments/1/pin").status == 204
    assert "pinned" not in data(service.get("/api/comments?url=/p/"))["data"][0]


# ---- two moderators at once


def test_nobody_overrules_what_he_did_not_see(service: Served, tab: BlogTab) -> None:
    employ(service, "mo")
    other = Seat(service)
    other.sign_in("mo")
    seen = tab.waiting()["seen"]
    other.send("decide", one="spam.2", seen=seen)
    for action in ("approve", "delete"):
        left = tab.decide(action, 2, seen)
        assert (left["done"], left["actor"]) == (False, "mo")
    fields = {"message": "Hello", "seen": seen}
    assert tab.send("POST", "/comments/2/answers", fields).status == 409, "it is spam"
    assert [entry.comment.status for entry in service.stored() if entry.comment.id == 2] == ["spam"]


def test_a_text_that_was_changed_meanwhile_is_not_approved(service: Served, tab: BlogTab) -> None:
    token = data(service.submit("Mine", parent=None, author="Rosa"))["token"]
    seat = tab.seat
    seat.send("decide", one="delete.6")
    seat.send("decide", one="restore.6")
    service.database.write_now(_wait, 6)
    seen = tab.waiting()["seen"]
    sent = {"message": "Another text"}
    headers = {"authorization": f"Bearer {token}", "content_type": "application/json"}
    service.ask("PATCH", "/api/comments/6", json.dumps(sent).encode(), **headers)
    left = tab.decide("approve", 6, seen)
    assert (left["done"], left["edited"]) == (False, True)
    fields = {"message": "Hello", "seen": seen}
    left = data(tab.send("POST", "/comments/6/answers", fields))
    assert (left["done"], left["edited"]) == (False, True)
    assert tab.decide("approve", 6)["done"], "it was read again"


def _wait(tx: Transaction, number: int) -> None:
    from commentsvc.moderation import changes

    changes.change(tx, [number], "pending", "ann", 1)


def test_only_own_decisions_of_this_sign_in_are_undone(service: Served, tab: BlogTab) -> None:
    tab.seat.send("decide", one="spam.3")
    of_queue = service.database.read_now(lambda s: s.last_id("change"))
    employ(service, "mo")
    other = Seat(service)
    other.sign_in("mo")
    other.send("decide", one="spam.2")
    assert tab.send("DELETE", f"/decisions/{of_queue + 1}").status == 409
    service.now += 60
    again = BlogTab(tab.seat).enter()
    assert again.send("DELETE", f"/decisions/{of_queue}").status == 409
    assert again.send("DELETE", "/decisions/999").status == 409


def test_what_is_spam_or_deleted_is_out_of_reach(service: Served, tab: BlogTab) -> None:
    for verb in ("spam", "delete"):
        tab.seat.send("decide", one=f"{verb}.2")
        for action in ("approve", "delete"):
            assert not tab.decide(action, 2)["done"]


# ---- misuse of the token


def test_a_token_of_one_site_does_nothing_on_another(service: Served, tab: BlogTab) -> None:
    assert tab.send("POST", "/comments?url=/p/&site=notes").status == 403
    assert tab.send("POST", f"/comments?url={NOTES}/p/").status in (400, 403)
    for path in ("/comments/5/pin",):
        assert tab.send("PUT", path).status == 404
    seen = tab.waiting()["seen"]
    decision = {"action": "approve", "id": 5, "seen": seen}
    assert tab.send("POST", "/decisions", decision).status == 404
    assert tab.send("POST", "/comments/5/answers", {"message": "x", "seen": seen}).status == 404
    tab.seat.send("decide", one="approve.5")
    made = service.database.read_now(lambda s: s.last_id("change"))
    assert tab.send("DELETE", f"/decisions/{made}").status == 409
    assert tab.send("POST", "/comments?url=/p/", origin=NOTES).status == 403


@pytest.mark.parametrize("origin", ["", "null", NOTES, "https://evil.example", f"{BLOG}.evil"])
def test_no_other_origin_uses_a_token_or_a_code(tab: BlogTab, origin: str) -> None:
    assert tab.exchange(tab.code(), origin=origin).status == 401
    for method, path in (("POST", "/comments?url=/p/"), ("DELETE", "/session")):
        answer = tab.send(method, path, origin=origin)
        assert answer.status == 403
        assert dict(answer.headers)["Cache-Control"] == "no-store"
    assert tab.waiting()["data"]


def test_an_origin_that_the_site_no_longer_has_is_refused(tab: BlogTab) -> None:
    tab.origin = "https://former.example"
    row = BlogSessionTable.update(origin=tab.origin)
    tab.seat.service.database.write_now(lambda tx: tx.change(row))
    assert tab.send("POST", "/comments?url=/p/").status == 403


def test_a_token_is_no_api_token_no_cookie_and_no_readers_token(tab: BlogTab) -> None:
    service, bearer = tab.seat.service, f"Bearer {tab.token}"
    for method, path in (
        ("GET", "/api/moderation/comments"),
        ("GET", "/api/reader?url=/p/"),
        ("DELETE", "/api/comments/1"),
    ):
        assert service.ask(method, path, origin=BLOG, authorization=bearer).status == 401
    without = tab.send("POST", "/comments?url=/p/", authorization="", cookie=tab.token)
    assert without.status == 401


@pytest.mark.parametrize("name", ["token", "access_token", "authorization"])
def test_a_token_in_an_address_is_refused(tab: BlogTab, name: str) -> None:
    answer = tab.send("POST", f"/comments?url=/p/&{name}={tab.token}", authorization="")
    assert answer.status == 400


def test_the_session_of_the_moderation_pages_does_not_count_here(tab: BlogTab) -> None:
    cookie = "; ".join(f"{name}={value}" for name, value in tab.seat.cookies.items())
    answer = tab.send("POST", "/comments?url=/p/", authorization="", cookie=cookie)
    assert answer.status == 401


def test_guessing_tokens_is_limited(tab: BlogTab) -> None:
    statuses = [
        tab.send("POST", "/comments?url=/p/", authorization=f"Bearer csb_{number}").status
        for number in range(25)
    ]
    assert statuses == [401] * 20 + [429] * 5


def test_guessing_codes_is_limited_and_writes_nothing(
    tab: BlogTab, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = tab.code()
    monkeypatch.setattr(tab.seat.service.database, "write", None)
    given = [(f"{code}{number}", tab.word) for number in range(15)]
    given += [(code, f"another-word-of-another-browser-{number}") for number in range(10)]
    assert [tab.exchange(*each).status for each in given] == [401] * 20 + [429] * 5


# ---- when it ends


def is_over(tab: BlogTab) -> bool:
    answer = tab.send("POST", "/comments?url=/p/")
    assert answer.status in (200, 401, 403)
    return answer.status != 200


def test_it_ends_with_the_sign_out(tab: BlogTab) -> None:
    tab.seat.send("sign-out")
    assert is_over(tab)


def test_a_browser_that_was_signed_out_meanwhile_gets_no_token(tab: BlogTab) -> None:
    code = tab.code()
    tab.seat.send("sign-out")
    assert tab.exchange(code).status == 401
    tab.seat.service.now += 1
    tab.seat.sign_in()
    assert tab.exchange(code).status == 401, "another session has the number"


def test_it_ends_when_somebody_signs_in_anew_in_that_browser(tab: BlogTab) -> None:
    tab.seat.sign_in()
    assert is_over(tab)


def test_it_ends_when_all_is_signed_out(tab: BlogTab) -> None:
    tab.seat.send("credentials", everywhere="1", password=PASSWORD)
    assert is_over(tab)


def test_it_ends_with_a_new_password(tab: BlogTab) -> None:
    new = "four words are better"
    tab.seat.send("password", password=PASSWORD, new=new, again=new)
    assert is_over(tab)


def test_it_ends_on_the_account_page_which_lists_it(service: Served, tab: BlogTab) -> None:
    page = text(tab.seat.get("account"))
    assert f"<strong>{BLOG}</strong>" in page
    [row] = service.database.read_now(blog_sessions.of_moderator, 1, int(service.now * 1_000))
    tab.seat.send("credentials", remove=f"blog.{row.id}")
    assert is_over(tab)
    assert BLOG not in text(tab.seat.get("account"))


def test_nobody_ends_the_session_of_another_account(service: Served, tab: BlogTab) -> None:
    employ(service, "mo")
    other = Seat(service)
    other.sign_in("mo")
    other.send("credentials", remove="blog.1")
    assert not is_over(tab)


def test_the_widget_ends_it(tab: BlogTab) -> None:
    assert tab.send("DELETE", "/session").status == 204
    assert is_over(tab)


def test_it_ends_after_two_hours(service: Served, tab: BlogTab) -> None:
    service.now += 2 * 3_600 - 1
    assert not is_over(tab)
    service.now += 1
    assert is_over(tab)


def test_a_role_that_was_taken_away_counts_at_once(service: Served) -> None:
    employ(service)
    employ(service, "mo")
    seat = Seat(service)
    seat.sign_in("mo")
    tab = BlogTab(seat).enter()
    for role, sites in (("viewer", []), ("moderator", ["notes"])):
        service.database.write_now(profiles.assign, "mo", role, sites)
        assert tab.send("POST", "/comments?url=/p/").status == 403
        decision = {"action": "approve", "id": 2, "seen": 9}
        assert tab.send("POST", "/decisions", decision).status == 403
    service.database.write_now(profiles.assign, "mo", "moderator", ["blog"])
    assert not is_over(tab)
    service.database.write_now(profiles.remove, "mo")
    assert is_over(tab)


def test_a_viewer_gets_no_token(service: Served) -> None:
    employ(service)
    employ(service, "kim")
    service.database.write_now(profiles.assign, "kim", "viewer", [])
    seat = Seat(service)
    seat.sign_in("kim")
    assert seat.get(f"on-blog?page={PAGE}&challenge={challenge()}").status == 403


# ---- the code


def test_a_code_works_once_in_the_browser_that_asked_and_for_two_minutes(
    service: Served, tab: BlogTab
) -> None:
    code = tab.code()
    assert tab.exchange(code, "another-word-of-another-browser-1").status == 401
    assert tab.exchange(code + "x").status == 401
    assert tab.exchange(code).status == 201
    assert tab.exchange(code).status == 401
    late = tab.code()
    service.now += 120
    assert tab.exchange(late).status == 401


def test_a_challenge_is_made_as_rfc_7636_says() -> None:
    """The example of its appendix B."""
    word = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    assert blog_sessions.challenge(word) == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"


def test_old_sessions_of_an_account_make_room(service: Served, seat: Seat) -> None:
    first = BlogTab(seat).enter()
    for _ in range(blog_sessions.MOST):
        last = BlogTab(seat).enter()
    assert is_over(first)
    assert not is_over(last)
    now = int(service.now * 1_000)
    found = service.database.read_now(blog_sessions.of_moderator, 1, now)
    assert len(found) == blog_sessions.MOST


# ---- our page


@pytest.mark.parametrize(
    "page",
    [
        "",
        "/p/",
        "https://evil.example/p/",
        f"{BLOG}.evil.example/",
        f"{BLOG}@evil.example/",
        f"{BLOG}\\@evil.example/",
        "javascript:alert(1)//https://blog.example/",
        "http://blog.example/p/",
        "http://plain.example/p/",
    ],
)
def test_no_other_page_gets_a_code(seat: Seat, page: str) -> None:
    sent = {"page": page, "challenge": challenge()}
    assert seat.send("on-blog", **sent).status == 404
    assert seat.get(f"on-blog?page={page}&challenge={challenge()}").status == 404


@pytest.mark.parametrize(
    "query",
    ["to=https://evil.example", "to=HTTP%3A%2F%2Fevil.example", "a=1&to=%2f%2Fevil.example"],
)
def test_an_address_that_may_lead_elsewhere_gets_no_code(seat: Seat, query: str) -> None:
    """Such as that of an open redirect."""
    page = f"{BLOG}/out?{query}"
    answer = seat.send("on-blog", page=page, challenge=challenge())
    assert answer.status == 404
    assert "contains another one" in text(answer)
    assert seat.send("on-blog", page=f"{BLOG}/?p=1", challenge=challenge()).status == 200


def test_our_page_names_the_whole_address(seat: Seat) -> None:
    answer = seat.get(f"on-blog?page={BLOG}/a/post/%3Fp=1&challenge={challenge()}")
    assert f"<bdi>{BLOG}/a/post/?p=1</bdi>" in text(answer)


@pytest.mark.parametrize("given", ["", "x", "a" * 44, "é" * 43, challenge() + "\n"])
def test_a_challenge_is_a_digest(seat: Seat, given: str) -> None:
    assert seat.send("on-blog", page=PAGE, challenge=given).status == 404


def test_our_page_cannot_be_framed_gives_nothing_away_and_only_a_form_agrees(seat: Seat) -> None:
    answer = seat.get(f"on-blog?page={PAGE}&challenge={challenge()}")
    fields = dict(answer.headers)
    assert "frame-ancestors 'none'" in fields["Content-Security-Policy"]
    assert fields["X-Frame-Options"] == "DENY"
    assert fields["Referrer-Policy"] == "no-referrer"
    assert fields["Cross-Origin-Opener-Policy"] == "same-origin"
    assert "commentsvc-moderator=" not in text(answer)
    sent = {"page": PAGE, "challenge": challenge()}
    assert seat.post("on-blog", sent).status == 403, "without the token of the form"
    forged = {**sent, "csrf_token": seat.csrf_token()}
    assert seat.post("on-blog", forged, sec_fetch_site="cross-site").status == 403
    assert seat.post("on-blog", forged, sec_fetch_site="same-site").status == 403


def test_who_is_not_signed_in_signs_in_first(service: Served) -> None:
    employ(service)
    answer = Seat(service).get(f"on-blog?page={PAGE}&challenge={challenge()}")
    assert answer.status == 303
    assert header(answer, "Location").startswith("sign-in?to=on-blog%3F")


def test_a_moderator_of_one_site_moderates_there_only(service: Served) -> None:
    employ(service)
    employ(service, "mo")
    service.database.write_now(profiles.assign, "mo", "moderator", ["notes"])
    seat = Seat(service)
    seat.sign_in("mo")
    assert seat.send("on-blog", page=PAGE, challenge=challenge()).status == 403
    tab = BlogTab(seat, f"{NOTES}/p/").enter()
    assert [item["content"] for item in tab.waiting()["data"]] == ["Elsewhere"]


# ---- bounds, and what is never shown


def test_a_long_queue_of_a_page_is_cut(
    service: Served, tab: BlogTab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(in_thread, "SHOWN", 1)
    found = tab.waiting()
    assert ([item["id"] for item in found["data"]], found["more"]) == ([2], True)


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/session"), ("POST", "/decisions"), ("POST", "/comments/2/answers")],
)
def test_bodies_are_bounded_and_checked(tab: BlogTab, method: str, path: str) -> None:
    wrong: list[object] = [{"x": "y" * 9_000}, [], {}, {"action": "spam", "id": 2, "seen": 1}]
    for fields in wrong:
        assert tab.send(method, path, fields).status == 400
    assert tab.send(method, path, {}, content_type="text/plain").status == 415


def test_private_notes_and_internal_notes_are_never_shown(service: Served, tab: BlogTab) -> None:
    fields = {"url": "/p/", "author": "Eve", "message": "Between us"}
    assert service.post("/api/notes", fields).status == 202
    assert service.database.read_now(private_notes.count_new, None) == 1
    tab.seat.send("internal-note", id=2, internal="Watch her")
    answer = tab.send("POST", "/comments?url=/p/")
    assert b"Between us" not in answer.body
    assert b"Watch her" not in answer.body
    assert len(data(answer)["data"]) == 2

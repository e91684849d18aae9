"""The JSON API of moderation: what each token may do, and the effect of each request."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from commentsvc.admin.api import queue_stream
from commentsvc.auth import accounts, api_tokens
from commentsvc.comments import search
from commentsvc.db.errors import DatabaseBusy
from commentsvc.http.messages import Response
from commentsvc.moderation import profiles, statements
from commentsvc.util.timestamps import DAY_MS
from tests.unit.admin_client import HASH, PASSWORD, Seat, seated
from tests.unit.app_fixture import Served, data, served
from tests.unit.database_fixture import add

BASE = "/api/moderation"
# Which scopes may do it, and on which sites; the last letter stands for a token of one site.
TABLE = {
    "GET /comments": "rda1",
    "GET /comments/{id}": "rda1",
    "PATCH /comments/{id}": "da1",
    "POST /comments/{id}/answers": "da1",
    "PUT /comments/{id}/pin": "da1",
    "PUT /comments/{id}/language": "da1",
    "DELETE /comments/{id}/pin": "da1",
    "POST /decisions": "da1",
    "DELETE /decisions/{id}": "da1",
    "GET /threads": "rda1",
    "POST /threads/{id}": "da1",
    "GET /bans": "rda",
    "POST /bans": "da",
    "DELETE /bans/{id}": "da",
    "POST /bans/{id}/comments": "da",
    "GET /outbox": "rda",
    "POST /outbox/{id}/retry": "da",
    "GET /days": "rda1",
    "GET /settings": "rda",
    "GET /settings/everyday": "rda",
    "POST /settings/changes": "a",
    "POST /settings/changes/{id}/undo": "a",
    "GET /accounts": "a",
    "PUT /accounts/{id}/role": "a",
    "DELETE /accounts/{id}": "a",
    "GET /invitations": "a",
    "POST /invitations": "a",
    "DELETE /invitations/{id}": "a",
    "GET /tokens": "a",
    "POST /tokens": "a",
    "DELETE /tokens/{id}": "a",
    "GET /credentials": "a",
    "POST /credentials/remove": "a",
    "POST /downloads": "a",
    "GET /profile": "rda1",
    "PATCH /profile": "da1",
    "GET /stream": "rda1",
}
SCOPES = {"r": "read", "d": "decide", "a": "administer", "1": "decide"}


class Program:
    """A client of the API with a token of the account `name`."""

    def __init__(
        self, service: Served, scope: str, sites: str = "", name: str = "rosa", days: int = 7
    ) -> None:
        self.service = service
        self.token, digest = api_tokens.new_token(f"{scope}{sites}{name}{days}".encode() * 2)
        owner = service.database.read_now(accounts.named, name).id
        now = int(service.now * 1_000)
        offer = api_tokens.offer(owner, "test", scope, sites, now, days)
        service.database.write_now(api_tokens.add, offer, digest)

    def ask(self, method: str, path: str, **sent: Any) -> Response:
        body = json.dumps(sent).encode() if sent else b""
        return self.service.ask(
            method,
            BASE + path,
            body,
            authorization=f"Bearer {self.token}",
            content_type="application/json",
        )

    def get(self, path: str) -> Any:
        answer = self.ask("GET", path)
        assert answer.status == 200, answer.body
        return data(answer)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path) as service:
        for name in ("rosa", "lea"):
            service.database.write_now(accounts.add, name, HASH, int(service.now * 1_000))
        yield service


def test_every_operation_asks_for_a_token_of_its_scope(service: Served) -> None:
    shown = {
        f"{route.method} {route.pattern.removeprefix(BASE)}" for route in service.programs.routes()
    }
    assert shown == {*TABLE}
    programs = {
        letter: Program(service, scope, "notes" if letter == "1" else "")
        for letter, scope in SCOPES.items()
    }
    for line, permitted in TABLE.items():
        method, path = line.split()
        path = path.replace("{id}", "999")
        assert service.ask(method, BASE + path).status == 401, line
        for letter, program in programs.items():
            answer = program.ask(method, path)
            assert (answer.status == 403) == (letter not in permitted), (line, letter)
            fields = dict(answer.headers)
            assert fields["Cache-Control"] == "no-store", line
            assert "Access-Control-Allow-Origin" not in fields, line
            assert not answer.tags
        preflight = service.ask(
            "OPTIONS",
            BASE + path,
            origin="https://blog.example",
            access_control_request_method=method,
        )
        assert preflight.status == 204
        assert not [name for name, _ in preflight.headers if name.startswith("Access-Control")]


def test_a_token_is_refused_with_the_reason(service: Served) -> None:
    program = Program(service, "read", days=7)

    def code(authorization: str) -> str:
        answer = service.ask("GET", f"{BASE}/comments", authorization=authorization)
        assert dict(answer.headers).get("WWW-Authenticate", "").startswith("Bearer")
        return str(json.loads(answer.body)["error"]["code"])

    good = f"bearer {program.token}"
    assert code("") == code("Basic eDp5") == "no_token"
    assert code("Bearer x") == "token"
    assert service.ask("GET", f"{BASE}/comments", authorization=good).status == 200
    for name in ("token", "access_token"):
        target = f"{BASE}/comments?{name}={program.token}"
        answer = service.ask("GET", target, authorization=good)
        assert (answer.status, b"token_in_address" in answer.body) == (400, True)
    service.now += 7 * DAY_MS / 1_000
    assert code(good) == "token_expired"
    fresh = Program(service, "decide")
    assert fresh.ask("GET", "/comments").status == 200
    service.database.write_now(profiles.assign, "lea", "owner", ())
    service.database.write_now(profiles.assign, "rosa", "viewer", ())
    assert fresh.ask("POST", "/decisions", action="spam", ids=[1]).status == 403, "the role counts"
    service.database.write_now(profiles.remove, "rosa")
    assert code(f"Bearer {fresh.token}") == "token"


def test_guesses_are_limited_and_good_tokens_are_not(service: Served) -> None:
    program = Program(service, "read")
    wrong = [
        service.ask("GET", f"{BASE}/bans", authorization=f"Bearer guess{n}") for n in range(21)
    ]
    assert [each.status for each in wrong] == [401] * 20 + [429]
    assert data(wrong[20])["error"]["message"].endswith(" Try again in 3 minutes.")
    assert int(dict(wrong[-1].headers)["Retry-After"]) > 0
    assert program.ask("GET", "/bans").status == 200


def test_the_use_of_a_token_is_noted(service: Served) -> None:
    program = Program(service, "read")
    service.now += 60
    program.get("/comments")
    [token] = service.database.read_now(api_tokens.of_moderator, 1)
    assert token.used_at == int(service.now * 1_000)
    rows = service.database.read_now(
        lambda snapshot: snapshot.execute("SELECT * FROM api_token").fetchall()
    )
    assert program.token not in repr(rows)


def test_a_list_is_read_in_pages_and_narrowed(service: Served) -> None:
    database = service.database
    ids = [add(database, status="pending", source="tea").comment.id for _ in range(5)]
    other = add(database, status="pending", site="notes", source="tea").comment.id
    program = Program(service, "read")
    seen, after = [], ""
    while after is not None:
        page = program.get(f"/comments?limit=2&after={after}")
        seen += [each["id"] for each in page["data"]]
        after = page["next"]
    assert seen == [other, *reversed(ids)]
    assert [each["id"] for each in program.get("/comments?site=notes")["data"]] == [other]
    database.write_now(search.index_pending, 100)
    assert len(program.get("/comments?q=tea&limit=3")["data"]) == 3
    here = Program(service, "decide", "notes")
    assert [each["id"] for each in here.get("/comments")["data"]] == [other]
    assert here.get("/comments?site=blog")["data"] == []
    assert here.ask("GET", f"/comments/{ids[0]}").status == 404
    assert here.ask("POST", "/decisions", action="spam", ids=[other, ids[0]]).status == 404
    assert program.ask("GET", "/comments?after=x").status == 400
    assert program.ask("GET", "/comments?limit=101").status == 400


def test_a_token_of_some_sites_changes_nothing_on_others(service: Served) -> None:
    database = service.database
    theirs = add(database, status="pending").comment.id
    program, here = Program(service, "decide"), Program(service, "decide", "notes")
    thread = program.get("/threads")["data"][0]["id"]
    decision = data(program.ask("POST", "/decisions", action="approve", ids=[theirs]))["decision"]
    comment = f"/comments/{theirs}"
    for method, path, sent in (
        ("GET", comment, {}),
        ("PATCH", comment, {"message": "mine"}),
        ("POST", f"{comment}/answers", {"message": "mine"}),
        ("PUT", f"{comment}/pin", {}),
        ("PUT", f"{comment}/language", {"lang": "fr"}),
        ("DELETE", f"{comment}/pin", {}),
        ("POST", "/decisions", {"action": "spam", "ids": [theirs]}),
        ("DELETE", f"/decisions/{decision}", {}),
        ("POST", f"/threads/{thread}", {"do": "state", "value": "closed"}),
    ):
        assert here.ask(method, path, **sent).status in (404, 409), (method, path)
    assert here.get("/threads")["data"] == []
    assert here.get("/days")["pending"] == 0
    [entry] = service.stored()
    assert (entry.comment.status, entry.comment.source) == ("approved", "Hello *you*")


def test_a_decision_may_have_reasons(service: Served) -> None:
    ids = [add(service.database).comment.id for _ in range(2)]
    program = Program(service, "decide")
    asked = {"action": "delete", "ids": ids, "ground": "rules", "reason": "Insults"}
    assert program.ask("POST", "/decisions", **asked).status == 200
    for number in ids:
        [found] = service.database.read_now(statements.of_comment, number)
        assert (found.actor, found.ground, found.message) == ("rosa", "rules", "Insults")
    for wrong in ({"ground": "whim"}, {"reason": "x" * (statements.LENGTH + 1)}):
        assert program.ask("POST", "/decisions", **asked | wrong).status == 400


def test_decisions_do_what_the_pages_do(service: Served) -> None:
    number = add(service.database, status="pending").comment.id
    program = Program(service, "decide")
    made = data(program.ask("POST", "/decisions", action="approve", ids=[number]))
    assert (made["changed"], made["unchanged"]) == ([number], {})
    again = data(program.ask("POST", "/decisions", action="approve", ids=[number]))
    assert again == {"decision": 0, "changed": [], "unchanged": {str(number): "approved"}}
    assert data(program.ask("DELETE", f"/decisions/{made['decision']}"))["changed"] == [number]
    assert program.ask("DELETE", f"/decisions/{made['decision']}").status == 409
    answer = program.ask("POST", f"/comments/{number}/answers", message="Thank *you*")
    assert answer.status == 201
    assert program.ask("PUT", f"/comments/{number}/pin").status == 204
    assert program.ask("DELETE", f"/comments/{number}/pin").status == 204
    assert program.ask("PATCH", f"/comments/{number}", message="Better").status == 200
    shown = program.get(f"/comments/{number}")
    assert shown["comment"]["message"] == "Better"
    assert [each["field"] for each in shown["history"]] == ["text", "status", "status"]
    assert {each["actor"] for each in shown["history"]} == {"rosa"}
    reply = program.get(f"/comments/{data(answer)['id']}")["comment"]
    assert (reply["parent"], reply["role"], reply["author"]) == (number, "owner", "rosa")
    assert program.ask("PATCH", f"/comments/{number}", message="").status == 400
    assert program.ask("PUT", f"/comments/{number}/language", lang="german").status == 400
    changed = data(program.ask("PUT", f"/comments/{number}/language", lang="FR"))
    assert changed["changed"] == [number]
    seen = program.get(f"/comments/{number}")
    assert (seen["comment"]["lang"], seen["history"][0]["field"]) == ("fr", "lang")
    assert program.ask("DELETE", f"/decisions/{changed['decision']}").status == 200
    assert program.get(f"/comments/{number}")["comment"]["lang"] == ""
    assert program.ask("POST", "/decisions", action="approve", ids=[]).status == 400
    assert program.ask("POST", "/decisions", action="erase", ids=[1]).status == 400
    assert program.get("/days")["pending"] == 0


def test_pages_bans_and_accounts_are_managed(service: Served) -> None:
    add(service.database, url="/a/", author="Zoe")
    program = Program(service, "administer")
    [page] = program.get("/threads")["data"]
    path = f"/threads/{page['id']}"
    assert data(program.ask("POST", path, do="state", value="closed"))["state"] == "closed"
    assert program.ask("POST", path, do="state", value="ajar").status == 400
    assert data(program.ask("POST", path, do="move", value="/b/"))["aliases"] == ["/a/"]
    assert program.ask("POST", path, do="alias", value="https://else.example/").status == 400
    ban = data(program.ask("POST", "/bans", kind="author", value="Zoe", days=7))["id"]
    [listed] = program.get("/bans")["data"]
    assert (listed["id"], listed["value"], listed["actor"]) == (ban, "zoe", "rosa")
    assert data(program.ask("POST", f"/bans/{ban}/comments"))["changed"] == [1]
    assert program.ask("DELETE", f"/bans/{ban}").status == 204
    assert program.ask("DELETE", f"/bans/{ban}").status == 404
    assert program.ask("PUT", "/accounts/2/role", role="viewer", sites=["notes"]).status == 204
    assert program.ask("PUT", "/accounts/1/role", role="viewer").status == 409
    assert program.get("/accounts")["data"][0] == {
        "id": 2,
        "name": "lea",
        "role": "viewer",
        "sites": ["notes"],
    }
    assert program.ask("DELETE", "/accounts/2").status == 204
    assert program.ask("DELETE", "/accounts/2").status == 404
    assert program.get("/outbox")["data"] == []
    assert program.ask("POST", "/outbox/1/retry").status == 409
    assert "[moderation]" in program.get("/settings")


def test_a_stream_tells_what_changes_for_its_token_alone(service: Served) -> None:
    program = Program(service, "read", "notes")
    first = program.ask("GET", "/stream")
    assert first.body.endswith(b'data: {"pending":0,"spam":0,"reported":0,"newest":0}\n\n')
    publisher, queue = service.publisher, service.programs.queue
    queue.send_changes()  # before the core has opened the stream
    publisher.followed.add(first.follows)
    add(service.database, status="pending", site="blog")
    queue.send_changes()
    assert publisher.sent == [], "another site's"
    number = add(service.database, status="pending", site="notes").comment.id
    queue.send_changes()
    queue.send_changes()
    event = b'data: {"pending":1,"spam":0,"reported":0,"newest":%d}\n\n' % number
    assert publisher.sent == [(first.follows, event)]
    service.database.write_now(api_tokens.revoke, 1, 1)
    add(service.database, status="pending", site="notes")
    queue.send_changes()
    assert len(publisher.sent) == 1, "it is revoked"
    publisher.followed.clear()
    queue.send_changes()
    assert not queue._sent


def test_a_session_has_a_stream_of_its_own_until_it_ends(service: Served) -> None:
    seat, stranger = seated(service), Seat(service)
    assert stranger.get("stream").status == 303
    first = seat.get("stream")
    assert dict(first.headers)["Content-Type"] == "text/event-stream"
    assert dict(first.headers)["Cache-Control"] == "no-store"
    assert first.group[1] == queue_stream.SESSION_STREAMS
    publisher, queue = service.publisher, service.programs.queue
    publisher.followed.add(first.follows)
    ids = [add(service.database, status="pending").comment.id for _ in range(2)]
    queue.send_changes()
    event = b'data: {"pending":2,"spam":0,"reported":0,"newest":%d,"ids":[%d,%d]}\n\n'
    assert publisher.sent == [(first.follows, event % (ids[1], ids[1], ids[0]))]
    service.database.write_now(profiles.assign, "ann", "moderator", ["notes"])
    queue.send_changes()
    assert (
        publisher.sent[1][1] == b'data: {"pending":0,"spam":0,"reported":0,"newest":0,"ids":[]}\n\n'
    )
    seat.send("sign-out")
    service.database.write_now(profiles.assign, "ann", "moderator", [])
    queue.send_changes()
    assert len(publisher.sent) == 2, "it has ended"


def test_the_streams_of_the_queue_try_a_database_that_is_away_once(
    service: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the event loop each attempt may take long."""
    tried: list[object] = []

    def read_now(work: object, *_: object) -> None:
        tried.append(work)
        raise DatabaseBusy("it is away")

    for name in ("rosa", "lea"):
        opened = Program(service, "read", "notes", name=name).ask("GET", "/stream")
        service.publisher.followed.add(opened.follows)
    queue = service.programs.queue
    monkeypatch.setattr(queue._database, "read_now", read_now)
    queue.send_changes()
    assert len(queue._sent) == 2
    assert len(tried) == 1


def test_owners_invite_by_program_and_the_link_makes_the_account(service: Served) -> None:
    program = Program(service, "administer")

    def invite(**sent: object) -> Response:
        return program.ask("POST", "/invitations", **sent, password=PASSWORD)

    made = data(invite(role="moderator", sites=["notes"]))
    shown = made["invitation"]
    assert (shown["role"], shown["sites"], shown["actor"]) == ("moderator", ["notes"], "rosa")
    assert program.get("/invitations")["data"] == [shown]
    path = made["link"].partition("/moderation/")[2]
    seat = Seat(service)
    assert seat.get(path).status == 200
    sent = {"name": "kim", "password": PASSWORD, "again": PASSWORD, "t": path.partition("t=")[2]}
    assert seat.send("invitation", **sent).status == 303
    kim = next(each for each in program.get("/accounts")["data"] if each["name"] == "kim")
    assert (kim["role"], kim["sites"]) == ("moderator", ["notes"])
    other = data(invite(role="viewer"))["invitation"]["id"]
    for status in (204, 404):
        assert program.ask("DELETE", f"/invitations/{other}").status == status
    assert program.get("/invitations")["data"] == []
    assert invite(role="viewer", sites=["other"]).status == 409
    assert invite(role="viewer", email="nobody").status == 400
    assert invite(role="king").status == 400


def test_an_owners_program_makes_and_revokes_tokens_of_its_account(service: Served) -> None:
    program = Program(service, "administer")
    fields = {"name": "Backup", "scope": "read", "sites": ["notes"], "password": PASSWORD}
    made = data(program.ask("POST", "/tokens", **fields))
    [new, old] = program.get("/tokens")["data"]
    assert (new["id"], new["name"], new["scope"]) == (made["id"], "Backup", "read")
    assert (new["sites"], new["used"], old["used"] is None) == (["notes"], None, False)
    reader = Program(service, "read")
    reader.token = made["token"]
    assert reader.get("/comments")["data"] == []
    assert reader.ask("GET", "/settings").status == 403
    for status in (204, 404):
        assert program.ask("DELETE", f"/tokens/{made['id']}").status == status
    assert reader.ask("GET", "/comments").status == 401
    foreign = Program(service, "read", name="lea")
    number = service.database.read_now(api_tokens.find, foreign.token)
    assert number
    assert program.ask("DELETE", f"/tokens/{number.id}").status == 404
    for wrong in ({"name": ""}, {"scope": "all"}, {"days": 0}):
        assert program.ask("POST", "/tokens", **{**fields, **wrong}).status == 400
    assert program.ask("POST", "/tokens", **{**fields, "sites": ["other"]}).status == 409


def test_a_program_reads_and_changes_the_profile_of_its_account(service: Served) -> None:
    program = Program(service, "decide")
    changed = data(
        program.ask("PATCH", "/profile", public_name="Rosa Miller", site="https://b.example")
    )
    assert (changed["public_name"], changed["site"]) == ("Rosa Miller", "https://b.example")
    assert (changed["name"], changed["role"], changed["sites"]) == ("rosa", "owner", [])
    data(program.ask("PATCH", "/profile", site=""))
    shown = program.get("/profile")
    assert (shown["public_name"], shown["site"]) == ("Rosa Miller", "")
    assert (shown["email"], shown["verified"]) == ("", False)
    assert program.ask("PATCH", "/profile", public_name="lea").status == 409
    assert program.ask("PATCH", "/profile", role="owner").status == 400

"""Every moderation page has an address and a permission, and checks it."""

import re
from pathlib import Path

import pytest

from commentsvc.model import OWNER
from commentsvc.moderation import profiles
from commentsvc.moderation.permissions import OF_ROLE, Permission
from tests.unit.admin_client import Seat, employ, header, text
from tests.unit.app_fixture import Served, served
from tests.unit.database_fixture import add

# The permission that each route needs.
ROUTES = {
    "GET /moderation": "anybody",
    "GET /moderation/sign-in": "anybody",
    "POST /moderation/sign-in": "anybody",
    "POST /moderation/code": "anybody",
    "POST /moderation/passkey": "anybody",
    "POST /moderation/sign-out": "account",
    "GET /moderation/account": "account",
    "POST /moderation/profile": "account",
    "POST /moderation/password": "account",
    "POST /moderation/language": "account",
    "POST /moderation/credentials": "account",
    "POST /moderation/address": "account",
    "GET /moderation/confirm-address": "account",
    "POST /moderation/confirm-address": "account",
    "GET /moderation/factor": "account",
    "POST /moderation/factor": "account",
    "GET /moderation/provider": "anybody",
    "GET /moderation/provider-return": "anybody",
    "GET /moderation/passkeys": "account",
    "POST /moderation/passkeys": "account",
    "GET /moderation/tokens": "account",
    "POST /moderation/tokens": "account",
    "GET /moderation/image": "read",
    "GET /moderation/queue": "read",
    "GET /moderation/comments": "read",
    "GET /moderation/stream": "read",
    "GET /moderation/comment": "read",
    "GET /moderation/threads": "read",
    "GET /moderation/thread": "read",
    "GET /moderation/dashboard": "read",
    "POST /moderation/decide": "decide",
    "POST /moderation/undo": "decide",
    "POST /moderation/answer": "decide",
    "POST /moderation/pin": "decide",
    "POST /moderation/trust": "decide",
    "GET /moderation/sites": "read service",
    "POST /moderation/sites": "administer",
    "GET /moderation/snippet": "read service",
    "POST /moderation/snippet": "administer",
    "GET /moderation/replies": "decide service",
    "POST /moderation/replies": "decide service",
    "POST /moderation/internal-note": "decide",
    "POST /moderation/comment-language": "decide",
    "POST /moderation/edit": "decide",
    "POST /moderation/thread": "decide",
    "GET /moderation/on-blog": "decide",
    "POST /moderation/on-blog": "decide",
    "GET /moderation/notes": "decide",
    "POST /moderation/notes": "decide",
    "GET /moderation/moved": "read",
    "POST /moderation/moved": "decide",
    "GET /moderation/accounts": "administer",
    "POST /moderation/accounts": "administer",
    "POST /moderation/invite": "administer",
    "GET /moderation/invitation": "anybody",
    "GET /moderation/owner": "anybody",
    "POST /moderation/invitation": "anybody",
    "POST /moderation/owner": "anybody",
    "GET /moderation/bans": "read service",
    "GET /moderation/outbox": "read service",
    "GET /moderation/settings": "read service",
    "POST /moderation/settings": "administer",
    "GET /moderation/downloads": "administer",
    "POST /moderation/downloads": "administer",
    "POST /moderation/ban": "decide service",
    "POST /moderation/ban-comments": "decide service",
    "POST /moderation/unban": "decide service",
    "POST /moderation/outbox": "decide service",
}
# What each role may do; the first letter stands for the role below.
ROLES = {
    "anybody": "owner, moderator, viewer, here",
    "account": "owner, moderator, viewer, here",
    "read": "owner, moderator, viewer, here",
    "decide": "owner, moderator, here",
    "read service": "owner, moderator, viewer",
    "decide service": "owner, moderator",
    "administer": "owner",
}


@pytest.fixture
def service(tmp_path: Path) -> Served:  # type: ignore[misc]  # a generator, for pytest
    with served(tmp_path) as service:
        for name in ("owner", "moderator", "viewer", "here"):
            employ(service, name)
        assign(service, "viewer", "viewer")
        assign(service, "here", "moderator", "notes")
        yield service


def assign(service: Served, name: str, role: str, *sites: str) -> None:
    service.database.write_now(profiles.assign, name, role, sites)


def seat(service: Served, name: str) -> Seat:
    browser = Seat(service)
    assert browser.sign_in(name).status == 303
    return browser


def test_every_page_has_an_address_of_its_own_below_moderation(service: Served) -> None:
    routes = [(route.method, route.pattern) for route in service.pages]
    assert len(routes) == len(set(routes))
    assert all(f"{pattern}/".startswith("/moderation/") for _, pattern in routes)


def test_every_route_is_in_the_table_of_permissions(service: Served) -> None:
    routes = {
        f"{route.method} {route.pattern}": str(route.operation and route.operation.permission)
        for route in service.pages
    }
    assert routes == ROUTES
    assert {str(each) for each in Permission} == {*ROLES}
    assert {*OF_ROLE[OWNER]} == {*Permission}


@pytest.mark.parametrize("name", ["owner", "moderator", "viewer", "here"])
def test_each_role_may_do_what_the_table_says_and_nothing_else(service: Served, name: str) -> None:
    browser = seat(service, name)
    for line, permission in ROUTES.items():
        method, path = line.split()
        page = path.removeprefix("/moderation").removeprefix("/")
        if not page or page == "sign-out":
            continue
        answer = browser.get(page) if method == "GET" else browser.send(page)
        refused = "Your account may not do this" in answer.body.decode()
        assert refused == (name not in ROLES[permission].split(", ")), line
        assert (answer.status == 403) >= refused, line
    shown = re.findall(r'<li><a href="([a-z]+)"', text(browser.get("queue")))
    permitted = [f"GET /moderation/{page}" for page in shown]
    assert all(name in ROLES[ROUTES[line]].split(", ") for line in permitted)
    assert ("bans" in shown) == (name != "here")


def test_who_only_reads_sees_no_button_that_decides(service: Served) -> None:
    number = add(service.database, status="pending").comment.id
    add(service.database, status="approved")
    for name, buttons in (("moderator", True), ("viewer", False)):
        browser = seat(service, name)
        thread = re.findall(r"thread\?id=\d+", text(browser.get("threads")))[0]
        for page in ("queue", f"comment?id={number}", thread):
            forms = set(re.findall(r'(?:form)?action="([a-z-]+)"', text(browser.get(page))))
            writing = forms - {"sign-out", "comments", "decide"}
            assert bool(writing) == buttons or page == "queue", page
            assert ('class="danger"' in text(browser.get(page))) == buttons
        assert ('action="ban"' in text(browser.get("bans"))) == buttons


def test_an_account_of_some_sites_sees_and_decides_nothing_on_others(service: Served) -> None:
    database = service.database
    theirs = [add(database, site="blog", status=s, source="tea").comment.id for s in STATUSES]
    ours = [add(database, site="notes", status=s, source="tea").comment.id for s in STATUSES]
    browser, other = seat(service, "here"), seat(service, "owner")
    for page in ("queue", "comments", "comments?status=spam", "comments?q=tea"):
        for asked in (page, f"{page}{'&' if '?' in page else '?'}site=blog"):
            html = text(browser.get(asked))
            seen = {*map(int, re.findall(r'id="c(\d+)"', html))}
            assert not seen & {*theirs}, asked
            assert "blog" not in re.findall(r"<option[^>]*>([a-z]+)", html)
    assert f'id="c{ours[0]}"' in text(browser.get("queue"))
    assert re.findall(r'class="number">(\d+)<', text(browser.get("queue"))) == ["1", "1"]
    threads = [text(each.get("threads")).count("thread?id=") for each in (browser, other)]
    assert threads == [1, 2]
    found = [re.findall(r"thread\?id=\d+", text(each.get("threads"))) for each in (browser, other)]
    [foreign] = {*found[1]} - {*found[0]}
    assert browser.get(foreign).status == 404
    assert browser.get(f"comment?id={theirs[0]}").status == 404
    decided = other.send("decide", one=f"approve.{theirs[0]}", back="queue")
    act = header(decided, "Location").rpartition(".")[2]
    for page, fields in (
        ("decide", {"one": f"approve.{theirs[2]}"}),
        ("decide", {"all": "delete", "id": [ours[0], theirs[0]]}),
        ("decide", {"one": f"restore.{theirs[3]}"}),
        ("edit", {"id": theirs[0], "message": "mine"}),
        ("answer", {"answer": theirs[0], f"text.{theirs[0]}": "mine"}),
        ("pin", {"pin": theirs[1]}),
        ("comment-language", {"id": theirs[0], "lang": "fr"}),
        ("thread", {"id": foreign.partition("=")[2], "do": "state", "value": "closed"}),
    ):
        assert browser.send(page, **fields).status == 404, page
    assert browser.send("undo", act=act).status == 409
    assert browser.send("decide", one=f"approve.{ours[0]}").status == 303
    state = {entry.comment.id: entry.comment.status for entry in service.stored()}
    assert [state[number] for number in theirs] == ["approved", "approved", "spam", "deleted"]
    assert state[ours[0]] == "approved"


STATUSES = ("pending", "approved", "spam", "deleted")


def test_a_role_holds_from_the_next_request_on(service: Served) -> None:
    browser = seat(service, "moderator")
    assert browser.get("bans").status == 200
    assign(service, "moderator", "moderator", "blog", "notes")
    assert browser.get("bans").status == 403

"""What gives lasting access asks for the account's password, on every route and in every way.

The tables have all routes of the pages and the API, so a new route has to say what it does.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from commentsvc.auth import accounts
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.schema.comments import (
    ApiTokenTable,
    IdentityTable,
    InvitationTable,
    ModeratorTable,
    PasskeyTable,
    RecoveryCodeTable,
    SessionTable,
    TwoFactorTable,
)
from commentsvc.moderation import profiles
from commentsvc.moderation.permissions import Permission
from tests.unit.admin.api.test_token_access import SCOPES, TABLE, Program
from tests.unit.admin_client import HASH, PASSWORD, Seat, header
from tests.unit.app_fixture import Served, served

NEW = "four words are better"
OTHER = "thief@else.example"
# Rights that kim, a moderator of one site, does not have.
MORE_RIGHTS: list[dict[str, object]] = [
    {"role": "owner", "sites": ["blog"]},
    {"role": "moderator", "sites": ["blog", "notes"]},
    {"role": "moderator", "sites": ["notes"]},
    {"role": "viewer", "sites": []},
]
# What a thief sends to each of an account's own pages, and to those for managing accounts.
FORMS: dict[str, list[dict[str, object]]] = {
    "profile": [{"public_name": "Ann", "email": OTHER, "verified_email": OTHER, "may_link": 1}],
    "language": [{"language": "de", "email": OTHER}],
    "password": [{"new": NEW, "again": NEW}],
    "address": [{"email": OTHER}, {"email": ""}],
    "confirm-address": [{"t": "x", "email": OTHER}],
    "credentials": [
        {"remove": "passkey.1"},
        {"remove": "identity.1"},
        {"everywhere": "1"},
        {"everywhere": "1", "remove": "token.9"},
    ],
    "factor": [{"do": "off", "code": "000000"}, {"do": "confirm", "code": "000000"}],
    "passkeys": [{"name": "x", "challenge": "x", "credential": "{}"}, {"remove": "1"}],
    "tokens": [{"name": "x", "scope": "read", "days": "7"}],
    "sign-out": [{}],
    "accounts": [{"do": "role", "id": 2, **more} for more in MORE_RIGHTS],
    "settings": [{"group": "waiting", "seen": 0, "text.moderation.policy": "none"}, {"undo": "1"}],
    "sites": [
        {"do": "add", "name": "other", "origins": "https://other.example", "seen": 0},
        {"do": "change", "name": "blog", "origins": "https://other.example", "seen": 0},
        {"do": "remove", "name": "blog", "seen": 0},
    ],
    "downloads": [{"kind": "backup"}],
    "snippet": [{"page": "x"}],
    "invite": [{"role": "viewer", "email": OTHER}],
}
# What a program sends, with a token alone, to each operation that changes an account.
BODIES: dict[str, list[dict[str, object]]] = {
    "PATCH /profile": [{"email": OTHER}, {"email": ""}, {"verified": True}, {"site": ""}],
    "POST /tokens": [{"name": "x", "scope": "administer", "days": 365}],
    "POST /credentials/remove": [{"kind": "passkey", "id": 1}, {"kind": "identity", "id": 1}],
    "PUT /accounts/{id}/role": [{"role": "owner", "email": OTHER}, *MORE_RIGHTS],
    "POST /downloads": [{"kind": "backup"}],
    "POST /settings/changes": [
        {"values": {"site.origins": ["https://other.example"]}, "site": "x", "seen": 0}
    ],
    "POST /settings/changes/{id}/undo": [{}],
    "POST /invitations": [{"role": "viewer", "email": OTHER}],
}
# Operations that give no access.
OTHERS = {
    "PATCH /comments/{id}",
    "POST /comments/{id}/answers",
    "PUT /comments/{id}/language",
    "PUT /comments/{id}/pin",
    "DELETE /comments/{id}/pin",
    "POST /decisions",
    "DELETE /decisions/{id}",
    "POST /threads/{id}",
    "POST /bans",
    "DELETE /bans/{id}",
    "POST /bans/{id}/comments",
    "POST /outbox/{id}/retry",
    "DELETE /accounts/{id}",
    "DELETE /invitations/{id}",
    "DELETE /tokens/{id}",
}


def furnish(tx: Transaction) -> None:
    """Make ann, with an address, a second factor, a passkey and an identity; and kim."""
    for name in ("ann", "kim"):
        accounts.add(tx, name, HASH, 1)
    profiles.assign(tx, "kim", "moderator", ["blog"])
    profiles.verify(tx, profiles.named(tx, "ann"), "ann@blog.example")
    tx.change(TwoFactorTable.insert(moderator=1, totp_salt=b"s" * 20, last_step=0, confirmed=0))
    tx.change(
        IdentityTable.insert(moderator=1, issuer="https://id.example", subject="s", created_at=1)
    )
    row = {"credential_id": b"1", "credential": b"2", "sign_count": 0, "name": "phone"}
    tx.change(PasskeyTable.insert(moderator=1, **row, created_at=1, used_at=0))


def access(snapshot: Snapshot) -> list[object]:
    """Return all that says who may sign in, except sessions."""
    of_account = [
        ModeratorTable.name,
        ModeratorTable.role,
        ModeratorTable.sites,
        ModeratorTable.password_hash,
        ModeratorTable.email,
        ModeratorTable.verified_email,
        ModeratorTable.may_link,
        ModeratorTable.asked_email,
    ]
    found = [
        snapshot.query(ModeratorTable.select(*of_account)),
        *(
            snapshot.query(table.select())
            for table in (TwoFactorTable, RecoveryCodeTable, IdentityTable, PasskeyTable)
        ),
        *(snapshot.query(table.select(table.id)) for table in (ApiTokenTable, InvitationTable)),
    ]
    return [sorted(rows, key=repr) for rows in found]  # PostgreSQL has them in any order


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path) as service:
        service.database.write_now(furnish)
        yield service


@pytest.fixture
def seat(service: Served) -> Seat:
    browser = Seat(service)
    assert browser.sign_in().status == 303
    return browser


def test_no_form_of_an_account_changes_who_may_sign_in_without_its_password(
    service: Served, seat: Seat
) -> None:
    own = {
        route.pattern.removeprefix("/moderation/")
        for route in service.pages
        if route.operation
        if route.operation.permission in (Permission.ACCOUNT, Permission.ADMINISTER)
        if route.method == "POST"
    }
    assert own == {*FORMS}
    before = service.database.read_now(access)
    for page, forms in FORMS.items():
        for fields in forms:
            seat.send(page, **fields)
            assert service.database.read_now(access) == before, (page, fields)
            if page != "sign-out":
                refused = seat.send(page, **fields, password="not this one")
                assert refused.status != 429, "the password was not looked at"
            assert service.database.read_now(access) == before, (page, fields)


def test_no_token_changes_who_may_sign_in_whatever_its_scope(service: Served) -> None:
    writing = {line for line in TABLE if not line.startswith("GET ")}
    assert writing == {*BODIES} | OTHERS
    programs = [Program(service, scope, name="ann") for scope in dict.fromkeys(SCOPES.values())]
    before = service.database.read_now(access)
    for line, bodies in BODIES.items():
        method, path = line.replace("{id}", "2").split()
        for sent in bodies:
            for program in programs:
                for more in ({}, {"password": ""}, {"password": "not this one"}):
                    assert program.ask(method, path, **sent, **more).status != 429, line
                    assert service.database.read_now(access) == before, (line, sent)


def test_with_its_password_a_program_removes_what_opens_its_account(service: Served) -> None:
    program = Program(service, "administer", name="ann")
    known = {one["kind"]: one for one in program.get("/credentials")["data"]}
    assert {*known} == {"token", "passkey", "identity"}
    assert known["identity"]["name"] == "id.example: s"
    for kind in ("passkey", "identity", "token"):
        sent = {"kind": kind, "id": known[kind]["id"], "password": PASSWORD}
        assert program.ask("POST", "/credentials/remove", **sent).status == 204
    assert program.ask("GET", "/credentials").status == 401


@pytest.mark.parametrize("by_program", [False, True])
@pytest.mark.parametrize("more", MORE_RIGHTS)
def test_with_their_password_owners_give_more_rights_and_without_it_fewer(
    service: Served, seat: Seat, more: dict[str, object], by_program: bool
) -> None:
    program = Program(service, "administer", name="ann")

    def change(**fields: object) -> int:
        if by_program:
            return program.ask("PUT", "/accounts/2/role", **fields).status
        return seat.send("accounts", do="role", id=2, **fields).status

    done = 204 if by_program else 303
    assert change(**more) == 403
    assert change(**more, password=PASSWORD) == done
    assert change(**more) == done, "the same rights as before"
    assert change(role="viewer", sites=more["sites"] or ["blog"]) == done
    assert program.ask("DELETE", "/accounts/2").status == 204


def test_neither_a_program_nor_a_browser_removes_the_last_account(
    service: Served, seat: Seat
) -> None:
    """Else a stolen token would shut everybody out, and the next start would offer an account."""
    program = Program(service, "administer", name="ann")
    assert program.ask("DELETE", "/accounts/2").status == 204
    assert program.ask("DELETE", "/accounts/1").status == 409
    assert seat.send("accounts", do="remove", id=1).status == 422
    assert [each.name for each in service.database.read_now(accounts.everyone)] == ["ann"]


def test_guesses_of_a_program_at_the_password_are_limited(service: Served) -> None:
    program = Program(service, "administer", name="ann")
    sent = {"kind": "passkey", "id": 1, "password": "guess"}
    answers = [program.ask("POST", "/credentials/remove", **sent).status for _ in range(32)]
    assert answers == [403] * 30 + [429] * 2


def test_guesses_elsewhere_do_not_keep_the_owner_from_signing_out_everywhere(
    service: Served, seat: Seat
) -> None:
    """A thief has a token and an open browser, but not the password."""
    program, thief = Program(service, "administer", name="ann"), Seat(service)
    thief.sign_in()
    for _ in range(31):
        sent = {"kind": "passkey", "id": 1, "password": "guess"}
        refused = program.ask("POST", "/credentials/remove", **sent).status
        also_refused = thief.send("credentials", everywhere="1", password="guess").status
    assert (refused, also_refused) == (429, 429)
    assert Seat(service).sign_in().status == 303
    assert seat.send("credentials", everywhere="1", password=PASSWORD).status == 303
    assert not thief.is_signed_in()


def test_signing_out_everywhere_ends_all_that_opens_the_account(
    service: Served, seat: Seat
) -> None:
    other, program = Seat(service), Program(service, "administer", name="ann")
    other.sign_in()
    other.send("invite", role="owner", password=PASSWORD)
    answer = seat.send("credentials", everywhere="1", password=PASSWORD)
    assert header(answer, "Location") == "sign-in"
    assert not seat.is_signed_in()
    assert not other.is_signed_in()
    assert program.ask("GET", "/profile").status == 401
    tables = (SessionTable, ApiTokenTable, PasskeyTable, IdentityTable, InvitationTable)

    def left(snapshot: Snapshot) -> list[object]:
        return [row for table in tables for row in snapshot.query(table.select())]

    assert service.database.read_now(left) == []
    assert seat.sign_in().status == 303, "the password is still right"


def test_who_knew_the_old_password_cannot_finish_a_sign_in_with_a_code(service: Served) -> None:
    def confirm(tx: Transaction) -> None:
        tx.change(TwoFactorTable.update(confirmed=1))

    service.database.write_now(confirm)
    thief = Seat(service)
    page = thief.sign_in().body.decode()
    step = page.split('name="step" value="')[1].split('"')[0]
    assert "Invalid or already used code" in thief.send("code", step=step, code="1").body.decode()
    service.database.write_now(accounts.set_password, "ann", HASH + "x")
    assert "took too long" in thief.send("code", step=step, code="1").body.decode()

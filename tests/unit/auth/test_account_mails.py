"""An address becomes that of an account by a link; changes of an account are mailed to it."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from commentsvc import outbox
from commentsvc.auth import account_mails, accounts, credentials
from commentsvc.auth.sessions import Lifetime
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.schema.comments import (
    BlogSessionTable,
    CommentTable,
    IdentityTable,
    ModeratorTable,
    PasskeyTable,
    RecoveryCodeTable,
    SessionTable,
    TwoFactorTable,
)
from commentsvc.db.schema.tables import TABLES
from commentsvc.delivery.mail import MailComposer
from commentsvc.moderation import profiles
from commentsvc.moderation.profiles import Profile
from commentsvc.runtime.control_commands import (
    AddToken,
    ChangeProfile,
    ManageAccount,
    Order,
    RemoveCredential,
)
from commentsvc.settings.schema import MailSettings
from commentsvc.util.timestamps import DAY_MS
from tests.unit.admin_client import HASH, PASSWORD, Seat, employ, header, text
from tests.unit.app_fixture import SETTINGS, Served, served

MAILING = replace(
    SETTINGS,
    mail=MailSettings(
        host="mail.example", sender="comments@blog.example", moderators=("bob@mail.example",)
    ),
    server=replace(SETTINGS.server, public_url="https://c.example"),
)
NEW = "four words are better"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path, MAILING) as service:
        employ(service, "ann")
        employ(service, "bob")
        yield service


def seat_of(service: Served, name: str) -> Seat:
    seat = Seat(service)
    assert seat.sign_in(name).status == 303
    return seat


def profile(service: Served, name: str) -> Profile:
    return service.database.read_now(profiles.named, name)


def mailed(service: Served) -> list[tuple[str, str]]:
    """Return the kind and recipient of each waiting mail, the oldest first, and forget them."""
    rows = service.database.read_now(outbox.listing, "queued", 1 << 62, 99)
    for row in rows:
        service.database.write_now(outbox.drop, row)
    return [(row.kind, row.recipient) for row in reversed(rows)]


def ask(service: Served, seat: Seat, email: str) -> str:
    """Ask for an address; return the page of the link that was mailed there."""
    service.clock.moment += 1
    answer = seat.send("address", email=email, password=PASSWORD)
    assert header(answer, "Location") == "account?done=asked"
    [row] = service.database.read_now(outbox.listing, "queued", 1 << 62, 1)
    assert row.recipient == email
    envelope = service.database.read_now(MailComposer(MAILING, service.links).compose, row)
    assert envelope
    body = envelope.message.get_body(("plain",))
    assert body
    found = re.search(r"https://c\.example/moderation/(confirm-address\?t=\S+)", body.get_content())
    assert found
    service.database.write_now(outbox.drop, row)
    return found[1]


def confirm(seat: Seat, link: str) -> int:
    return seat.send("confirm-address", t=link.partition("=")[2]).status


def test_an_address_is_the_accounts_after_its_mailed_link_was_used(service: Served) -> None:
    seat = seat_of(service, "ann")
    link = ask(service, seat, "ann@blog.example")
    assert profile(service, "ann").email == ""
    assert "Use ann@blog.example for this account?" in text(seat.get(link))
    assert profile(service, "ann").email == "", "mail scanners follow links"
    assert confirm(seat, link) == 303
    assert profile(service, "ann").is_verified
    assert "This address is confirmed." in text(seat.get("account"))
    assert confirm(seat, link) == 410, "it works once"


def test_a_link_confirms_nothing_for_others_later_or_after_the_next(service: Served) -> None:
    ann, bob = seat_of(service, "ann"), seat_of(service, "bob")
    first = ask(service, ann, "ann@blog.example")
    assert confirm(bob, first) == 410, "whoever gets the mail must be who asked"
    assert bob.get(first).status == 410
    assert Seat(service).get(first).status == 303, "to the sign-in page"
    second = ask(service, ann, "ann@notes.example")
    assert confirm(ann, first) == 410
    assert confirm(ann, second + "x") == 410
    service.clock.moment += DAY_MS
    assert confirm(ann, second) == 410
    third = ask(service, ann, "ann@blog.example")
    service.database.write_now(accounts.set_password, "ann", HASH)
    assert confirm(seat_of(service, "ann"), third) == 410
    assert not profile(service, "ann").email
    assert not profile(service, "bob").email


def test_an_account_never_gets_the_confirmed_address_of_another(service: Served) -> None:
    ann, bob = seat_of(service, "ann"), seat_of(service, "bob")
    links = [ask(service, seat, "ann@Blog.example") for seat in (ann, bob)]
    assert [confirm(ann, links[0]), confirm(bob, links[1])] == [303, 422]
    assert profile(service, "bob").email == ""
    for same in ("ann@blog.example", "ANN@BLOG.EXAMPLE"):
        assert confirm(bob, ask(service, bob, same)) == 422
    assert confirm(bob, ask(service, bob, "ann+x@blog.example")) == 303, "another mailbox"


def test_who_proves_an_address_takes_it_from_who_does_not(service: Served) -> None:
    bob = profile(service, "bob")
    service.database.write_now(profiles.save, replace(bob, email="ann@blog.example"))
    ann = seat_of(service, "ann")
    assert confirm(ann, ask(service, ann, "ann@blog.example")) == 303
    assert profile(service, "bob").email == ""
    assert profile(service, "ann").is_verified


def test_who_is_mailed_by_the_settings_gains_nothing_by_another_address(service: Served) -> None:
    """Mails to an address that belongs to no account have links for all decisions."""
    service.database.write_now(profiles.verify, profile(service, "bob"), "bob@mail.example")
    service.database.write_now(profiles.assign, "bob", "viewer", ["blog"])
    bob = seat_of(service, "bob")
    for email in ("", "other@mail.example"):
        assert bob.send("address", email=email, password=PASSWORD).status == 403
    assert confirm(bob, ask(service, bob, "Bob@mail.example")) == 303
    service.database.write_now(profiles.assign, "bob", "owner", [])
    assert bob.send("address", email="", password=PASSWORD).status == 303


def test_an_address_gets_few_links(service: Served) -> None:
    seats = [seat_of(service, name) for name in ("ann", "bob")]
    for number in range(5):
        ask(service, seats[number % 2], "stranger@else.example")
    for seat in seats:
        answer = seat.send("address", email="Stranger@else.example", password=PASSWORD)
        assert answer.status == 429


def furnish(tx: Transaction) -> None:
    row = {"credential_id": b"1", "credential": b"2", "sign_count": 0, "name": "phone"}
    tx.change(PasskeyTable.insert(moderator=1, **row, created_at=1, used_at=0))
    tx.change(IdentityTable.insert(moderator=1, issuer="i", subject="s", created_at=1))


COMMANDS: list[tuple[Order, str]] = [
    (ManageAccount(verb="passwd", name="ann", password="hash"), account_mails.PASSWORD),
    (ManageAccount(verb="no-code", name="ann"), account_mails.FACTOR),
    (AddToken("ann", "x", "read", (), 7, b"digest"), account_mails.TOKEN),
    (RemoveCredential("ann", "passkey", 1), account_mails.PASSKEY),
    (RemoveCredential("ann", "identity", 1), account_mails.IDENTITY),
]


@pytest.mark.parametrize(("command", "kind"), COMMANDS)
def test_each_change_by_a_command_is_mailed_to_the_account(
    service: Served, command: Order, kind: str
) -> None:
    service.database.write_now(furnish)
    service.database.write_now(profiles.verify, profile(service, "ann"), "ann@blog.example")
    service.database.write_now(command.run, int(service.now * 1_000))
    assert mailed(service) == [(kind, "ann@blog.example")]


def test_each_change_on_the_pages_is_mailed_to_the_account(service: Served) -> None:
    service.database.write_now(furnish)
    service.database.write_now(profiles.verify, profile(service, "ann"), "ann@blog.example")
    seat, own = seat_of(service, "ann"), "ann@blog.example"
    forms: list[tuple[str, dict[str, object], str]] = [
        ("credentials", {"remove": "passkey.1"}, account_mails.PASSKEY),
        ("credentials", {"remove": "identity.1"}, account_mails.IDENTITY),
        ("tokens", {"name": "x", "scope": "read", "days": "7"}, account_mails.TOKEN),
        ("invite", {"role": "owner"}, account_mails.ACCOUNTS),
        ("accounts", {"do": "role", "id": 2, "role": "owner"}, account_mails.ACCOUNTS),
        ("password", {"new": NEW, "again": NEW}, account_mails.PASSWORD),
    ]
    for page, fields, kind in forms:
        assert seat.send(page, **fields, password=PASSWORD).status in (200, 303)
        assert mailed(service) == [(kind, own)]
    assert seat.send("credentials", everywhere="1", password=NEW).status == 303
    assert mailed(service) == [(account_mails.ENDED, own)]


def test_another_address_is_mailed_to_the_former_one_too(service: Served) -> None:
    service.database.write_now(profiles.verify, profile(service, "ann"), "old@blog.example")
    seat = seat_of(service, "ann")
    assert confirm(seat, ask(service, seat, "new@blog.example")) == 303
    kinds = [
        (account_mails.ADDRESS, "new@blog.example"),
        (account_mails.ADDRESS, "old@blog.example"),
    ]
    assert mailed(service) == kinds
    by_command = ChangeProfile(name="ann", email="third@blog.example")
    service.database.write_now(by_command.run, 1)
    assert [email for _, email in mailed(service)] == ["third@blog.example", "new@blog.example"]
    assert profile(service, "ann").is_verified, "the operator vouches for it"
    assert seat.send("address", email="", password=PASSWORD).status == 303
    assert mailed(service) == [(account_mails.ADDRESS, "third@blog.example")]
    assert not profile(service, "ann").email


@pytest.mark.parametrize("kind", account_mails.CHANGES)
def test_the_mail_about_a_change_says_what_to_do(service: Served, kind: str) -> None:
    service.database.write_now(profiles.verify, profile(service, "ann"), "ann@blog.example")
    service.database.write_now(account_mails.tell, 1, kind, int(service.now * 1_000))
    [row] = service.database.read_now(outbox.listing, "queued", 1 << 62, 9)
    envelope = service.database.read_now(MailComposer(MAILING, service.links).compose, row)
    assert envelope
    assert envelope.message["Subject"] == (
        f"[A blog] Your account was changed: {account_mails.CHANGES[kind]}"
    )
    body = envelope.message.get_body(("plain",))
    assert body
    assert "tell the operator" in body.get_content()


def test_without_a_mail_server_the_operator_is_asked(tmp_path: Path) -> None:
    with served(tmp_path) as service:
        employ(service, "ann")
        answer = seat_of(service, "ann").send(
            "address", email="ann@blog.example", password=PASSWORD
        )
        assert answer.status == 422
        assert "commentsvc moderator profile NAME --email ADDRESS" in text(answer)


def moderate_on_blog(tx: Transaction) -> None:
    """Begin a session for the blog's pages in the browser in which ann is signed in."""
    [(session,)] = tx.query(SessionTable.select(SessionTable.id).where(SessionTable.moderator == 1))
    row = {"digest": b"x", "moderator": 1, "session": session, "site": "blog", "origin": "x"}
    tx.change(BlogSessionTable.insert(**row, created_at=1, used_at=0, expires_at=1 << 60))


def test_a_new_password_ends_each_credential(service: Served) -> None:
    service.database.write_now(furnish)
    service.database.write_now(AddToken("ann", "x", "read", (), 7, b"digest").run, 1)
    seat_of(service, "ann")
    service.database.write_now(moderate_on_blog)
    now = int(service.now * 1_000)
    lifetime = Lifetime.of(SETTINGS.moderation)

    def known() -> list[str]:
        found = service.database.read_now(credentials.of_moderator, 1, lifetime, now)
        return [one.kind for one in found]

    assert known() == [*credentials.TABLES]
    service.database.write_now(ManageAccount("passwd", "ann", HASH).run, now)
    assert known() == []


# What an account keeps with a new password: what it wrote, and what a sign-in asks for besides.
KEPT = {CommentTable, TwoFactorTable, RecoveryCodeTable}


def test_nothing_that_belongs_to_an_account_opens_the_service_after_a_new_password(
    service: Served,
) -> None:
    """Who knew the old password may have made an invitation, to come back by."""
    seat = seat_of(service, "ann")
    service.database.write_now(furnish)
    service.database.write_now(AddToken("ann", "x", "read", (), 7, b"digest").run, 1)
    link = re.search(
        r"invitation\?t=[^<\s\"]+", text(seat.send("invite", role="owner", password=PASSWORD))
    )
    assert link
    service.database.write_now(moderate_on_blog)
    owned = {table for table in TABLES if ModeratorTable in table._meta.model_refs} - KEPT

    def filled(snapshot: Snapshot) -> set[object]:
        return {table for table in owned if snapshot.first(table.select().limit(1))}

    assert service.database.read_now(filled) == owned
    now = int(service.now * 1_000)
    service.database.write_now(ManageAccount("passwd", "ann", HASH).run, now)
    assert service.database.read_now(filled) == set()
    assert Seat(service).get(link[0]).status == 410

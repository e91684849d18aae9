"""The pages on which owners manage accounts, and invitations that create new ones."""

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import msgspec
import pytest

from commentsvc import outbox
from commentsvc.delivery.mail import MailComposer
from commentsvc.moderation import profiles
from commentsvc.settings.schema import MailSettings
from commentsvc.util.timestamps import DAY_MS
from tests.unit.admin_client import PASSWORD, Seat, employ, header, seated, text
from tests.unit.app_fixture import SETTINGS, Served, served, waiting

MAIL = MailSettings(host="mail.example", sender="c@mail.example")
WITH_MAIL = msgspec.structs.replace(SETTINGS, mail=MAIL)
NEW = {"password": "a good new password", "again": "a good new password"}


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path, WITH_MAIL) as service:
        yield service


@pytest.fixture
def owner(service: Served) -> Seat:
    return seated(service, "rosa")


def invited(owner: Seat, **fields: object) -> str:
    """Make an invitation; return the address of its page."""
    sent = {"role": "moderator", "email": "", "password": PASSWORD, **fields}
    page = owner.send("invite", **sent)
    assert page.status == 200
    link = re.findall(r"<code>https://comments.example/moderation/(\S+?)</code>", text(page))
    return unescape(link[0])


def token(link: str) -> str:
    return link.partition("t=")[2]


def account(service: Served, name: str) -> tuple[str, str]:
    profile = service.database.read_now(profiles.named, name)
    return profile.role, profile.sites


def test_an_invitation_makes_one_account_that_is_signed_in(service: Served, owner: Seat) -> None:
    link = invited(owner, role="viewer", sites=["blog", "notes"])
    guest = Seat(service, "198.51.100.1")
    assert "Choose a name and a password" in text(guest.get(link))
    made = guest.send("invitation", t=token(link), name="mo", **NEW)
    assert (made.status, header(made, "Location")) == (303, "account")
    assert guest.is_signed_in()
    assert account(service, "mo") == ("viewer", "blog\nnotes")
    again = Seat(service, "198.51.100.2")
    assert again.get(link).status == 410
    assert again.send("invitation", t=token(link), name="jo", **NEW).status == 410
    assert Seat(service).sign_in("mo", NEW["password"]).status == 303


def test_an_invitation_ends_by_time_by_revoking_and_with_its_owner(
    service: Served, owner: Seat
) -> None:
    employ(service, "second")
    first, revoked = invited(owner), invited(owner)
    assert text(owner.get("accounts")).count("Revoke invitation") == 2
    owner.send("accounts", do="revoke", id=2)
    guest = Seat(service)
    assert (guest.get(first).status, guest.get(revoked).status) == (200, 410)
    service.database.write_now(profiles.assign, "second", "owner", ())
    service.database.write_now(profiles.assign, "rosa", "moderator", ())
    assert guest.get(first).status == 410
    service.database.write_now(profiles.assign, "rosa", "owner", ())
    assert guest.get(first).status == 200
    service.now += 7 * DAY_MS / 1_000
    assert guest.get(first).status == 410
    assert guest.get("invitation?t=" + "x" * 40).status == 410
    own = service.links.make("own", 1, expires=int(service.now * 1_000) + DAY_MS)
    assert guest.get(f"invitation?t={own}").status == 410, "a link of another purpose"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": "rosa"}, "An account with this name"),
        ({"name": "R0sa"}, "looks like the name of rosa"),
        ({"name": "a b"}, "1 to 40 letters"),
        ({"name": "mo", "again": "another good one"}, "passwords differ"),
        ({"name": "mo", "password": "short", "again": "short"}, "12 to 200 characters"),
    ],
)
def test_a_mistake_leaves_the_invitation_usable(
    service: Served, owner: Seat, fields: dict[str, str], message: str
) -> None:
    link, guest = invited(owner), Seat(service)
    refused = guest.send("invitation", **{"t": token(link), **NEW, **fields})
    assert refused.status == 422
    assert message in text(refused)
    assert guest.send("invitation", t=token(link), name="mo", **NEW).status == 303


def test_guesses_at_invitations_are_limited(service: Served, owner: Seat) -> None:
    guest = Seat(service)
    answers = {guest.send("invitation", t="guess", name=str(n), **NEW).status for n in range(21)}
    assert answers == {410, 429}


def test_an_invitation_is_mailed_where_mail_is_set_up(service: Served, owner: Seat) -> None:
    link = invited(owner, email="mo@mail.example")
    [row] = waiting(service)
    settings = msgspec.structs.replace(
        WITH_MAIL, server=msgspec.structs.replace(SETTINGS.server, public_url="https://c.example")
    )
    envelope = service.database.read_now(MailComposer(settings, service.links).compose, row)
    assert envelope
    assert envelope.recipient == "mo@mail.example"
    body = envelope.message.get_body(("plain",))
    assert body
    assert "https://c.example/moderation/invitation?t=" in body.get_content()
    assert link not in body.get_content(), "who passes a link on does not read that mailbox"
    assert "rosa invites you" in body.get_content()
    assert owner.send("invite", role="viewer", email="no address").status == 400
    owner.send("accounts", do="revoke", id=1)
    composer = MailComposer(settings, service.links)
    assert service.database.read_now(composer.compose, row) is None
    assert service.database.read_now(outbox.listing, None, 1 << 62, 9) == [row]


def test_who_answers_the_mail_of_an_invitation_has_its_address(
    service: Served, owner: Seat
) -> None:
    """Who was given the link by its maker has proved no address."""
    for name, expected in (("mo", ""), ("jo", "jo@mail.example"), ("bo", "")):
        service.clock.moment += 1
        link = invited(owner, email="jo@mail.example")
        row = waiting(service)[-1]
        service.database.write_now(outbox.drop, row)
        envelope = service.database.read_now(MailComposer(WITH_MAIL, service.links).compose, row)
        assert envelope
        body = envelope.message.get_body(("plain",))
        assert body
        [mailed] = re.findall(r"t=(\S+)", body.get_content())
        used = token(link) if name == "mo" else mailed
        assert Seat(service).send("invitation", t=used, name=name, **NEW).status == 303
        profile = service.database.read_now(profiles.named, name)
        assert (profile.email, profile.is_verified) == (expected, bool(expected))


def test_an_owner_changes_roles_and_removes_accounts(service: Served, owner: Seat) -> None:
    employ(service, "mo")
    mo = seat_of(service, "mo")
    changed = owner.send("accounts", do="role", id=2, role="viewer", sites=["notes"])
    assert header(changed, "Location") == "accounts?done=role"
    assert account(service, "mo") == ("viewer", "notes")
    assert mo.get("bans").status == 403
    assert "an owner of all sites" in text(
        owner.send("accounts", do="role", id=1, role="moderator")
    )
    assert "an owner of all sites" in text(owner.send("accounts", do="remove", id=1))
    assert owner.send("accounts", do="role", id=2, role="king").status == 400
    assert owner.send("accounts", do="role", id=2, role="owner", sites=["x"]).status == 400
    assert owner.send("accounts", do="remove", id=2).status == 303
    assert owner.send("accounts", do="remove", id=2).status == 303, "it is gone already"
    assert not mo.is_signed_in()


def seat_of(service: Served, name: str) -> Seat:
    browser = Seat(service, "198.51.100.9")
    browser.sign_in(name)
    return browser

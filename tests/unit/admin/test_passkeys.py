"""Adding a passkey and signing in with it, page by page."""

import html
import re

from commentsvc.auth import passkeys
from commentsvc.http.messages import Response
from commentsvc.moderation import profiles
from tests.unit.admin_client import PASSWORD, Seat, header, seated, text
from tests.unit.app_fixture import Served
from tests.unit.authenticator import SoftAuthenticator


def options(page: Response) -> dict[str, str]:
    """Return what a page gives to the browser: the options and the challenge."""
    found = re.search(r'data-(?:create|get)="([^"]+)"', text(page))
    challenge = re.search(r'name="challenge" value="([^"]+)"', text(page))
    assert found
    assert challenge
    return {"options": html.unescape(found[1]), "challenge": challenge[1]}


def add(seat: Seat, device: SoftAuthenticator, **changes: str) -> Response:
    """Add a passkey as the page does."""
    page = options(seat.get("passkeys"))
    fields = {
        "challenge": page["challenge"],
        "credential": device.make(page["options"]),
        "name": "My phone",
        "password": PASSWORD,
    }
    return seat.send("passkeys", **(fields | changes))


def enter(seat: Seat, device: SoftAuthenticator, **changes: str) -> Response:
    """Sign in as the page does."""
    page = options(seat.get("sign-in"))
    device.counter += 1
    fields = {
        "challenge": page["challenge"],
        "credential": device.sign(page["options"]),
        "to": "account",
    }
    return seat.send("passkey", **(fields | changes))


def stranger(service: Served) -> Seat:
    return Seat(service, "198.51.100.7")


def test_a_passkey_signs_in_without_name_password_or_code(service: Served) -> None:
    seat, device = seated(service), SoftAuthenticator()
    assert "data-get" not in text(stranger(service).get("sign-in"))
    assert header(add(seat, device), "Location") == "passkeys?done=added"
    assert "My phone" in text(seat.get("passkeys"))
    assert "never used" in text(seat.get("passkeys"))
    other = stranger(service)
    answer = enter(other, device)
    assert (answer.status, header(answer, "Location")) == (303, "account")
    assert "Account of ann" in text(other.get("account"))
    assert "never used" not in text(seat.get("passkeys"))


def test_several_passkeys_are_kept_and_one_removed(service: Served) -> None:
    seat = seated(service)
    devices = [SoftAuthenticator() for _ in range(2)]
    for number, device in enumerate(devices):
        device.id = b"device %d" % number
        assert add(seat, device, name=f"Device {number}").status == 303
    found = re.findall(r'name="remove" value="(passkey\.\d+)"', text(seat.get("account")))
    assert seat.send("credentials", remove=found[0], password="wrong").status == 403
    assert seat.send("credentials", remove=found[0], password=PASSWORD).status == 303
    assert "Device 0" not in text(seat.get("passkeys"))
    assert enter(stranger(service), devices[0]).status == 403
    assert enter(stranger(service), devices[1]).status == 303


def test_nobody_removes_the_passkey_of_another(service: Served) -> None:
    seat, device = seated(service), SoftAuthenticator()
    add(seat, device)
    [found] = re.findall(r'name="remove" value="(passkey\.\d+)"', text(seat.get("account")))
    seated(service, "bob").send("credentials", remove=found, password=PASSWORD)
    assert enter(stranger(service), device).status == 303


def test_a_passkey_ends_with_its_account(service: Served) -> None:
    seated(service)
    bob, device = seated(service, "bob"), SoftAuthenticator()
    add(bob, device)
    with_owner = service.database.read_now(profiles.named, "bob")
    seat = Seat(service)
    seat.sign_in()
    seat.send("accounts", do="remove", id=with_owner.id)
    assert not service.database.read_now(passkeys.exist)


def test_adding_needs_the_password_and_a_challenge_of_this_browser_once(service: Served) -> None:
    seat, device = seated(service), SoftAuthenticator()
    assert add(seat, device, password="not mine").status == 403
    other = Seat(service)
    other.sign_in()
    foreign = options(other.get("passkeys"))
    made = device.make(foreign["options"])
    assert add(seat, device, challenge=foreign["challenge"], credential=made).status == 403
    assert add(seat, device, credential="{}").status == 403
    assert add(seat, device, name=" ").status == 403
    page = options(seat.get("passkeys"))
    sent = {"challenge": page["challenge"], "credential": device.make(page["options"])}
    assert add(seat, device, **sent).status == 303
    device.id = b"a second one"
    again = {"challenge": page["challenge"], "credential": device.make(page["options"])}
    assert add(seat, device, **again).status == 403


def test_an_answer_works_once_for_one_browser_and_an_hour(service: Served) -> None:
    seat, device = seated(service), SoftAuthenticator()
    add(seat, device)
    other, third = stranger(service), stranger(service)
    page = options(other.get("sign-in"))
    device.counter = 10
    sent = {"challenge": page["challenge"], "credential": device.sign(page["options"])}
    assert third.send("passkey", **sent).status == 403
    assert other.send("passkey", **sent).status == 303
    device.counter = 11
    sent["credential"] = device.sign(page["options"])
    assert other.send("passkey", **sent).status == 403
    late = options(third.get("sign-in"))
    service.clock.moment += passkeys.CHALLENGE_TIME
    sent = {"challenge": late["challenge"], "credential": device.sign(late["options"])}
    assert "That took too long" in text(third.send("passkey", **sent))


def test_a_copy_of_a_key_is_noticed_by_its_counter(service: Served) -> None:
    seat, device = seated(service), SoftAuthenticator()
    device.counter = 5
    add(seat, device)
    device.counter = 3
    assert enter(stranger(service), device).status == 403  # it sends 4, and 5 is stored
    assert enter(stranger(service), device).status == 403  # it sends 5
    assert enter(stranger(service), device).status == 303
    device.counter = -1
    assert enter(stranger(service), device).status == 403  # it sends 0


def test_a_device_that_does_not_count_is_let_in_each_time(service: Served) -> None:
    seat, device = seated(service), SoftAuthenticator()
    device.counter = 0
    add(seat, device)
    for _ in range(2):
        device.counter = -1
        assert enter(stranger(service), device).status == 303


def test_an_unknown_passkey_and_a_wrong_key_sign_nobody_in(service: Served) -> None:
    seat, device = seated(service), SoftAuthenticator()
    add(seat, device)
    unknown, forged = SoftAuthenticator(), SoftAuthenticator()
    unknown.id = b"never seen"
    for other in (unknown, forged):
        other.counter = 90
        refused = enter(stranger(service), other)
        assert "does not belong to any account" in text(refused)
        assert refused.status == 403
    for nonsense in ("{", "[]", "[" * 80_000):
        assert enter(stranger(service), device, credential=nonsense).status == 403

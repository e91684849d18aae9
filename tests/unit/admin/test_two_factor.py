"""The pages of two-factor sign-in: set up, used to sign in, and switched off."""

import base64
import re

import pytest

from commentsvc.auth import totp
from commentsvc.http.messages import Response
from tests.unit.admin_client import PASSWORD, Seat, header, seated, text
from tests.unit.app_fixture import Served


def secret(seat: Seat) -> bytes:
    """Return the key that an app reads from the page."""
    found = re.search(r'class="key"><code>([A-Z2-7]+)</code>', text(seat.get("factor")))
    assert found
    return base64.b32decode(found[1])


def code(seat: Seat, key: bytes) -> str:
    """Return the code that an app shows for the next time step."""
    seat.service.clock.moment += totp.STEP_MS
    return totp.code(key, seat.service.clock.moment // totp.STEP_MS)


def prepared(service: Served) -> tuple[Seat, bytes, list[str]]:
    """Set up an app; return the moderator's browser, the app's key and the recovery codes."""
    seat = seated(service)
    assert "Signing in does not ask for a code" in text(seat.get("factor"))
    seat.send("factor", do="begin")
    key = secret(seat)
    answer = seat.send("factor", do="confirm", code=code(seat, key), password=PASSWORD)
    codes = re.findall(r"<li><code>([a-z2-7-]+)</code>", text(answer))
    assert len(codes) == 10
    return seat, key, codes


def begin(seat: Seat) -> dict[str, str]:
    """Send name and password; return the fields of the page that asks for a code."""
    answer = seat.sign_in()
    assert answer.status == 200
    fields = dict(re.findall(r'name="(step|to)" value="([^"]*)"', text(answer)))
    assert not seat.is_signed_in()
    return fields


def finish(seat: Seat, given: str, **changes: str) -> Response:
    return seat.send("code", **(begin(seat) | {"code": given} | changes))


def test_the_picture_and_the_policy_fit(service: Served) -> None:
    seat = seated(service)
    seat.send("factor", do="begin")
    html = text(seat.get("factor"))
    assert "<svg" in html
    assert "style=" not in html


def test_who_found_an_open_browser_knows_no_secret_that_the_owner_confirms(
    service: Served,
) -> None:
    thief = seated(service)
    thief.send("factor", do="begin")
    known = secret(thief)
    owner = Seat(service)
    owner.sign_in()
    own = secret(owner)
    assert own != known
    wrong = owner.send("factor", do="confirm", code=code(owner, known), password=PASSWORD)
    assert wrong.status == 403
    assert secret(owner) == own, "a typing error changes nothing"
    right = owner.send("factor", do="confirm", code=code(owner, own), password=PASSWORD)
    assert right.status == 200
    assert finish(Seat(service, "198.51.100.7"), code(owner, known)).status == 403
    assert finish(Seat(service, "198.51.100.7"), code(owner, own)).status == 303


def test_who_has_set_up_an_app_needs_its_code(service: Served) -> None:
    _, key, _ = prepared(service)
    other = Seat(service, "198.51.100.7")
    answer = finish(other, code(other, key))
    assert answer.status == 303
    assert other.is_signed_in()
    assert "Signing in needs a code" in text(other.get("account"))


def test_a_recovery_code_signs_in_once(service: Served) -> None:
    _, _, codes = prepared(service)
    for expected in (303, 403):
        assert finish(Seat(service, "198.51.100.7"), codes[3]).status == expected


def test_a_wrong_or_used_code_signs_nobody_in(service: Served) -> None:
    _, key, _ = prepared(service)
    seat = Seat(service, "198.51.100.7")
    good = code(seat, key)
    assert finish(seat, good).status == 303
    for given in (good, "000000", ""):
        thief = Seat(service, "203.0.113.9")
        answer = finish(thief, given)
        assert answer.status == 403
        assert "Invalid or already used code" in text(answer)
        assert not thief.is_signed_in()


@pytest.mark.parametrize("step", ["", "x.y", "{other}"])
def test_a_code_alone_signs_nobody_in(service: Served, step: str) -> None:
    """Without the password, or with the token of another browser's sign-in."""
    _, key, _ = prepared(service)
    other = begin(Seat(service, "198.51.100.7"))["step"]
    thief = Seat(service, "203.0.113.9")
    answer = thief.send("code", code=code(thief, key), step=step.format(other=other), to="")
    assert answer.status == 403
    assert not thief.is_signed_in()


def test_the_second_step_has_its_time(service: Served) -> None:
    _, key, _ = prepared(service)
    seat = Seat(service, "198.51.100.7")
    fields = begin(seat)
    service.now += 301
    assert seat.send("code", **fields, code=code(seat, key)).status == 403


def test_codes_cannot_be_guessed_for_long(service: Served) -> None:
    prepared(service)
    seat = Seat(service, "198.51.100.7")
    fields = begin(seat)
    guesses = [f"{number:06}" for number in range(30)]
    statuses = [seat.send("code", **fields, code=guess).status for guess in guesses]
    assert statuses[-1] == 429
    assert statuses.count(403) <= 20


def test_codes_are_switched_off_by_a_code(service: Served) -> None:
    seat, _, codes = prepared(service)
    assert seat.send("factor", do="off", code="000000", password=PASSWORD).status == 403
    answer = seat.send("factor", do="off", code=codes[0], password=PASSWORD)
    assert header(answer, "Location") == "factor"
    assert "Signing in does not ask for a code" in text(seat.get("factor"))
    assert Seat(service, "198.51.100.7").sign_in("ann", PASSWORD).status == 303


def test_recovery_codes_are_shown_once(service: Served) -> None:
    seat, _, codes = prepared(service)
    html = text(seat.get("factor"))
    assert codes[0] not in html
    assert "10 recovery codes are left" in html

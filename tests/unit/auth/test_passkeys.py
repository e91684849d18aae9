"""Passkeys: everything that a device sends is checked."""

import json
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commentsvc.auth import passkeys
from commentsvc.auth.passkeys import NewCredential, Passkey, PasskeyRefused, RelyingParty
from tests.unit.authenticator import FLAGS, SoftAuthenticator

PARTY = RelyingParty.of("https://comments.example/below")
CHALLENGE = "a challenge of our own"


def made(device: SoftAuthenticator) -> NewCredential:
    """Return what we store of a device."""
    options = passkeys.creation_options(PARTY, 7, "mo", CHALLENGE, [])
    return passkeys.read_new(PARTY, CHALLENGE, device.make(options))


def stored(device: SoftAuthenticator) -> Passkey:
    """Return the passkey of a device as we store it."""
    new = made(device)
    return Passkey(1, 7, "mo", "Phone", new.credential_id, new.credential, new.sign_count, 0, 0)


def signed(device: SoftAuthenticator, challenge: str = CHALLENGE) -> str:
    return device.sign(passkeys.request_options(PARTY, challenge))


def test_a_prefix_and_a_port_are_no_part_of_the_host() -> None:
    assert RelyingParty("comments.example", "https://comments.example") == PARTY
    local = RelyingParty.of("http://localhost:8080")
    assert local == RelyingParty("localhost", "http://localhost:8080")


def test_a_passkey_is_asked_to_recognise_its_owner_and_made_once_per_device() -> None:
    device = SoftAuthenticator()
    options = passkeys.creation_options(PARTY, 7, "mo", CHALLENGE, [stored(device)])
    wanted = json.loads(options)
    assert wanted["authenticatorSelection"]["userVerification"] == "required"
    assert len(wanted["excludeCredentials"]) == 1
    asked = json.loads(passkeys.request_options(PARTY, CHALLENGE))
    assert asked["userVerification"] == "required"
    assert "allowCredentials" not in asked


def test_what_a_device_signed_is_known_by_its_key() -> None:
    device = SoftAuthenticator()
    passkey = stored(device)
    device.counter = 5
    assert passkeys.read_id(signed(device)) == device.id
    assert passkeys.verify(PARTY, CHALLENGE, signed(device), passkey) == 5


@pytest.mark.parametrize(
    "change",
    [
        {"origin": "https://evil.example"},
        {"origin": "https://www.comments.example"},  # a subdomain is another origin
        {"origin": "http://comments.example"},
        {"host": "evil.example"},
        {"flags": FLAGS.UP},
        {"flags": FLAGS.UV},
        {"type": "payment.get"},
    ],
)
def test_another_origin_host_or_an_owner_not_recognised_is_refused(
    change: dict[str, object],
) -> None:
    device = SoftAuthenticator()
    passkey = stored(device)
    for name, value in change.items():
        setattr(device, name, value)
    with pytest.raises(PasskeyRefused):
        passkeys.verify(PARTY, CHALLENGE, signed(device), passkey)
    with pytest.raises(PasskeyRefused):
        made(device)


def test_another_challenge_key_or_account_is_refused() -> None:
    device, other = SoftAuthenticator(), SoftAuthenticator()
    passkey = stored(device)
    with pytest.raises(PasskeyRefused):
        passkeys.verify(PARTY, CHALLENGE, signed(device, "an old challenge of ours"), passkey)
    with pytest.raises(PasskeyRefused):
        passkeys.verify(PARTY, CHALLENGE, signed(other), passkey)
    device.handle = b"moderator 8"
    with pytest.raises(PasskeyRefused):
        passkeys.verify(PARTY, CHALLENGE, signed(device), passkey)


@pytest.mark.parametrize("part", ["authenticatorData", "clientDataJSON", "signature", "userHandle"])
def test_a_number_in_place_of_bytes_takes_no_memory(part: str) -> None:
    device = SoftAuthenticator()
    passkey = stored(device)
    answer = json.loads(signed(device))
    answer["response"][part] = 1 << 28
    tracemalloc.start()
    try:
        with pytest.raises(PasskeyRefused):
            passkeys.verify(PARTY, CHALLENGE, json.dumps(answer), passkey)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


@given(st.data())
@settings(max_examples=30, deadline=None)
def test_damaged_answers_are_refused_and_nothing_else(data: st.DataObject) -> None:
    device = SoftAuthenticator()
    passkey = stored(device)
    for sent in (
        signed(device),
        device.make(passkeys.creation_options(PARTY, 7, "mo", CHALLENGE, [])),
    ):
        answer = json.loads(sent)
        part = data.draw(st.sampled_from(sorted(answer["response"])))
        answer["response"][part] = data.draw(
            st.one_of(st.none(), st.integers(), st.text(), st.lists(st.integers()))
        )
        if part == "userHandle" and answer["response"][part] in (None, ""):
            continue  # devices need not send this field
        text = data.draw(st.sampled_from([json.dumps(answer), sent[:40], "[]", "1", ""]))
        with pytest.raises(PasskeyRefused):
            passkeys.verify(PARTY, CHALLENGE, text, passkey)
        with pytest.raises(PasskeyRefused):
            passkeys.read_new(PARTY, CHALLENGE, text)

"""Passkeys: keys in a moderator's device, for signing in without a password (WebAuthn, level 3).

The device makes a key pair for our host name and keeps the private key; we store the public one. To
sign in, it signs our challenge after it has recognised its owner by a fingerprint, a face or a PIN.
So a passkey counts as two factors, and needs no code. The signature covers our host and the page's
origin, so a phishing page gets nothing.

Challenges are signed tokens for one browser (see `admin.access`) and are used once. fido2 parses
and verifies what a device sends; it is imported at its first use.
"""

import json
from base64 import urlsafe_b64encode
from os import urandom
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import msgspec

from commentsvc.auth.signed_links import SignedLinks
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.query import Select
from commentsvc.db.schema.comments import ModeratorTable, PasskeyTable
from commentsvc.util.text import one_line
from commentsvc.util.timestamps import HOUR_MS

if TYPE_CHECKING:
    from fido2.server import Fido2Server

# The purposes of challenges, which are signed tokens, and for how long one is valid.
REGISTRATION: Final = "new passkey"
ASSERTION: Final = "passkey"
CHALLENGE_TIME: Final = HOUR_MS
CHALLENGE_SIZE: Final = 16  # random bytes (WebAuthn 13.4.3)
NAME_LENGTH: Final = 80  # characters
MOST: Final = 20  # the most of one account
# The COSE numbers of ES256, EdDSA and RS256, in our order of preference.
ALGORITHMS: Final = (-7, -8, -257)


class PasskeyRefused(Exception):
    """A browser's answer is not valid for a passkey of this host; the text is for the log."""


def make_challenge(links: SignedLinks, purpose: str, csrf_token: str, now: int) -> str:
    """Return a new challenge for REGISTRATION or ASSERTION in the browser with that token.

    `now` is in Unix milliseconds.
    """
    word = urandom(CHALLENGE_SIZE).hex()
    return links.make(purpose, csrf_token, word, expires=now + CHALLENGE_TIME)


class RelyingParty(msgspec.Struct, frozen=True):
    """The service as devices know it: its host name `id`, and the `origin` of its pages."""

    id: str
    origin: str

    @classmethod
    def of(cls, address: str) -> "RelyingParty":
        """Return the relying party for the service at `address`."""
        url = urlsplit(address)
        return cls(url.hostname or "", f"{url.scheme}://{url.netloc}")


class Created(msgspec.Struct, rename="camel"):
    """What a device answers when it has made a key; each field is base64url (WebAuthn 5.1)."""

    client_data_json: str = msgspec.field(name="clientDataJSON")
    attestation_object: str


class Signed(msgspec.Struct, rename="camel", omit_defaults=True):
    """What a device answers when it has signed; each field is base64url (WebAuthn 5.1)."""

    client_data_json: str = msgspec.field(name="clientDataJSON")
    authenticator_data: str
    signature: str
    user_handle: str | None = None


class Registration(msgspec.Struct, rename="camel"):
    """A browser's answer with a new key, without the fields that nobody here needs.

    fido2 gets only what was checked: from a number in place of a text it would make as many zeros.
    """

    id: str
    raw_id: str
    type: str
    response: Created


class Assertion(msgspec.Struct, rename="camel"):
    """A browser's answer with a signature; as `Registration`."""

    id: str
    raw_id: str
    type: str
    response: Signed


class Passkey(msgspec.Struct, frozen=True):
    """A passkey of an account; its `credential` has the public key and the device's model.

    `sign_count` is the last counter of the device, 0 if it does not count; `used_at` is 0 before
    the first sign-in.
    """

    id: int
    moderator_id: int
    moderator: str
    name: str
    credential_id: bytes
    credential: bytes
    sign_count: int
    created_at: int
    used_at: int


class NewCredential(msgspec.Struct, frozen=True):
    """A new credential: its id, the public key with the model, and the device's counter."""

    credential_id: bytes
    credential: bytes
    sign_count: int


def creation_options(
    party: RelyingParty, moderator_id: int, name: str, challenge: str, known: list[Passkey]
) -> str:
    """Return the options with which a browser makes a passkey; the account has the `known` ones.

    It is JSON for PublicKeyCredential.parseCreationOptionsFromJSON (WebAuthn 5.1.8).
    """
    algorithms = [{"type": "public-key", "alg": each} for each in ALGORITHMS]
    return json.dumps(
        {
            "rp": {"id": party.id, "name": party.id},
            "user": {"id": _base64(_handle(moderator_id)), "name": name, "displayName": name},
            "challenge": _base64(challenge.encode()),
            "pubKeyCredParams": algorithms,
            "excludeCredentials": [
                {"type": "public-key", "id": _base64(each.credential_id)} for each in known
            ],
            "authenticatorSelection": {
                "residentKey": "required",
                "requireResidentKey": True,
                "userVerification": "required",
            },
            "attestation": "none",
        }
    )


def request_options(party: RelyingParty, challenge: str) -> str:
    """Return the options with which a browser signs in with a passkey.

    It is JSON for PublicKeyCredential.parseRequestOptionsFromJSON. It names no account: the browser
    lets the moderator choose.
    """
    return json.dumps(
        {
            "rpId": party.id,
            "challenge": _base64(challenge.encode()),
            "userVerification": "required",
        }
    )


def read_new(party: RelyingParty, challenge: str, sent: str) -> NewCredential:
    """Return the credential made for a challenge; `sent` is JSON. Raise PasskeyRefused."""
    try:
        made = _server(party).register_complete(_state(challenge), _checked(sent, Registration))
        credential = made.credential_data
        if credential is None or credential.public_key.ALGORITHM not in ALGORITHMS:
            raise PasskeyRefused("passkey: a kind of key that we did not ask for")
    except PasskeyRefused:
        raise
    except Exception as error:
        # Any invalid part is refused, whatever fido2 raises for it.
        raise PasskeyRefused(str(error)) from error
    return NewCredential(credential.credential_id, bytes(credential), made.counter)


def read_id(sent: str) -> bytes:
    """Return the id of the credential used for signing in. Raise PasskeyRefused."""
    from fido2.utils import websafe_decode

    try:
        return bytes(websafe_decode(_checked(sent, Assertion)["id"]))
    except ValueError as error:
        raise PasskeyRefused(str(error)) from error


def verify(party: RelyingParty, challenge: str, sent: str, passkey: Passkey) -> int:
    """Return the device's counter if it signed the challenge with that passkey.

    Raise PasskeyRefused.
    """
    from fido2.webauthn import AttestedCredentialData, AuthenticationResponse

    try:
        response = AuthenticationResponse.from_dict(_checked(sent, Assertion))
        credential = AttestedCredentialData(passkey.credential)
        _server(party).authenticate_complete(_state(challenge), [credential], response)
        handle = response.response.user_handle
    except Exception as error:  # as in read_new
        raise PasskeyRefused(str(error)) from error
    if handle not in (None, _handle(passkey.moderator_id)):
        raise PasskeyRefused("passkey: of another account")
    return int(response.response.authenticator_data.counter)


def add(tx: Transaction, moderator_id: int, new: NewCredential, name: str, now: int) -> bool:
    """Store a passkey; return False if it is there already, or if the account has MOST."""
    name = one_line(name)[:NAME_LENGTH]
    if not name or len(of_moderator(tx, moderator_id)) >= MOST:
        return False
    row = PasskeyTable.insert(
        moderator=moderator_id,
        credential_id=new.credential_id,
        credential=new.credential,
        sign_count=new.sign_count,
        name=name,
        created_at=now,
        used_at=0,
    )
    stored = row.on_conflict(action="NOTHING", conflict_target=[PasskeyTable.credential_id])
    return bool(tx.change(stored))


def find(snapshot: Snapshot, of_credential: bytes) -> Passkey | None:
    """Return the passkey of that credential id; None if there is none."""
    row = snapshot.first(_passkeys().where(PasskeyTable.credential_id == of_credential))
    return Passkey(*row) if row else None


def exist(snapshot: Snapshot) -> bool:
    """Return whether any account has a passkey."""
    return snapshot.first(PasskeyTable.select(PasskeyTable.id).limit(1)) is not None


def of_moderator(snapshot: Snapshot, moderator_id: int) -> list[Passkey]:
    """Return the passkeys of an account, the oldest first."""
    own = _passkeys().where(PasskeyTable.moderator == moderator_id)
    return [Passkey(*row) for row in snapshot.query(own.order_by(PasskeyTable.id))]


def use(tx: Transaction, passkey_id: int, sign_count: int, now: int) -> bool:
    """Note a sign-in; return False if the device's counter did not rise: the key was copied.

    A device that does not count sends 0 each time (WebAuthn 6.1.1).
    """
    rises = PasskeyTable.sign_count < sign_count
    if sign_count == 0:
        rises = PasskeyTable.sign_count == 0
    used = PasskeyTable.update(sign_count=sign_count, used_at=now)
    return bool(tx.change(used.where(PasskeyTable.id == passkey_id, rises)))


def remove(tx: Transaction, passkey_id: int, moderator_id: int) -> None:
    """Remove a passkey, if it is the moderator's."""
    own = PasskeyTable.delete().where(
        PasskeyTable.id == passkey_id, PasskeyTable.moderator == moderator_id
    )
    tx.change(own)


def _passkeys() -> Select:
    return PasskeyTable.select(
        PasskeyTable.id,
        PasskeyTable.moderator,
        ModeratorTable.name,
        PasskeyTable.name,
        PasskeyTable.credential_id,
        PasskeyTable.credential,
        PasskeyTable.sign_count,
        PasskeyTable.created_at,
        PasskeyTable.used_at,
    ).join(ModeratorTable)


def _checked(sent: str, kind: type[Registration | Assertion]) -> dict[str, Any]:  # Any: JSON
    """Return a browser's answer, which is JSON, if it is of that kind. Raise ValueError."""
    answer: dict[str, Any] = msgspec.to_builtins(msgspec.json.decode(sent, type=kind))
    return answer


def _server(party: RelyingParty) -> "Fido2Server":
    from fido2.server import Fido2Server
    from fido2.webauthn import PublicKeyCredentialRpEntity

    entity = PublicKeyCredentialRpEntity(name=party.id, id=party.id)
    return Fido2Server(entity, verify_origin=lambda origin: origin == party.origin)


def _state(challenge: str) -> dict[str, Any]:  # Any: as fido2 has it
    return {"challenge": _base64(challenge.encode()), "user_verification": "required"}


def _handle(moderator_id: int) -> bytes:
    """Return the id of an account for devices, without personal data (WebAuthn 14.6.1)."""
    return b"moderator %d" % moderator_id


def _base64(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()

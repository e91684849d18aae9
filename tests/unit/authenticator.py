"""A passkey device in software: it makes keys and signs with them."""

import json
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from fido2.cose import ES256
from fido2.utils import sha256, websafe_decode, websafe_encode
from fido2.webauthn import (
    Aaguid,
    AttestationObject,
    AttestedCredentialData,
    AuthenticatorData,
    CollectedClientData,
)

FLAGS = AuthenticatorData.FLAG
PRESENT_AND_VERIFIED = FLAGS.UP | FLAGS.UV


class SoftAuthenticator:
    """A device with one key. A test can set its attributes so that it answers wrongly."""

    def __init__(self, origin: str = "https://comments.example", host: str = "") -> None:
        self.origin = origin
        self.host = host or origin.partition("://")[2].partition(":")[0]
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.id = b"credential of a test"
        self.handle = b""
        self.counter = 1
        self.flags = PRESENT_AND_VERIFIED
        self.type = ""

    def make(self, options: str) -> str:
        """Answer a page's request to create a passkey."""
        wanted = json.loads(options)
        self.handle = websafe_decode(wanted["user"]["id"])
        public = self.key.public_key().public_numbers()
        key = ES256({1: 2, 3: -7, -1: 1, -2: public.x.to_bytes(32), -3: public.y.to_bytes(32)})
        credential = AttestedCredentialData.create(Aaguid(bytes(16)), self.id, key)
        data = self._data(self.flags | FLAGS.AT, credential)
        client = self._client("webauthn.create", wanted)
        return self._answer(
            clientDataJSON=client, attestationObject=AttestationObject.create("none", data, {})
        )

    def sign(self, options: str) -> str:
        """Answer a page's request to sign in with a passkey."""
        data = self._data(self.flags)
        client = self._client("webauthn.get", json.loads(options))
        signature = self.key.sign(data + sha256(client), ec.ECDSA(hashes.SHA256()))
        return self._answer(
            clientDataJSON=client,
            authenticatorData=data,
            signature=signature,
            userHandle=self.handle,
        )

    def _data(
        self, flags: FLAGS, credential: AttestedCredentialData | None = None
    ) -> AuthenticatorData:
        host, more = sha256(self.host.encode()), credential or b""
        made: AuthenticatorData = AuthenticatorData.create(host, flags, self.counter, more)
        return made

    def _client(self, kind: str, wanted: Any) -> CollectedClientData:  # Any: it is JSON
        challenge = websafe_decode(wanted["challenge"])
        return CollectedClientData.create(self.type or kind, challenge, self.origin)

    def _answer(self, **parts: bytes) -> str:
        name = websafe_encode(self.id)
        response = {field: websafe_encode(value) for field, value in parts.items()}
        return json.dumps(
            {
                "id": name,
                "rawId": name,
                "type": "public-key",
                "clientExtensionResults": {},
                "response": response,
            }
        )

"""Sign-in by OpenID Connect: a provider says who somebody is (OpenID Connect Core 1.0, code flow).

We send the browser to the provider with a `state`, a nonce and the digest of a PKCE verifier (RFC
7636), and it comes back with a code. In exchange for the code, the verifier and our client secret,
the provider returns an ID token. We check its signature, issuer, audience, times and nonce. If no
known key fits, the keys are fetched again, since providers change them. Only signatures with public
keys are accepted, so neither the algorithm `none` nor a leaked client secret makes a token valid.

The provider's description and keys are kept for an hour. authlib and joserfc are imported at the
first sign-in.
"""

import asyncio
import base64
import hashlib
import logging
from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from commentsvc.settings.schema import OidcSettings
from commentsvc.util.clock import Clock
from commentsvc.util.http_client import EMPTY, RemoteError, SettingsClient
from commentsvc.util.timestamps import HOUR_MS

if TYPE_CHECKING:
    from joserfc import jwt

_log = logging.getLogger(__name__)

# The signature algorithms with public keys (RFC 7518, RFC 8037).
ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA", "Ed25519")
WELL_KNOWN: Final = "/.well-known/openid-configuration"
KEPT: Final = HOUR_MS  # how long the description and keys are kept
PAUSE: Final = 10_000  # milliseconds after a failure before the description is asked for again
KEYS: Final = 100  # the most keys of a provider that are tried
ANSWER: Final = 256 * 1024  # bytes of an answer
LEEWAY: Final = 60  # seconds by which two clocks may differ
SUBJECT_LENGTH: Final = 255  # characters (OpenID Connect Core 1.0, section 2)
FORM: Final = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}

S = TypeVar("S")


def provider_name(settings: OidcSettings) -> str:
    """Return the name of the provider; "" if none is set or authlib is not installed."""
    if not settings.issuer or find_spec("authlib") is None:
        return ""
    return settings.name or urlsplit(settings.issuer).hostname or ""


def is_subject(text: str) -> bool:
    """Return whether a text may name somebody at an issuer; each database stores it as it is."""
    return 0 < len(text) <= SUBJECT_LENGTH and text.isprintable()


class OidcRefused(Exception):
    """The provider did not confirm an identity; the text is for the log."""


class OidcUnavailable(OidcRefused):
    """The provider gives no usable description of itself; that is in the log already."""


class ProviderMetadata(msgspec.Struct, frozen=True):
    """A provider's description of itself (OpenID Connect Discovery 1.0, section 3)."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str = ""
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)


class JwkSet(msgspec.Struct, frozen=True):
    """A provider's public keys (RFC 7517, section 5)."""

    keys: list[dict[str, Any]]  # Any: as JWK have it


class TokenAnswer(msgspec.Struct, frozen=True):
    """The tokens that a provider returns for a code."""

    id_token: str
    access_token: str = ""


class Identity(msgspec.Struct, frozen=True):
    """A person at a provider; `subject` is their permanent id at that issuer.

    `email` is "" unless the provider says that it is verified.
    """

    issuer: str
    subject: str
    email: str
    name: str


class Attempt(msgspec.Struct, frozen=True):
    """The values of one sign-in: the address to come back to, the nonce and the PKCE verifier."""

    redirect_uri: str
    nonce: str
    verifier: str

    @classmethod
    def of(cls, redirect_uri: str, word: str, key: bytes) -> "Attempt":
        """Return the attempt that belongs to a random word; only our secret `key` can derive it."""
        digests = [
            hashlib.blake2b(word.encode(), digest_size=32, key=key[:64], person=person).digest()
            for person in (b"OIDC nonce", b"OIDC verifier")
        ]
        return cls(redirect_uri, *map(_base64, digests))


class OidcProvider:
    """One provider, with its description and keys."""

    def __init__(self, settings: OidcSettings, client: SettingsClient, clock: Clock) -> None:
        self._settings = settings
        self._client = client
        self._clock = clock
        self._metadata: ProviderMetadata | None = None
        self._keys: list[dict[str, Any]] = []  # Any: as JWK have it
        self._metadata_at = self._keys_at = 0
        self._failure = ""
        self._failed_at = 0
        self._describing = asyncio.Lock()

    async def address(self, attempt: Attempt, state: str) -> str:
        """Return the address of the provider to send a browser to. Raise OidcRefused."""
        metadata = await self._described()
        challenge = _base64(hashlib.sha256(attempt.verifier.encode()).digest())
        query = urlencode(
            {
                "response_type": "code",
                "client_id": self._settings.client_id,
                "redirect_uri": attempt.redirect_uri,
                "scope": "openid email profile",
                "state": state,
                "nonce": attempt.nonce,
                "code_challenge": challenge,
                "code_challenge_method": "S256",
            },
            quote_via=quote,
        )
        joint = "&" if "?" in metadata.authorization_endpoint else "?"
        return f"{metadata.authorization_endpoint}{joint}{query}"

    async def identity(self, attempt: Attempt, code: str) -> Identity:
        """Return the identity of the person who came back with a code. Raise OidcRefused."""
        metadata = await self._described()
        given = await self._exchange(metadata, attempt, code)
        claims = await self._verified(metadata, attempt, given)
        subject = claims.get("sub")
        if not isinstance(subject, str) or not is_subject(subject):
            raise OidcRefused("provider: it names nobody")
        if "email" not in claims and metadata.userinfo_endpoint and given.access_token:
            more = await self._userinfo(metadata, given.access_token)
            if more.get("sub") != subject:
                raise OidcRefused("provider: it describes somebody else")
            claims = more  # alone: whether an address is verified stands beside it
        stated = claims.get("email_verified")
        email, name = (
            value if isinstance(value, str) else "" for value in map(claims.get, ("email", "name"))
        )
        verified = stated is True or stated == "true"  # some providers write it as a text
        return Identity(metadata.issuer, subject, email if verified else "", name)

    async def _described(self) -> ProviderMetadata:
        """Return the provider's description. Raise OidcUnavailable.

        Anybody can cause this, so one request is sent for all who wait, and after a failure none
        for a while.
        """
        async with self._describing:
            now = self._clock.monotonic_ms()
            if self._metadata is None or now - self._metadata_at >= KEPT:
                if self._failure and now - self._failed_at < PAUSE:
                    raise OidcUnavailable(self._failure)
                try:
                    self._metadata = await self._describe()
                except OidcRefused as error:
                    self._failure, self._failed_at = str(error), self._clock.monotonic_ms()
                    _log.warning("nobody can sign in: %s", error)
                    raise OidcUnavailable(self._failure) from error
                self._metadata_at = now
            return self._metadata

    async def _describe(self) -> ProviderMetadata:
        """Fetch the provider's description; its issuer must be the configured one."""
        issuer = self._settings.issuer
        found = await self._get(issuer.rstrip("/") + WELL_KNOWN, ProviderMetadata)
        if found.issuer.rstrip("/") != issuer.rstrip("/"):
            raise OidcRefused(f"provider: it calls itself {found.issuer}")
        userinfo = found.userinfo_endpoint or found.token_endpoint
        for address in (
            found.authorization_endpoint,
            found.token_endpoint,
            found.jwks_uri,
            userinfo,
        ):
            if urlsplit(address).scheme not in ("https", urlsplit(issuer).scheme):
                raise OidcRefused(f"provider: an address without https, {address}")
        return found

    async def _exchange(
        self, metadata: ProviderMetadata, attempt: Attempt, code: str
    ) -> TokenAnswer:
        """Return the tokens for a code (RFC 6749, section 4.1.3)."""
        fields = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": attempt.redirect_uri,
            "code_verifier": attempt.verifier,
        }
        client, secret = self._settings.client_id, self._settings.client_secret
        headers = dict(FORM)
        if secret and "client_secret_basic" in metadata.token_endpoint_auth_methods_supported:
            pair = f"{quote(client, safe='')}:{quote(secret, safe='')}".encode()
            headers["Authorization"] = f"Basic {base64.b64encode(pair).decode()}"
        else:
            fields |= {"client_id": client} | ({"client_secret": secret} if secret else {})
        body = urlencode(fields).encode()
        try:
            answer = await self._client.post(metadata.token_endpoint, body, headers, most=ANSWER)
        except RemoteError as error:
            raise OidcRefused(f"provider: {error}") from error
        if answer.status != 200:
            raise OidcRefused(f"provider: {answer.status} {answer.text[:200]!a}")
        return _decoded(answer.text.encode(), TokenAnswer)

    async def _verified(
        self, metadata: ProviderMetadata, attempt: Attempt, given: TokenAnswer
    ) -> Mapping[str, Any]:  # Any: whatever a claim is
        """Return the claims of the ID token, after checking that it is for us and this attempt."""
        from authlib.oidc.core import CodeIDToken
        from joserfc.errors import JoseError

        token = _signed(given.id_token, await self._provider_keys(metadata, KEPT))
        if token is None:  # the provider may have other keys now
            token = _signed(given.id_token, await self._provider_keys(metadata, 0))
        if token is None:
            raise OidcRefused("provider: none of its keys made the ID token")
        expected = {
            "iss": {"essential": True, "value": metadata.issuer},
            "aud": {"essential": True, "value": self._settings.client_id},
            "sub": {"essential": True},
        }
        params = {
            "nonce": attempt.nonce,
            "client_id": self._settings.client_id,
            "access_token": given.access_token,
        }
        try:
            claims = CodeIDToken(token.claims, token.header, expected, params)
            claims.validate(now=self._clock.now_ms() // 1_000, leeway=LEEWAY)
        except (JoseError, ValueError, TypeError) as error:
            raise OidcRefused(f"provider: its ID token is refused, {error}") from error
        return dict(claims)

    async def _provider_keys(
        self, metadata: ProviderMetadata, kept: int
    ) -> list[dict[str, Any]]:  # Any: as JWK have it
        """Return the provider's keys, at most `kept` milliseconds old."""
        now = self._clock.monotonic_ms()
        if not self._keys or now - self._keys_at >= kept:
            found = await self._get(metadata.jwks_uri, JwkSet)
            self._keys, self._keys_at = found.keys[:KEYS], now
        return self._keys

    async def _userinfo(self, metadata: ProviderMetadata, token: str) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {token}"}
        return await self._get(metadata.userinfo_endpoint, dict[str, Any], headers)

    async def _get(self, address: str, kind: type[S], headers: Mapping[str, str] = EMPTY) -> S:
        try:
            found = await self._client.get(address, ANSWER, headers)
        except RemoteError as error:
            raise OidcRefused(f"provider: {address}: {error}") from error
        if found.status != 200:
            raise OidcRefused(f"provider: {address}: {found.status}")
        return _decoded(found.body, kind)


def _signed(token: str, keys: list[dict[str, Any]]) -> "jwt.Token | None":  # Any: as JWK
    """Return the decoded token if one of the keys made its signature, else None."""
    from joserfc import jwk, jwt
    from joserfc.errors import JoseError

    for key in keys:
        try:
            return jwt.decode(token, jwk.import_key(key), algorithms=ALGORITHMS)
        except (JoseError, ValueError, TypeError, KeyError):
            continue  # a key of another type, or not the one that signed
    return None


def _decoded(body: bytes, kind: type[S]) -> S:
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise OidcRefused(f"provider: {error}") from error


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()

"""Tokens of a blog's own login (single sign-on): JSON Web Tokens with a shared secret.

The blog signs with HS256 (RFC 7518, section 3.2) and the site's `sso_secret`. The claims are `sub`
(the user's id), `name` and perhaps `email`; `aud`, the address of this service; `nonce`, which the
service has sent with the browser; and `iat` and `exp`, at most five minutes apart. Since the nonce
belongs to one sign-in, a token works once. Only HS256 is accepted, so neither the algorithm `none`
nor a public key makes a token valid. joserfc is imported at the first sign-in.
"""

from importlib.util import find_spec
from typing import Final

import msgspec

from commentsvc.auth.oidc import is_subject

LIFE: Final = 300  # seconds between `iat` and `exp`, at most
LEEWAY: Final = 30  # seconds by which two clocks may differ
TOKEN_LENGTH: Final = 4_096  # characters


def is_installed() -> bool:
    """Return whether the library for tokens is installed: it comes with the extra `oidc`."""
    return find_spec("joserfc") is not None


class BlogTokenRefused(Exception):
    """The blog's login did not confirm an identity; the text is for the log."""


class BlogUser(msgspec.Struct, frozen=True):
    """The claims of a token. `email` was verified by the blog, "" if it has none."""

    sub: str
    aud: str
    nonce: str
    iat: int
    exp: int
    name: str = ""
    email: str = ""


def read(token: str, secret: str, audience: str, now: int) -> BlogUser:
    """Return the user of a token at `now` (Unix milliseconds). Raise BlogTokenRefused."""
    from joserfc import jwt
    from joserfc.errors import JoseError
    from joserfc.jwk import OctKey

    if not secret:
        raise BlogTokenRefused("blog: there is no secret")
    if len(token) > TOKEN_LENGTH:
        raise BlogTokenRefused("blog: the token is too long")
    try:
        decoded = jwt.decode(token, OctKey.import_key(secret), algorithms=["HS256"])
        user = msgspec.convert(decoded.claims, BlogUser)
    except (JoseError, ValueError, TypeError, RecursionError) as error:  # also msgspec's errors
        raise BlogTokenRefused(f"blog: the token is not valid: {error}") from error
    seconds = now // 1_000
    if user.aud.rstrip("/") != audience.rstrip("/"):
        raise BlogTokenRefused(f"blog: the token is for {user.aud[:80]!a}")
    if not 0 < user.exp - user.iat <= LIFE:
        raise BlogTokenRefused("blog: the token is valid for more than five minutes")
    if not user.iat - LEEWAY <= seconds < user.exp + LEEWAY:
        raise BlogTokenRefused("blog: the token has expired, or one of the clocks is wrong")
    if not is_subject(user.sub):
        raise BlogTokenRefused("blog: the token names no user")
    return user

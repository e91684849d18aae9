"""Passwords of moderators: what may be one, how it is kept, whether one fits.

Argon2id (RFC 9106) by libsodium. Of the parameters that OWASP calls equal, those that take
the least memory: 7 MiB and five passes take 8 ms, and stay small on a small machine. The same
password is the same whatever keyboard composed its letters (NFKC, as RFC 8265 has it for
passwords). libsodium is loaded at its first use: 0.9 MiB, for 6 ms.

Error: PasswordRefused, alone.
"""

import unicodedata
from typing import Final

from commentsvc.util.i18n import gettext as _

# Characters. Guessing is throttled, so length is all that a password needs.
SHORTEST: Final = 12
LONGEST: Final = 200

PASSES: Final = 5
MEMORY: Final = 7 << 20  # bytes
# Of a password that was thrown away: who tries an unknown name waits as long as for a known one.
NOBODY: Final = (
    "$argon2id$v=19$m=7168,t=5,p=1$ZMZI3YZ7+LraCYqC++cc3A"
    "$OYrIKxxbh1P0H42lnWz7/G1MOXBcvZGtWglO9bNmi28"
)


class PasswordRefused(Exception):
    """This cannot be a password; the text says why."""


def hash_password(password: str) -> str:
    """Return the hash of a new password, with a random salt. Raise PasswordRefused."""
    from nacl.pwhash import argon2id

    if not SHORTEST <= len(password) <= LONGEST:
        raise PasswordRefused(
            _(
                "A password has %(shortest)s to %(longest)s characters. A few words make a good"
                " one.",
                shortest=SHORTEST,
                longest=LONGEST,
            )
        )
    return argon2id.str(_prepared(password), PASSES, MEMORY).decode()


def verify(password: str, stored: str) -> bool:
    """Return whether `stored` was made of `password`; takes 8 ms and 7 MiB."""
    from nacl.exceptions import CryptoError
    from nacl.pwhash import argon2id

    try:
        return len(password) <= LONGEST and argon2id.verify(stored.encode(), _prepared(password))
    except (CryptoError, ValueError):  # it does not fit; `stored` is too long for a hash
        return False


def _prepared(password: str) -> bytes:
    return unicodedata.normalize("NFKC", password).encode(errors="surrogatepass")

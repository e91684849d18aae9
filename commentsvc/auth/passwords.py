"""Passwords of moderators: their rules, their hashes, and their verification.

They are hashed with Argon2id (RFC 9106) by libsodium. Of the parameters that OWASP considers equal,
these need the least memory: 7 MiB and five passes take 8 ms. Unicode is normalised (NFKC), so that
the same password from another keyboard is equal (after RFC 8265). libsodium is imported at its
first use, which takes 0.9 MiB and 6 ms.
"""

import unicodedata
from typing import Final

from commentsvc.util.i18n import gettext as _

# Characters. Guessing is limited, so a password needs length only.
SHORTEST: Final = 12
LONGEST: Final = 200

PASSES: Final = 5
MEMORY: Final = 7 << 20  # bytes
# The hash of an unknown password, so that unknown names take as long as known ones.
NOBODY: Final = (
    "$argon2id$v=19$m=7168,t=5,p=1$ZMZI3YZ7+LraCYqC++cc3A"
    "$OYrIKxxbh1P0H42lnWz7/G1MOXBcvZGtWglO9bNmi28"
)


class PasswordRefused(Exception):
    """The password is not allowed; the text says why."""


def hash_password(password: str) -> str:
    """Return the hash of a new password, with a random salt. Raise PasswordRefused."""
    from nacl.pwhash import argon2id

    if not SHORTEST <= len(password) <= LONGEST:
        raise PasswordRefused(
            _(
                "A password must have %(shortest)s to %(longest)s characters. A few words make a "
                "good one.",
                shortest=SHORTEST,
                longest=LONGEST,
            )
        )
    return argon2id.str(_prepared(password), PASSES, MEMORY).decode()


def verify(password: str, stored: str) -> bool:
    """Return whether `stored` is the hash of `password`; this takes 8 ms and 7 MiB."""
    from nacl.exceptions import CryptoError
    from nacl.pwhash import argon2id

    try:
        return len(password) <= LONGEST and argon2id.verify(stored.encode(), _prepared(password))
    except (CryptoError, ValueError):  # a wrong password, or an invalid hash
        return False


def _prepared(password: str) -> bytes:
    return unicodedata.normalize("NFKC", password).encode(errors="surrogatepass")

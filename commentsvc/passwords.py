"""Passwords of moderators: what may be one, how it is kept, whether one fits.

DESIGN. Argon2id (RFC 9106) by argon2-cffi, with the parameters that OWASP recommends for servers:
19 MiB and two passes take 30 ms, and stay small on a small machine. The same password is the same
whatever keyboard composed its letters (NFKC, as RFC 8265 has it for passwords).

Error: PasswordRefused, alone.
"""

import unicodedata
from typing import Final

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError

# Characters. Guessing is throttled, so length is all that a password needs.
SHORTEST: Final = 12
LONGEST: Final = 200

_HASHER: Final = PasswordHasher(time_cost=2, memory_cost=19_456, parallelism=1)
# Of a password that was thrown away: who tries an unknown name waits as long as for a known one.
NOBODY: Final = (
    "$argon2id$v=19$m=19456,t=2,p=1$J+bSAfxl75Ubs+Cmfw5jLA"
    "$zSsFPa3eeNrlz7Actly9XfjWsTsR4j4NNNi5U2+pyNo"
)


class PasswordRefused(Exception):  # noqa: N818 - it names the state
    """This cannot be a password; the text says why."""


def new_hash(password: str) -> str:
    """The hash of a new password, with a random salt. Raises PasswordRefused."""
    if not SHORTEST <= len(password) <= LONGEST:
        raise PasswordRefused(
            f"A password has {SHORTEST} to {LONGEST} characters. A few words make a good one."
        )
    return _HASHER.hash(_prepared(password))


def fits(password: str, stored: str) -> bool:
    """Whether `stored` was made of `password`; takes 30 ms and 19 MiB."""
    try:
        return len(password) <= LONGEST and _HASHER.verify(stored, _prepared(password))
    except (Argon2Error, InvalidHashError):
        return False


def _prepared(password: str) -> bytes:
    return unicodedata.normalize("NFKC", password).encode(errors="surrogatepass")

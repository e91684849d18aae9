"""Proof of work: what a reader's browser, or a bot, computes before a comment is taken.

ALTCHA's format, second version (https://altcha.org/docs/v2/proof-of-work-v2/): find the
number for which PBKDF2 gives the key that begins as asked. We choose the number, so that the time
it takes has an upper bound, and sign the whole key, so that checking costs two HMACs. The work is
for one form token, which it names, and thereby used once and as old as that.

It gets harder with the number of forms that the asking network has lately opened, to STEEPEST
times: who asks often pays for it, and nobody else does. A slow phone
does half a million rounds a second, so that it takes such a phone 0.2 s and 2 s at most; the widget
works while its reader writes, and sends a comment without it rather than let anybody wait.

The library is loaded at its first use: it needs 3 MiB, mostly for an HTTP client that we never use.
"""

import hashlib
from collections.abc import Callable, Sequence
from secrets import randbelow
from typing import TYPE_CHECKING, Any, Final

from cachetools import LRUCache

if TYPE_CHECKING:
    from altcha import Payload

ROUNDS: Final = 1_000  # of PBKDF2 for each number: 0.25 ms for us, once for each form
STEEPEST: Final = 10  # times as hard as in quiet hours
QUIET: Final = 30.0  # forms opened by a network in HALF_MS that make nothing harder
NETWORKS: Final = 10_000  # whose numbers are remembered, about 2 MiB
HALF_MS: Final = 60_000  # after which an opened form counts half
LENGTH: Final = 4_000  # characters of an answer; an honest one has 900


class ProofOfWork:
    """Asks for work, and checks it."""

    def __init__(
        self, keys: Sequence[bytes], numbers: int, random: Callable[[int], int] = randbelow
    ) -> None:
        """Take the secret keys, and how many numbers there are to try in quiet hours."""
        self._secrets = [(_secret(key, b"work asked"), _secret(key, b"work done")) for key in keys]
        self._numbers = numbers
        self._random = random
        # How many forms a network has lately opened, and when it did so last.
        self._opened: LRUCache[bytes, tuple[float, int]] = LRUCache(NETWORKS)

    def challenge(self, form_token: str, now_ms: int, network: bytes = b"") -> dict[str, Any]:
        """Return a challenge for who has `form_token`, in `network`; b"" where that is not known.

        `now_ms` is monotonic. Any: JSON as ALTCHA defines it.
        """
        from altcha import create_challenge

        opened, since = self._opened.get(network, (0.0, now_ms))
        opened = opened * 0.5 ** (max(0, now_ms - since) / HALF_MS) + 1
        self._opened[network] = opened, now_ms
        harder = min(STEEPEST, max(1.0, opened / QUIET))
        asked, done = self._secrets[0]
        challenge = create_challenge(
            "PBKDF2/SHA-256",
            ROUNDS,
            counter=self._random(int(self._numbers * harder)),
            data={"form_token": form_token},
            hmac_secret=asked,
            hmac_key_secret=done,
        )
        return challenge.to_dict()

    def is_solved(self, answer: str, form_token: str) -> bool:
        """Say whether `answer` is the work that was asked of who has `form_token`."""
        from altcha import verify_solution

        payload = _read(answer)
        if payload is None or payload.challenge.parameters.data != {"form_token": form_token}:
            return False
        return any(
            verify_solution(payload, asked, hmac_key_secret=done).verified
            for asked, done in self._secrets
        )


def _secret(key: bytes, purpose: bytes) -> bytes:
    return hashlib.blake2b(hashlib.blake2b(key).digest(), person=purpose).digest()


def _read(answer: str) -> "Payload | None":
    """Decode what a client sent; None where it is not ALTCHA's format."""
    from altcha import Payload

    if not 0 < len(answer) <= LENGTH:
        return None
    try:
        return Payload.from_base64(answer)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None

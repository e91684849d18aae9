"""Proof of work: a computation that a client is asked for; a comment without it gets points.

The format is ALTCHA's, version 2 (https://altcha.org/docs/v2/proof-of-work-v2/): find the number
for which PBKDF2 gives a key with a given beginning. We choose the number, so that the time it takes
has an upper limit, and sign the whole key, so that checking costs two HMACs. The challenge contains
the form token, so it can be used only once and expires with it.

It becomes up to STEEPEST times harder with the number of forms that the client's network has opened
lately, so that only networks with many requests have more to do. A slow phone computes half a
million rounds a second, so it needs 0.2 s, and 2 s at most. The widget computes while its reader
writes, and sends a comment without the proof rather than let anybody wait.

The library is imported at its first use: it takes 3 MiB, mostly for an HTTP client that is not
used.
"""

import hashlib
from collections.abc import Callable, Sequence
from secrets import randbelow
from typing import TYPE_CHECKING, Any, Final

from cachetools import LRUCache

if TYPE_CHECKING:
    from altcha import Payload

ROUNDS: Final = 1_000  # rounds of PBKDF2 for each number: 0.25 ms for the service, once per form
STEEPEST: Final = 10  # times as hard, at most
QUIET: Final = 30.0  # forms opened by a network in HALF_MS without effect on the difficulty
NETWORKS: Final = 10_000  # networks in memory, about 2 MiB
HALF_MS: Final = 60_000  # milliseconds after which an opened form counts half
LENGTH: Final = 4_000  # characters of an answer; a valid one has 900


class ProofOfWork:
    """Makes challenges, and checks the answers."""

    def __init__(
        self, keys: Sequence[bytes], numbers: int, random: Callable[[int], int] = randbelow
    ) -> None:
        """Take the secret keys, and how many numbers a client tries at the lowest difficulty."""
        self._secrets = [(_secret(key, b"work asked"), _secret(key, b"work done")) for key in keys]
        self._numbers = numbers
        self._random = random
        # The decaying number of forms that a network has opened, and when it opened the last one.
        self._opened: LRUCache[bytes, tuple[float, int]] = LRUCache(NETWORKS)

    def challenge(self, form_token: str, now_ms: int, network: bytes = b"") -> dict[str, Any]:
        """Return a challenge for `form_token`; `network` is the client's, b"" if it is not known.

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
        """Return whether `answer` solves the challenge for `form_token`."""
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
    """Decode an answer; return None if it is not in ALTCHA's format."""
    from altcha import Payload

    if not 0 < len(answer) <= LENGTH:
        return None
    try:
        return Payload.from_base64(answer)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None

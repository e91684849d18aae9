"""Form tokens: evidence that somebody opened a form a moment ago, and sends it once.

The widget asks for a form token when somebody begins to write. It consists of the time, a random
word and the site, signed (HMAC-SHA256 of itsdangerous). It gives points if it is younger than the
time to type a comment, older than a page stays open, or was used for another submission. Nothing is
stored when it is made. The words of used ones are kept in memory with their submissions, so that a
retry of the same submission gives no points. After a restart, and at each further instance, each
can be used once more: a second use only gives points, and a table would cost each submission a
write.
"""

import hashlib
import re
from collections.abc import Callable, Sequence
from os import urandom
from typing import Final, NamedTuple

from cachetools import FIFOCache
from itsdangerous import BadSignature, Signer

from commentsvc.spam import score
from commentsvc.spam.score import Signal
from commentsvc.util.timestamps import DAY_MS

YOUNGEST_MS: Final = 3_000  # nobody types a name and a sentence faster
OLDEST_MS: Final = DAY_MS  # a page may be left open over night
SKEW_MS: Final = 1_000  # how much a clock may go back
LENGTH: Final = 200  # characters; ours are shorter
REMEMBERED: Final = 20_000  # used form tokens in memory, about 5 MiB

_PARTS = re.compile(r"([0-9]{1,15})\.([0-9a-f]{24})\.([a-z0-9-]+)").fullmatch


class TokenCheck(NamedTuple):
    """Whether a form token is valid, not expired and unused; and its signal, if any."""

    usable: bool
    signal: Signal | None


class FormTokens:
    """Makes and checks form tokens."""

    def __init__(self, keys: Sequence[bytes], random: Callable[[int], bytes] = urandom) -> None:
        """Take the secret keys: the first one signs, all are accepted."""
        signing = [*reversed(keys)]  # the last one signs
        self._signer = Signer(signing, salt="form token", digest_method=hashlib.sha256)
        self._random = random
        self._used: FIFOCache[str, int] = FIFOCache(REMEMBERED)

    def make(self, site: str, now_ms: int) -> str:
        """Return a form token for a form of `site` at the time `now_ms`."""
        return self._signer.sign(f"{now_ms}.{self._random(12).hex()}.{site}").decode()

    def check(self, form_token: str, site: str, submission: int, now_ms: int) -> TokenCheck:
        """Check a `form_token` of a submission to `site` at the time `now_ms`.

        `submission` identifies the submission, which has used the form token from now on.
        """
        try:
            known = len(form_token) <= LENGTH and form_token.isascii()
            text = self._signer.unsign(form_token) if known else b""
        except BadSignature:
            text = b""
        parts = _PARTS(text.decode())
        if not parts or parts[3] != site:
            return TokenCheck(False, Signal(score.FORGED, "token-forged"))
        age_ms = now_ms - int(parts[1])
        if not -SKEW_MS <= age_ms < OLDEST_MS:
            return TokenCheck(False, Signal(score.EXPIRED, "token-expired"))
        if self._use(parts[2], submission) != submission:
            return TokenCheck(False, Signal(score.REPLAYED, "token-used"))
        if age_ms < YOUNGEST_MS:
            return TokenCheck(True, Signal(score.HASTY, "hasty", str(YOUNGEST_MS // 1_000)))
        return TokenCheck(True, None)

    def _use(self, word: str, submission: int) -> int:
        """Note that a submission used a form token; return the submission that did so first."""
        return self._used.setdefault(word, submission)

"""TOTP: time-based one-time passwords of authenticator apps (RFC 6238, RFC 4226).

SHA-1, six digits and thirty seconds are what all apps support. The known weaknesses of SHA-1 do not
affect HMAC.
"""

import base64
import hmac
from typing import Final
from urllib.parse import quote

STEP_MS: Final = 30_000
DIGITS: Final = 6
SLACK: Final = 1  # steps that a clock may be off, either way (RFC 6238, 5.2)


def code(secret: bytes, step: int) -> str:
    """Return the code of a step (RFC 4226, 5.3)."""
    digest = hmac.digest(secret, step.to_bytes(8, "big"), "sha1")
    start = digest[-1] & 0xF
    number = int.from_bytes(digest[start : start + 4], "big") & 0x7FFFFFFF
    return f"{number % 10**DIGITS:0{DIGITS}}"


def matching_step(secret: bytes, given: str, now_ms: int) -> int | None:
    """Return the newest step around the time `now_ms` with the `given` code; None for none."""
    current = now_ms // STEP_MS
    found = None
    for step in range(current - SLACK, current + SLACK + 1):
        if hmac.compare_digest(code(secret, step).encode(), given.encode(errors="replace")):
            found = step
    return found


def written(secret: bytes) -> str:
    """Return the secret in base32, as people type it into an app."""
    return base64.b32encode(secret).decode().rstrip("=")


def address(secret: bytes, issuer: str, name: str) -> str:
    """Return the otpauth URI for the QR code, in the Key Uri Format of Google Authenticator."""
    label = f"{quote(issuer, safe='')}:{quote(name, safe='')}"
    return f"otpauth://totp/{label}?secret={written(secret)}&issuer={quote(issuer, safe='')}"

"""Texts that are signed or encrypted with OpenPGP inside a mail, without MIME (RFC 9580, 7)."""

import re
from typing import Final

# What is above a signed text, with its header lines, and what is above and below its signature.
_HEAD: Final = re.compile(
    r"^-----BEGIN PGP SIGNED MESSAGE-----[ \t]*\n(?:[A-Za-z]+:[^\n]*\n)*[ \t]*\n", re.MULTILINE
).search
_SIGNATURE: Final = "\n-----BEGIN PGP SIGNATURE-----"
_END: Final = re.compile(r"^-----END PGP SIGNATURE-----[ \t]*$", re.MULTILINE)
_DASHES: Final = re.compile("^- ", re.MULTILINE)  # 7.2: before each line that begins with "-"
_ARMOR: Final = re.compile("^-----BEGIN PGP ", re.MULTILINE).search


def signed_text(text: str) -> str | None:
    """Return a text without its one signature; None if it is, or has, something else of OpenPGP."""
    if not _ARMOR(text):
        return text
    plain = text.replace("\r\n", "\n")
    head = _HEAD(plain)
    signature = plain.find(_SIGNATURE, head.end() - 1) if head else -1
    if head is None or signature < 0:
        return None
    end = _END.search(plain, signature)
    below = plain[end.end() :] if end else ""
    own = _DASHES.sub("", plain[head.end() : signature + 1])
    plain = f"{plain[: head.start()]}{own}{below}"
    return None if _ARMOR(plain) else plain

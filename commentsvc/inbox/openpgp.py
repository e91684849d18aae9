"""Texts that are signed or encrypted with OpenPGP inside a mail, without MIME (RFC 9580, 7)."""

import re
from typing import Final

# The text of a signed message, between its header lines and its signature.
_SIGNED: Final = re.compile(
    r"^-----BEGIN PGP SIGNED MESSAGE-----[ \t]*\n(?:[A-Za-z]+:[^\n]*\n)*[ \t]*\n(.*?)"
    r"^-----BEGIN PGP SIGNATURE-----.*?(?:^-----END PGP SIGNATURE-----[ \t]*$|\Z)",
    re.MULTILINE | re.DOTALL,
)
_DASHES: Final = re.compile("^- ", re.MULTILINE)  # 7.2: before each line that begins with "-"
_ARMOR: Final = re.compile("^-----BEGIN PGP ", re.MULTILINE).search


def signed_text(text: str) -> str | None:
    """Return a text without its signature; None if it is, or has, something else of OpenPGP."""
    if not _ARMOR(text):
        return text
    plain = text.replace("\r\n", "\n")
    plain = _SIGNED.sub(lambda found: _DASHES.sub("", found[1]), plain)
    return None if _ARMOR(plain) else plain

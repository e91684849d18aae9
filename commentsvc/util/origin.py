"""Origins of web addresses and names of hosts, as browsers write them (RFC 6454, UTS 46)."""

import re
import unicodedata
from functools import lru_cache
from urllib.parse import urlsplit

ORIGINS = 1_024  # addresses in the cache of `origin`
HOST_LENGTH = 253  # characters of a host name: RFC 1035, 2.3.4, without the final dot
REMEMBERED_LENGTH = 300  # characters: longer addresses are not cached, so the cache stays small
# The names of one's own machine: nobody can listen on the way to them.
LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")
LOCAL_LENGTH = 64  # characters of an email address before the @ (RFC 5321, 4.5.3.1.1)
# A local part without quotes (RFC 5321, 4.1.2), and the name of a host on the internet.
_LOCAL = re.compile(r"[^\s.@]+(?:\.[^\s.@]+)*").fullmatch
_LABEL = "[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_HOST = re.compile(rf"{_LABEL}(?:\.{_LABEL})+").fullmatch
_KELVIN = "\u212a"  # the only letter that NFC makes one of ASCII
_MATCH = re.compile(
    r"(https?)://(\[[0-9a-f:.]+\]|[^:/?#@\[\]\s]+)(?::([0-9]{0,5}))?(?=[/?#]|\Z)", re.IGNORECASE
).match


def origin(address: str) -> str:
    """Return the origin of an http(s) address as browsers write it, `""` for other texts.

    It is in lower case and IDNA, without a default port, and ends after the authority (RFC 6454,
    section 6).
    """
    return (_origin if len(address) <= REMEMBERED_LENGTH else _origin.__wrapped__)(address)


@lru_cache(ORIGINS)
def _origin(address: str) -> str:
    match = _MATCH(address)
    host = host_name(match[2]) if match else ""
    if match is None or not host:
        return ""
    scheme, port = match[1].lower(), (match[3] or "").lstrip("0")
    usual = port in ("", {"http": "80", "https": "443"}[scheme])
    return f"{scheme}://{host}" if usual else f"{scheme}://{host}:{port}"


def host_of(address: str) -> str:
    """Return the host of an address in lower case, `""` if it has none or is invalid."""
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""


def address_key(address: str) -> str:
    """Return the same text for all spellings of an email address, and `""` for `""` alone.

    Addresses are compared by it, and nothing is sent there. The domain is one as
    `host_name` has it. The local part is in lower case and NFC, as RFC 6532 (3.1) recommends. Only
    letters of which upper case gives the same letter back change their case: servers may give `ß`
    and `ss`, or `ı` and `i`, to different people, and such an address must not open the other's
    account. What follows a plus counts, too.
    """
    local, _, domain = address.strip().rpartition("@")
    if not local:
        return address.strip().lower()
    return f"{_folded(local)}@{host_name(domain) or domain.lower()}"


def is_spelling(address: str, key: str) -> bool:
    """Return whether `key` is the `address_key` of an address.

    Most are told apart by their local part, so that no domain in other letters has to be mapped.
    """
    local, _, _ = address.strip().rpartition("@")
    alike = not local or _folded(local) == key.rpartition("@")[0]
    return alike and bool(address) and address_key(address) == key


def _folded(local: str) -> str:
    """Return a local part for `address_key`."""
    if local.isascii():
        return local.lower()
    if _KELVIN not in local:
        local = unicodedata.normalize("NFC", local)
    return "".join(low if (low := each.lower()).upper() == each else each for each in local)


def deliverable(address: str) -> str:
    """Return an email address as mail servers take it, "" if mail cannot be sent there.

    The domain is one as `host_name` has it; each server knows such names, but few know others (RFC
    5891, RFC 6531). The local part stays as it was typed.
    """
    local, _, domain = address.strip().rpartition("@")
    host = host_name(domain)
    is_right = len(local) <= LOCAL_LENGTH and _LOCAL(local) and _HOST(host)
    return f"{local}@{host}" if is_right else ""


def host_name(name: str) -> str:
    """Return a host name in lower case and ASCII, `""` if it is invalid.

    Other letters are mapped as browsers do it (UTS 46, non-transitional): `faß.de` and `fass.de`
    stay different names, since they may have different owners.
    """
    name = name.removesuffix(".")
    if len(name) > HOST_LENGTH:
        return ""
    if name.isascii():
        return name.lower()
    import idna  # only for these, and not small

    try:
        return idna.encode(name, uts46=True).decode()
    except idna.IDNAError:
        return ""

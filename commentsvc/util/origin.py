"""Origins of web addresses, as browsers write them (RFC 6454)."""

import re
from functools import lru_cache

ORIGINS = 1_024  # of pages that are remembered as read; a site has one or two
HOST_LENGTH = 253  # characters of a host name: RFC 1035, 2.3.4, without the final dot
_ORIGIN = re.compile(
    r"(https?)://(\[[0-9a-f:.]+\]|[^:/?#@\[\]\s]+)(?::([0-9]{0,5}))?(?=[/?#]|\Z)", re.IGNORECASE
).match


@lru_cache(ORIGINS)
def origin(address: str) -> str:
    """Give the origin of an http(s) address as browsers write it, `""` where there is none.

    Lower case, IDNA, without the default port and without what follows the authority (RFC 6454, 6).
    """
    match = _ORIGIN(address)
    host = _host(match[2].lower()) if match else ""
    if match is None or not host:
        return ""
    scheme, port = match[1].lower(), (match[3] or "").lstrip("0")
    usual = port in ("", {"http": "80", "https": "443"}[scheme])
    return f"{scheme}://{host}" if usual else f"{scheme}://{host}:{port}"


def _host(host: str) -> str:
    host = host.removesuffix(".")
    if not host.isascii() and len(host) <= HOST_LENGTH:
        try:
            host = host.encode("idna").decode("ascii")
        except UnicodeError:
            return ""
    return host if len(host) <= HOST_LENGTH and host.isascii() else ""

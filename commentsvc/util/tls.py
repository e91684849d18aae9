"""TLS for connections to other servers: whose certificates are trusted."""

import ssl
from collections.abc import Iterator
from functools import cache
from typing import Final

import certifi

ENDED: Final = 10  # of OpenSSL: the time in which it was valid is over
CAUSES: Final = 5  # errors that led to an error, at most, that are looked at


def client_context(ca_file: str = "") -> ssl.SSLContext:
    """Return a context that trusts the certificates in `ca_file`, or those of certifi.

    Raise OSError if the file cannot be read.
    """
    return ssl.create_default_context(cafile=ca_file) if ca_file else _usual()


def causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error, and what led to it; at most CAUSES errors."""
    for _ in range(CAUSES):
        if error is None:
            return
        yield error
        error = error.__cause__ or error.__context__


def certificate_fault(error: BaseException | None) -> str:
    """Return what is wrong with a server's certificate, if `error` or its cause says so, or ""."""
    for cause in causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            if cause.verify_code == ENDED:
                return "its certificate has ended: it must be renewed there"
            return f"its certificate is not valid: {cause.verify_message}"
    return ""


@cache  # reading certifi's file takes 50 ms
def _usual() -> ssl.SSLContext:
    return ssl.create_default_context(cafile=certifi.where())

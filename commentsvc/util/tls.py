"""TLS for connections to other servers: whose certificates are trusted."""

import ssl
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


def certificate_fault(error: BaseException | None) -> str:
    """Return what is wrong with a server's certificate, if `error` or its cause says so, or ""."""
    for _ in range(CAUSES):
        if isinstance(error, ssl.SSLCertVerificationError):
            if error.verify_code == ENDED:
                return "its certificate has ended: it must be renewed there"
            return f"its certificate is not valid: {error.verify_message}"
        error = error and (error.__cause__ or error.__context__)
    return ""


@cache  # reading certifi's file takes 50 ms
def _usual() -> ssl.SSLContext:
    return ssl.create_default_context(cafile=certifi.where())

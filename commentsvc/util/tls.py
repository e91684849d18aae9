"""TLS for connections to other servers: whose certificates are trusted."""

import ssl
from functools import cache

import certifi


def client_context(ca_file: str = "") -> ssl.SSLContext:
    """Return a context that trusts the certificates in `ca_file`, or those of certifi.

    Raise OSError if the file cannot be read.
    """
    return ssl.create_default_context(cafile=ca_file) if ca_file else _usual()


@cache  # reading certifi's file takes 50 ms
def _usual() -> ssl.SSLContext:
    return ssl.create_default_context(cafile=certifi.where())

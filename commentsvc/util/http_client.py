"""HTTP client with protection against server-side request forgery (SSRF).

A URL from the settings must not give access to the machine's own network. So the host name is
resolved here. If any of its addresses is not public (private, loopback, link-local, a cloud's
metadata address, multicast, or one of these inside an IPv6 address), nothing is sent, unless the
operator allows that network. The connection goes to the address that was checked, even if the
name resolves to another one a moment later. TLS still verifies the name, with the certificates of
certifi. Only `fetch` follows redirects, the proxies of the environment are ignored, and the time
and the size of the answer are bounded.

Names are resolved in threads of their own. The event loop's few threads also check passwords and
render long comments, and a name server of somebody who wants to hold them up does not answer.

httpx2 is imported at the first request, since it takes 1.6 MiB and 20 ms, and most services send
no requests.
"""

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any, Final, NamedTuple
from urllib.parse import urljoin, urlsplit

from commentsvc.util.tls import client_context

DEADLINE: Final = 20.0  # seconds for the whole request, by default
REDIRECTS: Final = 5  # that `fetch` follows
LOOKUPS: Final = 64  # names that are looked up at once, also for requests that are over meanwhile
ANSWER: Final = 2_048  # bytes of an answer that `post` reads: enough for an error message
# Bytes of an answer for each piece that it may come in, and pieces that are allowed in any case.
# Each piece costs time on the event loop, so a server that sends single bytes is refused.
PIECE: Final = 512
PIECES: Final = 1_000
TURN: Final = 64  # pieces that are read before others get their turn
EMPTY: Final[Mapping[str, str]] = {}

# RFC 6052: IPv6 addresses that stand for an IPv4 address behind a translator.
_TRANSLATED: Final = IPv6Network("64:ff9b::/96")
# IANA has allocated global unicast IPv6 addresses from this block only. Outside of it `ipaddress`
# calls some addresses global that are not: site-local ones, and obsolete or local forms that carry
# an IPv4 address (::/96, ::ffff:0:0:0/96, 64:ff9b:1::/48).
_UNICAST: Final = IPv6Network("2000::/3")
# These are not public either, but not every version of `ipaddress` knows: RFC 6890, RFC 9637.
_RESERVED: Final = (ip_network("192.0.0.0/24"), ip_network("3fff::/20"))

_lookups: Final = threading.BoundedSemaphore(LOOKUPS)


class RemoteError(Exception):
    """The request failed; the text tells the operator why."""


class HttpResponse(NamedTuple):
    """The status and the first bytes of the answer, decoded as UTF-8."""

    status: int
    text: str


def is_public(address: str) -> bool:
    """Return whether an IP address, and every IPv4 address inside it, is public."""
    ip = ip_address(address.partition("%")[0])
    return all(map(_is_public, _within(ip)))


def _is_public(ip: IPv4Address | IPv6Address) -> bool:
    if isinstance(ip, IPv6Address) and not (ip in _UNICAST or ip in _TRANSLATED):
        return False
    reserved = any(ip in network for network in _RESERVED)
    return ip.is_global and not ip.is_multicast and not reserved


def _within(ip: IPv4Address | IPv6Address) -> list[IPv4Address | IPv6Address]:
    """Return an address and the IPv4 addresses that it embeds."""
    if isinstance(ip, IPv4Address):
        return [ip]
    if ip.ipv4_mapped:
        return [ip.ipv4_mapped]
    inner = [ip.sixtofour, *(ip.teredo or ())]
    if ip in _TRANSLATED:
        inner.append(IPv4Address(int(ip) & 0xFFFFFFFF))
    return [ip, *(each for each in inner if each)]


class Fetched(NamedTuple):
    """An answer: its status, the media type without parameters, and the whole body.

    `headers` have their names in lower case; `url` is where `fetch` found it after redirects.
    """

    status: int
    type: str
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()
    url: str = ""

    def header(self, name: str) -> str:
        """Return the values of a header, joined by commas; "" if there is none."""
        return ", ".join(value for key, value in self.headers if key == name)


async def post(
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    networks: Sequence[str] = (),
    deadline: float = DEADLINE,
    most: int = ANSWER,
) -> HttpResponse:
    """POST `body` to `url`, and wait for the answer for `deadline` seconds at most.

    Addresses in `networks` (CIDR) are allowed although they are not public; `most` bytes of the
    answer are read. Raise RemoteError.
    """
    request = ("POST", url, body, headers)
    found = await _in_time(deadline, _send(request, most, networks))
    return HttpResponse(found.status, found.body[:most].decode(errors="replace"))


async def get(
    url: str,
    most: int,
    networks: Sequence[str] = (),
    headers: Mapping[str, str] = EMPTY,
) -> Fetched:
    """GET `url`; `networks` are as for `post`.

    Raise RemoteError, also if the answer has more than `most` bytes.
    """
    found = await _in_time(DEADLINE, _send(("GET", url, b"", headers), most + 1, networks))
    if len(found.body) > most:
        raise RemoteError(f"the answer has more than {most} bytes")
    return found


async def fetch(
    url: str, most: int, headers: Mapping[str, str], networks: Sequence[str] = ()
) -> Fetched:
    """As `get`, but follow up to REDIRECTS redirects; each new address is checked, too.

    The deadline is for all of them together.
    """
    return await _in_time(DEADLINE, _follow(url, most, headers, networks))


async def _follow(
    url: str, most: int, headers: Mapping[str, str], networks: Sequence[str]
) -> Fetched:
    for _ in range(REDIRECTS + 1):
        found = await _send(("GET", url, b"", headers), most + 1, networks)
        location = found.header("location")
        if found.status not in (301, 302, 303, 307, 308) or not location:
            if len(found.body) > most:
                raise RemoteError(f"the answer has more than {most} bytes")
            return found._replace(url=url)
        try:
            url = urljoin(url, location)
        except ValueError as error:
            raise RemoteError(f"it redirects to what is no address: {location[:200]}") from error
    raise RemoteError(f"it redirects more than {REDIRECTS} times")


async def _in_time(deadline: float, sending: Coroutine[Any, Any, Fetched]) -> Fetched:
    """Return the answer that `sending` gives within so many seconds. Raise RemoteError."""
    import httpx2

    try:
        async with asyncio.timeout(deadline):
            return await sending
    except TimeoutError as error:
        raise RemoteError(f"no answer within {deadline:.0f} s") from error
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as error:
        raise RemoteError(str(error) or type(error).__name__) from error


async def _send(
    request: tuple[str, str, bytes, Mapping[str, str]], most: int, networks: Sequence[str]
) -> Fetched:
    """Send a request (method, url, body, headers) and read `most` bytes, or a few more."""
    import httpx2

    method, url, body, headers = request
    parts = urlsplit(url)
    host = parts.hostname or ""
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    if not host or port is None:
        raise RemoteError("it is no http address")
    address = await _resolve(host, port, networks)
    there = f"[{address}]" if ":" in address else address
    target = f"{parts.scheme}://{there}:{port}{parts.path or '/'}"
    sent = httpx2.Request(
        method,
        f"{target}?{parts.query}" if parts.query else target,
        headers={**headers, "Host": parts.netloc, "User-Agent": "commentsvc"},
        content=body,
        extensions={"sni_hostname": host, "timeout": httpx2.Timeout(None).as_dict()},
    )
    async with httpx2.AsyncHTTPTransport(verify=client_context(), trust_env=False) as transport:
        response = await transport.handle_async_request(sent)
        try:
            read = await _read(response.aiter_raw(), most)
            media_type = response.headers.get("content-type", "").partition(";")[0].strip()
            fields = tuple((name.lower(), value) for name, value in response.headers.multi_items())
            return Fetched(response.status_code, media_type.lower(), read, fields)
        finally:
            await response.aclose()


async def _read(pieces: AsyncIterator[bytes], most: int) -> bytes:
    """Return the first `most` bytes of an answer, or a few more. Raise RemoteError."""
    read, number = bytearray(), 0
    async for piece in pieces:
        read += piece
        number += 1
        if len(read) >= most:
            break
        if number > PIECES + most // PIECE:
            raise RemoteError("it sends its answer in too many pieces")
        if number % TURN == 0:
            await asyncio.sleep(0)
    return bytes(read)


async def _resolve(host: str, port: int, networks: Sequence[str]) -> str:
    """Return an address of `host`. Raise RemoteError if any address of it is not allowed."""
    addresses = await _look_up(host, port)
    allowed = [ip_network(network) for network in networks]
    for address in addresses:
        inside = any(ip_address(address.partition("%")[0]) in network for network in allowed)
        if not inside and not is_public(address):
            raise RemoteError(
                f"{host} is {address}, which is no public address. If that is meant, add its"
                " network to hooks.allowed_networks."
            )
    return addresses[0]


async def _look_up(host: str, port: int) -> list[str]:
    """Return the addresses of `host`. Raise RemoteError, OSError or UnicodeError.

    Nothing but the resolver ends a lookup, which may take a minute. Its thread does not keep the
    program from ending.
    """
    entries: Future[list[Any]] = Future()  # Any: a tuple for each family of addresses
    entries.set_running_or_notify_cancel()

    def work() -> None:
        try:
            entries.set_result(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except Exception as error:  # for whoever waits
            entries.set_exception(error)
        finally:
            _lookups.release()

    if not _lookups.acquire(blocking=False):
        raise RemoteError("too many names are being looked up")
    threading.Thread(target=work, name="dns", daemon=True).start()
    return [str(entry[4][0]) for entry in await asyncio.wrap_future(entries)]

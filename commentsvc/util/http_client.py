"""HTTP client with protection against server-side request forgery (SSRF).

An address must not give access to the machine's own network. So the host name is resolved here. If
any of its addresses is not public (private, loopback, link-local, a cloud's metadata address,
multicast, or one of these inside an IPv6 address), nothing is sent, unless the operator allows that
network. The connection goes to one of the addresses that were checked, even if the name resolves
to another one a moment later. TLS still verifies the name, with the certificates of certifi. Only
`fetch` follows redirects, the proxies of the environment are ignored, and the time, the size of the
answer and what its parts cost are bounded.

There are two clients, since there are two kinds of addresses: `SettingsClient` is for those that
the operator wrote into the settings, `StrangerClient` for those that anybody can name, such as the
source of a webmention. Each has its own list of allowed networks. A stranger reaches the usual
ports only, and never this machine. Where an address of the settings redirects to another host or
port, a stranger may have named that, in a page's path or query: it must be public.

h11 is imported at the first request, since most services send none.
"""

import asyncio
import socket
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from ipaddress import ip_address, ip_network
from typing import Any, ClassVar, Final, NamedTuple
from urllib.parse import SplitResult, quote, urljoin, urlsplit

from commentsvc.util.connect import connect, look_up
from commentsvc.util.error_texts import error_text
from commentsvc.util.ip_ranges import is_local, is_public
from commentsvc.util.origin import host_name
from commentsvc.util.tls import certificate_fault, client_context

DEADLINE: Final = 20.0  # seconds for the whole request, by default
REDIRECTS: Final = 5  # that `fetch` follows
ANSWER: Final = 2_048  # bytes of an answer that `post` reads: enough for an error message
# Bytes of an answer's head, with all interim ones (103 Early Hints) before it, and of its trailers,
# as in Node.js: each line costs time on the event loop.
HEAD: Final = 16_384
READ: Final = 4_096  # bytes that are read before others get their turn
# Bytes of an answer for each piece that it may come in, and pieces that are allowed in any case. A
# server that sends single bytes is refused.
PIECE: Final = 512
PIECES: Final = 1_000
# What stands in an address as it is; the rest is percent-encoded.
ADDRESS: Final = "+!$%&'()*,/:;=?@[]|~"
EMPTY: Final[Mapping[str, str]] = {}

STRANGER_PORTS: Final = (80, 443)  # that an address of a stranger may name
USUAL_PORTS: Final = {"http": 80, "https": 443}


class RemoteError(Exception):
    """The request failed; the text tells the operator why."""


class HttpResponse(NamedTuple):
    """The status and the first bytes of the answer, decoded as UTF-8."""

    status: int
    text: str


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


class _Client:
    """What both clients do; they differ in the addresses that may be reached."""

    ADVICE: ClassVar[str]  # what to do to reach another network

    def __init__(self, networks: Sequence[str] = ()) -> None:
        """Allow addresses in `networks` (CIDR) although they are not public."""
        self._networks = tuple(map(ip_network, networks))

    async def post(
        self,
        url: str,
        body: bytes,
        headers: Mapping[str, str],
        deadline: float = DEADLINE,
        most: int = ANSWER,
    ) -> HttpResponse:
        """POST `body` to `url`, and wait for the answer for `deadline` seconds at most.

        `most` bytes of the answer are read. Raise RemoteError.
        """
        request = ("POST", url, body, headers)
        found = await _in_time(deadline, self._send(request, most))
        return HttpResponse(found.status, found.body[:most].decode(errors="replace"))

    async def get(self, url: str, most: int, headers: Mapping[str, str] = EMPTY) -> Fetched:
        """GET `url`. Raise RemoteError, also if the answer has more than `most` bytes."""
        found = await _in_time(DEADLINE, self._send(("GET", url, b"", headers), most + 1))
        if len(found.body) > most:
            raise RemoteError(f"the answer has more than {most} bytes")
        return found

    async def fetch(
        self, url: str, most: int, headers: Mapping[str, str], named_by: str = ""
    ) -> Fetched:
        """As `get`, but follow up to REDIRECTS redirects; each new address is checked, too.

        The deadline is for all of them together. If what was read at the address `named_by` has
        named `url`, that is checked as if it redirected there.
        """
        return await _in_time(DEADLINE, self._follow(url, most, headers, named_by or url))

    async def _follow(
        self, url: str, most: int, headers: Mapping[str, str], named_by: str
    ) -> Fetched:
        first = urlsplit(named_by)
        client = self._client_for(urlsplit(url), first)
        for _ in range(REDIRECTS + 1):
            found = await client._send(("GET", url, b"", headers), most + 1)
            location = found.header("location")
            if found.status not in (301, 302, 303, 307, 308) or not location:
                if len(found.body) > most:
                    raise RemoteError(f"the answer has more than {most} bytes")
                return found._replace(url=url)
            try:
                url = urljoin(url, location)
                client = self._client_for(urlsplit(url), first)
            except ValueError as error:
                message = f"it redirects to what is no address: {location[:200]}"
                raise RemoteError(message) from error
        raise RemoteError(f"it redirects more than {REDIRECTS} times")

    def _client_for(self, there: SplitResult, first: SplitResult) -> "_Client":
        """Return the client for where an address leads. Raise ValueError if that is none."""
        is_known = there.hostname == first.hostname and (
            _port(there) == _port(first) or {_port(there), _port(first)} <= {*STRANGER_PORTS}
        )
        return self if is_known else self._elsewhere()

    def _elsewhere(self) -> "_Client":
        """Return the client for other hosts and ports, to which an answer leads."""
        return self

    async def _send(self, request: tuple[str, str, bytes, Mapping[str, str]], most: int) -> Fetched:
        """Send a request (method, url, body, headers) and read `most` bytes, or a few more."""
        method, url, body, headers = request
        parts = urlsplit(url)
        # As browsers write it. Python's resolver takes "ß" for "ss", and minutes for a long name.
        host = host_name(parts.hostname or "")
        port = _port(parts)
        if not host or parts.scheme not in USUAL_PORTS or port is None:
            raise RemoteError("it is no http address")
        sent = {
            "Host": (f"[{host}]" if ":" in host else host)
            + ("" if parts.port is None else f":{port}"),
            "User-Agent": "commentsvc",
            "Connection": "close",
            **headers,
        }
        if method == "POST":
            sent["Content-Length"] = str(len(body))
        target = quote((parts.path or "/") + (f"?{parts.query}" if parts.query else ""), ADDRESS)
        tls = parts.scheme == "https"
        reader, writer = await asyncio.open_connection(
            sock=await self._connect(host, port),
            ssl=client_context() if tls else None,
            server_hostname=host if tls else None,
        )
        try:
            return await _exchange(reader, writer, (method, target, body, sent), most)
        finally:
            writer.transport.abort()

    async def _connect(self, host: str, port: int) -> socket.socket:
        """Return a connection to an address of `host`.

        Raise OSError, and RemoteError if any address of it is not allowed.
        """
        addresses = await look_up(host, port)
        for address in addresses:
            if not self._may_reach(address):
                raise RemoteError(
                    f"{host} is {address}, which is no public address. If that is meant,"
                    f" {self.ADVICE}."
                )
        return await connect(addresses, port)

    def _may_reach(self, address: str) -> bool:
        ip = ip_address(address.partition("%")[0])
        return is_public(address) or any(ip in network for network in self._networks)


class SettingsClient(_Client):
    """Sends requests to addresses in the settings, of the operator or an owner."""

    ADVICE = "add its network to hooks.allowed_networks"

    def _elsewhere(self) -> _Client:
        return _RedirectClient()


class StrangerClient(_Client):
    """Sends requests to addresses that anybody can name: STRANGER_PORTS, and never this machine."""

    ADVICE = "add its network to mentions.allowed_networks"

    async def _connect(self, host: str, port: int) -> socket.socket:
        if port not in STRANGER_PORTS:
            raise RemoteError(f"it has the port {port}; addresses of others have 80 or 443")
        return await super()._connect(host, port)

    def _may_reach(self, address: str) -> bool:
        return super()._may_reach(address) and not is_local(address)


class _RedirectClient(StrangerClient):
    """Sends requests to where an address of the settings redirects."""

    ADVICE = "write into the settings where the redirect leads"


def _port(parts: SplitResult) -> int | None:
    """Return the port of an address. Raise ValueError if it is none."""
    return USUAL_PORTS.get(parts.scheme) if parts.port is None else parts.port


async def _in_time(deadline: float, sending: Coroutine[Any, Any, Fetched]) -> Fetched:
    """Return the answer that `sending` gives within so many seconds. Raise RemoteError."""
    import h11

    try:
        async with asyncio.timeout(deadline):
            return await sending
    except TimeoutError as error:
        raise RemoteError(f"no answer within {deadline:.0f} s") from error
    except (h11.ProtocolError, OSError, ValueError) as error:
        text = certificate_fault(error) or error_text(error)
        raise RemoteError(text) from error


async def _exchange(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    request: tuple[str, str, bytes, Mapping[str, str]],
    most: int,
) -> Fetched:
    """Send a request (method, target, body, headers) on a connection, and read its answer.

    `most` bytes of it are read, or a few more. Raise RemoteError, h11.ProtocolError, OSError.
    """
    import h11

    method, target, body, headers = request
    protocol = h11.Connection(h11.CLIENT, max_incomplete_event_size=HEAD + READ)
    fields = [(name.encode(), value.encode()) for name, value in headers.items()]
    head = h11.Request(method=method, target=target, headers=fields)
    for part in (head, h11.Data(data=body), h11.EndOfMessage()):
        writer.write(protocol.send(part) or b"")
    response: h11.Response | None = None
    read, pieces, received = bytearray(), 0, 0
    while len(read) < most or response is None:
        event = protocol.next_event()
        if event is h11.NEED_DATA:
            if response is None and received > HEAD:
                raise RemoteError(f"the head of its answer has more than {HEAD} bytes")
            await asyncio.sleep(0)
            received += len(data := await reader.read(READ))
            if not data and response is None:
                raise RemoteError("it closed the connection without an answer")
            protocol.receive_data(data)
        elif isinstance(event, h11.Response):
            response = event
        elif isinstance(event, h11.Data):
            read += event.data
            pieces += 1
            if pieces > PIECES + most // PIECE:
                raise RemoteError("it sends its answer in too many pieces")
        elif not isinstance(event, h11.InformationalResponse):
            break
    assert response, "no body comes before its head"
    got = tuple((name.decode(), _decoded(value)) for name, value in response.headers)
    found = Fetched(response.status_code, "", bytes(read), got)
    media_type = found.header("content-type").partition(";")[0].strip().lower()
    return found._replace(type=media_type)


def _decoded(value: bytes) -> str:
    """Return the value of a header: some servers send UTF-8, and others Latin-1."""
    with suppress(UnicodeDecodeError):
        return value.decode()
    return value.decode("latin-1")

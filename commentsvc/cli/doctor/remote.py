"""Remote checks of `doctor`: examine a running service from outside, as a browser does.

Each check sends a request and returns one finding. `hints` has the correction in a proxy for each
check. Nothing is written: no comment is sent, and the POST request is a preview.
"""

import http.client
import json
import re
import socket
import ssl
from collections.abc import Iterator
from datetime import datetime
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from commentsvc.util.clock import SYSTEM_CLOCK, Clock
from commentsvc.util.error_texts import error_text
from commentsvc.util.timestamps import DAY_MS

# Seconds to wait for an answer: a working service is faster.
PATIENCE: Final = 10.0
# Bytes of an answer that are read.
ANSWER: Final = 65_536
# The seconds of HSTS that browsers require for their preload lists: a year.
HSTS: Final = 31_536_000
# Days: a certificate that is renewed automatically always has more left.
DAYS_LEFT: Final = 10
# Seconds by which clocks may differ without a problem for tokens, links and sessions.
CLOCKS: Final = 30.0
# Addresses for documentation (RFC 5737), which no client really has.
INVENTED: Final = ("192.0.2.66", "198.51.100.77")
FOREIGN_AUTHORITY: Final = (
    "Let the proxy send the whole chain (certbot's file fullchain.pem). If an authority of your "
    "own signed it, give the file of that authority's certificate with --ca-file"
)
# What to do, by OpenSSL's code of the fault: see openssl-verification-options(1).
CERTIFICATE_ADVICE: Final = {
    9: "Set the clock of this machine or that of the one that signed it",
    10: "Find out why it is not renewed (journalctl -u certbot, or the proxy's own log), and let "
    "the proxy load the new one",
    62: "Let the proxy serve the certificate of this name, or check the address in it",
    64: "Give the name that is in the certificate, and its address with --address",
}
_MAX_AGE: Final = re.compile(r'(?:^|;)\s*max-age\s*=\s*"?(\d+)', re.IGNORECASE)


class Finding(NamedTuple):
    """The result of a check: good (True), a fault (False), or nothing to check (None)."""

    check: str
    good: bool | None
    text: str


class ProbeResponse(NamedTuple):
    """An answer, the local address of its request, and the server's certificate."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes
    ours: str
    certificate: dict[str, Any]  # Any: as ssl gives it

    def all(self, name: str) -> list[str]:
        """Return every header of that name."""
        return [value for given, value in self.headers if given.lower() == name]

    def json(self) -> dict[str, Any]:
        """Return the JSON object in the body, {} if there is none."""
        try:
            value = json.loads(self.body)
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}


class Unreachable(Exception):
    """The service did not answer; the text says why, and what to check."""


class ProbeClient:
    """Sends requests to the service at `url`, whose http: address is on the port `plain`.

    If `there` is set, that address is used in place of what DNS says.
    """

    def __init__(self, url: str, trust: ssl.SSLContext, plain: int = 80, there: str = "") -> None:
        parts = urlsplit(url)
        self.secure = parts.scheme == "https"
        self.host = parts.hostname or ""
        self.netloc = parts.netloc
        self.prefix = parts.path.rstrip("/")
        self._port = parts.port or (443 if self.secure else 80)
        self._plain = plain
        self._there = there or self.host
        self._trust = trust

    def dial(self, *, plainly: bool = False) -> http.client.HTTPConnection:
        """Return a connection. Raise OSError."""
        plainly = plainly and self.secure
        port = self._plain if plainly else self._port
        connection = http.client.HTTPConnection(self.host, port)
        bare = socket.create_connection((self._there, port), PATIENCE)
        if self.secure and not plainly:
            connection.sock = self._trust.wrap_socket(bare, server_hostname=self.host)
        else:
            connection.sock = bare
        return connection

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        plainly: bool = False,
        **more: str,
    ) -> ProbeResponse:
        """Send a request on a connection of its own; return the answer.

        Raise OSError or HTTPException.
        """
        connection = self.dial(plainly=plainly)
        try:
            ours = connection.sock.getsockname()[0]
            peer: dict[str, Any] = getattr(connection.sock, "getpeercert", dict)()  # Any: see Seen
            headers = {"Host": self.netloc}
            headers |= {name.replace("_", "-"): value for name, value in more.items()}
            connection.request(method, self.prefix + path, body, headers)
            answer = connection.getresponse()
            return ProbeResponse(
                answer.status, answer.getheaders(), answer.read(ANSWER), ours, peer
            )
        finally:
            connection.close()


def examine(
    visitor: ProbeClient, origins: tuple[str, ...], local: Clock = SYSTEM_CLOCK
) -> Iterator[Finding]:
    """Yield all checks from outside; `origins` are those of the blogs. Raise Unreachable."""
    first = _reach(visitor)
    yield Finding("answer", True, f"{visitor.netloc} answers")
    if visitor.secure:
        yield certificate(first, local.now_ms())
        yield hsts(first)
        yield redirect(visitor)
    else:
        yield Finding("https", False, "the URL begins with http: give the one with https")
    yield host(visitor)
    known = address(visitor)
    yield known
    if known.good:  # if not, that is the reason why metrics are public
        yield monitoring(visitor)
    for origin in origins:
        yield cors(visitor, origin)
    if not origins:
        yield Finding("cors", None, "give the blog's origin with --origin https://blog.example")
    yield body(visitor)
    yield clock(visitor, local)


def _reach(visitor: ProbeClient) -> ProbeResponse:
    try:
        seen = visitor.ask("GET", "/api/ping")
    except ssl.SSLCertVerificationError as error:
        advice = CERTIFICATE_ADVICE.get(error.verify_code, FOREIGN_AUTHORITY)
        text = f"the certificate is not valid: {error.verify_message.rstrip('.')}. {advice}"
        raise Unreachable(text) from error
    except (http.client.RemoteDisconnected, ConnectionResetError, ssl.SSLEOFError) as error:
        raise Unreachable(
            f"{visitor.netloc} closes the connection without an answer: the proxy does not reach "
            "the service, or does not pass on the client's address. Check that the service runs "
            "(commentsvc healthcheck) and that the proxy's user may write to the socket. If "
            "server.proxy_protocol is true, the proxy needs send-proxy-v2-ssl (HAProxy) or "
            "write-proxy-v2 = on (hitch)"
        ) from error
    except ssl.SSLError as error:
        reason = (error.reason or str(error)).replace("_", " ").lower()
        raise Unreachable(
            f"{visitor.netloc} does not speak TLS as browsers do: {reason}. Check that the port is "
            "the one with TLS, and that the proxy has a certificate for this name"
        ) from error
    except (OSError, http.client.HTTPException) as error:
        raise Unreachable(
            f"{visitor.netloc} does not answer: {error_text(error)}. Check that the name leads to"
            " this machine (or use --address), that the proxy runs, and that no firewall closes"
            " the port"
        ) from error
    if seen.status in (502, 503, 504):
        raise Unreachable(
            f"the proxy answers {seen.status}: it does not reach the service. Check that the "
            "service runs (commentsvc healthcheck), that the proxy uses the address in "
            "server.listen, and that the proxy's user may write to the socket"
        )
    there = (*seen.all("location"), "")[0].removesuffix("/api/ping")
    if there.startswith(("http:", "https:")):
        raise Unreachable(f"{visitor.netloc} leads to {there[:200]}: check that address instead")
    if (seen.status, seen.body) != (200, b"OK"):
        raise Unreachable(
            f"GET {visitor.prefix}/api/ping returns {seen.status} and not OK from commentsvc: "
            "another program answers at this address, or the proxy changes the path, or it speaks "
            "the PROXY protocol but server.proxy_protocol is not true"
        )
    return seen


def certificate(seen: ProbeResponse, now_ms: int) -> Finding:
    """Check that the certificate is renewed in time."""
    until = ssl.cert_time_to_seconds(seen.certificate["notAfter"]) * 1_000
    days = (until - now_ms) // DAY_MS
    return Finding("certificate", days >= DAYS_LEFT, f"the certificate is valid for {days} days")


def hsts(seen: ProbeResponse) -> Finding:
    """Check Strict-Transport-Security (RFC 6797): exactly one field, of a year or more."""
    fields = seen.all("strict-transport-security")
    if len(fields) != 1:
        found = "no Strict-Transport-Security" if not fields else "Strict-Transport-Security twice"
        return Finding("hsts", False, f"the answer has {found}")
    age = _MAX_AGE.search(fields[0])
    seconds = int(age[1]) if age else 0
    days = f"browsers use only HTTPS for {seconds // 86_400} days"
    return Finding("hsts", seconds >= HSTS, days if seconds >= HSTS else f"{days}; a year is usual")


def redirect(visitor: ProbeClient) -> Finding:
    """Check that HTTP requests are redirected permanently to the same address with HTTPS."""
    try:
        seen = visitor.ask("GET", "/api/ping", plainly=True)
    except (OSError, http.client.HTTPException) as error:
        return Finding(
            "redirect", False, f"http://{visitor.host} does not answer: {error_text(error)}"
        )
    there = (*seen.all("location"), "")[0]
    if seen.status not in (301, 308):
        return Finding("redirect", False, f"http: gets status {seen.status} and is not redirected")
    parts = urlsplit(there)
    same = (parts.hostname, parts.path) == (visitor.host, f"{visitor.prefix}/api/ping")
    if parts.scheme != "https" or not same:
        return Finding("redirect", False, f"http: is redirected to {there[:200]}")
    return Finding("redirect", True, "http: is redirected to https:")


def host(visitor: ProbeClient) -> Finding:
    """Check that the proxy passes the Host header on: the origin check of our forms needs it."""
    seen = visitor.ask("GET", "/api/client").json().get("host")
    text = f"the service sees the host name {seen or '(none)'}"
    good = seen in (visitor.netloc, visitor.host)
    return Finding("host", good, text if good else f"{text}, not {visitor.netloc}")


def address(visitor: ProbeClient) -> Finding:
    """Check that the service knows the client's address, and that nobody can forge it."""
    seen = visitor.ask("GET", "/api/client")
    client = str(seen.json().get("address"))
    claimed = [
        visitor.ask("GET", "/api/client", X_Forwarded_For=one).json().get("address")
        for one in INVENTED
    ]
    if claimed == [*INVENTED]:
        return Finding("claim", False, "the service believes X-Forwarded-For from any client")
    try:
        known = _unmapped(client) == _unmapped(seen.ours) or _unmapped(client).is_global
    except ValueError:
        known = False
    if not known:
        text = f"the service sees all clients as {client or 'one address'}: they share one limit"
        return Finding("client", False, text)
    return Finding("client", True, f"the service sees the client's address: you are {client}")


def _unmapped(address: str) -> IPv4Address | IPv6Address:
    """Return an address; an IPv4-mapped one, such as ::ffff:192.0.2.1, as the IPv4 address.

    A proxy with one socket for both protocols writes mapped addresses. Raise ValueError.
    """
    read = ip_address(address)
    return getattr(read, "ipv4_mapped", None) or read


def cors(visitor: ProbeClient, origin: str) -> Finding:
    """Check that a page at `origin` may read and write (CORS; Fetch standard, 3.2)."""
    read = visitor.ask("GET", "/api/comments/count", Origin=origin)
    before = visitor.ask(
        "OPTIONS",
        "/api/comments",
        Origin=origin,
        Access_Control_Request_Method="POST",
        Access_Control_Request_Headers="content-type",
    )
    for seen in (read, before):
        fields = seen.all("access-control-allow-origin")
        if len(fields) > 1:
            text = (
                f"Access-Control-Allow-Origin is sent {len(fields)} times: the proxy adds its own"
            )
            return Finding("cors-twice", False, text)
        if seen.status >= 300 or fields not in ([origin], ["*"]):
            may = "read" if seen is read else "write"
            return Finding("cors", False, f"pages at {origin} may not {may} (status {seen.status})")
    return Finding("cors", True, f"pages at {origin} may read and write")


def body(visitor: ProbeClient, size: int = 200_000) -> Finding:
    """Check that a body of `size` bytes, which the service accepts, passes the proxy."""
    message = json.dumps({"message": "x" * size}).encode()
    try:
        seen = visitor.ask("POST", "/api/preview", message, Content_Type="application/json")
    except (OSError, http.client.HTTPException) as error:
        return Finding(
            "body", False, f"a body of {size // 1_000} kB is not accepted: {error_text(error)}"
        )
    if "error" in seen.json() or "html" in seen.json():
        return Finding("body", True, f"a body of {size // 1_000} kB reaches the service")
    text = f"the proxy refuses a body of {size // 1_000} kB with {seen.status}"
    return Finding("body", False, text)


def monitoring(visitor: ProbeClient) -> Finding:
    """Check that only the operator can read the service's metrics."""
    seen = visitor.ask("GET", "/metrics")
    if seen.status == 200:
        return Finding(
            "monitoring", False, "/metrics can be read from here, and perhaps by everybody"
        )
    return Finding("monitoring", True, "/metrics is not public")


def clock(visitor: ProbeClient, local: Clock) -> Finding:
    """Check that the service's clock agrees with ours."""
    reported = visitor.ask("GET", "/api/client").json().get("time")
    try:
        apart = datetime.fromisoformat(str(reported)).timestamp() - local.now_ms() / 1_000
    except ValueError:
        return Finding("clock", False, "the service does not report its time")
    text = f"its clock and this machine's are {abs(apart):.0f} s apart"
    return Finding("clock", abs(apart) <= CLOCKS, text)

"""Requests and responses: what handlers receive and return, and who the client is.

The core has parsed each request and limited its size; here its texts become values. Handlers raise
HttpError for an answer that is not a success; the router, or what wraps the handlers of pages and
of other systems' clients, makes a response of it. Its status and code tell the cases apart. Nothing
here depends on cookies: a request is judged by its content and its origin.
"""

import logging
import re
import socket
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from functools import lru_cache
from ipaddress import ip_address, ip_network
from urllib.parse import unquote

import msgspec

from commentsvc.http.forms import Form, FormError, is_multipart, parse_multipart, parse_urlencoded
from commentsvc.settings.schema import Site
from commentsvc.util.i18n import (
    Language,
    Text,
    accepted_language,
    find_language,
    gettext,
    languages,
    requested_language,
    said_duration,
    translate,
)
from commentsvc.util.origin import LOCAL_HOSTS, host_of, origin

_log = logging.getLogger(__name__)

Headers = tuple[tuple[str, str], ...]

PREFLIGHT_AGE = "86400"  # seconds: browsers cap it themselves (Chromium at 7200)
FORWARDED_HOPS = 32  # addresses of X-Forwarded-For that are read, from the right
REFUSED_ORIGINS = 100  # that are logged, once each, so that strangers cannot fill the log

# A number between two slashes of a path, small enough for SQLite.
NUMBER = r"(?<=/)[0-9]{1,18}(?=/|$)"

JSON = "application/json"
HTML_UTF8 = "text/html; charset=utf-8"
NOT_STORED = ("Cache-Control", "no-store")
NO_SNIFFING = ("X-Content-Type-Options", "nosniff")
ANY_ORIGIN = ("Access-Control-Allow-Origin", "*")
# For pages with Cross-Origin-Embedder-Policy: they load styles and pictures without CORS.
EMBEDDABLE = ("Cross-Origin-Resource-Policy", "cross-origin")
VARY_ORIGIN = ("Vary", "Origin")
READABLE = ("Access-Control-Expose-Headers", "Retry-After")  # for scripts of other origins

encode = msgspec.json.Encoder().encode


class HttpError(Exception):
    """A request that cannot be served: `status`, a stable `code`, and a message for people.

    `fields` names what is wrong with single fields; `headers` go with the answer.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: Text,
        fields: Mapping[str, Text] | None = None,
        headers: Headers = (),
    ) -> None:
        super().__init__(translate(message))
        self.status = status
        self.code = code
        self.message = message
        self.fields = fields
        self.headers = headers


def too_many(message: Text, wait: int, code: str = "too_many") -> HttpError:
    """Return the error 429 for a client that has to wait so many seconds."""
    return HttpError(429, code, message, headers=(("Retry-After", str(wait)),))


def too_fast(wait: int) -> HttpError:
    """Do as `too_many`, with a text that says how long."""
    time = said_duration(wait)
    message = gettext("You're going a little fast. Please wait %(time)s.", time=time)
    return too_many(message, wait)


def too_large() -> HttpError:
    """Return the error for a body that is larger than allowed."""
    message = "The body is too large. Send a shorter text or a smaller picture."
    return HttpError(413, "body_too_large", message)


class Response(msgspec.Struct, frozen=True):
    """An answer. With `tags`, the core caches it and adds an ETag; it always adds Date and length.

    A cached answer may also have its body in the content codings `gzip` and `brotli`, see
    `http.compression`.

    An answer that `follows` a tag is a stream: it goes on with what is published under the tag.
    Only a handler that is a plain function can be sure to miss nothing. `group` is a number that
    some clients share, and how many streams they may have together, 0 for no limit.

    With `pieces`, each of 1 to `pieces.LARGEST` bytes, these follow `body`: an answer whose length
    is not known. They are asked for as the client takes them, and closed if it leaves.
    """

    status: int
    headers: Headers
    body: bytes
    tags: tuple[str, ...] = ()
    follows: str = ""
    group: tuple[int, int] = (0, 0)
    pieces: AsyncGenerator[bytes] | None = None
    gzip: bytes = b""
    brotli: bytes = b""


class ErrorDetail(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The error: a stable code, a message for people, and a message for each invalid field."""

    code: str
    message: str
    fields: dict[str, str] | msgspec.UnsetType = msgspec.UNSET


class Error(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A request that was refused or failed."""

    error: ErrorDetail


def json_answer(what: object, *headers: tuple[str, str], status: int = 200) -> Response:
    """Return JSON for one client, which nobody may store."""
    return Response(
        status, (("Content-Type", JSON), NOT_STORED, NO_SNIFFING, *headers), encode(what)
    )


def refusal(error: HttpError, language: str = "") -> Response:
    """Return the JSON answer for `error`."""
    fields = {name: translate(text, language) for name, text in (error.fields or {}).items()}
    detail = ErrorDetail(error.code, translate(error.message, language), fields or msgspec.UNSET)
    headers = (("Content-Type", JSON), NOT_STORED, ANY_ORIGIN, READABLE, *error.headers)
    return Response(error.status, headers, encode(Error(detail)))


class Request(msgspec.Struct, frozen=True):
    """A request as the core received it; `query` has one character per byte."""

    method: str
    path: str
    query: str
    body: bytes
    peer: str
    header: Callable[[str], str | None]
    client: str | None = None  # the client named by the PROXY protocol; "": the proxy itself

    def parameters(self) -> Form:
        """Read the query. Raise HttpError 400 with the name of the invalid parameter."""
        try:
            return parse_urlencoded(self.query)
        except FormError as error:
            raise unreadable(error) from None

    def decoded_path(self) -> str:
        """Return the path without percent-encoding, by which the router chooses the handler.

        Whatever depends on the path asks for this, so that both know the same route.
        """
        return unquote(self.path) if "%" in self.path else self.path

    def number(self) -> int:
        """Return the number in the path of a route that has ``{id}`` in its pattern."""
        return int(re.findall(NUMBER, self.decoded_path())[0])

    def media_type(self) -> str:
        """Return the body's media type in lower case, without parameters."""
        return (self.header("content-type") or "").partition(";")[0].strip().lower()

    def bearer(self) -> str:
        """Return the token in `Authorization: Bearer` (RFC 6750, 2.1); "" if there is none."""
        scheme, _space, token = (self.header("authorization") or "").partition(" ")
        return token.strip() if scheme.lower() == "bearer" else ""

    def json(self) -> bytes:
        """Return the body of a request that must be JSON. Raise HttpError 415."""
        self._refuse_coding()
        if self.header("content-type") != JSON and self.media_type() != JSON:
            raise HttpError(
                415, "unsupported_media_type", "Send the body with Content-Type: application/json."
            )
        return self.body

    def _refuse_coding(self) -> None:
        if self.header("content-encoding"):
            message = "Send the body as it is, without Content-Encoding."
            raise HttpError(415, "unsupported_media_type", message)

    def language(self, known: Collection[str] | None = None) -> Language:
        """Return the language of the query's `lang`, or else the one that the browser prefers.

        The browser chooses among the `known` tags; among all languages by default.
        """
        accepted = self.header("accept-language") or ""
        tag = requested_language(self.query)
        return find_language(tag or accepted_language(accepted, known or languages()))

    def form(self) -> Form:
        """Read the body of a posted form without files. Raise HttpError 415 or 400."""
        return self.upload("", len(self.body))[0]

    def upload(self, file: str, most: int) -> tuple[Form, bytes]:
        """Do as `form` where the field `file` may be a file; return its content too, or b"".

        Everything but that file may have `most` bytes. Raise HttpError 413 for more.
        """
        self._refuse_coding()
        content_type = self.header("content-type") or ""
        try:
            if self.media_type() == "application/x-www-form-urlencoded":
                if len(self.body) > most:
                    raise too_large()
                return parse_urlencoded(self.body.decode("latin-1"), is_body=True), b""
            if is_multipart(content_type):
                form, content = parse_multipart(content_type, self.body, file)
                if len(self.body) - len(content) > most:
                    raise too_large()
                return form, content
        except FormError as error:
            raise unreadable(error) from None
        raise HttpError(
            415,
            "unsupported_media_type",
            "Send a form: application/x-www-form-urlencoded or multipart/form-data.",
        )


def first(form: Form, name: str) -> str:
    """Return the first value of a field, `""` if it is absent."""
    values = form.get(name)
    return values[0] if values else ""


def unreadable(error: FormError) -> HttpError:
    """Return the error for a query or form that cannot be read."""
    fields = {error.field: error.message} if error.field else None
    return HttpError(400, "invalid", f"The request cannot be read. {error.message}", fields)


_network = lru_cache(maxsize=256)(ip_network)  # many parts read the same setting


class AddressList:
    """The addresses of a setting; `""` is the other end of a Unix socket.

    `names(address)` returns whether the setting contains this address; the results are cached.
    """

    def __init__(self, entries: Sequence[str]) -> None:
        """Take the value of the setting: ``"unix"``, addresses and networks."""
        self._unix = "unix" in entries
        self._networks = [_network(text) for text in entries if text != "unix"]
        self.names = lru_cache(maxsize=1_024)(self._is_named)

    def _is_named(self, address: str) -> bool:
        if not address:
            return self._unix
        try:
            parsed = ip_address(address)
        except ValueError:
            return False
        mapped = getattr(parsed, "ipv4_mapped", None) or parsed
        return any(mapped in network for network in self._networks)


class TrustedProxies:
    """The proxies that may name their client by the PROXY protocol or X-Forwarded-For."""

    def __init__(self, trusted: Sequence[str]) -> None:
        """Take the value of the setting, see `AddressList`."""
        self._is_trusted = AddressList(trusted).names

    def client(self, request: Request) -> str:
        """Return the address of the client: the right-most one that is not a trusted proxy.

        It is the peer's own address unless the peer is trusted, and `""` for a Unix socket whose
        peer names no client. A trusted peer that names its client by the PROXY protocol only
        forwards bytes, so it did not write the header fields; they are those of that client. An
        invalid address in X-Forwarded-For ends the search: entries further left may be forged.
        X-Real-IP is used if there is no X-Forwarded-For.
        """
        client = request.peer
        if request.client is not None and self._is_trusted(client):
            client = request.client
            if not client:
                return client
        if not self._is_trusted(client):
            return client
        forwarded = request.header("x-forwarded-for")
        if forwarded is None:
            real = request.header("x-real-ip")
            return (real and _without_port(real.strip())) or client
        hops = forwarded.split(",")
        for hop in reversed(hops[-FORWARDED_HOPS:]):
            address = _without_port(hop.strip())
            if not address:
                break
            client = address
            if not self._is_trusted(client):
                break
        return client

    def keep_secret(self, request: Request) -> bool:
        """Return whether nobody could read a request on its way: over HTTPS, or on one machine.

        HTTPS ends at a trusted proxy, which says so by X-Forwarded-Proto. Without that header,
        browsers say it, which send Sec-Fetch-Site over HTTPS and to localhost only (Fetch Metadata,
        section 3). Who asks for localhost asks the own machine, or through a tunnel.
        """
        is_trusted = self._is_trusted(request.peer)
        scheme = request.header("x-forwarded-proto") if is_trusted else None
        if scheme is not None:
            return scheme == "https"
        if request.header("x-forwarded-for") is None:
            host = host_of(f"//{request.header('host') or ''}")
            if host in LOCAL_HOSTS and not _is_public(request.peer):
                return True
        return is_trusted and request.header("sec-fetch-site") is not None


def _is_public(address: str) -> bool:
    return bool(address) and ip_address(address).is_global


def _without_port(text: str) -> str:
    """Return the IP address of ``ADDRESS``, ``IPV4:PORT`` or ``[IPV6]:PORT``, else `""`."""
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        socket.inet_pton(socket.AF_INET6 if ":" in text else socket.AF_INET, text)
    except (OSError, ValueError):
        return ""
    return text


def _is_own(request: Request, sent: str) -> bool:
    """Return whether a request comes from a page of the host that it was sent to.

    Such an answer needs no CORS headers and gets none: any client can send any Host.
    """
    host = (request.header("host") or "").lower()
    return bool(host) and origin(sent).partition("://")[2] == host


class CorsPolicy:
    """Which web pages may write: those at the site's origins, and our own."""

    def __init__(self, sites: Sequence[Site]) -> None:
        self._of_site = {site.name: frozenset(map(origin, site.origins)) - {""} for site in sites}
        self._of_any = frozenset().union(*self._of_site.values())
        self._refused: set[str] = set()

    def check(self, request: Request, site: str) -> Headers:
        """Return the CORS headers for the answer to a write on `site`. Raise HttpError 403."""
        sent = request.header("origin")
        if sent is None:
            return ()
        if origin(sent) not in self._of_site[site]:
            if _is_own(request, sent):
                return ()
            self._log(sent, site)
            raise HttpError(
                403,
                "forbidden_origin",
                gettext(
                    "Pages at %(origin)s may not send comments. The operator can allow it by "
                    "adding this address to the origins of the site %(site)s in the settings.",
                    origin=sent[:200],
                    site=site,
                ),
            )
        return (("Access-Control-Allow-Origin", sent), VARY_ORIGIN)

    def preflight(self, request: Request, methods: str) -> Headers:
        """Return the CORS headers for the answer to a preflight request (Fetch standard, 3.2.2)."""
        sent = request.header("origin") or ""
        wanted = request.header("access-control-request-method")
        if wanted in ("GET", "HEAD"):
            allowed = "*"
        elif origin(sent) in self._of_any:
            allowed = sent
        else:
            if sent:
                self._log(sent, next(iter(self._of_site)))
            return (VARY_ORIGIN,)
        return (
            ("Access-Control-Allow-Origin", allowed),
            ("Access-Control-Allow-Methods", methods),
            ("Access-Control-Allow-Headers", "content-type, authorization"),
            ("Access-Control-Max-Age", PREFLIGHT_AGE),
            VARY_ORIGIN,
        )

    def _log(self, sent: str, site: str) -> None:
        known = sent[:200]
        if known not in self._refused and len(self._refused) < REFUSED_ORIGINS:
            self._refused.add(known)
            if allowed := origin(sent):
                _log.warning(
                    "A page at %s may not write comments. To allow it, add %s to `origins`"
                    ' of the [[site]] named "%s".',
                    ascii(known),
                    ascii(allowed[:200]),
                    site,
                )
            else:
                _log.warning(
                    "A page at %s may not write comments: a file or a sandboxed frame has no"
                    ' address. Open the blog at one of the `origins` of the [[site]] named "%s".',
                    ascii(known),
                    site,
                )

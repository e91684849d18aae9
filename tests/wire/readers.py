"""Other HTTP parsers: how h11 and llhttp (which Node.js uses) read the bytes of a client."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

import h11
import llhttp

from commentsvc._core import Request


@dataclass(frozen=True)
class Reading:
    """One request as a parser read it: path?query, fields by lower-case name, body."""

    method: str
    target: str
    fields: dict[str, str]
    body: bytes


@dataclass
class Readings:
    """The requests in a stream, in their order, and why the parser stopped."""

    requests: list[Reading] = field(default_factory=list)
    refusal: str = ""


def as_target(text: str) -> str:
    """Return a target as the core keeps it: path?query, without "?" if the query is empty."""
    if text.lower().startswith(("http://", "https://")):
        text = "/" + text.partition("://")[2].partition("/")[2]
    path, _, query = text.partition("?")
    return f"{path}?{query}" if query else path


def joined(fields: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Join the values of each name, without the blanks around them (RFC 9112 section 5.1)."""
    values = defaultdict(list)
    for name, value in fields:
        values[name.decode("latin-1").lower()].append(value.strip(b" \t").decode("latin-1"))
    return compared({name: ", ".join(several) for name, several in values.items()})


def compared(fields: dict[str, str]) -> dict[str, str]:
    """Return the fields with transfer codings in lower case, as h11 gives them."""
    coding = "transfer-encoding"
    return {**fields, coding: fields[coding].lower()} if coding in fields else fields


def reading(
    method: bytes, target: bytes, fields: Iterable[tuple[bytes, bytes]], body: bytes
) -> Reading:
    return Reading(method.decode(), as_target(target.decode("latin-1")), joined(fields), body)


def of_the_core(request: Request, names: Iterable[str]) -> Reading:
    """Return how the core read a request; of its fields, those with `names` that it has."""
    found = ((name, request.header(name)) for name in names)
    fields = {name: value for name, value in found if value is not None}
    target = as_target(f"{request.path}?{request.query}")
    return Reading(request.method, target, compared(fields), request.body)


def read_by_h11(stream: bytes) -> Readings:
    readings = Readings()
    connection = h11.Connection(h11.SERVER, max_incomplete_event_size=1 << 20)
    connection.receive_data(stream)
    request, body = None, b""
    try:
        while True:
            event = connection.next_event()
            if isinstance(event, h11.Request):
                request, body = event, b""
            elif isinstance(event, h11.Data):
                body += bytes(event.data)
            elif isinstance(event, h11.EndOfMessage) and request:
                readings.requests.append(
                    reading(request.method, request.target, request.headers, body)
                )
                connection.send(h11.Response(status_code=404, headers=[("Content-Length", "0")]))
                connection.send(h11.EndOfMessage())
                if connection.our_state is h11.MUST_CLOSE:
                    readings.refusal = "it closes the connection"
                    return readings
                connection.start_next_cycle()
            else:  # the parser needs more data, or is paused
                return readings
    except h11.RemoteProtocolError as error:
        readings.refusal = str(error)
        return readings


class _Llhttp(llhttp.Request):  # type: ignore[misc] # llhttp ships no annotations
    """Collects the parser's callbacks; each element may arrive in several pieces."""

    def __init__(self) -> None:
        self.requests: list[Reading] = []

    def on_message_begin(self) -> None:
        self.parts = {"method": b"", "target": b"", "name": b"", "value": b"", "body": b""}
        self.fields: list[tuple[bytes, bytes]] = []

    def on_method(self, piece: bytes) -> None:
        self.parts["method"] += piece

    def on_url(self, piece: bytes) -> None:
        self.parts["target"] += piece

    def on_header_field(self, piece: bytes) -> None:
        self.parts["name"] += piece

    def on_header_value(self, piece: bytes) -> None:
        self.parts["value"] += piece

    def on_header_value_complete(self) -> None:
        self.fields.append((self.parts["name"], self.parts["value"]))
        self.parts["name"] = self.parts["value"] = b""

    def on_headers_complete(self) -> None:
        self.head = list(self.fields)  # without the trailers that follow

    def on_body(self, piece: bytes) -> None:
        self.parts["body"] += piece

    def on_message_complete(self) -> None:
        parts = self.parts
        self.requests.append(reading(parts["method"], parts["target"], self.head, parts["body"]))


# All leniencies but the one for data after "Connection: close", which we never read.
_LENIENCIES = (
    "lenient_chunked_length",
    "lenient_headers",
    "lenient_lf_after_cr",
    "lenient_optional_cr_before_lf",
    "lenient_optional_crlf_after_chunk",
    "lenient_spaces_after_chunk_size",
    "lenient_transfer_encoding",
    "lenient_version",
)


def read_by_lenient_llhttp(stream: bytes) -> Readings:
    return read_by_llhttp(stream, _LENIENCIES)


def read_by_llhttp(stream: bytes, leniencies: Iterable[str] = ()) -> Readings:
    readings = Readings()
    while stream:
        parser = _Llhttp()
        for name in leniencies:
            setattr(parser, name, True)
        try:
            taken = parser.execute(stream)
        except llhttp.Error as error:
            readings.refusal = str(error)
            taken = len(stream)
        readings.requests += parser.requests
        # After a request with Upgrade the program decides how to go on; ours ignores the field.
        stream = stream[taken:]
    return readings

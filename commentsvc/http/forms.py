"""Forms: query strings, urlencoded bodies and multipart bodies become texts by name.

All three are read in the same way, after WHATWG's URL standard, 5.1 (a ``+`` is a space, a ``%``
without two hex digits stays as it is) and RFC 7578. The size is bounded: the number of fields here,
their bytes by the core's limit for a body. A query that is not UTF-8 is refused, and the error
names the field. A body that is not is read in the encoding that its field ``_charset_`` names,
which browsers fill in (WHATWG HTML, 4.10.22.4); without one as windows-1252, in which they send a
form on a page in Latin-1. That field says nothing else, so handlers do not see it.

Bytes above 127 that are not percent-encoded arrive as Latin-1 characters and are decoded as UTF-8.
In a query, the core refuses them.
"""

import re
from urllib.parse import unquote_to_bytes

from commentsvc.util.text import decoded

PART_HEAD = 8_192  # bytes of the header lines of one part of a multipart body
FIELDS = 256  # of one query or form; a request for the counts of many pages sends 100

Form = dict[str, list[str]]

_BOUNDARY = re.compile(
    r'multipart/form-data\s*;.*?\bboundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))', re.I
)
_NAME = re.compile(r'content-disposition:\s*form-data\s*;.*?\bname=(?:"([^"]*)"|([^\s;"]+))', re.I)
_FILE = re.compile(r"\bfilename\*?=", re.I)
_LATIN_1 = "windows-1252"
_CHARSET = "_charset_"
_ENCODING = "([A-Za-z0-9._:-]{1,40})"
_OF_URLENCODED = re.compile(f"(?:^|&){_CHARSET}={_ENCODING}(?:&|$)").search
_OF_MULTIPART = re.compile(f'name="{_CHARSET}"\r\n\r\n{_ENCODING}\r\n'.encode()).search


class FormError(Exception):
    """The form cannot be read; `field` names the field at fault, `""` if it is not one field."""

    def __init__(self, message: str, field: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.field = field


def parse_urlencoded(text: str, is_body: bool = False) -> Form:
    """Read a query string or urlencoded body, one character per byte. Raise FormError."""
    form: Form = {}
    if text.count("&") >= FIELDS:
        raise FormError(f"There are more than {FIELDS} fields.")
    encoding = _encoding(_OF_URLENCODED(text)) if is_body else ""
    for pair in text.split("&"):
        if pair:
            name, _, value = pair.partition("=")
            name = decode(name, "", encoding)
            form.setdefault(name, []).append(decode(value, name, encoding))
    if is_body:
        form.pop(_CHARSET, None)
    return form


def decode(text: str, field: str, encoding: str = "") -> str:
    """Decode a name or value of an urlencoded form, which is in `encoding` if it is not UTF-8.

    Raise FormError with the name `field` if there is no such encoding.
    """
    if "+" in text:
        text = text.replace("+", " ")
    if "%" not in text and text.isascii():
        return text
    data = unquote_to_bytes(text.encode("latin-1"))
    return _sent(data, encoding) if encoding else _utf8(data, field)


def _utf8(data: bytes, field: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise FormError("This is not valid UTF-8.", field) from None


def _sent(data: bytes, encoding: str) -> str:
    """Return the text of a field in a body."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return decoded(data, encoding, "replace")


def _encoding(named: re.Match[str] | re.Match[bytes] | None) -> str:
    """Return the encoding that a body names, or that of Latin-1 if it names none that is known."""
    name = named[1] if named else _LATIN_1
    name = name if isinstance(name, str) else name.decode()
    try:
        decoded(b"", name)
    except LookupError:
        return _LATIN_1
    return name


def is_multipart(content_type: str) -> bool:
    """Return whether a Content-Type is that of a multipart form with a usable boundary."""
    return _BOUNDARY.match(content_type) is not None


def parse_multipart(content_type: str, body: bytes, file: str = "") -> tuple[Form, bytes]:
    """Read a multipart/form-data body (RFC 7578), and the content of its field `file`, a file.

    The content is empty without a file, as browsers send it where none was chosen. Raise FormError
    for other files.
    """
    match = _BOUNDARY.match(content_type)
    if match is None:
        raise FormError("The multipart body has no boundary.")
    delimiter = b"\r\n--" + (match[1] or match[2]).encode("latin-1", "replace")
    _, *parts = (b"\r\n" + body).split(delimiter, FIELDS + 1)
    if len(parts) > FIELDS:
        raise FormError(f"There are more than {FIELDS} fields.")
    if not parts or not parts.pop().startswith(b"--"):
        raise FormError("The multipart body ends too early.")
    form: Form = {}
    content = b""
    encoding = _encoding(_OF_MULTIPART(body))
    for part in parts:
        end = part.find(b"\r\n\r\n", 0, PART_HEAD)
        lines = part[: max(end, 0)].decode("latin-1").split("\r\n")
        named = [found for line in lines[1:] if (found := _NAME.match(line))]
        if lines[0].strip(" \t") or end < 0 or len(named) != 1:
            raise FormError("The multipart body has a part without a name.")
        quoted, plain = named[0].groups()
        value = part[end + 4 :]
        name = _utf8((quoted or plain or "").encode("latin-1"), "")
        if _FILE.search(named[0].string.replace(f'"{quoted}"', "")):
            if content or not file or name != file:
                raise FormError("Files cannot be sent here.", name)
            content = value
        else:
            form.setdefault(name, []).append(_sent(value, encoding))
    form.pop(_CHARSET, None)
    return form, content

"""The text of a part of a mail, whatever its encodings, and whether it was read for certain.

Mail programs name encodings as browsers do: gb2312 stands for GBK, iso-8859-1 for windows-1252. So
the names are those of the WHATWG Encoding Standard, as `webencodings` has them, and then Python's.
A text whose bytes are invalid in the named encoding is tried as UTF-8. If that fails too, it is
read as well as possible, and is not certain.
"""

import base64
import codecs
import quopri
import re
from collections.abc import Callable
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from encodings.aliases import aliases
from typing import Final, NamedTuple

import webencodings  # type: ignore[import-untyped]  # it has no types

# Bytes of the text or HTML of a mail.
TEXT_SIZE: Final = 256 * 1024
_SUBJECT_LENGTH: Final = 1_000  # characters; encoded words take several times as many as their text

_LABEL: Final = re.compile(r"[\w.:+-]{1,40}", re.ASCII).fullmatch
# For these, mails name no encoding: what is not ASCII is in any.
_ANY: Final = frozenset(
    (
        "",
        "7bit",
        "8bit",
        "ascii",
        "binary",
        "default",
        "none",
        "unknown",
        "unknown-8bit",
        "us-ascii",
    )
)
_UNMARKED: Final = _ANY | {"utf-8", "iso-8859-1"}
# Python's codecs for texts, by their names. Python keeps each name that it does not know, so it is
# asked for these alone.
_NO_TEXTS: Final = frozenset(
    (
        *("base64_codec", "bz2_codec", "hex_codec", "quopri_codec", "rot_13", "uu_codec"),
        *("zlib_codec", "mbcs"),
    )
)
_WITHOUT_ALIAS: Final = (
    *("cp720", "cp737", "cp856", "cp874", "cp875", "cp1006", "koi8_t", "koi8_u", "utf_8_sig"),
    *("raw_unicode_escape", "unicode_escape"),
)
_OF_PYTHON: Final = {
    name: codec
    for alias, codec in (*aliases.items(), *zip(_WITHOUT_ALIAS, _WITHOUT_ALIAS, strict=True))
    if codec not in _NO_TEXTS
    for name in (alias, codec)
}
_META: Final = re.compile(rb"<meta\b[^>]*?\bcharset\s*=\s*[\"']?([\w.:+-]{1,40})", re.I).search
_META_SIZE: Final = 1_024  # bytes of HTML in which browsers look for it
_BASE64: Final = re.compile(rb"[A-Za-z0-9+/]+").findall
_NO_BASE64: Final = re.compile(rb"[^A-Za-z0-9+/=\s]").search
# Characters that no text has: it was read wrongly. Databases cannot store NUL and half characters,
# which UTF-7 may have.
_NO_TEXT: Final = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f\ufffd\ud800-\udfff]").search
_UNSTORED: Final = re.compile("[\x00\ud800-\udfff]").sub
# Of GBK: a character of two bytes (or half of one of four), or Windows' euro sign.
_GBK: Final = re.compile(rb"([\x81-\xfe][\x30-\xfe])|\x80").sub
# Of ISO-2022-JP, which old programs use without its name: what follows an escape sequence.
_ESCAPE: Final = "\x1b"
_ISO_2022_JP: Final = re.compile(rb"\x1b(\$[@B]|\([BJI])([^\x1b]*)")
# Of EUC-JP: a character of JIS X 0208.
_EUC_JP: Final = re.compile(rb"(?<![\x8e\x8f])([\xa1-\xfe]{2})")


class DecodedText(NamedTuple):
    """A text, and whether no byte of it was guessed."""

    text: str
    is_certain: bool


class TooLong(Exception):
    """A text is longer than TEXT_SIZE."""


def text_of(part: Message) -> DecodedText:
    """Return the text of a part without parts. Raise TooLong."""
    data, is_pure = _transferred(part)
    if len(data) > TEXT_SIZE:
        raise TooLong
    charset = _param(part, "charset")
    if not charset and part.get_content_subtype() == "html" and (found := _META(data[:_META_SIZE])):
        charset = found[1].decode()
    text, is_certain = charset_decoded(data, charset)
    if _NO_TEXT(text) or _ESCAPE in text:
        text, is_certain = _UNSTORED("\ufffd", text), False
    if part.get_content_subtype() != "html" and _param(part, "format").lower() == "flowed":
        text = _unfolded(text, _param(part, "delsp").lower() == "yes")
    return DecodedText(text, is_certain and (is_pure or _is_text(data)))


def _param(part: Message, name: str) -> str:
    """Return a parameter of a part's Content-Type; "" for none."""
    value = part.get_param(name, "") or ""
    if isinstance(value, tuple):  # RFC 2231: an encoding, a language and the bytes
        charset, _, text = value
        value = charset_decoded(text.encode("raw-unicode-escape"), charset or "").text
    return value.strip()


def _transferred(part: Message) -> tuple[bytes, bool]:
    """Undo the transfer encoding (RFC 2045, 6); return whether the data were valid in it.

    Raise TooLong.
    """
    name = re.sub(r"[^a-z0-9]", "", str(part.get("Content-Transfer-Encoding", "")).lower()[:40])
    del part["Content-Transfer-Encoding"]
    data = part.get_payload(decode=True)  # as it came, without that field
    if not isinstance(data, bytes):
        return b"", False
    if len(data) > 3 * TEXT_SIZE:
        raise TooLong
    if name.startswith("base64"):
        # Pieces that were encoded one by one each end with "=".
        return b"".join(map(_from_base64, _BASE64(_joined(data)))), not _NO_BASE64(data)
    if name.startswith("quotedprintable"):
        lines = (line.rstrip(b" \t\r") for line in data.split(b"\n"))  # 6.7, rule 3
        return quopri.decodestring(b"\n".join(lines)), True
    if name in ("uuencode", "xuuencode", "uue", "xuue"):
        part["Content-Transfer-Encoding"] = "uuencode"
        plain = part.get_payload(decode=True)
        return (plain if isinstance(plain, bytes) else b""), True
    return data, True


def _joined(data: bytes) -> bytes:
    """Return base64 without what it ignores, and what follows a line of dashes: a list's footer."""
    data = re.split(rb"(?m)^[-_]{2,}", data, maxsplit=1)[0]
    return re.sub(rb"[^A-Za-z0-9+/=]+", b"", data)


def _from_base64(piece: bytes) -> bytes:
    whole = piece if len(piece) % 4 != 1 else piece[:-1]  # six bits are no byte
    return base64.b64decode(whole + b"=" * (-len(whole) % 4))


def _is_text(data: bytes) -> bool:
    try:
        return not _NO_TEXT(data.decode())
    except UnicodeDecodeError:
        return False


def charset_decoded(data: bytes, charset: str) -> DecodedText:
    """Return the text of `data` in the encoding of that name, "" for none."""
    label = charset.strip("'\"<> \t").lower()
    label = "utf-8" if label in ("utf8", "cp65001", "65001") else label
    decoders = [*_decoders("iso-2022-jp" if b"\x1b$" in data and label in _UNMARKED else label)]
    for decode in decoders:
        try:
            return DecodedText(decode(data, "strict"), is_certain=True)
        except ValueError:  # UnicodeDecodeError is one
            continue
    decode = next(iter(decoders), _as("cp1252"))
    if label == "utf-8" and data.decode(errors="ignore").isascii():  # no character of it
        decode = _as("cp1252")
    return DecodedText(decode(data, "replace"), is_certain=False)


_Decoder = Callable[[bytes, str], str]


def _decoders(label: str) -> list[_Decoder]:
    """Return how to decode bytes in the encoding of a name, the likeliest first."""
    utf_8 = _as("utf-8-sig")
    if label in _ANY:
        return [utf_8, _as("cp1252")]
    if not _LABEL(label):
        return [utf_8]
    found = webencodings.lookup(label)
    name = "" if found is None or found.name == "replacement" else found.name
    if name in _BETTER:
        return [*_BETTER[name], utf_8]
    if name == "utf-8":
        return [utf_8]
    if name and found:
        is_marked = label == "utf-16"  # the first character says which end comes first
        return [_as("utf-16") if is_marked else _by(found.codec_info.decode), utf_8]
    codec = _OF_PYTHON.get(re.sub("[^a-z0-9]+", "_", label))
    return [_as(codec), utf_8] if codec else [utf_8]


def _as(codec: str) -> _Decoder:
    return _by(codecs.lookup(codec).decode)


def _by(decode: Callable[[bytes, str], tuple[str, int]]) -> _Decoder:
    return lambda data, errors: decode(data, errors)[0]


def _gbk(data: bytes, errors: str) -> str:
    return _GBK(lambda found: found[1] or "€".encode("gb18030"), data).decode("gb18030", errors)


def _iso_2022_jp(data: bytes, errors: str) -> str:
    """Decode ISO-2022-JP with the characters of Windows, such as ①."""

    def shifted(found: re.Match[bytes]) -> bytes:
        if found[1].startswith(b"$"):
            return _shift_jis(found[2])
        return bytes(byte | 0x80 for byte in found[2]) if found[1] == b"(I" else found[2]

    return _ISO_2022_JP.sub(shifted, data).decode("cp932", errors)


def _euc_jp(data: bytes, errors: str) -> str:
    """Decode EUC-JP with the characters of Windows."""

    def shifted(found: re.Match[bytes]) -> bytes:
        return _shift_jis(bytes(byte & 0x7F for byte in found[1]))

    return _EUC_JP.sub(shifted, data).replace(b"\x8e", b"").decode("cp932", errors)


def _shift_jis(jis: bytes) -> bytes:
    """Return pairs of bytes of JIS X 0208 as Shift_JIS."""
    shifted = bytearray()
    for at in range(0, len(jis) - 1, 2):
        row, cell = jis[at] - 0x21, jis[at + 1]
        lead = (row >> 1) + 0x81
        shifted.append((lead if lead < 0xA0 else lead + 0x40) & 0xFF)
        shifted.append((cell + 0x7E if row & 1 else cell + 0x1F + (cell > 0x5F)) & 0xFF)
    return bytes(shifted)


# Where browsers read more than Python's codec of that name.
_BETTER: Final[dict[str, list[_Decoder]]] = {
    "gbk": [_as("gb18030"), _gbk],
    "gb18030": [_as("gb18030"), _gbk],
    "iso-2022-jp": [_as("iso2022_jp_ext"), _iso_2022_jp],
    "euc-jp": [_as("euc_jp"), _euc_jp],
    "big5": [_as("big5hkscs"), _as("cp950")],
}


def _unfolded(text: str, without_space: bool) -> str:
    """Join lines that a mail program has broken (format=flowed, RFC 3676)."""
    joined: list[str] = []  # the lines, with "\n" between those that stay apart
    joins = True
    for line in text.replace("\r\n", "\n").split("\n"):
        is_quote, is_end = line.startswith(">"), line == "-- "
        line = line[1:] if line.startswith(" ") else line
        if not joins or is_quote or is_end:
            joined.append("\n")
        joins = line.endswith(" ") and not (is_quote or is_end)
        joined.append(line[:-1] if joins and without_space else line)
    return "".join(joined)


def header_text(value: str) -> str:
    """Return a header field's value as people see it (RFC 2047, or plain bytes)."""
    value = value[:_SUBJECT_LENGTH]
    if "=?" not in value:
        return charset_decoded(value.encode("ascii", "surrogateescape"), "").text
    try:
        words = decode_header(value)
    except (HeaderParseError, ValueError):
        return value
    return "".join(
        charset_decoded(word, charset or "").text if isinstance(word, bytes) else word
        for word, charset in words
    )

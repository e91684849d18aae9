"""Encodings: converts files in any encoding to UTF-8, in chunks, without control characters.

Editors and shells write a byte order mark before the text, some write UTF-16, and real exports
contain single bytes of Windows-1252 in a text that is otherwise UTF-8.
"""

import codecs
from collections.abc import Callable
from typing import Final

from commentsvc.imports.records import ImportFailed

_CONTROL: Final = bytes({*range(32)} - {9, 10, 13})
_CP1252: Final = "commentsvc.cp1252"

# A function of the next bytes, and whether they are the last; it returns UTF-8.
ToUtf8 = Callable[[bytes, bool], bytes]


def is_wide(head: bytes) -> bool:
    """Return whether a file that begins with `head` is in UTF-16 without a byte order mark.

    The first character of XML and of JSON is one of ASCII.
    """
    return head[:2].count(0) == 1


def to_utf8(head: bytes, name: str = "utf-8") -> ToUtf8:
    """Return the converter for a file that begins with `head` and declares the encoding `name`.

    Raise ImportFailed if there is no such encoding.
    """
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        name = "utf-16"
    elif head.startswith(codecs.BOM_UTF8):
        name = "utf-8-sig"
    elif is_wide(head):
        name = "utf-16-be" if head[0] == 0 else "utf-16-le"
    elif name.lower() == "utf-16" and b"\0" not in head:
        name = "utf-8"  # converted without a change of its first line
    try:
        b"<".decode(name, "replace")  # a LookupError for codecs that decode no text, as base64
        decoder = codecs.getincrementaldecoder(name)(_CP1252)
        is_utf8 = codecs.lookup(name).name == "utf-8"
    except (LookupError, UnicodeError):
        raise ImportFailed(f"The encoding {name} that the file names is not known.") from None

    def convert(data: bytes, final: bool) -> bytes:
        try:
            text = decoder.decode(data, final)
        except UnicodeError as error:
            raise ImportFailed(f"The file is not in the encoding {name} that it names.") from error
        clean = data if is_utf8 and text.isascii() else text.encode()
        return clean.translate(None, _CONTROL)

    return convert


def _as_cp1252(error: UnicodeError) -> tuple[str, int]:
    """Decode bytes that are invalid in the file's encoding as Windows-1252."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    wrong = error.object[error.start : error.end]
    return wrong.decode("cp1252", "replace"), error.end


codecs.register_error(_CP1252, _as_cp1252)

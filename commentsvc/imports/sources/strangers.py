"""Files that are no export of any system, and what they are: for the message that refuses them."""

import re
from typing import Final

_AGAIN: Final = "Export it again."
_UNPACK: Final = "Unpack it first; .gz and .zip are read as they are."
_FEED: Final = (
    "It is a feed of the blog, which has no comments that can be imported. Name the export of the"
    " old system."
)
# First bytes, and what a file is that begins with them.
_BEGINS: Final[tuple[tuple[bytes, str], ...]] = (
    (b"PK\x03\x04", "It is a zip file that is cut off or damaged. Download it again."),
    (b"PK\x05\x06", "It is a zip file without files. Download it again."),
    (b"BZh", f"It is packed with bzip2. {_UNPACK}"),
    (b"\xfd7zXZ\0", f"It is packed with xz. {_UNPACK}"),
    (b"(\xb5/\xfd", f"It is packed with zstd. {_UNPACK}"),
    (b"7z\xbc\xaf'\x1c", f"It is packed with 7-Zip. {_UNPACK}"),
    (b"Rar!", f"It is packed with RAR. {_UNPACK}"),
    (b"%PDF-", "It is a PDF. Name the export of the old system."),
    (b"\x89PNG", "It is a picture. Name the export of the old system."),
    (b"\xff\xd8\xff", "It is a picture. Name the export of the old system."),
    (b"GIF8", "It is a picture. Name the export of the old system."),
    (b"RIFF", "It is a picture or a recording. Name the export of the old system."),
)
_TAR: Final = (257, b"ustar")  # where the mark of a tar file is, and what
# What may stand before the first element. A comment ends at its first "-->": if it might end at
# another one as well, many comments would take exponential time.
_BEFORE: Final = rb"(?:<\?[^>]*>|<!--(?:(?!-->).)*-->|\s)*"
_HTML: Final = re.compile(_BEFORE + rb"<(?:!doctype\s+html|html)[\s>]", re.I | re.S)
_FEEDS: Final = re.compile(_BEFORE + rb"<(?:rss|feed|rdf:RDF)[\s>]", re.I | re.S)
_SITEMAP: Final = re.compile(_BEFORE + rb"<(?:urlset|sitemapindex)[\s>]", re.S)
_DUMP: Final = re.compile(rb"^(?:CREATE TABLE|INSERT INTO|COPY .* FROM stdin)\b", re.M)
_SQLITE: Final = b"SQLite format 3\0"
_EMPTY: Final = (b"{}", b"[]", b"null")
# What services answer in place of an export.
_REFUSAL: Final = re.compile(rb'\s*\{\s*"(?:message|error|errors|status|code)"\s*:')


def describe(head: bytes) -> str:
    """Return what a file is whose first bytes are `head`, and what to do; "" if not known.

    `head` is unpacked, if it was packed with gzip, and UTF-8 if it is a text.
    """
    text = head.removeprefix(b"\xef\xbb\xbf").strip()
    if what := _binary(head):
        return what
    if _HTML.match(text):
        return (
            "It is a web page, as one gets in place of a download without signing in. Open it in a"
            " browser to see what it says, and download the export again."
        )
    if _FEEDS.match(text):
        return _FEED
    if _SITEMAP.match(text):
        return "It is a sitemap, which has no comments. Give it to --pages."
    if text in _EMPTY:
        return f"Nothing is in it. {_AGAIN}"
    if _REFUSAL.match(text) and len(head) < 4096:
        return (
            "It is an error message in place of an export. Read it, and export again:"
            f" {_start(text)}"
        )
    if _DUMP.search(text):
        return "It is a dump of a database in SQL, which is not read. Export from the old system."
    return ""


def _binary(head: bytes) -> str:
    """Return what a file is that is no text; "" if not known."""
    for begin, what in _BEGINS:
        if head.startswith(begin):
            return what
    if head.startswith(_SQLITE):
        return (
            "It is a database of commentsvc. Use: commentsvc restore, or export from it first."
            if b"schema_migration" in head
            else "It is a SQLite database of a program that is not known here."
        )
    if head[_TAR[0] :].startswith(_TAR[1]):
        return f"It is a tar file. {_UNPACK}"
    return ""


def _start(text: bytes) -> str:
    shown = " ".join(text[:200].decode("utf-8", "replace").split())
    return "".join(letter if letter.isprintable() else "?" for letter in shown)

"""Valine: the class `Comment` of its application at LeanCloud, exported as JSON.

Waline went on with its fields and reads its comments, so `waline` does so here. They are HTML, and
have no status; the administration pages that others made for Valine mark spam.
"""

from typing import Final

from commentsvc.imports.formats import waline
from commentsvc.imports.records import ParseOptions, Records
from commentsvc.imports.sources.files import SourceFile

_OURS: Final = (b'"comment"', b'"nick"', b'"url"')
_DATES: Final = (b'"insertedAt"', b'"createdAt"')


def recognises(_source: SourceFile, head: bytes) -> str:
    is_json = head.lstrip()[:1] in (b"{", b"[", b"#")
    has_fields = all(name in head for name in _OURS) and any(name in head for name in _DATES)
    is_ours = is_json and has_fields and b'"status"' not in head and not waline.has_type(head)
    return "its comments without a status" if is_ours else ""


def parse(source: SourceFile, options: ParseOptions) -> Records:
    return waline.parse(source, options)

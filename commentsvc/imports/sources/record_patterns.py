"""Patterns of the records of XML exports.

The pattern of a record matches all records with the same elements in the same order, and finds
their texts. It matches only what every XML parser reads in the same way: no references, comments or
text between elements. All else is for the parser.
"""

import re
from collections.abc import Callable, Collection, Mapping
from typing import Final, NamedTuple

PARTS_LIMIT: Final = 500  # of a pattern: Disqus' and WordPress' comments have 50 to 100

_SPACE: Final = rb"[ \t\n]*+"
_NAME: Final = rb"[A-Za-z_][\w.-]*+(?::[A-Za-z_][\w.-]*+)?"
_VALUE: Final = rb"[^<&\"\t\n]*+"
_TEXT: Final = rb"[^<&\]]*+"
_CDATA: Final = rb"<!\[CDATA\[([^\]]*+(?:\](?!\]>)[^\]]*+)*)\]\]>"
_ATTRIBUTE: Final = re.compile(rb"[ \t\n]++(%s)=\"%s\"" % (_NAME, _VALUE))
# An end tag, an empty element, an element with a text, or else a start tag.
_PART: Final = re.compile(
    rb"%(space)s<(?:/(?P<end>%(name)s)%(space)s>|(?P<start>%(name)s)"
    rb"(?P<attributes>(?:[ \t\n]++%(name)s=\"%(value)s\")*)%(space)s(?:(?P<empty>/)>|>"
    rb"(?:(?:(?P<cdata>%(cdata)s)|%(text)s)</(?P<same>%(name)s)%(space)s>)?))"
    % {b"space": _SPACE, b"name": _NAME, b"value": _VALUE, b"cdata": _CDATA, b"text": _TEXT}
).match


class RecordPattern(NamedTuple):
    """The pattern of records called `name`.

    The first group of a match is the space before the record; the others have the texts at `paths`,
    which are as in `xml_records.XmlRecord`.
    """

    match: Callable[[bytes, int], re.Match[bytes] | None]
    name: str
    paths: tuple[str, ...]


def pattern(
    data: bytes,
    nesting: Mapping[str, Collection[str]],
    enclosing: str,
    markup: Collection[str],
) -> RecordPattern | None:
    """Return the pattern of the record that `data` consists of; None if it needs a parser.

    `enclosing` is the name of the record around it, and `markup` has the paths of texts whose
    elements belong to the text. `nesting` is as in `xml_records`.
    """
    found = _Builder()
    at = 0
    while at < len(data):
        part = _PART(data, at)
        if part is None or not found.add(part) or len(found.parts) > PARTS_LIMIT:
            return None
        at = part.end()
    name, names = found.name, found.inner_names
    is_whole = name in nesting.get(enclosing, ()) and found.is_closed
    if not is_whole or names & set(nesting.get(name, ())) or found.containers & set(markup):
        return None
    return RecordPattern(re.compile(b"".join(found.parts)).match, name, tuple(found.paths))


class _Builder:
    """Makes the pattern of a record from its parts."""

    def __init__(self) -> None:
        self.name = ""
        self.parts: list[bytes] = []
        self.paths: list[str] = []
        self.inner_names: set[str] = set()
        self.containers: set[str] = set()  # the paths of elements with elements
        self._open: list[bytes] = []  # the open elements

    @property
    def is_closed(self) -> bool:
        """Whether the record has ended."""
        return not self._open

    def add(self, part: re.Match[bytes]) -> bool:
        """Add the next part; return False if there is no pattern for it."""
        if part["end"]:
            return self._end(part["end"])
        start, is_text = part["start"], part["same"] is not None
        if not self._open and (self.parts or is_text or part["empty"]):
            return False  # behind the record, or a record without elements
        self._open.append(start)
        path = self._path()
        self.parts.append(b"(%s)<" % _SPACE if not path else b"%s<" % _SPACE)
        self.parts.append(re.escape(start))
        for key in _ATTRIBUTE.findall(part["attributes"]):
            if not self._keep(f"{path}@{_local(key)}"):
                return False  # the parser has the last one
            self.parts.append(rb"[ \t\n]++%s=\"(%s)\"" % (re.escape(key), _VALUE))
        self.parts.append(b"%s%s>" % (_SPACE, part["empty"] or b""))
        if path:
            self.inner_names.add(_local(start))
        if is_text or part["empty"]:
            return self._text(part, path)
        self.containers.add(path)
        return True

    def _text(self, part: re.Match[bytes], path: str) -> bool:
        start = self._open.pop()
        if part["empty"]:
            self.parts.append(b"()" if self._keep(path) else b"")
            return True
        text = _CDATA if part["cdata"] else b"(%s)" % _TEXT
        is_new = self._keep(path)
        self.parts.append(text if is_new else text.replace(b"(", b"(?:", 1))
        self.parts.append(b"</%s%s>" % (re.escape(start), _SPACE))
        return part["same"] == start

    def _end(self, name: bytes) -> bool:
        """Add an end tag; the text of an element with elements is the space before it."""
        if not self._open or self._open[-1] != name:
            return False
        path = self._path()
        self._open.pop()
        is_kept = bool(path) and self._keep(path)
        self.parts.append(b"(%s)" % _SPACE if is_kept else _SPACE)
        self.parts.append(b"</%s%s>" % (re.escape(name), _SPACE))
        return True

    def _keep(self, path: str) -> bool:
        """Keep the text at `path`; return False if there is one already."""
        if path in self.paths:
            return False
        self.paths.append(path)
        return True

    def _path(self) -> str:
        if len(self._open) == 1:
            self.name = _local(self._open[0])
        return "/".join(map(_local, self._open[1:]))


def _local(name: bytes) -> str:
    return name.decode().rpartition(":")[2]

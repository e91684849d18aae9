"""XML exports, read in chunks.

expat gets neither entities that the file defines (billion laughs attack) nor other files. Real
exports contain control characters, bytes in another encoding and undefined entities such as
``&nbsp;``: these are corrected. If the XML is invalid beyond that, reading continues with the next
record, if the caller wants it.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from html import escape, unescape
from typing import Final, TypeAlias
from xml.parsers import expat

import msgspec

from commentsvc.imports.records import InvalidInput
from commentsvc.imports.sources.encodings import to_utf8
from commentsvc.imports.sources.files import SourceFile

PIECE: Final = 262_144  # bytes that are read at once
HEAD: Final = 1_024  # bytes in which the file names its encoding
DEPTH_LIMIT: Final = 200  # nesting of elements
FIELD_LIMIT: Final = 1_000_000  # characters of one element that are kept
SHAPE_LIMIT: Final = 10_000  # different elements per file that are kept in memory
PATH_LIMIT: Final = 1_000  # characters of the path of an element
TAG_LIMIT: Final = 1_000  # bytes of a tag or reference that are read together
# Fields with HTML. Where a file has it as elements of its own, their tags are part of the text.
MARKUP: Final = frozenset({"message", "comment_content"})
VOID: Final = frozenset({"br", "hr", "img"})  # elements without an end tag in HTML

# The records that may be inside of a record, by its name; "" is the outermost level.
Nesting: TypeAlias = Mapping[str, frozenset[str]]

_BAD_REFERENCE: Final = re.compile(
    rb"&#(?:0*(?:[0-8]|1[124-9]|2[0-9]|3[01])|[xX]0*(?:[0-8bBcCeEfF]|1[0-9a-fA-F]));"
)
# Attributes without quotation marks, written by other programs and by hand.
_UNQUOTED: Final = re.compile(rb" dsq:id=([A-Za-z0-9_-]+)(?=[\s/>])")
_ENCODING: Final = re.compile(rb"<\?xml[^>]*encoding\s*=\s*[\"']([A-Za-z0-9._-]+)")


class XmlRecord(msgspec.Struct, frozen=True, gc=False):
    """An element of interest: the texts of its descendants by path, as ``author/name``.

    Names have no prefix. The attribute ``dsq:id`` of the record is ``@id``, that of its child
    ``thread`` is ``thread@id``. `outer` is the number of the enclosing record, or -1.
    """

    name: str
    line: int
    number: int
    outer: int
    fields: dict[str, str]

    @property
    def position(self) -> str:
        """The line where it begins."""
        return f"line {self.line}"

    def text(self, path: str) -> str:
        """Return the text at `path`, "" if there is none."""
        return self.fields.get(path, "").strip()

    def flag(self, path: str) -> bool | None:
        """Return whether the text at `path` is true; None if there is none."""
        text = self.text(path).lower()
        return text in ("true", "1") if text else None


def read(
    source: SourceFile, nesting: Nesting, skip: Callable[[InvalidInput], None]
) -> Iterator[XmlRecord]:
    """Yield the records of `source` when each ends. Raise ImportFailed, or what `skip` raises."""
    parser = _XmlParser(nesting, skip)
    with source.open() as stream:
        piece = stream.read(PIECE)
        repair = _repairer(piece)
        yield from parser.feed(parser.skip_junk(repair(piece, False)))
        while piece := stream.read(PIECE):
            yield from parser.feed(repair(piece, False))
        yield from parser.feed(repair(b"", True))
        yield from parser.close()


def _repairer(head: bytes) -> Callable[[bytes, bool], bytes]:
    """Return a converter of a file's bytes to UTF-8 without control characters.

    It keeps a tag or reference that the bytes cut off until the rest of it comes.
    """
    match = _ENCODING.search(head, 0, HEAD)
    convert = to_utf8(head, match[1].decode() if match else "utf-8")
    rest = b""

    def repair(data: bytes, final: bool) -> bytes:
        nonlocal rest
        clean = rest + convert(data, final)
        end = len(clean) if final else _whole(clean)
        clean, rest = clean[:end], clean[end:]
        if b"&#" in clean:
            clean = _BAD_REFERENCE.sub(b"", clean)
        return _UNQUOTED.sub(rb' dsq:id="\1"', clean)

    return repair


def _whole(data: bytes) -> int:
    """Return how many of the bytes come before a tag or reference that they cut off."""
    whole = len(data)
    for begins, ends in ((b"<", b">"), (b"&", b";")):
        begin = data.rfind(begins, max(len(data) - TAG_LIMIT, 0))
        if begin >= 0 and data.find(ends, begin) < 0:
            whole = min(whole, begin)
    return whole


class _Shape:
    """What all nodes of a file's tree share: the records, and how many more nodes are kept."""

    def __init__(self, nesting: Nesting) -> None:
        self.nesting = nesting
        self.left = SHAPE_LIMIT


class _Element(dict[str, "_Element"]):
    """A node of the tree of all different elements of a file: its children by name.

    An element of the file is found with one dictionary lookup, however deep it is. `path` is
    relative to the enclosing record, "" outside of records. `record` is the record's name; `begins`
    is whether the element itself is a record, `is_markup` whether it is a part of a text.
    """

    __slots__ = ("begins", "is_markup", "name", "path", "record", "shape")

    def __init__(self, shape: _Shape, name: str, record: str, path: str, *, begins: bool) -> None:
        self.shape = shape
        self.name = name
        self.record = record
        self.path = path
        self.begins = begins
        self.is_markup = False

    def __missing__(self, name: str) -> "_Element":
        local, shape = name.rpartition(":")[2], self.shape
        if local in shape.nesting.get(self.record, ()):
            child = _Element(shape, name, local, "", begins=True)
        elif not self.record or len(self.path) > PATH_LIMIT:
            child = _Element(shape, name, self.record, self.path, begins=False)
        else:
            path = f"{self.path}/{local}" if self.path else local
            child = _Element(shape, name, self.record, path, begins=False)
        child.is_markup = self.is_markup or self.path in MARKUP
        if shape.left:
            shape.left -= 1
            self[name] = child
        return child


class _Open:
    """A record whose end is not read yet."""

    __slots__ = ("depth", "fields", "line", "name", "number")

    def __init__(self, name: str, line: int, number: int, depth: int) -> None:
        self.name = name
        self.line = line
        self.number = number
        self.depth = depth
        self.fields: dict[str, str] = {}


class _XmlParser:
    """Collects records from the events of expat."""

    def __init__(self, nesting: Nesting, skip: Callable[[InvalidInput], None]) -> None:
        self._nesting = nesting
        self._skip = skip
        names = "|".join(sorted(frozenset().union(*nesting.values()))).encode()
        self._start_tag = re.compile(rb"<(?:[\w.-]+:)?(" + names + rb")[\s>/]")
        root = _Element(_Shape(nesting), "", "", "", begins=False)
        self._elements = [root]  # the open elements
        self._open: list[_Open] = []
        self._ready: list[XmlRecord] = []
        self._text: list[str] = []
        self._number = 0
        self._first_line = 1  # the line of the current parser's first byte
        self._passed = 0  # bytes passed to the current parser
        self._broken = False  # whether the next record is searched
        self._start_parser()

    def skip_junk(self, data: bytes) -> bytes:
        """Return the first bytes of the file without anything before the first tag."""
        begin = max(data.find(b"<"), 0)
        self._first_line += data.count(b"\n", 0, begin)
        return data[begin:]

    def feed(self, data: bytes) -> list[XmlRecord]:
        """Parse the next bytes; return the records that end in them."""
        while data:
            data = self._resume(data) if self._broken else data[self._parse(data) :]
        ready, self._ready = self._ready, []
        return ready

    def _parse(self, data: bytes) -> int:
        """Parse `data` until its end or an error; return how many bytes that are."""
        try:
            self._parser.Parse(data, False)
        except expat.ExpatError as error:
            wrong = max(self._parser.ErrorByteIndex - self._passed, 0)
            self._break(error)
            self._first_line += data.count(b"\n", wrong, wrong + 1)
            return wrong + 1
        self._passed += len(data)
        self._bound()
        return len(data)

    def close(self) -> list[XmlRecord]:
        """Return the records that the end of the file cuts off, as far as they are usable."""
        if not self._broken:
            try:
                self._parser.Parse(b"", True)
            except expat.ExpatError as error:
                self._break(error)
        while self._open:
            self._finish()
        return self._ready

    def _break(self, error: expat.ExpatError) -> None:
        """Report an error, and drop the innermost record, which contains it."""
        line = self._first_line + error.lineno - 1
        what = expat.ErrorString(error.code) or "no XML"
        self._skip(InvalidInput(f"line {line}", f"the XML is broken here ({what})"))
        self._first_line = line
        if self._open and self._open[-1].name not in self._nesting:
            del self._elements[self._open.pop().depth :]
        self._text.clear()
        self._broken = True

    def _resume(self, data: bytes) -> bytes:
        """Start again at the next record in `data`; return the bytes from there on."""
        match = self._start_tag.search(data)
        if match is None:
            self._first_line += data.count(b"\n")
            return b""
        name = match[1].decode()
        while self._open and name not in self._nesting.get(self._open[-1].name, ()):
            del self._elements[self._open[-1].depth :]
            self._finish()
        if self._open:
            del self._elements[self._open[-1].depth + 1 :]
        elif name in self._nesting[""]:
            del self._elements[3:]
            if len(self._elements) == 1:  # behind the end of the document, as in two that are one
                self._elements.append(self._elements[0]["again"])
        else:  # its enclosing record is lost
            self._first_line += data.count(b"\n", 0, match.end())
            return data[match.end() :]
        self._first_line += data.count(b"\n", 0, match.start())
        self._broken = False
        self._start_parser()
        return data[match.start() :]

    def _start_parser(self) -> None:
        """Make a new parser as if it had read the start tags of the open elements."""
        parser = self._parser = expat.ParserCreate("utf-8")
        parser.buffer_text = True
        parser.UseForeignDTD(True)  # so that an undefined entity is not an error
        parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_UNLESS_STANDALONE)
        parser.ExternalEntityRefHandler = self._empty_file
        parser.EntityDeclHandler = self._refuse_entity
        parser.SkippedEntityHandler = self._entity
        prefix = "".join(f"<{element.name}>" for element in self._elements[1:]).encode()
        if prefix:
            parser.Parse(prefix, False)
        self._passed = len(prefix)
        self._handle(parser)

    def _empty_file(self, context: str, *_: object) -> int:
        """Let expat read an empty file in place of an external one."""
        self._parser.ExternalEntityParserCreate(context).Parse(b"", True)
        return 1

    def _refuse_entity(self, name: str, *_: object) -> None:
        raise InvalidInput(
            f"line {self._line()}", f"the file defines the entity {name}, which no export does"
        )

    def _line(self) -> int:
        return self._first_line + self._parser.CurrentLineNumber - 1

    def _entity(self, name: str, is_parameter: bool) -> None:
        if not is_parameter:
            self._text.append(unescape(f"&{name};"))

    def _handle(self, parser: expat.XMLParserType) -> None:
        """Let expat report elements and texts to local functions, three times as fast as methods.

        Almost all elements neither begin a record nor have attributes.
        """
        elements, text, join = self._elements, self._text, "".join
        push, pop, clear = elements.append, elements.pop, text.clear
        begin, finish = self._begin, self._finish
        opened = self._open

        def start(name: str, attributes: dict[str, str]) -> None:
            element = elements[-1][name]
            push(element)
            if element.is_markup:
                words = "".join(f' {key}="{escape(value)}"' for key, value in attributes.items())
                text.append(f"<{name}{words}>")
                return
            clear()
            if attributes or element.begins:
                begin(element, attributes)

        def end(name: str) -> None:
            element = pop()
            if element.is_markup:
                if name not in VOID:
                    text.append(f"</{name}>")
                return
            if element.path:
                opened[-1].fields.setdefault(element.path, join(text))
            elif element.begins:
                finish()
            clear()

        parser.StartElementHandler = start
        parser.EndElementHandler = end
        parser.CharacterDataHandler = text.append

    def _begin(self, element: _Element, attributes: dict[str, str]) -> None:
        """Begin the record of `element`, if it is one, and keep its attributes."""
        if element.begins:
            record = _Open(element.record, self._line(), self._number, len(self._elements) - 1)
            self._number += 1
            self._open.append(record)
        if element.record:
            for key, value in attributes.items():
                path = f"{element.path}@{key.rpartition(':')[2]}"
                self._open[-1].fields[path] = value

    def _finish(self) -> None:
        """Complete the innermost record."""
        done = self._open.pop()
        outer = self._open[-1].number if self._open else -1
        self._ready.append(XmlRecord(done.name, done.line, done.number, outer, done.fields))

    def _bound(self) -> None:
        """Limit what is collected, even if an element is very large or deep."""
        if len(self._elements) > DEPTH_LIMIT + 1:
            raise InvalidInput(
                f"line {self._line()}",
                f"the elements are nested {DEPTH_LIMIT} deep, as in no export",
            )
        if len(self._text) > 1:
            self._text[:] = ["".join(self._text)[:FIELD_LIMIT]]

"""JSON exports, read one object after the other, so that memory does not grow with the file.

A file may be several files one after the other, as some programs write answers that they get.
A part that is invalid is passed to `skip` as an InvalidInput; the objects before it were yielded.
"""

import contextlib
import io
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from copy import copy
from decimal import Decimal
from itertools import accumulate
from typing import Any, Final

import ijson  # type: ignore[import-untyped]  # it ships no types
import msgspec

from commentsvc.imports.records import InvalidInput
from commentsvc.imports.sources.encodings import ToUtf8, to_utf8
from commentsvc.imports.sources.files import SourceFile

LINE_LIMIT: Final = 16 * 1024 * 1024  # bytes of one line of NDJSON
WHOLE_LIMIT: Final = 64 * 1024 * 1024  # bytes of a file that is read as a whole
PIECE: Final = 65_536  # bytes that are read at once
# Nesting of arrays and objects. The time that ijson takes is quadratic in it: 50,000 levels would
# take ten seconds.
DEPTH_LIMIT: Final = 500
DIGITS: Final = 300  # of a number; ijson crashes at 4,300, which is Python's limit
MEMORY: Final = 256 * 1024 * 1024  # bytes that one object, or a file read as a whole, may take
VALUE_SIZE: Final = 128  # bytes that a decoded value takes, besides its text
BIGGEST: Final = 2**31  # of counts such as votes

_STEPS: Final = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_OTHERS: Final = bytes(set(range(256)) - set(_STEPS))
# Where LeanCloud's and MongoDB's exports have the value of an object that stands for one.
_INNER: Final = ("iso", "objectId", "$oid", "$date", "$numberLong", "$numberInt", "$numberDouble")
# NUL and half a character, which JSON can only escape and databases refuse.
_NOT_STORED: Final = re.compile(r"[\x00\ud800-\udfff]")
_LONG_NUMBER: Final = re.compile(rb"\d{%d}" % DIGITS)


def ignore(_problem: InvalidInput) -> None:
    """Ignore an error, since it is reported when the comments are read."""


class Value:
    """A JSON object of an export; its fields may be missing, null or of another type."""

    __slots__ = ("fields",)

    def __init__(self, fields: dict[str, Any]) -> None:  # Any: JSON
        self.fields = fields

    def text(self, *names: str) -> str:
        """Return the first non-empty field of `names`, as text."""
        for name in names:
            value = self.fields.get(name)
            if isinstance(value, str) and value:
                is_plain = value.isascii() and "\0" not in value
                return value if is_plain else _NOT_STORED.sub("\ufffd", value)
            if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
                return str(value)
        return ""

    def wrapped(self, *names: str) -> str:
        """Return the first non-empty field of `names`, which may be an object of a database."""
        for name in names:
            inner = self.object(name)
            if text := self.text(name) or (inner.wrapped(*_INNER) if inner.fields else ""):
                return text
        return ""

    def number(self, name: str) -> int:
        """Return a field that is a number below `BIGGEST` or its text, as a whole one; else 0."""
        value = self.fields.get(name)
        try:
            number = Decimal(value if value is not None else 0)
            return int(number) if -BIGGEST < number < BIGGEST else 0
        except (TypeError, ValueError, ArithmeticError):
            return 0

    def flag(self, name: str) -> bool:
        """Return whether a field is true, "true" or 1."""
        return self.fields.get(name) in (True, "true", "True", "1", 1)

    def object(self, name: str) -> "Value":
        """Return a field that is an object, else an empty one."""
        value = self.fields.get(name)
        return Value(value if isinstance(value, dict) else {})

    def objects(
        self, name: str, skip: Callable[[InvalidInput], None] = ignore, position: str = ""
    ) -> "list[Value]":
        """Return the objects in a field that is an array, else [].

        What is neither an object nor null is passed to `skip`; the Value is at `position`.
        """
        value = self.fields.get(name)
        if not isinstance(value, list):
            if value is not None:
                skip(InvalidInput(position, f"{name} is no JSON array"))
            return []
        for number, each in enumerate(value, 1):
            if not isinstance(each, dict | None):
                skip(InvalidInput(f"{position}, {name} {number}", "this is no JSON object"))
        return [Value(each) for each in value if isinstance(each, dict)]


def items(source: SourceFile, prefix: str, skip: Callable[[InvalidInput], None]) -> Iterator[Value]:
    """Yield the objects at `prefix`, in ijson's notation: ``item``, ``comments.item``.

    Raise ImportFailed, or what `skip` raises.
    """
    number = 0
    with source.open() as stream:
        try:
            text = _BoundedText(stream, _levels(prefix))
            for found in ijson.items(text, prefix, buf_size=PIECE, multiple_values=True):
                number += 1
                if isinstance(found, dict):
                    yield Value(found)
                else:
                    skip(InvalidInput(f"element {number}", "this is no JSON object"))
        except (ijson.JSONError, UnicodeDecodeError, RecursionError) as error:
            reason = _reason(error)
            skip(InvalidInput(f"behind element {number}", f"the JSON is broken here ({reason})"))
        except InvalidInput as problem:
            skip(problem)


def _levels(prefix: str) -> int:
    """Return how many arrays and objects are around the values at `prefix`."""
    return len(prefix.split(".")) if prefix else 0


def _reason(error: Exception) -> str:
    """Return an error of ijson in a few words, without its picture of the text."""
    text = str(error).partition("\n")[0]
    return text.removeprefix("parse error: ").removeprefix("lexical error: ").rstrip(".")[:120]


def first_number(source: SourceFile, prefix: str) -> int:
    """Return the number at `prefix`, 0 if there is none before the JSON is invalid.

    Raise ImportFailed.
    """
    wrong = (ijson.JSONError, UnicodeDecodeError, RecursionError, InvalidInput)
    with source.open() as stream, contextlib.suppress(*wrong):
        for found in ijson.items(_BoundedText(stream, _levels(prefix)), prefix, buf_size=PIECE):
            return Value({prefix: found}).number(prefix)
    return 0


def documents(source: SourceFile, skip: Callable[[InvalidInput], None]) -> Iterator[Any]:
    """Yield the JSON values of a file with one or several of them; each is read as a whole.

    Raise ImportFailed if the file is too large, or what `skip` raises.
    """
    text = source.read_all(WHOLE_LIMIT)
    try:
        yield from ijson.items(_BoundedText(io.BytesIO(text), 0), "", multiple_values=True)
    except (ijson.JSONError, UnicodeDecodeError, RecursionError) as error:
        skip(InvalidInput("the file", f"its JSON is broken ({_reason(error)})"))
    except InvalidInput as problem:
        skip(problem)


class _Bounds:
    """Checks JSON for too much nesting, too long numbers, and values that need too much memory.

    That is much faster than to parse it. The strings are removed first: without escaped backslashes
    and escaped quotation marks, each other quotation mark begins or ends a string.
    """

    def __init__(self, levels: int) -> None:
        """Take how many arrays and objects are around the values that are read."""
        self._levels = levels
        self._memory = 0  # bytes, of the value that is read
        self._depth = 0
        self._in_string = False
        self._backslash = b""  # at the end of the last piece
        self._end = b""  # the end of the last piece

    def problem(self, data: bytes) -> str:
        """Check the next bytes; return the problem, "" if there is none."""
        text = (self._backslash + data).replace(b"\\\\", b"")
        self._backslash = b"\\" if text.endswith(b"\\") else b""
        parts = text.removesuffix(self._backslash).replace(b'\\"', b"").split(b'"')
        bare = b"".join(parts[self._in_string :: 2])
        self._in_string ^= len(parts) % 2 == 0
        brackets = bare.translate(None, _OTHERS)
        depths = list(accumulate(map(_STEPS.__getitem__, brackets), initial=self._depth))
        self._depth = depths[-1]
        self._memory += len(data) + VALUE_SIZE * (len(brackets) + bare.count(b","))
        if min(depths) <= self._levels:  # another value begins here
            self._memory = 0
        if self._memory > MEMORY:
            return f"an object here needs more than {MEMORY >> 20} MiB of memory"
        if max(depths) > DEPTH_LIMIT:
            return f"the JSON is nested more than {DEPTH_LIMIT} deep here, as in no export"
        numbers = self._end + bare
        self._end = numbers[-DIGITS:]
        return f"a number has more than {DIGITS} digits" if _LONG_NUMBER.search(numbers) else ""


class _Text:
    """The bytes of a file as UTF-8, whatever its encoding is."""

    def __init__(self, stream: Any) -> None:  # Any: ijson wants any stream
        self._stream = stream
        self._convert: ToUtf8 | None = None

    def read(self, size: int) -> bytes:
        if size == 0:  # ijson calls read(0) to find out the type
            return b""
        while data := self._stream.read(size):
            if self._convert is None:
                self._convert = to_utf8(data)
            if text := self._convert(data, False):
                return text
        return self._convert(b"", True) if self._convert else b""


class _BoundedText(_Text):
    """As `_Text`, but raise InvalidInput where the JSON exceeds `_Bounds`."""

    def __init__(self, stream: Any, levels: int) -> None:  # Any: as above
        super().__init__(stream)
        self._bounds = _Bounds(levels)
        self._read = 0  # bytes
        self._problem = ""

    def read(self, size: int) -> bytes:
        if self._problem:
            raise InvalidInput(f"byte {self._read + 1}", self._problem)
        text = super().read(size)
        before = copy(self._bounds)
        self._problem = self._bounds.problem(text)
        if self._problem:
            good = bisect_left(
                range(len(text)), True, key=lambda end: bool(copy(before).problem(text[: end + 1]))
            )
            text = text[:good]
        self._read += len(text)
        return text or (b" " if self._problem else b"")  # b"" would be the end of the file


def is_indented(head: bytes) -> bool:
    """Return whether the first object of a file takes several lines."""
    return head.partition(b"\n")[0].strip() == b"{"


def lines(source: SourceFile, skip: Callable[[InvalidInput], None]) -> Iterator[tuple[str, Value]]:
    """Yield the objects of a file with one object per line, with their positions.

    If they are indented, the file is read as a whole. Raise ImportFailed, or what `skip` raises.
    """
    found: Any  # JSON
    if is_indented(source.head()):
        for number, found in enumerate(documents(source, skip), 1):
            if isinstance(found, dict):
                yield f"object {number}", Value(found)
            else:
                skip(InvalidInput(f"object {number}", "this is no JSON object"))
        return
    for number, line in raw_lines(source, skip):
        if line.startswith(b"#"):  # a comment, as LeanCloud writes
            continue
        try:
            found = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            skip(InvalidInput(f"line {number}", f"this is no JSON ({error})"))
            continue
        if isinstance(found, dict):
            yield f"line {number}", Value(found)
        else:
            skip(InvalidInput(f"line {number}", "this is no JSON object"))


def raw_lines(
    source: SourceFile, skip: Callable[[InvalidInput], None], *, blank: bool = False
) -> Iterator[tuple[int, bytes]]:
    """Yield the non-empty lines of a file, with their numbers.

    Raise ImportFailed, or what `skip` raises.
    """
    number, rest, too_long = 0, b"", False
    with source.open() as stream:
        text = _Text(stream)
        while data := text.read(PIECE):
            *complete, rest = (rest + data).split(b"\n")
            for line in complete:
                number += 1
                if (blank or line.strip()) and not too_long:
                    yield number, line
                too_long = False
            if len(rest) > LINE_LIMIT:
                if not too_long:
                    skip(InvalidInput(f"line {number + 1}", "the line is longer than 16 MiB"))
                rest, too_long = b"", True
    if rest.strip() and not too_long:
        yield number + 1, rest

"""Tables as text: the columns' names in the first line, the values between commas or the like."""

import csv
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final, Literal

import msgspec

from commentsvc.imports.records import ImportFailed, InvalidInput
from commentsvc.imports.sources import json_files
from commentsvc.imports.sources.files import SourceFile
from commentsvc.imports.sources.json_files import Value

COLUMNS: Final = 1_000  # of a table: each row takes time for all of them
_WRAPPED: Final = ('{"__type"', '{"$')  # where LeanCloud and MongoDB write an object for a value
_NULLS: Final = ("NULL", "\\N")  # as programs of MySQL write them between commas or tabs
_ESCAPES: Final = {"\\n": "\n", "\\t": "\t", "\\0": "\0", "\\\\": "\\"}  # between tabs
_ESCAPED: Final = re.compile(r"\\[nt0\\]")


def names(head: bytes) -> set[str]:
    """Return the names in the first line of a table."""
    line = head.partition(b"\n")[0].decode("utf-8-sig", "replace")
    return {name.strip('" ') for name in line.strip().split(_delimiter(line))}


def rows(source: SourceFile, skip: Callable[[InvalidInput], None]) -> Iterator[Value]:
    """Yield the rows of a table. Raise ImportFailed, or what `skip` raises."""
    raw = json_files.raw_lines(source, skip, blank=True)
    between = _delimiter(source.head().lstrip().partition(b"\n")[0].decode(errors="replace"))
    has_escapes = between == "\t"
    quoting: Literal[0, 3] = csv.QUOTE_NONE if has_escapes else csv.QUOTE_MINIMAL
    lines = (line.decode() + "\n" for _, line in raw)
    found = csv.DictReader(lines, delimiter=between, quoting=quoting, strict=True)
    if len(found.fieldnames or ()) > COLUMNS:
        raise ImportFailed(f"Its first line names more than {COLUMNS} columns, as no table does.")
    while True:
        try:
            yield Value({name: _cell(text, has_escapes) for name, text in next(found).items()})
        except StopIteration:
            return
        except csv.Error as error:  # the reader goes on with the next line
            skip(InvalidInput(f"line {found.line_num + 1}", f"the CSV is invalid ({error})"))


def _delimiter(line: str) -> str:
    """Return the character between the names in the first line of a table."""
    return max(",;\t", key=line.count)


def _cell(text: object, has_escapes: bool) -> object:
    """Return a value of a table as text or as an object of a database; None for a missing one."""
    if text in _NULLS or not isinstance(text, str):
        return None
    if text.startswith(_WRAPPED):
        with suppress(msgspec.DecodeError):
            return msgspec.json.decode(text, type=dict[str, object])
    return _ESCAPED.sub(lambda match: _ESCAPES[match[0]], text) if has_escapes else text

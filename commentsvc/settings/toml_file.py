"""Reads a TOML file with the line of each value, and finds everything that is wrong with it.

Python's `tomllib` stops at the first error, in the words of a grammar. So a file that it refuses is
read a second time here, statement by statement: one wrong line does not hide the others.
"""

import re
import tomllib
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

_NAME: Final = r"[\w-]+|\"[\w-]+\"|'[\w-]+'"
_HEADER: Final = re.compile(r"\s*(\[\[?)([^\]#\n]*)")
_KEY: Final = re.compile(rf"\s*({_NAME})\s*(?:\.\s*({_NAME})\s*)?=\s*(.*)", re.DOTALL)
_CONFLICT: Final = re.compile(r"(<{7}|={7}|>{7}|\|{7})(?:\s|$)").match  # as git writes
# What a value begins with that may go on over several lines.
_LONG: Final = ("[", "{", '"""', "'''")


class Block(NamedTuple):
    """A section: "server" of `[server]`, or of one of several `[[server]]`. "" begins the file.

    `values` are those of TOML, and `lines` the numbers of their lines.
    """

    name: str
    is_repeated: bool
    line: int
    values: dict[str, Any]
    lines: dict[str, int]


class Fault(NamedTuple):
    """A line that is no TOML: of the `key` in `section`, after whose "=" stands `raw`.

    Without a key, `reason` says what is wrong.
    """

    line: int
    section: str
    key: str
    raw: str
    reason: str


def read(text: str) -> tuple[list[Block], list[Fault]]:
    """Return the sections of a file, and its faults in the order of their lines."""
    found = _Statements()
    for number, statement in _statements(text.split("\n")):
        if header := _HEADER.match(statement):
            found.add_header(number, statement, header[1], _bare(header[2]))
        else:
            found.add_key(number, statement)
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return found.blocks, found.faults or [Fault(0, "", "", "", f"{error}.")]
    return list(_blocks(document, found.blocks)), []


def _blocks(document: dict[str, Any], found: list[Block]) -> Iterator[Block]:
    """Yield the sections of a valid document, with the lines that were `found`."""
    top = Block("", False, 0, {}, next((b.lines for b in found if not b.name), {}))
    for name, value in document.items():
        same = [block for block in found if block.name == name]
        is_list = isinstance(value, list) and all(isinstance(each, dict) for each in value)
        for index, table in enumerate(value if is_list else [value]):
            known = same[min(index, len(same) - 1)] if same else Block(name, is_list, 0, {}, {})
            if isinstance(table, dict):
                below = {b.name.removeprefix(f"{name}."): b.line for b in found}
                yield known._replace(is_repeated=is_list, values=table, lines=below | known.lines)
            else:
                top.values[name] = table
        if value == []:
            yield Block(name, True, 0, {}, {})
    if top.values:
        yield top


class _Statements:
    """Collects the sections of a file, one header or key after the other, and their faults."""

    def __init__(self) -> None:
        self._block = Block("", False, 0, {}, {})
        self.blocks, self.faults = [self._block], list[Fault]()

    def add_header(self, number: int, statement: str, brackets: str, name: str) -> None:
        """Begin a section, or go on with that of the same name."""
        is_repeated = brackets == "[["
        if _parsed(statement) is None and (reason := _hidden(statement)):
            self._refuse(number, reason)
        elif _parsed(statement) is None:
            right = f"[[{name or 'NAME'}]]" if is_repeated else f"[{name or 'NAME'}]"
            self._refuse(number, f"a section begins with {right}, and nothing else on its line.")
        before = self._named(name)
        if before and not is_repeated and not before.is_repeated:
            at = f"begins already at line {before.line}: put these lines there."
            self._refuse(number, f"[{name}] {at}")
            self._block = before
        elif name:
            self._block = Block(name, is_repeated, number, {}, {})
            self.blocks.append(self._block)

    def add_key(self, number: int, statement: str) -> None:
        """Add a value to its section."""
        into, value = self._block, _parsed(statement)
        key, raw = next(iter(value or ("",))), ""
        if match := _KEY.match(statement):
            key, raw = _bare(match[1]), match[3]
            if match[2] and not into.name:  # server.workers = 2
                into = self._named(key) or Block(key, False, number, {}, {})
                if into not in self.blocks:
                    self.blocks.append(into)
                value = value and value[key]
                key = _bare(match[2])
        if key and key in into.lines:
            at = f"stands already at line {into.lines[key]}: keep one of the two."
            self._refuse(number, f"{into.name}.{key} {at}")
        elif value is None:
            reason = _hidden(statement) or ("" if key else _unlike(statement))
            self.faults.append(Fault(number, into.name, "" if reason else key, raw, reason))
        else:
            into.values[key] = value[key]
        into.lines.setdefault(key, number)

    def _named(self, name: str) -> Block | None:
        return next((each for each in self.blocks if each.name == name), None)

    def _refuse(self, number: int, reason: str) -> None:
        self.faults.append(Fault(number, "", "", "", reason))


def _statements(lines: list[str]) -> Iterator[tuple[int, str]]:
    """Yield the number of the first line, and the text, of each header and each key.

    A value of several lines ends at the latest before the next header or key.
    """
    number = 0
    while number < len(lines):
        line, first = lines[number], number
        number += 1
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _KEY.match(line)
        if match and match[3].startswith(_LONG) and _parsed(line) is None:
            while number < len(lines) and not _begins(lines[number]):
                number += 1
            line = "\n".join(lines[first:number])
        yield first + 1, line


def _begins(line: str) -> bool:
    return bool(_KEY.match(line) or re.match(r"\s*\[\[?[\w.-]+\]", line))


def _parsed(statement: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(f"{statement}\n")
    except tomllib.TOMLDecodeError:
        return None


def _hidden(statement: str) -> str:
    """Return which character, that editors do not show, makes a statement no TOML; "" if none."""
    lines = statement.replace("\r\n", "\n").rstrip("\r")
    hidden = [letter for letter in lines if not letter.isprintable() and letter not in "\t\n"]
    if not hidden or _parsed(re.sub(f"[{re.escape(''.join(hidden))}]", " ", lines)) is None:
        return ""
    number = f"U+{ord(hidden[0]):04X}"
    return f"This line has a character that cannot be seen, {number}. Type the line anew."


def _bare(name: str) -> str:
    shown = "".join(filter(str.isprintable, name))  # `_hidden` tells of the others
    return shown.strip().strip("\"'")


def _unlike(statement: str) -> str:
    """Return what is wrong with a line that is neither a header nor a key."""
    if _CONFLICT(statement):
        return "This line marks a merge conflict. Keep one of the two sides, without such lines."
    if re.match(r"\s*(?:export|set) +\w+=", statement):
        return "This line sets a variable of the environment. Write KEY = VALUE, or move it there."
    words = re.match(r"\s*([\w-]+)\s*:?(\s*)(\S?)", statement)
    if words is None:
        return "This line is no setting. Write KEY = VALUE, or # before a comment."
    if not words[3]:
        return f"{words[1]} has no value. Write [{words[1]}] for a section, or KEY = VALUE."
    return f"{words[1]} stands without a =. Write {words[1]} = and its value."

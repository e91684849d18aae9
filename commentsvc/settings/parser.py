"""Reads the settings that an operator has written, and collects what is wrong with them.

An invalid value does not stop the reading: each problem becomes one line that names the key, its
line in the file, what was found, what is allowed, and what to write instead. The caller raises all
of them together, so that the operator can correct the file at once. A setting of an earlier version
becomes a note instead.

The first annotation (`msgspec.Meta`) of a struct's field says what is allowed; in its `extra`,
"tidy" is a function that returns the value in its normal form or raises ValueError, and "secret"
keeps the value out of messages.
"""

import ipaddress
import json
import re
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeVar, get_args, get_origin
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import FieldInfo

from commentsvc.settings import data_dir, toml_file
from commentsvc.settings.toml_file import Block, Fault
from commentsvc.util.origin import origin
from commentsvc.util.suggestions import nearest

# In bytes: a larger file is not a settings file, but a wrong path.
FILE_LIMIT: Final = 1_048_576
# Characters of an invalid value that an error shows.
SHOWN: Final = 80
# Lines of a file that are no TOML: with more of them, it is something else.
FAULTS: Final = 20
# The parts of a list that somebody has written without quotation marks or commas.
_ITEMS: Final = re.compile(r"\"([^\"]*)\"|'([^']*)'|([^\s,\[\]\"']+)")
# The beginning of JSON, XML or YAML, after comments.
_OTHER: Final = re.compile(r"(?:\s*#.*\n)*\s*(?:\{|<(?!<)|---|[\w-]+:\s*\n)").match
# What other languages have behind a value: the end of a statement, or a comment.
_BEHIND: Final = re.compile(r"(?:\s+(?://|--).*|\s*[;,])$")
_NOTHING: Final = ("null", "None", "none", "nil", "undefined", "~")  # in other languages
_QUOTES: Final = "\"'“”„‘’‚«»"

# Variables (NAME=VALUE) that Kubernetes sets in every container for a Service whose name begins
# with "commentsvc". That of "commentsvc-mail" is named as our mail.port.
_KUBERNETES: Final = re.compile(
    r"(\w+_)?(SERVICE_(HOST|PORT(_\w+)?)|PORT_\d+_(TCP|UDP|SCTP)(_\w+)?)=.*"
    r"|(\w+_)?PORT=(tcp|udp|sctp)://.*"
)

S = TypeVar("S", bound=msgspec.Struct)


class SettingsError(Exception):
    """The settings cannot be used; `problems` has one line for each reason."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class GivenValue(NamedTuple):
    """A value as it was written; `where` is its name for the operator.

    `from_text` is True for a variable or option: numbers and lists are still to be parsed.
    """

    value: Any  # whatever TOML or a variable can hold, until it is converted
    where: str
    from_text: bool


Table = dict[str, GivenValue]


class SettingsParser:
    """Collects the values given for `sections`, the `problems` with them, and `notes`.

    `wrong` has the names ("section.key") of the settings whose values are problems.

    The section `repeated` may occur several times in a file, as an array of tables; variables can
    override it while there is at most one. The variables in `others` are left to the caller. The
    settings in `removed` ("section.key") are ignored, with a note each.
    """

    def __init__(
        self,
        prefix: str,
        sections: Mapping[str, type[msgspec.Struct]],
        *,
        repeated: str,
        others: Iterable[str],
        removed: Collection[str] = (),
    ) -> None:
        self.problems: list[str] = []
        self.notes: list[str] = []
        self.wrong: set[str] = set()
        self.tables: dict[str, Table] = {name: {} for name in sections if name != repeated}
        self.repeats: list[Table] = [{}]
        self._prefix = prefix
        self._sections = sections
        self._repeated = repeated
        self._others = tuple(others)
        self._removed = removed
        self._removed_variables = {
            f"{prefix}{name.replace('.', '_')}{suffix}".upper()
            for name in removed
            for suffix in ("", "_FILE")
        }
        self._variables = {
            f"{prefix}{section}_{field.name}".upper(): (section, field.name)
            for section, struct in sections.items()
            for field in msgspec.structs.fields(struct)
        }

    def read_file(self, path: Path) -> None:
        """Read the TOML file at `path`."""
        try:
            text = _read_text(path)
        except (OSError, ValueError) as error:
            self.problems.append(_unreadable(path, error))
            return
        blocks, faults = toml_file.read(text)
        if _OTHER(text) or len(faults) > FAULTS:
            self.problems.append(
                f"{path} is no settings file in TOML. Name another one with --config, or let"
                " `commentsvc init` write one."
            )
            return
        tables: list[Table] = []
        for block in blocks:
            table = self._read_block(path, block)
            if block.name == self._repeated:
                tables.append(table)
            elif block.name in self.tables:
                self.tables[block.name] |= table
        self.repeats = tables or [{}]
        for fault in faults:
            self.wrong.add(f"{fault.section}.{fault.key}")
            if fault.line:
                self.problems.append(f"{path}:{fault.line}: {self._explain(fault)}")
            elif not self.problems:
                self.problems.append(f"{path} is no TOML: {fault.reason}")

    def _read_block(self, path: Path, block: Block) -> Table:
        """Return the settings of a section, and collect what is wrong with it."""
        here = f"{path}:{block.line}: [{block.name}]"
        if not block.name:
            for key in block.values:
                self._refuse_top(f"{path}:{block.lines.get(key, 1)}: {key}", key)
        elif block.name not in self._sections:
            if not self._was_section(block.name):
                known = nearest(block.name, self._sections)
                hint = f"Did you mean [{known}]?" if known else "docs/configuring.md lists them."
                self.problems.append(f"{here} is no section. {hint}")
                return {}
        elif block.is_repeated != (block.name == self._repeated):
            right = f"[{block.name}]" if block.is_repeated else f"[[{block.name}]]"
            count = "only one" if block.is_repeated else "one for each"
            self.problems.append(f"{path}:{block.line}: write {right}: there is {count}.")
        given: Table = {}
        for key, value in block.values.items() if block.name else ():
            where = f"{path}:{block.lines.get(key, block.line)}: {block.name}.{key}"
            if (block.name, key) in self._variables.values():
                given[key] = GivenValue(value, where, from_text=False)
            elif f"{block.name}.{key}" in self._removed:
                self.notes.append(f"{where} is no setting any more: remove the line.")
            else:
                self.problems.append(f"{where} is no setting. {self._meant(block.name, key)}")
        return given

    def _refuse_top(self, where: str, key: str) -> None:
        if key in self._sections:
            text = f"is a section. {_as_section(key, is_repeated=key == self._repeated)}"
        else:
            text = f"stands before the first section. {self._meant('', key)}"
        self.problems.append(f"{where} {text}")

    def _was_section(self, name: str) -> bool:
        return any(removed.startswith(f"{name}.") for removed in self._removed)

    def _meant(self, section: str, key: str) -> str:
        """Return a hint for a key that does not exist in `section`."""
        if key in self._sections:
            return _as_section(key, is_repeated=key == self._repeated)
        if key in self._variables:
            section, key = self._variables[key]
            return f"Did you mean {section}.{key}? Put the line below [{section}]."
        names = [".".join(name) for name in self._variables.values()]
        # The right key in a wrong section is the commonest mistake.
        same = [name for name in names if name.endswith(f".{key}")]
        if same:
            known = nearest(f"{section}.{key}", same) or same[0]
            return f"Did you mean {known}? Put the line below [{known.partition('.')[0]}]."
        keys = {name.rpartition(".")[2]: name for name in names}
        keys |= {k: f"{s}.{k}" for s, k in self._variables.values() if s == section}
        near = [known for known, name in keys.items() if name.startswith(f"{section}.")]
        known = nearest(key, near, 0.5) or nearest(key, keys)
        return f"Did you mean {keys[known]}?" if known else "docs/configuring.md lists all."

    def _explain(self, fault: Fault) -> str:
        """Return what is wrong with a line that is no TOML, and what to write."""
        if not fault.key:
            return fault.reason
        name = f"{fault.section}.{fault.key}" if fault.section else fault.key
        if (fault.section, fault.key) not in self._variables.values():
            return f"{name} is no setting. {self._meant(fault.section, fault.key)}"
        fields = msgspec.structs.fields(self._sections[fault.section])
        field = next(each for each in fields if each.name == fault.key)
        raw = fault.raw.partition(" #")[0].strip()
        found = f"is {_shortened(raw)}, which is no TOML" if raw else "has no value"
        if _is_secret(field):
            found = "is no TOML"
        meant = _BEHIND.sub("", raw.lstrip("=> "))
        return f"{name} {found}; {_allowed(field, meant, f'{fault.key} = ')}"

    def read_environment(self, environ: Mapping[str, str]) -> None:
        """Read the variables in `environ`; they override the file."""
        for variable in sorted(environ):
            if not variable.startswith(self._prefix) or variable in self._others:
                continue
            if _KUBERNETES.fullmatch(f"{variable.removeprefix(self._prefix)}={environ[variable]}"):
                continue
            if variable in self._removed_variables:
                self.notes.append(f"{variable} is no setting any more: unset it.")
                continue
            name = variable if variable in self._variables else variable.removesuffix("_FILE")
            section, key = self._variables.get(name, ("", ""))
            if not section:
                names = (*self._variables, *self._others)
                ends = [known.removeprefix(self._prefix) for known in names]
                near = nearest(name.removeprefix(self._prefix), ends)
                hint = f"Did you mean {self._prefix}{near}?" if near else "Unset it."
                self.problems.append(f"{variable} is no setting. {hint}")
            elif name != variable and name in environ:
                self.problems.append(f"{name} and {variable} are both set. Unset one.")
            elif section == self._repeated and len(self.repeats) > 1:
                self.problems.append(
                    f"{variable} is set, but the file has {len(self.repeats)} [[{section}]]. "
                    "Unset it and use the file."
                )
            else:
                table = self.repeats[0] if section == self._repeated else self.tables[section]
                value = environ[variable]
                if name != variable:
                    value = self._read_value(variable, Path(value))
                table[key] = GivenValue(value, variable, from_text=True)

    def _read_value(self, variable: str, path: Path) -> str:
        try:
            return _read_text(path).rstrip("\r\n")
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            self.problems.append(
                f"{variable} is {path}, which cannot be read: {reason}. "
                "Name another file or unset it."
            )
            return ""

    def override(self, name: str, value: str) -> None:
        """Set the setting `name` ("section.key") to the `value` of the option --key."""
        section, key = name.split(".")
        self.tables[section][key] = GivenValue(value, f"--{key}", from_text=True)

    def build(self, struct: type[S], table: Table, section: str = "") -> S:
        """Return the struct for `table`; an invalid value leaves the default in its place."""
        values: dict[str, Any] = {}
        for field in msgspec.structs.fields(struct):
            if field.name not in table:
                continue
            value, where, from_text = table[field.name]
            kind, meta, *_ = get_args(field.type)
            extra = meta.extra or {}
            if isinstance(value, str) and extra.get("one_word") and not from_text:
                value = [value]
            elif from_text and get_origin(kind) is tuple:
                value = [item.strip() for item in value.split(",") if item.strip()]
            try:
                right = msgspec.convert(value, field.type, strict=not from_text)
                values[field.name] = extra["tidy"](right) if "tidy" in extra else right
            except (msgspec.ValidationError, ValueError):
                self.wrong.add(f"{section}.{field.name}")
                found = "not shown here" if _is_secret(field) else _show(value)
                before = f"{field.name} = "
                if from_text:
                    before = f"{where} " if where.startswith("--") else f"{where}="
                self.problems.append(f"{where} is {found}; {_allowed(field, value, before)}")
        return struct(**values)


def _as_section(name: str, *, is_repeated: bool) -> str:
    header = f"[[{name}]]" if is_repeated else f"[{name}]"
    return f"Write {header} on a line, then its settings."


def _is_secret(field: FieldInfo) -> bool:
    return bool((get_args(field.type)[1].extra or {}).get("secret"))


def _allowed(field: FieldInfo, value: object, before: str) -> str:
    """Return what is allowed instead of a wrong value, with a line to write after `before`."""
    meta = get_args(field.type)[1]
    if before.endswith("_FILE="):
        return f"allowed is {meta.description}. Change it there."
    advice, corrected = "Write", _corrected(field, value)
    if not corrected and not _is_secret(field):
        advice, corrected = "Write for example", _example(field)
    if corrected and _is_secret(field):
        corrected = '["…"]' if corrected.startswith("[") else '"…"'
    if not before.endswith(" = "):
        corrected = ",".join(_items(corrected)) if corrected.startswith("[") else corrected
        corrected = corrected.strip('"')
    line = f"{advice} {before}{corrected}" if corrected else "Change it there."
    return f"allowed is {meta.description}. {line}"


def _corrected(field: FieldInfo, value: object) -> str:
    """Return in TOML what somebody meant by a value of another type or without quotes, or ""."""
    kind, meta, *_ = get_args(field.type)
    tidy = (meta.extra or {}).get("tidy", lambda right: right)
    texts = [str(each).strip() for each in value] if isinstance(value, list) else _items(str(value))
    if get_origin(kind) is not tuple:
        texts = [str(value).strip(f"{_QUOTES} ")]
    mends = (_with_scheme, _as_origin) if "https://" in meta.description else _OTHER_MENDS
    if str(value) in _NOTHING:
        return _toml(field.default) if field.default in ("", ()) else ""
    for mend in (str, *mends):
        tried = [mend(text) for text in texts]
        if get_origin(kind) is Literal:
            tried = [nearest(text, filter(None, get_args(kind))) or text for text in tried]
        given = tried if get_origin(kind) is tuple else tried[0]
        try:
            right = msgspec.convert(given, field.type, strict=False)
            tidy(right)
        except (msgspec.ValidationError, ValueError):
            continue
        if right not in ("", ()):
            return _toml(right)
    return ""


def _as_host(text: str) -> str:
    with suppress(ValueError):
        return urlsplit(text if "://" in text else f"//{text}").hostname or text
    return text


def _as_tag(text: str) -> str:
    return text.replace("_", "-")


def _with_scheme(text: str) -> str:
    return f"https://{text}"


def _as_origin(text: str) -> str:
    return origin(text) or text


def _as_network(text: str) -> str:
    try:
        return str(ipaddress.ip_network(text, strict=False))
    except ValueError:
        return text


_OTHER_MENDS: Final = (_as_network, _as_host, _as_tag)


def _example(field: FieldInfo) -> str:
    """Return in TOML what a setting may be; "" for secrets."""
    if field.default not in ("", ()):
        return _toml(field.default)
    kind, meta, *_ = get_args(field.type)
    is_list = get_origin(kind) is tuple
    found = re.search(r'("[^"]+")' if is_list else r'such as ("[^"]*")', meta.description)
    if found is None:
        return ""
    return f"[{found[1]}]" if is_list else found[1]


def _items(text: str) -> list[str]:
    return ["".join(found).strip(_QUOTES) for found in _ITEMS.findall(text)]


def _toml(value: object) -> str:
    """Return a value as it stands in a file."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return "".join(letter if letter.isprintable() else f"\\u{ord(letter):04x}" for letter in text)


def _unreadable(path: Path, error: OSError | ValueError) -> str:
    """Return why a settings file cannot be read, and what to do."""
    if isinstance(error, FileNotFoundError):
        return (
            f"There is no file {path}. Name another one with --config, or write it:"
            f" commentsvc init --config {path}"
        )
    if isinstance(error, IsADirectoryError):
        return f"{path} is a folder. Name the settings file in it: {path / data_dir.SETTINGS}"
    if isinstance(error, PermissionError):
        return f"{path} cannot be read: {data_dir.describe(path)}."
    if isinstance(error, OSError):
        return f"{path} cannot be read: {error.strerror}."
    return f"{path} cannot be read: {error}."


def _read_text(path: Path) -> str:
    """Return the content of a UTF-8 file. Raise OSError, or ValueError with the reason."""
    with path.open("rb") as file:
        content = file.read(FILE_LIMIT + 1)
    if len(content) > FILE_LIMIT:
        raise ValueError(f"it is longer than {FILE_LIMIT} bytes, so it is something else")
    if b"\0" in content:
        is_wide = content.startswith((b"\xff\xfe", b"\xfe\xff"))
        raise ValueError("it is UTF-16. Save it as UTF-8" if is_wide else "it is no text")
    if b"\r" in content and b"\n" not in content:
        raise ValueError("its lines end with CR alone. Save it with the line ends of Unix (LF)")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(f"line {line} is not UTF-8. Save the file as UTF-8") from None


def _show(value: object) -> str:
    return _shortened(_toml(value))


def _shortened(text: str) -> str:
    return text if len(text) <= SHOWN else text[:SHOWN] + "…"

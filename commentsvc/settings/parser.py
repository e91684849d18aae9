"""Reads the settings that an operator has written, and collects what is wrong with them.

An invalid value does not stop the reading: each problem becomes one line that names the key, what
was found, what is allowed and what to do. The caller raises all of them together, so that the
operator can correct the file at once. A setting of an earlier version becomes a note instead.

The first annotation (`msgspec.Meta`) of a struct's field says what is allowed; in its `extra`,
"tidy" is a function that returns the value in its normal form or raises ValueError, and "secret"
keeps the value out of messages.

The only error is SettingsError.
"""

import re
import tomllib
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar, get_args, get_origin

import msgspec

# In bytes: a larger file is not a settings file, but a wrong path.
FILE_LIMIT: Final = 1_048_576
# Characters of an invalid value that an error shows.
SHOWN: Final = 80

# Variables (NAME=VALUE) that Kubernetes sets in every container for a Service whose name begins
# with "commentsvc".
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
            document = tomllib.loads(_read_text(path))
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            self.problems.append(f"{path} cannot be read as TOML: {reason}. Repair it there.")
            return
        for name, value in document.items():
            if name not in self._sections and self._was_section(name):
                self._read_table(path, name, value if isinstance(value, dict) else {})
            elif name not in self._sections:
                self.problems.append(
                    f"[{name}] in {path} is not a section; the most similar one is "
                    f"[{_nearest(name, self._sections)}]. Rename or remove it."
                )
            elif name == self._repeated and _is_list_of_tables(value):
                self.repeats = [self._read_table(path, name, table) for table in value] or [{}]
            elif name != self._repeated and isinstance(value, dict):
                self.tables[name] = self._read_table(path, name, value)
            else:
                header = f"[[{name}]]" if name == self._repeated else f"[{name}]"
                self.problems.append(
                    f"{name} in {path} is {_show(value)}, but must be a section. "
                    f"Write {header} on a line, then its keys."
                )

    def _was_section(self, name: str) -> bool:
        return any(removed.startswith(f"{name}.") for removed in self._removed)

    def _read_table(self, path: Path, section: str, table: dict[str, Any]) -> Table:
        given: Table = {}
        for key, value in table.items():
            if (section, key) in self._variables.values():
                given[key] = GivenValue(value, f"{section}.{key} in {path}", from_text=False)
            elif f"{section}.{key}" in self._removed:
                self.notes.append(
                    f"{section}.{key} in {path} is no setting any more: remove the line."
                )
            else:
                names = [".".join(name) for name in self._variables.values()]
                # The right key in a wrong section is the commonest mistake.
                names = [name for name in names if name.endswith(f".{key}")] or names
                self.problems.append(
                    f"{section}.{key} in {path} is not a setting; the most similar one is "
                    f"{_nearest(f'{section}.{key}', names)}. Rename or remove it."
                )
        return given

    def read_environment(self, environ: Mapping[str, str]) -> None:
        """Read the variables in `environ`; they override the file."""
        for variable in sorted(environ):
            if not variable.startswith(self._prefix) or variable in self._others:
                continue
            if variable in self._removed_variables:
                self.notes.append(f"{variable} is no setting any more: unset it.")
                continue
            name = variable if variable in self._variables else variable.removesuffix("_FILE")
            section, key = self._variables.get(name, ("", ""))
            if not section:
                if _KUBERNETES.fullmatch(
                    f"{variable.removeprefix(self._prefix)}={environ[variable]}"
                ):
                    continue
                known = _nearest(variable, (*self._variables, *self._others))
                self.problems.append(
                    f"{variable} is not a setting; the most similar one is {known}. "
                    "Rename or unset it."
                )
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

    def build(self, struct: type[S], table: Table) -> S:
        """Return the struct for `table`; an invalid value leaves the default in its place."""
        values: dict[str, Any] = {}
        for field in msgspec.structs.fields(struct):
            if field.name not in table:
                continue
            value, where, from_text = table[field.name]
            kind, meta, *_ = get_args(field.type)
            extra = meta.extra or {}
            if from_text and get_origin(kind) is tuple:
                value = [item.strip() for item in value.split(",") if item.strip()]
            try:
                right = msgspec.convert(value, field.type, strict=not from_text)
                values[field.name] = extra["tidy"](right) if "tidy" in extra else right
            except (msgspec.ValidationError, ValueError):
                found = "not shown here" if extra.get("secret") else _show(value)
                self.problems.append(
                    f"{where} is {found}; allowed is {meta.description}. Change it there."
                )
        return struct(**values)


def _is_list_of_tables(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


def _read_text(path: Path) -> str:
    """Return the content of a UTF-8 file. Raise OSError, or ValueError with the reason."""
    with path.open("rb") as file:
        content = file.read(FILE_LIMIT + 1)
    if len(content) > FILE_LIMIT:
        raise ValueError(f"it is longer than {FILE_LIMIT} bytes")
    return content.decode()


def _nearest(word: str, known: Iterable[str]) -> str:
    """Return the word of `known` that is most similar to `word`."""
    import difflib  # imported late: it is large and needed for one message only

    return difflib.get_close_matches(word, known, n=1, cutoff=0.0)[0]


def _show(value: object) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN else text[:SHOWN] + "…"

"""Print the unit tests that can have another outcome with the lowest versions of the libraries.

These are the tests of each module that calls a library whose lowest version is not the locked one,
or a part of Python that later releases of 3.11 changed; and the tests of rules, one of which shows
every page. Other modules see of a library only what those modules return, which their tests hold.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests import requirements
from tests.test_architecture import PACKAGE, ROOT, TESTED_ELSEWHERE, TESTS_OF_RULES, module_of

UNIT: Final = ROOT / "tests/unit"
# What is imported from a package whose name differs.
IMPORTED: Final = {
    "peewee": {"peewee", "playhouse"},
    "pillow": {"PIL"},
    "prometheus-client": {"prometheus_client"},
    "pynacl": {"nacl"},
}
# Changed since 3.11.2 by fixes, mostly for security.
CHANGED: Final = {
    "email", "html.parser", "http.client", "http.cookies", "imaplib", "ipaddress", "ssl", "tarfile",
    "urllib.parse.urljoin", "urllib.parse.urlsplit", "xml", "zipfile",
}  # fmt: skip


def libraries() -> set[str]:
    """Return the import names of the libraries whose lowest version is not the locked one."""
    lowest, locked = requirements.versions("lowest"), requirements.versions("full")
    differing = [name for name, version in locked.items() if lowest.get(name, version) != version]
    return set[str]().union(*(IMPORTED.get(name, {name.replace("-", "_")}) for name in differing))


def imports(path: Path) -> Iterator[str]:
    """Yield the full names that a module imports."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def tests_of(module: str) -> list[Path]:
    """Return the unit tests of a module: its own file, or those that the table names."""
    folder, _, name = module.rpartition(".")
    own = UNIT / folder.replace(".", "/") / f"test_{name}.py"
    if own.exists():
        return [own]
    found: list[Path] = []
    for words in re.findall(r"(?:\w+/)*test_\w+", TESTED_ELSEWHERE.get(module, "")):
        paths = [path for path in UNIT.rglob("test_*.py") if f"/{path}".endswith(f"/{words}.py")]
        found += [path for path in paths if path.is_relative_to(own.parent)] or paths
    return found


def users() -> list[str]:
    """Return the modules that call such a library or part of Python."""
    names = tuple(f"{name}." for name in libraries() | CHANGED)
    return [
        module_of(path)
        for path in sorted(PACKAGE.rglob("*.py"))
        if any(f"{name}.".startswith(names) for name in imports(path))
    ]


if __name__ == "__main__":
    paths = {path for name in (*users(), *TESTS_OF_RULES) for path in tests_of(name)}
    print(*sorted(path.relative_to(ROOT) for path in paths))

"""The project's rules, held as data: who may know whom, what must be tested, what is too large.

A rule that stands in the way is changed here, with its reason in the commit; it is not bypassed.
That each setting stands in config/commentsvc.toml is checked in tests/unit/test_config.py.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "commentsvc"
CORE = ROOT / "core"
STATIC = ROOT / "static"

# A module imports only from floors below its own, so there are no circles.
FLOORS: tuple[frozenset[str], ...] = (
    frozenset(
        {
            "__init__",
            "advice",
            "allowed",
            "configread",
            "descriptors",
            "doctor",
            "forms",
            "languages",
            "logs",
            "manager",
            "markup",
            "metrics",
            "models",
            "moments",
            "network",
            "remote",
            "steps",
            "stopping",
            "templating",
            "tokens",
            "totp",
            "trace",
        }
    ),
    frozenset(
        {"cursor", "decisions", "derived", "passwords", "ratelimit", "spam", "sqlite", "statements"}
    )
    | {"chart", "faults", "outgoing", "settings"},
    frozenset({"audit", "config", "datadir", "feed", "items", "jobs", "lock", "moderators"})
    | {"delivery", "links", "posting", "verdicts"},
    frozenset(
        {"auth", "factors", "lessons", "sessions", "smtp", "submission", "subscribing", "urls"}
    ),
    frozenset({"adding"}),
    frozenset({"bayes", "duplicates", "rules", "stamps", "work"}),
    frozenset({"bans"}),
    frozenset({"comments", "migrations", "moderation", "threads", "web", "writer"}),
    frozenset({"backup", "owned"}),
    frozenset({"privacy", "revising", "schemas", "voting"}),
    frozenset({"database", "hooks", "mail", "orders", "pages", "review", "search", "throttle"}),
    frozenset({"akismet", "backups", "cards", "school"}),
    frozenset({"standing"}),
    frozenset({"layers"}),
    frozenset({"channels", "control", "intake", "openapi", "outbox", "router"}),
    frozenset(
        {"api", "avatars", "console", "embed", "gate", "handover", "linkpages", "live", "ops"}
    )
    | {"checkup", "readers"},
    frozenset({"frame", "ownpages", "signin", "stacosys"}),
    frozenset({"account", "dashboard", "factorpages", "reviewing"}),
    frozenset({"banpages", "commentpage", "outboxpages", "threadpages"}),
    frozenset({"chores", "desk"}),
    frozenset({"server"}),
    frozenset({"redirect"}),
    frozenset({"app"}),
    frozenset({"aliases"}),
    frozenset({"commands", "reload"}),
    frozenset(
        {
            "backup_verbs",
            "ban_verbs",
            "doctor_verbs",
            "mail_verbs",
            "privacy_verbs",
            "staff",
            "thread_verbs",
            "verbs",
        }
    ),
    frozenset({"cli"}),
    frozenset({"__main__"}),
)

# The only modules that may import these, by whatever name.
ONLY_IMPORTERS: dict[str, frozenset[str]] = {
    "commentsvc._core": frozenset({"server"}),
}

# Modules without a test file of their own, and where they are tested instead.
TESTED_ELSEWHERE: dict[str, str] = {
    "__init__": "it holds nothing",
    "__main__": "tests/e2e: the program is started as `python -m commentsvc`",
    "allowed": "test_config: each value in and out of its bounds, as the setting that it is",
    "delivery": "test_smtp and test_outbox: what each failure means, and what is done about it",
    "outgoing": "test_migrations holds the tables, test_posting what is done with them",
    "steps": "test_migrations: each from the schema before it, and none of them edited",
    "templating": "test_embed and test_mail: all that is written by templates",
    "advice": "tests/proxy/test_doctor.py: the line is told for each fault",
    "doctor_verbs": "tests/proxy/test_doctor.py",
    "stopping": "tests/e2e/test_start_stop.py: signals are sent to a process of its own",
    "app": "tests/e2e: the composed program is only itself as a whole",
    "settings": "test_config: each value in and out of its bounds",
    "server": "tests/wire: the Bridge needs the core and a socket",
}
CORE_TESTED_ELSEWHERE: dict[str, str] = {
    "python/module": "tests/wire: it needs Python",
    "python/request_object": "tests/wire: it needs Python",
    "python/server_object": "tests/wire: it needs Python",
    "http/scan_any": "tests/core/http/test_scan.c, where it is the one in use",
    "http/scan_x86": "tests/core/http/test_scan.c, which runs all that the processor can",
}

# The folders of the core, and which others each of them may include.
CORE_FOLDERS: dict[str, frozenset[str]] = {
    "base": frozenset(),
    "http": frozenset({"base"}),
    "seam": frozenset({"base", "http"}),
    "cache": frozenset({"base", "http", "seam"}),
    "sse": frozenset({"base", "http", "seam"}),
    "io": frozenset({"base", "http"}),
    "server": frozenset({"base", "http", "seam", "cache", "sse", "io"}),
    "python": frozenset({"base", "http", "seam", "cache", "sse", "server"}),
}

# The core knows HTTP, bytes, keys and tags. These words would be ours or of another format.
FOREIGN_TO_CORE = re.compile(
    r"\b(authors?|blogs?|comments?|html|json|markdown|moderat\w+|peewee|sites?|sql(ite)?\w*"
    r"|submissions?|verdicts?|widgets?)\b",
    re.IGNORECASE,
)

# Lines; a part that wants twice its budget has a design fault, not a budget fault.
PYTHON_FILE, PYTHON_TEST_FILE, PYTHON_FUNCTION = 300, 400, 40
C_LINE = 100
JS_FILE = 180


def python_files(*folders: Path) -> list[Path]:
    return sorted(path for folder in folders for path in folder.rglob("*.py"))


def imports(path: Path) -> Iterator[str]:
    """The full names that the module at `path` imports, those for type checkers too."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}:{node.lineno}: imports are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def own_imports(path: Path) -> set[str]:
    """The modules of the package that the module at `path` imports."""
    found = set()
    for name in imports(path):
        first, *rest = name.split(".")
        if first == "commentsvc":
            found.add(rest[0] if rest else "__init__")
    return found


def lines_of(path: Path) -> int:
    return path.read_text().count("\n")


def over(budget: int, sizes: dict[str, int]) -> dict[str, int]:
    return {name: size for name, size in sizes.items() if size > budget}


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_every_module_stands_on_one_floor() -> None:
    standing = sorted(name for floor in FLOORS for name in floor)
    modules = {path.stem for path in PACKAGE.glob("*.py")}
    assert len(standing) == len(set(standing))
    assert modules <= set(standing), "add the new module to FLOORS"


def test_imports_go_downward_only() -> None:
    floor_of = {name: number for number, floor in enumerate(FLOORS) for name in floor}
    wrong = [
        f"{path.stem} (floor {floor_of[path.stem]}) imports {name} (floor {floor_of[name]})"
        for path in PACKAGE.glob("*.py")
        for name in own_imports(path)
        if name in floor_of and name != "__init__" and floor_of[name] >= floor_of[path.stem]
    ]
    assert not wrong


@pytest.mark.parametrize("name", ONLY_IMPORTERS)
def test_a_guarded_module_is_imported_only_where_it_may_be(name: str) -> None:
    importers = {
        path.stem
        for path in python_files(PACKAGE)
        for imported in imports(path)
        if f"{imported}.".startswith(f"{name}.")
    }
    assert importers <= ONLY_IMPORTERS[name]


def test_only_config_reads_the_environment() -> None:
    readers = {
        path.stem
        for path in PACKAGE.glob("*.py")
        if re.search(r"\bos\.(environ|getenv)\b", path.read_text())
    }
    assert readers <= {"config"}


def core_includes() -> dict[str, set[str]]:
    """What each module of the core includes: a header and its source are one module."""
    found: dict[str, set[str]] = {}
    for path in CORE.glob("*/*.[ch]"):
        module = f"{path.parent.name}/{path.stem}"
        names = re.findall(r'^#include "(.*)\.h"', path.read_text(), re.MULTILINE)
        found.setdefault(module, set()).update(name for name in names if name != module)
    return found


def test_the_folders_of_the_core_include_only_what_they_may() -> None:
    modules = core_includes()
    assert {module.split("/")[0] for module in modules} == set(CORE_FOLDERS)
    wrong = [
        f"{module} includes {name}"
        for module, names in modules.items()
        for folder, name in ((module.split("/")[0], name) for name in names)
        if name.split("/")[0] not in {folder, *CORE_FOLDERS[folder]}
    ]
    assert not wrong


def test_the_modules_of_the_core_include_one_another_in_no_circle() -> None:
    try:
        TopologicalSorter(core_includes()).prepare()
    except CycleError as error:
        pytest.fail(f"a circle of includes: {' -> '.join(error.args[1])}")


def test_only_the_python_folder_of_the_core_includes_python() -> None:
    including = {
        path.parent.name for path in CORE.glob("*/*.[ch]") if "Python.h" in path.read_text()
    }
    assert including == {"python"}


def test_the_core_has_no_word_of_ours() -> None:
    found = [
        f"{relative(path)}:{number}: {match.group()}"
        for path in sorted(CORE.glob("*/*.[ch]"))
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if (match := FOREIGN_TO_CORE.search(line))
    ]
    assert not found


def test_every_module_has_its_test_file() -> None:
    tested = {path.stem.removeprefix("test_") for path in (ROOT / "tests/unit").glob("test_*.py")}
    modules = {path.stem for path in PACKAGE.glob("*.py")}
    assert modules - tested <= set(TESTED_ELSEWHERE)
    assert tested - modules == set(), "a test file has lost its module"


def test_every_c_file_has_its_test_and_meson_knows_it() -> None:
    paths = (ROOT / "tests/core").glob("*/test_*.c")
    tests = {f"{path.parent.name}/{path.stem.removeprefix('test_')}" for path in paths}
    build = (ROOT / "tests/core/meson.build").read_text()
    known = re.findall(r"^  '([\w/]+)'", build, re.MULTILINE)
    files = {f"{path.parent.name}/{path.stem}" for path in CORE.glob("*/*.c")}
    assert files - tests <= set(CORE_TESTED_ELSEWHERE)
    assert set(known) == tests, "c_tests in tests/core/meson.build and the files differ"


def test_no_folder_of_tests_is_forgotten() -> None:
    tests = [*(ROOT / "tests").glob("*/test_*.py"), *(ROOT / "tests").glob("*/*/test_*.c")]
    folders = {path.relative_to(ROOT / "tests").parts[0] for path in tests}
    parts = re.search(r"^    ''\) set -- (.*) ;;$", (ROOT / "test").read_text(), re.MULTILINE)
    assert parts
    assert folders <= set(parts[1].split())


def test_the_tables_in_the_readme_are_the_routes() -> None:
    """The route of `serve --blog` is left out: it answers whatever the folder holds."""
    routes = {
        constant.value
        for path in PACKAGE.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef) and node.name == "routes"
        for constant in ast.walk(node)
        if isinstance(constant, ast.Constant) and str(constant.value).startswith("/")
    } - {"/{path}"}
    rows = re.findall(r"^\| (`[A-Z]+ /.*?) \|", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert {path for row in rows for path in re.findall(r"`[A-Z]+ (/[^?`]*)", row)} == routes


def test_python_files_keep_their_budget() -> None:
    files = python_files(PACKAGE, ROOT / "loadtest")
    assert not over(PYTHON_FILE, {relative(path): lines_of(path) for path in files})
    tests = python_files(ROOT / "tests")
    assert not over(PYTHON_TEST_FILE, {relative(path): lines_of(path) for path in tests})


def test_python_functions_keep_their_budget() -> None:
    """The docstring is not counted: a full contract costs nothing."""
    sizes = {}
    for path in python_files(PACKAGE, ROOT / "tests", ROOT / "loadtest"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                first = node.body[0]
                has_docstring = ast.get_docstring(node) is not None
                docstring = (first.end_lineno or 0) - first.lineno + 1 if has_docstring else 0
                size = (node.end_lineno or 0) - node.lineno + 1 - docstring
                sizes[f"{relative(path)}:{node.name}"] = size
    assert not over(PYTHON_FUNCTION, sizes)


def test_lines_of_c_keep_their_budget() -> None:
    """The formatter leaves comments as they were written."""
    files = [
        *CORE.glob("*/*.[ch]"),
        *(ROOT / "loadtest").rglob("*.[ch]"),
        *(ROOT / "tests").rglob("*.[ch]"),
    ]
    assert not over(
        C_LINE, {relative(path): max(map(len, path.read_text().splitlines())) for path in files}
    )


def test_scripts_keep_their_budget() -> None:
    scripts = sorted([*STATIC.glob("*.js"), *STATIC.glob("lang/*.js")])
    assert not over(JS_FILE, {relative(path): lines_of(path) for path in scripts})


# Imports the whole package and names the exceptions that are there, as an attribute, a default
# or in a closure.
KEPT_EXCEPTIONS = """
import gc, importlib, pkgutil, commentsvc
for module in pkgutil.walk_packages(commentsvc.__path__, "commentsvc."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
for found in gc.get_objects():
    if isinstance(found, BaseException):
        print(repr(found))
"""


def test_no_exception_is_made_by_an_import() -> None:
    """Each `raise` of the same one lengthens its traceback, whose frames hold the request."""
    words = (sys.executable, "-c", KEPT_EXCEPTIONS)
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == ""


def test_no_exception_that_is_kept_is_raised() -> None:
    """An error is made where it is raised, or was caught just before."""
    found = [
        f"{relative(path)}:{node.lineno}"
        for path in python_files(PACKAGE)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Raise)
        if (isinstance(node.exc, ast.Name) and node.exc.id.isupper())
        or (isinstance(node.exc, ast.Attribute) and not node.exc.attr[0].isupper())
        or (isinstance(node.exc, ast.Attribute) and node.exc.attr.isupper())
    ]
    assert not found


def test_an_ignored_type_error_has_its_reason_on_the_line() -> None:
    found = [
        f"{relative(path)}:{number}"
        for path in python_files(PACKAGE)
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if re.search(r"# type: ignore(?!\[[\w, -]+\]\s*# \w)", line)
    ]
    assert not found

"""The installed packages are those of config/requirements, for everything in pyproject.toml."""

import re
import tomllib
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from tests import lowest, requirements

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
# The group `unit` is a part of `test` and of what is locked as `lowest`.
DATED = {"certifi"}  # its versions are dates, and the newest authorities are the right ones
BUILDERS = {"babel", "meson", "meson-python"}  # what we build with is pinned in the group `build`
GROUPS = [name for name in PROJECT["dependency-groups"] if name != "unit"]
NAMES = ("runtime", "postgres", "full", *GROUPS)


def asked_for(name: str) -> list[Requirement]:
    """Return what pyproject.toml asks for under this name, with what it includes."""
    runtime = PROJECT["project"]["dependencies"]
    extras = PROJECT["project"]["optional-dependencies"]
    groups = {
        **PROJECT["dependency-groups"],
        "runtime": runtime,
        "postgres": runtime + extras["postgres"],
        "full": [*runtime, *chain(*extras.values())],
    }
    return [
        requirement
        for entry in groups[name]
        for requirement in (
            [Requirement(entry)] if isinstance(entry, str) else asked_for(entry["include-group"])
        )
    ]


def test_each_group_has_its_lock_file() -> None:
    assert {path.stem for path in requirements.FOLDER.iterdir()} == {*NAMES, "lowest"}


@pytest.mark.parametrize("name", NAMES)
def test_what_pyproject_asks_for_is_locked(name: str) -> None:
    locked = requirements.versions(name)
    for requirement in asked_for(name):
        assert requirement.name in locked, "run `make lock`"
        assert requirement.specifier.contains(locked[requirement.name]), "run `make lock`"


@pytest.mark.parametrize("name", [*NAMES, "lowest"])
def test_each_package_has_one_version_and_hashes_and_no_address(name: str) -> None:
    for requirement, hashes in requirements.entries(name):
        assert [specifier.operator for specifier in requirement.specifier] == ["=="]
        assert hashes, requirement
        assert requirement.url is None
    assert "//" not in (requirements.FOLDER / f"{name}.txt").read_text()


@pytest.mark.parametrize("name", NAMES)
def test_no_two_lock_files_differ_in_a_version(name: str) -> None:
    everything = requirements.versions("dev")
    assert requirements.versions(name).items() <= everything.items()


def with_bounds() -> list[Requirement]:
    """Return what pyproject.toml asks for with bounds: to run, in each extra, and to be built."""
    extras = PROJECT["project"]["optional-dependencies"].values()
    listed = [PROJECT["project"]["dependencies"], *extras, PROJECT["build-system"]["requires"]]
    return [Requirement(entry) for entries in listed for entry in entries]


@pytest.mark.parametrize("requirement", with_bounds(), ids=str)
def test_the_lowest_version_that_is_admitted_is_the_one_that_the_tests_run_with(
    requirement: Requirement,
) -> None:
    """`make lowest` installs config/requirements/lowest.txt, so a bound that is not true fails."""
    [bound] = [each for each in requirement.specifier if each.operator in (">=", "==")]
    locked = requirements.versions("lowest")[requirement.name]
    assert Version(locked) == Version(bound.version), "run `make lock`"


@pytest.mark.parametrize("requirement", with_bounds(), ids=str)
def test_a_next_major_version_that_nobody_has_tried_is_not_admitted(
    requirement: Requirement,
) -> None:
    if requirement.name in DATED | BUILDERS:
        return
    tried = Version(requirements.versions("dev")[requirement.name])
    following = f"{tried.major + 1}" if tried.major else f"0.{tried.minor + 1}"
    assert tried in requirement.specifier
    assert following not in requirement.specifier


def test_each_action_of_a_workflow_is_a_commit_with_its_version_beside_it() -> None:
    """A tag can be moved to other code; a commit cannot."""
    workflows = [path.read_text() for path in (ROOT / ".github/workflows").iterdir()]
    used = re.findall(r"^.*\buses:.*$", "\n".join(workflows), re.MULTILINE)
    pinned = re.compile(r" *(- )?uses: [\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
    assert len(used) > 3
    assert [line for line in used if not pinned.fullmatch(line)] == []


def test_the_release_has_a_wheel_for_each_python_that_is_promised() -> None:
    """It is for the Python that builds it and later ones; the packages are for those alone."""
    promised = re.findall(r"Python :: (3\.\d+)", " ".join(PROJECT["project"]["classifiers"]))
    workflow = (ROOT / ".github/workflows/release.yml").read_text()
    build = workflow.partition("rm -rf .venv\n")[2].partition("make dist\n")[0]
    assert re.findall(r'python-version: "(.*)"', build) == [promised[0]]
    core = (ROOT / "core/meson.build").read_text()
    assert re.findall(r"limited_api: '(.*)'", core) == [promised[0]]
    tree = (ROOT / "config/package/tree.py").read_text()
    packed = re.findall(r"^PYTHONS: Final = \((.*)\)$", tree, re.MULTILINE)[0]
    assert re.findall(r'"(3\.\d+)\.\d+"', packed) == promised
    manual = (ROOT / "docs/installing.md").read_text()
    assert f"for Python {promised[0]} and later." in manual
    assert f"for Python {promised[0]} to {promised[-1]}." in manual


def test_a_module_that_calls_a_library_is_tested_with_its_lowest_version() -> None:
    """The command of the doctor is tested with real proxies."""
    assert "peewee" in lowest.libraries()
    untested = {name for name in lowest.users() if not lowest.tests_of(name)}
    assert untested == {"cli.doctor.command"}

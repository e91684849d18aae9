"""The installed packages are those of config/requirements, for everything in pyproject.toml."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests import requirements

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
NAMES = ("runtime", "postgres", *PROJECT["dependency-groups"])


def asked_for(name: str) -> list[Requirement]:
    """Return what pyproject.toml asks for under this name, without included groups."""
    runtime = PROJECT["project"]["dependencies"]
    driver = PROJECT["project"]["optional-dependencies"]["postgres"]
    groups = {**PROJECT["dependency-groups"], "runtime": runtime, "postgres": runtime + driver}
    return [Requirement(entry) for entry in groups[name] if isinstance(entry, str)]


def test_each_group_has_its_lock_file() -> None:
    assert {path.stem for path in requirements.FOLDER.iterdir()} == {*NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_what_pyproject_asks_for_is_locked(name: str) -> None:
    locked = requirements.versions(name)
    for requirement in asked_for(name):
        assert requirement.name in locked, "run `make lock`"
        assert requirement.specifier.contains(locked[requirement.name]), "run `make lock`"


@pytest.mark.parametrize("name", NAMES)
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


def test_each_action_of_a_workflow_is_a_commit_with_its_version_beside_it() -> None:
    """A tag can be moved to other code; a commit cannot."""
    workflows = [path.read_text() for path in (ROOT / ".github/workflows").iterdir()]
    used = re.findall(r"^.*\buses:.*$", "\n".join(workflows), re.MULTILINE)
    pinned = re.compile(r" *(- )?uses: [\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
    assert len(used) > 3
    assert [line for line in used if not pinned.fullmatch(line)] == []


def test_the_release_has_a_wheel_for_each_python_that_is_promised() -> None:
    """Ubuntu 24.04, on which it is built, brings Python 3.12."""
    promised = re.findall(r"Python :: (3\.\d+)", " ".join(PROJECT["project"]["classifiers"]))
    workflow = (ROOT / ".github/workflows/release.yml").read_text()
    built = {"3.12", *re.findall(r"python(3\.\d+)", re.findall(r"make dist .*", workflow)[0])}
    assert built == {*promised}
    manual = (ROOT / "docs/installing.md").read_text()
    assert f"for Python {promised[0]} to {promised[-1]}." in manual

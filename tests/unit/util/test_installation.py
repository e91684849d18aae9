"""The command that installs an optional part is right for each way of installing commentsvc."""

import ast
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from commentsvc.util import installation
from commentsvc.util.installation import how_to_install

PACKAGE = Path(installation.__file__).parents[1]
Setting = Callable[..., None]


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Setting:
    """Pretend that commentsvc is installed in another way."""

    def pretend(*, prefix: Path, base: str = "/usr", pip: bool = True, mark: bool = False) -> None:
        monkeypatch.setattr(sys, "prefix", str(prefix))
        monkeypatch.setattr(sys, "base_prefix", base)
        monkeypatch.setattr(sys, "executable", f"{prefix}/bin/python3")
        monkeypatch.setattr(installation, "find_spec", lambda _name: object() if pip else None)
        if mark:
            (tmp_path / "mark").write_text("")
        monkeypatch.setattr(installation, "MARKS", (tmp_path / "mark",))

    return pretend


def environment(folder: Path) -> Path:
    """Make the file of a virtual environment that the command names."""
    (folder / "bin").mkdir(parents=True)
    (folder / "bin/pip").write_text("")
    return folder


def test_a_virtual_environment_is_named_by_its_own_pip(installed: Setting, tmp_path: Path) -> None:
    installed(prefix=environment(tmp_path / "env"))
    assert how_to_install("oidc") == f"{tmp_path}/env/bin/pip install 'commentsvc[oidc]'"


def test_an_environment_of_pipx_is_named_by_it(installed: Setting, tmp_path: Path) -> None:
    folder = environment(tmp_path / "commentsvc")
    (folder / "pipx_metadata.json").touch()
    installed(prefix=folder)
    assert how_to_install("oidc") == "pipx runpip commentsvc install 'commentsvc[oidc]'"


def test_an_address_with_a_space_is_quoted(installed: Setting, tmp_path: Path) -> None:
    installed(prefix=environment(tmp_path / "my env"))
    assert how_to_install("oidc") == f"'{tmp_path}/my env'/bin/pip install 'commentsvc[oidc]'"


@pytest.mark.parametrize(
    ("pip", "command"),
    [
        (True, "/opt/pipx/bin/python3 -m pip install"),
        (False, "uv pip install --python /opt/pipx/bin/python3"),
    ],
)
def test_an_environment_without_the_program_pip_is_named_by_its_python(
    installed: Setting, pip: bool, command: str
) -> None:
    installed(prefix=Path("/opt/pipx"), pip=pip)
    assert how_to_install("images") == f"{command} 'commentsvc[images]'"


def test_the_system_is_not_changed_by_another_pip(installed: Setting) -> None:
    installed(prefix=Path("/usr"))
    assert how_to_install("images") == "/usr/bin/python3 -m pip install 'commentsvc[images]'"


def test_a_container_gets_another_image(installed: Setting, tmp_path: Path) -> None:
    installed(prefix=Path("/opt/commentsvc"), pip=False, mark=True)
    assert how_to_install("postgres") == installation.BUILD
    installed(prefix=environment(tmp_path / "env"), mark=True)
    assert how_to_install("postgres").startswith(f"RUN {tmp_path}/env/bin/pip install ")


def test_the_command_runs_here() -> None:
    words = how_to_install("images").removeprefix("RUN ").partition(" 'commentsvc")[0].split()
    assert shutil.which(words[0]), words
    done = subprocess.run([*words, "--help"], capture_output=True, check=False)
    assert done.returncode == 0


def test_nothing_else_says_how_to_install() -> None:
    texts = {
        path.name: text
        for path in PACKAGE.rglob("*.py")
        if path.name != "installation.py"
        for node in ast.walk(ast.parse(path.read_text()))
        if "pip install" in (text := str(getattr(node, "value", "")))
    }
    assert texts == {}

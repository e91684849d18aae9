"""The published package: built without git, installed with the manual's commands, and run."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import urllib.request
import zipfile
from pathlib import Path

import pytest
from packaging.version import Version

from tests import requirements
from tests.e2e.program import ROOT, environment

pytestmark = pytest.mark.sqlite_only("it is about the package")

BUILD_PATIENCE = 240.0  # seconds, on a busy machine
PIP = ("PIP_DISABLE_PIP_VERSION_CHECK", "1")


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return what config/dist.sh makes of these sources when they are not a git clone."""
    copy = tmp_path_factory.mktemp("sources")
    for name in ("commentsvc", "config", "core", "docs", "po", "static"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ROOT.glob("[A-Za-z]*.*"):
        shutil.copy(file, copy)
    shutil.copy(ROOT / "LICENSE", copy)
    (copy / "config/bootstrap.sh").write_text("exit 0\n")
    (copy / "build").mkdir()
    typescript = ROOT / "build" / "typescript"
    typescript.mkdir(parents=True, exist_ok=True)
    (copy / "build" / "typescript").symlink_to(typescript)  # not to be fetched again
    (copy / ".venv").symlink_to(ROOT / ".venv")
    subprocess.run(["sh", copy / "config/dist.sh"], check=True, timeout=BUILD_PATIENCE)
    return copy / "dist"


def manual(heading: str) -> list[str]:
    """Return the lines of the first example under a heading of docs/installing.md."""
    text = (ROOT / "docs/installing.md").read_text()
    found = re.search(r"```sh\n(.*?)```", text.partition(f"# {heading}\n")[2], re.DOTALL)
    assert found
    return found[1].splitlines()


def test_the_source_archive_is_complete_and_the_wheel_runs_on_other_machines(
    published: Path,
) -> None:
    [source], [wheel] = published.glob("*.tar.gz"), published.glob("*.whl")
    [widget] = published.glob("commentsvc-*.tgz")
    with tarfile.open(widget) as archive:
        assert {"package/comments.js", "package/comments.d.ts"} <= {*archive.getnames()}
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"PKG-INFO", "pyproject.toml", "config/backend.py", "core/cache/cache.h"} <= names
    assert not [name for name in names if "__pycache__" in name]
    assert "manylinux" in wheel.name
    with zipfile.ZipFile(wheel) as packed:
        shared = {name.partition(".data/data/")[2] for name in packed.namelist()}
    assert {
        "share/bash-completion/completions/commentsvc",
        "share/zsh/site-functions/_commentsvc",
        "share/fish/vendor_completions.d/commentsvc.fish",
        "share/commentsvc/systemd/commentsvc.service",
        "share/commentsvc/proxy/nginx.conf",
        "share/commentsvc/hugo/layouts/partials/comments.html",
        "share/commentsvc/generators/comments.njk",
    } <= shared


def test_a_package_of_a_later_commit_has_a_later_version(tmp_path: Path) -> None:
    """Regression: `pip install --upgrade` did nothing, since each commit was 0.1.0."""
    (tmp_path / "config").mkdir()
    shutil.copy(ROOT / "config/version.sh", tmp_path / "config")
    (tmp_path / "pyproject.toml").write_text('version = "0.1.0"\n')

    def run(*words: str) -> str:
        done = subprocess.run(words, cwd=tmp_path, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def version() -> str:
        return run("sh", "config/version.sh")

    git = ("git", "-c", "user.name=a", "-c", "user.email=a@blog.example")
    commit = (*git, "commit", "--quiet", "--allow-empty", "--message=x")
    found = [version()]
    assert found == ["0.1.0"], "these are sources without git"
    run("git", "init", "--quiet")
    assert version() == "0.1.0", "there is no commit yet"
    run(*commit)
    found = [version()]
    run(*commit)
    found.append(version())
    run("git", "tag", "v0.1.0")
    found.append(version())
    run(*commit)
    found.append(version())
    assert found[2] == "0.1.0"
    assert [*map(Version, found)] == sorted({*map(Version, found)})
    commits = run("git", "rev-parse", "--short=8", "HEAD")
    assert found[3].endswith(f"+g{commits}")
    assert run("sh", "config/version.sh", "npm") == f"0.1.0+post.1.g{commits}"
    run("git", "tag", "--delete", "v0.1.0")
    assert run("sh", "config/version.sh", "npm") == f"0.1.0-dev.3+g{commits}"


def test_the_manuals_lines_install_and_serve_without_a_compiler(
    published: Path, tmp_path: Path
) -> None:
    programs, data = tmp_path / "bin", tmp_path / "comments"
    programs.mkdir()
    (programs / "python3").symlink_to(Path(sys.executable).resolve())
    (programs / "ln").symlink_to(shutil.which("ln") or "")
    [wheel] = published.glob("*.whl")
    pins = tmp_path / "pins.txt"
    pins.write_text("\n".join(str(one) for one, _ in requirements.entries("runtime")))
    quiet = f"pip install -q --only-binary :all: -c {pins} {wheel}"
    changes = {
        "pip install dist/commentsvc-*.whl": quiet,
        "/opt/commentsvc": str(tmp_path / "opt"),
        "/usr/local/bin/": f"{programs}/",
        "/srv/comments": str(data),
    }
    environ = {**environment({}), "PATH": str(programs), PIP[0]: PIP[1]}
    lines = "\n".join([*manual("As a Python package"), *manual("Without systemd")])
    for old, new in changes.items():
        assert old in lines
        lines = lines.replace(old, new)
    *before, serve = lines.splitlines()
    assert serve.startswith("commentsvc serve ")
    script = "\n".join(["set -e", *before])
    subprocess.run(["/bin/sh", "-c", script], env=environ, check=True, timeout=BUILD_PATIENCE)
    words = f"exec {serve.partition(' #')[0]} --listen 127.0.0.1:0"
    with subprocess.Popen(
        ["/bin/sh", "-c", words], env=environ, cwd=tmp_path, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().removeprefix("commentsvc listens on ").strip()
            with urllib.request.urlopen(f"{address}/api/comments/count?url=/a/") as answer:
                assert answer.read() == b'{"count":0}'
            with urllib.request.urlopen(f"{address}/static/comments.js") as answer:
                assert b"customElements" in answer.read()
        finally:
            process.terminate()
    assert process.returncode == 0
    completion = tmp_path / "opt/share/bash-completion/completions/commentsvc"
    asked = f"PATH={programs}:$PATH; . {completion}; complete -p commentsvc"
    listed = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, check=True)
    assert listed.stdout.startswith("complete ")


def test_settings_that_root_writes_are_the_services(tmp_path: Path) -> None:
    """The service runs as a user of its own, and the file may hold passwords."""
    if os.geteuid() != 0:
        pytest.skip("only root sets a service of somebody else up")
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    os.chown(data, 10_001, 10_001)
    words = [sys.executable, "-m", "commentsvc", "init", "--data", str(data)]
    subprocess.run(words, check=True, cwd=ROOT, env=environment({}))
    status = (data / "commentsvc.toml").stat()
    assert (status.st_uid, status.st_mode & 0o777) == (10_001, 0o600)

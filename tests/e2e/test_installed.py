"""What is published: made as a release is made, installed with the manual's lines, and run."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import urllib.request
import zipfile
from pathlib import Path
from typing import NamedTuple

import pytest
from packaging.version import Version

from tests import requirements
from tests.bare.system import copy_sources
from tests.e2e.program import ROOT, environment

pytestmark = pytest.mark.sqlite_only("it is about the package")

BUILD_PATIENCE = 600.0  # seconds, on a busy machine
PIP = ("PIP_DISABLE_PIP_VERSION_CHECK", "1")


def git(folder: Path, *words: str) -> str:
    """Run a command of git in a folder; return what it prints."""
    who = ("-c", "user.name=a", "-c", "user.email=a@blog.example")
    done = subprocess.run(
        ["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def release(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run config/release.sh in a folder."""
    words = [
        "sh",
        "config/release.sh",
        "--without-packages",
    ]  # tests/bare/test_package.py has those
    return subprocess.run(
        words, cwd=folder, capture_output=True, text=True, check=False, timeout=BUILD_PATIENCE
    )


class Release(NamedTuple):
    """What config/release.sh made, in a folder, and said."""

    folder: Path
    said: str


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Release:
    """Return the release 1.0.0 of these sources, made in a clone that has its tag."""
    clone = tmp_path_factory.mktemp("sources")
    copy_sources(clone)
    changes = clone / "CHANGELOG.md"
    changes.write_text(changes.read_text().replace("## Unreleased", "## 1.0.0 (2026-12-24)"))
    (clone / "config/bootstrap.sh").write_text("exit 0\n")
    git(clone, "add", "--all")
    git(clone, "commit", "--quiet", "--message=x")
    git(clone, "tag", "v1.0.0")
    (clone / "build").mkdir()
    typescript = ROOT / "build" / "typescript"
    typescript.mkdir(parents=True, exist_ok=True)
    (clone / "build" / "typescript").symlink_to(typescript)  # not to be fetched again
    (clone / ".venv").symlink_to(ROOT / ".venv")
    done = release(clone)
    assert done.returncode == 0, done.stderr
    assert git(clone, "status", "--porcelain") == ""
    return Release(clone / "dist", done.stdout)


@pytest.fixture(scope="module")
def published(released: Release) -> Path:
    """Return the folder with what is published of the release."""
    return released.folder


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


def test_a_release_has_its_version_everywhere_and_says_how_it_is_published(
    released: Release,
) -> None:
    folder = released.folder
    names = {path.name for path in folder.iterdir()}
    assert names >= {"commentsvc-1.0.0.tar.gz", "commentsvc-1.0.0.tgz", "SHA256SUMS"}
    [wheel] = folder.glob("*.whl")
    assert wheel.name.startswith("commentsvc-1.0.0-")
    with zipfile.ZipFile(wheel) as packed, packed.open("commentsvc/locale/catalogues.zip") as file:
        catalogues = zipfile.ZipFile(file)
        assert len({one.date_time for one in catalogues.infolist()}) == 1
        assert b"POT-Creation-Date: 1970-01-01" in catalogues.read("de.mo"), "not that of a build"
    subprocess.run(["sha256sum", "--strict", "--quiet", "-c", "SHA256SUMS"], cwd=folder, check=True)
    listed = {line.split()[1] for line in (folder / "SHA256SUMS").read_text().splitlines()}
    assert listed == names - {"SHA256SUMS"}
    notes = (folder / "release-notes.md").read_text()
    assert "### For readers" in notes
    assert "## 1.0.0" not in notes
    contents = json.loads((folder / "sbom.cdx.json").read_text())
    component = contents["metadata"]["component"]
    assert (component["name"], component["version"]) == ("commentsvc", "1.0.0")
    assert {one["name"] for one in contents["components"]} == {*requirements.versions("full")}
    _, _, commands = released.said.partition("These commands publish 1.0.0:\n")
    assert "git push origin v1.0.0\n" in commands
    for name in re.findall(r"dist/\S+", commands):
        assert list(folder.parent.glob(name.rstrip("."))), name


def test_a_release_is_made_only_of_a_commit_with_its_tag_and_notes(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    for name in ("config/release.sh", "config/version.sh", "config/VERSION", "CHANGELOG.md"):
        shutil.copy(ROOT / name, tmp_path / name)

    def refusal() -> str:
        done = release(tmp_path)
        assert (done.returncode, done.stdout) == (1, "")
        return done.stderr.removeprefix("commentsvc: no release is made: ")

    assert refusal().startswith("this is no clone")
    git(tmp_path, "init", "--quiet")
    assert refusal().startswith("these files differ from the commit; commit or remove them:\n??")
    git(tmp_path, "add", "--all")
    git(tmp_path, "commit", "--quiet", "--message=x")
    assert refusal().startswith("the commit has no tag and would be 1.0.0.dev1+g")
    git(tmp_path, "tag", "v1.2.0")
    assert refusal().startswith("CHANGELOG.md has no section '## 1.2.0'")


def test_a_package_of_a_later_commit_has_a_later_version(tmp_path: Path) -> None:
    """Regression: `pip install --upgrade` did nothing, since each commit was 0.1.0."""
    (tmp_path / "config").mkdir()
    for name in ("config/version.sh", "config/VERSION", ".gitattributes"):
        shutil.copy(ROOT / name, tmp_path / name)

    def version(*words: str, folder: Path = tmp_path) -> str:
        script = ["sh", str(folder / "config/version.sh"), *words]
        return subprocess.run(script, check=True, capture_output=True, text=True).stdout.strip()

    def commit() -> str:
        git(tmp_path, "commit", "--quiet", "--allow-empty", "--message=x")
        return git(tmp_path, "rev-parse", "--short=8", "HEAD")

    found = [version()]
    git(tmp_path, "init", "--quiet")
    assert found == [version()] == ["1.0.0.dev0"], "these are sources without a commit"
    git(tmp_path, "add", "--all")
    for number in (1, 2):
        last = commit()
        found.append(version())
        assert found[-1] == f"1.0.0.dev{number}+g{last}"
    git(tmp_path, "tag", "v1.0.0")
    git(tmp_path, "tag", "v1.0.0rc1")  # only these have a meaning
    git(tmp_path, "tag", "v9")
    found.append(version())
    assert (found[-1], version("npm")) == ("1.0.0", "1.0.0")
    last = commit()
    found.append(version())
    assert (found[-1], version("npm")) == (f"1.0.1.dev1+g{last}", f"1.0.1-dev.1+g{last}")
    git(tmp_path, "tag", "v1.1.0")
    found.append(version())
    assert [*map(Version, found)] == sorted({*map(Version, found)})


def test_an_archive_of_git_has_the_version_of_its_commit(tmp_path: Path) -> None:
    """As forges make it for each tag."""
    (tmp_path / "clone/config").mkdir(parents=True)
    for name in ("config/version.sh", "config/VERSION", ".gitattributes"):
        shutil.copy(ROOT / name, tmp_path / "clone" / name)
    clone = tmp_path / "clone"
    git(clone, "init", "--quiet")
    git(clone, "add", "--all")
    found = []
    for tag in ("v1.0.0", "v1.2.3", ""):
        git(clone, "commit", "--quiet", "--allow-empty", "--message=x")
        if tag:
            git(clone, "tag", tag)
        git(clone, "archive", f"--prefix={tag}/", "--output=../a.tar", "HEAD")
        subprocess.run(["tar", "-C", tmp_path, "-xf", tmp_path / "a.tar"], check=True)
        script = ["sh", str(tmp_path / tag / "config/version.sh")]
        done = subprocess.run(script, capture_output=True, text=True, check=True)
        found.append(done.stdout.strip())
    last = git(clone, "rev-parse", "--short=8", "HEAD")
    assert found == ["1.0.0", "1.2.3", f"1.2.4.dev1+g{last}"]


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

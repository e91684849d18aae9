"""Other revisions, each installed in a folder of its own, with or without what it needs."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from loadtest.harness.programs import BUILD, ROOT, ProgramError

PROGRAM = ROOT / ".venv" / "bin" / "commentsvc"  # of the files as they are now
REVISIONS = BUILD / "revisions"
PACKAGES = BUILD / "packages"


def find(revision: str) -> tuple[str, Path]:
    """Return the commit and the program of a git revision, which is built if necessary.

    "" is the working tree. A path to a program is used as it is. Raise ProgramError.
    """
    if not revision:
        return "working tree", PROGRAM
    if Path(revision).is_file():
        return revision, Path(revision).absolute()
    commit = _commit(revision)
    return commit, _build(commit)


def package(revision: str) -> Path:
    """Return a folder with the package of a git revision, which is built if necessary.

    "" is the working tree. It is for this Python and the libraries of .venv. Raise ProgramError.
    """
    folder = PACKAGES / (_commit(revision)[:12] if revision else "working-tree")
    if revision and folder.exists():
        return folder
    sources, made = ROOT, folder.with_suffix(".made")
    if revision:
        sources = folder.with_suffix(".sources")
        _unpack(_commit(revision), sources)
    shutil.rmtree(made, ignore_errors=True)
    tools = f"PATH={Path(sys.executable).parent}:{os.environ['PATH']}"
    words = ["env", tools, sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    _run(*words, "--no-build-isolation", f"--target={made}", str(sources))
    shutil.rmtree(folder, ignore_errors=True)
    return made.rename(folder)


def _commit(revision: str) -> str:
    return _run("git", "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}").strip()


def _unpack(commit: str, folder: Path) -> None:
    """Unpack the sources of a commit."""
    folder.mkdir(parents=True, exist_ok=True)
    archive = folder.with_suffix(".tar")
    _run("git", "archive", f"--output={archive}", commit)
    _run("tar", "-xf", str(archive), "-C", str(folder))
    archive.unlink()


def _build(commit: str) -> Path:
    folder = REVISIONS / commit[:12]
    program, stamp = folder / ".venv" / "bin" / "commentsvc", folder / "build" / "complete"
    if not stamp.exists():
        _unpack(commit, folder)
        _run("sh", "config/bootstrap.sh", cwd=folder)
        stamp.parent.mkdir(exist_ok=True)
        _install(folder)
        stamp.touch()
    return program


def _install(folder: Path) -> None:
    # As users have it. The editable package that bootstrap.sh has made starts more slowly: it looks
    # for each module in the sources, and writes no bytecode.
    tools = folder / ".venv/bin"
    words = ["env", f"PATH={tools}:{os.environ['PATH']}", str(tools / "python"), "-m", "pip"]
    words += ["install", "--quiet", "--no-deps", "--no-build-isolation", "--force-reinstall", "."]
    _run(*words, cwd=folder)


def _run(*words: str, cwd: Path = ROOT) -> str:
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr or done.stdout).strip()[-500:]
        raise ProgramError(f"{' '.join(words)} failed: {said or 'it said nothing'}")
    return done.stdout

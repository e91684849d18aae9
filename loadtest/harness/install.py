"""Other revisions, each installed in a folder and a virtual environment of its own."""

import os
import subprocess
from pathlib import Path

from loadtest.harness.programs import BUILD, ROOT, ProgramError

PROGRAM = ROOT / ".venv" / "bin" / "commentsvc"  # of the files as they are now
REVISIONS = BUILD / "revisions"


def find(revision: str) -> tuple[str, Path]:
    """Return the commit and the program of a git revision, which is built if necessary.

    "" is the working tree. A path to a program is used as it is. Raise ProgramError.
    """
    if not revision:
        return "working tree", PROGRAM
    if Path(revision).is_file():
        return revision, Path(revision).absolute()
    commit = _run("git", "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}").strip()
    return commit, _build(commit)


def _build(commit: str) -> Path:
    folder = REVISIONS / commit[:12]
    program, stamp = folder / ".venv" / "bin" / "commentsvc", folder / "build" / "complete"
    if not stamp.exists():
        folder.mkdir(parents=True, exist_ok=True)
        archive = folder.with_suffix(".tar")
        _run("git", "archive", f"--output={archive}", commit)
        _run("tar", "-xf", str(archive), "-C", str(folder))
        archive.unlink()
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

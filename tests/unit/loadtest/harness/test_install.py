"""loadtest/harness/install.py: which program a revision is."""

from pathlib import Path

import pytest

from loadtest.harness import install
from loadtest.harness.programs import ProgramError


def test_without_a_revision_the_working_tree_is_meant() -> None:
    assert install.find("") == ("working tree", install.PROGRAM)


def test_a_program_is_taken_as_it_is(tmp_path: Path) -> None:
    program = tmp_path / "commentsvc"
    program.touch()
    assert install.find(str(program)) == (str(program), program)


def test_an_unknown_revision_is_an_error() -> None:
    with pytest.raises(ProgramError, match="git rev-parse"):
        install.find("no-such-revision")


def test_a_revision_is_built_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install, "REVISIONS", tmp_path)
    ran: list[tuple[str, ...]] = []

    def run(*words: str, cwd: Path = tmp_path) -> str:
        ran.append(words)
        if words[:2] == ("git", "archive"):
            Path(words[2].removeprefix("--output=")).touch()
        return f"{'a' * 40}\n"

    monkeypatch.setattr(install, "_run", run)
    for _ in range(2):
        program = tmp_path / ("a" * 12) / ".venv" / "bin" / "commentsvc"
        assert install.find("HEAD") == ("a" * 40, program)
    assert [words[0] for words in ran] == ["git", "git", "tar", "sh", "git"]

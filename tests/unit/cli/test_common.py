"""How all commands report errors."""

import gc
import io
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from commentsvc import app
from commentsvc.cli import main
from commentsvc.cli.common import progress
from commentsvc.db.sqlite import DatabaseUnusable
from commentsvc.runtime import control
from commentsvc.settings import data_dir

ROOT = Path(__file__).parents[3]


def serve(data: Path) -> Result:
    return CliRunner().invoke(main.main, ["serve", "--data", str(data)])


def failing(error: Exception) -> Callable[..., None]:
    def run(*_words: object, **_options: object) -> None:
        raise error

    return run


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (OSError(98, "Address already in use", "127.0.0.1:1"), "127.0.0.1:1: Address already in"),
        (OSError(28, "No space left on device"), "No space left on device."),
        (DatabaseUnusable("the database is damaged"), "the database is damaged"),
        (data_dir.DataUnusable("/x cannot be written.\nRun: chown"), "/x cannot be written. Run:"),
        (control.ControlError("no"), "no"),
    ],
)
def test_an_expected_error_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, line: str
) -> None:
    monkeypatch.setattr(app, "run", failing(error))
    result = serve(tmp_path)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"commentsvc: {line}")
    assert result.stderr.count("\n") == 1
    assert gc.isenabled()  # as it was before, although a start goes on without it


def test_colours_are_for_terminals_and_may_be_switched_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told(**environ: str) -> str:
        words = ["serve", "--data", str(tmp_path / "none")]
        return CliRunner().invoke(main.main, words, color=True, env=environ).stderr

    monkeypatch.delenv("NO_COLOR", raising=False)
    assert told().startswith("\x1b[31mcommentsvc:\x1b[0m There is no folder")
    assert "\x1b" not in told(NO_COLOR="1")
    assert "\x1b" not in serve(tmp_path / "none").stderr


class Terminal(io.StringIO):
    """A text stream that says that it is a terminal."""

    def isatty(self) -> bool:
        """Return True."""
        return True


@pytest.mark.parametrize(("stream", "shown"), [(Terminal(), True), (io.StringIO(), False)])
def test_progress_is_shown_on_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, shown: bool
) -> None:
    monkeypatch.setattr(sys, "stderr", stream)
    with progress("copying") as told:
        for share in (0.1, 0.5, 1.0):
            told(share)
    assert ("copying" in stream.getvalue() and "100%" in stream.getvalue()) is shown
    assert bool(stream.getvalue()) is shown


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--version"], 0),
        (["check", "--data", "{}"], 1),  # it found a problem
        (["healthcheck", "--data", "{}"], 1),
        (["approve"], 2),
        (["no-such-command"], 2),
    ],
)
def test_exit_codes_are_those_of_the_manual(tmp_path: Path, words: list[str], code: int) -> None:
    words = [word.format(tmp_path) for word in words]
    assert CliRunner(env={"COMMENTSVC_DATA": None}).invoke(main.main, words).exit_code == code
    manual = (ROOT / "docs/operating.md").read_text()
    assert f"\n| {code} | " in manual.partition("## Exit codes")[2].partition("\n## ")[0]


def test_an_error_that_nobody_foresaw_is_not_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "run", failing(ZeroDivisionError()))
    assert isinstance(serve(tmp_path).exception, ZeroDivisionError)

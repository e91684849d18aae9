"""What all commands share: how a failure is told."""

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from commentsvc import app
from commentsvc.cli import main
from commentsvc.db.sqlite import DatabaseUnusable
from commentsvc.runtime import control
from commentsvc.settings import data_dir


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


def test_an_error_that_nobody_foresaw_is_not_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "run", failing(ZeroDivisionError()))
    assert isinstance(serve(tmp_path).exception, ZeroDivisionError)

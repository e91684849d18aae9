"""The command that forgets: it asks first, and says what it erased."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from commentsvc.cli import client, main
from commentsvc.runtime.control_commands import CommandResult, ErasePerson, Order


def run(data: Path, *words: str, answer: str = "") -> Result:
    return CliRunner().invoke(main.main, ["forget", "--data", str(data), *words], input=answer)


def test_an_address_is_forgotten_after_a_yes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Order] = []

    def write(_data: Path, order: Order) -> CommandResult:
        asked.append(order)
        return CommandResult((3, 5))

    monkeypatch.setattr(client, "write", write)
    assert run(tmp_path, "ann@mail.example", answer="n\n").exit_code == 1
    assert run(tmp_path, "Ann").exit_code == 1
    assert run(tmp_path, "Ann", "--yes").exit_code == 2
    assert asked == []
    assert run(tmp_path, " ann@mail.example", "--yes").output == "erased 3\nerased 5\n"
    assert asked == [ErasePerson(email="ann@mail.example")]


def test_that_there_was_nothing_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "write", lambda _data, _order: CommandResult())
    assert run(tmp_path, "a@b.example", "--yes").output == "no comment has this address\n"

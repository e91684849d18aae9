"""The commands for bans: the orders that they send, and their output."""

import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from commentsvc.cli import client, main
from commentsvc.runtime.control_commands import AddBan, CommandResult, Order, RemoveBan
from commentsvc.spam.bans import Ban as Listed


def run(data: Path, verb: str, *words: object) -> Result:
    return CliRunner().invoke(main.main, ["ban", verb, "--data", str(data), *map(str, words)])


def test_a_ban_is_ordered_for_good_or_for_days(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Order] = []

    def write(_data: Path, order: Order) -> CommandResult:
        asked.append(order)
        return CommandResult((7,))

    monkeypatch.setattr(client, "write", write)
    monkeypatch.setattr(time, "time_ns", lambda: 10**15)
    assert run(tmp_path, "add", "author", "Eve").output == "ban 7 is set\n"
    assert run(tmp_path, "add", "word", "tea", "--days", 2).output == "ban 7 is set\n"
    assert run(tmp_path, "remove", 7).output == "ban 7 is lifted\n"
    assert asked == [
        AddBan(kind="author", value="Eve"),
        AddBan(kind="word", value="tea", expires=10**9 + 2 * 86_400_000),
        RemoveBan(id=7),
    ]


@pytest.mark.parametrize("words", [["add", "ip", "x"], ["add", "word"], ["remove", "0"],
                                   ["add", "word", "x", "--days", "0"]])  # fmt: skip
def test_a_wrong_line_is_told(tmp_path: Path, words: list[str]) -> None:
    assert run(tmp_path, *words).exit_code == 2


def test_the_list_has_a_line_for_each_ban(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "localtime", time.gmtime)
    listed = [
        Listed(2, "word", "tea\x1b", 0, "Mo", None),
        Listed(1, "author", "eve", 0, "Mo", 1_790_000_000_000),
    ]
    monkeypatch.setattr(client, "read", lambda *_: listed)
    assert run(tmp_path, "list").output == (
        "2  word    tea\ufffd  Mo  never\n1  author  eve   Mo  2026-09-21 14:13:20\n"
    )
    monkeypatch.setattr(client, "read", lambda *_: [])
    assert run(tmp_path, "list").output == "no bans\n"

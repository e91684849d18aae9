"""The commands that moderate comments: their arguments and their output."""

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from commentsvc.cli import client, main
from commentsvc.comments.search import SearchResult, find
from commentsvc.model import Entry
from commentsvc.moderation.history import HistoryEntry as Changed
from commentsvc.runtime.control_commands import (
    AnswerComment,
    ChangeStatus,
    CommandResult,
    EditText,
    ErasePerson,
    Order,
    UndoChange,
)
from tests.unit.database_fixture import COMMENT

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run such a command on a data folder, in this process."""

    def run(verb: str, *words: object, given: str = "") -> Result:
        arguments = [verb, "--data", str(tmp_path), *map(str, words)]
        return CliRunner().invoke(main.main, arguments, input=given)

    return run


def test_an_answer_is_read_from_the_standard_input(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Order] = []

    def write(_data: Path, order: Order) -> CommandResult:
        asked.append(order)
        return CommandResult((8,))

    monkeypatch.setattr(client, "write", write)
    assert (
        run("answer", 7, "--as", "mo", given=" *Yes*\n").output
        == "comment 7 is answered by comment 8\n"
    )
    assert run("answer", 7, given="Yes").exit_code == 0
    assert asked == [
        AnswerComment(id=7, message=" *Yes*", name="mo"),
        AnswerComment(id=7, message="Yes"),
    ]
    assert run("answer", 7, given=" \n").exit_code == 2


@pytest.mark.parametrize("verb", ["approve", "spam", "delete"])
@pytest.mark.parametrize("words", [[], ["1", "--all"], ["0"], ["x"], ["-1"], [2**63]])
def test_a_decision_wants_ids_or_all(run: Run, verb: str, words: list[object]) -> None:
    assert run(verb, *words).exit_code == 2


@pytest.mark.parametrize(
    ("words", "order", "answer", "output"),
    [
        (["approve", 3, 5], ChangeStatus(to="approved", ids=(3, 5)), CommandResult((3, 5)),
         "comment 3 is approved\ncomment 5 is approved\n"),
        (["spam", 3, 5], ChangeStatus(to="spam", ids=(3, 5)), CommandResult((5,), {3: "deleted"}),
         "comment 5 is spam\ncomment 3 is unchanged: it is deleted\n"),
        (
            ["delete", "--all"],
            ChangeStatus(to="deleted", all=True),
            CommandResult((1,)),
            "comment 1 is deleted\n",
        ),
        (["approve", "--all"], ChangeStatus(to="approved", all=True), CommandResult(),
         "no comments are pending\n"),
        (["undo"], UndoChange(), CommandResult((1, 2)),
         "comment 1: the last change is undone\ncomment 2: the last change is undone\n"),
        (["undo", 7, 8], UndoChange(ids=(7, 8)), CommandResult((8,), {7: "spam"}),
         "comment 8: the last change is undone\n"
         "comment 7 is unchanged: it has been changed again since, and is spam\n"),
    ],
)  # fmt: skip
def test_a_verb_says_what_became_of_each_comment(
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    words: list[object],
    order: Order,
    answer: CommandResult,
    output: str,
) -> None:
    asked: list[Order] = []

    def write(_data: Path, order: Order) -> CommandResult:
        asked.append(order)
        return answer

    monkeypatch.setattr(client, "write", write)
    result = run(*words)
    assert (result.exit_code, result.output) == (0, output)
    assert asked == [order]


def test_the_history_is_told_or_that_there_is_none(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    change = Changed(1, 1, 7, "status", "pending", "spam", 0, "Mo\x1b", None, None)
    monkeypatch.setattr(client, "read", lambda _data, _work, id_: [change] if id_ == 7 else [])
    assert run("history", 7).output.endswith("  pending -> spam  by Mo\N{REPLACEMENT CHARACTER}\n")
    assert run("history", 8).output == "comment 8 has never been changed\n"


def test_a_search_tells_what_it_found_and_what_it_did_not_search(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[object, ...]] = []

    def read(_data: Path, work: object, *words: object, **bounds: object) -> SearchResult:
        if work is find:
            asked.append((*words, *bounds.values()))
        return SearchResult(
            [Entry(COMMENT, "blog", "/post/", "")] if len(asked) == 1 else [], None, 3
        )

    monkeypatch.setattr(client, "read", read)
    result = run("search", "author:ann", "tea", "--status", "spam", "--limit", 7)
    assert "blog:/post/  Ann: Hi" in result.stdout
    assert result.stderr == "the newest 3 are not searchable yet\n"
    assert run("search", "tea", "--site", "blog").stdout == "no comments\n"
    assert asked == [
        ("author:ann tea", "spam", None, 7, None),
        ("tea", "", ["blog"], 50, None),
    ]
    assert run("search").exit_code == 2


def test_an_edit_reads_the_text_and_minds_its_bounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Order] = []

    def write(_data: Path, order: Order) -> CommandResult:
        asked.append(order)
        return CommandResult((7,) if len(asked) == 1 else ())

    def edit(text: str) -> Result:
        return CliRunner().invoke(main.main, ["edit", "--data", str(tmp_path), "7"], input=text)

    monkeypatch.setattr(client, "write", write)
    assert edit("*Better*\r\n\x00\n").output == "comment 7 has the new text\n"
    assert asked == [EditText(id=7, message="*Better*")]
    assert edit("*Better*").output == "comment 7 is unchanged: it already has this text\n"
    for text, reason in ((" \n", "Please write a comment"), ("x" * 8_001, "at most 8000")):
        result = edit(text)
        assert result.exit_code == 2
        assert reason in result.stderr


def forget(data: Path, *words: str, answer: str = "") -> Result:
    return CliRunner().invoke(main.main, ["forget", "--data", str(data), *words], input=answer)


def test_an_address_is_forgotten_after_a_yes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Order] = []

    def write(_data: Path, order: Order) -> CommandResult:
        asked.append(order)
        return CommandResult((3, 5))

    monkeypatch.setattr(client, "write", write)
    assert forget(tmp_path, "ann@mail.example", answer="n\n").exit_code == 1
    assert forget(tmp_path, "Ann").exit_code == 1
    assert forget(tmp_path, "Ann", "--yes").exit_code == 2
    assert asked == []
    assert (
        forget(tmp_path, " ann@mail.example", "--yes").output
        == "comment 3 is erased\ncomment 5 is erased\n"
    )
    assert asked == [ErasePerson(email="ann@mail.example")]


def test_that_there_was_nothing_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "write", lambda _data, _order: CommandResult())
    assert forget(tmp_path, "a@b.example", "--yes").output == "no comment has this email address\n"

"""The commands that moderate comments: their arguments and their output."""

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from commentsvc.auth import accounts
from commentsvc.cli import client, main, moderate, moderators
from commentsvc.comments import site_rows
from commentsvc.comments.search import SearchResult, find
from commentsvc.model import Entry
from commentsvc.moderation.history import HistoryEntry as Changed
from commentsvc.runtime.control_commands import (
    AnswerComment,
    ChangeStatus,
    CommandResult,
    CorrectLanguage,
    EditText,
    ErasePerson,
    Order,
    UndoChange,
)
from tests.unit.database_fixture import COMMENT, add, opened

Run = Callable[..., Result]
SITES = ("blog", "notes")


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
    monkeypatch.setattr(client, "read", lambda *_: None)
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


@pytest.mark.sqlite_only("it asks no database")
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
         "comment 1 is as before its last change\ncomment 2 is as before its last change\n"),
        (["undo", 7, 8], UndoChange(ids=(7, 8)), CommandResult((8,), {7: "spam"}),
         "comment 8 is as before its last change\n"
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


@pytest.mark.usefixtures("commands")
def test_many_changes_are_one_sum_by_site(run: Run, tmp_path: Path) -> None:
    with opened(tmp_path) as database:
        database.write_now(site_rows.sync, ["blog", "notes"])
        for number in range(7):
            add(database, status="pending", site=SITES[number < 2], url=f"/{number}/")
    said = "7 comments are {}: 5 of blog, 2 of notes\n"
    assert run("approve", "--all").output == said.format("approved")
    assert run("undo").output == said.format("as before")
    assert run("spam", *range(1, 8)).output == said.format("spam")
    assert run("approve", "--all").output == "no comments are pending\n"
    assert run("delete", 1).output == "comment 1 is deleted\n"


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize(
    "words",
    [
        ["edit", "7"],
        ["answer", "7"],
        ["moderator", "passwd", "bob"],
        ["moderator", "add", "<b>"],
        ["moderator", "add", "ann"],
    ],
)
@pytest.mark.parametrize("is_there", [True, False])
def test_nothing_is_asked_before_it_is_certain_that_it_can_be_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], is_there: bool
) -> None:
    """Neither without a database, nor with one that does not allow it."""
    if is_there:
        with opened(tmp_path) as database:
            database.write_now(accounts.add, "ann", "", 0)
    else:
        monkeypatch.delenv("COMMENTSVC_DATABASE_URL", raising=False)
    for module, name in ((moderators, "_new_hash"), (moderate, "_message")):
        monkeypatch.setattr(module, name, lambda *_: pytest.fail("it asks"))
    result = CliRunner().invoke(main.main, [*words, "--data", str(tmp_path)])
    assert result.exit_code == 1
    assert result.stderr.startswith("commentsvc: ")


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
    assert "blog:/post/  Ann  Hi" in result.stdout
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
    monkeypatch.setattr(client, "read", lambda *_: None)
    assert edit("*Better*\r\n\x00\n").output == "comment 7 has the new text\n"
    assert asked == [EditText(id=7, message="*Better*")]
    assert edit("*Better*").output == "comment 7 is unchanged: it already has this text\n"
    for text, reason in ((" \n", "Please write a comment"), ("x" * 8_001, "at most 8000")):
        result = edit(text)
        assert result.exit_code == 2
        assert reason in result.stderr


def test_a_corrected_language_has_a_tag(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Order] = []

    def write(_data: Path, order: Order) -> CommandResult:
        asked.append(order)
        return CommandResult((7,)) if len(asked) == 1 else CommandResult(unchanged={7: "approved"})

    monkeypatch.setattr(client, "write", write)
    assert run("language", 7, "PT-br").output == "comment 7 has the language pt-BR\n"
    again = "comment 7 is unchanged: it already has this language\n"
    assert run("language", 7, "pt-BR").output == again
    assert asked == [CorrectLanguage(id=7, lang="pt-BR")] * 2
    for tag in ("german!", "", "d", "de_AT"):
        refused = run("language", 7, tag)
        assert refused.exit_code == 2
        assert "such as de or pt-BR" in refused.stderr
    assert len(asked) == 2


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
    monkeypatch.setattr(client, "read", lambda *_: [3, 5])
    refused = forget(tmp_path, "ann@mail.example", answer="n\n")
    assert refused.exit_code == 1
    assert "Erase 2 comments of ann@mail.example, and all else about them?" in refused.output
    assert forget(tmp_path, "Ann", "--yes").exit_code == 2
    assert asked == []
    assert (
        forget(tmp_path, " ann@mail.example", "--yes").output
        == "comment 3 is erased\ncomment 5 is erased\n"
    )
    assert asked == [ErasePerson(email="ann@mail.example")]


def test_that_there_was_nothing_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "write", lambda _data, _order: CommandResult())
    monkeypatch.setattr(client, "read", lambda *_: [])
    assert forget(tmp_path, "a@b.example", "--yes").output == "no comment has this email address\n"

"""How all commands report errors, and what they share."""

import gc
import io
import re
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from commentsvc import app
from commentsvc.auth import accounts
from commentsvc.cli import main
from commentsvc.cli.common import ask_for, progress, whole
from commentsvc.db.errors import DatabaseUnusable
from commentsvc.runtime import control
from commentsvc.settings import data_dir
from tests.unit.database_fixture import add, opened

ROOT = Path(__file__).parents[3]
INBOX = """
[server]
public_url = "https://comments.example"
[mail]
host = "mail.example"
sender = "comments@blog.example"
[inbox]
address = "reply@blog.example"
"""


def serve(data: Path) -> Result:
    return CliRunner().invoke(main.main, ["serve", "--data", str(data)])


def failing(error: BaseException) -> Callable[..., None]:
    def run(*_words: object, **_options: object) -> None:
        raise error

    return run


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (OSError(98, "Address already in use", "127.0.0.1:1"), "127.0.0.1:1: Address already in"),
        (OSError(28, "No space left on device"), "No space left on device. Make room on its disk"),
        (PermissionError(13, "Permission denied", "/x/lock"), "/x/lock: Permission denied: / belo"),
        (KeyboardInterrupt(), "Interrupted before the end. Run the command again"),
        (DatabaseUnusable("the database is damaged"), "the database is damaged"),
        (data_dir.DataUnusable("/x cannot be written.\nRun: chown"), "/x cannot be written. Run:"),
        (control.ControlError("no"), "no"),
    ],
)
def test_an_expected_error_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, line: str
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
    def errors(**environ: str) -> str:
        words = ["serve", "--data", str(tmp_path / "none")]
        return CliRunner().invoke(main.main, words, color=True, env=environ).stderr

    monkeypatch.delenv("NO_COLOR", raising=False)
    assert errors().startswith("\x1b[31mcommentsvc:\x1b[0m There is no folder")
    assert "\x1b" not in errors(NO_COLOR="1")
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
    with progress("copying") as advance:
        for share in (0.1, 0.5, 1.0):
            advance(share)
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
        (["mail", "receive", "--data", "{}"], 75),  # the mail server shall try again
    ],
)
def test_exit_codes_are_those_of_the_manual(tmp_path: Path, words: list[str], code: int) -> None:
    words = [word.format(tmp_path) for word in words]
    if words[:2] == ["mail", "receive"]:
        (tmp_path / "commentsvc.toml").write_text(INBOX)
        (tmp_path / "secret.key").write_text("not a key")
    assert CliRunner(env={"COMMENTSVC_DATA": None}).invoke(main.main, words).exit_code == code
    manual = (ROOT / "docs/operating.md").read_text()
    assert f"\n| {code} | " in manual.partition("## Exit codes")[2].partition("\n## ")[0]


@pytest.mark.parametrize(
    ("words", "given"),
    [
        ("thread list --containing \udcff", b""),
        ("thread title /a/ \udcff", b""),
        ("ban add word \udcff", b""),
        ("forget \udcff@mail.example --yes", b""),
        ("moderator token add ann \udcff", b""),
        ("edit 1", b"\xff"),
    ],
)
@pytest.mark.usefixtures("commands")
def test_a_text_that_is_not_utf8_is_one_line(tmp_path: Path, words: str, given: bytes) -> None:
    with opened(tmp_path) as database:
        add(database)
        database.write_now(accounts.add, "ann", "", 0)
    done = CliRunner().invoke(
        main.main, [*words.split(), "--data", str(tmp_path)], input=given, catch_exceptions=False
    )
    assert done.exit_code == 1
    assert done.stderr == ("commentsvc: A text that was given is not UTF-8. Write it in UTF-8.\n")


@pytest.mark.parametrize("words", ["init", "list", "check", "serve", "serve --data x --config"])
def test_an_empty_path_is_not_this_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    option = [] if words.endswith("--config") else ["--data"]
    done = CliRunner().invoke(main.main, [*words.split(), *option, ""])
    assert done.exit_code == 2
    assert "it is empty" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.sqlite_only("it is about files")
def test_a_file_that_a_full_disk_cuts_off_is_removed(tmp_path: Path) -> None:
    """Regression: the next `init` found a file there and wrote nothing."""
    file = tmp_path / "new"

    def write() -> None:
        with whole(file):
            file.write_text("part")
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left") as caught:
        write()
    assert caught.value.filename == str(file)
    assert not file.exists()


@pytest.mark.parametrize(("is_typed", "said"), [(True, "Type the text, then press"), (False, "")])
def test_who_types_a_text_is_told_how_to_end_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], is_typed: bool, said: str
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal() if is_typed else io.StringIO())
    ask_for("the text")
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith(said)
    assert bool(output.err) is is_typed


def test_an_error_that_nobody_foresaw_is_not_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "run", failing(ZeroDivisionError()))
    assert isinstance(serve(tmp_path).exception, ZeroDivisionError)


def test_the_help_has_each_command_once_below_a_theme() -> None:
    text = CliRunner().invoke(main.main, ["--help"], terminal_width=100).output
    listed = re.findall(r"(?m)^  ([a-z]+) +[A-Z]", text)
    assert sorted(listed) == main.main.list_commands(click.Context(main.main))
    assert re.findall(r"(?m)^([A-Z][a-z ,]+):$", text) == ["Options", *main.THEMES]
    assert not re.search(r"[a-z]\.\.\.$", text, re.MULTILINE)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("aprove", 'There is no command "aprove". Did you mean "approve"?'),
        ("moderators", 'There is no command "moderators". Did you mean "moderator"?'),
        ("moderator pasword", 'There is no command "pasword". Did you mean "passwd"?'),
        ("moderator token lst", 'There is no command "lst". Did you mean "list"?'),
        ("mail xyz", 'There is no command "xyz". There are: receive, test.'),
        ("list --dta x", "--data"),  # click's versions say it in other words
    ],
)
def test_a_mistyped_command_is_told_which_one_may_be_meant(words: str, said: str) -> None:
    result = CliRunner().invoke(main.main, words.split())
    assert result.exit_code == 2
    assert said in result.stderr

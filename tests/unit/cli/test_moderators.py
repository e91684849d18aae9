"""The commands for moderators' accounts: their arguments and their output."""

import re
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from commentsvc.auth import accounts, passwords
from commentsvc.cli import client, main, moderators
from tests.unit.database_fixture import connected, location

PASSWORD = "correct horse battery"
Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, commands: None) -> Run:
    """Run `moderator` on a data folder in this process; `given` is the standard input."""
    location(tmp_path)  # makes the database

    def run(*words: str, given: str = "") -> Result:
        return CliRunner().invoke(
            main.main, ["moderator", *words, "--data", str(tmp_path)], input=given
        )

    return run


def test_a_moderator_is_added_gets_a_new_password_and_is_removed(run: Run, tmp_path: Path) -> None:
    def fits(password: str) -> bool:
        [ann] = client.read(tmp_path, accounts.everyone)
        return passwords.verify(password, ann.password_hash)

    assert run("list").output == "no moderators\n"
    assert run("add", "ann", given=PASSWORD + "\n").output == "ann may sign in at /moderation\n"
    assert fits(PASSWORD)
    assert run("list").output.startswith("ann  owner  all sites  20")
    changed = run("profile", "ann", "--public-name", "Ann B.", "--site", "https://ann.example")
    assert changed.output == "ann has a new profile\n"
    assert run("list").output.endswith("  Ann B.  https://ann.example\n")
    assert run("profile", "ann", "--public-name", "").exit_code == 0
    assert run("list").output.endswith("  ann  https://ann.example\n")
    changed = run("passwd", "ann", given="another good password\r\n")
    removed = "sessions, tokens, passkeys and identities are removed"
    assert changed.output == f"ann has a new password; {removed}\n"
    assert fits("another good password")
    assert run("remove", "ann").output == "ann may no longer sign in\n"
    assert run("list").output == "no moderators\n"


def test_an_account_gets_a_role_on_all_sites_or_on_some(run: Run, tmp_path: Path) -> None:
    with closing(connected(tmp_path)) as rows:
        rows.execute("INSERT INTO site (name) VALUES ('blog'), ('notes')")
    run("add", "ann", given=PASSWORD)
    run("add", "mo", given=PASSWORD)
    assert run("role", "mo", "viewer").output == "mo is now viewer of all sites\n"
    given = run("role", "Mo", "owner", "--site", "blog", "--site", "notes")
    assert given.output == "Mo is now owner of blog, notes\n"
    assert "mo   owner  blog, notes  20" in run("list").output
    assert (
        'There is no site "nowhere". There are: blog, notes.'
        in run("role", "mo", "viewer", "--site", "nowhere").stderr
    )
    for words in (("role", "ann", "moderator"), ("remove", "ann")):
        assert "there must always be an owner of all sites" in run(*words).stderr
    assert run("role", "mo", "owner").exit_code == 0
    assert run("role", "ann", "moderator").exit_code == 0


def test_tokens_are_made_listed_and_revoked(run: Run, tmp_path: Path) -> None:
    with closing(connected(tmp_path)) as rows:
        rows.execute("INSERT INTO site (name) VALUES ('blog')")
    run("add", "ann", given=PASSWORD)
    assert run("token", "list", "ann").output == "no tokens\n"
    made = run("token", "add", "ann", "bot", "--scope", "decide", "--site", "blog").output
    assert re.fullmatch(r"cs_[\w-]{43}\n", made)
    listed = run("token", "list", "ANN").output
    assert listed.startswith("1  bot  decide  blog  never  20")
    assert made.strip() not in listed
    assert 'There is no site "x"' in run("token", "add", "ann", "bot", "--site", "x").stderr
    assert run("token", "remove", "ann", "1").output == "token 1 is revoked\n"
    gone = run("token", "remove", "ann", "1")
    assert (gone.stderr, gone.exit_code) == ("commentsvc: ann has no token 1\n", 1)


def test_who_has_lost_the_app_signs_in_without_a_code(run: Run, tmp_path: Path) -> None:
    run("add", "ann", given=PASSWORD)
    with closing(connected(tmp_path)) as rows:
        rows.execute("INSERT INTO two_factor VALUES (1, ?, 0, 1)", (b"\0",))
        rows.execute("INSERT INTO recovery_code (moderator_id, digest) VALUES (1, ?)", (b"\0",))
    assert run("no-code", "Ann").output.startswith("Ann signs in with the password alone")
    with closing(connected(tmp_path)) as rows:
        left = rows.execute(
            "SELECT 1 FROM two_factor UNION ALL SELECT 1 FROM recovery_code"
        ).fetchall()
        assert left == []


@pytest.mark.parametrize(
    ("words", "given", "message"),
    [
        (("add", "ann"), "short\n", "12 to 200 characters"),
        (("add", "ann"), "", "12 to 200 characters"),
        (("add", "ann"), "x" * 1_000, "12 to 200 characters"),
        (("add", "<b>"), PASSWORD, "1 to 40 letters"),
        (("add", "Bob"), PASSWORD, "there is a moderator called Bob already"),
        (("passwd", "ann"), PASSWORD, 'There is no moderator "ann". There are: bob.'),
        (("profile", "ann", "--site", "x"), "", 'There is no moderator "ann". There are: bob.'),
        (("profile", "Bob", "--email", "x"), "", "x is not an email address"),
        (("remove", "ann"), "", 'There is no moderator "ann". There are: bob.'),
        (("no-code", "ann"), "", 'There is no moderator "ann". There are: bob.'),
    ],
)
def test_what_cannot_be_done_is_told_in_one_line(
    run: Run, words: tuple[str, ...], given: str, message: str
) -> None:
    run("add", "bob", given=PASSWORD)
    result = run(*words, given=given)
    assert result.exit_code == 1
    assert result.stderr.startswith("commentsvc: ")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_at_a_terminal_the_password_is_asked_for_twice_and_not_shown(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal:
        @staticmethod
        def isatty() -> bool:
            return True

    monkeypatch.setattr(moderators.sys, "stdin", Terminal)  # type: ignore[attr-defined] # mypy sees no re-export of sys
    asked = []

    def prompt(text: str, *, hide_input: bool, confirmation_prompt: str) -> str:
        asked.append((text, hide_input, confirmation_prompt))
        return PASSWORD

    monkeypatch.setattr(moderators.click, "prompt", prompt)  # type: ignore[attr-defined] # mypy sees no re-export of click
    moderators._write(tmp_path, "add", "ann", moderators._new_hash())
    assert asked == [("Password", True, "Again")]
    [ann] = client.read(tmp_path, accounts.everyone)
    assert passwords.verify(PASSWORD, ann.password_hash)


def test_what_opens_an_account_is_listed_and_removed(run: Run) -> None:
    run("add", "ann", given=PASSWORD)
    assert run("credential", "list", "ann").output == "only the password\n"
    run("token", "add", "ann", "my bot\x1b[2J")
    [line] = run("credential", "list", "ann").output.splitlines()
    assert re.fullmatch(r"token  1  my bot\ufffd\[2J  20\S+ \S+  not known", line)
    assert run("credential", "remove", "ann", "token", "1").output == "token 1 is removed\n"
    assert "ann has no token 1" in run("credential", "remove", "ann", "token", "1").stderr
    assert run("credential", "remove", "ann", "moderator", "1").exit_code == 2


def test_an_address_from_the_command_line_is_confirmed(run: Run) -> None:
    run("add", "ann", given=PASSWORD)
    run("profile", "ann", "--email", "ann@blog.example")
    assert run("list").output.endswith("  ann  ann@blog.example\n")

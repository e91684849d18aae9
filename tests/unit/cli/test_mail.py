"""The command `mail test`, with a server that works, one that refuses, and none."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from commentsvc.auth import edit_tokens
from commentsvc.auth.reply_addresses import ReplyAddresses
from commentsvc.cli import client, main
from commentsvc.db.lock import Lock
from tests.unit.database_fixture import location
from tests.unit.mail_server import MailServer, mail_server

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run `mail test` in this process, with a settings file of these lines under [mail]."""

    def run(*words: str, **lines: object) -> Result:
        settings = "\n".join(f"{key} = {value!r}".replace("'", '"') for key, value in lines.items())
        text = f'[server]\npublic_url = "https://c.example"\n[mail]\n{settings}\n'
        (tmp_path / "commentsvc.toml").write_text(text)
        return CliRunner().invoke(main.main, ["mail", "test", "--data", str(tmp_path), *words])

    return run


def beside(work: Callable[[MailServer], Result], *answers: str) -> tuple[Result, MailServer]:
    """Do `work` while a mail server runs in a thread of its own."""
    ready, done = threading.Event(), threading.Event()
    servers: list[MailServer] = []

    async def serve() -> None:
        async with mail_server() as server:
            server.answers = [*answers]
            servers.append(server)
            ready.set()
            await asyncio.to_thread(done.wait, 30)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        assert ready.wait(120)
        return work(servers[0]), servers[0]
    finally:
        done.set()
        thread.join()


def settings(server: MailServer) -> dict[str, object]:
    return {
        "host": "localhost",
        "port": server.port,
        "security": "none",
        "sender": "c@blog.example",
        "moderators": ["mo@blog.example"],
    }


def test_a_mail_is_sent_and_every_step_told(run: Run) -> None:
    result, server = beside(lambda server: run(**settings(server)))
    assert result.exit_code == 0, result.output
    assert server.recipients == ["mo@blog.example"]
    assert server.mails[0]["Subject"] == "[blog] Mail from commentsvc works"
    lines = result.output.splitlines()
    assert lines[0].startswith(f"connecting to localhost:{server.port} (security: none")
    assert lines[1:] == [
        "the server has accepted a mail to mo@blog.example; look into that mailbox",
    ]


def test_somebody_else_may_get_it(run: Run) -> None:
    _, server = beside(lambda server: run("--to", "x@y.example", **settings(server)))
    assert server.recipients == ["x@y.example"]


def test_a_refusal_is_told_in_the_words_of_the_server(run: Run) -> None:
    result, _ = beside(lambda server: run(**settings(server)), "550 5.1.1 Nobody here")
    assert result.exit_code == 1
    assert "the mail was not sent: 550 5.1.1 Nobody here" in result.output


def test_a_server_that_is_not_there_is_told(run: Run) -> None:
    _, server = beside(lambda server: Result)  # type: ignore[arg-type,return-value] # only its port is used
    result = run(**settings(server))
    assert result.exit_code == 1
    assert f"the mail was not sent: localhost:{server.port}: " in result.output


def test_without_a_server_in_the_settings_it_says_so(run: Run) -> None:
    result = run()
    assert result.exit_code == 1
    assert "mail.host is not set" in result.output


def test_without_anybody_to_send_to_it_says_so(run: Run) -> None:
    result = run(host="localhost", sender="c@blog.example")
    assert result.exit_code == 1
    assert "--to" in result.output


def test_a_mail_server_pipes_answers_into_the_database(
    tmp_path: Path, commands: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "START_PATIENCE_MS", 100)
    location(tmp_path)  # makes the database
    (tmp_path / "commentsvc.toml").write_text(
        '[server]\npublic_url = "https://c.example"\n[auth]\nsecret_key = "' + "k" * 32 + '"\n'
        '[mail]\nhost = "localhost"\nsender = "c@blog.example"\n'
        '[inbox]\naddress = "c@blog.example"\n'
    )

    def receive(raw: bytes) -> Result:
        return CliRunner().invoke(main.main, ["mail", "receive", "--data", str(tmp_path)], raw)

    keys = edit_tokens.load_keys(tmp_path / "secret.key", "k" * 32)
    address = ReplyAddresses(keys, "c@blog.example").make(1, 1, 1, "mo@blog.example", 1 << 41)
    mail = f"From: mo@blog.example\r\nTo: {address}\r\nMessage-ID: <1@x>\r\n\r\nok\r\n".encode()
    taken, again, other = receive(mail), receive(mail), receive(b"To: me@blog.example\r\n\r\nok")
    assert [each.exit_code for each in (taken, again, other)] == [0, 0, 0]
    assert taken.output == ""
    assert "it came before" in again.output
    assert "it answers no mail of ours" in other.output
    with Lock(tmp_path):  # a server that does not answer
        busy = receive(mail.replace(b"<1@x>", b"<2@x>"))
    assert busy.exit_code == 75
    assert "cannot be received now" in busy.output


@pytest.mark.parametrize(
    "settings",
    [
        "[mail\n",
        '[inbox]\naddress = "c@blog.example"\n',
        "",
        None,
    ],
    ids=["no TOML", "a contradiction", "no address", "a folder"],
)
def test_whatever_is_wrong_the_mail_server_keeps_the_mail(
    tmp_path: Path, settings: str | None
) -> None:
    """Postfix returned answers to their sender, since it runs pipes as nobody."""
    file = tmp_path / "commentsvc.toml"
    if settings is None:
        file.mkdir()
    else:
        file.write_text(f'[server]\npublic_url = "https://c.example"\n{settings}')
    mail = b"To: me@blog.example\r\n\r\nok" + b"x" * 5_000_000
    result = CliRunner().invoke(main.main, ["mail", "receive", "--data", str(tmp_path)], mail)
    assert result.exit_code == 75, result.output
    assert result.output.startswith("commentsvc: the mail cannot be received now: ")

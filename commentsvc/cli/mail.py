"""The commands for mail.

`mail test` writes nothing to the outbox, and reports which step fails. If a server runs, it sends
the mail: it may have a password that this command has not. `mail receive` stores a mail; the server
acts on it now, or when it starts.
"""

import os
import sys
from pathlib import Path

import click
from msgspec.structs import asdict

from commentsvc.cli.common import Commands, Failure, ask_for, config_option, data_option
from commentsvc.settings import data_dir


@click.group(cls=Commands)
def mail() -> None:
    """Test the mail settings, or receive answers to mails."""


@mail.command()
@data_option
@config_option
@click.option(
    "--to", metavar="ADDRESS", help="The recipient. Default: the first of mail.moderators."
)
def test(data: Path, settings_file: Path | None, to: str | None) -> None:
    """Send a test mail now, and show the server's reply."""
    from commentsvc.cli import running

    settings = running.settings_for(data, settings_file, "mail")
    recipient = to or next(iter(settings.mail.moderators), "")
    if not settings.mail.host:
        raise Failure(["mail.host is not set, so nothing is mailed. Set it in the settings."])
    if not recipient:
        raise Failure(["mail.moderators is empty. Say who gets the mail with --to."])
    click.echo(
        f"connecting to {settings.mail.host}:{settings.mail.port}"
        f" (security: {settings.mail.security}, login: {settings.mail.user or 'none'})"
    )
    if fault := running.mail_fault(data, settings, recipient):
        raise Failure([f"the mail was not sent: {fault}"])
    click.echo(f"the server has accepted a mail to {recipient}; look into that mailbox")


@mail.command()
@data_option
@config_option
def receive(data: Path, settings_file: Path | None) -> None:
    """Receive an answer to a mail on stdin, as a mail server's pipe.

    Other mails are ignored, with a line on stderr. The exit code is 75 if the mail server should
    try again later, for whatever reason.
    """
    ask_for("a mail")
    try:
        refusal = _receive(data, settings_file, _from_stdin())
    except Exception as error:  # also a fault of the settings or of ours: the mail is not lost
        known = error.format_message() if isinstance(error, click.ClickException) else error
        click.echo(f"commentsvc: the mail cannot be received now: {known}", err=True)
        sys.exit(os.EX_TEMPFAIL)
    if refusal:
        click.echo(f"commentsvc: a mail was ignored: {refusal}", err=True)


def _from_stdin() -> bytes:
    """Return the mail on stdin; of one that is too large, enough to see that."""
    from commentsvc.inbox.message import MAIL_SIZE

    raw = sys.stdin.buffer.read(MAIL_SIZE + 1)
    while sys.stdin.buffer.read(MAIL_SIZE):  # a mail server may not like a closed pipe
        pass
    return raw


def _receive(data: Path, settings_file: Path | None, raw: bytes) -> str:
    """Store a mail; return "", or why it was ignored."""
    from commentsvc.auth import edit_tokens
    from commentsvc.auth.reply_addresses import ReplyAddresses
    from commentsvc.cli import client, running
    from commentsvc.inbox.message import MailParser, Unwanted
    from commentsvc.runtime.control_commands import ReceiveComment, ReceiveMail
    from commentsvc.util.clock import SYSTEM_CLOCK

    settings = running.settings_for(data, settings_file, "inbox", "auth")
    if not settings.inbox.address:
        raise Failure(["inbox.address is not set, so no mail can be answered. Set it first."])
    data_dir.must_exist(data)
    keys = edit_tokens.load_keys(data / data_dir.SECRET_KEY, settings.auth.secret_key)
    parser = MailParser(ReplyAddresses(keys, settings.inbox.address), settings)
    try:
        comment = parser.read_comment(raw, SYSTEM_CLOCK.now_ms())
        if comment:
            return client.write(data, ReceiveComment(**asdict(comment))).note
        return client.write(data, ReceiveMail(**asdict(parser.read(raw)))).note
    except Unwanted as reason:
        return str(reason)

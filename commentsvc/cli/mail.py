"""The commands for mail.

`mail test` needs no running server and writes nothing to the outbox: it connects to the mail server
itself, and reports which step fails. `mail receive` stores a mail; the server acts on it now, or
when it starts.
"""

import asyncio
import os
import sys
from pathlib import Path

import click
from msgspec.structs import asdict

from commentsvc.cli.common import (
    Failure,
    ask_for,
    config_option,
    data_option,
    expected,
    find_settings,
)
from commentsvc.settings import data_dir, loader
from commentsvc.settings.schema import Settings
from commentsvc.util.clock import SYSTEM_CLOCK

# Seconds for each step: a working mail server answers faster.
PATIENCE = 30.0


@click.group()
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
    settings = loader.load(find_settings(settings_file, data))
    recipient = to or next(iter(settings.mail.moderators), "")
    if not settings.mail.host:
        raise Failure(["mail.host is not set, so nothing is mailed. Set it in the settings."])
    if not recipient:
        raise Failure(["mail.moderators is empty. Say who gets the mail with --to."])
    click.echo(
        f"connecting to {settings.mail.host}:{settings.mail.port}"
        f" (security: {settings.mail.security}, login: {settings.mail.user or 'none'})"
    )
    asyncio.run(_send(settings, recipient))
    click.echo(f"the server has accepted a mail to {recipient}; look into that mailbox")


@mail.command()
@data_option
@config_option
def receive(data: Path, settings_file: Path | None) -> None:
    """Receive an answer to a mail on stdin, as a mail server's pipe.

    Other mails are ignored, with a line on stderr. The exit code is 75 if the mail server should
    try again later.
    """
    from commentsvc.auth import edit_tokens
    from commentsvc.auth.reply_addresses import ReplyAddresses
    from commentsvc.cli import client
    from commentsvc.inbox.message import MAIL_SIZE, MailReader, Unwanted
    from commentsvc.runtime.control_commands import ReceiveMail

    settings = loader.load(find_settings(settings_file, data))
    if not settings.inbox.address:
        raise Failure(["inbox.address is not set, so no mail can be answered. Set it first."])
    ask_for("a mail")
    raw = sys.stdin.buffer.read(MAIL_SIZE + 1)
    try:
        data_dir.must_exist(data)
        keys = edit_tokens.load_keys(data / data_dir.SECRET_KEY, settings.auth.secret_key)
        reader = MailReader(ReplyAddresses(keys, settings.inbox.address), settings)
        refusal = client.write(data, ReceiveMail(**asdict(reader.read(raw)))).note
    except Unwanted as reason:
        refusal = str(reason)
    except expected() as error:
        click.echo(f"commentsvc: the mail cannot be received now: {error}", err=True)
        sys.exit(os.EX_TEMPFAIL)
    if refusal:
        click.echo(f"commentsvc: a mail was ignored: {refusal}", err=True)


async def _send(settings: Settings, recipient: str) -> None:
    from commentsvc.auth.signed_links import SignedLinks
    from commentsvc.delivery.channel import DeliveryError
    from commentsvc.delivery.mail import MailComposer
    from commentsvc.delivery.smtp import Deadlines, Smtp

    now = SYSTEM_CLOCK.now_ms()
    mails = MailComposer(settings, SignedLinks([b""]))  # it has no link that needs a key
    smtp = Smtp(settings.mail, mails.hostname, Deadlines(PATIENCE, PATIENCE))
    try:
        async with smtp.connect() as conversation:
            click.echo("connected")
            await conversation.send(mails.test(recipient, 0, now))
    except DeliveryError as error:
        raise Failure([f"the mail was not sent: {error}"]) from error

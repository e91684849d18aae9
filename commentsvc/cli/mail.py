"""The commands that concern mail.

`mail test` needs no running server and leaves nothing in the outbox: it talks to the mail
server itself, and tells at which step that ends.
"""

import asyncio
from pathlib import Path

import click

from commentsvc.cli.common import Failure, config_option, data_option, find_settings
from commentsvc.settings import loader
from commentsvc.settings.schema import Settings
from commentsvc.util.clock import SYSTEM_CLOCK

# A mail server that works answers faster; in seconds, for each step.
PATIENCE = 30.0


@click.group()
def mail() -> None:
    """Try the mail settings."""


@mail.command()
@data_option
@config_option
@click.option("--to", metavar="ADDRESS", help="Who gets it. Default: the first of mail.moderators.")
def test(data: Path, settings_file: Path | None, to: str | None) -> None:
    """Send a mail now by the SMTP server of the settings, and say what it answered."""
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
    click.echo(f"the server has taken a mail to {recipient}; look into that mailbox")


async def _send(settings: Settings, recipient: str) -> None:
    from commentsvc.auth.signed_links import SignedLinks
    from commentsvc.delivery.channel import DeliveryError
    from commentsvc.delivery.mail import MailComposer
    from commentsvc.delivery.smtp import Deadlines, Smtp

    now = SYSTEM_CLOCK.now_ms()
    mails = MailComposer(settings, SignedLinks([b""]))  # it holds no link that needs a key
    smtp = Smtp(settings.mail, mails.hostname, Deadlines(PATIENCE, PATIENCE))
    try:
        async with smtp.connect() as conversation:
            click.echo("connected")
            await conversation.send(mails.test(recipient, 0, now))
    except DeliveryError as error:
        raise Failure([f"the mail was not sent: {error}"]) from error

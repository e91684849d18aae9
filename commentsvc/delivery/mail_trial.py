"""Try the settings for mail, as the operator asks for: sign in at the mail server, perhaps send."""

from typing import Final

from commentsvc.auth.signed_links import SignedLinks
from commentsvc.delivery.mail import MailComposer
from commentsvc.delivery.smtp import Deadlines, Smtp
from commentsvc.settings.schema import Settings

# Seconds for each step, of which there are six: whoever asks waits for a minute.
PATIENCE: Final = 8.0


async def try_mail(settings: Settings, recipient: str, now_ms: int) -> None:
    """Sign in at the mail server, and send a test mail to `recipient` unless that is "".

    Raise DeliveryError, and OSError if `mail.ca_file` cannot be read.
    """
    mails = MailComposer(settings, SignedLinks([b""]))  # a test mail has no link that needs a key
    smtp = Smtp(settings.mail, mails.hostname, Deadlines(PATIENCE, PATIENCE))
    async with smtp.connect() as conversation:
        if recipient:
            await conversation.send(mails.test(recipient, 0, now_ms))

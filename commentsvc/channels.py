"""Channels: what the settings say about who is told of comments, and how.

DESIGN. `targets` is what the database has to know of it, `channels` what the outbox sends by. They
name the same channels: a row for a channel that is no longer configured waits until it is again,
or until it is too old.
"""

from contextlib import AbstractAsyncContextManager
from typing import Final

from commentsvc.config import Settings
from commentsvc.delivery import Channel, Connection
from commentsvc.links import Links
from commentsvc.mail import Mails
from commentsvc.outgoing import MAIL, Post, Target
from commentsvc.posting import DAY, HOUR
from commentsvc.smtp import Letter, Smtp
from commentsvc.sqlite import Reader

PERIODS: Final = {"off": 0, "hourly": HOUR, "daily": DAY}


class MailChannel:
    """Mail by the SMTP server of the settings."""

    def __init__(self, mails: Mails, smtp: Smtp) -> None:
        self._mails = mails
        self._smtp = smtp

    def compose(self, reader: Reader, post: Post) -> Letter | None:
        """As delivery.Channel says."""
        return self._mails.compose(reader, post)

    def connect(self) -> AbstractAsyncContextManager[Connection]:
        """As delivery.Channel says."""
        return self._smtp.connect()


def targets(settings: Settings) -> list[Target]:
    """Who is told of every new comment."""
    mail = settings.mail
    if not mail.host:
        return []
    return [Target(MAIL, address, PERIODS[mail.digest]) for address in mail.moderators]


def channels(settings: Settings, links: Links) -> dict[str, Channel]:
    """The channels of the outbox, by name. Raises OSError where `mail.ca_file` cannot be used."""
    found: dict[str, Channel] = {}
    if settings.mail.host:
        mails = Mails(settings, links)
        found[MAIL] = MailChannel(mails, Smtp(settings.mail, mails.hostname))
    return found

"""Channels: who is told of comments, and how, according to the settings.

`targets` are stored in the database, and the outbox sends through `channels`. Both have the same
channel names, except for build hooks, which have no targets, and webmentions, whose channel is
`mentions.sender`. A row for a channel that is no longer configured waits until it is again, or
until its deadline. The modules for mail are imported only if mail is configured: they take 1 MiB.
"""

import hashlib
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from commentsvc.auth.signed_links import SignedLinks
from commentsvc.db.connection import Snapshot
from commentsvc.db.database import Database
from commentsvc.db.schema.outbox import MAIL, WEBMENTIONS, OutboxRow, Target
from commentsvc.delivery import builds, telegram
from commentsvc.delivery import webhooks as hooks
from commentsvc.delivery.akismet import Akismet
from commentsvc.delivery.channel import Channel, Connection
from commentsvc.delivery.classifier import Classifier, ClassifierProgram
from commentsvc.delivery.decision_links import DecisionLinks
from commentsvc.delivery.judge import Judge
from commentsvc.delivery.webhooks import Notification, Webhook, WebhookRequest
from commentsvc.model import AKISMET, CLASSIFIER
from commentsvc.settings.schema import HooksSettings, Settings
from commentsvc.util.clock import Clock
from commentsvc.util.lasting import Lasting
from commentsvc.util.origin import address_key
from commentsvc.util.timestamps import DAY_MS, HOUR_MS

if TYPE_CHECKING:
    from commentsvc.delivery.mail import MailComposer
    from commentsvc.delivery.smtp import Envelope, Smtp


# Seconds that the outbox and the classifier may need beyond the classifier's deadline.
SPARE_SECONDS: Final = 3
PERIODS: Final = {"off": 0, "hourly": HOUR_MS, "daily": DAY_MS}


class MailChannel:
    """Mail through the SMTP server of the settings."""

    def __init__(self, mails: "MailComposer", smtp: "Smtp") -> None:
        self._mails = mails
        self._smtp = smtp

    def compose(self, snapshot: Snapshot, row: OutboxRow) -> "Envelope | None":
        return self._mails.compose(snapshot, row)

    def connect(self) -> AbstractAsyncContextManager[Connection]:
        return self._smtp.connect()


def targets(settings: Settings) -> list[Target]:
    """Return the recipients of messages about new comments."""
    mail = settings.mail
    recipients = mail.moderators if mail.host else ()
    spam = settings.spam
    # A mail is written when it is sent, and then says what the classifier answered in time.
    seconds = settings.judging_seconds
    delay = (seconds + SPARE_SECONDS) * 1_000 if seconds else 0
    by_mail = [
        Target(MAIL, address, PERIODS[mail.digest], delay_ms=delay) for address in recipients
    ]
    webhooks = _webhooks(settings.hooks)
    asked = {AKISMET: spam.akismet_key, CLASSIFIER: seconds}
    opinions = [Target(name, "", 0, True) for name, is_asked in asked.items() if is_asked]
    hooked = [Target(name, "", 0, name in webhooks) for name in _forms(settings.hooks)]
    sends = any(site.send_webmentions for site in settings.sites)
    mentions = [Target(WEBMENTIONS, "", 0, True)] if sends else []
    return by_mail + hooked + opinions + mentions


def recipients(settings: Settings) -> frozenset[str]:
    """Return who may decide by the links in messages: keys of addresses, and channels."""
    return frozenset(address_key(one.recipient or one.channel) for one in targets(settings))


def channels(
    settings: Settings, links: SignedLinks, clock: Clock, database: Database, lasting: Lasting
) -> dict[str, Channel]:
    """Return the outbox's channels by name. Raise OSError if `mail.ca_file` is unusable."""
    programs, decisions = _webhooks(settings.hooks), DecisionLinks(settings, links)
    found: dict[str, Channel] = {
        name: Webhook(settings, form, clock, None if name in programs else decisions)
        for name, form in _forms(settings.hooks).items()
    }
    found.update(builds.channels(settings, clock))
    if settings.spam.akismet_key:
        found[AKISMET] = Akismet(settings, database, clock)
    if settings.judging_seconds:
        backend = Judge(settings) if settings.judge.url else ClassifierProgram(settings)
        found[CLASSIFIER] = Classifier(settings, database, clock, backend, lasting)
    if settings.mail.host:
        from commentsvc.delivery.mail import MailComposer
        from commentsvc.delivery.smtp import Smtp

        mails = MailComposer(settings, links)
        found[MAIL] = MailChannel(mails, Smtp(settings.mail, mails.hostname))
    return found


def _forms(settings: HooksSettings) -> dict[str, Callable[[Notification], WebhookRequest]]:
    """Return the function that makes the request for each webhook and messenger, by channel."""
    forms = {name: hooks.webhook(url, settings.secret) for name, url in _webhooks(settings).items()}
    for name, wanted, form in (
        ("ntfy", settings.ntfy, hooks.ntfy),
        (telegram.CHANNEL, settings.telegram_token, telegram.telegram),
        ("slack", settings.slack, hooks.slack),
        ("discord", settings.discord, hooks.discord),
    ):
        if wanted:
            forms[name] = form(settings)
    return forms


def _webhooks(settings: HooksSettings) -> dict[str, str]:
    """Return the webhooks' URLs by channel; the names do not show secret paths."""
    return {
        f"webhook {urlsplit(url).hostname} {hashlib.sha256(url.encode()).hexdigest()[:6]}": url
        for url in settings.webhooks
    }

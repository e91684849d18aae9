"""Mail: turns a row of the outbox into a mail, as plain text and HTML; see `mail_kinds`.

A mail loads no pictures, so nobody learns when it is read. The standard library's email policy
makes the headers. It refuses line breaks, but decodes encoded words (RFC 2047), which can contain
some. So names and titles are made one line, and `=?`, the beginning of an encoded word, is broken
up, before it gets them; `smtp` checks once more.

The Message-ID is made from the row, so it is the same for every attempt. Mails about one page refer
to the same message, which does not exist, so that mail programs show them as a thread.
"""

import re
from dataclasses import replace
from datetime import UTC, datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from typing import Final
from urllib.parse import urlsplit

from commentsvc.auth.reply_addresses import ReplyAddresses
from commentsvc.auth.signed_links import SignedLinks
from commentsvc.db.connection import Snapshot
from commentsvc.db.schema.outbox import OutboxRow
from commentsvc.delivery.channel import DeliveryRejected
from commentsvc.delivery.decision_links import LINK_DAYS
from commentsvc.delivery.mail_contents import MailContent, MailContents
from commentsvc.delivery.mail_kinds import ASKED, KINDS, MODERATOR
from commentsvc.delivery.mail_templates import MailTemplates
from commentsvc.delivery.smtp import Envelope
from commentsvc.readers import subscriptions
from commentsvc.settings.schema import Settings, Site
from commentsvc.util.i18n import Message, find_language, moderators_language, speaking, spoken
from commentsvc.util.origin import deliverable
from commentsvc.util.text import one_line, shortened

# Characters of a subject, and of a title or address in it that stay at least.
SUBJECT_LENGTH: Final = 150
TITLE_LEFT: Final = 30

# Characters of a name and its address that fit in one line of 78 (RFC 5322, 2.1.1): `From: "" <>`.
ONE_LINE: Final = 67
# What a name may have in quotation marks alone (RFC 5322, 3.2.3).
_QUOTED: Final = re.compile(r'[()<>@,;:\\"\[\].]+').sub

# Empty lines that templates leave. Quotations have none: each of their lines begins with ">".
_GAPS: Final = re.compile(r"\n{3,}")


class MailComposer:
    """Makes the mails of one service."""

    def __init__(self, settings: Settings, links: SignedLinks) -> None:
        self._contents = MailContents(settings, links)
        self._takes_answers = bool(settings.inbox.address)
        self._reply_addresses = ReplyAddresses(links.keys, settings.inbox.address)
        self._mail = settings.mail
        self._templates = MailTemplates(settings.mail.templates)
        self._sites = {site.name: site for site in settings.sites}
        self._host = urlsplit(settings.server.public_url).hostname or ""
        self._domain = deliverable(settings.mail.sender).rpartition("@")[2]

    @property
    def hostname(self) -> str:
        """The host name or address for the greeting (EHLO) to mail servers."""
        return self._host

    def compose(self, snapshot: Snapshot, row: OutboxRow) -> Envelope | None:
        """Return the mail that a row of the outbox stands for; None if it has nothing to tell."""
        kind = KINDS[row.kind]
        if kind.recipient is MODERATOR:
            tag = moderators_language(self._mail.language).tag
        elif kind.recipient is ASKED:
            tag = row.language
        else:
            tag = subscriptions.language_of(snapshot, row.comment_id or 0, row.kind)
        with speaking(find_language(tag)):
            content = kind.content(self._contents, snapshot, row)
            return None if content is None else self._envelope(row, content)

    def test(self, recipient: str, number: int, now: int) -> Envelope:
        """Return a mail that shows that mail works; `number` makes it unlike others."""
        row = OutboxRow(number, "", "test", recipient, None, None, "", now, now, now, 0, "")
        with speaking(moderators_language(self._mail.language)):
            return self._envelope(row, self._contents.test())

    def _envelope(self, row: OutboxRow, content: MailContent) -> Envelope:
        kind, entry, recipient = KINDS[row.kind], content.about, content.recipient or row.recipient
        subject = kind.subject
        if not isinstance(subject, Message):
            assert entry is not None, "its subject says what became of the comment"
            subject = subject[entry.comment.status]
        if subject.plural:
            subject = replace(subject, number=content.number, params={"num": content.number})
        elif content.subject:
            subject = replace(subject, params=content.subject)
        message = EmailMessage(policy=SMTP)
        about = entry.site if entry else content.site or next(iter(self._sites))
        site = self._sites.get(about, Site())
        name = one_line(site.title) or site.name
        if (excess := len(f"[{name}] {subject}") - SUBJECT_LENGTH) > 0 and content.subject:
            title = content.subject.get("title", "")
            title = shortened(title, max(len(title) - excess, TITLE_LEFT))
            subject = replace(subject, params=content.subject | {"title": title})
        message["From"] = _addressed(self._mail.sender, name)
        message["To"] = _addressed(recipient)
        message["Subject"] = _header_text(f"[{name}] {subject}")[:SUBJECT_LENGTH]
        message["Date"] = datetime.fromtimestamp(row.created_at // 1_000, UTC)
        message["Message-ID"] = f"<{row.kind}.{row.id}.{row.created_at}@{self._domain}>"
        if entry:
            message["References"] = f"<thread.{entry.comment.thread_id}@{self._domain}>"
        # No answering machine answers: RFC 3834, Exchange and Outlook, and old ones.
        message["Auto-Submitted"] = "auto-generated"
        message["X-Auto-Response-Suppress"] = "All"
        if kind.is_bulk:
            message["Precedence"] = "bulk"
        if stop := content.values.get("stop"):  # RFC 8058
            message["List-Unsubscribe"] = f"<{stop}>"
            message["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
        if content.answerable and self._takes_answers:
            purpose, expires = content.answerable
            message["Reply-To"] = self._reply_addresses.make(
                purpose, row.comment_id or row.note_id or 0, row.id, recipient, expires
            )
        shown = {"subject": one_line(str(subject)), "site": name, "days": LINK_DAYS}
        text, html = self._templates.render(kind.template, spoken(), **content.values, **shown)
        message.set_content(_GAPS.sub("\n\n", text), cte="quoted-printable")
        message.add_alternative(html, subtype="html", cte="quoted-printable")
        return Envelope(self._mail.sender, recipient, message)


def _addressed(address: str, name: str = "") -> Address:
    """Return an address for a header field. Raise DeliveryRejected.

    Its parts may be other letters than ASCII (RFC 6532); Python refuses these in a whole address.
    Where it breaks a line, it forgets the quotation marks of a name (before 3.11.11), so that each
    comma would begin another address.
    """
    local, _, domain = deliverable(address).rpartition("@")
    if not local:
        raise DeliveryRejected(f"{address!r} is no address that mail can be sent to")
    name = _header_text(name)
    escaped = name.count('"') + name.count("\\")
    if len(name) + escaped + len(address) > ONE_LINE:
        name = one_line(_QUOTED(" ", name))
    return Address(name, local, domain)


def _header_text(text: str) -> str:
    """Return `text` as one line without encoded words, for a header field."""
    return one_line(text).replace("=?", "= ?")

"""SMTP: sends mails through the operator's server (RFC 5321, 3207, 4954).

aiosmtplib implements the protocol; this module maps its errors to the three kinds that the outbox
knows. Only a server's word that there is no such mailbox is DeliveryRejected. Operators may correct
everything else: a refused login or sender is ServerUnreachable, since it concerns every mail. A
refused text is TemporaryFailure: the account may not be verified yet, but the text may as well look
like spam, and then it must not stop other mails.

With "starttls", encryption is required: a server that does not offer it, or has a certificate that
cannot be verified, gets nothing. The operator's server relays the mail for all recipients; their
own servers are not contacted.

No header field may end early. If a value decodes to a line break, Python before 3.11.10 and 3.12.5
writes it unchanged (CVE-2024-6923), and the text after it is read as further fields. Such a mail is
refused here, since every mail passes this module.

If the connection breaks after the last byte of a mail, SMTP has no way to ask whether it was taken.
Such a mail is sent again with the same Message-ID, by which mailboxes can recognise it.
"""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator
from email.message import EmailMessage
from email.policy import EmailPolicy
from ipaddress import ip_address
from typing import Final, NamedTuple

import aiosmtplib

from commentsvc.delivery.channel import (
    DeliveryError,
    DeliveryRejected,
    ServerUnreachable,
    TemporaryFailure,
)
from commentsvc.settings.schema import MailSettings
from commentsvc.util.connect import connect, look_up
from commentsvc.util.connect_advice import advice
from commentsvc.util.error_texts import error_text
from commentsvc.util.origin import deliverable, host_name
from commentsvc.util.tls import certificate_fault, client_context

# Seconds to connect: a reachable server greets at once.
CONNECT_DEADLINE: Final = 60.0
# Seconds per step (RFC 5321, 4.5.3.2.6): a client that gives up earlier sends mails twice.
SEND_DEADLINE: Final = 600.0
QUIT_DEADLINE: Final = 5.0  # seconds

# An address without characters that would end it, begin a command, or be decoded (RFC 2047).
_ADDRESS: Final = re.compile(r"(?!.*=\?)[^\s<>()\x00-\x20\x7f]+@[^\s<>()@\x00-\x20\x7f]+").fullmatch

# An enhanced status code (RFC 3463), and those of a mailbox that does not exist or is closed, or
# whose domain cannot be reached. 5.2.2 is that of a full one, and 5.4.5 that of a limit of ours.
_STATUS: Final = re.compile(r"\b5\.([0-9]{1,3}\.[0-9]{1,3})\b").search
_NO_MAILBOX: Final = ("1.0", "1.1", "1.2", "1.3", "1.4", "1.6", "1.10", "2.1", "4.1", "4.4")
# Words of refusals that are about the sender, or about something that passes.
_PASSES: Final = re.compile(
    r"send(?:er|ing)\b|quota|\blimit|\bfull\b|exceed|too many|throttl|your (?:account|ip)"
    r"|try again",
    re.IGNORECASE,
).search
# The same in refusals without a status code.
_RULES: Final = re.compile(
    r"relay|authent|not permitted|prohibit|denied|polic|verif|spam|block|list", re.IGNORECASE
).search

_SECURITY: Final = ' Look at mail.security: port 465 takes "tls", and port 587 "starttls".'
# Refusals of who has not logged in.
_LOGIN: Final = re.compile(
    r"authentication (?:is )?(?:required|needed)|relay|log ?in first|5\.7\.0 auth", re.IGNORECASE
).search
# How aiosmtplib begins an error while it connects, without the port of a socket that it was given.
_CONNECTING: Final = re.compile(r"^\w+ connecting to \S+ on port \S+: ")

_MALFORMED: Final = re.compile(r"^\w+ SMTP response line: ")  # the same of what is no reply

# A line break that does not continue a field (RFC 5322, 2.2.3), or a lone CR or LF.
_BREAK: Final = re.compile(rb"\r\n(?![ \t])|\r(?!\n)|(?<!\r)\n").search


class _WholeFields(EmailPolicy):
    """Writes header fields, and refuses those with line breaks."""

    def fold_binary(self, name: str, value: str) -> bytes:
        """Return the field as bytes. Raise DeliveryRejected for a value with a line break."""
        field = super().fold_binary(name, value)
        if _BREAK(field.removesuffix(b"\r\n")):
            raise DeliveryRejected(f"{name} has a line break")
        return field


_ASCII: Final = _WholeFields(linesep="\r\n")
_UTF8: Final = _ASCII.clone(utf8=True)


class Envelope(NamedTuple):
    """A message with its envelope."""

    sender: str
    recipient: str
    message: EmailMessage


class Deadlines(NamedTuple):
    """How long a server may take, in seconds, to connect, for each step of a mail, and to quit."""

    connect: float = CONNECT_DEADLINE
    send: float = SEND_DEADLINE
    quit: float = QUIT_DEADLINE


PATIENT: Final = Deadlines()


class Smtp:
    """Connects to the mail server of the settings."""

    def __init__(self, mail: MailSettings, hostname: str, deadlines: Deadlines = PATIENT) -> None:
        """Take the settings and our host name or address. Raise OSError without the `ca_file`."""
        self._mail = mail
        self._hostname = greeting_name(hostname)
        self._deadlines = deadlines
        self._tls = client_context(mail.ca_file)

    @contextlib.asynccontextmanager
    async def connect(self) -> AsyncIterator["SmtpConnection"]:
        """Connect, encrypt and log in as the settings say. Raise ServerUnreachable."""
        mail = self._mail
        client = aiosmtplib.SMTP(
            hostname=mail.host,
            username=mail.user or None,
            password=mail.password if mail.user else None,
            local_hostname=self._hostname,
            timeout=self._deadlines.connect,
            use_tls=mail.security == "tls",
            start_tls=mail.security == "starttls",
            tls_context=self._tls if mail.security != "none" else None,
        )
        try:
            async with asyncio.timeout(2 * self._deadlines.connect):
                addresses = await look_up(mail.host, mail.port)
                await client.connect(sock=await connect(addresses, mail.port))
        except (aiosmtplib.SMTPException, OSError, UnicodeError) as error:
            text = f"{mail.host}:{mail.port}: {_error_text(error)}"
            hint = _advice(error)
            raise ServerUnreachable(f"{text.rstrip('.')}.{hint}" if hint else text) from error
        try:
            yield SmtpConnection(client, self._deadlines.send)
        finally:
            with contextlib.suppress(aiosmtplib.SMTPException, OSError):
                if client.is_connected:
                    await client.quit(timeout=self._deadlines.quit)
            client.close()


class SmtpConnection:
    """A connection for several mails, one after the other."""

    def __init__(self, client: aiosmtplib.SMTP, deadline: float) -> None:
        self._client = client
        self._deadline = deadline

    async def send(self, envelope: Envelope) -> None:
        """Return when the server has taken the mail. Raise DeliveryError."""
        sender, recipient = (deliverable(each) for each in (envelope.sender, envelope.recipient))
        for address, typed in ((sender, envelope.sender), (recipient, envelope.recipient)):
            if not _ADDRESS(address):
                raise DeliveryRejected(f"{typed!r} is no address")
        plain = (sender + recipient).isascii()
        data = envelope.message.as_bytes(policy=_ASCII if plain else _UTF8)
        options = () if plain else ("SMTPUTF8", "BODY=8BITMIME")
        try:
            await self._client.sendmail(
                sender,
                [recipient],
                data,
                mail_options=options,
                timeout=self._deadline,
            )
        except (aiosmtplib.SMTPException, OSError) as error:
            raise _meaning(error) from error


def greeting_name(host: str) -> str:
    """Return a host as EHLO names it: an address as a literal (RFC 5321, 4.1.3)."""
    try:
        ip = ip_address(host)
    except ValueError:
        return host_name(host) or "localhost"
    return f"[{ip}]" if ip.version == 4 else f"[IPv6:{ip}]"


def _meaning(error: Exception) -> DeliveryError:
    """Return the DeliveryError for an exception."""
    text = _error_text(error)
    match error:
        case aiosmtplib.SMTPResponseException(code=421):  # RFC 5321, 3.8: it is about to leave
            return ServerUnreachable(text)
        case aiosmtplib.SMTPRecipientsRefused(recipients=[refused, *_]):
            if refused.code == 421:
                return ServerUnreachable(text)
            is_gone = refused.code >= 500 and _has_no_mailbox(refused.code, refused.message)
            return DeliveryRejected(text) if is_gone else TemporaryFailure(_advised(text))
        case aiosmtplib.SMTPDataError():
            return TemporaryFailure(text)
        case aiosmtplib.SMTPNotSupported():
            return DeliveryRejected(
                "the mail server takes no letters outside of ASCII before the @ of an address"
                f" ({text})"
            )
        case aiosmtplib.SMTPSenderRefused():
            advised = _advised(text)
            if advised == text:
                advised = f"{text.rstrip('.')}. Look at mail.sender and mail.user."
            return ServerUnreachable(advised)
    return ServerUnreachable(text)


def _advised(text: str) -> str:
    """Return a refusal with the settings that may be wrong, if it is about TLS or the login."""
    if "STARTTLS" in text.upper() or "TLS required" in text:
        return f"{text.rstrip('.')}.{_SECURITY}"
    if _LOGIN(text):
        return f"{text.rstrip('.')}. Look at mail.user and mail.password: the server wants a login."
    return text


def _has_no_mailbox(code: int, text: str) -> bool:
    """Return whether a refusal of a recipient says that mail never reaches it.

    Servers also refuse recipients for the sender, its login, or their own rules.
    """
    words = " ".join(word for word in text.split() if "@" not in word)  # without its address
    if _PASSES(words):
        return False
    if status := _STATUS(text):
        return status[1] in _NO_MAILBOX
    return code in (550, 551, 553) and not _RULES(text)


def _advice(error: BaseException) -> str:
    """Return a sentence that names the settings that may be wrong, after a space, or ""."""
    if isinstance(error, aiosmtplib.SMTPAuthenticationError):
        return " Look at mail.user and mail.password; some providers want an app password there."
    if isinstance(error, aiosmtplib.SMTPNotSupported) or "STARTTLS" in str(error):
        return _SECURITY
    return advice(error, "mail")


def _error_text(error: BaseException) -> str:
    """Return the text of an exception, with the server's reply code if there is one."""
    if fault := certificate_fault(error):
        return fault
    match error:
        case aiosmtplib.SMTPRecipientsRefused(recipients=[refused, *_]):
            return _error_text(refused)
        case aiosmtplib.SMTPResponseException(code=code, message=message) if code > 0:
            return f"{code} {message}"
        case aiosmtplib.SMTPResponseException(message=message):  # no reply of SMTP
            return f"it is no mail server; it answered: {_MALFORMED.sub('', message).strip()[:200]}"
        case TimeoutError() if not str(error):
            return "no answer in time"
    text = _CONNECTING.sub("", error_text(error), count=1)
    return "the server closed the connection" if text.endswith("EOF received") else text

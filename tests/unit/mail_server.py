"""An SMTP server on a local port, which can be told to misbehave."""

import asyncio
import contextlib
import ssl
import warnings
from collections.abc import AsyncIterator
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from commentsvc.settings.schema import MailSettings

PASSWORD = "correct horse"


class MailServer:
    """A server that keeps `mails`; the next recipients get one of `answers` each instead of 250.

    It never answers the command `hanging` ("RCPT" or "DATA"), and closes the connection after
    `last`.
    """

    def __init__(self) -> None:
        self.port = 0
        self.mails: list[EmailMessage] = []
        self.recipients: list[str] = []
        self.senders: list[str] = []
        self.answers: list[str] = []
        self.hanging = self.last = ""
        self.data_answer = "250 Thank you"
        self.greetings: list[str] = []  # the name in each EHLO

    def authenticate(self, *given: Any) -> AuthResult:  # Any: as aiosmtpd passes them
        """Accept one name and one password."""
        data = given[-1]
        good = isinstance(data, LoginPassword) and data == LoginPassword(b"me", PASSWORD.encode())
        return AuthResult(success=good, handled=False)

    async def handle_EHLO(  # noqa: N802 - aiosmtpd's name
        self, server: SMTP, session: Session, _: Envelope, hostname: str, responses: list[str]
    ) -> list[str]:
        """Keep the client's name and greet."""
        self.greetings.append(hostname)
        session.host_name = hostname
        return responses

    async def handle_RCPT(  # noqa: N802 - aiosmtpd's name
        self, server: SMTP, _: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        """Accept a recipient, or send the answer that the test set."""
        if self.hanging == "RCPT":
            await asyncio.Event().wait()
        if self.answers:
            return self.answers.pop(0)
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(  # noqa: N802 - aiosmtpd's name
        self, server: SMTP, _: Session, envelope: Envelope
    ) -> str:
        """Store a mail."""
        assert isinstance(envelope.content, bytes)
        if self.hanging == "DATA":
            await asyncio.Event().wait()
        if self.data_answer.startswith("250"):
            self.mails.append(message_from_bytes(envelope.content, policy=policy.default))
            self.recipients += envelope.rcpt_tos
            self.senders.append(envelope.mail_from or "")
        if self.last == "DATA":
            assert server.transport
            server.transport.abort()  # type: ignore[attr-defined] # a socket's transport has it
        return self.data_answer


@contextlib.asynccontextmanager
async def mail_server(
    tls: ssl.SSLContext | None = None, security: str = "none", port: int = 0, *, utf8: bool = True
) -> AsyncIterator[MailServer]:
    """Run a server that asks for the name "me" and PASSWORD on encrypted connections.

    With `utf8`, it takes addresses in UTF-8 (SMTPUTF8).
    """
    handler = MailServer()
    loop = asyncio.get_running_loop()
    conversations: list[SMTP] = []

    def converse() -> SMTP:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # aiosmtpd does not know that "tls" encrypts
            conversation = SMTP(
                handler,
                hostname="mail.test",
                tls_context=tls if security == "starttls" else None,
                require_starttls=security == "starttls",
                auth_required=security != "none",
                auth_require_tls=security == "starttls",
                authenticator=handler.authenticate,
                enable_SMTPUTF8=utf8,
                loop=loop,
            )
        conversations.append(conversation)
        return conversation

    implicit = tls if security == "tls" else None
    server = await loop.create_server(converse, "127.0.0.1", port, ssl=implicit)
    handler.port = server.sockets[0].getsockname()[1]
    try:
        yield handler
    finally:
        server.close()
        for conversation in conversations:
            if conversation.transport:
                with contextlib.suppress(AttributeError):  # of Python 3.11.2, once it is closed
                    conversation.transport.abort()  # type: ignore[attr-defined] # a socket's transport has it
        await server.wait_closed()


def mail_settings(port: int, **changes: Any) -> MailSettings:  # Any: a field of MailSettings
    """Return settings for a server at `port` of this machine."""
    given: dict[str, Any] = {  # Any: fields of MailSettings
        "host": "localhost",
        "port": port,
        "security": "none",
        "sender": "comments@blog.example",
        "moderators": ("mo@blog.example",),
    }
    return MailSettings(**(given | changes))

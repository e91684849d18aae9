"""SMTP with a real server: successful deliveries, and each way to fail."""

import asyncio
import contextlib
import re
import socket
import ssl
from collections.abc import Coroutine
from datetime import UTC, datetime
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import idna
import pytest
import trustme

from commentsvc.delivery.channel import (
    DeliveryError,
    DeliveryRejected,
    ServerUnreachable,
    TemporaryFailure,
)
from commentsvc.delivery.smtp import PATIENT, Deadlines, Envelope, Smtp, greeting_name
from tests.unit.mail_server import PASSWORD, MailServer, mail_server, mail_settings

QUICK = Deadlines(connect=0.5, send=0.2, quit=0.2)  # for a server that hangs
SENDER = "comments@blog.example"


def envelope(recipient: str = "mo@blog.example", subject: str = "Hi") -> Envelope:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = SENDER, recipient, subject
    message.set_content("Hello\n.\nworld\n")
    return Envelope(SENDER, recipient, message)


async def send(smtp: Smtp, *envelopes: Envelope) -> None:
    async with smtp.connect() as conversation:
        for each in envelopes:
            await conversation.send(each)


def run(coroutine: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(coroutine, 120))


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def server_side(authority: trustme.CA, name: str = "localhost") -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert(name).configure_cert(context)
    return context


def pem(authority: trustme.CA, folder: Path) -> str:
    path = folder / "ca.pem"
    authority.cert_pem.write_to_path(str(path))
    return str(path)


def test_several_letters_go_over_one_connection() -> None:
    async def talk() -> None:
        async with mail_server() as server:
            await send(
                Smtp(mail_settings(server.port), "me.test"), envelope(), envelope("b@c.example")
            )
        assert len(server.greetings) == 1
        assert server.recipients == ["mo@blog.example", "b@c.example"]
        assert server.senders == [SENDER, SENDER]
        assert server.mails[0].get_content().splitlines() == ["Hello", ".", "world"]

    run(talk())


@pytest.mark.parametrize("security", ["starttls", "tls"])
def test_a_login_goes_over_a_verified_encryption(
    authority: trustme.CA, tmp_path: Path, security: str
) -> None:
    async def talk() -> None:
        async with mail_server(server_side(authority), security) as server:
            settings = mail_settings(
                server.port,
                security=security,
                user="me",
                password=PASSWORD,
                ca_file=pem(authority, tmp_path),
            )
            await send(Smtp(settings, "me.test"), envelope())
        assert len(server.mails) == 1

    run(talk())


@pytest.mark.parametrize("security", ["starttls", "tls"])
@pytest.mark.parametrize("fault", ["unknown authority", "other name"])
def test_a_certificate_that_cannot_be_verified_gets_nothing(
    authority: trustme.CA, tmp_path: Path, security: str, fault: str
) -> None:
    async def talk() -> None:
        name = "localhost" if fault == "unknown authority" else "other.test"
        file = "" if fault == "unknown authority" else pem(authority, tmp_path)
        async with mail_server(server_side(authority, name), security) as server:
            settings = mail_settings(
                server.port, security=security, user="me", password=PASSWORD, ca_file=file
            )
            with pytest.raises(ServerUnreachable, match=r"(?i)certificate.*mail\.ca_file"):
                await send(Smtp(settings, "me.test"), envelope())
        assert not server.mails

    run(talk())


@pytest.mark.parametrize("security", ["tls", "starttls"])
def test_a_certificate_that_has_ended_is_named(
    authority: trustme.CA, tmp_path: Path, security: str
) -> None:
    async def talk() -> None:
        ended = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        past = datetime(2020, 1, 1, tzinfo=UTC)
        authority.issue_cert("localhost", not_before=past, not_after=past).configure_cert(ended)
        async with mail_server(ended, security) as server:
            changes = {"security": security, "ca_file": pem(authority, tmp_path)}
            smtp = Smtp(mail_settings(server.port, **changes), "me.test")
            text = f"localhost:{server.port}: its certificate has ended: it must be renewed there"
            with pytest.raises(ServerUnreachable, match=f"^{text}$"):
                await send(smtp, envelope())

    run(talk())


def test_without_the_starttls_that_is_asked_for_nothing_is_sent() -> None:
    async def talk() -> None:
        async with mail_server() as server:
            settings = mail_settings(server.port, security="starttls", user="me", password="p")
            with pytest.raises(ServerUnreachable, match=r"(?i)starttls.*mail\.security"):
                await send(Smtp(settings, "me.test"), envelope())
        assert not server.mails

    run(talk())


def test_a_wrong_password_is_for_the_operator_to_mend(
    authority: trustme.CA, tmp_path: Path
) -> None:
    async def talk() -> None:
        async with mail_server(server_side(authority), "tls") as server:
            settings = mail_settings(
                server.port,
                security="tls",
                user="me",
                password="wrong",
                ca_file=pem(authority, tmp_path),
            )
            with pytest.raises(ServerUnreachable, match=r"535 .* Look at mail\.user") as caught:
                await send(Smtp(settings, "me.test"), envelope())
        assert "wrong" not in str(caught.value)

    run(talk())


def failure(prepare: Any, recipient: str = "mo@blog.example") -> DeliveryError:  # Any: a lambda
    """Return the error of sending a mail to a server that `prepare` has made misbehave."""
    raised: list[DeliveryError] = []

    async def talk() -> None:
        async with mail_server() as server:
            prepare(server)
            deadlines = QUICK if server.hanging else PATIENT
            smtp = Smtp(mail_settings(server.port), "me.test", deadlines)
            with pytest.raises(DeliveryError) as caught:
                await send(smtp, envelope(recipient))
            raised.append(caught.value)
            assert not server.mails or server.last

    run(talk())
    return raised[0]


def spoil(**values: object) -> Any:  # Any: a function that sets attributes of a server
    def prepare(server: MailServer) -> None:
        for name, value in values.items():
            setattr(server, name, value)

    return prepare


@pytest.mark.parametrize(
    ("prepare", "kind", "text"),
    [
        (spoil(answers=["550 5.1.1 Nobody here"]), DeliveryRejected, "550 5.1.1 Nobody here"),
        (spoil(answers=["451 4.7.1 Greylisted"]), TemporaryFailure, "451 4.7.1 Greylisted"),
        (spoil(answers=["421 4.3.2 Shutting down"]), ServerUnreachable, "421"),
        (spoil(answers=["550 User unknown"]), DeliveryRejected, "550 User unknown"),
        (spoil(answers=["550 5.4.1 Access denied"]), DeliveryRejected, "550 5.4.1"),
        *(
            (spoil(answers=[refusal]), DeliveryRejected, refusal)
            for refusal in (
                "550 5.1.1 <fuller@example.org>: User unknown",
                "550 5.1.1 <bob@unlimited.example>: no such user",
                "550 bob@quota.example unknown",
            )
        ),
        *(
            (spoil(answers=[refusal]), TemporaryFailure, refusal)
            for refusal in (
                "550 5.1.8 Bad sender",
                "550 5.1.0 Sender rejected",
                "552 5.2.2 Mailbox full",
                "550 The mailbox is over its quota",
                "550 5.4.5 Daily user sending quota exceeded",
                "550 Too many mails in an hour",
            )
        ),
        (
            spoil(answers=["554 5.7.1 Relay access denied"]),
            TemporaryFailure,
            "554 5.7.1 Relay access denied. Look at mail.user and mail.password: ",
        ),
        (spoil(answers=["550 relay not permitted"]), TemporaryFailure, "550 relay"),
        (spoil(answers=["554 Not today"]), TemporaryFailure, "554 Not today"),
        *(
            (spoil(data_answer=refusal), TemporaryFailure, refusal)
            for refusal in (
                "554 5.7.1 Looks like spam",
                "554 Message rejected: Email address is not verified.",
                "552 5.3.4 Too big",
                "550 Sender domain is not verified",
            )
        ),
        (spoil(data_answer="452 4.3.1 No space"), TemporaryFailure, "452 4.3.1 No space"),
        (spoil(hanging="RCPT"), ServerUnreachable, "Timed out"),
        (spoil(hanging="DATA"), ServerUnreachable, "Timed out"),
        (spoil(last="DATA"), ServerUnreachable, ""),
    ],
)
def test_each_failure_has_its_meaning(prepare: Any, kind: type[DeliveryError], text: str) -> None:
    error = failure(prepare)
    assert type(error) is kind
    assert text in str(error)


@pytest.mark.parametrize(
    ("security", "said"),
    [
        ("starttls", r"530 .*STARTTLS.*\. Look at mail\.security: "),
        ("tls", r"530 .*uthentication required\. Look at mail\.user and mail\.password: "),
    ],
)
def test_who_does_not_do_what_the_server_wants_is_told_the_setting(
    authority: trustme.CA, tmp_path: Path, security: str, said: str
) -> None:
    async def talk() -> None:
        async with mail_server(server_side(authority), security) as server:
            used = "none" if security == "starttls" else security
            given = mail_settings(server.port, security=used, ca_file=pem(authority, tmp_path))
            with pytest.raises(ServerUnreachable, match=said):
                await send(Smtp(given, "me.test"), envelope())

    run(talk())


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            b"HTTP/1.1 400 Bad Request\r\n\r\n",
            "it is no mail server; it answered: HTTP/1.1 400 Bad",
        ),
        (b"", "the server closed the connection. Look at mail.host, "),
    ],
)
def test_what_is_no_mail_server_is_told_without_words_of_a_library(
    answer: bytes, said: str
) -> None:
    def hang_up(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        writer.close()

    async def talk() -> None:
        async with await asyncio.start_server(hang_up, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            with pytest.raises(ServerUnreachable, match=re.escape(f"localhost:{port}: {said}")):
                await send(Smtp(mail_settings(port), "me.test"), envelope())

    run(talk())


def test_a_server_that_is_not_there_is_unreachable() -> None:
    async def talk() -> None:
        async with mail_server() as server:
            pass
        refused = f"^localhost:{server.port}: .*127.0.0.1: Connection refused. Look at mail.host, "
        with pytest.raises(ServerUnreachable, match=refused):
            await send(Smtp(mail_settings(server.port), "me.test"), envelope())

    run(talk())


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("192.0.2.5", "[192.0.2.5]"),
        ("2001:db8::1", "[IPv6:2001:db8::1]"),
        ("comments.example", "comments.example"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("", "localhost"),
    ],
)
def test_servers_are_greeted_with_a_name_or_an_address_literal(host: str, name: str) -> None:
    """RFC 5321, 4.1.3."""
    assert greeting_name(host) == name

    async def talk() -> None:
        async with mail_server() as server:
            await send(Smtp(mail_settings(server.port), host), envelope())
        assert server.greetings == [name]

    run(talk())


def test_a_server_that_never_greets_is_unreachable() -> None:
    async def talk() -> None:
        with socket.create_server(("127.0.0.1", 0)) as silent:  # it accepts no connection
            smtp = Smtp(mail_settings(silent.getsockname()[1]), "me.test", QUICK)
            with pytest.raises(ServerUnreachable, match="Timed out"):
                await send(smtp, envelope())

    run(talk())


def test_an_international_address_is_sent_as_utf8() -> None:
    async def talk() -> None:
        async with mail_server() as server:
            await send(Smtp(mail_settings(server.port), "me.test"), envelope("jürgen@blog.example"))
        assert server.recipients == ["jürgen@blog.example"]

    run(talk())


@pytest.mark.parametrize(
    "domain", ["bücher.example", "BÜCHER.Example", "例え.example", "пример.рф"]
)
def test_a_server_without_smtputf8_gets_domains_in_ascii(domain: str) -> None:
    """RFC 5891: every mail server knows the A-labels of a name; few know other letters."""

    async def talk() -> None:
        async with mail_server(utf8=False) as server:
            await send(Smtp(mail_settings(server.port), "me.test"), envelope(f"Ann.B@{domain}"))
        ascii_name = idna.encode(domain, uts46=True).decode()
        assert server.recipients == [f"Ann.B@{ascii_name}"]

    run(talk())


def test_a_server_without_smtputf8_refuses_a_name_that_is_not_ascii() -> None:
    async def talk() -> None:
        async with mail_server(utf8=False) as server:
            with pytest.raises(DeliveryRejected, match="outside of ASCII before the @"):
                await send(
                    Smtp(mail_settings(server.port), "me.test"), envelope("jürgen@b.example")
                )

    run(talk())


@pytest.mark.parametrize(
    "bad",
    [
        "a@b.example>\r\nRCPT TO:<c@d.example",
        "a@b.example\nX: y",
        "=?utf-8?q?=0D=0ABcc=3A_x?=@b.example",
    ],
)
def test_no_command_can_be_smuggled_in_by_an_address(bad: str) -> None:
    async def talk() -> None:
        async with mail_server() as server:
            forged = Envelope(SENDER, bad, envelope().message)
            with pytest.raises(DeliveryRejected, match="no address"):
                await send(Smtp(mail_settings(server.port), "me.test"), forged)
        assert not server.recipients

    run(talk())


INJECTED = "=?utf-8?q?=0D=0ABcc:_all@evil.example=0D=0A=0D=0AHi?="
HALF = "=?utf-8?q?a=0DBcc:_all@evil.example?="
OTHER_HALF = "=?utf-8?q?a=0ABcc:_all@evil.example?="


@pytest.mark.parametrize("injected", [INJECTED, HALF, OTHER_HALF])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Subject", "{}"),
        ("From", "{} <comments@blog.example>"),
        ("To", '"{}" <mo@blog.example>'),
        ("Reply-To", "{}@blog.example, mo@blog.example"),
        ("List-Unsubscribe", "<https://c.example/{}>"),
        ("List-Id", "{} <blog.example>"),
        ("References", "<a@b.example> {}"),
        ("Content-Description", "{}"),
    ],
)
def test_no_header_field_ends_early(name: str, value: str, injected: str) -> None:
    """Addresses check it themselves; newer versions of Python encode the line end in one field."""
    forged = envelope()
    del forged.message[name]
    try:
        forged.message[name] = value.format(injected)
    except ValueError:
        return

    async def talk() -> None:
        async with mail_server() as server:
            with contextlib.suppress(DeliveryRejected):
                await send(Smtp(mail_settings(server.port), "me.test"), forged)
        for mail in server.mails:
            assert sorted(mail.keys()) == sorted(forged.message.keys())
            assert mail.get_content().splitlines() == ["Hello", ".", "world"]

    run(talk())

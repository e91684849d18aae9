"""A moderator's answer: a mail goes out by SMTP, the answer comes in by IMAP, and is confirmed."""

import random
from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path

import pytest
from aiosmtpd.controller import Controller

from loadtest.harness.running import free_port
from tests.e2e.program import command, serving, wait_for
from tests.unit.inbox.imap_server import PASSWORD, imap_server
from tests.unit.inbox.mail_programs import Original, encoded, gmail
from tests.unit.mail_server import MailServer

OWNER = "mo@blog.example"
WORDS = "Yes, we are.\n\nCome in."


@pytest.fixture
def smtp() -> Iterator[tuple[MailServer, int]]:
    """Run an SMTP server in a thread of its own; return what it receives, and its port."""
    received, port = MailServer(), free_port()
    controller = Controller(received, hostname="127.0.0.1", port=port)
    controller.start()
    try:
        yield received, port
    finally:
        controller.stop()


def body(mail: EmailMessage, kind: str) -> str:
    part = mail.get_body((kind,))
    assert part
    return str(part.get_content()).replace("\r\n", "\n")


def test_a_mailed_answer_is_published_and_confirmed(
    tmp_path: Path, smtp: tuple[MailServer, int]
) -> None:
    received, port = smtp
    with imap_server() as mailbox:
        environ = {
            "COMMENTSVC_SERVER_PUBLIC_URL": "https://comments.example",
            "COMMENTSVC_MODERATION_POLICY": "all",
            "COMMENTSVC_MAIL_HOST": "localhost",
            "COMMENTSVC_MAIL_PORT": str(port),
            "COMMENTSVC_MAIL_SECURITY": "none",
            "COMMENTSVC_MAIL_SENDER": "comments@blog.example",
            "COMMENTSVC_MAIL_MODERATORS": OWNER,
            "COMMENTSVC_INBOX_ADDRESS": "comments@blog.example",
            "COMMENTSVC_INBOX_HOST": "localhost",
            "COMMENTSVC_INBOX_PORT": str(mailbox.port),
            "COMMENTSVC_INBOX_USER": "me",
            "COMMENTSVC_INBOX_PASSWORD": PASSWORD,
            "COMMENTSVC_INBOX_CA_FILE": mailbox.authority,
        }
        with serving(tmp_path / "data", environ) as service:
            data = ("--data", service.data)
            assert command("moderator", "add", "mo", *data, given="correct horse").code == 0
            named = ("--public-name", "Mo Owner", "--email", OWNER)
            assert command("moderator", "profile", "mo", *named, *data).code == 0
            wait_for(lambda: len(received.mails) == 1, "the mail that the address was set")
            assert service.submit("/p/", "Are you *open*?").status == 202
            wait_for(lambda: len(received.mails) == 2, "the mail to the moderator")
            mail = received.mails[1]
            original = Original(
                name="A blog",
                sender="comments@blog.example",
                reply_to=str(mail["Reply-To"]),
                message_id=str(mail["Message-ID"]),
                subject=str(mail["Subject"]),
                text=body(mail, "plain"),
                html=body(mail, "html"),
            )
            chance = random.Random(7)
            parts = gmail(original, WORDS, "en", chance)
            with mailbox.mailbox() as client:
                client.append("INBOX", encoded(original, parts, "en", 1, chance))
            wait_for(lambda: service.count("/p/") == 2, "the answer on the page")
            shown = service.request("GET", "/api/comments?url=/p/").json()["data"]
            assert [each.get("role") for each in shown] == [None, "owner"]
            assert (shown[1]["author"], shown[1]["parent"]) == ("Mo Owner", shown[0]["id"])
            assert shown[1]["content"] == WORDS
            wait_for(lambda: len(received.mails) == 3, "the mail that confirms it")
            assert received.recipients == [OWNER, OWNER, OWNER]
            assert "Come in." in body(received.mails[2], "plain")
            wait_for(lambda: mailbox.unseen() == 0, "the answer to be marked as read")

"""The service is in a folder of the blog's host, and links in mails lead to it by the proxy."""

import json
import re
from collections.abc import Iterator
from email import message_from_bytes, policy
from email.message import EmailMessage

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session

from loadtest.harness.running import free_port
from loadtest.proxies.configs import FOLDERS
from tests.e2e.program import Service, wait_for
from tests.proxy.client import Client
from tests.proxy.conftest import Begin, Network, serving
from tests.proxy.proxies import BLOG

FOLDER = "/comments"
MODERATOR = f"mo@{BLOG}"


class Box:
    """A mail server that stores mails."""

    def __init__(self) -> None:
        self._mails: list[EmailMessage] = []

    async def handle_DATA(  # noqa: N802 - aiosmtpd's name
        self, _: SMTP, __: Session, envelope: Envelope
    ) -> str:
        """Store a mail."""
        assert isinstance(envelope.content, bytes)
        self._mails.append(message_from_bytes(envelope.content, policy=policy.default))
        return "250 OK"

    def links(self, address: str, about: str) -> list[str]:
        """Wait for the mail to `address` that mentions `about`; return all its links."""
        found: list[str] = []

        def came() -> bool:
            for mail in self._mails:
                body = mail.get_body(("plain",))
                text = body.get_content() if body and mail["To"] == address else ""
                if about in text:
                    found[:] = re.findall(r"https?://\S+", text)
            return bool(found)

        wait_for(came, f"a mail to {address} about {about}")
        return found


@pytest.fixture(scope="module")
def mails() -> Iterator[tuple[Box, int]]:
    """Return a mail server and its port."""
    box, port = Box(), free_port()
    controller = Controller(box, hostname="127.0.0.1", port=port)
    controller.start()
    yield box, port
    controller.stop()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, mails: tuple[Box, int]) -> Iterator[Service]:
    """A service that sends mails, and knows its public address."""
    environ = {
        "COMMENTSVC_SERVER_PUBLIC_URL": f"https://{BLOG}{FOLDER}",
        "COMMENTSVC_SITE_ORIGINS": f"https://{BLOG}",
        "COMMENTSVC_MODERATION_POLICY": "all",
        "COMMENTSVC_MAIL_HOST": "127.0.0.1",
        "COMMENTSVC_MAIL_PORT": str(mails[1]),
        "COMMENTSVC_MAIL_SECURITY": "none",
        "COMMENTSVC_MAIL_SENDER": f"comments@{BLOG}",
        "COMMENTSVC_MAIL_MODERATORS": MODERATOR,
    }
    with serving(tmp_path_factory.mktemp("service"), environ) as service:
        yield service


def follow(front: Client, links: list[str]) -> None:
    """Open each link in a mail, and press the button of the first page."""
    own = [link.removeprefix(f"https://{BLOG}") for link in links if "?t=" in link]
    assert all(link.startswith(f"{FOLDER}/mail/") for link in own), links
    for link in own:
        page = front.ask("GET", link, host=BLOG)
        assert page.status == 200
        assert b'<form method="post">' in page.body  # to the same address
    assert front.ask("POST", own[0], host=BLOG, Origin=f"https://{BLOG}").status == 200


def test_links_in_mails_lead_through_the_folder(
    begin: Begin, mails: tuple[Box, int], networks: Network
) -> None:
    """All proxies at once, since mails take their time."""
    fronts = {f"/{name}/": begin(make, host=BLOG) for name, make in FOLDERS.items()}
    there = f"{FOLDER}/api/comments"
    for page, front in fronts.items():
        email = f"{page.strip('/')}@{BLOG}"
        comment = {"url": page, "author": "Ann", "email": email, "notify": True, "message": page}
        sender, body = front._replace(source=next(networks)), json.dumps(comment).encode()
        assert sender.ask("POST", there, body, BLOG, Content_Type="application/json").status == 202
    for page, front in fronts.items():
        follow(front, mails[0].links(MODERATOR, page))
        count = front.ask("GET", f"{there}/count?url={page}", host=BLOG)
        assert count.json() == {"count": 1}
    for page, front in fronts.items():  # the question whether to mail replies
        follow(front, mails[0].links(f"{page.strip('/')}@{BLOG}", page))
